"""What a mechanism is, what it is given, and the least noise that a policy allows it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import (
    INFINITE,
    MAX_COUNT,
    Loss,
    Number,
    positive,
    rate,
    regular,
    sampled,
    whole,
)
from onesided.errors import DataError, ParameterError, PolicyError, UnprotectableError, called
from onesided.fields import Field, MaybeRate, is_flag
from onesided.noise import IntArray, Noise, TwoSidedGeometric
from onesided.policy import Edge, GroupCount, Policy, Shift


class Mechanism(Protocol):
    """One frozen value. ``release`` never looks at ``loss``, nor the other way round.

    >>> from onesided import INFINITE, Shift
    >>> from onesided.mechanism import Counts
    >>> mechanism: Mechanism = Counts(1, INFINITE)
    >>> mechanism.loss(Shift(rise=0, fall=2)), mechanism.loss(Shift(rise=1, fall=0))
    (Fraction(2, 1), INFINITE)
    """

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> Any:
        """The published answer; ``noise`` defaults to fresh secure noise."""

    def loss(self, shift: Shift) -> Loss:
        """The exact worst log-ratio along a move that shifts the values by ``shift``, in nats."""


def counts_of(values: ArrayLike) -> IntArray:
    """``values`` as a one-dimensional array of counts in [0, 2^62]; no float is accepted.

    Errors: DataError naming the first offending position.

    >>> counts_of([3, 0]).dtype
    dtype('int64')
    >>> counts_of([1.5])
    Traceback (most recent call last):
        ...
    onesided.errors.DataError: Counts must be a one-dimensional array of whole numbers, got float64
    with shape (1,). Hint: Convert with numpy.asarray(counts, dtype=numpy.int64) once they are
    whole.
    """
    return whole_array(
        values,
        what="Count",
        least=0,
        form="Convert with numpy.asarray(counts, dtype=numpy.int64) once they are whole.",
        hint="Counts of people cannot be negative; check the table for overflow.",
    )


def whole_array(values: ArrayLike, *, what: str, least: int, form: str, hint: str) -> IntArray:
    """``values`` as a row of whole numbers from ``least`` to 2^62; no float is accepted.

    form, hint: the next step where they are no such numbers, and where one is out of range.
    Errors: DataError naming the first offending position.
    """
    array = regular(values)
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"{what}s must be a one-dimensional array of whole numbers, got {array.dtype} "
            f"with shape {array.shape}.",
            hint=form,
        )
    bad = (array < least) | (array > MAX_COUNT)
    if bad.any():
        where = int(np.argmax(bad))
        raise DataError(
            f"{what} {array[where]} at position {where} is outside {'-2^62' if least else 0} .. "
            "2^62.",
            hint=hint,
            position=where,
        )
    return array.astype(np.int64)


Places = tuple[tuple[int, ...], ...]


def _members(given: object, *, name: str) -> Places:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ParameterError(
            f"{name} must list the groups' places for each compound, got {given!r}.",
            hint="For example [[0, 1], [1, 2]].",
        )
    read = tuple(tuple(whole(place, name=name) for place in one) for one in given)
    if not read or not all(read):
        raise ParameterError("A compound has no group.", hint="Give each at least one.")
    return tuple(tuple(dict.fromkeys(one)) for one in read)


@dataclass(frozen=True)
class Compounds:
    """Sets of groups, such as routes of stops; of each, the largest count among its groups.

    "Every group of the compound has at most t units" is one statement about that largest count,
    and "at least t" about the smallest, so a mechanism for counts answers it once, at any number
    of groups.
    members: for each compound the places of its groups among the counts; a group may be in several.

    Promise: a move that lowers ``fall`` counts by one each lowers at most ``reach(fall)`` of the
    largest counts, by one each; and so for rises, and for the smallest counts.
    Proof: docs/proofs/compounds.md. Errors: ParameterError; DataError.

    >>> from onesided.policy import Shift
    >>> routes = Compounds([[0, 1], [1, 2]])
    >>> routes.largest([0, 7, 9]).tolist()
    [7, 9]
    >>> routes.shift(Shift(rise=0, fall=3))
    Shift(rise=0, fall=2)
    """

    members: Field[Sequence[Sequence[int]], Places] = Field(_members)

    def largest(self, counts: ArrayLike, *, least: bool = False) -> IntArray:
        """The largest count of each compound, or the least. Errors: DataError for too few."""
        given = counts_of(counts)
        if given.size <= self._places.max():
            raise DataError(
                f"There are {given.size} counts, but a compound has a group at place "
                f"{self._places.max()}.",
                hint="Give a count for every group.",
            )
        extreme = np.minimum if least else np.maximum
        return extreme.reduceat(given[self._places], self._starts)

    def reach(self, groups: int) -> int:
        """The most compounds that a change in so many groups can reach; never too small.

        Groups that are in the same compounds reach no more together than one of them does.
        """
        asked = whole(groups, name="groups")
        return min(len(self.members), sum(self._widths[:asked]))

    def shift(self, shift: Shift) -> Shift:
        """How far these counts can move where all counts, each by at most 1, move so far."""
        return Shift(rise=self.reach(shift.rise), fall=self.reach(shift.fall))

    @cached_property
    def _places(self) -> IntArray:
        return np.array([place for one in self.members for place in one], dtype=np.int64)

    @cached_property
    def _starts(self) -> IntArray:
        ends = np.cumsum([len(one) for one in self.members], dtype=np.int64)
        return np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]])

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        """In how many compounds groups are, largest first; once for groups in the same ones."""
        inside: dict[int, list[int]] = {}
        for number, one in enumerate(self.members):
            for place in one:
                inside.setdefault(place, []).append(number)
        kinds = {tuple(numbers) for numbers in inside.values()}
        return tuple(sorted(map(len, kinds), reverse=True))


def paid_loss(rate: Loss, shift: Shift, *, answers: int | None, per_key: int) -> Loss:
    """``rate`` times the most that the *published* counts can fall; INFINITE if any count rises.

    ``shift.fall`` is an L1 total; each count falls by at most ``per_key``, and only ``answers``
    of them are published (None: no limit): ``min(fall, answers * per_key)``, the exact maximum of
    the two constraints. After a rise an answer may be impossible.
    """
    fall = shift.fall if answers is None else min(shift.fall, answers * per_key)
    return rate * fall + INFINITE * shift.rise


@dataclass(frozen=True, slots=True)
class Move:
    """What one edge of a policy may do to the counts, and what may be lost along it.

    >>> from onesided.policy import addition_only
    >>> (move,) = count_moves(addition_only(), epsilon=1, max_groups=3)
    >>> move.shift, move.loss
    (Shift(rise=0, fall=3), Fraction(1, 1))
    """

    edge: Edge
    shift: Shift
    loss: Fraction


def moves_over(shifts: Mapping[Edge, Iterable[Shift]], epsilon: Fraction) -> list[Move]:
    """Every move of a query: its extreme shifts per edge, with ``epsilon`` times the weight."""
    return [Move(edge, shift, epsilon * edge.weight) for edge in shifts for shift in shifts[edge]]


def refuse_no_policy(policy: object) -> None:
    """Errors: PolicyError."""
    if not isinstance(policy, Policy):
        raise PolicyError(
            f"policy must be a Policy, got {policy!r}.",
            hint="Make one with onesided.policy, for example presence(max_groups=3).",
        )


def count_moves(
    policy: Policy,
    *,
    epsilon: Number,
    max_groups: int | None = None,
    counted: Iterable[str] | None = None,
    truncated: bool = False,
    compounds: Compounds | None = None,
    query: GroupCount | None = None,
) -> list[Move]:
    """Every move that changes a group-by count of units, with ``epsilon`` times its weight.

    compounds: what is asked is the largest count of each of them, not the counts. query: says how
    units are counted, in place of ``max_groups`` and ``truncated``.
    Errors: PolicyError for what is no policy.

    >>> from onesided.policy import presence
    >>> [move.shift.fall for move in count_moves(presence(max_groups=2), epsilon=1)]
    [2]
    """
    refuse_no_policy(policy)
    asked = _count_of(query, max_groups, counted, truncated=truncated)
    moves = moves_over(policy.shifts(asked), positive(epsilon, name="epsilon"))
    if compounds is not None:
        moves = [replace(move, shift=compounds.shift(move.shift)) for move in moves]
    return [move for move in moves if move.shift.rise or move.shift.fall]


def _count_of(
    query: GroupCount | None,
    max_groups: int | None,
    counted: Iterable[str] | None,
    *,
    truncated: bool,
) -> GroupCount:
    """How units are counted, given whole or in parts. Errors: ParameterError for both at once."""
    if query is None:
        query = GroupCount(max_groups=max_groups, truncated=truncated)
    elif not isinstance(query, GroupCount) or max_groups is not None or truncated:
        raise ParameterError(
            "query must be a GroupCount, with no max_groups or truncated beside it, got "
            f"{query!r}.",
            hint="For example onesided.policy.GroupCount(max_groups=2).",
        )
    return query if counted is None else replace(query, counted=frozenset(counted))


def part_of(moves: Iterable[Move], share: Fraction) -> list[Move]:
    """The same moves, each with so much of what may be lost along it."""
    return [replace(move, loss=move.loss * share) for move in moves]


def largest_rate(moves: Iterable[Move], cost: Callable[[Shift], Any]) -> Loss:
    """The largest rate at which ``rate * cost(shift)`` keeps every move; INFINITE if none moves.

    Errors: ParameterError for a rate out of 2^-40 .. 2^10.

    >>> from onesided.policy import presence
    >>> moves = count_moves(presence(max_groups=2), epsilon=1)
    >>> largest_rate(moves, lambda shift: shift.fall), largest_rate([], lambda shift: 1)
    (Fraction(1, 2), INFINITE)
    """
    costs = ((move.loss, cost(move.shift)) for move in moves)
    found = min((loss / much for loss, much in costs if much), default=INFINITE)
    return sampled(found, hint="Use a more ordinary ε, or fewer answers.")


class Fitted:
    """What a policy says the noise of: every mechanism's ``for_policy``, and how it is fitted.

    A mechanism of one rate, ``loss`` in proportion to it, needs no more than to name that rate;
    others have a :meth:`fit` of their own.

    >>> from onesided.mechanism import AtMost
    >>> from onesided.policy import presence
    >>> print(AtMost.for_policy(presence(max_groups=2), threshold=5, epsilon=1).upper_rate)
    1/2
    """

    __slots__ = ()
    _fitted: ClassVar[str] = "upper_rate"
    _rates: ClassVar[tuple[str, ...]] = ()
    # The loss goes by totals alone, so that it holds where one move changes several units.
    _by_totals: ClassVar[bool] = False
    # It may be asked of the largest counts of compounds.
    _of_compounds: ClassVar[bool] = False
    # For the refusal: what cannot be had where counts rise, and what can.
    _what: ClassVar[str] = ""
    _instead: ClassVar[str] = "counts with noise on both sides (count, or mechanism.Counts)"

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
        truncated: bool = False,
        compounds: Compounds | None = None,
        query: GroupCount | None = None,
        **options: Any,
    ) -> Self:
        """The least such noise that keeps ``(epsilon, policy)``, for counts of units by group.

        ``max_groups=None`` is the policy's own: presence's bound, else one group per unit.
        See :class:`onesided.policy.GroupCount` for ``max_groups``, ``counted``, ``truncated``; it
        may be given whole as ``query``. compounds: for the largest counts of these instead.
        options: what :meth:`fit` takes, else the mechanism's own fields without its rates.
        Errors: UnprotectableError if some move goes the way that the noise cannot hide;
        ParameterError for options that the mechanism does not have.
        """
        asked = _count_of(query, max_groups, counted, truncated=truncated)
        totals = compounds is None and cls._goes_by_totals(options)
        if asked.several_units and not totals:
            raise ParameterError(
                f"The loss of {cls.__name__} holds where a move changes one unit, not several.",
                hint="Leave several_units out of the query.",
            )
        if compounds is not None and not cls._of_compounds:
            raise ParameterError(
                f"{cls.__name__} is not asked of compounds.",
                hint="SparseVector certifies compounds.",
            )
        if given := options.keys() & {cls._fitted, *cls._rates}:
            raise ParameterError(
                f"{cls.__name__}.for_policy fits {min(given)}; it is not given.",
                hint=f"Leave {min(given)} out, or make the mechanism by its own name.",
            )
        asked = replace(asked, several_units=totals)
        moves = count_moves(
            policy, epsilon=epsilon, compounds=compounds, query=cls._asked(policy, asked)
        )
        return called(cls.fit, policy, moves, **options)

    @classmethod
    def _goes_by_totals(cls, options: Mapping[str, Any]) -> bool:  # noqa: ARG003 - for some
        """Whether the loss goes by totals alone, at these options."""
        return cls._by_totals

    @classmethod
    def fit(cls, policy: Policy, moves: Sequence[Move], *_: Any, **options: Any) -> Self:
        """The largest rate at which no move of ``moves`` loses more than it may.

        options: the mechanism's own fields, without its rate.
        """
        return called(cls, **{cls._fitted: cls._largest(policy, moves, **options)}, **options)

    @classmethod
    def _largest(
        cls, policy: Policy, moves: Sequence[Move], *, fitted: str = "", **options: Any
    ) -> Loss:
        """That rate: at rate 1 the loss is what a move costs. fitted: the rate's name."""
        one: Any = called(cls, **{fitted or cls._fitted: 1}, **options)
        for move in moves:
            if one.loss(move.shift) == INFINITE:
                raise one.refusal(policy, move)
        return largest_rate(moves, one.loss)

    @classmethod
    def _asked(cls, policy: Policy, query: GroupCount) -> GroupCount:  # noqa: ARG003 - for some
        """How units are counted, where the mechanism knows better than the caller."""
        return query

    def refusal(self, policy: Policy, move: Move) -> UnprotectableError:
        """Why noise on this side cannot hide a move."""
        return UnprotectableError(
            f"Under the policy '{policy.name}' a count may have to pass as a larger one "
            f"({move.edge.name}), so {self._what} with noise above the truth cannot hide it.",
            hint="Use a policy whose moves only lower counts, such as presence or "
            f"addition_only, or {self._instead}.",
        )


