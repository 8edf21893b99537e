"""The largest groups, with certain upper bounds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

import numpy as np

from onesided._english import many
from onesided._numbers import INFINITE, Number, whole
from onesided.engine import public_keys
from onesided.errors import ParameterError
from onesided.mechanism import Counts, NoisyTopK, PeeledTopK, TopKAnswer
from onesided.mechanism import TopK as Mechanism
from onesided.mechanism.kit import CONFIDENCE, Correction, confident, shared
from onesided.noise import IntArray, Noise, TwoSidedGeometric
from onesided.session._confidence import Confidence
from onesided.session._context import QueryContext
from onesided.session._count import Count, certain_sides
from onesided.session._groups import Grouped, Groups, names_of
from onesided.session._question import Answer, FormLine, PreparedQuery
from onesided.session._release import Release, of_groups, sides
from onesided.session._statement import Nouns
from onesided.session._ways import Floats, Way, estimates, moves_of
from onesided.show import SIDES

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

        def result(answer: Answer, entry: int | None) -> Release:
            found = TopKAnswer(**{k: np.asarray(v, dtype=np.int64) for k, v in answer.items()})
            told = self._told(mechanism, found.values, groups.keys.size)
            share = self.confidence
            return Release(
                kind="TopKRelease",
                told=of_groups(groups.keys.part(found.indices), told),
                bound_words="" if share is None else Confidence(share, simultaneous=True).words,
                own={
                    "mechanism": mechanism,
                    "candidates": groups.keys.size,
                    "confidence": share,
                    "noisy": found.values,
                },
                **groups.published(context, plan, entry),
            )

        return groups.prepared(context, plan, draw=draw, result=result)

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

    def truth(self, public: QueryContext) -> Floats:
        """All counts, of a public table."""
        return np.asarray(self.prepare(public).read(), dtype=np.float64)

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
