"""How far sums of values can move when one unit's record passes as another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onesided.errors import UnprotectableError
from onesided.policy import Edge, Policy, Shift
from onesided.session._groups import Groups


def value_shifts(
    policy: Policy, groups: Groups, *, low: int, high: int, optional: bool, monotone: bool
) -> Mapping[Edge, tuple[Shift, ...]]:
    """Per edge, the extreme shifts of sums in which each unit counted in a group adds a value.

    low, high: the least and greatest such value. optional: whether a unit that is there may also
    add nothing, because a condition, a group or a missing value leaves it out. monotone: whether
    taking some of a unit's rows away, but not all, can never raise what it adds.

    Why these. Let a move take ``fall`` (unit, group) pairs away and bring ``rise`` others; the
    policy says how many. A pair that goes takes a value in [low, high] with it, one that comes
    brings one; values of pairs that stay do not change, except under a policy of kinds, whose
    moves may replace everything and are counted as going and coming. The loss is linear in the
    total rise and fall, so it is largest where all that comes has one sign and all that goes has
    one. With a single sum what goes and what comes fall on the same number, and only the
    difference moves it. Under presence a move takes rows of a unit away from some groups, and some
    of its rows there may stay. If what it adds is monotone and ``>= 0``, as a sum of rows ``>= 0``
    is, a sum then falls by at most ``high``. A sum of rows of both signs is not, nor its distance
    from a centre, nor its square: 5 and -5 add up to less than 5 alone. Then it may rise as well,
    by as much as anything can. A unit that is a single row loses all of itself.

    Errors: UnprotectableError for a policy that says nothing about values beside its groups.

    >>> from onesided.engine import PublicKeys
    >>> from onesided.policy import GroupCount, addition_only
    >>> from onesided.session.kit import Groups
    >>> everybody = {"by": (), "keys": PublicKeys.of((), [()]), "where": None, "excess": ""}
    >>> groups = Groups(unit="person", query=GroupCount(max_groups=1), **everybody)
    >>> told = value_shifts(addition_only(), groups, low=0, high=9, optional=False, monotone=True)
    >>> list(told.values())
    [(Shift(rise=0, fall=9), Shift(rise=0, fall=0))]
    """
    moved = values_move(policy)
    erratic = not monotone and moved == "dropped"
    counted = policy.shifts(groups.query)
    return {
        edge: tuple(
            dict.fromkeys(
                change
                for shift in many
                for change in (
                    _several(shift, low, high, erratic=erratic and groups.excess != "single")
                    if groups.by
                    else _single(shift, low, high, optional=optional, erratic=erratic)
                )
            )
        )
        for edge, many in counted.items()
    }


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


def _several(shift: Shift, low: int, high: int, *, erratic: bool) -> Iterable[Shift]:
    """Each pair moves its own sum."""
    up, down = max(high, 0), max(-low, 0)
    # What stays of a pair may have been at one end of all values and get to the other.
    lost, won = (up + down, up + down) if erratic else (up, down)
    comes = ((shift.rise * up, 0), (0, shift.rise * down))
    goes = ((0, shift.fall * lost), (shift.fall * won, 0))
    for come in comes:
        for gone in goes:
            yield Shift(rise=come[0] + gone[0], fall=come[1] + gone[1])


def _single(shift: Shift, low: int, high: int, *, optional: bool, erratic: bool) -> Iterable[Shift]:
    """All pairs move the same sum."""
    up, down = max(high, 0), max(-low, 0)
    comes, goes = shift.rise > 0, shift.fall > 0
    if erratic and (comes or goes):
        comes = goes = optional = True
    if comes and goes:
        span = up + down if optional else high - low
        yield from (Shift(rise=span, fall=0), Shift(rise=0, fall=span))
    elif comes:
        yield from (Shift(rise=up, fall=0), Shift(rise=0, fall=down))
    elif goes:
        yield from (Shift(rise=0, fall=up), Shift(rise=down, fall=0))
    else:
        yield Shift(rise=0, fall=0)
