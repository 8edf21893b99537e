"""Which groups certainly have at most a threshold, and noisy counts of those above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import whole
from onesided.engine import PublicKeys
from onesided.errors import ParameterError
from onesided.mechanism import (
    AdaptiveSparseVector,
    Compounds,
    CubeThresholds,
    Interval,
    SparseAnswers,
    SparseVector,
)
from onesided.noise import IntArray, Noise
from onesided.session._at_once import TOGETHER, drawn_at_once, moves_of
from onesided.session._certified import certified_shares
from onesided.session._compounds import ABOUT, NamedCompounds, compounds_of
from onesided.session._context import QueryContext
from onesided.session._groups import Grouped, Groups, names_of
from onesided.session._missing import Unknown
from onesided.session._plan import Plan
from onesided.session._question import Answer, PreparedQuery
from onesided.session._release import Release


@dataclass(frozen=True, slots=True)
class Above(Grouped):
    """Which groups have more than ``threshold`` units? At most ``max_answers`` noisy counts.

    The groups before the last answer that are not among them are certified, for free.
    threshold: one for all, or one for each key, in the keys' order or by key.
    max_answers: None never stops; it then costs ε/ℓ0 per count.
    adaptive: counts far above the threshold are answered coarsely and pay half, so that up to
        twice ``max_answers`` are answered (:class:`onesided.mechanism.AdaptiveSparseVector`).
    of: a mapping from names to groups, such as routes to their stops. Each of these compounds is
        then answered once: certified, *every* group of it has at most the threshold. It costs what
        one group would where a unit's groups are all in one compound; keys= may be left out.
    unknown: by default "possible", so that what is certified is certain about the truth.
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
    max_answers: int | None = field(kw_only=True)
    adaptive: bool = field(default=False, kw_only=True)
    of: object = field(default=None, kw_only=True)
    unknown: Unknown = field(default="possible", kw_only=True)

    def measure(self, units: str) -> str:
        """What the numbers are."""
        limit = self.threshold
        single = isinstance(limit, Integral)
        return (
            f"More than {limit:,} {units}" if single else f"More {units} than a group's own limit"
        )

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, AboveRelease]:
        """Check and price the question. Looks at no row."""
        groups, named = self.groups(context), self._named()
        keys = groups.keys if named is None else named.keys
        compounds = None if named is None else named.over(groups.keys)
        mechanism = self._mechanism(context, groups, keys, compounds)
        plan = _plan(context, groups, mechanism, keys.size, compounds)

        def draw(counts: IntArray, noise: Noise | None) -> Answer:
            asked = counts if compounds is None else compounds.largest(counts)
            return mechanism.release(asked, noise=noise)._asdict()

        def result(answer: Answer, entry: int | None) -> AboveRelease:
            return AboveRelease(
                keys=keys,
                answers=SparseAnswers(
                    certified=np.asarray(answer["certified"], dtype=np.bool_),
                    answered=np.asarray(answer["answered"], dtype=np.bool_),
                    values=np.asarray(answer["values"], dtype=np.int64),
                ),
                coarse=np.asarray(answer["coarse"], dtype=np.bool_) if self.adaptive else None,
                mechanism=mechanism,
                **groups.published(context, plan, entry),
            )

        return groups.prepared(context, plan, draw=draw, result=result)

    def _mechanism(
        self,
        context: QueryContext,
        groups: Groups,
        keys: PublicKeys,
        compounds: Compounds | None,
    ) -> SparseVector | AdaptiveSparseVector | CubeThresholds:
        """Noise for each answer on its own, or drawn for all at once where that is better."""
        alone = groups.for_policy(
            self._kind(),
            context,
            thresholds=_levels(self.threshold, keys),
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
        return None if self.of is None else compounds_of(self.of, names_of(self.by, name="by"))

    def _kind(self) -> type[SparseVector | AdaptiveSparseVector]:
        if not isinstance(self.adaptive, bool):
            raise ParameterError(
                f"adaptive must be True or False, got {self.adaptive!r}.",
                hint="True lets counts far above the threshold pay half.",
            )
        if self.adaptive and self.max_answers is None:
            raise ParameterError(
                "An adaptive answer needs max_answers: what it saves is answers.",
                hint="Name a number, or leave adaptive out: without a limit each count costs the "
                "same, and is answered with the finer noise.",
            )
        return AdaptiveSparseVector if self.adaptive else SparseVector


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

    def measure(self, units: str) -> str:
        """What the numbers are."""
        limit = self.threshold
        single = isinstance(limit, Integral)
        return f"At most {limit:,} {units}" if single else f"At most a group's own limit of {units}"

    adaptive: bool = field(default=False, init=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AboveRelease(Release):
    """Which groups certainly have at most a threshold; noisy counts of others. All public.

    keys: all groups asked for, in the order they were asked. answers: what became of each.
    coarse: of an adaptive answer, which values were drawn with twice the noise; else None.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> release = session.at_most(1, by="place", keys=["a", "b"], epsilon=90)
    >>> release.at_most(), release.above, release.not_reached
    (['a'], ['b'], [])
    """

    keys: PublicKeys
    answers: SparseAnswers
    mechanism: SparseVector | AdaptiveSparseVector | CubeThresholds
    coarse: NDArray[np.bool_] | None = None

    @property
    def summary(self) -> str:
        """What was found, in a few words."""
        parts = ((self.answers.certified, "certified"), (self.answers.answered, "unknown"))
        told = ", ".join(f"{int(chosen.sum()):,} {word}" for chosen, word in parts)
        groups, left_out = many(self.keys.size, "group"), len(self.not_reached)
        return f"Of {groups}: {told}, {left_out:,} not reached."

    @property
    def above(self) -> list[Any]:
        """The groups whose noisy count was above: *unknown*, probably larger."""
        return self._named(np.flatnonzero(self.answers.answered))

    @property
    def not_reached(self) -> list[Any]:
        """The groups that the limit on answers left out."""
        return self._named(np.flatnonzero(~(self.answers.certified | self.answers.answered)))

    def at_most(self, threshold: int | None = None) -> list[Any]:
        """The groups certified to have at most ``threshold``; by default, each at most its own."""
        if threshold is None:
            return self._named(np.flatnonzero(self.answers.certified))
        return self._named(self._reached[self.certainly_at_most(threshold)])

    @property
    def interval(self) -> Interval:
        """The groups reached: at most the threshold where certified, else the noisy count."""
        levels = np.broadcast_to(np.asarray(self.mechanism.thresholds), self.keys.size)
        upper = np.where(self.answers.certified, levels, self.answers.values)[self._reached]
        return Interval(np.zeros_like(upper), upper, True, True)  # noqa: FBT003

    @property
    def labels(self) -> list[Any]:
        """The groups reached."""
        return self.keys.part(self._reached).labels()

    @property
    def _reached(self) -> IntArray:
        return np.flatnonzero(self.answers.certified | self.answers.answered)

    def columns(self) -> dict[str, list[Any]]:
        """The groups reached: the keys, then certified, upper, upper_certain.

        ``upper`` is the threshold where certified, the noisy count elsewhere.
        """
        reached = self._reached
        coarse = {} if self.coarse is None else {"coarse": self.coarse[reached].tolist()}
        return {
            **self.keys.part(reached).columns(),
            **coarse,
            "certified": self.answers.certified[reached].tolist(),
            "upper": self.interval.upper.tolist(),
            "upper_certain": [True] * reached.size,
        }

    def _named(self, places: IntArray) -> list[Any]:
        return self.keys.part(places).labels()


def _plan(
    context: QueryContext,
    groups: Groups,
    mechanism: SparseVector | AdaptiveSparseVector | CubeThresholds,
    answers: int,
    compounds: Compounds | None,
) -> Plan:
    """What it costs and certifies, and what the release says of its certificates."""
    together = isinstance(mechanism, CubeThresholds)
    plan = groups.plan(
        context,
        mechanism,
        through=None if compounds is None else compounds.shift,
        certain=("upper",),
        why=TOGETHER if together else "",
    )
    told = (ABOUT * (compounds is not None), drawn_at_once(answers) * together)
    about = " ".join(filter(None, (plan.guarantee.about, *told)))
    certifies = certified_shares(mechanism, mechanism.thresholds, keys=answers)
    return replace(plan, certifies=certifies, guarantee=replace(plan.guarantee, about=about))


def _levels(threshold: object, keys: PublicKeys) -> int | Sequence[int]:
    """One threshold, or one for each key in the keys' order."""
    if isinstance(threshold, Mapping):
        single = len(keys.names) == 1
        names: list[Any] = [row[0] if single else row for row in keys.rows]
        missing = [name for name in names if name not in threshold]
        if missing:
            raise ParameterError(
                f"There is no threshold for the key {missing[0]!r}.",
                hint="Give one for every key, or one number for all.",
                key=missing[0],
            )
        return [threshold[name] for name in names]
    if isinstance(threshold, Sequence | np.ndarray) and not isinstance(threshold, str):
        if len(threshold) != keys.size:
            raise ParameterError(
                f"Got {many(len(threshold), 'threshold')} for {many(keys.size, 'key')}.",
                hint="Give one for every key, or one number for all.",
            )
        return list(threshold)
    return whole(threshold, name="threshold")
