"""The attack of Mironov (CCS 2012): values that floating-point noise can never produce.

Textbook Laplace noise is ``sign * scale * log(u)`` with ``u`` one of 2^bits fractions, so under a
hypothesis about the true count only a thin set of floats can come out. An answer outside that set
rules the hypothesis out for certain, whatever ε is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.mechanism import Counts
from onesided.noise import Noise

_NEAR: Final = 16


@dataclass(frozen=True, slots=True)
class NaiveLaplace:
    """``count + noise`` in floating point, as textbooks and research code have it. NOT PRIVATE."""

    scale: float = 1.0
    bits: int = 53
    dtype: Any = np.float64

    def answers(self, count: int, size: int, generator: np.random.Generator) -> NDArray[Any]:
        units = generator.integers(1, 2**self.bits + 1, size)
        signs = np.where(generator.random(size) < 0.5, -1, 1)
        return self._answer(count, units, signs)

    def possible(self, answers: NDArray[Any], count: int) -> NDArray[np.bool_]:
        """Which answers could have come from ``count``: only float neighbours need a try."""
        noise = answers.astype(np.float64) - count
        signs = np.where(noise < 0, 1, -1)
        found = np.zeros(len(answers), dtype=np.bool_)
        guess = np.rint(np.exp(-np.abs(noise) / self.scale) * 2.0**self.bits)
        for step in range(-_NEAR, _NEAR + 1):
            units = np.clip(guess + step, 1, 2**self.bits).astype(np.int64)
            for sides in (signs, -signs):
                found |= self._answer(count, units, sides) == answers
        return found

    def _answer(self, count: int, units: NDArray[Any], signs: NDArray[Any]) -> NDArray[Any]:
        share = (units * 2.0**-self.bits).astype(self.dtype)
        noise = signs.astype(self.dtype) * self.dtype(self.scale) * np.log(share)
        return np.asarray(self.dtype(count) + noise)


@dataclass(frozen=True, slots=True)
class Attack:
    """How often answers about ``real`` rule out ``other`` for certain, and how often ``real``."""

    success: float
    mistakes: float


def attack_floats(
    noise: NaiveLaplace, *, real: int = 1, other: int = 0, answers: int = 20_000, seed: int = 0
) -> Attack:
    """Attack the textbook sampler."""
    made = noise.answers(real, answers, np.random.default_rng(seed))
    return Attack(
        float(np.mean(~noise.possible(made, other))), float(np.mean(~noise.possible(made, real)))
    )


def attack_whole(
    mechanism: Counts,
    noise: Noise,
    *,
    real: int = 1,
    other: int = 0,
    answers: int = 20_000,
    lookup: int = 2_000_000,
) -> Attack:
    """The same attack on ours: rule out whatever a hundred times as many answers never gave.

    The attacker has no formula here, for there is no thin set: every integer that the direction
    allows can come out under both hypotheses. What is left is the rare tail.
    """
    made = mechanism.noisy(np.full(answers, real, dtype=np.int64), noise=noise)

    def never(count: int) -> float:
        seen = np.unique(mechanism.noisy(np.full(lookup, count, dtype=np.int64), noise=noise))
        return float(np.mean(~np.isin(made, seen)))

    return Attack(never(other), never(real))