@dataclass(frozen=True)
class Directed(Fitted):
    """Noise on one side: above counts, which certifies "at most", or below, for "at least".

    upper_rate, lower_rate: in nats per count; one of them is given, and says the side. Noise above
    hides falls, and a rise has infinite loss; noise below hides rises, and a fall has.

    The mirror. With the signs of all numbers turned, noise below is noise above, "at least t" is
    "at most -t", and what rises falls: ``Pr[f - G = z] = Pr[-f + G = -z]``. So what is proved of
    noise above holds of noise below, with rise and fall exchanged.

    >>> from onesided.mechanism import SparseVector
    >>> SparseVector(5, lower_rate="1/2").loss(Shift(rise=2, fall=0))
    Fraction(1, 1)
    """

    _: KW_ONLY
    upper_rate: MaybeRate = Field(rate, default=None, optional=True)
    lower_rate: MaybeRate = Field(rate, default=None, optional=True)

    _rates = ("upper_rate", "lower_rate")

    def __post_init__(self) -> None:
        if (self.upper_rate is None) == (self.lower_rate is None):
            raise ParameterError(
                f"{type(self).__name__} takes either upper_rate or lower_rate.",
                hint="Noise above the truth (upper_rate) certifies 'at most', noise below "
                "(lower_rate) 'at least'.",
            )

    @classmethod
    def fit(
        cls, policy: Policy, moves: Sequence[Move], *_: Any, below: bool = False, **options: Any
    ) -> Self:
        """The largest rate at which no move loses more than it may.

        below: whether noise is below the truth. options: the mechanism's own fields, without rates.
        """
        side = cls._rates[is_flag(below, name="below")]
        most = cls._largest(policy, moves, fitted=side, **options)
        return called(cls, **{side: most}, **options)

    @property
    def below(self) -> bool:
        """Whether noise is below the truth."""
        return self.upper_rate is None

    @property
    def sign(self) -> int:
        """1 where noise is above the truth, -1 where it is below."""
        return -1 if self.below else 1

    @property
    def rate(self) -> Loss:
        """The rate of the noise, on whichever side it is."""
        found = self.lower_rate if self.upper_rate is None else self.upper_rate
        return INFINITE if found is None else found  # one is given

    def loss(self: Any, shift: Shift) -> Loss:
        """``upper_rate * min(fall, max_answers * per_key)``; INFINITE if any count rises.

        With ``lower_rate``: rise and fall exchanged.
        """
        hidden = shift.negated if self.below else shift
        return paid_loss(self.rate, hidden, answers=self.max_answers, per_key=self.per_key)

    def with_noise(self, counts: IntArray, rate: Loss, noise: Noise) -> IntArray:
        """Counts with noise of a rate on this side."""
        return counts + self.sign * noise.geometric(rate, counts.size)

    def refusal(self, policy: Policy, move: Move) -> UnprotectableError:
        """Why the noise cannot hide a move."""
        if not self.below:
            return super().refusal(policy, move)
        return UnprotectableError(
            f"Under the policy '{policy.name}' a count may have to pass as a smaller one "
            f"({move.edge.name}), so {self._what.replace('at most', 'at least')} with noise below "
            "the truth cannot hide it.",
            hint="Count what moves only add to, such as counted='open' under sensitive(...), or "
            f"use {self._instead}.",
        )


