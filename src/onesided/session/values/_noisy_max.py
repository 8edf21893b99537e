"""Quantiles of units' own means, by the noisy maximum over public candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import Loss, Number, exact, positive, text, whole
from onesided.engine import PublicKeys
from onesided.errors import ParameterError
from onesided.mechanism import NoisyMaxQuantile, SeveralQuantiles
from onesided.mechanism.kit import Move, largest_rate
from onesided.noise import IntArray, Noise
from onesided.policy import Shift
from onesided.session._context import QueryContext, Taken
from onesided.session._groups import Groups
from onesided.session._plan import Plan, priced
from onesided.session._question import Answer
from onesided.session._release import Release
from onesided.session.histograms._bins import edges_of
from onesided.session.values._moments import own_means
from onesided.session.values._shifts import values_move
from onesided.session.values._value import Missing, Value, value_of

Floats = NDArray[np.float64]
_FINEST: Final = 10**6
_PARTS: Final = 2**13  # of a value: ranks of as many values as a table may have fit 62 bits in them


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QuantileEstimates(Release):
    """A candidate near each quantile asked for, a row per group and q. Everything is public.

    keys: the groups. q: the shares, as they were asked for. estimates: a row per group, a column
    per share; they rise with the share. rank_error: per share, by how many ranks an estimate
    misses the quantile at most, with ``confidence`` for each on its own.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> session = od.Session(people, unit="person", policy=od.policy.bounded(), budget=1000)
    >>> release = session.quantile("age", [0.25, 0.5], candidates=[7, 12, 40], epsilon=100)
    >>> release.columns()
    {'q': ['1/4', '1/2'], 'estimate': [7.0, 12.0]}
    """

    keys: PublicKeys
    q: tuple[Fraction, ...]
    estimates: Floats
    rank_error: tuple[float, ...]
    confidence: Number

    @property
    def counted(self) -> str:
        """What the numbers are."""
        return "value"

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        named = ", ".join(map(text, self.q))
        groups = f" of {many(self.keys.size, 'group')}" if self.keys.names else ""
        share = text(exact(self.confidence, name="confidence") * 100)
        far = max(self.rank_error)
        return f"Quantile {named}{groups}, within {far:,.3g} ranks ({share} %)"

    @property
    def labels(self) -> list[Any]:
        """The groups."""
        return self.keys.labels()

    def enclosing(self, q: Number, *, of: int) -> tuple[Floats, Floats]:
        """Per group, candidates below and above which the true quantile ``q`` does not lie.

        of: how many values a group has; it must be public knowledge. From the shares that were
        answered, at no charge: where all are within r ranks, a share s bounds every share beyond
        ``s + r / of`` from below, and up to ``s - r / of`` from above. With simultaneous=True all
        hold with ``confidence``; else they miss as often as all shares together, at most. Infinite
        where no share is so far off.

        >>> import polars as pl, onesided as od
        >>> people = pl.DataFrame({"age": list(range(100)) * 20})
        >>> session = od.Session(people, policy=od.policy.bounded(), budget=99)
        >>> release = session.quantile("age", ["1/4", "3/4"], bounds=(0, 99), epsilon=20)
        >>> low, high = release.enclosing("1/2", of=2000)
        >>> bool(20 < low[0] < 30), bool(70 < high[0] < 80)
        (True, True)
        """
        share, number = exact(q, name="q"), whole(of, name="of", least=1)
        low, high = np.full(self.keys.size, -np.inf), np.full(self.keys.size, np.inf)
        # What came out was sorted: then the largest error is that of each.
        ranks = max(self.rank_error)
        for one, found in zip(self.q, self.estimates.T, strict=True):
            apart = float(share - one) * number
            if apart > ranks:
                low = np.maximum(low, found)
            if -apart >= ranks:
                high = np.minimum(high, found)
        return low, high

    def columns(self) -> dict[str, list[Any]]:
        """The keys, then q where there are several, and estimate."""
        keys, number = self.keys.columns(), len(self.q)
        told = {name: [one for one in column for _ in self.q] for name, column in keys.items()}
        shares = {"q": list(map(text, self.q)) * self.keys.size} if number > 1 else {}
        return {**told, **shares, "estimate": self.estimates.reshape(-1).tolist()}


@dataclass(frozen=True, slots=True)
class Candidates:
    """Public candidates on the grid of a column's values: all its steps, or those in a list."""

    value: Value
    listed: IntArray | None

    @property
    def number(self) -> int:
        """How many there are."""
        return self.value.high - self.value.low + 1 if self.listed is None else self.listed.size

    def places(self, steps: IntArray) -> IntArray:
        """The candidate that each value counts as: the next one from it upwards."""
        if self.listed is None:
            return steps - self.value.low
        return np.minimum(np.searchsorted(self.listed, steps), self.listed.size - 1)

    def steps(self, places: IntArray) -> IntArray:
        """The candidates at these places, in steps."""
        return places + self.value.low if self.listed is None else self.listed[places]

    def numbers(self, places: IntArray) -> Floats:
        """The candidates at these places, in the column's unit."""
        steps = self.steps(places)
        found = [float(step * self.value.step) for step in steps.reshape(-1).tolist()]
        return np.array(found, dtype=np.float64).reshape(places.shape)


