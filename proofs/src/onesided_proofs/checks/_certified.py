"""The certificates that are checked, and controls that claim too much."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided.mechanism import (
    AdaptiveSparseVector,
    AtMost,
    Compounds,
    Counts,
    CubeEstimates,
    CubeThresholds,
    Cumulative,
    Interval,
    NoisyMaxQuantile,
    RecordSample,
    SeveralQuantiles,
    SparseVector,
    Staircase,
    StairSums,
    Sums,
    TopK,
    TruncatedCounts,
    UnknownKeys,
)
from onesided.mechanism.histograms import SplitHistogram
from onesided.mechanism.kit import decide
from onesided.mechanism.local import Channel, RandomisedResponse, Randomiser, UnaryResponse
from onesided.monitor import Batch, Machine, rules_for
from onesided.monitor.kit import Rules
from onesided.noise import BoolArray, FreshNoise, IntArray, Noise
from onesided.numbers import INFINITE
from onesided_proofs.cases.sessions import has_engine
from onesided_proofs.checks._certificates import (
    Certificate,
    Said,
    geometric_power,
    of_interval,
    of_statement,
)
from onesided_proofs.checks._enclosed import enclosed
from onesided_proofs.checks._likely import likely, reached

_SURE: Final = Fraction(95, 100)
_PAIR: Final = ((0, 3), (5, 20))
_Read = Callable[[Any, IntArray], Said]
_SIGNED: Final = ((-4, 7),)


def certificates() -> Iterator[Certificate]:
    """Every certificate, sound or a control."""
    far = ((30, 41),)
    for upper, lower in ((1, INFINITE), (INFINITE, 1), (2, "3/2")):
        yield _bounded("Counts", Counts(upper, lower), far)
        yield _bounded("Sums", Sums(upper, lower), _SIGNED)
    yield _bounded("Counts at 50 %", Counts(1, 1), far, confidence=Fraction(1, 2))
    for below in (False, True):
        yield _bounded("StairSums", StairSums(Staircase(2, largest=3), below=below), _SIGNED)
    yield from _maps()
    both = TruncatedCounts(1, width=3)
    yield _of(
        "TruncatedCounts",
        both,
        lambda noisy, truth: of_interval(both.interval(noisy), truth),
        truths=far,
    )
    for rates in ((2, INFINITE), (2, 2)):
        yield _cumulative(Cumulative(*rates, bins=2, levels=1))
    yield replace(_cumulative(Cumulative("1/4", "1/4", bins=1)), truths=((90,),))
    yield from _statements()
    yield from _selections()
    yield from _broken()
    yield _split()
    # What reports say for certain of who sent them, and an interval that needs no large number.
    half = Fraction(1, 2)
    for name, sent in (
        ("mangat", RandomisedResponse(_LETTERS[:2], ["a"], half)),
        ("utility-optimised response", RandomisedResponse(_LETTERS, ["a", "b"], half)),
        ("unary response", UnaryResponse(_LETTERS, [half, half, 1], ["1/4", 0, "1/4"])),
        (
            "channel",
            Channel(_LETTERS[:2], [["1/2", "1/2", 0], [0, "1/3", "2/3"]], outputs=["x", "y", "z"]),
        ),
    ):
        yield _report(name, sent)
    yield from _quantiles()
    yield from _at_once()
    yield from _broken_releases()
    if has_engine():
        yield from likely()
        yield from reached()
        yield from enclosed()


def _of(name: str, mechanism: Any, read: _Read, **more: Any) -> Certificate:
    """What a mechanism publishes of the truth, as ``read`` tells it."""

    def run(truth: IntArray, noise: Noise) -> Any:
        return mechanism.release(truth, noise=noise)

    return Certificate(name=name, run=run, read=read, **more)


def _bounded(
    name: str, mechanism: Any, truths: tuple[Any, ...], *, confidence: Fraction = _SURE
) -> Certificate:
    draw = getattr(mechanism, "noisy", mechanism.release)
    return Certificate(
        name=name,
        run=lambda truth, noise: draw(truth, noise=noise),
        read=lambda noisy, truth: of_interval(
            mechanism.interval(noisy, confidence=confidence), truth
        ),
        truths=truths,
        confidence=confidence,
    )


def _cumulative(mechanism: Cumulative) -> Certificate:
    """Bounds for all points at once, by a union over runs: not the least there are."""

    def read(runs: IntArray, truth: IntArray) -> Said:
        found, used = mechanism.up_to(runs)
        bounds = mechanism.interval(found, used, confidence=_SURE)
        flat = Interval(
            bounds.lower.ravel(), bounds.upper.ravel(), bounds.lower_certain, bounds.upper_certain
        )
        return of_interval(flat, np.cumsum(truth), together=True)

    return _of("Cumulative", mechanism, read, truths=((9, 4),), least=False)


def _statements() -> Iterator[Certificate]:
    for threshold in (0, 3):
        yield _at_most(AtMost(threshold, upper_rate=1))
        yield _sparse(SparseVector(threshold, upper_rate=1))
        yield _sparse(SparseVector(threshold, lower_rate=1))
    # Which later queries are reached depends on the answers, so only what is said is checked.
    stops = SparseVector(1, upper_rate=1, max_answers=1)
    yield replace(_sparse(stops), name="SparseVector(1), one answer", power=None)
    coarse = AdaptiveSparseVector(1, upper_rate=1, max_answers=2, margin=1)
    yield replace(_sparse(coarse), name="AdaptiveSparseVector(1)", power=None)
    yield _of_compounds()
    keys = UnknownKeys(1, threshold=1)
    yield _of(
        "UnknownKeys",
        keys,
        lambda told, truth: of_statement(told > 0, told <= truth, told == truth),
        truths=((0, 1), (2, 7)),
        power=keys.chance,
    )
    sample = RecordSample(1)
    yield _of(
        "RecordSample",
        sample,
        lambda kept, truth: of_statement(kept > 0, kept <= truth, kept == truth),
        truths=((0, 4),),
    )


def _at_most(mechanism: AtMost) -> Certificate:
    limit = mechanism.threshold
    return _of(
        f"AtMost({limit})",
        mechanism,
        lambda yes, truth: of_statement(yes, truth <= limit, truth == limit),
        truths=((limit, limit + 1), (0, limit + 2)),
        power=mechanism.power,
    )


def _sparse(mechanism: SparseVector | AdaptiveSparseVector) -> Certificate:
    """Certified: at most the threshold. Answered: above it, and never below the truth.

    With noise below the other way round.
    """
    limit, sign = int(np.max(mechanism.thresholds)), mechanism.sign
    chance = geometric_power(1.0, sign * limit)

    def read(told: Any, truth: IntArray) -> Said:
        within, far = sign * (limit - truth), sign * (told.values - truth)
        said = of_statement(told.certified, within >= 0, within == 0)
        right = ~told.answered | ((sign * told.values > sign * limit) & (far >= 0))
        return replace(said, certain=said.certain & right)

    return _of(
        f"SparseVector({limit}{', at least' * (sign < 0)})",
        mechanism,
        read,
        truths=((limit, limit + 1), (0, limit + 2)),
        power=lambda count: chance(sign * count),
    )


def _of_compounds() -> Certificate:
    """Certified: every count of the compound is at most the threshold."""
    limit, compound = 3, Compounds([[0, 1]])
    sparse = SparseVector(limit, upper_rate=1)

    def read(told: Any, truth: IntArray) -> Said:
        most = np.maximum.reduce(truth, keepdims=True)
        said = of_statement(told.certified, most <= limit, most == limit)
        right = ~told.answered | ((told.values > limit) & (told.values >= most))
        return replace(said, certain=said.certain & right)

    return Certificate(
        name="Compounds",
        run=lambda truth, noise: sparse.release(compound.largest(truth), noise=noise),
        read=read,
        truths=((limit, 0), (1, limit + 1)),
    )


def _selections() -> Iterator[Certificate]:
    top = TopK(1, upper_rate=1)

    def read(told: Any, truth: IntArray) -> Said:
        own = truth[told.indices]
        return of_statement(np.ones(1, dtype=np.bool_), told.values >= own, told.values == own)

    yield _of("TopK", top, read, truths=_PAIR)


def _broken() -> Iterator[Certificate]:
    """Each was accepted while losses alone were looked at."""
    right = AtMost(3, upper_rate=1)
    yes = _at_most(right)
    counts = Counts(1, INFINITE)
    yield replace(
        yes,
        name="AtMost, certifies one more than the threshold",
        run=lambda truth, noise: counts.noisy(truth, noise=noise) <= right.threshold + 1,
        sound=False,
    )
    yield replace(
        yes,
        name="AtMost, never certifies the threshold itself",
        run=lambda truth, noise: counts.noisy(truth, noise=noise) < right.threshold,
        sound=False,
    )
    yield replace(
        _of_compounds(),
        name="Compounds, certified by the smallest count",
        run=lambda truth, noise: SparseVector(3, upper_rate=1).release(
            truth.min(keepdims=True), noise=noise
        ),
        sound=False,
    )
    looser = _sparse(SparseVector(3, upper_rate=1))
    yield replace(
        looser,
        name="SparseVector, certifies one more than the threshold",
        run=lambda truth, noise: SparseVector(4, upper_rate=1).release(truth, noise=noise),
        sound=False,
    )
    yield replace(
        _sparse(SparseVector(3, lower_rate=1)),
        name="SparseVector, certifies at least with noise above",
        run=lambda truth, noise: decide(
            Counts(1, INFINITE).noisy(truth, noise=noise), np.full(2, 3), left=None, sign=-1
        ),
        sound=False,
    )
    yield from _broken_intervals(counts)


def _maps() -> Iterator[Certificate]:
    """Safe places and alarms. The truth: how many are at the place, and how many of them open."""
    rules = rules_for(
        ["a"],
        place="place",
        at_most=1,
        at_least=2,
        window=2,
        epsilon=1,
        policy=policies.sensitive_presence("NOT agreed", max_groups=1),
        charges=1,
        max_answers=None,
    )

    def line(name: str, rules: Rules, *, sound: bool) -> Certificate:
        def run(truth: IntArray, noise: Noise) -> BoolArray:
            rows = [
                (cell, who, 1) for cell, most in enumerate(truth.tolist()) for who in range(most)
            ]
            return Machine(rules).step(Batch("x", 1, rows), noise=FreshNoise(noise)).certified

        def read(told: BoolArray, truth: IntArray) -> Said:
            holds = np.array([truth[0] <= 1, truth[1] >= 2]) & ~told.all()
            return of_statement(told, holds, exact=truth == (1, 2))

        return Certificate(
            name=name, run=run, read=read, truths=((1, 1), (2, 2), (3, 1)), sound=sound
        )

    yield line("Monitor, never safe and an alarm at once", rules, sound=True)
    equal = replace(rules, alarms=rules.thresholds)
    yield line("Monitor, an alarm at as many people as are safe (s = t)", equal, sound=False)


def _broken_intervals(counts: Counts) -> Iterator[Certificate]:
    honest = _bounded("Counts", counts, ((30, 41),))

    def moved(low: int, high: int) -> Any:
        def read(noisy: IntArray, truth: IntArray) -> Said:
            bounds = counts.interval(noisy)
            return of_interval(
                replace(bounds, lower=bounds.lower + low, upper=bounds.upper + high), truth
            )

        return read

    for name, read in (
        ("Counts, the certain bound one too small", moved(0, -1)),
        ("Counts, the certain bound one too large", moved(0, 1)),
        ("Counts, the likely bound one too large", moved(1, 0)),
        ("Counts, the likely bound one too small", moved(-1, 0)),
    ):
        yield replace(honest, name=name, read=read, sound=False)
    narrow = TruncatedCounts(1, width=2)
    wide = TruncatedCounts(1, width=3)

    def wrong(truth: IntArray, noise: Noise) -> IntArray:
        return wide.release(truth, noise=noise)

    yield Certificate(
        name="TruncatedCounts, one narrower than its noise",
        run=wrong,
        read=lambda noisy, truth: of_interval(narrow.interval(noisy), truth),
        truths=((30, 41),),
        sound=False,
    )


_HALF: Final = Fraction(1, 2)
_LETTERS: Final = ("a", "b", "c")


def _at_once() -> Iterator[Certificate]:
    """Noise on all counts at once; last, its thresholds sold as independent ones, and one off."""
    counts = CubeEstimates(3, keys=2)
    yield Certificate(
        name="CubeEstimates",
        run=lambda truth, noise: counts.noisy(truth, noise=noise),
        read=lambda noisy, truth: of_interval(counts.interval(noisy, confidence=_SURE), truth),
        truths=((30, 41),),
        confidence=_SURE,
    )
    limits = CubeThresholds(4, noise_rate=3)
    right = _of(
        "CubeThresholds",
        limits,
        lambda told, truth: of_statement(told.certified, truth <= 4, truth == 4),
        truths=((4, 3), (2, 5)),
        power=lambda count: limits.power(4 - count, keys=2) if count <= 4 else 0.0,
    )
    yield right
    alone = geometric_power(1.5, 4)
    yield replace(right, name="CubeThresholds as if alone", power=alone, sound=False)
    yield replace(
        right,
        name="CubeThresholds one off",
        read=lambda told, truth: of_statement(told.certified, truth <= 3, truth == 3),
        sound=False,
    )


def _split() -> Certificate:
    """An open count is never published above the truth; of the sensitive ones nothing is said."""
    right = SplitHistogram(2, 2, open_rate=2)
    return Certificate(
        name="SplitHistogram, open counts",
        run=lambda truth, noise: right.release(truth[:1], truth[1:], noise=noise),
        read=lambda told, truth: of_statement(
            np.ones(1, dtype=np.bool_), told.open <= truth[1:], told.open == truth[1:]
        ),
        truths=((3, 2), (0, 0)),
    )


def _report(name: str, sent: Randomiser, *, moved: int = 0, close: float = 1.0) -> Certificate:
    def read(reports: Any, truth: IntArray) -> Said:
        held = np.bincount(truth, minlength=len(sent.alphabet))
        found = sent.estimate(reports)
        least, most = found.least + moved, found.most
        lower, upper = found.interval(confidence=_HALF)
        middle = (lower + upper) / 2
        lower, upper = middle + (lower - middle) * close, middle + (upper - middle) * close
        shares = held / truth.size
        likely = (lower <= shares + 1e-9) & (shares - 1e-9 <= upper)
        certain = np.concatenate([least <= held, held <= most])
        met = np.concatenate([least == held, held == most])
        nothing = np.zeros(0, dtype=np.bool_)
        return Said(certain, met, likely, likely, nothing)

    return Certificate(
        name=f"local, {name}",
        run=lambda truth, noise: sent.release([sent.alphabet[c] for c in truth], noise=noise),
        read=read,
        truths=((0, 1, 1), (1, 0, 0)),
        confidence=_HALF,
        least=False,
    )


def _quantiles() -> Iterator[Certificate]:
    """How many ranks an answer may miss by; and who is above each candidate, for certain."""
    right = NoisyMaxQuantile(1, q=_HALF, candidates=4)
    yield _of(
        "NoisyMaxQuantile, ranks",
        right,
        lambda told, truth: _missed(right, told, truth, right.rank_error(confidence=_HALF)),
        truths=((3, 0, 2, 4), (0, 0, 0, 5)),
        confidence=_HALF,
        least=False,
    )
    # One value and 199 candidates that miss it by a rank: nearly as many are accepted as may be.
    many, sure = NoisyMaxQuantile("2.42", q=_HALF, candidates=200), Fraction(3, 5)
    yield Certificate(
        name="NoisyMaxQuantile, ranks of many candidates",
        run=lambda truth, noise: many.release(np.append(truth, np.zeros(199, int)), noise=noise),
        read=lambda told, truth: _missed(
            many, told, np.append(truth, np.zeros(199, int)), many.rank_error(confidence=sure)
        ),
        truths=((1,),),
        confidence=sure,
        least=False,
    )
    three = (Fraction(1, 4), _HALF, Fraction(3, 4))
    several = SeveralQuantiles(12, shares=three, candidates=3, fine=1)
    yield _of(
        "SeveralQuantiles, ranks",
        several,
        lambda told, truth: _missed_each(several, told, truth),
        truths=((3, 0, 2), (0, 4, 0)),
        confidence=_HALF,
        least=False,
    )
    for rates in ((2, INFINITE), (INFINITE, 2)):
        yield _beyond(Cumulative(*rates, bins=3, levels=1), f"Cumulative{rates}, above")
    yield _beyond(Cumulative(4, INFINITE, bins=3, levels=2), "Cumulative, runs, above")


def _missed(mechanism: NoisyMaxQuantile, told: IntArray, truth: IntArray, most: float) -> Said:
    """By the definition, candidate by candidate: the distance beyond the nearest one's."""
    over, under = mechanism.q.as_integer_ratio()
    below = np.concatenate([[0], np.cumsum(truth)])
    target = over * int(truth.sum())
    away = np.maximum(under * below[:-1] - target, target - under * below[1:])
    likely = (away[told] - away.min()) / under <= most
    nothing = np.zeros(0, dtype=np.bool_)
    return Said(nothing, nothing, likely, likely, nothing)


