"""Quantiles of units' own means, or of rows, by the noisy maximum over public candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial
from math import ceil, lcm
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import (
    INFINITE,
    MAX_COUNT,
    Number,
    exact,
    positive,
    rough,
    sampled,
    text,
    whole,
)
from onesided.engine import PublicKeys
from onesided.errors import ParameterError
from onesided.mechanism import NoisyMaxQuantile, SeveralQuantiles
from onesided.mechanism.kit import Move, Together, both_ways, largest_rate, shared
from onesided.noise import IntArray, Noise
from onesided.policy import Shift
from onesided.session._context import QueryContext, Taken
from onesided.session._groups import Groups
from onesided.session._plan import Plan
from onesided.session._question import Answer
from onesided.session._release import of_groups
from onesided.session.histograms._binned import edges_of
from onesided.session.values._moments import own_values
from onesided.session.values._shifts import values_move
from onesided.session.values._value import Value, require_numbers, value_of

Floats = NDArray[np.float64]
FINEST: Final = 10**6
# The finest shares for which a rank has a part of its own; and where few are to be kept in memory.
_TIES: Final = 1000
_SMALL: Final = 2**20
_FEW: Final = 16
_SIDE_BY_SIDE: Final = 32  # so many groups are drawn at once
_ROUNDED: Final = 1 + Fraction(1, 2**30)  # more than a logarithm's last digits
_MOST_LISTED: Final = 2**17  # candidates one by one: what is written down, no engine's work
_PARTS: Final = 2**13  # of a value: ranks of as many values as a table may have fit 62 bits in them


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The quantiles that a noisy maximum answered. q: the shares, as they were asked for.

    estimates: a row per group, a column per share; they rise with the share. rank_error: per share,
    by how many ranks an estimate misses the quantile at most, with ``confidence`` for each on its
    own. bounds: lower and upper ones as the estimates, which hold with ``confidence``; or None.

    >>> from onesided.engine import public_keys
    >>> keys = public_keys(["gym"], by=("place",))
    >>> given = {"estimates": np.array([[7.0]]), "rank_error": (3.0,), "confidence": "19/20"}
    >>> Shares(keys=keys, q=(Fraction(1, 2),), **given).told["summary"]
    'Within 3 ranks (95 %).'
    """

    keys: PublicKeys
    q: tuple[Fraction, ...]
    estimates: Floats
    rank_error: tuple[float, ...]
    confidence: Number
    bounds: tuple[Floats, Floats] | None = None

    @classmethod
    def from_answer(
        cls, answer: Answer, found: Candidates, *, enclosed: bool, **given: Any
    ) -> Shares:
        """Of an answer: estimates that rise with the shares.

        enclosed: whether it is of :class:`EnclosedQuantiles`. given: all that no answer says.
        """
        places, number = np.asarray(answer["places"], dtype=np.int64), len(given["q"])
        wide = places.reshape(-1, 3 * number if enclosed else number)
        order = np.argsort(np.array([float(share) for share in given["q"]]), kind="stable")
        rising = np.empty_like(wide[:, :number])
        rising[:, order] = np.sort(wide[:, :number], axis=1)
        bounds = None
        if enclosed:
            ends = np.sort(wide[:, number:].reshape(-1, 2, number), axis=1)
            rising = np.clip(rising, ends[:, 0], ends[:, 1])
            # A value counts as the next candidate upwards, and so lies above the one before.
            least = ends[:, 0] if found.listed is None else np.maximum(ends[:, 0] - 1, 0)
            bounds = found.numbers(least), found.numbers(ends[:, 1])
        return cls(estimates=found.numbers(rising), bounds=bounds, **given)

    @property
    def told(self) -> dict[str, Any]:
        """As a release: a row per group and share, and what it says of itself."""
        number, share = len(self.q), text(exact(self.confidence, name="confidence") * 100)
        keys = self.keys.part(np.repeat(np.arange(self.keys.size), number))
        shares = list(map(text, self.q)) * self.keys.size if number > 1 else None
        numbers: dict[str, Any] = {"q": shares, "estimate": self.estimates.reshape(-1)}
        if self.bounds is not None:
            lower, upper = (ends.reshape(-1) for ends in self.bounds)
            sides = {"lower_certain": False, "upper_certain": False}
            numbers |= {"lower": lower, "upper": upper, **sides}
        kept = ("keys", "bounds")
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in kept}
        return {
            "kind": "QuantileEstimates",
            "told": of_groups(keys, numbers),
            "summary": f"Within {rough(max(self.rank_error))} ranks ({share} %).",
            "own": {**own, "enclosing": self.enclosing},
        }

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