class Rates(Protocol):
    """What has two rates, in nats per step."""

    @property
    def upper_rate(self) -> Loss:
        """That of the noise above the truth."""

    @property
    def lower_rate(self) -> Loss:
        """That of the noise below it."""


class TwoRates(Fitted):
    """Numbers with ``G_up - G_down`` added, two independent geometrics of fields named so.

    >>> from onesided.mechanism import Counts
    >>> Counts(1, 2).distribution
    TwoSidedGeometric(upper=Fraction(1, 1), lower=Fraction(2, 1))
    """

    __slots__ = ()
    _rates = ("upper_rate", "lower_rate")

    @classmethod
    def fit(
        cls,
        policy: Policy,  # noqa: ARG003
        moves: Sequence[Move],
        *_: Any,
        **options: Any,
    ) -> Self:
        """The rates of least variance at which no move of ``moves`` loses more than it may.

        options: the mechanism's own fields, without its rates.
        """
        upper, lower = choose(moves)
        return called(cls, upper_rate=upper, lower_rate=lower, **options)

    def loss(self: Rates, shift: Shift) -> Loss:
        """Exactly ``upper_rate * fall + lower_rate * rise``."""
        return self.upper_rate * shift.fall + self.lower_rate * shift.rise

    @cached_property
    def distribution(self: Rates) -> TwoSidedGeometric:
        """The noise's exact distribution."""
        return TwoSidedGeometric(self.upper_rate, self.lower_rate)


