"""What runs another library's mechanism the way an audit asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided.noise import Noise


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement of OpenDP: what is called with data gives a release.

    It draws from its own source, so an audit's seed does not repeat it.

    >>> from onesided.noise import SecureNoise
    >>> Measured(sum)([1, 2], SecureNoise())
    3
    """

    measurement: Any

    def __call__(self, data: Any, _noise: Noise) -> Any:
        return self.measurement(data)


@dataclass(frozen=True, slots=True)
class Each:
    """A measurement of OpenDP that adds noise of its own to each number of a list, as a sampler.

    For ``audit(..., sampler=True)``: many equal numbers are that many releases of one.

    >>> from onesided.noise import SecureNoise
    >>> Each(lambda numbers: numbers)(5, 3, SecureNoise()).tolist()
    [5, 5, 5]
    """

    measurement: Any

    def __call__(self, number: Any, size: int, _noise: Noise) -> NDArray[Any]:
        return np.asarray(self.measurement([number] * size))


@dataclass(frozen=True, slots=True)
class Randomised:
    """A mechanism of diffprivlib: its ``randomise`` takes one value.

    >>> from onesided.noise import SecureNoise
    >>> class Same:
    ...     def randomise(self, value):
    ...         return value
    >>> Randomised(Same())(7, SecureNoise())
    7
    """

    mechanism: Any

    def __call__(self, value: Any, _noise: Noise) -> Any:
        return self.mechanism.randomise(value)
