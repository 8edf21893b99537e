"""What top-k and the sparse vector share: noise above the truth, paid for a few answers only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from onesided._numbers import INFINITE, Loss, Number, positive, sampled
from onesided.errors import UnprotectableError
from onesided.mechanism._compounds import Compounds
from onesided.policy import Edge, GroupCount, Policy, Shift


def paid_fall(shift: Shift, *, answers: int | None, per_key: int) -> int:
    """The most that the *published* counts can fall in total: ``min(fall, answers * per_key)``.

    ``shift.fall`` is an L1 total; each count falls by at most ``per_key``, and only ``answers``
    of them are published (None: no limit). It is the exact maximum of the two constraints.
    """
    return shift.fall if answers is None else min(shift.fall, answers * per_key)


def paid_loss(rate: Loss, shift: Shift, *, answers: int | None, per_key: int) -> Loss:
    """``rate * paid_fall``; INFINITE if any count rises, for then an answer may be impossible."""
    return rate * paid_fall(shift, answers=answers, per_key=per_key) + INFINITE * shift.rise


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


def count_moves(
    policy: Policy,
    *,
    epsilon: Number,
    max_groups: int | None = None,
    counted: Iterable[str] | None = None,
    truncated: bool = False,
    compounds: Compounds | None = None,
) -> list[Move]:
    """Every move that changes a group-by count of units, with ``epsilon`` times its weight.

    compounds: what is asked is the largest count of each of them, not the counts.

    >>> from onesided.policy import presence
    >>> [move.shift.fall for move in count_moves(presence(max_groups=2), epsilon=1)]
    [2]
    """
    query = GroupCount(
        max_groups=max_groups,
        counted=None if counted is None else frozenset(counted),
        truncated=truncated,
    )
    budget = positive(epsilon, name="epsilon")
    return [
        Move(edge, moved, budget * edge.weight)
        for edge, shifts in policy.shifts(query).items()
        for shift in shifts
        if (moved := shift if compounds is None else compounds.shift(shift)).rise or moved.fall
    ]


def largest_rate(moves: Iterable[Move], cost: Callable[[Shift], int]) -> Loss:
    """The largest rate at which ``rate * cost(shift)`` keeps every move; INFINITE if none moves.

    Errors: ParameterError for a rate out of 2^-40 .. 2^10.

    >>> from onesided.policy import presence
    >>> moves = count_moves(presence(max_groups=2), epsilon=1)
    >>> largest_rate(moves, lambda shift: shift.fall), largest_rate([], lambda shift: 1)
    (Fraction(1, 2), INFINITE)
    """
    found = min((move.loss / cost(move.shift) for move in moves), default=INFINITE)
    return sampled(found, hint="Use a more ordinary ε, or fewer answers.")


def paid_rate(
    policy: Policy,
    moves: Iterable[Move],
    *,
    answers: int | None,
    what: str,
    instead: str = "counts with noise on both sides (count, or mechanism.Counts)",
) -> Loss:
    """The largest rate at which no move loses too much, for counts of units (``per_key=1``).

    what, instead: for the refusal, what cannot be had and what can.
    Errors: UnprotectableError if some move raises a count.
    """
    known = list(moves)
    for move in known:
        if move.shift.rise:
            raise UnprotectableError(
                f"Under the policy '{policy.name}' a count may have to pass as a larger one "
                f"({move.edge.name}), so {what} with noise above the truth cannot hide it.",
                hint="Use a policy whose moves only lower counts, such as presence or "
                f"addition_only, or {instead}.",
            )
    return largest_rate(known, lambda shift: paid_fall(shift, answers=answers, per_key=1))