def rates_over(shifts: Mapping[Edge, Iterable[Shift]], epsilon: Fraction) -> tuple[Loss, Loss]:
    """``(upper, lower)`` rates of least total variance that keep ε times every edge's weight.

    shifts: the query's extreme ones per edge. A side that no move needs gets INFINITE: no noise
    there, and certainty for the reader.

    >>> from onesided.policy import addition_only
    >>> (edge,) = addition_only().edges
    >>> rates_over({edge: [Shift(rise=0, fall=4)]}, Fraction(1))
    (Fraction(1, 4), INFINITE)
    """
    return choose(moves_over(shifts, epsilon))


def choose(moves: Iterable[Move]) -> tuple[Loss, Loss]:
    """The feasible point of least ``variance(upper) + variance(lower)``, exact and feasible.

    Each move demands ``upper_rate * fall + lower_rate * rise <= loss``. Only public parameters
    enter, so floats may guide the search; the result is a fraction that meets every bound exactly.
    """
    needs = [bound for bound in moves if bound.shift.fall or bound.shift.rise]
    falls = [bound for bound in needs if bound.shift.fall]
    rises = [bound for bound in needs if bound.shift.rise]
    if any(bound.shift.fall and bound.shift.rise for bound in needs):
        return _both(needs, falls, rises)
    upper = min((bound.loss / bound.shift.fall for bound in falls), default=INFINITE)
    lower = min((bound.loss / bound.shift.rise for bound in rises), default=INFINITE)
    return _in_range(upper), _in_range(lower)


