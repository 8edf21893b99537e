"""Certificates are claims too: every certain bound must hold on every path of the noise.

For each tuple of true counts the shipped code is run on every path. A bound that is said to be
certain must hold on all of them and be met on some; a bound with a confidence must hold at least
that often, and one step less must not do; what is certified must be certified as often as is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.errors import OnesidedError
from onesided.mechanism import Interval
from onesided.noise import BoolArray, IntArray, Noise
from onesided.verify import PathNoise
from onesided.verify.kit import Settings, Walk

_TAIL: Final = 1e-9
_CLOSE: Final = 1e-6
Truth = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """What one answer says of the truth, place by place.

    certain: whether what is said for certain holds. met: whether it could not be said of one more
    (or one less). likely, closer: whether the bounds with a confidence hold, and would hold one
    step closer. shown: whether something was certified or published.

    >>> bounds = Interval(np.array([2]), np.array([4]), lower_certain=True, upper_certain=False)
    >>> said = of_interval(bounds, np.array([3]))
    >>> [part.tolist() for part in (said.certain, said.met, said.likely)]
    [[True], [False], [True]]
    """

    certain: BoolArray
    met: BoolArray
    likely: BoolArray
    closer: BoolArray
    shown: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A mechanism, the truths to try, and what its answers say.

    run: the answer for a truth. read: what it says. confidence: of the bounds that are not
    certain. power: how often each true count is shown, or None. least: whether bounds with a
    confidence are as close as they can be. sound: False for a control.

    >>> from onesided import INFINITE
    >>> from onesided.mechanism import Counts
    >>> counts = Counts(1, INFINITE)
    >>> line = Certificate(
    ...     name="Counts",
    ...     run=lambda truth, noise: counts.noisy(truth, noise=noise),
    ...     read=lambda noisy, truth: of_interval(counts.interval(noisy), truth),
    ...     truths=((30,),),
    ... )
    >>> line.fault()
    ''
    """

    name: str
    run: Callable[[IntArray, Noise], Any]
    read: Callable[[Any, IntArray], Said]
    truths: tuple[Truth, ...]
    confidence: Fraction = Fraction(95, 100)
    power: Callable[[int], float] | None = None
    least: bool = True
    sound: bool = True

    def fault(self) -> str:
        """What is wrong, or nothing."""
        try:
            return self._fault()
        except OnesidedError as error:
            return error.reason

    def _fault(self) -> str:
        faults = [_fault_at(self, truth) for truth in self.truths]
        found = next((fault for fault, _ in faults if fault), "")
        if found:
            return found
        met, closest = (any(part) for part in zip(*(seen for _, seen in faults), strict=True))
        if not met:
            return "what is certain is never met: it could say more"
        return "" if closest or not self.least else "a step closer would be as sure"


def _fault_at(line: Certificate, truth: Truth) -> tuple[str, tuple[bool, bool]]:
    """The fault at one truth; and whether bounds were met, and could not be closer."""
    counts = np.array(truth, dtype=np.int64)

    def run(noise: PathNoise) -> Any:
        return line.run(counts.copy(), noise)

    walk, met = Walk(run, Settings(tail=_TAIL)), False
    missed: NDArray[np.float64] = np.zeros(())
    closer, shown = missed, missed
    for answer, weight in walk:
        said = line.read(answer, counts)
        if not said.certain.all():
            return f"a certain bound is wrong for {truth}", (False, False)
        met = met or not said.certain.size or bool(said.met.any())
        missed = missed + weight * ~said.likely
        closer = closer + weight * ~said.closer
        shown = shown + weight * said.shown
    miss = float(1 - line.confidence)
    if (missed - walk.lost > miss).any():
        return f"wrong with {missed.max():.4f}, said to be at most {miss:g}", (False, False)
    if line.power is not None:
        expected = np.array([line.power(count) for count in truth])
        if not np.allclose(shown, expected, atol=_CLOSE + walk.lost):
            return f"shown with {shown}, said to be with {expected}", (False, False)
    return "", (met, bool((closer > miss).any()) or not closer.size)


_NONE: Final = np.zeros(0, dtype=np.bool_)


def of_interval(bounds: Interval, truth: IntArray, *, together: bool = False) -> Said:
    """What an interval says. together: its confidence is of all places at once.

    >>> bounds = Interval(np.array([2]), np.array([4]), lower_certain=True, upper_certain=False)
    >>> of_interval(bounds, np.array([2])).met.tolist()
    [True]
    """
    sides = list(_sides(bounds, truth))
    certain = [holds for holds, _, sure in sides if sure]
    met = [~closer for _, closer, sure in sides if sure]
    likely = [holds for holds, _, sure in sides if not sure]
    closer = [closer for _, closer, sure in sides if not sure]
    if len(likely) == 2:  # an interval is wrong if either side is
        likely, closer = [likely[0] & likely[1]], [closer[0] & closer[1]]
    if together and likely:
        likely, closer = [np.array([likely[0].all()])], [np.array([closer[0].all()])]
    return Said(_all(certain), _all(met), _all(likely), _all(closer), _NONE)


def of_statement(shown: BoolArray, holds: BoolArray, exact: BoolArray) -> Said:
    """What a statement says that is certain where it is ``shown``; exact: it is just so.

    >>> shown, holds = np.array([True, False]), np.array([True, False])
    >>> of_statement(shown, holds, exact=holds).certain.tolist()
    [True, True]
    """
    return Said(~shown | holds, shown & exact, _NONE, _NONE, shown)


def _sides(bounds: Interval, truth: IntArray) -> Iterator[tuple[BoolArray, BoolArray, bool]]:
    """Whether each side holds, whether it would a step closer, and whether it is certain."""
    yield bounds.lower <= truth, bounds.lower + 1 <= truth, bounds.lower_certain
    yield bounds.upper >= truth, bounds.upper - 1 >= truth, bounds.upper_certain


def _all(parts: list[BoolArray]) -> BoolArray:
    return np.concatenate(parts) if parts else _NONE


def geometric_power(upper_rate: float, threshold: int) -> Callable[[int], float]:
    """How often a count is certified as at most ``threshold``: ADP-2022 Corollary V.6.

    >>> chance = geometric_power(1, threshold=5)
    >>> round(chance(5), 3), chance(6)
    (0.632, 0.0)
    """
    return lambda count: max(0.0, -math.expm1(-upper_rate * (threshold + 1 - count)))
