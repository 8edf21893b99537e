"""A noise double that takes every path, each with its exact probability."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Final, TypeVar

import numpy as np

from onesided._numbers import INFINITE, Infinite, Loss, Number, probability, rate, whole
from onesided.errors import ParameterError
from onesided.noise import BoolArray, IntArray
from onesided.noise._protocol import Rates

Result = TypeVar("Result")
MAX_PATHS: Final = 20_000_000
_MAX_DEPTH: Final = 10_000


@dataclass(frozen=True, slots=True)
class Support:
    """The values of one draw and their probabilities; what is missing from 1 was cut off."""

    values: tuple[object, ...]
    weights: tuple[float, ...]


@lru_cache(maxsize=256)
def geometric_support(rate_: Loss, tail: float) -> Support:
    """Values 0, 1, ... of a geometric until at most ``tail`` is left over."""
    if isinstance(rate_, Infinite):
        return Support((0,), (1.0,))
    step = float(rate_)
    last = max(0, math.ceil(-math.log(tail) / step) - 1)
    share = -math.expm1(-step)
    values = range(last + 1)
    return Support(tuple(values), tuple(share * math.exp(-step * k) for k in values))


@lru_cache(maxsize=256)
def two_sided_support(upper: Loss, lower: Loss, tail: float) -> Support:
    """Values of ``G_upper - G_lower`` until at most ``tail`` is left over on each side."""
    if isinstance(lower, Infinite):
        return geometric_support(upper, tail)
    if isinstance(upper, Infinite):
        down = geometric_support(lower, tail)
        return Support(tuple(-int(v) for v in down.values), down.weights)  # type: ignore[call-overload]
    a, b = float(upper), float(lower)
    peak = math.expm1(-a) * math.expm1(-b) / -math.expm1(-a - b)
    most, least = math.ceil(-math.log(tail) / a), math.ceil(-math.log(tail) / b)
    values = range(-least, most + 1)
    weights = tuple(peak * math.exp(-a * k if k >= 0 else b * k) for k in values)
    return Support(tuple(values), weights)


class PathNoise:
    """Answers draws along one path; :func:`paths` walks them all. For verification only."""

    def __init__(self, choices: list[int], *, tail: float) -> None:
        self.choices = choices
        self.sizes: list[int] = []
        self.weight = 1.0
        self._tail = tail

    def _pick(self, support: Support) -> object:
        place = len(self.sizes)
        if place == len(self.choices):
            self.choices.append(0)
        if place >= _MAX_DEPTH:
            raise ParameterError(
                f"One run made more than {_MAX_DEPTH} draws, so it cannot be enumerated.",
                hint="Bound the number of draws, or use a smaller universe.",
            )
        self.sizes.append(len(support.values))
        self.weight *= support.weights[self.choices[place]]
        return support.values[self.choices[place]]

    def geometric(self, rate: Rates, size: int) -> IntArray:
        return _ints(self._pick(geometric_support(r, self._tail)) for r in _each(rate, size))

    def two_sided(self, upper: Rates, lower: Rates, size: int) -> IntArray:
        pairs = zip(_each(upper, size), _each(lower, size), strict=True)
        return _ints(self._pick(two_sided_support(a, b, self._tail)) for a, b in pairs)

    def bernoulli(self, probability_: Fraction | Number, size: int) -> BoolArray:
        return self._flips(float(probability(probability_, name="probability")), size)

    def bernoulli_exp(self, rate_: Loss | Number, size: int) -> BoolArray:
        exact = rate(rate_, name="rate")
        return self._flips(0.0 if exact == INFINITE else math.exp(-float(exact)), size)  # type: ignore[arg-type]

    def uniform(self, below: int, size: int) -> IntArray:
        count = whole(below, name="below", least=1, most=4096)
        support = Support(tuple(range(count)), (1 / count,) * count)
        return _ints(self._pick(support) for _ in range(size))

    def permutation(self, length: int) -> IntArray:
        orders = tuple(permutations(range(whole(length, name="length", most=7))))
        picked = self._pick(Support(orders, (1 / len(orders),) * len(orders)))
        return np.array(picked, dtype=np.int64)

    def _flips(self, chance: float, size: int) -> BoolArray:
        sides = [(value, p) for value, p in ((True, chance), (False, 1 - chance)) if p > 0]
        support = Support(tuple(v for v, _ in sides), tuple(p for _, p in sides))
        return np.array([self._pick(support) for _ in range(size)], dtype=np.bool_)


def paths(
    program: Callable[[PathNoise], Result], *, tail: float, limit: int = MAX_PATHS
) -> Iterator[tuple[Result, float]]:
    """Run ``program`` once for every sequence of draws; yield each result with its probability.

    Errors: ParameterError after ``limit`` paths.
    """
    choices: list[int] = []
    for _ in range(limit):
        noise = PathNoise(choices, tail=tail)
        result = program(noise)
        yield result, noise.weight
        del choices[len(noise.sizes) :]
        while choices and choices[-1] + 1 == noise.sizes[len(choices) - 1]:
            choices.pop()
        if not choices:
            return
        choices[-1] += 1
    raise ParameterError(
        f"More than {limit:,} paths: the universe is too large to enumerate.",
        hint="Use fewer groups or units, larger rates, or a coarser tail.",
    )


def _each(rates: Rates, size: int) -> Iterator[Loss]:
    """One exact rate per draw."""
    many = isinstance(rates, Sequence) and not isinstance(rates, str)
    for place in range(size):
        yield rate(rates[place] if many else rates, name="rate")  # type: ignore[index]


def _ints(values: Iterator[object]) -> IntArray:
    return np.array(list(values), dtype=np.int64)
