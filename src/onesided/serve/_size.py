"""How large a question is, by what it says alone: bins, cells, and the ranges asked of them.

The best way to answer a map of many cells is looked for among many, which takes a machine long
before anything is charged. So a dataset says how many cells it answers about, and the public
clock gives maps the time that they need.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from onesided.errors import ParameterError
from onesided.session import Histogram, RangeQuery, Several

# How many ranges may be asked of each cell, on average; "all" of 1,024 bins are half of that.
_EACH: Final = 1024
_PAIR: Final = 2  # columns of a map
# So many may take as long as a question without them: measured, with room for slow machines.
_CELLS: Final = 128
_RANGES: Final = 2**18


def cells_of(question: Any) -> int:
    """How many cells a question has; 1 for those that have none.

    >>> import onesided as od
    >>> cells_of(od.session.RangeQuery(["x", "y"], "cells", bins=[16, 16], epsilon=1))
    256
    """
    if isinstance(question, Several):
        return max(map(cells_of, question.questions), default=1)
    if not isinstance(question, Histogram | RangeQuery):
        return 1
    column, bins = question.column, question.bins
    if isinstance(column, Mapping):
        return math.prod(map(_bins, column.values()))
    if isinstance(column, str) or not isinstance(bins, Sequence):
        return _bins(bins) ** (1 if isinstance(column, str) else _PAIR)
    return math.prod(map(_bins, bins))


def asked_of(question: Any) -> int:
    """How many ranges a question asks; 1 for other questions."""
    if isinstance(question, Several):
        return sum(map(asked_of, question.questions))
    if not isinstance(question, RangeQuery):
        return 1
    if isinstance(question.ranges, str):
        cells = cells_of(question)
        return cells * (cells + 1) // 2 if question.ranges == "all" else cells
    if isinstance(question.ranges, Sequence):
        return len(question.ranges)
    return int(getattr(question.ranges, "shape", (1,))[0])


def times_of(question: Any) -> int:
    """How many times longer its cells make it take."""
    if not isinstance(question, Histogram | RangeQuery):
        return 0
    cells = cells_of(question)
    return cells // _CELLS + cells * asked_of(question) // _RANGES


def refuse_large(question: Any, *, most: int) -> None:
    """Refuse what has more cells than the dataset answers about. Errors: ParameterError."""
    cells, asked = cells_of(question), asked_of(question)
    if cells > most:
        raise ParameterError(
            f"This asks about {cells:,} cells; this dataset answers about at most {most:,}.",
            hint="Take fewer bins.",
            cells=cells,
            most=most,
        )
    if cells * asked > _EACH * most:
        raise ParameterError(
            f"These {asked:,} ranges of {cells:,} cells are too many for this dataset.",
            hint=f"Ask for at most {_EACH * most // cells:,} at once.",
            ranges=asked,
            most=_EACH * most // cells,
        )


def _bins(given: Any) -> int:
    """How many bins a number of them, their edges, or a pair of these with bounds, stand for."""
    if isinstance(given, bool) or given is None:
        return 1
    if isinstance(given, int):
        return max(given, 1)
    if isinstance(given, Mapping):
        return _bins(given.get("bins"))
    return (
        max(len(given) - 1, 1) if isinstance(given, Sequence) and not isinstance(given, str) else 1
    )
