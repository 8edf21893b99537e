"""Noise on one side, samples under it, truncated counts and staircases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided.mechanism import (
    AGeo,
    ALap,
    AtMost,
    Counts,
    SparseVector,
    Staircase,
    Subsampled,
    TopK,
    TruncatedCounts,
)
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE
from onesided.policy import GroupCount, Policy, Record, Shift
from onesided.verify import Data, Line, Universe, in_place_of, losses_of, program, shipped
from onesided_proofs._worlds import wrong

_ONE, _TWO = GroupCount(max_groups=1), GroupCount(max_groups=2)
_A = Universe(groups=("a",), units=3)
_AB = Universe(max_groups=1)
_PAIR = Universe(units=1)
_VALUES: Final = Universe(
    units=2, values=(Record("absent"), *(Record("record", value) for value in range(4)))
)
_ADDED, _REMOVED, _BOTH = policies.addition_only(), policies.removal_only(), policies.unbounded()
_MET = "δ is met exactly"
_SAFE = "more noise than is needed"


def cases() -> Iterator[Line]:
    """The sound first."""
    # Propositions 3 and 4 for the sum of values 0 .. 3: `max_groups` is the sensitivity.
    for policy, side in ((_ADDED, "above"), (_REMOVED, "below"), (_BOTH, "both sides")):
        counts = Counts.for_policy(policy, epsilon=2, max_groups=3)
        steps = ALap.for_policy(policy, epsilon=2, largest=3, grid=1)
        for name, mechanism in (("Counts", counts), ("ALap", steps)):
            told = f"{name} (sum of 0 to 3, noise {side})"
            yield program(told, Sum(mechanism), policy, 2, universe=_VALUES)
    unbiased = Counts.for_policy(_ADDED, epsilon=2, max_groups=3, correction="mean")
    yield program("Counts (sum, unbiased)", Sum(unbiased), _ADDED, 2, universe=_VALUES)
    yield from _samples()
    # Units in two groups, each kept whole or dropped whole.
    whole = Subsampled.for_policy(_BOTH, epsilon=2, max_groups=2)
    yield _of_units(whole, _BOTH, "come and go", epsilon=2)
    presence = policies.presence(max_groups=2)
    partly = Subsampled(Counts(1, INFINITE), keep_rate=1, max_groups=2)
    yield _of_units(partly, presence, "leave a group")
    yield _of_units(partly, _BOTH, "not said to be whole")
    yield _of_units(partly, policies.bounded(), "change", loose="two groups at once")
    yield from _truncated()
    yield from _stairs()
    yield from _broken_samples()
    yield from _broken_units()
    yield from _broken_truncated()
    right = Staircase(2, largest=3, first=2)
    for run, flaw, seen in (
        (narrow_stairs, "stairs narrower than the largest value", "a range less one"),
        (rising_stairs, "rising within a turn", "Pr[k] compared with one turn later only"),
        (whole_turns, "tells the remainder of the sum", "noise in whole multiples only"),
        (rate_of_counts, "ε where ε over the largest value is due", "sensitivity forgotten"),
    ):
        claim = program("Staircase", Sum(wrong(run, right=right)), _ADDED, 2)
        yield Line(
            claim.name, _ADDED, claim.program, claim.claims, universe=_VALUES, flaw=flaw, seen=seen
        )


def _samples() -> Iterator[Line]:
    for epsilon in ("1/2", 1, 2):
        mechanism = Subsampled.for_policy(_BOTH, epsilon=epsilon)
        name = f"Subsampled (ε = {epsilon})"
        yield shipped(mechanism, _BOTH, _ONE, universe=_A, name=name, epsilon=epsilon)
    both = Subsampled.for_policy(policies.bounded(), epsilon=2)
    name = "Subsampled (replaced)"
    yield shipped(both, policies.bounded(), _ONE, universe=_AB, name=name, epsilon=2)
    unbiased = Subsampled.for_policy(_BOTH, epsilon=1, correction="mean")
    name = "Subsampled (unbiased)"
    yield shipped(unbiased, _BOTH, _ONE, universe=_A, name=name, epsilon=1)
    clear = Subsampled(Counts(INFINITE, INFINITE), keep_rate=1)
    yield shipped(clear, _REMOVED, _ONE, universe=_AB, name="Subsampled (in the clear, Thm 5)")
    laplace = Subsampled(Counts(1, 1), keep_rate=1)
    yield shipped(laplace, _BOTH, _ONE, universe=_A, name="Subsampled (two-sided inside)")
    for keep in ("1/2", 2):
        unbalanced = Subsampled(Counts(2, INFINITE), keep_rate=keep)
        yield shipped(unbalanced, _BOTH, _ONE, universe=_A, name=f"Subsampled (keep {keep})")
    for inner in (
        AtMost(1, upper_rate=2),
        TopK(1, upper_rate=2),
        SparseVector(0, upper_rate=2, max_answers=1),
        AGeo(2, INFINITE, most=3),
    ):
        decided = Subsampled(inner, keep_rate=1)
        name = f"Subsampled ({type(inner).__name__} inside)"
        yield shipped(decided, _BOTH, _ONE, universe=_AB, name=name)
    ends = Subsampled(TruncatedCounts(1, width=2), keep_rate=1)
    name, met = "Subsampled (truncated inside)", float(ends.delta(Shift(rise=0, fall=1)))
    yield shipped(ends, _BOTH, _ONE, universe=_A, name=name, delta=met, loose=_MET)
    careful = Subsampled(Counts(1, INFINITE), keep_rate=1)
    name, claims = "Subsampled (rate ε, not ln(1 + e^ε))", dict.fromkeys(_BOTH.edges, Fraction(1))
    yield Line(name, _BOTH, careful, claims, query=_ONE, universe=_A, loose=_SAFE)


def _of_units(mechanism: Subsampled, policy: Policy, what: str, **options: Any) -> Line:
    claims = losses_of(mechanism, policy, _TWO)
    run = Units(mechanism)
    name = f"Subsampled (units {what})"
    options = {"loose": "the worst shift is not met", **options}
    return Line(name, policy, run, claims, query=_TWO, universe=Universe(), **options)


def _truncated() -> Iterator[Line]:
    for policy, query, world in (
        (_ADDED, _ONE, _A),
        (policies.presence(max_groups=1), GroupCount(), Universe()),
        (policies.presence(max_groups=2), GroupCount(), _PAIR),
    ):
        mechanism = TruncatedCounts.for_policy(
            policy, epsilon=1, delta="0.05", max_groups=query.max_groups
        )
        yield shipped(
            mechanism, policy, query, universe=world, delta=_delta(mechanism, policy, query),
            loose=_MET, epsilon=1,
        )  # fmt: skip
    sums = TruncatedCounts("1/2", width=5, per_key=3)
    told: dict[str, Any] = {"delta": float(sums.delta(Shift(rise=0, fall=3))), "loose": _MET}
    name, run = "TruncatedCounts (sum of 0 to 3)", Sum(sums)
    yield program(name, run, _ADDED, "3/2", universe=_VALUES, **told)


def _stairs() -> Iterator[Line]:
    for first in (None, 1, 3):
        mechanism = Staircase(2, largest=3, first=first)
        name = f"Staircase (first stair {mechanism.first})"
        yield program(name, Sum(mechanism), _ADDED, 2, universe=_VALUES)
        yield shipped(mechanism, _ADDED, _ONE, universe=_A, name=name)
    wide = Staircase.for_policy(_ADDED, epsilon=4, largest=2, max_groups=2)
    name = "Staircase (two sums)"
    yield shipped(wide, _ADDED, _TWO, universe=_PAIR, name=name, epsilon=4)
    steep = Staircase(1, largest=2)
    yield program("Staircase (falls by two stairs)", Sum(steep), _ADDED, 2, universe=_VALUES)


def _broken_samples() -> Iterator[Line]:
    right = Subsampled.for_policy(_BOTH, epsilon=1)
    low, lowest = (Subsampled.for_policy(_BOTH, epsilon=e) for e in ("1/2", "1/4"))
    inner, eq3 = right.mechanism, "one-sided note, equation (3), misread"
    # 1 / ln(1 + e^(1/4)), to three digits.
    scale = Subsampled(Counts("1.21", INFINITE), keep_rate="1/4")
    for claimed, other, flaw, seen in (
        (right, inner, "no sample at all", "the sampling step skipped in a test"),
        (right, Subsampled(Counts(2, INFINITE), keep_rate=1), "rate 2ε for ln(1 + e^ε)", eq3),
        (lowest, scale, "ln(1 + e^ε) taken for the scale, not the rate", eq3),
        (right, Subsampled(inner, keep_rate=2), "kept with 1 - e^-2ε", eq3),
        (low, wrong(swapped_share, right=low), "kept with e^-ε, not 1 - e^-ε", eq3),
        (right, wrong(one_coin, right=right), "one coin for all units", "a hoisted draw"),
        (right, wrong(rounded_share, right=right), "a share of the count, no coins", "a short cut"),
        (right, wrong(told_size, right=right), "tells the size of the sample", "debug output"),
        (right, wrong(exact_rescaled, right=right), "rescaled by the true count", "debiasing"),
    ):
        yield in_place_of(claimed, other, _BOTH, flaw, seen, query=_ONE, universe=_A)
    clear = Subsampled(Counts(INFINITE, INFINITE), keep_rate=1)
    claimed = Subsampled(Counts(1, INFINITE), keep_rate=1)
    flaw, seen = "a sample in the clear, sold as addition-only", "one-sided note, Theorem 5: fishy"
    yield in_place_of(claimed, clear, _ADDED, flaw, seen, query=_ONE, universe=_A)


def _broken_units() -> Iterator[Line]:
    whole = Subsampled.for_policy(_BOTH, epsilon=1, max_groups=2)
    coins = partial(coin_per_group, right=whole)
    one = Subsampled.for_policy(_BOTH, epsilon=1)
    full = Subsampled(one.mechanism, keep_rate=one.keep_rate, max_groups=2)
    for right, run, flaw, seen in (
        (whole, coins, "a coin for each group of a unit", "columns sampled one by one"),
        (whole, Units(full), "the rate of one group for two", "max_groups forgotten"),
    ):
        yield in_place_of(right, run, _BOTH, flaw, seen, query=_TWO, universe=_PAIR)


def _broken_truncated() -> Iterator[Line]:
    one, two = policies.presence(max_groups=1), policies.presence(max_groups=2)
    right = TruncatedCounts(1, width=3)
    for run, flaw, seen in (
        (one_narrower, "narrower by one than it says", "remainder by the width"),
        (cut_at_top, "the tail piled up at the end", "numpy.minimum"),
        (noise_shown, "tells when the noise is at its end", "a validity flag"),
    ):
        other, met = wrong(run, right=right), _delta(right, one, GroupCount())
        yield in_place_of(right, other, one, flaw, seen, query=GroupCount(), delta=met)
    flaw, seen = "δ of one count, where a unit is in two", "δ taken from the formula for one count"
    about: dict[str, Any] = {"query": GroupCount(), "universe": _PAIR}
    met = _delta(right, one, GroupCount())
    yield in_place_of(right, right, two, flaw, seen, delta=met, **about)


def _delta(mechanism: TruncatedCounts, policy: Policy, query: GroupCount) -> float:
    return max(
        float(mechanism.delta(shift))
        for shifts in policy.shifts(query).values()
        for shift in shifts
    )


GROUPS = ("a", "b")


@dataclass(frozen=True, slots=True)
class Units:
    """Right: runs a mechanism on the units themselves, a row of 0s and 1s for each."""

    mechanism: Any

    def __call__(self, data: Data, noise: Noise) -> Any:
        """What the mechanism says of these units."""
        return self.mechanism.release(table(data), noise=noise)


@dataclass(frozen=True, slots=True)
class Sum:
    """Right: the sum of whole values, one in each record, by any mechanism for counts."""

    mechanism: Any

    def __call__(self, data: Data, noise: Noise) -> Any:
        """The noisy sum."""
        total = sum((int(record.value) if isinstance(record.value, int) else 0) for record in data)
        return self.mechanism.release(np.array([total]), noise=noise)


def table(data: Data) -> IntArray:
    """A row for each record that is there, a column for each group."""
    rows = [[int(group in record.value) for group in GROUPS] for record in data]  # type: ignore[operator]
    return np.array(rows, dtype=np.int64).reshape(len(data), len(GROUPS))


def swapped_share(values: IntArray, noise: Noise, *, right: Subsampled) -> Any:
    """Keeps what should be dropped: each with e^-ε, not 1 - e^-ε."""
    kept = [int(noise.bernoulli_exp(right.keep_rate, int(n)).sum()) for n in values]
    return right.mechanism.release(kept, noise=noise)


def one_coin(values: IntArray, noise: Noise, *, right: Subsampled) -> Any:
    """One coin for all units: all are kept, or none."""
    dropped = bool(noise.bernoulli_exp(right.keep_rate, 1)[0])
    return right.mechanism.release(values * (not dropped), noise=noise)


def rounded_share(values: IntArray, noise: Noise, *, right: Subsampled) -> Any:
    """As many units as would be kept on average, rounded: no coin at all."""
    return right.mechanism.release((values * right.share).round().astype(int), noise=noise)


def told_size(values: IntArray, noise: Noise, *, right: Subsampled) -> Any:
    """Tells the size of the sample besides."""
    kept = right.sample(values, noise=noise)
    return int(kept.sum()), right.mechanism.release(kept, noise=noise)


def exact_rescaled(values: IntArray, noise: Noise, *, right: Subsampled) -> Any:
    """Unbiased by adding the expected number dropped, which is taken from the true counts."""
    said = right.release(values, noise=noise)
    return said + (values * (1 - right.share)).round().astype(int)


def coin_per_group(data: Data, noise: Noise, *, right: Subsampled) -> Any:
    """A coin for each group of a unit, where the unit must be kept whole."""
    counts = table(data).sum(axis=0)
    return Subsampled(right.mechanism, keep_rate=right.keep_rate).release(counts, noise=noise)


def cut_at_top(values: IntArray, noise: Noise, *, right: TruncatedCounts) -> Any:
    """The geometric's tail piled up at the width, where it must be spread by the remainder."""
    drawn = noise.geometric(right.upper_rate, values.size)
    return values + np.minimum(drawn, right.width)


