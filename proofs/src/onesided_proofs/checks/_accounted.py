"""How losses are distributed, add up and are sampled, against laws that are written out in full.

Of each release both laws are listed, of the real data and of what they must pass as; δ at any ε is
then a sum. What is told must not be below it, and no more above than what it says of its rounding.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, permutations, product
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

import onesided as od
from onesided import accounting as acc
from onesided import policy as policies
from onesided.accounting import NOTE, Bound, LossDistribution
from onesided.errors import ParameterError, PolicyError
from onesided.ledger import Ledger
from onesided.mechanism import AtMost, Counts
from onesided.numbers import INFINITE, Infinite, Loss
from onesided.policy import Policy, Shift
from onesided_proofs.checks._filtered import filtered_checks
from onesided_proofs.checks._laws import laws_checks
from onesided_proofs.checks._samplers import Sampled, exp_neg

_NAME: Final = "losses, by the laws of both data sets"
_UNIT: Final = 2**128
_CLOSE: Final = 1e-9
_ROUNDED: Final = 1e-12
# So far out noise at a rate of 1/2 or more is never seen.
_FAR: Final = 70
_GRID: Final = 8192
_AT: Final = (*(Fraction(k, 8) for k in range(-24, 29, 4)), Fraction(1, 3), Fraction(40))
# The probability of each outcome, in the same order for both data sets.
Law: TypeAlias = Any


def accounted_checks() -> Iterator[Sampled]:
    """Each part, and a control of its kind."""
    for subject, found in (
        ("sums of losses", _sums_fault),
        ("losses on a grid made coarser", _coarse_fault),
        ("many of several kinds", _kinds_fault),
        ("δ and ε of a loss", _read_fault),
        ("the worst of several losses", _worst_fault),
        ("noise on counts", _noise_fault),
        ("noise on counts that fall far", _far_fault),
        ("several shifts", _shifts_fault),
        ("promises of which no more is known", _promised_fault),
        ("paths and ways back", _paths_fault),
        ("units that are replaced, or leave", _ways_fault),
        ("promises after sampling", _sampled_fault),
        ("sampling and noise in balance", _balance_fault),
        ("notes of charges", _notes_fault),
        ("totals of charges", _totals_fault),
        ("totals of two accounts", _accounts_fault),
    ):
        yield Sampled(_NAME, subject, found())
    half = Counts("1/2", 1)
    law = _shifted(_ONE, _ONE, 1)
    # A charge of another ε than its noise loses counts as what was charged.
    note = acc.noise_note(Counts(1, 1), {_EDGE: _FALL})
    told = acc.charge_loss(note, edge=_EDGE, epsilon=Fraction("2"))
    # A loss of 1/2 drawn as 0 or 1, its own mean kept in place of that of e^-L.
    middle = LossDistribution(Fraction(0), _ONE, (_UNIT // 2, _UNIT // 2), 0)
    sure = np.array([1.0, 0.0]), np.array([np.exp(-0.5), -np.expm1(-0.5)])
    for subject, fault in (
        ("a loss moved to the grid by its own mean", _against(middle, *sure)),
        ("the other account by its way back", _accounts_fault(back=True)),
        ("noise at twice the rate", _against(acc.counts_loss(half, Shift(rise=0, fall=1)), *law)),
        ("one release of two", _added_fault(_KNOWN[0], _KNOWN[1], told=_KNOWN[0])),
        ("sampled twice as often", _kept_fault(Fraction(1, 4), told=Fraction(1, 8))),
        ("a note that was believed", _against(told, *_shifted(_ONE, _ONE, 1))),
    ):
        yield Sampled(_NAME, subject, fault, sound=False)
    yield from filtered_checks(_NAME)
    yield from laws_checks(_NAME)


def _against(told: LossDistribution, real: Law, other: Law, *, close: float = _CLOSE) -> str:
    """δ at several ε: the sum of what the real law has above e^ε times the other."""
    one, two = np.asarray(real), np.asarray(other)
    for epsilon in _AT:
        due = float(np.maximum(0, one - np.exp(float(epsilon)) * two).sum())
        found = float(told.delta(epsilon))
        if not -_ROUNDED <= found - due <= close:
            return f"δ at ε = {epsilon} is {due:.12f}, told {found:.12f}"
    return ""


def _first(faults: Iterable[str]) -> str:
    return next((fault for fault in faults if fault), "")


def _shifted(upper: Loss, lower: Loss, fall: int, *, far: int = _FAR) -> tuple[Law, Law]:
    """Of a count and of one lower by ``fall``, the law of each answer."""
    # The law of noise at these rates, above and below, from -far to far.
    up, down = (0.0 if isinstance(r, Infinite) else np.exp(-float(r)) for r in (upper, lower))
    steps = np.arange(-far, far + 1)
    own = np.where(steps >= 0, up ** np.maximum(steps, 0), down ** np.maximum(-steps, 0))
    law, empty = (own / own.sum()), np.zeros(abs(fall))
    ends = np.concatenate([empty, law]), np.concatenate([law, empty])
    return ends if fall >= 0 else ends[::-1]


def _pair(first: tuple[Law, Law], second: tuple[Law, Law]) -> tuple[Law, Law]:
    """Both releases at once."""
    real, other = (np.outer(a, b).ravel() for a, b in zip(first, second, strict=True))
    return real, other


_ONE: Final = Fraction(1)
_RATES: Final[tuple[Loss, ...]] = (*(Fraction(r) for r in ("1/2", "2/3", "2")), INFINITE)


def _noise_fault() -> str:
    """One count that falls, by every pair of rates; and another that rises with it."""
    faults = []
    for upper, lower in product(_RATES, repeat=2):
        for fall in (0, 1, 4):
            told = acc.two_sided_loss(upper, lower, fall=fall)
            faults.append(_against(told, *_shifted(upper, lower, fall)))
            if fall and not isinstance(upper, Infinite) and told.largest != upper * fall:
                faults.append(f"at most {told.largest} of {upper}, {lower} by {fall}")
        for rise, fall in ((1, 0), (2, 1)):
            told = acc.counts_loss(Counts(upper, lower), Shift(rise=rise, fall=fall))
            both = _pair(_shifted(upper, lower, fall), _shifted(upper, lower, -rise))
            faults.append(_against(told, *both))
    above = AtMost(3, upper_rate="1/2")
    falls, rises = (
        acc.counts_loss(above, one) for one in (Shift(rise=0, fall=2), Shift(rise=1, fall=0))
    )
    if falls.largest != 1 or rises.largest != INFINITE or falls.delta("1/2") == 0:
        faults.append(f"decisions lose {falls.largest} and {rises.largest}")
    return _first(faults)


def _far_fault() -> str:
    """Beyond 512 steps no more is used than the largest loss each way."""
    a, b, fall = Fraction(1, 300), Fraction(1, 200), 600
    told = acc.two_sided_loss(a, b, fall=fall)
    real, other = _shifted(a, b, fall, far=20_000)
    if told.largest != 2 or told.start != -3:
        return f"losses from {told.start} to {told.largest}"
    return _against(told, real, other, close=0.5)


def _shifts_fault() -> str:
    """Any of several shifts: at no ε less than any of them, and as much as one of them."""
    counts = Counts("2/3", "1/2")
    shifts = Shift(rise=0, fall=2), Shift(rise=1, fall=1), Shift(rise=3, fall=0)
    each = [acc.counts_loss(counts, one) for one in shifts]
    return _worst_of_fault(each, acc.counts_loss(counts, shifts))


def _promised_fault() -> str:
    """What is known of a release is (ε, δ), both ways, or a sample in the clear."""
    faults = []
    for epsilon, delta in (("1/2", 0), ("1/2", "1/8"), (0, "1/4"), (2, "1/100"), (1, 1)):
        bound = Bound(epsilon, delta)
        faults.append(_against(acc.bound_loss(bound), *_extreme(bound)))
    faults.append(_against(acc.bound_loss(Bound(INFINITE)), [1, 0], [0, 1]))
    faults.append(_against(acc.certain_loss(INFINITE), [1, 0], [0, 1]))
    sizes = (0, "1/3", 3)
    faults += [_against(acc.certain_loss(one), *_extreme(Bound(one))) for one in sizes]
    for ahead, back in (("1/2", 2), (2, "1/2"), (1, 1), (0, 0), (0, 2), (2, 0)):
        # Whoever answers x or not x, as often as both promises let him.
        f, b = (np.exp(-float(Fraction(one))) for one in (ahead, back))
        share = (1 - b) / (1 - f * b) if f * b < 1 else 1.0
        real, other = [share, 1 - share], [share * f, 1 - share * f]
        faults.append(_against(acc.two_way_loss(ahead, back), real, other))
    for p in (Fraction(1, 8), Fraction(1, 2), *(Fraction(k, 11) for k in range(1, 11))):
        kept = float(p)
        away, there = [0, 1], [kept, 1 - kept]
        faults.append(_against(acc.sample_loss(p, removal=True), away, there))
        faults.append(_against(acc.sample_loss(p, removal=False), there, away))
        # In 120 digits, and on the next point of a grid that is 2^-96 wide, or the one after.
        left = Fraction(exp_neg(-acc.sample_loss(p, removal=False).start))
        if not 1 - p <= left + Fraction(1, 2**300) <= (1 - p) * (1 + Fraction(1, 2**96)):
            faults.append(f"a sample at {p} loses ln {float(left)}")
    return _first(faults)


def _extreme(bound: Bound) -> tuple[Law, Law]:
    """Laws that keep (ε, δ) along this direction and nothing better: the first answer is a leak."""
    if isinstance(bound.epsilon, Infinite):
        return [1, 0, 0], [0, 0, 1]
    delta, odds = float(bound.delta), np.exp(-float(bound.epsilon))
    return [delta, 1 - delta, 0], [0, odds * (1 - delta), 1 - odds * (1 - delta)]


class Known(NamedTuple):
    """A loss as it is: the probability of each, in multiples of 2^-128, and of all being lost."""

    masses: Mapping[Fraction, int]
    infinite: int = 0

    def made(self, step: Fraction = Fraction(1, 12)) -> LossDistribution:
        """On a grid, as the accountant holds it."""
        low, high = min(self.masses), max(self.masses)
        cells = int((high - low) / step) + 1 if step else 1
        masses = tuple(self.masses.get(low + at * step, 0) for at in range(cells))
        return LossDistribution(low, step if cells > 1 else Fraction(0), masses, self.infinite)


_TINY: Final = Fraction(1, 2**40)
# So near each other that of a δ of 2^-41 the 128th place is still told.
_NEAR: Final = Known({at * _TINY: _UNIT // (3 + 2 * at) for at in range(5)})


def _told(loss: LossDistribution) -> Known:
    found = {loss.start + at * loss.step: m for at, m in enumerate(loss.masses) if m}
    return Known(found, loss.infinite)


def _share(part: str) -> int:
    return int(Fraction(part) * _UNIT)


# A part of a third has a remainder, which is rounded up wherever two are multiplied.
_KNOWN: Final = (
    Known({Fraction(-1): _share("1/3"), Fraction(1, 2): _share("1/7"), Fraction(2): 1 << 90}),
    Known({Fraction(1, 4): _share("2/3"), Fraction(3, 4): _share("1/5")}, _share("2/15")),
    Known({Fraction(1, 3): _share("1/9"), Fraction(5, 6): _share("5/9")}, _share("1/3")),
    Known({Fraction(7, 12): _UNIT}),
)


def _added_fault(one: Known, two: Known, *, told: Known | None = None) -> str:
    """Losses add up, each pair with the product of its parts, rounded up at the last place."""
    due: Counter[Fraction] = Counter()
    for (a, m), (b, n) in product(one.masses.items(), two.masses.items()):
        due[a + b] += m * n
    lost = one.infinite * (sum(two.masses.values()) + two.infinite)
    lost += sum(one.masses.values()) * two.infinite
    found = told or _told(one.made() + two.made())
    up = {loss: -(-mass // _UNIT) for loss, mass in due.items()}
    if (dict(found.masses), found.infinite) != (up, -(-lost // _UNIT)):
        return f"{one} and {two} are {found}"
    return ""


def _sums_fault() -> str:
    """All pairs; and one release several times is as many added one by one."""
    fault = _first(_added_fault(one, two) for one, two in product(_KNOWN, repeat=2))
    for known in _KNOWN:
        one = known.made()
        several = list(accumulate([one] * 6, lambda a, b: a + b))
        for count, due in enumerate(several, start=1):
            told = one.times(count)
            if _far_apart(told, due):
                fault = fault or f"{known}, {count} times, is {told}"
        total = acc.total_loss([one, several[1], one])
        if _far_apart(total, several[3]):
            fault = fault or f"{known} in three parts is {total}"
    nothing, gone = acc.total_loss([]), LossDistribution(Fraction(0), Fraction(0), (), _UNIT)
    if nothing.largest != 0 or (gone + _KNOWN[1].made()).largest != INFINITE:
        fault = fault or "nothing, or everything, is lost otherwise"
    if (gone + gone).infinite != _UNIT:
        fault = fault or "all is lost more than once"
    return fault


def _far_apart(one: LossDistribution, two: LossDistribution) -> bool:
    """Whether two ways to add up differ by more than what each rounds up."""
    (a, lost), (b, gone) = _told(one), _told(two)
    apart = [abs(a.get(loss, 0) - b.get(loss, 0)) for loss in {*a, *b}]
    return max([abs(lost - gone), *apart]) > 10**4


def _tail_at(known: Known, level: Fraction) -> int:
    return known.infinite + sum(m for loss, m in known.masses.items() if loss >= level)


def _coarse_fault() -> str:
    """More points than fit: no less is lost, and no more than a step of the new grid makes."""
    step = Fraction(1, 6007)
    one = Known({Fraction(0): _share("1/4"), step: _share("1/4"), Fraction(1): _share("1/2")})
    two = Known({Fraction(0): _share("1/2"), Fraction(3001, 6007): _share("1/2")})
    three = acc.total_loss([one.made(step)] * 2)
    due: Counter[Fraction] = Counter()
    for (a, m), (b, n) in product(one.masses.items(), repeat=2):
        due[a + b] += m * n // _UNIT
    fault = _coarser(Known(due), three)
    even = one.made(step) + two.made(Fraction(3001, 6007))
    sums: Counter[Fraction] = Counter()
    for (a, m), (b, n) in product(one.masses.items(), two.masses.items()):
        sums[a + b] += m * n // _UNIT
    fault = fault or _coarser(Known(sums), even)
    fine = [Known({Fraction(0): _share("1/2"), Fraction(k, 99991): _UNIT // 2}) for k in (1, 99991)]
    fine.append(Known({Fraction(0): _UNIT, Fraction(1, 3): 1}))
    worst = acc.worst_of([one.made(Fraction(k)) for one, k in zip(fine, _STEPS, strict=True)])
    level = Known({Fraction(0): _UNIT // 2, Fraction(1): _UNIT // 2})
    return fault or _coarser(level, worst)


_STEPS: Final = (Fraction(1, 99991), Fraction(1), Fraction(1, 3))


def _coarser(due: Known, made: LossDistribution) -> str:
    """Whether δ is never below what is due, nor above it with each loss two steps larger."""
    if len(made.masses) > _GRID:
        return f"{len(made.masses)} points"

    def delta(epsilon: Fraction) -> float:
        lost = ((m / _UNIT, float(epsilon - x)) for x, m in due.masses.items())
        return due.infinite / _UNIT + sum(-m * float(np.expm1(x)) for m, x in lost if x < 0)

    for at in (*_AT, *list(due.masses)[:8]):
        found = float(made.delta(at))
        if not delta(at) - _CLOSE <= found <= delta(at - 2 * made.step) + _CLOSE:
            return f"δ at ε = {at} is {delta(at):.12f}, told {found:.12f}"
    return ""


def _kinds_fault() -> str:
    """Many of several kinds, each with losses of its own: never below δ from all their sums."""
    rates = ("1/97", "1/89", "1/101", "2/63")
    many, laws = (41, 30, 7, 2), [acc.two_way_loss(rate, rate) for rate in rates]
    due: dict[float, float] = {0.0: 1.0}
    for count, rate in zip(many, rates, strict=True):
        loss = float(Fraction(rate))
        share = 1 / (1 + math.exp(-loss))
        more = {
            loss * (2 * up - count): math.comb(count, up) * share**up * (1 - share) ** (count - up)
            for up in range(count + 1)
        }
        sums: dict[float, float] = {}
        for (a, p), (b, q) in product(due.items(), more.items()):
            sums[round(a + b, 12)] = sums.get(round(a + b, 12), 0.0) + p * q
        due = sums
    told = acc.total_loss([one for n, one in zip(many, laws, strict=True) for _ in range(n)])
    for at in (Fraction(k, 40) for k in range(-8, 20)):
        exact = sum(p * -math.expm1(float(at) - x) for x, p in due.items() if x > at)
        if not exact - _CLOSE <= float(told.delta(at)) <= exact * 1.001 + _CLOSE:
            return f"δ at ε = {at} is {exact:.12f}, told {float(told.delta(at)):.12f}"
    return ""


def _read_fault() -> str:
    """δ by its sum in 120 digits, and the least ε at each δ."""
    empty = LossDistribution(Fraction(0), Fraction(0), (), _UNIT // 4)
    over = LossDistribution(Fraction(9), Fraction(0), (_UNIT,), _UNIT // 4)
    if empty.delta(3) != Fraction(1, 4) or empty.epsilon("1/4") != 0 or over.delta(0) != 1:
        return "a loss that is all or nothing is read otherwise"
    fault = _first(_delta_fault(_NEAR, _NEAR.made(_TINY), at) for at in _NEAR.masses)
    single = [Known({Fraction(1): _UNIT // at}) for at in range(1, 6)]
    fault = fault or _first(_delta_fault(one, one.made(), 1 - _TINY) for one in single)
    fault = fault or _first(
        _delta_fault(known, known.made(), epsilon)
        for known in _KNOWN
        for epsilon in (*_AT, *known.masses, Fraction(-5))
    )
    return fault or _first(map(_epsilon_fault, _KNOWN))


def _delta_fault(known: Known, loss: LossDistribution, epsilon: Fraction) -> str:
    due = Fraction(known.infinite, _UNIT)
    for one, mass in known.masses.items():
        if one > epsilon:
            due += Fraction(mass, _UNIT) * (1 - Fraction(exp_neg(one - epsilon)))
    told, slack = loss.delta(epsilon), due / 2**90 + Fraction(1, 2**122)
    if not due - Fraction(1, 2**300) <= told <= min(Fraction(1), due + slack):
        return f"δ of {known} at {epsilon}: {float(due)}, told {float(told)}"
    return ""


def _epsilon_fault(known: Known) -> str:
    loss = known.made()
    for delta in map(Fraction, ("1/1000", "1/10", "1/3", "1/2", "1")):
        told = loss.epsilon(delta)
        if (told is INFINITE) != (Fraction(known.infinite, _UNIT) > delta):
            return f"ε of {known} at {delta}: {told}"
        if isinstance(told, Infinite):
            continue
        tick = max(known.masses) / 2**38
        if loss.delta(told) > delta or (told and loss.delta(told - tick) <= delta):
            return f"ε of {known} at {delta}: {told}"
    return ""


def _worst_fault() -> str:
    """At each level the largest chance of losing at least that much."""
    made = [known.made() for known in _KNOWN]
    fault = _first(
        _worst_of_fault(list(some), acc.worst_of(list(some))) for some in product(made, repeat=3)
    )
    gone = [LossDistribution(Fraction(0), Fraction(0), (), _UNIT // k) for k in (4, 2, 3)]
    if acc.worst_of(gone).infinite != _UNIT // 2:
        fault = fault or "of three that lose all, another"
    one = _KNOWN[3].made()
    if acc.worst_of([one, gone[1]]).infinite != _UNIT // 2:
        fault = fault or "of one that may lose all, another"
    return fault


def _worst_of_fault(each: Sequence[LossDistribution], told: LossDistribution) -> str:
    known, found = [_told(one) for one in each], _told(told)
    levels = sorted({loss for one in known for loss in one.masses})
    for level in levels:
        due = max(_tail_at(one, level) for one in known)
        if not 0 <= _tail_at(found, level) - due <= len(levels):
            return f"{level} is passed with {due}, told {_tail_at(found, level)}"
    return "" if set(found.masses) <= set(levels) else "other losses than those given"


def _paths_fault() -> str:
    """A path of three moves, each with a leak; and a promise read the other way round."""
    bounds = [Bound("1/2", "1/16"), Bound(1, "1/32"), Bound("1/4", "1/64")]
    told, due = acc.along_path(bounds), 1 / 16 + np.exp(0.5) / 32 + np.exp(1.5) / 64
    if told.epsilon != Fraction(7, 4) or not 0 <= float(told.delta) - due < _CLOSE:
        return f"a path keeps {told}, due {due}"
    for rest, kept in (
        ([Bound(1, "1/2"), Bound(2, "1/2")], Bound(3, 1)),
        ([Bound(INFINITE, "1/2"), Bound(1)], Bound(INFINITE, 1)),
        ([Bound(1), Bound(INFINITE)], Bound(INFINITE, 1)),
        ([Bound(1), Bound(2)], Bound(3, 0)),
        ([], Bound(0, 0)),
        ([Bound(3000), Bound(1, "1/8"), Bound(1)], Bound(3002, 1)),
        ([Bound(3000), Bound(-3000, "1/8"), Bound(1, "1/8")], Bound(1, 1)),
    ):
        if (acc.along_path(rest).epsilon, acc.along_path(rest).delta) != (kept.epsilon, kept.delta):
            return f"{rest} keep {acc.along_path(rest)}, due {kept}"
    for bound in (Bound(1), Bound("1/2", "1/8"), Bound(-1, "7/8"), Bound(0, "1/4"), Bound(2, 1)):
        back, (real, other) = acc.reverse(bound), _extreme(bound)
        if back.epsilon != -bound.epsilon:  # type: ignore[operator] # all finite
            return f"{bound} is {back} the other way"
        odds = np.exp(float(back.epsilon))  # type: ignore[arg-type] # all finite
        lost = np.maximum(0, np.array(other) - odds * np.array(real)).sum()
        if bound.epsilon >= 0 and not -_ROUNDED <= float(back.delta) - lost < _CLOSE:
            return f"{bound} is {back} the other way, and δ is {lost}"
        due = min(1, max(0, 1 - odds * (1 - float(bound.delta))))
        if not -_ROUNDED <= float(back.delta) - due < _CLOSE:
            return f"{bound} is {back} the other way, and δ is {due}"
    nobody = acc.reverse(Bound(INFINITE, "1/2"))
    return f"{nobody} of no promise" if nobody.epsilon != 0 or nobody.delta != 1 else ""


def _ways_fault() -> str:
    """Whoever drops some groups stays, whoever drops all leaves: the larger ε, and the larger δ."""
    policy = policies.presence(max_groups=2)
    (edge,) = (edge.name for edge in policy.edges)
    for (e, d), (f, g) in permutations((("1", "1/8"), ("3/4", "1/64")), 2):
        for replace, leave in ((Bound(e, d), Bound(f, g)), (Bound(e, g), Bound(f, d))):
            told = acc.from_dp(policy, replace=replace, add_or_remove=leave)
            if told.epsilon[edge] != 1 or told.delta.get(edge) != Fraction(1, 8):
                return f"{replace} and {leave} are {told}"
    return ""


def _mixed(kept: float, one: Law, two: Law) -> Law:
    return kept * np.asarray(one) + (1 - kept) * np.asarray(two)


def _keeps(told: Bound, real: Law, other: Law, *, tight: bool = True) -> str:
    """Whether these laws keep what is told, and would keep nothing better."""
    if isinstance(told.epsilon, Infinite):
        return ""
    due = np.maximum(0, np.asarray(real) - np.exp(float(told.epsilon)) * np.asarray(other)).sum()
    if due > float(told.delta) + _ROUNDED:
        return f"{told} is told, and δ is {due:.12f}"
    lower = float(told.epsilon) - 1e-6
    less = np.maximum(0, np.asarray(real) - np.exp(lower) * np.asarray(other)).sum()
    if tight and (abs(due - float(told.delta)) > _CLOSE or less <= float(told.delta) + 1e-9):
        return f"{told} is told, and less would do"
    return ""


def _kept_fault(p: Fraction, *, told: Fraction | None = None) -> str:
    """Who leaves, who comes, who is replaced: the release sees a unit with the chance p."""
    share, kept = told or p, float(p)
    for bound in (Bound(1), Bound("1/2", "1/8"), Bound(3, "1/100"), Bound("5/2")):
        real, other = _extreme(bound)
        leaves = acc.amplify_addition(bound, p=share)
        comes = acc.amplify_removal(bound, p=share)
        stays = acc.amplify_replacement(replace=bound, p=share)
        # A release that answers otherwise of nobody at all.
        apart = [*np.zeros(3), 1.0]
        fault = (
            _keeps(leaves, _mixed(kept, real, other), other)
            or _keeps(comes, real, _mixed(kept, other, real))
            or _keeps(stays, _mixed(kept, [*real, 0], apart), _mixed(kept, [*other, 0], apart))
        )
        if fault:
            return f"{bound} at p = {p}: {fault}"
    for epsilon, alone in product(("1/2", "2"), ("1/3", "3")):
        first, second, gone = (
            [np.exp(-float(Fraction(loss))), 1 - np.exp(-float(Fraction(loss)))]
            for loss in (0, epsilon, alone)
        )
        if Fraction(alone) > Fraction(epsilon):
            continue
        both = acc.amplify_replacement(replace=Bound(epsilon), addition=alone, p=share)
        fault = _keeps(both, _mixed(kept, first, gone), _mixed(kept, second, gone))
        if fault:
            return f"{epsilon}, and {alone} without the unit, at p = {p}: {fault}"
    there, away = [kept, 1 - kept], [0.0, 1.0]
    fault = _keeps(acc.sampling_addition(share), there, away, tight=False)
    return fault or _keeps(acc.sampling_removal(share), away, there)


def _sampled_fault() -> str:
    """By how often a unit is kept; and of promises that say nothing, or next to nothing."""
    fault = _first(_kept_fault(Fraction(p)) for p in ("1/100", "1/4", "9/10"))
    p, silent, far = Fraction(1, 4), Bound(INFINITE, "1/8"), Bound(5000, "1/8")
    alone = acc.sampling_removal(p)
    for told, epsilon, delta in (
        (acc.amplify_addition(silent, p=p), 0, p),
        (acc.amplify_removal(silent, p=p), alone.epsilon, 0),
        (acc.amplify_replacement(replace=silent, p=p), 0, p),
        (acc.amplify_addition(far, p=p), 5000, p / 8),
        (acc.amplify_replacement(replace=far, p=p), 5000, p / 8),
        (acc.amplify_replacement(replace=far, addition=INFINITE, p=p), 5000, p / 8),
        (acc.sampling_addition(p), 0, p),
        (
            acc.amplify_replacement(replace=Bound("1/1000"), addition=5000, p=p),
            Fraction(1, 1000),
            0,
        ),
    ):
        if (told.epsilon, told.delta) != (epsilon, delta):
            fault = fault or f"{told} is told, due {epsilon} and {delta}"
    if acc.amplify_removal(far, p=p).epsilon > alone.epsilon:
        fault = fault or "more is lost than by sampling alone"
    both = acc.two_sided_by_sampling(Bound(1, "1/8"), p=p)
    leaves, (leave, come) = acc.amplify_addition(Bound(1, "1/8"), p=p), both.epsilon
    told_of = [(both.epsilon[e], both.delta.get(e, Fraction(0))) for e in (leave, come)]
    if told_of != [(leaves.epsilon, leaves.delta), (alone.epsilon, 0)]:
        fault = fault or f"{both} of both directions"
    return fault


def _balance_fault() -> str:
    """Whoever comes loses ε by the sample, whoever leaves as much by sample and noise."""
    for epsilon in (Fraction(5), *(Fraction(k, 10) for k in range(1, 13))):
        both = acc.sample_and_noise(epsilon)
        due = np.log1p(np.exp(float(epsilon)))
        if both.keep_rate != epsilon or abs(float(both.upper_rate) - due) > _CLOSE:
            return f"{both} of ε = {epsilon}"
        kept = -np.expm1(-float(epsilon))
        left = np.log1p(kept * np.expm1(float(both.upper_rate)))
        over = 1 / Fraction(exp_neg(both.upper_rate)) - 1 - 1 / Fraction(exp_neg(epsilon))
        if abs(left - float(epsilon)) > _CLOSE or not -Fraction(1, 2**80) < over <= 0:
            return f"{both} of ε = {epsilon} loses {left}"
    return ""


_EDGE: Final = "a -> b"
_FALL: Final = (Shift(rise=0, fall=1),)


def _notes_fault() -> str:
    """Which notes are believed: those that lose what was charged, and no more."""
    counts, edges = Counts(1, "1/2"), {_EDGE: _FALL, "b -> a": (Shift(rise=4, fall=0), *_FALL)}
    note: dict[str, Any] = dict(acc.noise_note(counts, edges))
    law = _shifted(_ONE, Fraction(1, 2), 1)
    fault = _against(acc.charge_loss(note, edge=_EDGE, epsilon=Fraction(1)), *law)
    back = acc.charge_loss(note, edge="b -> a", epsilon=Fraction(2))
    fault = fault or _worst_of_fault([acc.counts_loss(counts, s) for s in edges["b -> a"]], back)
    less = acc.charge_loss(note, edge="b -> a", epsilon=Fraction(1))
    fault = fault or _against(less, *_extreme(Bound(1)))
    for one_sided in (Counts(1, INFINITE), Counts(INFINITE, 1), AtMost(1, upper_rate=1)):
        if acc.noise_note(one_sided, edges):
            fault = fault or f"{one_sided} has a note"
    certain = _extreme(Bound(2))
    for other, epsilon, delta, due in (
        (note, "2", 0, certain),
        (note, "1", "1/8", _extreme(Bound(1, "1/8"))),
        (note, "0", "1/8", _extreme(Bound(0, "1/8"))),
        (None, "0", 0, _extreme(Bound(0))),
        ({}, "2", 0, certain),
        ("counts", "2", 0, certain),
        ({**note, "version": 2}, "1", 0, _extreme(Bound(1))),
        ({**note, "kind": "sums"}, "1", 0, _extreme(Bound(1))),
        ({**note, "edges": {}}, "1", 0, _extreme(Bound(1))),
        ({**note, "edges": []}, "1", 0, _extreme(Bound(1))),
        ({**note, "edges": {_EDGE: []}}, "1", 0, _extreme(Bound(1))),
        ({**note, "edges": {_EDGE: {}}}, "1", 0, _extreme(Bound(1))),
        ({**note, "edges": {_EDGE: [[0]]}}, "1", 0, _extreme(Bound(1))),
        ({**note, "edges": {_EDGE: [[0, -1]]}}, "1", 0, _extreme(Bound(1))),
        ({**note, "edges": {_EDGE: [[-1, 1]]}}, "1", 0, _extreme(Bound(1))),
        ({**note, "upper": "x"}, "1", 0, _extreme(Bound(1))),
        ({**note, "upper": None}, "1", 0, _extreme(Bound(1))),
    ):
        told = acc.charge_loss(other, edge=_EDGE, epsilon=Fraction(epsilon), delta=Fraction(delta))
        found = _against(told, *due)
        fault = fault or (found and f"{other}, charged {epsilon} and {delta}: {found}")
    return fault or _several_fault(note, law)


def _several_fault(note: dict[str, Any], law: tuple[Law, Law]) -> str:
    """One charge of several answers: each by its own note, or none is believed."""
    one, three = {"x": Fraction(2), _EDGE: Fraction(1)}, {_EDGE: Fraction(3)}
    made: Any = acc.several_note([(note, one), ({}, three)])
    split = _pair(law, _extreme(Bound(3)))
    whole = _extreme(Bound(4))
    if acc.several_note([({}, one), ({}, three)]) or not acc.several_note([({}, one), (note, one)]):
        return "a note of nothing, or nothing of a note"

    def other(**parts: Any) -> dict[str, Any]:
        first, second = made["parts"]
        return {**made, "parts": [{**first, **parts}, second]}

    def parts(*charged: str) -> dict[str, Any]:
        notes = [note if one == "1" else {} for one in charged]
        held = zip(notes, charged, strict=True)
        return {**made, "parts": [{"note": n, "epsilon": {_EDGE: e}} for n, e in held]}

    nested = other(note=acc.several_note([(note, one)]))
    for told, epsilon, delta, due in (
        (made, 4, 0, split),
        (made, 4, "1/8", _extreme(Bound(4, "1/8"))),
        (made, 5, 0, _extreme(Bound(5))),
        ({**made, "version": 2}, 4, 0, whole),
        ({**made, "kind": "counts"}, 4, 0, whole),
        ({**made, "parts": []}, 4, 0, whole),
        ({**made, "parts": {}}, 4, 0, whole),
        ({**made, "parts": [1]}, 4, 0, whole),
        ({**made, "parts": [{}]}, 4, 0, whole),
        (other(epsilon={}), 4, 0, whole),
        (other(epsilon={_EDGE: "x"}), 4, 0, whole),
        (nested, 4, 0, whole),
        ({**made, "parts": nested["parts"][::-1]}, 4, 0, whole),
        (other(note=None), 4, 0, _pair(_extreme(Bound(1)), _extreme(Bound(3)))),
        (parts("1", "-1/2"), Fraction(1, 2), 0, _extreme(Bound("1/2"))),
        (parts("-1/2", "1"), Fraction(1, 2), 0, _extreme(Bound("1/2"))),
        (parts("1", "0"), 1, 0, law),
    ):
        loss = acc.charge_loss(told, edge=_EDGE, epsilon=Fraction(epsilon), delta=Fraction(delta))
        fault = _against(loss, *due)
        if fault:
            return f"{told}, charged {epsilon} and {delta}: {fault}"
    last = acc.charge_loss(other(), edge=_EDGE, epsilon=Fraction(4))
    return "" if last.delta("7/2") else "an answer with no note loses less than was charged"


class Charged(NamedTuple):
    """A charge as a ledger tells it."""

    epsilon: Mapping[str, Fraction]
    delta: Mapping[str, Fraction]
    detail: Mapping[str, object]


def _totals_fault() -> str:
    """Each edge by itself: added up, and tight at the δ asked for where that is less."""
    policy = policies.unbounded()
    leave, come = (edge.name for edge in policy.edges)
    tenth = Fraction(1, 10)
    counts = Counts(tenth, 2 * tenth)
    note = acc.noise_note(counts, {leave: _FALL, come: (Shift(rise=1, fall=0),)})
    noisy = Charged({leave: tenth, come: 2 * tenth}, {}, {NOTE: note})
    leaky = Charged({leave: Fraction(1), come: Fraction(2)}, {come: Fraction(1, 64)}, {})
    charges = [*[noisy] * 5, leaky, noisy, leaky]
    away = acc.counts_loss(counts, _FALL).times(6)
    back = acc.counts_loss(counts, Shift(rise=1, fall=0)).times(6)
    ones = {leave: acc.certain_loss(2), come: acc.bound_loss(Bound(2, "1/64")).times(2)}
    for delta in ("0", "1/1000000", "1/20"):
        total = acc.total_of(policy, charges, delta=delta)
        added = {e: (total.plain.epsilon[e], total.plain.delta.get(e, 0)) for e in (leave, come)}
        if total.charges != 8 or added != {
            leave: (Fraction(26, 10), 0),
            come: (Fraction(52, 10), Fraction(1, 32)),
        }:
            return f"{total.charges} charges are {added} in sum"
        for edge, own in ((leave, away), (come, back)):
            loss = own + ones[edge]
            plain = Bound(*added[edge])
            told = Bound(total.tight.epsilon[edge], total.tight.delta.get(edge, 0))
            least = loss.epsilon(delta)
            due = Bound(least, Fraction(delta)) if _worth(least, plain, Fraction(delta)) else plain
            close = not isinstance(due.epsilon, Infinite) and (
                abs(told.epsilon - due.epsilon) <= Fraction(1, 10**9)  # type: ignore[operator]
            )
            if told.delta != due.delta or not close:
                return f"{edge} at δ = {delta} is {told}, due {due}"
            if loss.delta(told.epsilon) > told.delta and told != plain:  # type: ignore[arg-type]
                return f"{edge} at δ = {delta} is {told}, which is too little"
    return _ends_fault(policy, leaky) or _edges_fault()


def _accounts_fault(*, back: bool = False) -> str:
    """One charge in each of two accounts, on each move of both: by the laws of its two edges.

    back: as if a move of the second account were its reverse.
    """
    held = [policies.sensitive("minor"), policies.sensitive("patient")]
    moved = {"sensitive -> open": 1, "sensitive -> sensitive": -1}  # falls by one, or rises
    rates = [(Fraction(1, 2), Fraction(2)), (Fraction(2), _ONE)]
    ledger, delta = Ledger.open(None), Fraction(1, 50)
    for policy, pair in zip(held, rates, strict=True):
        shifts = {e: [Shift(rise=max(0, -by), fall=max(0, by))] for e, by in moved.items()}
        epsilon = {e: pair[0] if by > 0 else pair[1] for e, by in moved.items()}
        account = ledger.account(
            policy_id=policy.identity,
            policy_toml=policy.to_toml(),
            policy_name=policy.name,
            budget=dict.fromkeys(moved, 9),
            further=True,
        )
        account.spend(epsilon, label="one", detail={NOTE: acc.noise_note(Counts(*pair), shifts)})
    both = held[0] & held[1]
    total = od.session.ledger_total(ledger, delta=delta)
    seen = 0
    for edge in both.edges:
        steps = [moved[step.name] for step in both.joins[edge]]
        steps[1] = -steps[1] if back else steps[1]
        laws = (_shifted(*pair, by) for pair, by in zip(rates, steps, strict=True))
        real, other = _pair(*laws)
        told = total.tight.epsilon[edge.name]
        for at, most in ((float(told), True), (float(told) - 1e-4, False)):  # type: ignore[arg-type]
            lost = float(np.maximum(0, real - math.exp(at) * other).sum())
            if (lost <= delta + _CLOSE) is not most:
                return f"δ at ε = {at:.4f} along {edge.name} is {lost:.6f}, told {float(delta)}"
        seen += 1
    return "" if seen > 1 else "no moves"


def _ends_fault(policy: Policy, leaky: Charged) -> str:
    """Sums of δ end at 1, nothing is gained of certain losses, and other edges are refused."""
    leave, come = (edge.name for edge in policy.edges)
    many = acc.total_of(policy, [leaky] * 80, delta=0).plain
    if many.delta[come] != 1 or many.delta.get(leave):
        return f"δ adds up to {many.delta}"
    one = Charged({leave: Fraction(1), come: Fraction(1)}, {}, {})
    certain = acc.total_of(policy, [one] * 9, delta="1/1000").tight
    if set(certain.epsilon.values()) != {Fraction(9)} or certain.delta:
        return f"losses that are certain are {certain}"
    for wrong in ({leave: Fraction(1)}, {leave: Fraction(1), come: Fraction(1), "x": Fraction(1)}):
        try:
            acc.total_of(policy, [Charged(wrong, {}, {})], delta=0)
        except PolicyError:
            continue
        return f"a charge on {', '.join(wrong)} is added up"
    return ""


def _worth(least: Loss, plain: Bound, delta: Fraction) -> bool:
    if isinstance(least, Infinite):
        return False
    return plain.delta > delta or plain.epsilon * Fraction(999, 1000) > least


def _edges_fault() -> str:
    """Each edge by its own releases; each one named, and no other."""
    policy = policies.unbounded()
    leave, come = (edge.name for edge in policy.edges)
    own = {leave: [acc.certain_loss(1)], come: [acc.certain_loss(2), acc.certain_loss(3)]}
    told = acc.tight_guarantee(policy, own, delta=0)
    if dict(told.epsilon) != {leave: 1, come: 5} or any(told.delta.values()):
        return f"{told} of three releases"
    leaky = {**own, come: [acc.bound_loss(Bound(1, "1/4"))]}
    least = acc.tight_guarantee(policy, leaky, delta="1/8")
    if least.epsilon[come] != INFINITE or least.delta.get(leave) != Fraction(1, 8):
        return f"{least} of a release that leaks more than δ"
    for wrong in ({leave: own[leave]}, {**own, "x": []}):
        try:
            acc.tight_guarantee(policy, wrong, delta=0)
        except (PolicyError, ParameterError):
            continue
        return f"a total of losses along {', '.join(wrong)}"
    return ""