def _both(needs: Sequence[Move], falls: Sequence[Move], rises: Sequence[Move]) -> tuple[Loss, Loss]:
    """Some move both raises and lowers counts, so the two rates share its budget."""

    def lower_for(upper: Fraction) -> Fraction:
        return min((b.loss - upper * b.shift.fall) / b.shift.rise for b in rises)

    ceiling = min(bound.loss / bound.shift.fall for bound in falls)
    candidates = [*_corners(needs), _search(ceiling, lower_for)]
    feasible = [upper for upper in candidates if 0 < upper <= ceiling and lower_for(upper) > 0]
    # Ties within rounding go to the corner: it is the shorter fraction.
    upper = min(feasible, key=lambda rate: round(math.log(_cost(rate, lower_for(rate))), 9))
    return _in_range(upper), _in_range(lower_for(upper))


def _corners(needs: Sequence[Move]) -> list[Fraction]:
    """Where two demands meet, and the balanced point where both rates are equal."""
    balanced = min(b.loss / (b.shift.fall + b.shift.rise) for b in needs)
    corners = [balanced]
    for one, two in combinations(needs, 2):
        slope = one.shift.fall * two.shift.rise - two.shift.fall * one.shift.rise
        if slope:
            corners.append((one.loss * two.shift.rise - two.loss * one.shift.rise) / slope)
    return corners


