"""Every sampler, each with a control that is off by very little and must be seen."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR

from onesided.mechanism.kit import KeyedCoins
from onesided.noise import (
    DiscreteGaussian,
    IntArray,
    KeyedNoise,
    NotPrivateSeededNoise,
    TwoSidedGeometric,
)
from onesided.noise.kit import PartNoise, new_secret
from onesided.numbers import INFINITE
from onesided.verify import paths
from onesided_proofs.checks._samplers import (
    Sampled,
    coin_fault,
    dealt_fault,
    exp_neg,
    geometric_fault,
    levels_of,
    order_fault,
    pairs_fault,
    ratio,
    scaled_fault,
    successes_fault,
    uniform_fault,
    upto,
)

_RATES: Final = tuple(map(Fraction, ("1", "10", "1/10", "1/100", "1/5000")))
_TINY: Final = Fraction(1, 2**170)
_THIRD: Final = Fraction(1, 3)
_LEAST: Final = 1e-6
_MANY: Final = 100_000
_FAR: Final = 2**10


def sampler_checks() -> Iterator[Sampled]:
    """The exact ones first; then those by laws, from fixed seeds; then what is said of the laws."""
    name = "samplers, word by word"
    yield Sampled(name, "geometric", _first(geometric_fault(rate) for rate in _RATES))
    wrong = geometric_fault(Fraction(1), Fraction(1) + _TINY)
    yield Sampled(name, "geometric, the rate wrong by 2^-170", wrong, sound=False)
    yield Sampled(name, "geometric, two at a time", _first(pairs_fault(rate) for rate in _RATES))
    wrong = pairs_fault(Fraction(1, 10), Fraction(1, 10) + _TINY)
    yield Sampled(name, "two at a time, the rate wrong by 2^-170", wrong, sound=False)
    coins = [coin_fault(ratio(_THIRD), lambda noise, size: noise.bernoulli(_THIRD, size))]
    coins += [_exp_fault(Fraction(rate)) for rate in ("1", "1/100", "3")]
    yield Sampled(name, "coins", _first(coins))
    wrong = coin_fault(ratio(_THIRD), lambda noise, size: noise.bernoulli(_THIRD + _TINY, size))
    yield Sampled(name, "coins, the chance wrong by 2^-170", wrong, sound=False)
    heads = ((3, "1"), (12, "1/2"), (500, "6"), (10**6, "14"))
    yield Sampled(name, "heads", _first(successes_fault(n, Fraction(rate)) for n, rate in heads))
    wrong = successes_fault(12, Fraction(1), Fraction(1) + _TINY)
    yield Sampled(name, "heads, the rate wrong by 2^-170", wrong, sound=False)
    bounds = (1, 2, 5, 8, 1000, 3 * 2**40 + 1, 2**62)
    right = (
        uniform_fault(n, lambda noise, below, size: noise.uniform(below, size)) for n in bounds
    )
    yield Sampled(name, "whole numbers", _first(right))
    wrong = uniform_fault(5, lambda noise, below, size: noise.uniform(8, size) % below)
    yield Sampled(name, "whole numbers, by remainders", wrong, sound=False)
    ever = (3, 8, 1000, 1500, 2**11 + 1, 10**6, 2**27)
    right = (scaled_fault(n, lambda noise, below, size: noise.uniform(below, size)) for n in ever)
    yield Sampled(name, "very many whole numbers", _first(right))
    wrong = scaled_fault(1000, lambda noise, below, size: noise.uniform(2**11, size) % below)
    yield Sampled(name, "very many whole numbers, by remainders", wrong, sound=False)
    orders = (
        order_fault(n, lambda noise, size: noise.permutation(size)) for n in (2, 9, 1024, 1500)
    )
    dealt = (
        dealt_fault(n, lambda noise, size: noise.permutation(size)) for n in (2**15 + 1, 300_000)
    )
    yield Sampled(name, "orders", _first((*orders, *dealt)))
    wrong = order_fault(9, lambda noise, size: np.argsort(noise.uniform(8, size), kind="stable"))
    yield Sampled(name, "orders, ties left as they are", wrong, sound=False)
    yield from _keyed()
    yield from _by_law()
    yield from _said()


def _exp_fault(rate: Fraction) -> str:
    return coin_fault(exp_neg(rate), lambda noise, size: noise.bernoulli_exp(rate, size))


def _first(faults: Any) -> str:
    return next((fault for fault in faults if fault), "")


def _keyed() -> Iterator[Sampled]:
    """Noise of a key and a place, and of a part, from AES and HMAC by their standards."""
    name, key = "samplers, from keys", bytes(range(32))
    places = np.array([0, 1, 5, 2**40, *range(100, 140)], dtype=np.int64)

    def fault(moved: int) -> str:
        noise = KeyedNoise(key)
        for rate in (Fraction(1), Fraction(1, 100)):
            expected = [_keyed_draw(key, rate, place) for place in places.tolist()]
            if noise.geometric(rate, places + moved).tolist() != expected:
                return f"other draws at {rate} than those of the keystream"
        return ""

    yield Sampled(name, "KeyedNoise", fault(0))
    yield Sampled(name, "KeyedNoise, one place on", fault(1), sound=False)
    yield Sampled(name, "KeyedCoins", _coins_fault(0))
    yield Sampled(name, "KeyedCoins, a month on", _coins_fault(1), sound=False)
    for subject, part, sound in (("PartNoise", 2, True), ("PartNoise, another part", 3, False)):
        secret = new_secret(NotPrivateSeededNoise(1))
        drawn = PartNoise(secret, part=part, parts=4).uniform(2**62, 3).tolist()
        words = np.frombuffer(_part_stream(secret, 2, 4), dtype="<u8")
        same = drawn == [int(word) >> 2 for word in words if int(word) >> 2 < 2**62][:3]
        yield Sampled(
            name, subject, "" if same else "other bits than HKDF and AES give", sound=sound
        )


def _coins_fault(moved: int) -> str:
    """Chances beside the number that BLAKE2b gives, and just it; then its next block decides."""
    key, whole = bytes(range(32)), 2**512
    for unit, month in ((b"ann", 1), (b"bob", 1), (b"bob", 2), (b"cyd", 3)):
        number, after = (_coin(key, b"leaves", unit, month, block) for block in (0, 1))
        for far, due in (
            (Fraction(0), False),
            (Fraction(1), True),
            (Fraction(after, whole), False),
            (Fraction(after + 1, whole), True),
        ):
            coins = KeyedCoins(key)
            told = [coins.leaves((number + far) / whole, unit, month + moved) for _ in range(2)]
            if told != [due, due]:
                return f"{unit!r} leaves in month {month} at its chance and {far}: {told}"
        for rate in map(Fraction, ("1/10", "1", "3")):
            due = _coin(key, b"keeps", unit, 0, 0) / whole < 1 - float(exp_neg(rate))
            if KeyedCoins(key).keeps(rate, unit) != due:
                return f"{unit!r} is not kept as its number says"
        if KeyedCoins(key).mark(unit) != _digest(key, b"unit", unit, 0, 0)[:16]:
            return f"{unit!r} has another mark"
    return ""


def _coin(key: bytes, use: bytes, unit: bytes, month: int, block: int) -> int:
    return int.from_bytes(_digest(key, use, unit, month, block), "big")


def _digest(key: bytes, use: bytes, unit: bytes, month: int, block: int) -> bytes:
    salt = month.to_bytes(8, "big") + block.to_bytes(8, "big")
    return hashlib.blake2b(unit, key=key, person=use, salt=salt).digest()


def _keyed_draw(key: bytes, rate: Fraction, place: int) -> int:
    total = 0
    for table, (own, span, shift) in enumerate(levels_of(rate)):
        start = (table << 112) + place
        block = Cipher(AES256(key), CTR(start.to_bytes(16, "big"))).encryptor().update(bytes(16))
        chance = int.from_bytes(block[:8], "little") / 2**64
        k = 0
        while upto(own, k, span) <= chance:
            k += 1
        total += k << shift
    return total


def _part_stream(secret: bytes, part: int, parts: int) -> bytes:
    info = b"onesided part of a sample, version 1"
    info += b"".join(n.to_bytes(8, "big") for n in (part, parts, 0))
    extracted = hmac.new(bytes(32), secret, hashlib.sha256).digest()
    key = hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()
    return Cipher(AES256(key), CTR(bytes(16))).encryptor().update(bytes(64))


def _by_law() -> Iterator[Sampled]:
    """From fixed seeds, by chi-square: what has no words to choose."""
    name = "samplers, by their law"
    flips = [
        ("1/2", (0, 1, 3), (1, 2, 5)),
        ("1", (0, 2, 5), (3, 40, 150)),
        ("1/100", (0, 50, 200), (1, 60, 130)),
    ]
    yield Sampled(name, "permute and flip", _first(_flip_fault(*one) for one in flips))
    ever = NotPrivateSeededNoise(3)
    best = {ever.permute_and_flip(INFINITE, np.array([2, 0, 1]), np.ones(3, int)) for _ in range(9)}
    yield Sampled(name, "permute and flip, no noise", "" if best == {1} else f"{best} come")
    wrong = _flip_fault("1", (0, 2, 5), (3, 40, 150), drawn="9/10")
    yield Sampled(name, "permute and flip, the rate wrong by a tenth", wrong, sound=False)
    yield Sampled(name, "permute and flip, side by side", _side_by_side_fault(Fraction(1, 2)))
    wrong = _side_by_side_fault(Fraction(2, 5))
    yield Sampled(name, "side by side, the rate wrong by a fifth", wrong, sound=False)
    variances = (Fraction(1, 4), Fraction(1), Fraction(30), Fraction(10**6))
    yield Sampled(name, "Gaussian noise", _first(map(_gaussian_fault, variances)))
    few = _first(_gaussian_fault(Fraction(3), at_once=many) for many in (1, 5, 40))
    yield Sampled(name, "Gaussian noise, few at a time", few)
    wrong = _gaussian_fault(Fraction(30), Fraction(27))
    yield Sampled(name, "Gaussian noise, the variance wrong by a tenth", wrong, sound=False)
    yield Sampled(name, "a long order", _order_law(lambda noise, n: noise.permutation(n)))
    wrong = _order_law(lambda noise, n: np.argsort(noise.uniform(8, n), kind="stable"))
    yield Sampled(name, "a long order, dealt and not sorted", wrong, sound=False)
    yield Sampled(name, "a rate for each draw", _first((_each_fault(), _each_fault(listed=True))))
    yield Sampled(
        name, "a rate for each draw, one wrong", _each_fault("6/5", listed=True), sound=False
    )


def _flip_fault(
    rate: str, deficits: tuple[int, ...], sizes: tuple[int, ...], drawn: str = ""
) -> str:
    noise, given = NotPrivateSeededNoise(3), (np.array(deficits), np.array(sizes))
    expected, found = np.zeros(len(sizes)), np.zeros(len(sizes))
    for group, chance in paths(lambda each: each.permute_and_flip(rate, *given), tail=1e-12):
        expected[group] = chance * 1000
    for _ in range(1000):
        found[noise.permute_and_flip(drawn or rate, *given)] += 1
    return _told(found, expected, f"groups come {found.tolist()} times")


def _side_by_side_fault(drawn: Fraction) -> str:
    """Draws of three kinds by turns: few items, many, and more than are ever listed.

    Of a group's items each comes as often as the next.
    """
    given = ((0, 1, 3), (1, 2, 5)), ((2, 0, 5), (3, 40, 150)), ((0, 70), (2, 2**50))
    turns, noise = 1500, NotPrivateSeededNoise(4)
    deficits, sizes = (np.tile([n for kind in given for n in kind[at]], turns) for at in (0, 1))
    ends = np.cumsum([len(kind[0]) for kind in given] * turns)
    groups, items = noise.permute_and_flip_each(drawn, deficits, sizes, ends)
    starts = np.concatenate([[0], ends[:-1]])
    for at, kind in enumerate(given):
        own, many = (groups - starts)[at::3], np.array(kind[1])
        place, expected = items[at::3], _taken(kind) * turns
        fault = _told(np.bincount(own, minlength=many.size), expected, f"groups of {kind}")
        for group, size in enumerate(kind[1]):
            part = place[own == group]
            cells = np.bincount(part * min(size, 8) // size, minlength=min(size, 8))
            even = np.diff(-(-np.arange(min(size, 8) + 1) * size // min(size, 8))) / size
            fault = fault or _told(cells, even * part.size, f"items of group {group} of {kind}")
        if fault:
            return fault
    return ""


def _taken(kind: tuple[tuple[int, ...], tuple[int, ...]]) -> Any:
    """How often each group is taken at the rate 1/2: of all accepted each is as likely.

    Of an item with K accepted beside it that is ``p E[1 / (1 + K)]``, p times the integral over
    t from 0 to 1 of all others' ``1 - t p``.
    """
    nodes, weights = np.polynomial.legendre.leggauss(400)
    chances, sizes = np.exp(-np.array(kind[0]) / 2)[:, None], np.array(kind[1])[:, None]
    logs = np.log1p(-chances * (nodes + 1) / 2)
    return sizes[:, 0] * chances[:, 0] * (np.exp((sizes * logs).sum(axis=0) - logs) @ weights) / 2


def _gaussian_fault(
    variance: Fraction, drawn: Fraction | None = None, *, at_once: int = _MANY
) -> str:
    """Twenty cells of half a deviation each, against sums of the law itself."""
    noise, turns = NotPrivateSeededNoise(9), max(1, min(1500, _MANY // at_once))
    found = np.concatenate([noise.gaussian(drawn or variance, at_once) for _ in range(turns)])
    reach = np.arange(-int(9 * variance**0.5) - 9, int(9 * variance**0.5) + 10)
    chances = np.exp(-(reach**2) / (2 * float(variance)))
    edges = np.unique(np.round(np.arange(-10, 11) / 4 * float(variance) ** 0.5)) + 0.5
    expected = np.bincount(np.searchsorted(edges, reach), weights=chances / chances.sum())
    expected *= found.size
    seen = np.bincount(np.searchsorted(edges, found), minlength=expected.size)
    return _told(seen, expected, f"at {variance}: {seen.tolist()}")


def _told(found: Any, expected: Any, words: str) -> str:
    """Six deviations and more of any cell are no chance; nothing that may be missing is there."""
    off = np.abs(found - expected) > 5 * np.sqrt(expected) + 1e-9
    return words if off.any() else ""


def _order_law(order: Callable[[Any, int], IntArray]) -> str:
    """Where the items of each eighth come to stand, and which of two neighbours comes first."""
    length, counts, turned = 70_000, np.zeros((8, 8)), 0
    found = order(NotPrivateSeededNoise(5), length)
    if not np.array_equal(np.sort(found), np.arange(length)):
        return "not every item comes once"
    np.add.at(counts, (found * 8 // length, np.arange(length) * 8 // length), 1)
    turned = int((np.diff(found) < 0).sum())
    halves = _told(np.array([turned]), np.array([length / 2]), f"{turned} of {length} fall")
    return halves or _told(counts, np.full((8, 8), length / 64), "eighths are not mixed")


def _each_fault(other: str = "1", *, listed: bool = False) -> str:
    rates: Any = [Fraction(1, 2), Fraction(1), INFINITE] * 4000
    drawn: Any = [Fraction(1, 2), Fraction(other), INFINITE] * 4000
    noise = NotPrivateSeededNoise(7)
    if not listed:
        rates = drawn = np.array([0.5, 1.0] * 6000)
    found = noise.two_sided(drawn, drawn, len(drawn))
    for rate in dict.fromkeys(rates.tolist() if isinstance(rates, np.ndarray) else rates):
        own = found[[one == rate for one in rates]]
        law = TwoSidedGeometric(rate, rate)
        values = np.arange(-3, 4)
        expected = np.array([law.pmf(int(k)) for k in values]) * len(own)
        seen = np.array([(own == k).sum() for k in values])
        if fault := _told(seen, expected, f"at {rate}: {seen.tolist()}"):
            return fault
    return ""


def _said() -> Iterator[Sampled]:
    """Tails, quantiles, means and variances, against sums of the law itself."""
    pairs: tuple[tuple[Any, Any], ...] = ((1, 2), ("1/3", INFINITE), (INFINITE, "1/2"), ("1/4", 1))
    laws = [TwoSidedGeometric(*pair) for pair in pairs]
    name = "what is said of noise"
    yield Sampled(name, "tails, quantiles, mean and variance", _first(map(_law_fault, laws)))
    wrong = _law_fault(TwoSidedGeometric(1, 2), TwoSidedGeometric(1, "2.00001"))
    yield Sampled(name, "those of another rate", wrong, sound=False)
    variances = (Fraction(1, 3), Fraction(2), Fraction(500), Fraction(5000))
    yield Sampled(name, "those of Gaussian noise", _first(map(_said_fault, variances)))
    wrong = _said_fault(Fraction(500), Fraction(499))
    yield Sampled(name, "those of Gaussian noise, another variance", wrong, sound=False)


def _said_fault(variance: Fraction, told: Fraction | None = None) -> str:
    """Variance and quantiles: exact up to σ² = 2^10, beyond it at most two values above."""
    said, size = DiscreteGaussian(told or variance), float(variance)
    reach = np.arange(-int(40 * size**0.5) - 9, int(40 * size**0.5) + 10)
    chances = np.exp(-(reach**2) / (2 * size))
    chances /= chances.sum()
    if abs(said.variance() - float((reach**2) @ chances)) > _LEAST * size:
        return f"variance {said.variance():.6f} at {variance}"
    above = chances.sum() - np.cumsum(chances)
    if said.median() != 0 or {said.upper, said.lower} != {1 / variance}:
        return f"sides {said.upper} and {said.lower} of variance {variance}"
    for k, chance in zip(reach.tolist(), above.tolist(), strict=True):
        if 0 <= k < 9 and size < _FAR and abs(float(said.tail_above(k)) - chance) > 1e-12:
            return f"more than {k} has {float(said.tail_above(k))} at {variance}, due {chance}"
    for share in (Fraction(1, 2), Fraction(9, 10), Fraction(39, 40), 1 - Fraction(1, 10**9)):
        least = int(reach[np.flatnonzero(above <= float(1 - share) + 1e-15)[0]])
        upper = said.quantile_upper(share)
        wide = 2 if variance > _FAR else 0
        if (
            upper is None
            or not least <= upper <= least + wide
            or said.quantile_lower(share) != -upper
        ):
            return f"quantiles at {share} of variance {variance}: {upper}, due {least}"
    return ""


def _law_fault(law: TwoSidedGeometric, told: TwoSidedGeometric | None = None) -> str:
    said = law if told is None else told
    chances = _chances(law)
    values = sorted(chances)
    mean = sum(k * chances[k] for k in values)
    spread = sum((k - mean) ** 2 * chances[k] for k in values)
    if abs(said.mean() - mean) > _LEAST or abs(said.variance() - spread) > _LEAST:
        return f"mean {said.mean():.6f} and variance {said.variance():.6f} of {law}"
    for k in (-4, -2, -1, 0, 1, 3):
        above = sum(chances[n] for n in values if n > k)
        below = sum(chances[n] for n in values if n < k)
        parts = (
            (said.tail_above(k), above),
            (said.tail_below(k), below),
            (said.pmf(k), chances.get(k, 0.0)),
        )
        if any(abs(float(one) - two) > 1e-9 for one, two in parts):
            return f"tails at {k} of {law}"
    for share in (Fraction(1, 2), Fraction(9, 10), Fraction(999, 1000)):
        upper = next(k for k in values if _above(chances, k) <= 1 - share)
        lower = next(k for k in reversed(values) if _above(chances, k, -1) <= 1 - share)
        if (said.quantile_upper(share), said.quantile_lower(share)) != (upper, lower):
            return f"quantiles at {share} of {law}"
    return (
        "" if said.median() == next(k for k in values if _above(chances, k) <= _HALF) else "median"
    )


_HALF: Final = Fraction(1, 2)


def _chances(law: TwoSidedGeometric) -> dict[int, float]:
    """By adding up over both geometrics, far enough."""
    one, two = (_geometric(rate) for rate in (law.upper, law.lower))
    found = np.convolve(one, two[::-1])
    return {k - len(two) + 1: float(chance) for k, chance in enumerate(found)}


def _geometric(rate: Any) -> Any:
    if rate == INFINITE:
        return np.array([1.0])
    powers = np.exp(-float(rate) * np.arange(200))
    return powers * -np.expm1(-float(rate))


def _above(chances: dict[int, float], k: int, side: int = 1) -> float:
    return sum(chance for n, chance in chances.items() if side * n > side * k)