@dataclass(frozen=True, slots=True)
class Candidates:
    """Public candidates on the grid of a column's values: all its steps, or those in a list."""

    value: Value
    listed: IntArray | None

    @property
    def sentence(self) -> str:
        """Which numbers the answer is about."""
        if self.listed is None:
            return self.value.sentence
        points = [int(one) * self.value.step for one in self.listed[[0, -1]].tolist()]
        column, step = self.value.column, self.value.step
        return counted_as(column, points, self.number, higher="as the last", step=step)

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


def _chosen(
    parts: Sequence[NoisyMaxQuantile],
    held: Sequence[Sequence[tuple[IntArray, ...]]],
    noise: Noise | None,
) -> Answer:
    """Places of candidates, group by group, from the groups' values as each part takes them."""
    if len(held[0]) < _SIDE_BY_SIDE:
        pairs = (zip(parts, group, strict=True) for group in zip(*held, strict=True))
        found = [part.choose(*one, noise=noise) for pair in pairs for part, one in pair]
        return {"places": np.array(found, dtype=np.int64)}
    each = [part.choose_each(one, noise=noise) for part, one in zip(parts, held, strict=True)]
    return {"places": np.column_stack(each).reshape(-1)}


@dataclass(frozen=True, slots=True)
class NoisyQuantiles:
    """A noisy maximum for each share asked for; what a move costs them adds up."""

    parts: tuple[NoisyMaxQuantile, ...]

    why: ClassVar = "noisy maximum"  # how the shares are answered

    def release(self, secret: list[tuple[IntArray, ...]], noise: Noise | None) -> Answer:
        """Places of candidates, group by group."""
        return _chosen(self.parts, [secret] * len(self.parts), noise)

    def rank_errors(self, confidence: Fraction) -> tuple[float, ...]:
        """Per share, by how many ranks an answer misses at most, with this confidence."""
        return tuple(part.rank_error(confidence=confidence) for part in self.parts)


