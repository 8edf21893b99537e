"""The certificates that are checked, and controls that claim too much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from onesided._numbers import INFINITE
from onesided.mechanism import (
    AdaptiveSparseVector,
    AtMost,
    Compounds,
    Counts,
    Cumulative,
    Interval,
    RecordSample,
    SparseVector,
    Staircase,
    StairSums,
    Sums,
    TopK,
    TruncatedCounts,
    UnknownKeys,
)
from onesided.noise import IntArray, Noise
from onesided.verify._certificates import (
    Certificate,
    Said,
    geometric_power,
    of_interval,
    of_statement,
)
from onesided.verify._certified_more import more_certificates

_SURE: Final = Fraction(95, 100)
_PAIR: Final = ((0, 3), (5, 20))
_SIGNED: Final = ((-4, 7),)


def certificates() -> Iterator[Certificate]:
    """Every certificate, sound or a control."""
    yield from _intervals()
    yield from _statements()
    yield from _selections()
    yield from _broken()
    yield from more_certificates()


def _intervals() -> Iterator[Certificate]:
    far = ((30, 41),)
    for upper, lower in ((1, INFINITE), (INFINITE, 1), (2, "3/2")):
        yield _bounded("Counts", Counts(upper, lower), far)
        yield _bounded("Sums", Sums(upper, lower), _SIGNED)
    yield _bounded("Counts at 50 %", Counts(1, 1), far, confidence=Fraction(1, 2))
    for below in (False, True):
        yield _bounded("StairSums", StairSums(Staircase(2, largest=3), below=below), _SIGNED)
    both = TruncatedCounts(1, width=3)
    yield Certificate(
        name="TruncatedCounts",
        run=lambda truth, noise: both.release(truth, noise=noise),
        read=lambda noisy, truth: of_interval(both.interval(noisy), truth),
        truths=far,
    )
    for rates in ((2, INFINITE), (2, 2)):
        yield _cumulative(Cumulative(*rates, bins=2, levels=1))
    yield replace(_cumulative(Cumulative("1/4", "1/4", bins=1)), truths=((90,),))


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

    return Certificate(
        name="Cumulative",
        run=lambda truth, noise: mechanism.release(truth, noise=noise),
        read=read,
        truths=((9, 4),),
        least=False,
    )


def _statements() -> Iterator[Certificate]:
    for threshold in (0, 3):
        yield _at_most(AtMost(threshold, upper_rate=1))
        yield _sparse(SparseVector(threshold, upper_rate=1))
    # Which later queries are reached depends on the answers, so only what is said is checked.
    stops = SparseVector(1, upper_rate=1, max_answers=1)
    yield replace(_sparse(stops), name="SparseVector(1), one answer", power=None)
    coarse = AdaptiveSparseVector(1, upper_rate=1, max_answers=2, margin=1)
    yield replace(_sparse(coarse), name="AdaptiveSparseVector(1)", power=None)
    yield _of_compounds()
    keys = UnknownKeys(1, threshold=1)
    yield Certificate(
        name="UnknownKeys",
        run=lambda truth, noise: keys.release(truth, noise=noise),
        read=lambda told, truth: of_statement(told > 0, told <= truth, told == truth),
        truths=((0, 1), (2, 7)),
        power=keys.chance,
    )
    sample = RecordSample(1)
    yield Certificate(
        name="RecordSample",
        run=lambda truth, noise: sample.release(truth, noise=noise),
        read=lambda kept, truth: of_statement(kept > 0, kept <= truth, kept == truth),
        truths=((0, 4),),
    )


def _at_most(mechanism: AtMost) -> Certificate:
    limit = mechanism.threshold
    return Certificate(
        name=f"AtMost({limit})",
        run=lambda truth, noise: mechanism.release(truth, noise=noise),
        read=lambda yes, truth: of_statement(yes, truth <= limit, truth == limit),
        truths=((limit, limit + 1), (0, limit + 2)),
        power=mechanism.power,
    )


def _sparse(mechanism: SparseVector | AdaptiveSparseVector) -> Certificate:
    """Certified: at most the threshold. Answered: above it, and never below the truth."""
    limit = int(np.max(mechanism.thresholds))

    def read(told: Any, truth: IntArray) -> Said:
        said = of_statement(told.certified, truth <= limit, truth == limit)
        right = ~told.answered | ((told.values > limit) & (told.values >= truth))
        return replace(said, certain=said.certain & right)

    return Certificate(
        name=f"SparseVector({limit})",
        run=lambda truth, noise: mechanism.release(truth, noise=noise),
        read=read,
        truths=((limit, limit + 1), (0, limit + 2)),
        power=geometric_power(1.0, limit),
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

    yield Certificate(
        name="TopK",
        run=lambda truth, noise: top.release(truth, noise=noise),
        read=read,
        truths=_PAIR,
    )


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
    yield from _broken_intervals(counts)


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
