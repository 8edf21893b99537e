"""How far sums of values can move when one unit's record passes as another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, Self, TypeAlias

from onesided.errors import UnprotectableError
from onesided.policy import Edge, Policy, Shift
from onesided.session._groups import Groups

Vector: TypeAlias = Sequence[int | Fraction]


@dataclass(frozen=True, slots=True)
class Moved:
    """How far a unit in a group, a pair, moves all numbers that are asked about the group together.

    comes: where it comes, by what it adds; where it goes, the mirror images. changes: where it
    stays with other values. lessens: where it stays with some of its rows. Of each, shifts such
    that none goes further, both ways, than one of them. lengths: of each, the greatest squared L2
    norm of what it moves.

    >>> Moved.of([(2, 0), (0, 2)], [(2, -2), (-2, 2)], (1, 1)).lengths
    (4, 8, 8)
    """

    comes: tuple[Shift, ...]
    changes: tuple[Shift, ...]
    lessens: tuple[Shift, ...]
    lengths: tuple[int, int, int]

    @classmethod
    def of(
        cls, ends: Sequence[Vector], changes: Sequence[Vector], weights: Vector, most: int = 1
    ) -> Self:
        """Of up to ``most`` rows that each add one of ``ends``, or change by one of ``changes``.

        What one number moves counts ``weights`` times, so that one price is that of all of them.
        The lengths are those of the convex hulls of ``ends`` and of ``changes``, where all that a
        row adds or changes by must lie: a norm is greatest at corners.
        """
        come = tuple(_weighted(end, weights) for end in ends)
        change = tuple(_weighted(one, weights) for one in changes)
        # One row at least stays; each other may change, or be one of those that come or go.
        go, more = tuple(one.negated for one in come), most - 1
        rest, less = ((*change, *come, *go), (*change, *go)) if more else ((_NONE,), (_NONE,))
        plus, moves = (
            [tuple(w * x for x, w in zip(one, weights, strict=True)) for one in some]
            for some in (ends, changes)
        )
        minus = [tuple(-x for x in one) for one in plus]
        return cls(
            lengths=(
                _longest(plus, plus, more),
                _longest(moves, [*moves, *plus, *minus], more),
                _longest(moves, [*moves, *minus], more),
            ),
            comes=_extreme(_together(one, most, _NONE, 0) for one in come),
            changes=_extreme(_together(one, 1, other, more) for one in change for other in rest),
            lessens=_extreme(_together(one, 1, other, more) for one in change for other in less),
        )

    def along(
        self, policy: Policy, groups: Groups, *, optional: bool
    ) -> dict[Edge, tuple[Shift, ...]]:
        """Per edge, the extreme shifts of all groups' numbers together.

        optional: whether a unit that is there may also add nothing, because a condition, a group or
        a missing value leaves it out.

        Why these. Let a move take ``fall`` pairs away and bring ``rise`` others; the policy says
        how many. Values of pairs that stay do not change, except under a policy of kinds, whose
        moves may replace everything and are counted as going and coming. The loss is at most the
        sum of what the pairs lose, and reached where they are in groups of their own. Without
        groups what goes and what comes is the same pair: it changes. Under presence a move takes
        rows of a unit away from some groups, and some of its rows there may stay: a pair that is
        counted as gone may be one that lessens. A unit that is a single row goes as a whole.
        Errors: UnprotectableError for a policy that says nothing about values beside its groups.
        """
        stays = _may_stay(policy, groups)
        gone = (*(one.negated for one in self.comes), *(self.lessens if stays else ()))

        def several(shift: Shift) -> Iterable[Shift]:
            return (
                _together(come, shift.rise, go, shift.fall) for come in self.comes for go in gone
            )

        def single(shift: Shift) -> Iterable[Shift]:
            if shift.rise and shift.fall:
                return (*self.changes, *((*self.comes, *gone) if optional else ()))
            return self.comes if shift.rise else gone if shift.fall else (_NONE,)

        each = several if groups.by else single
        return {
            edge: tuple(dict.fromkeys(change for shift in many for change in each(shift)))
            for edge, many in policy.shifts(groups.query).items()
        }

    def squares(self, policy: Policy, groups: Groups, *, optional: bool) -> dict[Edge, int]:
        """Per edge, the greatest squared L2 norm of what a move changes all groups' numbers by.

        As :meth:`along`, of one unit's pairs. Squares add over groups. A group that one pair leaves
        and another enters changes: further, in L2, than two groups may that are left and entered.
        """
        come, change, less = self.lengths
        gone = max(come, less) if _may_stay(policy, groups) else come

        def length(shift: Shift) -> int:
            rise, fall = shift.rise, shift.fall
            if groups.by:
                both = min(rise, fall)
                apart = (rise - both) * come + (fall - both) * gone
                return both * max(change, come + gone) + apart
            one = max(come, gone) if optional else 0
            return max(change, one) if rise and fall else come if rise else gone if fall else 0

        return {e: max(map(length, many)) for e, many in policy.shifts(groups.query).items()}


def one_value(low: int, high: int, *, monotone: bool) -> Moved:
    """How far a unit moves its group's sum if it adds a value from ``low`` to ``high``.

    monotone: whether taking some of a unit's rows away, but not all, can never raise what it adds.
    A sum of rows ``>= 0`` is, and falls by ``high`` at most. A sum of rows of both signs is not,
    nor its distance from a centre, nor its square: 5 and -5 add up to less than 5 alone.

    >>> one_value(0, 5, monotone=True).lessens, one_value(-5, 5, monotone=False).lengths
    ((), (25, 100, 100))
    """
    moved = Moved.of([(high,), (low,)], [(high - low,), (low - high,)], [1])
    if monotone and low >= 0:  # who stays with fewer rows falls by less than who goes
        return replace(moved, lessens=(), lengths=(*moved.lengths[:2], 0))
    return moved


def value_shifts(
    policy: Policy, groups: Groups, *, low: int, high: int, optional: bool, monotone: bool
) -> Mapping[Edge, tuple[Shift, ...]]:
    """Per edge, the extreme shifts of sums in which each unit counted in a group adds a value.

    low, high, monotone: as for :func:`one_value`. optional: as for :meth:`Moved.along`, whose
    errors it has.

    >>> from onesided.engine import PublicKeys
    >>> from onesided.policy import GroupCount, addition_only
    >>> from onesided.session.kit import Groups
    >>> everybody = {"by": (), "keys": PublicKeys.of((), [()]), "where": None, "excess": ""}
    >>> groups = Groups(unit="person", query=GroupCount(max_groups=1), **everybody)
    >>> told = value_shifts(addition_only(), groups, low=0, high=9, optional=False, monotone=True)
    >>> list(told.values())
    [(Shift(rise=0, fall=9),)]
    """
    return one_value(low, high, monotone=monotone).along(policy, groups, optional=optional)


_NONE = Shift(rise=0, fall=0)


def _weighted(change: Vector, weights: Vector) -> Shift:
    """How far all numbers together rise and fall where each changes by so much."""
    parts = [weight * one for one, weight in zip(change, weights, strict=True)]
    rise, fall = (sum(max(sign * part, 0) for part in parts) for sign in (1, -1))
    return Shift(rise=rise, fall=fall)  # type: ignore[arg-type] # whole, or refused


def _together(one: Shift, times: int, other: Shift, more: int) -> Shift:
    return Shift(
        rise=times * one.rise + more * other.rise, fall=times * one.fall + more * other.fall
    )


def _extreme(shifts: Iterable[Shift]) -> tuple[Shift, ...]:
    """Those that no other one goes as far as, both ways."""
    found = dict.fromkeys(shifts)
    return tuple(
        one
        for one in found
        if not any(o != one and o.rise >= one.rise and o.fall >= one.fall for o in found)
    )


def _longest(some: Sequence[Vector], others: Sequence[Vector], more: int) -> int:
    """The greatest squared length of one vector and ``more`` times another."""
    pairs = (zip(one, other, strict=True) for one in some for other in others)
    return math.ceil(max(sum((x + more * y) ** 2 for x, y in pair) for pair in pairs))


def _may_stay(policy: Policy, groups: Groups) -> bool:
    """Whether what a policy counts as gone may be a unit that stays with some of its rows."""
    return values_move(policy) == "dropped" and not (groups.by and groups.excess == "single")


def values_move(policy: Policy) -> str:
    """What a move does to a unit's values: "replaced" or "dropped". Errors: UnprotectableError."""
    if policy.other_values is None:
        raise UnprotectableError(
            f"The policy '{policy.name}' says which groups must be indistinguishable from "
            "which others, and nothing about other values of the same record, so it cannot price "
            "a sum or a rank of them.",
            hint="Use a policy about whole records, such as sensitive(...) or bounded(), or "
            'presence(...). Quantiles with method="cumulative" are priced by groups alone.',
        )
    return policy.other_values


class Form(NamedTuple):
    """Numbers that a statistic can be made of, and how far a row moves them.

    adds: what a row adds, at either end. changes: where it stays with another value. weights: how
    much a step of each counts beside the others, and is paid for. fine: by what to multiply them
    so that all shifts are whole.
    """

    made: Callable[..., Any]
    adds: Sequence[Vector]
    changes: Sequence[Vector]
    weights: Vector
    fine: int = 1


def still(shifts: Mapping[Edge, tuple[Shift, ...]]) -> bool:
    """Whether nothing moves along any edge."""
    return all(shift == Shift(rise=0, fall=0) for many in shifts.values() for shift in many)