@dataclass(frozen=True, slots=True)
class EnclosedQuantiles:
    """A noisy maximum for each share, and two more that lie below and above the quantile.

    all: of each share thrice, for itself, below and above. beside: for each, how many values are
    added at the first candidate, and at the last.

    Claim. The values that are added are the same for everybody, so a move changes each distance as
    it does without them, and the loss is that of three. Let r be the error in ranks of a noisy
    maximum, q the share, n the number of values and h = q (n - 1) the quantile's rank from 0. Of
    n + k values, k of them at the first candidate, let c be found: unless it is the first, with L
    values below, ``L + k < q (n + k) + r``; with ``k >= (r + 1) / (1 - q)`` that is
    ``L < q n - 1 < h``, so that the value of rank floor(h) is no lower than c. Of n + m, m of them
    at the last one and ``m >= (r + 1) / q``, more than ``q (n + m) - r >= q n + 1 > h + 1`` are at
    or below c, so that the one of rank ceil(h) is no higher. Each misses half as often as both.
    """

    all: NoisyQuantiles
    beside: tuple[tuple[int, int], ...]

    why: ClassVar = "noisy maximum, with one below and one above each,"

    @classmethod
    def of(cls, thrice: NoisyQuantiles, confidence: Fraction) -> EnclosedQuantiles:
        """With as many values beside as this confidence of each share's interval takes.

        Errors: ParameterError where ranks would no longer fit 62 bits.
        """
        number, each = len(thrice.parts) // 3, shared(confidence, 2)
        first, below = thrice.parts[:number], []
        for part in first:
            ranks = Fraction(part.rank_error(confidence=each)) * _ROUNDED + 1
            below.append((ceil(ranks / (1 - part.q)), ceil(ranks / part.q)))
            if max(below[-1]) * part.q.denominator > MAX_COUNT // 2:
                raise ParameterError(
                    f"At this ε a bound of the quantile {text(part.q)} lies too many ranks away.",
                    hint="Give a larger ε, or leave interval= out.",
                )
        return cls(
            thrice, (*[(0, 0)] * number, *((k, 0) for k, _ in below), *((0, m) for _, m in below))
        )

    def release(self, secret: list[tuple[IntArray, ...]], noise: Noise | None) -> Answer:
        """Places of candidates, group by group: of all shares, and below and above them."""
        ranks = [
            [self.ranks(beside, part.candidates - 1, *held) for held in secret]
            for part, beside in zip(self.all.parts, self.beside, strict=True)
        ]
        return _chosen(self.all.parts, ranks, noise)

    def ranks(
        self, beside: tuple[int, int], last: int, places: IntArray, counts: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Where the values lie, with those beside them. Secret."""
        added = [(place, many) for place, many in zip((0, last), beside, strict=True) if many]
        ends, more = (np.array([one[at] for one in added], dtype=np.int64) for at in (0, 1))
        return _added(np.concatenate([places, ends]), np.concatenate([counts, more]))

    def rank_errors(self, confidence: Fraction) -> tuple[float, ...]:
        """Per share, by how many ranks an answer misses at most, with this confidence."""
        return self.all.rank_errors(confidence)[: len(self.all.parts) // 3]


@dataclass(frozen=True, slots=True)
class FineQuantiles:
    """A noisy maximum for each share, on ranks in ``fine`` parts, that also says where between two.

    interpolate: True takes the point on the line between the values on either side, at the rank
    ``q (n - 1)`` from 0; False the lower one. parts: at the rate of a part of a rank.

    Proof that a value changes each distance by no more than ``fine`` times what it changes that of
    :class:`NoisyMaxQuantile`. Between two values that are neighbours stand ``fine`` parts, at
    ``floor(u + (v - u) k / B)`` for k = 0 to B, so n values have ``fine (n - 1)`` parts and equal
    values theirs at one place. Let C(c) count the parts up to c. One value w more, between u and v:
    the parts of u and w lie no higher than those of u and v did, those of w and v no lower. So C
    rises by 0 to ``fine`` below w, and from w on; beyond v by ``fine``. With no value below w or
    none above it, too; all parts by ``fine``, or by 0 from no value. The terms of a distance are
    sums of these, as they are of counts. Where the lower value is taken, each value has ``fine``
    parts at it, and one more part stands at the first candidate, for everybody.
    """

    parts: tuple[NoisyMaxQuantile, ...]
    fine: tuple[int, ...]
    interpolate: bool

    why: ClassVar = "noisy maximum"

    def release(self, secret: list[tuple[IntArray, ...]], noise: Noise | None) -> Answer:
        """Places of candidates, group by group."""
        ranks = [[self.ranks(number, *held) for held in secret] for number in self.fine]
        return _chosen(self.parts, ranks, noise)

    def ranks(self, fine: int, places: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
        """Where the parts of values lie, and how many do. Secret."""
        if not self.interpolate:
            return _added(np.append(places, 0), np.append(fine * counts, 1))
        gaps, points = np.diff(places), fine // 2
        sizes = np.minimum(gaps, points) + 1
        gap, first = np.repeat(gaps, sizes), np.repeat(places[:-1], sizes)
        step = np.arange(gap.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        # In a wide gap each point has a place of its own; in a narrow one places have several.
        wide = gap > points
        far = np.where(wide, gap * step // points, step)
        upto = _parts_upto(step, points)
        narrow = _parts_upto(-(-(step + 1) * points // gap) - 1, points)
        before = _parts_upto(-(-step * points // gap) - 1, points)
        number = np.where(wide, upto - _parts_upto(step - 1, points), narrow - before)
        held = np.concatenate([places, first + far])
        return _added(held, np.concatenate([fine * (counts - 1), number]))

    def rank_errors(self, confidence: Fraction) -> tuple[float, ...]:
        """Per share, by how many ranks an answer misses at most, with this confidence."""
        return tuple(
            part.rank_error(confidence=confidence) / number + 1
            for part, number in zip(self.parts, self.fine, strict=True)
        )


def _parts_upto(point: IntArray, points: int) -> IntArray:
    """How many of a gap's parts stand up to a point: two at each, one at either end."""
    found: IntArray = np.clip(2 * point + 1, 0, 2 * points)
    return found


def _added(places: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Each place once, with all that is at it."""
    found, inverse = np.unique(places.astype(np.int64), return_inverse=True)
    total = np.zeros(found.size, dtype=np.int64)
    np.add.at(total, inverse, counts)
    return found, total


def _fine(share: Fraction, candidates: int, *, interpolate: bool) -> int:
    """Of how many parts a rank is made; ranks of all rows of any table still fit 62 bits."""
    over, under = share.as_integer_ratio()
    if not interpolate:  # one part more moves the target by half of 1/b of a rank
        return 2 * (under - over) if under <= _TIES else 1
    return 2 * min(under, _TIES if candidates <= _SMALL else _FEW)


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


def candidates_of(context: QueryContext, question: Any) -> Candidates:
    """All steps within bounds, or the candidates listed. Errors: ParameterError, DataError."""
    column, listed, step = question.column, question.candidates, question.step
    bounds, missing = question.bounds, question.missing
    context.table.require(column)
    require_numbers(column, context.schema)
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
    points = edges_of(listed, name="candidates", most=_MOST_LISTED)
    if not points:
        raise ParameterError("There are no candidates.", hint="Give at least one number.")
    # By default the coarsest grid that holds the whole numbers and all points.
    common = Fraction(1, lcm(*(point.denominator for point in points)))
    size = common if step is None else positive(step, name="step")
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


def counted_as(
    column: str, points: Sequence[Fraction], number: int, *, higher: str, step: Fraction | None
) -> str:
    """Which of so many candidates, from the first of ``points`` to the last, a value counts as.

    >>> given = {"higher": "as the last", "step": None}
    >>> print(counted_as("age", [Fraction(10), Fraction(50)], 3, **given))
    Values of 'age' count as the next candidate up, of 3 from 10 to 50; higher ones as the last.
    """
    rounded = "" if step is None else f"are rounded to steps of {text(step)} and "
    ends = f"{number:,} from {text(points[0])} to {text(points[-1])}"
    counts = f"{rounded}count as the next candidate up, of {ends}; higher ones {higher}."
    return f"Values of {column!r} {counts}"


def inner(shares: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Shares that a noisy maximum can answer. Errors: ParameterError for 0 and 1."""
    # A float is a fraction of 2^54, which ranks cannot be counted in.
    rounded = tuple(share.limit_denominator(FINEST) for share in shares)
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
    most: int | None = None,
) -> Plan:
    """What the shares cost on each edge: from ten on they share levels of halves."""
    policy, epsilon = context.policy, positive(question.epsilon, name="epsilon")
    dropped = values_move(policy) == "dropped" and context.unit is not None
    # As many values of a unit come or go as it has rows that count.
    shifts = {
        edge: tuple(_times(shift, groups, most or 1) for shift in some)
        for edge, some in policy.shifts(groups.query).items()
    }
    moves = [
        Move(edge, one, epsilon * edge.weight) for edge, some in shifts.items() for one in some
    ]
    rising = tuple(sorted(set(shares)))
    several = SeveralQuantiles.pays(len(rising)) and question.interpolate is None
    several &= not question.interval
    made = _shared if several else partial(_apart, interpolate=question.interpolate)
    asked = [*shares] * 3 if question.interval else shares
    told: Any
    told, steps = made(moves, asked, found.number, grouped=bool(groups.by), dropped=dropped)
    mechanism = EnclosedQuantiles.of(told, confidence) if question.interval else told
    ranks = max(mechanism.rank_errors(confidence))
    return groups.plan(
        context,
        mechanism,
        shifts,
        loss=lambda shift: steps(shift).epsilon,
        steps=steps,
        why=f"{mechanism.why} over {many(found.number, 'candidate')}; within {rough(ranks)} ranks "
        f"at confidence {question.confidence}",
    )


Priced = Callable[[Shift], Together]


def _times(shift: Shift, groups: Groups, most: int) -> Shift:
    """How many values come and go with units, or with pairs of a unit and a group."""
    if not groups.by:
        shift = Shift(rise=min(shift.rise, 1), fall=min(shift.fall, 1))
    return Shift(rise=most * shift.rise, fall=most * shift.fall)


def _apart(
    moves: Sequence[Move],
    shares: Sequence[Fraction],
    candidates: int,
    *,
    grouped: bool,
    dropped: bool,
    interpolate: bool | None,
) -> tuple[NoisyQuantiles | FineQuantiles, Priced]:
    """Each share on its own, ε split evenly among them."""
    even = [Move(one.edge, one.shift, one.loss / len(shares)) for one in moves]
    bare = [NoisyMaxQuantile(INFINITE, q=share, candidates=candidates) for share in shares]
    rates = [
        largest_rate(even, partial(_span, one, grouped=grouped, dropped=dropped)) for one in bare
    ]

    def steps(shift: Shift) -> Together:
        """A choice for each share; the other way distances change by the negatives."""
        if not shift.rise and not shift.fall:
            return Together(())
        spans = (
            rate * _span(one, shift, grouped=grouped, dropped=dropped)
            for rate, one in zip(rates, bare, strict=True)
        )
        return Together(tuple(map(both_ways, spans)))

    if interpolate is None:
        return NoisyQuantiles(
            tuple(replace(one, noise_rate=rate) for one, rate in zip(bare, rates, strict=True))
        ), steps
    fine = tuple(_fine(share, candidates, interpolate=interpolate) for share in shares)
    hint = "Use a more ordinary ε, or fewer answers."
    parts = tuple(
        replace(one, noise_rate=sampled(rate * Fraction(1, number), hint=hint))
        for one, rate, number in zip(bare, rates, fine, strict=True)
    )
    return FineQuantiles(parts, fine, interpolate), steps


def _shared(
    moves: Sequence[Move],
    shares: Sequence[Fraction],
    candidates: int,
    *,
    grouped: bool,
    dropped: bool,
) -> tuple[SharedQuantiles, Priced]:
    """Many shares, the middle one first, then those on each side of it."""

    def moved(shift: Shift) -> int:
        """Values that come and go; one whose rows are dropped may come back as another."""
        if dropped and not grouped:
            return 2 * max(shift.rise, shift.fall)
        return shift.rise + (2 if dropped else 1) * shift.fall

    rising = sorted(set(shares))
    made = SeveralQuantiles(
        largest_rate(moves, moved), shares=rising, candidates=candidates, fine=_PARTS
    )
    order = tuple(rising.index(share) for share in shares)

    def steps(shift: Shift) -> Together:
        return made.by_level(moved(shift)) if moved(shift) else Together(())

    return SharedQuantiles(made, order), steps


def _span(one: NoisyMaxQuantile, shift: Shift, *, grouped: bool, dropped: bool) -> int:
    """How far a move takes two candidates' distances apart, over all groups.

    Without groups all that goes and comes is of one unit. Among groups each pair of unit and group
    has its own values, which go, or come. Where rows are dropped a pair whose rows are not all gone
    stays with another mean, or with other rows among those that count, which no distance tells
    from values that go and others that come.
    """
    changed = one.span(Shift(rise=1, fall=1))
    if not grouped:
        return changed * max(shift.rise, shift.fall) if dropped else one.span(shift)
    alone = one.span(Shift(rise=1, fall=0))
    return shift.rise * alone + shift.fall * (changed if dropped else alone)


def ranked(
    taken: Taken, groups: Groups, found: Candidates, most: int | None
) -> list[tuple[IntArray, ...]]:
    """Per group, the places of candidates that have values, and how many each has. Secret."""
    steps, counts, ends = own_values(taken, groups, found.value, max_rows=most)
    if not steps.size:
        return [(steps, counts)] * ends.size
    places, of = found.places(steps), np.repeat(np.arange(ends.size), np.diff(ends, prepend=0))
    first = np.flatnonzero((np.diff(places, prepend=-1) != 0) | (np.diff(of, prepend=-1) != 0))
    cuts = np.searchsorted(first, ends[:-1])
    pieces = np.split(places[first], cuts), np.split(np.add.reduceat(counts, first), cuts)
    return list(zip(*pieces, strict=True))
