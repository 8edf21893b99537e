"""Which strategies to consider for a grid; the error decides among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from onesided.linear._combine import kron
from onesided.linear._grid import Grid
from onesided.linear._hierarchy import Hierarchy
from onesided.linear._line import Haar, Identity, Prefix, Suffix
from onesided.linear._operator import Operator
from onesided.linear._plane import (
    Quadtree,
    block_prefix,
    grid_blocks,
    row_prefix,
    summed_area,
)
from onesided.linear._staggered import staggered

_BLOCK_LIMIT: Final = 1_024
_STAGGERED_ON_A_LINE: Final = 1_024
_STAGGERED_ON_A_PLANE: Final = 2**18


def candidates(grid: Grid) -> dict[str, Callable[[], Operator]]:
    """Strategies by name, each made when called for; all span every query of the grid.

    >>> sorted(candidates(Grid(8)))
    ['block prefix 2', 'block prefix 4', 'hierarchy 16', 'hierarchy 2', 'hierarchy 4', 'identity',
    'prefix', 'staggered', 'suffix', 'wavelet']
    """
    return _on_a_line(grid.cells) if grid.plane[0] == 1 else _on_a_plane(grid.plane)


def _on_a_line(n: int) -> dict[str, Callable[[], Operator]]:
    found: dict[str, Callable[[], Operator]] = {
        "identity": lambda: Identity(n),
        "prefix": lambda: Prefix(n),
        "suffix": lambda: Suffix(n),
    }
    for branching in (2, 4, 16):
        found[f"hierarchy {branching}"] = lambda b=branching: Hierarchy(n, b)  # type: ignore[misc]
    if n & (n - 1) == 0:
        found["wavelet"] = lambda: Haar(n)
    for width in _widths(n):
        if -(-n // width) <= _BLOCK_LIMIT:
            found[f"block prefix {width}"] = lambda w=width: block_prefix(n, w)  # type: ignore[misc]
    if n <= _STAGGERED_ON_A_LINE:
        found["staggered"] = lambda: staggered(n)
    return found


def _on_a_plane(sides: tuple[int, int]) -> dict[str, Callable[[], Operator]]:
    rows, columns = sides
    found: dict[str, Callable[[], Operator]] = {
        "identity": lambda: kron(Identity(rows), Identity(columns)),
        "row prefix": lambda: row_prefix(sides),
        "summed area": lambda: summed_area(sides),
        "wide hierarchy": lambda: kron(
            Hierarchy(rows, max(rows, 2)), Hierarchy(columns, max(columns, 2))
        ),
    }
    for branching in (2, 4):
        found[f"quadtree {branching}"] = lambda b=branching: Quadtree(sides, b)  # type: ignore[misc]
        found[f"hierarchies {branching}"] = lambda b=branching: kron(  # type: ignore[misc]
            Hierarchy(rows, b), Hierarchy(columns, b)
        )
    if all(side & (side - 1) == 0 for side in sides):
        found["wavelets"] = lambda: kron(Haar(rows), Haar(columns))
    for width in _widths(max(sides)):
        if -(-rows // width) * -(-columns // width) <= _BLOCK_LIMIT:
            for coarse in ("summed_area", "quadtree"):
                found[f"{coarse} of blocks {width}"] = lambda w=width, c=coarse: grid_blocks(  # type: ignore[misc]
                    sides, w, c
                )
    if rows * columns <= _STAGGERED_ON_A_PLANE:
        found["staggered"] = lambda: staggered(sides)
    return found


def _widths(n: int) -> list[int]:
    return [width for width in (2, 4, 8, 16, 32, 64, 256, 1024) if width < n]