def _search(ceiling: Fraction, lower_for: Callable[[Fraction], Fraction]) -> Fraction:
    """Golden-section search for the best upper rate; the cost is convex in it."""
    shrink = (math.sqrt(5) - 1) / 2
    left, right = 0.0, 1.0

    def cost(share: float) -> float:
        upper = ceiling * Fraction(share)
        lower = lower_for(upper)
        return _cost(upper, lower) if upper > 0 and lower > 0 else math.inf

    for _ in range(80):
        one, two = right - shrink * (right - left), left + shrink * (right - left)
        left, right = (left, two) if cost(one) <= cost(two) else (one, right)
    return ceiling * Fraction((left + right) / 2).limit_denominator(10**6)


def _cost(upper: Fraction, lower: Fraction) -> float:
    """The variance of ``G_upper - G_lower``."""
    return variance(upper) + variance(lower)


def variance(rate: Fraction | float) -> float:
    """The variance of a geometric at ``rate``: ``e^-r / (1 - e^-r)^2``, for choosing only.

    Above 0 for any rate, infinite for one below all use: who asks for such is told so by others.
    """
    half = math.sinh(float(min(rate, 700)) / 2)
    square = 4 * half * half
    return 1 / square if square else math.inf


def _in_range(rate: Loss) -> Loss:
    """Refuse rates that the samplers do not offer."""
    return sampled(
        rate, hint="Use a more ordinary ε, fewer groups per unit, or less extreme edge weights."
    )