def _missed_each(mechanism: SeveralQuantiles, told: IntArray, truth: IntArray) -> Said:
    """How far each answer is beyond the nearest one's distance, among all values."""
    below, number = np.concatenate([[0], np.cumsum(truth)]), int(truth.sum())
    likely = []
    for place, share, most in zip(
        told, mechanism.shares, mechanism.rank_errors(confidence=_HALF), strict=True
    ):
        away = np.maximum(below[:-1] - share * number, share * number - below[1:])
        likely.append(float(away[place] - away.min()) <= most)
    nothing, held = np.zeros(0, dtype=np.bool_), np.array(likely)
    return Said(nothing, nothing, held, held, nothing)


def _beyond(mechanism: Cumulative, name: str) -> Certificate:
    def read(runs: IntArray, truth: IntArray) -> Said:
        bounds = mechanism.interval(*mechanism.beyond(runs), confidence=_SURE)
        flat = replace(bounds, lower=bounds.lower.ravel(), upper=bounds.upper.ravel())
        return of_interval(flat, truth.sum() - np.cumsum(truth), together=True)

    return _of(name, mechanism, read, truths=((9, 14, 20),), least=False)


def _broken_releases() -> Iterator[Certificate]:
    split = SplitHistogram(2, 2, open_rate=2)

    def more(truth: IntArray, noise: Noise) -> Any:
        found = split.release(truth[:1], truth[1:], noise=noise)
        return found._replace(open=found.open + 1)

    yield replace(_split(), name="SplitHistogram, open counts one too large", run=more, sound=False)
    urr = RandomisedResponse(_LETTERS, ["a", "b"], "1/2")
    yield replace(_report("one more for certain", urr, moved=1), sound=False)
    yield replace(_report("an interval a tenth as wide", urr, close=0.1), sound=False)
    ranks = NoisyMaxQuantile("1/100", q=_HALF, candidates=4)
    claimed = NoisyMaxQuantile(16, q=_HALF, candidates=4).rank_error(confidence=_HALF)
    yield _of(
        "NoisyMaxQuantile, ranks of less noise",
        ranks,
        lambda told, truth: _missed(ranks, told, truth, claimed),
        truths=((0, 0, 9, 0),),
        confidence=_HALF,
        least=False,
        sound=False,
    )
