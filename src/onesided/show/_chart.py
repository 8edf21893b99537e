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

Outline: TypeAlias = Sequence[tuple[Sequence[float], Sequence[float]]]
MOST_DOTS: Final = 40  # more lines than that cannot be read; the largest are drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of an answer: a number per row (infinite where there is none), and how sure it is.

    certain: which rows are never wrong. confidence: of the others, in words.

    >>> import numpy as np
    >>> Side(values=np.array([3.0]), certain=np.array([True])).certain.all()
    np.True_
    """

    values: Numbers
    certain: NDArray[np.bool_]
    confidence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """A dot per group with its bounds, one group below the other.

    estimate: NaN where there is only a bound.

    >>> import numpy as np
    >>> dots = Dots(labels=["gym", "bar", "spa"], estimate=np.array([3.0, 1.0, 2.0]))
    >>> dots.largest(2).labels
    ['gym', 'spa']
    """

    labels: Sequence[str]
    estimate: Numbers
    lower: Side | None = None
    upper: Side | None = None

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
    """A bar per bin, as wide as the bin, with its bounds.

    >>> import numpy as np
    >>> left, right = np.array([0.0, 18.0]), np.array([18.0, 65.0])
    >>> (Bars(left=left, right=right, estimate=np.array([3.0, 9.0])).right - left).tolist()
    [18.0, 47.0]
    """

    left: Numbers
    right: Numbers
    estimate: Numbers
    lower: Side | None = None
    upper: Side | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """A field per pair of values; NaN where there is none. ``across`` and ``down`` name them.

    >>> import numpy as np
    >>> days = {"across": ["Mo", "Tu"], "across_name": "day", "down": ["gym"], "down_name": "place"}
    >>> Heat(values=np.array([[3.0, 1.0]]), **days).values.shape
    (1, 2)
    """

    across: Sequence[str]
    down: Sequence[str]
    values: Numbers
    across_name: str
    down_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Groups where they are, in degrees. outline: lines to draw below them, in degrees.

    missing: how many groups have no position, and are not among them.

    >>> import numpy as np
    >>> at = {"latitude": np.array([52.5]), "longitude": np.array([13.4])}
    >>> Places(labels=["gym"], values=np.array([3.0]), **at).outline
    ()
    """

    labels: Sequence[str]
    latitude: Numbers
    longitude: Numbers
    values: Numbers
    outline: Outline = ()
    missing: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Curves over one number or over time. steps: whether values hold until the next.

    >>> import numpy as np
    >>> Lines(x=[1, 2], y={"error": np.array([4.0, 2.0])}, x_name="ε").logarithmic
    False
    """

    x: Sequence[object]
    y: dict[str, Numbers]
    x_name: str
    logarithmic: bool = False
    steps: bool = False


Shape: TypeAlias = Dots | Bars | Heat | Places | Lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A shape and its words. first: what must be known before any number. caption: what it cost.

    >>> import numpy as np
    >>> dots = Dots(labels=["gym"], estimate=np.array([3.0]))
    >>> words = {"title": "Counts", "value_name": "people", "caption": "ε = 1"}
    >>> Chart(shape=dots, first=("Units may have been cut.",), **words).below
    'Units may have been cut. ε = 1'
    """

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


def _rows(bound: Side | None, rows: NDArray[np.intp]) -> Side | None:
    if bound is None:
        return None
    return Side(values=bound.values[rows], certain=bound.certain[rows], confidence=bound.confidence)


def _seen(upper: Side | None, lower: Side | None) -> Numbers:
    """What stands for a size where there is no estimate."""
    for bound in (upper, lower):
        if bound is not None:
            return np.where(np.isfinite(bound.values), bound.values, -np.inf)
    return np.zeros(1)
