"""What a picture shows, apart from who draws it: a closed list of shapes.

A bound that is certain and one that only holds with some confidence never look alike: the first
ends in a bar on a solid line, the second in an open end on a dotted line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]

MOST_DOTS: Final = 40  # more lines than that cannot be read; the largest are drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One side of an answer: a number per row (infinite where there is none), and how sure it is.

    certain: which rows are never wrong. confidence: of the others, in words.
    """

    values: Numbers
    certain: NDArray[np.bool_]
    confidence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """A dot per group with its bounds, one group below the other.

    estimate: NaN where there is only a bound.
    """

    labels: Sequence[str]
    estimate: Numbers
    lower: Bound | None = None
    upper: Bound | None = None

    def largest(self, most: int) -> Dots:
        """The groups with the largest numbers, in their own order."""
        if len(self.labels) <= most:
            return self
        size = np.where(np.isnan(self.estimate), _seen(self.upper, self.lower), self.estimate)
        rows = np.sort(np.argsort(-size, kind="stable")[:most])
        return Dots(
            labels=[self.labels[row] for row in rows],
            estimate=self.estimate[rows],
            lower=_rows(self.lower, rows),
            upper=_rows(self.upper, rows),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A bar per bin, as wide as the bin, with its bounds."""

    left: Numbers
    right: Numbers
    estimate: Numbers
    lower: Bound | None = None
    upper: Bound | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """A field per pair of values; NaN where there is none. ``across`` and ``down`` name them."""

    across: Sequence[str]
    down: Sequence[str]
    values: Numbers
    across_name: str
    down_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Groups where they are, in degrees. outline: lines to draw below them, in degrees."""

    labels: Sequence[str]
    latitude: Numbers
    longitude: Numbers
    values: Numbers
    outline: Sequence[tuple[Sequence[float], Sequence[float]]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Curves over one number or over time. steps: whether values hold until the next."""

    x: Sequence[object]
    y: dict[str, Numbers]
    x_name: str
    logarithmic: bool = False
    steps: bool = False


Shape: TypeAlias = Dots | Bars | Heat | Places | Lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A shape and its words. first: what must be known before any number. caption: what it cost."""

    title: str
    shape: Shape
    value_name: str
    first: tuple[str, ...] = ()
    caption: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def below(self) -> str:
        """All words under the title, in the order in which they must be read."""
        return " ".join((*self.first, *self.notes, self.caption)).strip()


def _rows(bound: Bound | None, rows: NDArray[np.intp]) -> Bound | None:
    if bound is None:
        return None
    return Bound(
        values=bound.values[rows], certain=bound.certain[rows], confidence=bound.confidence
    )


def _seen(upper: Bound | None, lower: Bound | None) -> Numbers:
    """What stands for a size where there is no estimate."""
    for bound in (upper, lower):
        if bound is not None:
            return np.where(np.isfinite(bound.values), bound.values, -np.inf)
    return np.zeros(1)
