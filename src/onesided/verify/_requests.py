"""Calls for noise as requests: hashable, equal for equal draws, answered in one place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np

from onesided._numbers import Loss, Number
from onesided.noise import BoolArray, IntArray, Rates
from onesided.verify._support import Request, request_of


class RequestedNoise(ABC):
    """A noise double that turns each call into a request."""

    @abstractmethod
    def answer(self, request: Request) -> Any:
        """A new one-dimensional array: what comes out of the call."""

    def geometric(self, rate: Rates, size: int) -> IntArray:
        return self._ints(("geometric", request_of(rate), size))

    def two_sided(self, upper: Rates, lower: Rates, size: int) -> IntArray:
        return self._ints(("two_sided", request_of(upper), request_of(lower), size))

    def bernoulli(self, probability: Fraction | Number, size: int) -> BoolArray:
        return self._flips(("bernoulli", probability, size))

    def bernoulli_exp(self, rate: Loss | Number, size: int) -> BoolArray:
        return self._flips(("bernoulli_exp", rate, size))

    def uniform(self, below: int, size: int) -> IntArray:
        return self._ints(("uniform", below, size))

    def permutation(self, length: int) -> IntArray:
        return self._ints(("permutation", length))

    def permute_and_flip(self, rate: Loss | Number, deficits: IntArray, sizes: IntArray) -> int:
        groups = (tuple(np.asarray(part).tolist()) for part in (deficits, sizes))
        return int(self._ints(("permute_and_flip", rate, *groups))[0])

    def _ints(self, request: Request) -> IntArray:
        drawn: IntArray = self.answer(request)
        return drawn

    def _flips(self, request: Request) -> BoolArray:
        drawn: BoolArray = self.answer(request)
        return drawn
