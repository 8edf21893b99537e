"""Directed Rényi divergences of what ships, rounded up: what an account of the kind renyi adds.

Along a move from X to Y, with P the law of the answer on X and Q that on Y,

    D_α(P || Q) = ln E_P[(P / Q)^(α - 1)] / (α - 1),   E over the outputs of X alone.

The way back, D_α(Q || P), is another number; nothing here joins the two. Over answers that are
chosen in the light of earlier ones these add up order by order, which is what the filter of
``onesided.ledger`` does (docs/proofs/renyi.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from onesided._numbers import (
    INFINITE,
    ORDERS,
    Infinite,
    Loss,
    Number,
    exp_neg_bounds,
    log_up,
    on_orders,
    strict_share,
    whole,
)
from onesided.accounting._charges import NOTE, charge_loss, noted, parts_of, steps_loss
from onesided.accounting._losses import UNIT, LossDistribution, two_sided_loss
from onesided.mechanism.kit import Chosen, Gaussian, OneOf, Steps, Together

_BITS: Final = 192
_MORE: Final = 64  # bits below a mass's own, for what Horner's rule rounds up


def divergences(loss: LossDistribution) -> tuple[Loss, ...]:
    """D_α of one loss distribution at each of the orders, rounded up to multiples of 2^-64.

    INFINITE where an infinite loss has any probability: the supports differ. Never above the
    largest loss, and never below the truth: masses and losses are rounded up, and so is the
    logarithm of ``Σ mass e^((α - 1) loss)``.

    >>> from onesided.accounting import certain_loss, two_way_loss
    >>> set(divergences(certain_loss(1)))
    {Fraction(1, 1)}
    >>> round(float(divergences(two_way_loss("1/10", "1/10"))[0]), 5)
    0.00996
    """
    top = loss.largest
    if isinstance(top, Infinite):
        return (INFINITE,) * len(ORDERS)
    found: list[Loss] = []
    for order in ORDERS:
        power = order - 1
        decay = -(-exp_neg_bounds(power * loss.step, bits=_BITS)[1] * 2**_BITS // 1)
        # Horner's rule in whole numbers, each step rounded up: a share of e^(power top).
        share = 0
        for mass in loss.masses:
            share = -(-share * decay >> _BITS) + (mass << _MORE)
        sure = Fraction(share, UNIT << _MORE)
        least = top + log_up(sure, bits=_BITS) / power
        found.append(on_orders(max(Fraction(0), min(top, least))))
    return tuple(found)


def charge_divergences(
    detail: Mapping[str, object],
    *,
    epsilon: Mapping[str, Loss],
    delta: Mapping[str, Fraction],
) -> dict[str, tuple[Loss, ...]]:
    """D_α per edge of a charge of (ε, δ), from what its ``detail`` says of its noise.

    By the noise where a note tells it and it loses exactly the ε that was charged; anything else
    (noise on one side, decisions, sparse vector, monitors, notes that cannot be read) enters at ε,
    for a loss of at most ε has no larger divergence at any order. An ε of INFINITE is of noise that
    keeps none, such as the discrete Gaussian: then the note alone tells.

    >>> from onesided.accounting import noise_note
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import Shift
    >>> edge, one = "a -> b", Fraction(1, 10)
    >>> note = noise_note(Counts(one, one), {edge: [Shift(rise=0, fall=1)]})
    >>> told = charge_divergences({"noise": note}, epsilon={edge: one}, delta={edge: Fraction(0)})
    >>> round(float(told[edge][0]), 4), round(float(told[edge][-1]), 4)
    (0.01, 0.0994)
    """
    told = detail.get("noise")
    return {
        edge: _along(told, edge, one, whole=not delta.get(edge)) for edge, one in epsilon.items()
    }


class Repeated(NamedTuple):
    """What so many equal charges lose together along one edge, in nats.

    added: ε times their number. filtered: the least ε of a renyi account that holds them, however
    they are chosen. planned: the tight total, where nothing but they was planned beforehand.

    >>> Repeated(added=Fraction(1), filtered=Fraction(1, 2), planned=Fraction(2, 5)).planned
    Fraction(2, 5)
    """

    added: Loss
    filtered: Loss
    planned: Loss


def repeated(
    detail: Mapping[str, object], *, epsilon: Mapping[str, Loss], times: int, delta: Number
) -> dict[str, Repeated]:
    """What ``times`` charges of ``detail`` and ε lose together per edge, three ways, at that δ.

    Errors: ParameterError for a δ that is not strictly between 0 and 1, or no number of times.

    >>> from onesided.accounting import noise_note
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import Shift
    >>> edge, one = "a -> b", Fraction(1, 10)
    >>> note = noise_note(Counts(one, one), {edge: [Shift(rise=0, fall=1)]})
    >>> told = repeated({"noise": note}, epsilon={edge: one}, times=365, delta="1/1000000")[edge]
    >>> [round(float(some), 2) for some in told]
    [36.5, 12.28, 10.31]
    """
    number = whole(times, name="times", least=1, most=10**6)
    allowed = strict_share(delta, name="delta")
    each = charge_divergences(detail, epsilon=epsilon, delta={})
    spent = log_up(1 / allowed, bits=96)  # as the account has it
    found = {}
    for edge, one in epsilon.items():
        finite = [(o, rho) for o, rho in zip(ORDERS, each[edge], strict=True) if rho != INFINITE]
        shares = (_up(number * rho + spent / (order - 1)) for order, rho in finite)
        loss = charge_loss(detail.get(NOTE), edge=edge, epsilon=one).times(number)
        planned = min(number * one, loss.epsilon(allowed))
        found[edge] = Repeated(number * one, min([number * one, *shares]), planned)
    return found


def _along(note: object, edge: str, epsilon: Loss, *, whole: bool) -> tuple[Loss, ...]:
    """One edge. A charge that carries a δ, or a note that says another ε, enters at ε."""
    at_most = (_up(epsilon),) * len(ORDERS)
    if not whole or not epsilon:
        return at_most
    parts = parts_of(note, edge=edge)
    if parts is not None and sum((one for _, one in parts), Fraction(0)) == epsilon:
        return _added(_along(own, edge, one, whole=True) for own, one in parts)
    known = noted(note, edge=edge)
    return at_most if known is None or known.epsilon != epsilon else _of_steps(known)


@lru_cache(maxsize=1024)
def _of_steps(steps: Steps) -> tuple[Loss, ...]:
    """Of steps whose loss is finite, at each order; most charges repeat a few."""
    if isinstance(steps, Together):
        once = _added(map(_of_steps, steps.steps))
        return tuple(steps.times * one for one in once)
    if isinstance(steps, OneOf):
        return tuple(max(at) for at in zip(*map(_of_steps, steps.steps), strict=True))
    if isinstance(steps, Gaussian):
        return tuple(on_orders(steps.divergence(order)) for order in ORDERS)
    at_most = (_up(steps.epsilon),) * len(ORDERS)
    if isinstance(steps, Chosen):
        return tuple(map(min, at_most, divergences(steps_loss(steps))))
    # One count falls and another rises: the two are drawn by themselves, so their numbers add up.
    (a, b), shift = (steps.upper, steps.lower), steps.shift
    each = (
        divergences(two_sided_loss(first, second, fall=size))
        for first, second, size in ((a, b, shift.fall), (b, a, shift.rise))
    )
    return tuple(map(min, at_most, _added(each)))


def _up(number: Loss) -> Loss:
    return number if isinstance(number, Infinite) else on_orders(number)


def _added(several: Iterable[tuple[Loss, ...]]) -> tuple[Loss, ...]:
    total: tuple[Loss, ...] = (Fraction(0),) * len(ORDERS)
    for one in several:
        total = tuple(mine + theirs for mine, theirs in zip(total, one, strict=True))
    return total
