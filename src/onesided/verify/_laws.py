"""Distribution tests with a stated false-alarm rate and a shown power, for samplers of integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, Infinite, Loss, Number, rate, regular
from onesided.errors import MissingDependencyError, ParameterError

FALSE_ALARM: Final = 1e-6
_LEAST_EXPECTED: Final = 20.0

Law: TypeAlias = Callable[[int], float]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether draws follow a law.

    p_value: the chance that a right sampler agrees no better. cells: how many ranges of values
    were compared. false_alarm: how often a right sampler is rejected.

    >>> Agreement(p_value=0.5, statistic=20.0, cells=24, draws=1000, false_alarm=1e-9).accepted
    True
    """

    p_value: float
    statistic: float
    cells: int
    draws: int
    false_alarm: float

    @property
    def accepted(self) -> bool:
        """Whether the draws could come from the law."""
        return self.p_value >= self.false_alarm


def two_sided_law(upper: Loss | Number, lower: Loss | Number) -> Law:
    """``k -> Pr[G_upper - G_lower <= k]``.

    >>> law = two_sided_law(1, 1)
    >>> round(law(0) + law(-1), 9)
    1.0
    """
    up, down = (_float(rate(r, name="rate")) for r in (upper, lower))

    def cumulative(k: int) -> float:
        if k < 0:
            return math.expm1(-up) / math.expm1(-up - down) * math.exp(down * k)
        return 1 - math.expm1(-down) / math.expm1(-up - down) * math.exp(-up * (k + 1))

    return cumulative


def geometric_law(rate_: Loss | Number) -> Law:
    """``k -> Pr[G <= k] = 1 - e^(-rate (k + 1))``.

    >>> law = geometric_law(1)
    >>> law(-1), round(law(0), 4)
    (0.0, 0.6321)
    """
    return two_sided_law(rate_, INFINITE)


def agrees(
    draws: ArrayLike, law: Law, *, cells: int = 24, false_alarm: float = FALSE_ALARM
) -> Agreement:
    """Chi-square test of whole-number ``draws`` against a cumulative ``law``.

    The cells are ranges of about equal probability under the law, never chosen from the draws.
    false_alarm: the probability with which a right sampler is rejected.
    Errors: ParameterError for too few draws or other than whole ones; MissingDependencyError
    without scipy.

    >>> from onesided.noise import SecureNoise
    >>> draws = SecureNoise().geometric(1, 10_000)
    >>> agrees(draws, geometric_law(1)).accepted, agrees(draws, geometric_law("1/2")).accepted
    (True, False)
    """
    given = regular(draws)
    if given.dtype.kind not in "iubf" or not np.array_equal(given, np.rint(given)):
        raise ParameterError(
            f"The draws must be whole numbers, got {given.dtype}.",
            hint="Cut to whole numbers, others would follow another law: round them yourself.",
        )
    values = given.astype(np.int64)
    edges = _edges(law, cells, values.size)
    below = np.array([law(int(edge)) for edge in edges])
    chances = np.diff(np.concatenate([[0.0], below, [1.0]]))
    if edges.size == 0 or chances.min() * values.size < _LEAST_EXPECTED / 4:
        raise ParameterError(
            f"{values.size} draws are too few to tell anything about this law.",
            hint="Draw more, or take fewer cells.",
        )
    seen = np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(chances))
    statistic = float((((seen - chances * values.size) ** 2) / (chances * values.size)).sum())
    p_value = float(stats().chi2.sf(statistic, len(edges)))
    return Agreement(p_value, statistic, len(chances), values.size, false_alarm)


def power(
    law: Law, other: Law, draws: int, *, cells: int = 24, false_alarm: float = FALSE_ALARM
) -> float:
    """How surely :func:`agrees` rejects draws that follow ``other`` instead of ``law``.

    >>> power(geometric_law(1), geometric_law("1/2"), draws=10_000) > 0.99
    True
    """
    edges = _edges(law, cells, draws)

    def chances(one: Law) -> Any:
        return np.diff(np.concatenate([[0.0], [one(int(edge)) for edge in edges], [1.0]]))

    right, wrong = chances(law), chances(other)
    shift = float((draws * (wrong - right) ** 2 / right).sum())
    limit = stats().chi2.isf(false_alarm, len(edges))
    return float(stats().ncx2.sf(limit, len(edges), shift))


def _edges(law: Law, cells: int, draws: int) -> Any:
    """Upper ends of ranges of about equal probability; the last range has none."""
    edges: list[int] = []
    least = max(1 / cells, _LEAST_EXPECTED / max(1, draws))
    done = 0.0
    while 1 - done > 2 * least:
        edge = _quantile(law, done + least)
        if 1 - law(edge) < least / 2:
            break
        edges.append(edge)
        done = law(edge)
    return np.array(edges, dtype=np.int64)


def _quantile(law: Law, share: float) -> int:
    """The least value up to which the law gives at least ``share``."""
    low, high = -1, 1
    while law(low) >= share:
        low *= 2
    while law(high) < share:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if law(middle) >= share else (middle, high)
    return high


def _float(value: Loss) -> float:
    return math.inf if isinstance(value, Infinite) else float(value)


def stats() -> Any:
    """``scipy.stats``. Errors: MissingDependencyError."""
    try:
        from scipy import stats as found  # noqa: PLC0415 - optional, and slow to load
    except ImportError:
        raise MissingDependencyError(
            "Statistical checks need the package scipy.", hint="pip install scipy."
        ) from None
    return found
