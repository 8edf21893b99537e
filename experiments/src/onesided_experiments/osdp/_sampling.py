"""Which records are open: MSampling ("Close") and HiLoSampling ("Far"), OSDP section 6.1.2.

How the text was read, where it leaves a choice:

* The mean and standard deviation of a histogram's sample are those of the *bin number* of its
  records. (Those of the counts cannot be kept: a sample of 1 % has 1 % of the mean count.)
* MSampling takes every record with the same chance, without replacement, and draws again until
  mean and deviation are within 1 ± θ. It is called biased, so a second reading leans as far as θ
  allows: chances rise or fall with the bin number until the mean is off by 0.9 θ.
* HiLoSampling draws with replacement "from bins", yet the sample must be part of the data. So a
  record that was taken is not there any more, and a bin without records is not drawn again. A
  draw takes a *record* with weight γ in the High bins and 1 elsewhere. A second reading draws a
  *bin* with these weights, whatever it holds, and one of its records.
* High is every bin within βd of the chosen one, without going round the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from onesided.errors import DataError
from onesided.noise import IntArray

Floats = NDArray[np.float64]
RATIOS: Final = (0.99, 0.90, 0.75, 0.50, 0.25, 0.10, 0.01)
THETA: Final = 0.1
GAMMA: Final = 5.0
BETA: Final = 0.4
_LEAN: Final = 0.9
_TRIES: Final = 1000


def close(counts: IntArray, ratio: float, random: np.random.Generator) -> IntArray:
    """MSampling: a plain sample whose mean and deviation are within 1 ± θ."""
    wanted = round(ratio * int(counts.sum()))
    for _ in range(_TRIES):
        taken = random.multivariate_hypergeometric(counts, wanted, method="marginals")
        if near(counts, taken):
            return taken.astype(np.int64)
    raise _no_sample(wanted)


def leaning(counts: IntArray, ratio: float, random: np.random.Generator) -> IntArray:
    """MSampling, leaning: the mean is off by up to 0.9 θ, the deviation still within θ."""
    wanted = round(ratio * int(counts.sum()))
    place = np.linspace(-1, 1, counts.size)
    sign = random.choice([-1.0, 1.0])
    low, high = 0.0, 8.0
    for _ in range(30):
        lean = (low + high) / 2
        weights = np.exp(sign * lean * place)
        expected = counts * -np.expm1(-_time(counts, weights, wanted) * weights)
        low, high = (lean, high) if near(counts, expected, _LEAN * THETA) else (low, lean)
    for _ in range(_TRIES):
        taken = _race(counts, np.exp(sign * low * place), wanted, random)
        if near(counts, taken):
            return taken
        low *= 0.95
    raise _no_sample(wanted)


def far(counts: IntArray, ratio: float, random: np.random.Generator) -> IntArray:
    """HiLoSampling by records: those in High bins are γ times as likely as others."""
    weights = _weights(counts.size, random)
    return _race(counts, weights, round(ratio * int(counts.sum())), random)


def far_by_bins(counts: IntArray, ratio: float, random: np.random.Generator) -> IntArray:
    """HiLoSampling by bins: each draw is of a bin that has records left, then of one of them."""
    weights = _weights(counts.size, random)
    wanted = round(ratio * int(counts.sum()))

    def expected(time: float) -> float:
        return float(np.minimum(counts, weights * time).sum())

    start = _solve(expected, max(wanted - 6 * np.sqrt(wanted), 0.0))
    taken = np.minimum(random.poisson(weights * start), counts).astype(np.int64)
    return _fill(counts, taken, wanted, lambda left: weights * (left > 0), random)


GENERATORS: Final[Mapping[str, Callable[[IntArray, float, np.random.Generator], IntArray]]] = {
    "Close": close,
    "Far": far,
    "Close, leaning": leaning,
    "Far, by bins": far_by_bins,
}


def _no_sample(wanted: int) -> DataError:
    return DataError(
        f"No sample of {wanted} records with the mean and deviation of all was found.",
        hint="The histogram may hold too few records for this ratio.",
    )


def moments(counts: IntArray | Floats) -> tuple[float, float]:
    """Mean and standard deviation of the bin number of the records."""
    place = np.arange(counts.size)
    mean = float(np.average(place, weights=counts))
    return mean, float(np.sqrt(np.average((place - mean) ** 2, weights=counts)))


def near(counts: IntArray, sample: IntArray | Floats, theta: float = THETA) -> bool:
    """Whether the sample's mean and deviation are within 1 ± θ times those of all."""
    mean, deviation = moments(counts)
    own = moments(sample)
    return abs(own[0] - mean) <= theta * mean and abs(own[1] - deviation) <= theta * deviation


def _weights(size: int, random: np.random.Generator) -> Floats:
    middle = int(random.integers(size))
    return np.where(np.abs(np.arange(size) - middle) <= size * BETA, GAMMA, 1.0)


def _race(counts: IntArray, weights: Floats, wanted: int, random: np.random.Generator) -> IntArray:
    """Draw records one after the other by weight, without replacement.

    As a race: each record arrives at an exponential time with its weight as rate, and those that
    come first are taken. Up to a time a little too early they are counted by bin at once; the few
    that are still missing are drawn afterwards.
    """
    time = _time(counts, weights, max(wanted - 6 * np.sqrt(wanted), 0.0))
    taken = random.binomial(counts, -np.expm1(-weights * time)).astype(np.int64)
    return _fill(counts, taken, wanted, lambda left: weights * left, random)


def _time(counts: IntArray, weights: Floats, wanted: float) -> float:
    """When so many records are expected to have arrived."""
    return _solve(lambda time: float((counts * -np.expm1(-weights * time)).sum()), wanted)


def _solve(expected: Callable[[float], float], wanted: float) -> float:
    """The time at which a rising function reaches ``wanted``, from below."""
    high = 1.0
    while expected(high) < wanted and high < 2.0**60:
        high *= 2
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expected(middle) < wanted else (low, middle)
    return low


def _fill(
    counts: IntArray,
    taken: IntArray,
    wanted: int,
    chances: Callable[[IntArray], Floats],
    random: np.random.Generator,
) -> IntArray:
    """Take or give back the last few records, so that exactly ``wanted`` are taken."""
    while (missing := wanted - int(taken.sum())) > 0:
        weights = chances(counts - taken)
        drawn = random.multinomial(missing, weights / weights.sum())
        taken = np.minimum(taken + drawn, counts)
    if missing < 0:
        taken = taken - random.multivariate_hypergeometric(taken, -missing, method="marginals")
    return taken.astype(np.int64)
