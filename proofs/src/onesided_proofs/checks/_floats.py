"""Arrays that refuse to become floats: whatever meets one on the way to an answer stays whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from typing import Any, NoReturn
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from onesided.errors import OnesidedError
from onesided.mechanism.kit import counts_of
from onesided.noise import IntArray, Noise, Rates
from onesided.numbers import Loss, Number


class FloatReachedError(OnesidedError):
    """A float was computed from a secret or from random bits."""


def _refuse(what: str) -> NoReturn:
    raise FloatReachedError(
        f"{what} turned a secret or a random number into a float.",
        hint="Keep to integers until the answer is published.",
    )


class NoFloats(np.ndarray[Any, Any]):
    """Whole numbers and truth values; any step that makes a float of one raises.

    Every ufunc, numpy function and conversion that meets such an array is watched, and what it
    returns is watched again. A single element that is taken out is watched no longer.
    """

    def __float__(self) -> float:
        _refuse("float()")

    def __complex__(self) -> complex:
        _refuse("complex()")

    def astype(self, dtype: Any, *options: Any, **named: Any) -> Any:
        if np.dtype(dtype).kind not in "iubO":
            _refuse(f"astype({np.dtype(dtype)})")
        return super().astype(dtype, *options, **named)

    def mean(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("mean()")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        if "out" in named:
            named["out"] = tuple(_plain(part) for part in named["out"])
        result = getattr(ufunc, method)(*(_plain(part) for part in inputs), **named)
        return _checked(result, f"numpy.{ufunc.__name__}")

    def __array_function__(self, func: Any, _types: Any, args: Any, kwargs: Any) -> Any:
        plain = [_plain(part) for part in args]
        named = {name: _plain(part) for name, part in kwargs.items()}
        return _checked(func(*plain, **named), f"numpy.{func.__name__}")


def _plain(part: Any) -> Any:
    if isinstance(part, NoFloats):
        return part.view(np.ndarray)
    return type(part)(map(_plain, part)) if type(part) in {list, tuple} else part


def _checked(result: Any, what: str) -> Any:
    if isinstance(result, tuple):
        return tuple(_checked(part, what) for part in result)
    if isinstance(result, np.ndarray | np.generic) and result.dtype.kind not in "iubO":
        _refuse(what)
    return watched(result) if isinstance(result, np.ndarray) else result


def watched(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers, watched."""
    return np.asarray(values).view(NoFloats)


class WatchedNoise:
    """Another noise whose every draw is watched."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise

    def geometric(self, rate: Rates, size: int) -> IntArray:
        return watched(self._noise.geometric(rate, size))

    def two_sided(self, upper: Rates, lower: Rates, size: int) -> IntArray:
        return watched(self._noise.two_sided(upper, lower, size))

    def gaussian(self, variance: Number, size: int) -> IntArray:
        return watched(self._noise.gaussian(variance, size))

    def bernoulli(self, probability: Fraction | Number, size: int) -> Any:
        return watched(self._noise.bernoulli(probability, size))

    def bernoulli_exp(self, rate: Loss | Number, size: int) -> Any:
        return watched(self._noise.bernoulli_exp(rate, size))

    def uniform(self, below: int, size: int) -> IntArray:
        return watched(self._noise.uniform(below, size))

    def permutation(self, length: int) -> IntArray:
        return watched(self._noise.permutation(length))

    def permute_and_flip(self, rate: Loss | Number, deficits: IntArray, sizes: IntArray) -> int:
        given = (np.asarray(part).view(np.ndarray) for part in (deficits, sizes))
        return self._noise.permute_and_flip(rate, *given)


class WatchedBits:
    """Random bits whose every word is watched, to see inside the samplers."""

    def __init__(self, bits: Any) -> None:
        self._bits = bits

    def words(self, count: int) -> Any:
        return watched(self._bits.words(count))

    def word(self) -> int:
        return int(self._bits.word())


@contextmanager
def watched_counts() -> Iterator[None]:
    """While open, the true counts that reach any mechanism are watched as well."""
    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if name.startswith("onesided.mechanism") and hasattr(module, "counts_of"):
                stack.enter_context(
                    patch.object(module, "counts_of", lambda values: watched(counts_of(values)))
                )
        yield


def float_free(run: Callable[[Noise], Any], noise: Noise) -> str:
    """Empty if ``run`` makes no float on the way to its answer, else what made one."""
    try:
        with watched_counts():
            run(WatchedNoise(noise))
    except FloatReachedError as error:
        return error.reason
    return ""
