"""The filter of a renyi account, against the best of all adaptive askers.

An asker sees each answer and then chooses the next charge out of a few, or stops. Of the largest
δ(ε) = E[max(0, 1 - e^(ε - L))] that any such asker can reach this is the exact value, by dynamic
programming over what was charged and the loss L so far; so no hostile asker over these charges is
left out. Filters that are wrong in one known way are beaten by the same programme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, Final, TypeAlias

from onesided import accounting as acc
from onesided.accounting import Bound
from onesided.errors import BudgetExceededError
from onesided.ledger import Account, Ledger
from onesided.mechanism import Counts
from onesided.numbers import INFINITE, Loss
from onesided.policy import Shift
from onesided_proofs.checks._laws import ENDLESS, SUBJECTS, added
from onesided_proofs.checks._laws import delta as delta_of
from onesided_proofs.checks._samplers import Sampled

_EDGE: Final = "a -> b"
_ORDERS: Final = tuple(1 + 2**k for k in range(11))
_ROUNDED: Final = 1e-9
Law: TypeAlias = tuple[tuple[float, float], ...]
State: TypeAlias = tuple[int, ...]
Fits: TypeAlias = Callable[[State], bool]


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A charge that may be asked for: how it is told to the ledger, and its law along the move.

    law: each loss with its probability on X, written out by hand; ``math.inf`` where Y cannot
    answer so.
    """

    law: Law
    epsilon: Loss
    delta: Fraction = Fraction(0)
    told: Sequence[Loss] | None = field(default=None)


def two_points(forward: str, backward: str) -> Offer:
    """Losses ``forward`` and ``-backward``, as often as both laws have sum 1; its own Rényi law."""
    a, b = Fraction(forward), Fraction(backward)
    u, v = math.exp(-float(a)), math.exp(-float(b))
    law = (((1 - v) / (1 - u * v), float(a)), (v * (1 - u) / (1 - u * v), -float(b)))
    return Offer(law=law, epsilon=a, told=acc.divergences(acc.two_way_loss(a, b)))


def counted(upper: str, lower: str, fall: int) -> Offer:
    """Noise on a count that falls, told as a session tells it; its law summed over the answers."""
    a, b = Fraction(upper), Fraction(lower)
    masses: dict[float, float] = {}
    p, q = math.exp(-float(a)), math.exp(-float(b))
    far = int(40 / min(a, b))
    for noise in range(-far, far + 1):
        heights = (-float(a) * n if n >= 0 else float(b) * n for n in (noise, noise + fall))
        here, there = heights
        one, loss = math.exp(here), round(here - there, 9)
        masses[loss] = masses.get(loss, 0) + one * (1 - p) * (1 - q) / (1 - p * q)
    note = acc.noise_note(Counts(a, b), {_EDGE: [Shift(rise=0, fall=fall)]})
    epsilon, nothing = {_EDGE: a * fall}, {_EDGE: Fraction(0)}
    told = acc.charge_divergences({acc.NOTE: note}, epsilon=epsilon, delta=nothing)
    return Offer(law=tuple((m, x) for x, m in masses.items()), epsilon=a * fall, told=told[_EDGE])


def certain(epsilon: str, delta: str = "0") -> Offer:
    """Noise on one side: the loss is ε whatever the answer; with δ, everything is told."""
    lost = float(Fraction(delta))
    law = ((1 - lost, float(Fraction(epsilon))), *(((lost, math.inf),) if lost else ()))
    return Offer(law=law, epsilon=Fraction(epsilon), delta=Fraction(delta))


def enumerated(subject: str) -> Offer:
    """A mechanism's shipped code over all its noise, told as a session tells its steps."""
    one = SUBJECTS[subject]
    _, told, epsilon = one.told()
    law = tuple((p, x) for x, p in one.law().items())
    return Offer(law=law, epsilon=epsilon, told=tuple(map(Fraction, told)))


def gaussian(subject: str) -> Offer:
    """Discrete Gaussian noise, of which the ledger knows no ε; its law enumerated."""
    one = ENDLESS[subject]
    told = one.told()[1]
    law = tuple((p, x) for x, p in one.law().items())
    return Offer(law=law, epsilon=INFINITE, told=tuple(map(Fraction, told)))


