"""How large a question is, by what it and the schema say: groups, bins, cells, and ranges of them.

The best way to answer a map of many cells is looked for among many, which takes a machine long
before anything is charged. So a dataset says how many cells it answers about, and the public
clock gives maps and many groups the time that they need.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from onesided.engine.kit import key_file
from onesided.errors import ParameterError
from onesided.schema import Schema
from onesided.session import Histogram, Quantile, RangeQuery, Several

# How many ranges may be asked of each cell, on average; "all" of 1,024 bins are half of that.
_EACH: Final = 1024
_PAIR: Final = 2  # columns of a map
# So many may take as long as a question without them: measured, with room for slow machines.
_CELLS: Final = 128
_RANGES: Final = 2**18
_GROUPS: Final = 20_000
_QUANTILES: Final = 2_000  # each group's is drawn on its own
# Groups of a whole request; each one of a histogram by groups counts with all of its cells.
MOST_GROUPS: Final = 2**20


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


def groups_of(question: Any, schema: Schema | None) -> int:
    """How many public groups a question has: those it lists, or all that the schema declares.

    >>> import onesided as od
    >>> hours = od.column("integer", keys=range(24))
    >>> groups_of(od.Count(by=["x", "y"], epsilon=1), Schema(columns={"x": hours, "y": hours}))
    576
    """
    if isinstance(question, Several):
        return sum(groups_of(one, schema) for one in question.questions)
    keys, by = getattr(question, "keys", ()), getattr(question, "by", ())
    if keys is not None or schema is None:
        return _listed(keys)
    names = (by,) if isinstance(by, str) else by if isinstance(by, list | tuple) else ()
    return math.prod(_declared(schema, name) for name in names if name in schema.columns)


def times_by_groups(question: Any, schema: Schema | None) -> int:
    """How many times longer the groups of one question make it take."""
    each = _QUANTILES if isinstance(question, Quantile) else _GROUPS
    return groups_of(question, schema) * cells_of(question) // each


def refuse_large(question: Any, schema: Schema | None, *, most: int) -> None:
    """Refuse more cells than the dataset answers about, or too many groups.

    What several questions ask counts together. Errors: ParameterError.
    """
    parts = question.questions if isinstance(question, Several) else (question,)
    sizes = [(cells_of(one), asked_of(one)) for one in parts if _is_binned(one)]
    cells, asked = sum(cells for cells, _ in sizes), sum(asked for _, asked in sizes)
    if cells > most:
        raise ParameterError(
            f"This asks about {cells:,} cells; this dataset answers about at most {most:,}.",
            hint="Take fewer bins.",
            cells=cells,
            most=most,
        )
    if sum(cells * asked for cells, asked in sizes) > _EACH * most:
        raise ParameterError(
            f"These {asked:,} ranges of {cells:,} cells are too many for this dataset.",
            hint=f"Ask for at most {_EACH * most // cells:,} at once.",
            ranges=asked,
            most=_EACH * most // cells,
        )
    groups = sum(groups_of(one, schema) * cells_of(one) for one in parts)
    if groups > MOST_GROUPS:
        raise ParameterError(
            f"This asks about {groups:,} groups; the service answers about at most "
            f"{MOST_GROUPS:,} at once.",
            hint="Group by fewer columns, or list fewer keys.",
            groups=groups,
            most=MOST_GROUPS,
        )


def _is_binned(question: Any) -> bool:
    return isinstance(question, Histogram | RangeQuery)


def _listed(keys: Any) -> int:
    """How many keys are listed: a table of several columns is its columns."""
    if isinstance(keys, Mapping):
        return max(map(_listed, keys.values()), default=1)
    return max(len(keys), 1) if isinstance(keys, Sequence) and not isinstance(keys, str) else 1


def _declared(schema: Schema, name: str) -> int:
    column = schema.columns[name]
    if isinstance(column.keys, str):
        return _in_file(schema, name)
    return _listed(column.keys)


@lru_cache(maxsize=64)
def _in_file(schema: Schema, name: str) -> int:
    """How many keys a schema's file has, which is read once."""
    column = schema.columns[name]
    return len(key_file(str(column.keys), folder=schema.folder, name=name, kind=column.type))


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