@dataclass(frozen=True, slots=True)
class NoisyQuantiles:
    """A noisy maximum for each share asked for; what a move costs them adds up."""

    parts: tuple[NoisyMaxQuantile, ...]

    def release(self, secret: list[tuple[IntArray, ...]], noise: Noise | None) -> Answer:
        """Places of candidates, group by group."""
        found = [
            part.choose(places, counts, noise=noise)
            for places, counts in secret
            for part in self.parts
        ]
        return {"places": np.array(found, dtype=np.int64)}

    def rank_errors(self, confidence: Fraction) -> tuple[float, ...]:
        """Per share, by how many ranks an answer misses at most, with this confidence."""
        return tuple(part.rank_error(confidence=confidence) for part in self.parts)

    @property
    def why(self) -> str:
        """How the shares are answered."""
        return "noisy maximum"


@dataclass(frozen=True, slots=True)
class SharedQuantiles:
    """Many shares at once, each level of halves at a part of ε; ``order``: where each is told."""

    shared: SeveralQuantiles
    order: tuple[int, ...]

    def release(self, secret: list[tuple[IntArray, ...]], noise: Noise | None) -> Answer:
        """Places of candidates, group by group."""
        found = [self.shared.choose(*held, noise=noise)[list(self.order)] for held in secret]
        return {"places": np.array(found, dtype=np.int64)}

    def rank_errors(self, confidence: Fraction) -> tuple[float, ...]:
        """Per share, by how many ranks an answer misses at most, with this confidence."""
        errors = self.shared.rank_errors(confidence=confidence)
        return tuple(errors[place] for place in self.order)

    @property
    def why(self) -> str:
        """How the shares are answered."""
        return f"noisy maximum, halves in {self.shared.levels} levels,"


def candidates_of(
    context: QueryContext,
    column: str,
    *,
    listed: Sequence[Number] | None,
    bounds: Sequence[Number] | None,
    step: Number | None,
    missing: Missing,
) -> Candidates:
    """All steps within bounds, or the candidates listed. Errors: ParameterError, DataError."""
    context.table.require(column)
    if (listed is None) == (bounds is None):
        raise ParameterError(
            f"Which candidates for values of {column!r}? Give bounds= and step=, or candidates=, "
            "and not both.",
            hint="Pass bounds=(0, 110), or candidates=[20, 40, 60], from public knowledge; "
            "or declare bounds and a step in a schema.",
            column=column,
        )
    if listed is None:
        grid: Number = 1 if step is None else step
        value = value_of(
            column, bounds=bounds or (), step=grid, missing=missing, schema=context.schema
        )
        return Candidates(value, None)
    points = edges_of(listed, name="candidates")
    if not points:
        raise ParameterError("There are no candidates.", hint="Give at least one number.")
    size = _common(points) if step is None else positive(step, name="step")
    ends = (points[0], points[-1] if len(points) > 1 else points[0] + size)
    value = value_of(column, bounds=ends, step=size, missing=missing, schema=context.schema)
    steps = [point / size for point in points]
    for one in steps:
        if one.denominator != 1:
            raise ParameterError(
                f"The candidate {text(one * size)} is no whole number of steps of {text(size)}.",
                hint="Choose candidates on the grid, or a step that divides them.",
                candidate=one * size,
                step=size,
            )
    return Candidates(value, np.array([int(one) for one in steps], dtype=np.int64))


def _common(points: Sequence[Fraction]) -> Fraction:
    """The coarsest grid that holds the whole numbers and all points."""
    return Fraction(1, lcm(*(point.denominator for point in points)))


