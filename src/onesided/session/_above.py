"""Which groups have at most, or at least, so many units; one by one or in compounds.

Certainly, where moves go one way; where they go both, likely. Compounds of groups, such as routes
of stops, are named by the caller and never looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Final

import numpy as np

from onesided._english import many
from onesided._numbers import INFINITE, Number, whole
from onesided.engine import PublicKeys, public_keys
from onesided.errors import KeysError, ParameterError, PolicyError
from onesided.mechanism import (
    AdaptiveSparseVector,
    Compounds,
    Counts,
    CubeThresholds,
    NoisyTopK,
    PeeledTopK,
    SparseAnswers,
    SparseVector,
    TopKAnswer,
)
from onesided.mechanism import TopK as Mechanism
from onesided.mechanism.kit import CONFIDENCE, Correction, confident, shared
from onesided.noise import IntArray, Noise, TwoSidedGeometric
from onesided.session._confidence import (
    UNDECIDED,
    Confidence,
    Likely,
    certified_shares,
    likely_confidence,
)
from onesided.session._context import QueryContext
from onesided.session._count import Count, certain_sides, facts_of
from onesided.session._fields import IfUnknown
from onesided.session._groups import Grouped, Groups, names_of
from onesided.session._question import Answer, FormLine, PreparedQuery
from onesided.session._release import Release, of_groups, sides
from onesided.session._statement import Nouns
from onesided.session._ways import Floats, Way, drawn_at_once, estimates, moves_of, why_at_once
from onesided.show import SIDES

COLUMN: Final = "compound"
# By whether noise is below the truth: of compounds, what is certified, and what is else.
_OF_COMPOUNDS: Final = (
    "Each answer is about every group of its compound: certified, each of them has at most so "
    "many; else none of them has more than its upper bound.",
    "Each answer is about every group of its compound: certified, each of them has at least so "
    "many; else none of them has fewer than its lower bound.",
)
_SIDES: Final = ("upper", "lower")


@dataclass(frozen=True, slots=True)
class NamedCompounds:
    """Compounds by their public names: a key for each, and which of the groups are in it."""

    keys: PublicKeys
    of: tuple[PublicKeys, ...]

    @property
    def groups(self) -> PublicKeys:
        """The groups of all compounds, each once."""
        rows = dict.fromkeys(row for one in self.of for row in one.rows)
        return PublicKeys.of(self.of[0].names, list(rows))

    def placed(self, keys: PublicKeys) -> Compounds:
        """The places of their groups among ``keys``. Errors: KeysError for one that is missing."""
        places = keys.places()
        for one in self.of:
            for row in one.rows:
                if row not in places:
                    raise KeysError(
                        f"The group {row[0] if len(row) == 1 else row!r} of a compound is not "
                        "among the keys.",
                        hint="Leave keys= out: the groups of of= are the keys then.",
                        key=row,
                    )
        return Compounds([[places[row] for row in one.rows] for one in self.of])


# Which groups certainly have at most a threshold, and noisy counts of those above.


@dataclass(frozen=True, slots=True)
class Above(Grouped):
    """Which groups have more than ``threshold`` units? At most ``max_answers`` noisy counts.

    The groups before the last answer that are not among them are certified, for free.

    Where counts move so that nothing can be certified, every group is counted at the price of
    :class:`onesided.session.Count`, and ``release.likely`` says which have *likely* at most the
    threshold, which likely more, and which are undecided. So it is with the other
    questions of this kind: the statement says which of the two an answer is.
    threshold: one for all, or one for each key, in the keys' order or by key.
    max_answers: None never stops; it then costs ε/ℓ0 per count.
    adaptive: counts far above the threshold are answered coarsely and pay half, so that up to
        twice ``max_answers`` are answered (:class:`onesided.mechanism.AdaptiveSparseVector`).
    of: a mapping from names to groups, such as routes to their stops. Each of these compounds is
        then answered once: certified, *every* group of it has at most the threshold. It costs what
        one group would where a unit's groups are all in one compound; keys= may be left out.
    unknown: by default "possible", so that what is certified is certain about the truth.
    confidence: of what is likely: how often no group is on the wrong side; with
        simultaneous=False, how often each one is not. What is certain needs none.
    The other arguments are those of :class:`onesided.session.Grouped`.
    Errors: as for :class:`onesided.session.TopK`.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> session.above(1, max_answers=1, by="place", keys=["a", "b"], epsilon=90).above
    ['b']
    """

    threshold: int | Sequence[int] | Mapping[Any, int]
    below: ClassVar[bool] = False  # whether noise is below the truth: "at least" is certified
    words: ClassVar = (
        "At most {limit:,} {units} or a noisy number",
        "At most a group's own limit of {units} or a noisy number",
    )
    max_answers: int | None = field(kw_only=True)
    adaptive: bool = field(default=False, kw_only=True)
    of: object = field(default=None, kw_only=True)
    unknown: IfUnknown = field(default="possible", kw_only=True)
    confidence: Number = field(default=CONFIDENCE, kw_only=True)
    simultaneous: bool = field(default=True, kw_only=True)

    later: ClassVar = ("confidence", "simultaneous")

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        several = not isinstance(self.threshold, Integral)
        units = nouns.unit if self.threshold == 1 else nouns.units
        return self.words[several].format(limit=self.threshold, units=units)

    @property
    def limits(self) -> dict[str, int]:
        """The threshold of all groups, for statements."""
        if not isinstance(self.threshold, Integral):
            return {}
        return {"at_least" if self.below else "at_most": int(self.threshold)}

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
        """Check and price the question. Looks at no row."""
        groups, named = self.groups(context).by_cells(context), self._named()
        sure = likely_confidence(
            self.confidence, simultaneous=self.simultaneous, groups=groups.told.size
        )
        keys = groups.keys if named is None else named.keys
        compounds = None if named is None else named.placed(groups.keys)
        counts = replace(groups, query=replace(groups.query, several_units=True))
        if compounds is None and self.max_answers is None:  # then as under a view
            groups = counts
        try:
            mechanism = self._mechanism(context, groups, keys, compounds)
        except PolicyError:  # noise on one side cannot hide what moves do
            noise = counts.for_policy(
                Counts, context, epsilon=self.epsilon, correction="median", clip=True
            )
            widest = 1 if compounds is None else max(map(len, compounds.members))
            made = Likely(noise, counts.told.size, self.below, sure, widest)
            return self._likely(context, counts, made, keys, compounds)
        together, side, size = isinstance(mechanism, CubeThresholds), _SIDES[self.below], keys.size
        plan = groups.plan(
            context,
            mechanism,
            through=None if compounds is None else compounds.shift,
            certain=(side,),
            why=why_at_once(below=self.below) if together else "",
        )
        of_compounds = "" if compounds is None else _OF_COMPOUNDS[self.below]
        told = (plan.guarantee.about, of_compounds, drawn_at_once(size, side) * together)
        promise = replace(plan.guarantee, about=" ".join(filter(None, told)))
        certifies = certified_shares(mechanism, mechanism.thresholds, keys=size)
        plan = replace(plan, certifies=certifies, guarantee=promise)

        def draw(counts: IntArray, noise: Noise | None) -> Answer:
            asked = counts if compounds is None else compounds.largest(counts, least=self.below)
            return mechanism.release(asked, noise=noise)._asdict()

        return groups.prepared(
            context,
            plan,
            draw=draw,
            tell=partial(_told, keys=keys, mechanism=mechanism, adaptive=self.adaptive),
        )

    def _likely(
        self,
        context: QueryContext,
        groups: Groups,
        made: Likely,
        keys: PublicKeys,
        compounds: Compounds | None,
    ) -> PreparedQuery[IntArray, Release]:
        """The same of noisy counts, none of which is certain on the deciding side."""
        levels, noise = _levels(self.threshold, keys, least=int(self.below)), made.mechanism
        if self.max_answers is not None:
            whole(self.max_answers, name="max_answers", least=1)
        facts = facts_of(noise)
        facts["why"] += "; decisions are likely, none is certain"
        plan = groups.plan(context, noise, **facts)
        limited = self.max_answers is not None or self.adaptive
        told = made.about(compounds=compounds is not None, limited=limited)
        about = " ".join(filter(None, (plan.guarantee.about, told)))
        plan = replace(
            plan,
            guarantee=replace(plan.guarantee, about=about),
            likely=made.shares(levels) if compounds is None else (),
        )

        def draw(counts: IntArray, source: Noise | None) -> Answer:
            return {"noisy": noise.noisy(counts, noise=source)}

        def tell(answer: Answer) -> dict[str, Any]:
            noisy = np.asarray(answer["noisy"], dtype=np.int64)
            bounds = made.bounds(noisy, compounds)
            likely = made.decided(bounds, levels)
            columns = {
                **_own(levels, slice(None), below=self.below),
                "likely": likely,
                "estimate": noise.estimate(noisy) if compounds is None else None,
                **sides(bounds),
            }
            undecided = likely.count(UNDECIDED)
            return {
                "kind": "AboveRelease",
                "told": of_groups(keys, columns),
                "summary": f"Of {many(keys.size, 'group')}: {keys.size - undecided:,} likely on "
                f"one side ({made.words}), {undecided:,} undecided.",
                "bound_words": made.bound_words,
                "own": {"noisy": noisy, "mechanism": noise, **made.sure.facts},
            }

        return groups.prepared(context, plan, draw=draw, tell=tell, likely=made.words)

    def _mechanism(
        self, context: QueryContext, groups: Groups, keys: PublicKeys, compounds: Compounds | None
    ) -> SparseVector | AdaptiveSparseVector | CubeThresholds:
        """Noise for each answer on its own, or drawn for all at once where that is better."""
        if self.adaptive and self.max_answers is None:
            raise ParameterError(
                "An adaptive answer needs max_answers: what it saves is answers.",
                hint="Name a number, or leave adaptive out: without a limit each count costs the "
                "same, and is answered with the finer noise.",
            )
        kind: type[SparseVector | AdaptiveSparseVector] = SparseVector
        if self.adaptive:
            kind = AdaptiveSparseVector
        alone = groups.for_policy(
            kind,
            context,
            thresholds=_levels(self.threshold, keys, least=int(self.below)),
            below=self.below,
            epsilon=self.epsilon,
            max_answers=self.max_answers,
            compounds=compounds,
        )
        moves = moves_of(groups, context, self.epsilon, compounds=compounds)
        return CubeThresholds.in_place_of(alone, moves, keys=keys.size) or alone

    def groups(self, context: QueryContext) -> Groups:
        """The public half of the question, checked; without keys, all groups of compounds."""
        own, named = self, self._named()
        if named is not None and self.keys is None:
            own = replace(self, keys=named.groups.by_name())
        return Grouped.groups(own, context)

    def _named(self) -> NamedCompounds | None:
        """The compounds. Errors: ParameterError; KeysError."""
        given, by = self.of, names_of(self.by, name="by")
        if given is None:
            return None
        if not isinstance(given, Mapping) or not given:
            raise ParameterError(
                f"of must name the groups of each compound, got {given!r}.",
                hint='For example of={"route 7": ["Station", "Market"], "route 9": ["Market"]}.',
                value=given,
            )
        if not by or COLUMN in by:
            raise ParameterError(
                f"of= needs by=, the columns whose groups it names; none is called {COLUMN!r}.",
                hint=f"Rename the column {COLUMN!r}." if by else 'Add by=, such as by="stop".',
                value=by,
            )
        names = public_keys(list(given), (COLUMN,))
        return NamedCompounds(names, tuple(public_keys(groups, by) for groups in given.values()))


@dataclass(frozen=True, slots=True)
class Below(Above):
    """Which groups have fewer than ``threshold`` units? At most ``max_answers`` noisy counts.

    The mirror of :class:`Above`, where counts only rise along moves, as those of open records do:
    the groups before the last answer that are not among them have certainly at least the threshold,
    for free. Each of them is a lower bound. Of compounds, *every* group is certified.
    unknown: by default "recorded", so that what is certified is certain about the truth. It stays
    so where units in more groups are cut, and where values are missing.
    Where counts may fall it is likely, as :class:`Above` says.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "place": ["a", "b", "b"], "agreed": [True] * 3})
    >>> policy = od.policy.sensitive("NOT agreed")
    >>> session = od.Session(people, unit="person", policy=policy, budget=100)
    >>> asked = {"by": "place", "keys": ["b", "a"], "counted": "open", "max_groups": 1}
    >>> session.below(2, max_answers=1, epsilon=90, **asked).below
    ['a']
    """

    below: ClassVar[bool] = True
    words: ClassVar = (
        "At least {limit:,} {units} or a noisy number",
        "At least a group's own limit of {units} or a noisy number",
    )
    unknown: IfUnknown = field(default="recorded", kw_only=True)


@dataclass(frozen=True, slots=True)
class AtMost(Above):
    """Which groups certainly have at most ``threshold`` units? Never stops, and costs ε/ℓ0.

    threshold: one for all, or one for each key, in the keys' order or by key.
    The other arguments are those of :class:`onesided.session.Grouped`.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> session.at_most(1, by="place", keys=["a", "b"], epsilon=90).at_most()
    ['a']
    """

    max_answers: None = field(default=None, init=False)

    form: ClassVar = (
        FormLine(
            "at_most",
            "Which groups have at most so many units (certified or likely)",
            number="threshold",
        ),
    )
    sql_clause: ClassVar = "HAVING {} <="
    words: ClassVar = ("At most {limit:,} {units}", "At most a group's own limit of {units}")
    adaptive: bool = field(default=False, init=False)


@dataclass(frozen=True, slots=True)
class AtLeast(Below):
    """Which groups certainly have at least ``threshold`` units? Never stops, and costs ε/ℓ0.

    The mirror of :class:`AtMost`, where counts only rise along moves. A certificate is free and
    what is not certified is paid for, b of ε for each group of a unit: the charge covers that none
    is. What :class:`Below` says of missing values, cut units and errors holds here too.
    threshold: one for all, or one for each key, in the keys' order or by key; at least 1.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "place": ["a", "b", "b"], "agreed": [True] * 3})
    >>> policy = od.policy.sensitive("NOT agreed")
    >>> session = od.Session(people, unit="person", policy=policy, budget=100)
    >>> asked = {"by": "place", "keys": ["a", "b"], "counted": "open", "max_groups": 1}
    >>> session.at_least(2, epsilon=90, **asked).at_least()
    ['b']
    """

    max_answers: None = field(default=None, init=False)

    form: ClassVar = (
        FormLine(
            "at_least",
            "Which groups have at least so many units (certified or likely)",
            number="threshold",
        ),
    )
    sql_clause: ClassVar = "HAVING {} >="
    words: ClassVar = ("At least {limit:,} {units}", "At least a group's own limit of {units}")
    adaptive: bool = field(default=False, init=False)


def _told(
    answer: Answer,
    keys: PublicKeys,
    mechanism: SparseVector | AdaptiveSparseVector | CubeThresholds,
    *,
    adaptive: bool,
) -> dict[str, Any]:
    """The groups reached, in the order they were asked: bounded by the threshold where certified.

    Elsewhere the bound is the noisy count. coarse: of an adaptive answer, which values were drawn
    with twice the noise.
    """
    side = _SIDES[mechanism.below]
    certified, answered = (np.asarray(answer[n], dtype=np.bool_) for n in ("certified", "answered"))
    values = np.asarray(answer["values"], dtype=np.int64)
    reached = np.flatnonzero(certified | answered)
    missed = keys.part(np.flatnonzero(~(certified | answered)))
    coarse = np.asarray(answer["coarse"], dtype=np.bool_) if adaptive else None
    bounds = np.where(certified, np.asarray(mechanism.thresholds), values)[reached]
    told = of_groups(
        keys.part(reached),
        {
            **_own(mechanism.thresholds, reached, below=mechanism.below),
            "coarse": None if coarse is None else coarse[reached],
            "certified": certified[reached],
            side: np.maximum(bounds, 0) if mechanism.below else bounds,
            f"{side}_certain": True,
        },
    )
    return {
        "kind": "AboveRelease",
        "told": told,
        "summary": f"Of {many(keys.size, 'group')}: {int(certified.sum()):,} certified, "
        f"{int(answered.sum()):,} unknown, {missed.size:,} not reached.",
        "own": {
            "answers": SparseAnswers(certified=certified, answered=answered, values=values),
            "coarse": coarse,
            "mechanism": mechanism,
            "not_reached": missed.labels() if missed.size else [],
        },
    }


def _own(levels: int | Sequence[int], rows: Any, *, below: bool) -> dict[str, Any]:
    """The column of each group's own limit."""
    if isinstance(levels, int):
        return {}
    return {"own_least" if below else "own_most": np.asarray(levels, dtype=np.int64)[rows]}


