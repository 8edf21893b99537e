"""Keys that were found, as columns: in a public order, for the ledger, and for readers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine.kit import LOWER, Column
from onesided.noise import IntArray

Found = Mapping[str, Column]


def taken(column: Column, places: IntArray) -> Column:
    if isinstance(column, np.ndarray):
        return column[places]
    return [column[place] for place in places.tolist()]


def published(found: Any, names: Sequence[str], told: IntArray) -> Found:
    """The keys whose noisy count is told, with it: largest first, then by key.

    found: the key columns first, in the order of ``names``.
    """
    places = found.columns[: len(names)]
    lower = nw.new_series(LOWER, told, backend=found.implementation)
    kept = found.select(*places).with_columns(lower).filter(nw.col(LOWER) > 0)
    made = ordered(kept, places)
    return {LOWER: made[LOWER], **{n: made[p] for n, p in zip(names, places, strict=True)}}


def ordered(kept: nw.DataFrame[Any], names: Sequence[str]) -> Found:
    """Largest first, then by key, in columns of its own.

    The data's order would tell what was not published, and so would an index, or a buffer of text.
    """
    columns = {name: plain(kept[name]) for name in kept.columns}
    packed = _packed_keys([columns[name] for name in (LOWER, *names)])
    if packed is None:
        turned = kept.sort(LOWER, *names, descending=[True, *[False] * len(names)])
        return {name: plain(turned[name]) for name in kept.columns}
    order = np.argsort(packed)
    return {name: np.asarray(column)[order] for name, column in columns.items()}


def _packed_keys(columns: Sequence[Column]) -> IntArray | None:
    """One number per row that sorts like the columns, the first one falling; None if too large."""
    arrays = [column for column in columns if isinstance(column, np.ndarray)]
    if len(arrays) < len(columns) or any(c.dtype.kind not in "ib" or not c.size for c in arrays):
        return None
    packed, width = np.zeros(len(columns[0]), dtype=np.int64), 1
    for place, column in enumerate(arrays):
        values = np.asarray(column, dtype=np.int64)
        least, most = int(values.min()), int(values.max())
        width *= most - least + 1
        if width >= 2**62:
            return None
        packed *= most - least + 1
        packed += values - least if place else most - values
    return packed


def plain(series: nw.Series[Any]) -> Column:
    """A column as an array of numbers, or a list of text; moments keep their unit."""
    if series.dtype == nw.String:
        return series.to_list()
    values = series.to_numpy()
    if values.dtype.kind in "iub":
        return values
    unit = getattr(series.dtype, "time_unit", "D")
    return values.astype(f"datetime64[{unit}]")


def packed(column: Column) -> tuple[str, NDArray[np.uint8]]:
    """A column as its type and its bytes."""
    if not isinstance(column, np.ndarray):
        return "text", np.frombuffer(json.dumps(list(column)).encode(), dtype=np.uint8)
    return column.dtype.str, np.frombuffer(np.ascontiguousarray(column).tobytes(), dtype=np.uint8)


def unpacked(kind: str, raw: NDArray[Any]) -> Column:
    if kind == "text":
        return list(json.loads(raw.tobytes()))
    return np.frombuffer(raw.tobytes(), dtype=np.dtype(kind)).copy()


def listed(column: Column) -> list[Any]:
    """Plain Python values; moments finer than a microsecond as text, which Python cannot hold."""
    if not isinstance(column, np.ndarray):
        return list(column)
    values: list[Any] = (
        column.astype(str) if column.dtype.str.endswith("[ns]") else column
    ).tolist()
    return values