def worst(offers: Sequence[Offer], fits: Fits, *, epsilon: float, rounds: int) -> float:
    """The largest δ at ``epsilon`` that any adaptive asker of at most so many rounds reaches."""

    @cache
    def reached(state: State, loss: float) -> float:
        best = max(0.0, 1 - math.exp(min(50.0, epsilon - loss)))
        if math.isinf(loss) or sum(state) == rounds:
            return best
        for at, offer in enumerate(offers):
            after = tuple(n + (i == at) for i, n in enumerate(state))
            if fits(after):
                more = (p * reached(after, round(loss + x, 9)) for p, x in offer.law)
                best = max(best, sum(more))
        return best

    return reached((0,) * len(offers), 0.0)


def by_ledger(offers: Sequence[Offer], *, epsilon: str, delta: str) -> Fits:
    """What a real account takes: one for each way to have been charged, in a ledger of its own.

    The filter adds, so that n charges are told as one of n times as much.
    """

    @cache
    def taken(state: State) -> bool:
        account = _account(epsilon, delta)
        try:
            for offer, times in zip(offers, state, strict=True):
                if times:
                    account.spend(**_told(offer, times), label="so many charges")
        except BudgetExceededError:
            return False
        return True

    return taken


def _account(epsilon: str, delta: str) -> Account:
    return Ledger.open(None).account(
        policy_id="p",
        policy_toml="",
        policy_name="p",
        budget={_EDGE: epsilon},
        delta_budget={_EDGE: delta},
        accounting="renyi",
    )


def _told(offer: Offer, times: int = 1) -> dict[str, Any]:
    told = () if offer.told is None else tuple(times * one for one in offer.told)
    return {
        "epsilon": {_EDGE: times * offer.epsilon},
        "delta": {_EDGE: times * offer.delta},
        "divergences": {_EDGE: told},
    }


_ASKED: Final = (
    (
        "rare large losses, chosen after the first answer",
        ("6", "1/1000", 3),
        (
            two_points("0.71", "0.0615"),
            two_points("6.514", "0.00174"),
            two_points("5.347", "0.161"),
            two_points("6.37", "0.00047"),
            two_points("6.2", "0.0008"),
        ),
    ),
    (
        "noise on both sides, by both directions",
        ("1", "1/10", 20),
        (counted("1/10", "1/5", 1), counted("1/5", "1/10", 1)),
    ),
    (
        "noise on one side, and charges that carry a δ",
        ("3/2", "1/10", 5),
        (certain("1/2"), certain("1/4", "1/50"), two_points("3/4", "1/4")),
    ),
    (
        "choices by permute and flip, beside noise on both sides",
        ("2", "1/10", 8),
        (
            enumerated("a quantile of two candidates"),
            enumerated("a rank"),
            counted("1/4", "1/2", 1),
        ),
    ),
)


_ENDLESS: Final = (
    ("2", "1/10", 3),
    (gaussian("Gaussian noise, one for another"), certain("1/4"), counted("1/4", "1/2", 1)),
)


def filtered_checks(name: str) -> Iterator[Sampled]:
    """The filter against every asker, and filters that are wrong in one way each."""
    beside = "Gaussian noise, beside noise that keeps an ε"
    for subject, (epsilon, delta, rounds), offers in (*_ASKED, (beside, *_ENDLESS)):
        fits = by_ledger(offers, epsilon=epsilon, delta=delta)
        yield Sampled(name, f"filter: {subject}", _over(offers, fits, epsilon, delta, rounds))
    yield Sampled(name, "filter: what it holds", _held_fault())
    for subject, fault in (
        ("full δ at each order, by the tighter conversion", _tighter()),
        ("one-way noise priced as two-way", _two_way()),
        ("two directions folded into one", _folded()),
        ("δ added along a path without e^ε", _path()),
        ("a tight total of laws that were chosen from answers", _chosen()),
    ):
        yield Sampled(name, f"filter: {subject}", fault, sound=False)