def _levels(threshold: object, keys: PublicKeys, *, least: int) -> int | Sequence[int]:
    """One threshold, or one for each key in the keys' order; every count is at least 0."""
    if isinstance(threshold, Mapping):
        names = keys.labels()
        missing = [name for name in names if name not in threshold]
        if missing:
            raise ParameterError(
                f"There is no threshold for the key {missing[0]!r}.",
                hint="Give one for every key, or one number for all.",
                key=missing[0],
            )
        return [whole(threshold[name], name="threshold", least=least) for name in names]
    if isinstance(threshold, Sequence | np.ndarray) and not isinstance(threshold, str):
        if len(threshold) != keys.size:
            raise ParameterError(
                f"Got {many(len(threshold), 'threshold')} for {many(keys.size, 'key')}.",
                hint="Give one for every key, or one number for all.",
            )
        return [whole(one, name="threshold", least=least) for one in list(threshold)]
    return whole(threshold, name="threshold", least=least)


# The largest groups, with certain upper bounds.


_ONE_BY_ONE: Final = (
    "a unit may be in many more groups than are told, so groups are picked one after another, and "
    "those alone are measured"
)


@dataclass(frozen=True, slots=True)
class TopK(Grouped):
    """Which ``k`` groups have the most units, and at most how many?

    Where counts only fall along moves, values are certain upper bounds; where they only rise, as
    those of open records, certain lower bounds. Where they do both, no side is certain: the largest
    of all noisy counts are told, or, for units in many more groups than k, groups picked one after
    another and measured afterwards, whichever has less noise.
    confidence: also bound the counts on the sides that are not certain, all at once with this
        confidence, whichever groups are selected; None leaves those sides out.
    The other arguments are those of :class:`onesided.session.Grouped`.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> session.top_k(1, by="place", keys=["a", "b"], epsilon=90).labels
    ['b']
    """

    k: int
    confidence: Number | None = field(default=None, kw_only=True)

    form: ClassVar = (FormLine("top_k", "Which groups are largest", number="k"),)
    sql_clause: ClassVar = "ORDER BY {} DESC LIMIT"

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        one = self.k == 1
        return f"The {'largest number' if one else f'{self.k:,} largest numbers'} of {nouns.units}"

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
        """Check and price the question. Looks at no row."""
        groups = self.groups(context).by_cells(context)
        most = whole(self.k, name="k", least=1)
        if most > groups.keys.size:
            raise ParameterError(
                f"The {most} largest groups were asked for, of {many(groups.keys.size, 'group')}.",
                hint=f"Ask for at most {groups.keys.size}, or give more keys.",
                k=most,
            )
        groups, mechanism = self._mechanism(context, groups, most)
        if self.confidence is not None:
            confident(self.confidence)
        lower = INFINITE if isinstance(mechanism, Mechanism) else mechanism.lower_rate
        certain = certain_sides(Counts(mechanism.upper_rate, lower))
        why = _ONE_BY_ONE if isinstance(mechanism, PeeledTopK) else ""
        plan = groups.plan(context, mechanism, certain=certain, why=why)

        def draw(counts: IntArray, noise: Noise | None) -> Answer:
            return mechanism.release(counts, noise=noise)._asdict()

        def tell(answer: Answer) -> dict[str, Any]:
            found = TopKAnswer(**{k: np.asarray(v, dtype=np.int64) for k, v in answer.items()})
            told = self._told(mechanism, found.values, groups.keys.size)
            share = self.confidence
            return {
                "kind": "TopKRelease",
                "told": of_groups(groups.keys.part(found.indices), told),
                "bound_words": "" if share is None else Confidence(share, simultaneous=True).words,
                "own": {
                    "mechanism": mechanism,
                    "candidates": groups.keys.size,
                    "confidence": share,
                    "noisy": found.values,
                },
            }

        return groups.prepared(context, plan, draw=draw, tell=tell)

    def ways(self, context: QueryContext) -> Iterator[Way]:
        """The selection, and the largest of all counts; for plans."""
        del context

        def selected(release: Any) -> Floats:
            rows = public_keys(self.keys, names_of(self.by, name="by")).rows
            where = {row: place for place, row in enumerate(rows)}
            places = np.array([where[row] for row in release.keys.rows], dtype=np.float64)
            return np.stack([places, estimates(release)])

        def largest(release: Any) -> Floats:
            counts = estimates(release)
            places = np.argsort(-counts, kind="stable")[: self.k]
            return np.stack([places.astype(np.float64), counts[places]])

        yield Way("TopK", self, told=selected, certain=True)
        corrections: tuple[Correction, ...] = ("mean", "median", "none")
        for correction in corrections:
            counts = Count(**self.shared(correction=correction))
            note = "every group is counted, and the rest are released as well"
            name = f'Counts, correction="{correction}", the largest of them'
            yield Way(name, counts, note, told=largest)

    def _mechanism(
        self, context: QueryContext, groups: Groups, k: int
    ) -> tuple[Groups, Mechanism | NoisyTopK | PeeledTopK]:
        """That of the least noise: what unselected counts cost depends on how they move."""
        asked: dict[str, Any] = {"k": k, "epsilon": self.epsilon}
        single = context.policy.view is None
        if single and not any(m.shift.rise for m in moves_of(groups, context, self.epsilon)):
            return groups, groups.for_policy(Mechanism, context, **asked)
        several = replace(groups, query=replace(groups.query, several_units=True))
        alone = several.for_policy(NoisyTopK, context, **asked)
        if not single:
            return several, alone
        with suppress(ParameterError):  # a rate out of range
            peeled = groups.for_policy(PeeledTopK, context, **asked)
            picks = TwoSidedGeometric(peeled.pick_rate, INFINITE)
            if (
                max(picks.variance(), peeled.distribution.variance())
                < alone.distribution.variance()
            ):
                return groups, peeled
        return several, alone

    def _told(
        self, mechanism: Mechanism | NoisyTopK | PeeledTopK, values: IntArray, size: int
    ) -> dict[str, Any]:
        """Estimates, and bounds: of those that were selected by their noise, of all at once."""
        one_sided = isinstance(mechanism, Mechanism)
        lower = INFINITE if isinstance(mechanism, Mechanism) else mechanism.lower_rate
        counts = Counts(mechanism.upper_rate, lower, correction="mean", clip=not one_sided)
        if isinstance(mechanism, PeeledTopK):  # measured after they were selected
            estimate = counts.estimate(values)
        else:
            estimate = mechanism.shrunk(values, candidates=size)
        among = values.size if isinstance(mechanism, PeeledTopK) else size
        share = shared(CONFIDENCE if self.confidence is None else self.confidence, among)
        bounds = sides(counts.interval(values, confidence=share))
        # Wider bounds hold as well: no estimate lies outside.
        bounds["lower"] = np.minimum(bounds["lower"], np.floor(estimate).astype(np.int64))
        bounds["upper"] = np.maximum(bounds["upper"], np.ceil(estimate).astype(np.int64))
        if self.confidence is None:
            for side in SIDES:
                if not bounds[f"{side}_certain"]:
                    bounds[side] = bounds[f"{side}_certain"] = None
        return {"estimate": estimate, **bounds}
