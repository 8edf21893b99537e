"""Where the cells of a histogram lie, and which cell a point is in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._numbers import exact, positive, whole
from onesided.errors import DataError, ParameterError
from onesided.fields import settle

_MOST_CELLS: Final = 2**27


@dataclass(frozen=True, slots=True)
class Grid:
    """A line of ``(n,)`` cells, or ``(rows, columns)`` of them; cell (r, c) is r * columns + c.

    origin, spacing: where the first cell is and how far the next one, per axis, in the policy's
        own units (for "haversine" degrees of latitude and longitude; for "time" seconds, with
        any moment as the origin).
    box: False if data are points that lie exactly on the cells' positions; True if a cell is
        the half-open box from its position to the next one. Boxes are near as soon as any two
        of their points are.
    Points outside belong to no cell. A promise is about data inside the grid.
    Errors: ParameterError for other than one or two axes, too many cells, or unfit spacings.

    >>> from onesided.linear import Grid
    >>> Grid((2, 3)).cells
    6
    """

    shape: tuple[int, ...]
    origin: object = None
    spacing: tuple[Fraction, ...] = ()
    box: bool = False

    def __init__(
        self,
        shape: int | Sequence[int],
        *,
        origin: object = None,
        spacing: object = 1,
        box: bool = False,
    ) -> None:
        given = (shape,) if isinstance(shape, int) else tuple(shape)
        if isinstance(shape, bool) or len(given) not in (1, 2):
            raise ParameterError(
                f"A grid has one or two axes, got the shape {shape!r}.",
                hint="Give the number of cells, or (rows, columns).",
            )
        sides = tuple(whole(side, name="cells along an axis", least=1) for side in given)
        if math.prod(sides) > _MOST_CELLS:
            raise ParameterError(
                f"A grid of {math.prod(sides):,} cells is larger than {_MOST_CELLS:,}.",
                hint="Use larger cells.",
            )
        steps = spacing if isinstance(spacing, tuple | list) else [spacing] * len(sides)
        if len(steps) != len(sides):
            raise ParameterError(
                f"A grid of {len(sides)} axes has as many spacings, got {spacing!r}.",
                hint="Give one spacing, or one per axis.",
            )
        widths = tuple(positive(step, name="spacing") for step in steps)
        settle(self, shape=sides, origin=origin, spacing=widths, box=bool(box))

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(self.shape)

    @property
    def plane(self) -> tuple[int, int]:
        """Rows and columns; a line is one row."""
        return (1, self.shape[0]) if len(self.shape) == 1 else (self.shape[0], self.shape[1])

    def locate(self, points: ArrayLike) -> NDArray[np.int64]:
        """The cell of each point, given in numbers, one row per point. Exact for each point.

        Errors: DataError for points that are outside the grid, or, unless it is of boxes,
        between its positions.
        """
        array = np.asarray(points)
        if array.ndim == 1 and len(self.shape) == 1:
            array = array.reshape(-1, 1)
        if array.ndim != 2 or array.shape[1] != len(self.shape):
            raise DataError(
                f"Points on a grid of {len(self.shape)} axes have as many coordinates, got an "
                f"array of shape {array.shape}.",
                hint="Give one row per point.",
            )
        return np.array([self._cell(point) for point in array.tolist()], dtype=np.int64)

    def _cell(self, point: Sequence[Any]) -> int:
        cell = 0
        for part, first, step, side in zip(
            point, self._start(), self.spacing, self.shape, strict=True
        ):
            place = (exact(part, name="coordinate") - first) / step
            at = math.floor(place)
            if not 0 <= at < side or not (self.box or at == place):
                raise DataError(
                    f"The point {tuple(point)!r} is not in any cell of the grid.",
                    hint="Drop it or clamp it to the grid before counting, the same way for all "
                    "data; in a grid of points, round it to a position first.",
                    point=tuple(point),
                )
            cell = cell * side + at
        return cell

    def _start(self) -> tuple[Fraction, ...]:
        """The origin in numbers; 0 where none was given."""
        given = [0] * len(self.shape) if self.origin is None else self.origin
        parts = given if isinstance(given, tuple | list) else [given]
        return tuple(exact(part, name="origin") for part in parts)