def one_narrower(values: IntArray, noise: Noise, *, right: TruncatedCounts) -> Any:
    """The remainder by the width, not by the width plus one."""
    return values + noise.geometric(right.upper_rate, values.size) % right.width


def noise_shown(values: IntArray, noise: Noise, *, right: TruncatedCounts) -> Any:
    """Says besides whether the noise was at its end."""
    noisy = right.release(values, noise=noise)
    return noisy, bool((noisy - values == right.width).any())


def rising_stairs(values: IntArray, noise: Noise, *, right: Staircase) -> Any:
    """Rising within each turn of the stairs: late places likelier than early ones."""
    turns = noise.geometric(right.noise_rate, values.size)
    place = np.maximum(noise.uniform(right.largest, 1), noise.uniform(right.largest, 1))
    return values + right.largest * turns + place


def whole_turns(values: IntArray, noise: Noise, *, right: Staircase) -> Any:
    """Whole turns only: the sum's remainder by the largest value is told."""
    return values + right.largest * noise.geometric(right.noise_rate, values.size)


def narrow_stairs(values: IntArray, noise: Noise, *, right: Staircase) -> Any:
    """Stairs for a largest value that is one too small."""
    return Staircase(right.noise_rate, largest=right.largest - 1).release(values, noise=noise)


def rate_of_counts(values: IntArray, noise: Noise, *, right: Staircase) -> Any:
    """A geometric at ε, where ε over the largest value is due."""
    return Counts(right.noise_rate, INFINITE).release(values, noise=noise)
