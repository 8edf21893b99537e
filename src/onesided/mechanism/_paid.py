"""What top-k and the sparse vector share: noise above the truth, paid for a few answers only."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from onesided._numbers import INFINITE, MAX_RATE, MIN_RATE, Loss, Number, positive
from onesided.errors import ParameterError, UnprotectableError
from onesided.policy import GroupCount, Policy, Shift


def paid_fall(shift: Shift, *, answers: int | None, per_key: int) -> int:
    """The most that the *published* counts can fall in total: ``min(fall, answers * per_key)``.

    ``shift.fall`` is an L1 total; each count falls by at most ``per_key``, and only ``answers``
    of them are published (None: no limit). It is the exact maximum of the two constraints.
    """
    return shift.fall if answers is None else min(shift.fall, answers * per_key)


def paid_loss(rate: Loss, shift: Shift, *, answers: int | None, per_key: int) -> Loss:
    """``rate * paid_fall``; INFINITE if any count rises, for then an answer may be impossible."""
    return rate * paid_fall(shift, answers=answers, per_key=per_key) + INFINITE * shift.rise


def paid_rate(
    policy: Policy,
    *,
    epsilon: Number,
    answers: int | None,
    max_groups: int | None,
    counted: Iterable[str] | None,
    truncated: bool,
    what: str,
) -> Loss:
    """The largest rate at which no move loses more than ``epsilon`` times its edge's weight.

    For counts of units, so ``per_key`` is 1. INFINITE if nothing falls.
    Errors: UnprotectableError if some move raises a count; ParameterError for a rate out of
    2^-40 .. 2^10.
    """
    query = GroupCount(
        max_groups=max_groups,
        counted=None if counted is None else frozenset(counted),
        truncated=truncated,
    )
    budget = positive(epsilon, name="epsilon")
    found: list[Fraction] = []
    for edge, shifts in policy.shifts(query).items():
        for shift in shifts:
            if shift.rise:
                raise UnprotectableError(
                    f"Under the policy '{policy.name}' a count may have to pass as a larger one "
                    f"({edge.name}), so {what} with noise above the truth cannot hide it.",
                    hint="Use a policy whose moves only lower counts, such as presence or "
                    "addition_only, or the two-sided baselines GapTopK and GapSparseVector.",
                )
            fall = paid_fall(shift, answers=answers, per_key=1)
            if fall:
                found.append(budget * edge.weight / fall)
    return _in_range(min(found)) if found else INFINITE


def _in_range(rate: Fraction) -> Fraction:
    """Refuse rates that the samplers do not offer."""
    if MIN_RATE <= rate <= MAX_RATE:
        return rate
    raise ParameterError(
        f"This needs noise at the rate {rate}, outside 2^-40 .. 2^10.",
        hint="Use a more ordinary ε, or fewer answers.",
        rate=rate,
    )