def _over(offers: Sequence[Offer], fits: Fits, epsilon: str, delta: str, rounds: int) -> str:
    found = worst(offers, fits, epsilon=float(Fraction(epsilon)), rounds=rounds)
    due = float(Fraction(delta))
    return "" if found <= due + _ROUNDED else f"δ = {found:.3g} at ε = {epsilon}, promised {due:g}"


def _held_fault() -> str:
    """As many answers as the shares allow, no fewer than pure adding, by each direction's law."""
    small, back = counted("1/100", "1/50", 1), counted("1/50", "1/100", 1)
    for offer, fewest, most in (
        (small, 100, 10**6),
        (back, 50, 10**6),
        (certain("1/100"), 100, 100),
    ):
        account = _account("1", "1/1000000")
        told = account.times(**_told(offer))
        shares = [1 - math.log(10**6) / (order - 1) for order in _ORDERS]
        due = [share // _divergence(offer.law, o) for share, o in zip(shares, _ORDERS, strict=True)]
        if told is None or not fewest <= told <= most or told - max(*due, fewest) not in (0, -1):
            return f"{told} answers of {offer.epsilon} fit, due {max(due)}"
    return ""


def _divergence(law: Law, order: int) -> float:
    top = max(loss for _, loss in law)
    power = order - 1
    return top + math.log(sum(p * math.exp(power * (x - top)) for p, x in law)) / power


def _tighter() -> str:
    """B(α) with ln(1 - 1/α) and ln α in it, and all of δ: good for one order, not for a choice."""
    offers = _ASKED[0][2]
    told = [[_divergence(one.law, order) for order in _ORDERS] for one in offers]
    left = math.log(1000)
    shares = [6 - (left - math.log(o)) / (o - 1) - math.log1p(-1 / o) for o in _ORDERS]

    def fits(state: State) -> bool:
        sums = [sum(n * one[k] for n, one in zip(state, told, strict=True)) for k in range(11)]
        return any(used <= share for used, share in zip(sums, shares, strict=True))

    return _over(offers, fits, "6", "1/1000", 2)


def _chosen() -> str:
    """The tight total of what was charged, taken for a promise whatever led to these charges."""
    offers = _ASKED[0][2]

    def fits(state: State) -> bool:
        law = {0.0: 1.0}
        for offer, times in zip(offers, state, strict=True):
            for _ in range(times):
                law = added(law, {x: p for p, x in offer.law})
        return delta_of(law, 6.0) <= 1 / 1000

    return _over(offers, fits, "6", "1/1000", 2)


def _two_way() -> str:
    """One-way noise loses ε for certain; the law of noise both ways is not its law."""
    priced = two_points("1/10", "1/10")
    offers = (Offer(law=((1.0, 0.1),), epsilon=priced.epsilon, told=priced.told),)
    fits = by_ledger(offers, epsilon="1", delta="1/100")
    return _over(offers, fits, "1", "1/100", 40)


def _folded() -> str:
    """Both directions priced by the kinder of the two."""
    steep, flat = two_points("2", "1/8"), two_points("1/8", "2")
    kinder = tuple(map(min, steep.told or (), flat.told or ()))
    offers = (Offer(law=steep.law, epsilon=steep.epsilon, told=kinder),)
    fits = by_ledger(offers, epsilon="1", delta="1/100")
    return _over(offers, fits, "1", "1/100", 8)


def _path() -> str:
    """Two moves, each (1, 1/16): the far end is reached at δ (1 + e), not 2 δ."""
    one = Bound(1, "1/16")
    told = acc.along_path([one, one])
    # Y, one move and two moves away, by the laws that attain it: Pr[S] = e q + δ at each move.
    far = Fraction(1, 100)
    real = math.e * (math.e * float(far) + 1 / 16) + 1 / 16
    lost = real - math.exp(float(told.epsilon)) * float(far)  # type: ignore[arg-type]
    return "" if lost <= 2 / 16 else f"δ = {lost:.3g} along two moves, added up 0.125"