def inner(shares: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Shares that a noisy maximum can answer. Errors: ParameterError for 0 and 1."""
    # A float is a fraction of 2^54, which ranks cannot be counted in.
    rounded = tuple(share.limit_denominator(_FINEST) for share in shares)
    for share in rounded:
        if share in (0, 1):
            raise ParameterError(
                f"Among several quantiles, or by the noisy maximum, q={text(share)} has no "
                "answer: no candidate beyond the last value is farther from it in rank.",
                hint="Ask for minimum(...) and maximum(...), or for shares between 0 and 1.",
                q=share,
            )
    return rounded


def plan_of(
    context: QueryContext,
    groups: Groups,
    found: Candidates,
    shares: Sequence[Fraction],
    question: Any,
    *,
    confidence: Fraction,
) -> Plan:
    """What the shares cost on each edge: from ten on they share levels of halves."""
    policy, epsilon = context.policy, positive(question.epsilon, name="epsilon")
    dropped = values_move(policy) == "dropped" and context.unit is not None
    shifts = policy.shifts(groups.query)
    moves = [
        Move(edge, shift, epsilon * edge.weight)
        for edge, some in shifts.items()
        for shift in some
        if shift.rise or shift.fall
    ]
    rising = tuple(sorted(set(shares)))
    made = _shared if SeveralQuantiles.pays(len(rising)) else _apart
    mechanism, loss = made(moves, groups, shares, found.number, dropped=dropped)
    ranks = max(mechanism.rank_errors(confidence))
    return priced(
        context,
        mechanism,
        shifts,
        loss=loss,
        about=groups.sentence,
        scope=groups.left_out.numbers((), groups.words),
        why=f"{mechanism.why} over {many(found.number, 'candidate')}; within {ranks:,.3g} ranks at "
        f"confidence {question.confidence}",
    )


Priced = Callable[[Shift], Loss]


def _apart(
    moves: Sequence[Move],
    groups: Groups,
    shares: Sequence[Fraction],
    candidates: int,
    *,
    dropped: bool,
) -> tuple[NoisyQuantiles, Priced]:
    """Each share on its own, ε split evenly among them."""
    even = [Move(one.edge, one.shift, one.loss / len(shares)) for one in moves]

    def part(share: Fraction) -> NoisyMaxQuantile:
        bare = NoisyMaxQuantile(1, q=share, candidates=candidates)
        rate = largest_rate(even, lambda shift: _span(bare, shift, groups, dropped=dropped))
        return NoisyMaxQuantile(rate, q=share, candidates=candidates)

    mechanism = NoisyQuantiles(tuple(part(share) for share in shares))

    def loss(shift: Shift) -> Loss:
        if not shift.rise and not shift.fall:
            return Fraction(0)
        spans = [
            one.noise_rate * _span(one, shift, groups, dropped=dropped) for one in mechanism.parts
        ]
        return sum(spans, Fraction(0))

    return mechanism, loss


def _shared(
    moves: Sequence[Move],
    groups: Groups,
    shares: Sequence[Fraction],
    candidates: int,
    *,
    dropped: bool,
) -> tuple[SharedQuantiles, Priced]:
    """Many shares, the middle one first, then those on each side of it."""

    def moved(shift: Shift) -> int:
        """Values that come and go; one whose rows are dropped may come back as another."""
        whole = shift if groups.by else Shift(rise=min(shift.rise, 1), fall=min(shift.fall, 1))
        if not dropped or not (shift.rise or shift.fall):
            return whole.rise + whole.fall
        return whole.rise + 2 * whole.fall if groups.by else 2

    rising = sorted(set(shares))
    made = SeveralQuantiles(
        largest_rate(moves, moved), shares=rising, candidates=candidates, fine=_PARTS
    )
    order = tuple(rising.index(share) for share in shares)

    def loss(shift: Shift) -> Loss:
        return made.unit * moved(shift) if moved(shift) else Fraction(0)

    return SharedQuantiles(made, order), loss


def _span(one: NoisyMaxQuantile, shift: Shift, groups: Groups, *, dropped: bool) -> int:
    """How far a move takes two candidates' distances apart, over all groups.

    Without groups all that goes and comes is one value of one unit. Among groups each pair of unit
    and group has its own, which goes, or comes. Where rows are dropped a pair whose rows are not
    all gone stays with another mean, which no distance tells from one that goes and one that comes.
    """
    changed = one.span(Shift(rise=1, fall=1))
    if not groups.by:
        whole = Shift(rise=min(shift.rise, 1), fall=min(shift.fall, 1))
        return changed if dropped else one.span(whole)
    alone = one.span(Shift(rise=1, fall=0))
    return shift.rise * alone + shift.fall * (changed if dropped else alone)


def ranked(taken: Taken, groups: Groups, found: Candidates) -> list[tuple[IntArray, ...]]:
    """Per group, the places of candidates that have values, and how many each has. Secret."""
    secret: list[tuple[IntArray, ...]] = []
    for steps, counts in own_means(taken, groups, found.value):
        places, first = np.unique(found.places(steps), return_index=True)
        added = np.add.reduceat(counts, first) if places.size else counts
        secret.append((places, added))
    return secret


def told(
    answer: Answer,
    found: Candidates,
    shares: Sequence[Fraction],
    errors: tuple[float, ...],
) -> Mapping[str, Any]:
    """What an answer says, with estimates that rise with the shares."""
    places = np.asarray(answer["places"], dtype=np.int64).reshape(-1, len(shares))
    order = np.argsort(np.array([float(share) for share in shares]), kind="stable")
    rising = np.empty_like(places)
    rising[:, order] = np.sort(places, axis=1)
    return {
        "q": tuple(shares),
        "estimates": found.numbers(rising),
        "rank_error": errors,
    }
