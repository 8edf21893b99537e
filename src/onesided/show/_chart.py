"""What a picture shows, apart from who draws it: a closed list of shapes.

A bound that is certain and one that only holds with some confidence never look alike: the first
ends in a bar on a solid line, the second in an open end on a dotted line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]

_MOST_PANELS: Final = 24
_MOST_POINTS: Final = 1_200  # in all panels

Outline: TypeAlias = Sequence[tuple[Sequence[float], Sequence[float]]]


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
class Limit:
    """A threshold that groups are held against: a number per row, and on which side they are asked.

    >>> import numpy as np
    >>> Limit(words="at most", values=np.array([5.0, 5.0])).said, Limit.of("at least", 3, 2).one
    ('at most 5', 3.0)
    """

    words: str
    values: Numbers

    @classmethod
    def of(cls, words: str, value: float, rows: int) -> Limit:
        """One for all rows."""
        return cls(words=words, values=np.full(rows, float(value)))

    @property
    def one(self) -> float | None:
        """That of all rows; None where each has its own."""
        found = np.unique(self.values)
        return float(found[0]) if found.size == 1 else None

    @property
    def said(self) -> str:
        """The same in words."""
        return f"{self.words} {'its own limit' if self.one is None else format(self.one, 'g')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """A dot per group with its bounds, one group below the other.

    estimate: NaN where there is only a bound. label_name: what a group is. limits: where a line
    stands. decided: which groups are certified, or likely on one side of it; told apart by shape
    and colour, ``apart`` in words.

    >>> import numpy as np
    >>> Dots(labels=["gym", "bar", "spa"], estimate=np.array([3.0, 1.0, 2.0])).sizes().tolist()
    [3.0, 1.0, 2.0]
    """

    labels: Sequence[str]
    estimate: Numbers
    lower: Side | None = None
    upper: Side | None = None
    label_name: str = ""
    limits: tuple[Limit, ...] = ()
    decided: NDArray[np.bool_] | None = None
    apart: tuple[str, str] = ("certified", "unknown")

    def sizes(self) -> Numbers:
        """What groups are ranked by: the estimate, or a bound where there is none."""
        seen = np.full(len(self.labels), -np.inf)
        for _, bound in sides_of(self):
            seen = np.where(np.isfinite(bound.values), bound.values, seen)
        return np.where(np.isnan(self.estimate), seen, self.estimate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A bar per bin, as wide as the bin, with its bounds. x_name: whose bins they are.

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
    x_name: str = ""


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

    missing: how many groups have no position, and are not among them. certified: where that was
    asked, which of them certainly have at most so many; they differ in shape and in colour.

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
    certified: NDArray[np.bool_] | None = None

    @property
    def stretch(self) -> float:
        """How long a degree of longitude is in the middle, of one of latitude."""
        middle = float(np.mean(self.latitude)) if len(self.latitude) else 0.0
        return max(math.cos(math.radians(middle)), 0.01)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels:
    """A small picture per group: what it was each time, from left to right, with its bounds.

    labels: the groups. times: what each time is called. dots: the groups of the first time, then
    those of the next, in one order.

    >>> import numpy as np
    >>> dots = Dots(labels=["gym 1", "bar 1", "gym 2", "bar 2"], estimate=np.array([3.0, 1, 4, 2]))
    >>> panels = Panels(labels=["gym", "bar"], times=["1", "2"], dots=dots)
    >>> panels.drawn(), panels.group(1).estimate.tolist()
    ([0, 1], [1.0, 2.0])
    """

    labels: Sequence[str]
    times: Sequence[str]
    dots: Dots

    def drawn(self) -> list[int]:
        """The groups that have room: of many the largest and the smallest."""
        most = max(1, min(_MOST_PANELS, _MOST_POINTS // max(len(self.times), 1)))
        size, few = len(self.labels), most // 2
        if size <= most:
            return list(range(size))
        largest = self.dots.sizes().reshape(-1, size).max(axis=0)
        order: list[int] = np.argsort(-largest, kind="stable").tolist()
        return [*order[: most - few], *order[size - few :]]

    def group(self, row: int) -> Dots:
        """One group over time."""
        part = slice(row, None, len(self.labels))

        def some(side: Side | None) -> Side | None:
            if side is None:
                return None
            return replace(side, values=side.values[part], certain=side.certain[part])

        lower, upper = some(self.dots.lower), some(self.dots.upper)
        own = {"labels": self.times, "estimate": self.dots.estimate[part]}
        limits = tuple(replace(one, values=one.values[part]) for one in self.dots.limits)
        return replace(self.dots, lower=lower, upper=upper, limits=limits, **own)


Shape: TypeAlias = Dots | Bars | Heat | Places | Lines | Panels


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


def sides_of(shape: Dots | Bars) -> list[tuple[Literal["lower", "upper"], Side]]:
    """The bounds that a shape has, by name."""
    told: list[tuple[Literal["lower", "upper"], Side]] = []
    if shape.lower is not None:
        told.append(("lower", shape.lower))
    if shape.upper is not None:
        told.append(("upper", shape.upper))
    return told
