"""Cutting units down to some of their groups, where the groups are not known beforehand.

What is kept of a unit may depend on that unit's own groups and on nothing else. A rank among all
groups that occur, or by how many units are in them, would let one unit decide what another is
counted in, and void the promise. So groups come in the order of a hash of their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import narwhals as nw

from onesided.engine._table import Lazy
from onesided.engine.duckdb._names import quoted
from onesided.engine.spark import _table as _spark

_HASH: Final = "onesided_hash"
_PLACE: Final = "onesided_place"


def first_groups(
    pairs: Lazy, unit: str, names: Sequence[str], *, most: int, order: str | None = None
) -> Lazy:
    """At most ``most`` groups of each unit, those of lowest hash; ``pairs`` holds each pair once.

    order: a column to go by in place of the hash, where the engine has windows; a group's value
        there must depend on its name alone.

    Groups of equal hash count as if all of them came last, so that which is kept never depends on
    the order of rows; a unit may then keep fewer. PyArrow has neither hash nor windows; there
    groups come in their own order.
    """
    native = nw.to_native(pairs)
    if order is None:
        native = _with_hash(native, names, pairs.implementation)
    if native is not None:
        hashed: Lazy = nw.from_native(native).lazy()
        place = nw.col(order or _HASH).rank("max").over(unit).alias(_PLACE)
        return hashed.with_columns(place).filter(nw.col(_PLACE) <= most).select(unit, *names)
    rows = pairs.collect().sort(unit, *names).with_row_index(_PLACE)
    if not rows.is_empty():
        new = (nw.col(unit) != nw.col(unit).shift(1)).fill_null(True)  # noqa: FBT003
        start = nw.when(new).then(nw.col(_PLACE)).otherwise(0).cum_max()
        rows = rows.filter(nw.col(_PLACE) - start < most)
    cut: Lazy = rows.select(unit, *names).lazy()
    return cut


def has_windows(rows: Lazy) -> bool:
    """Whether the engine can number and shift the rows of each unit by itself."""
    engine = rows.implementation
    return bool(engine.is_polars() or engine.is_duckdb() or engine.is_pyspark())


def _with_hash(native: Any, names: Sequence[str], engine: nw.Implementation) -> Any:
    """The rows with a hash of the group's name, the same for equal names; None if there is none."""
    if engine.is_duckdb():
        text = f"SELECT *, hash({', '.join(map(quoted, names))}) AS {_HASH} FROM onesided_rows"  # noqa: S608
        return native.query("onesided_rows", text)
    if engine.is_pandas_like():
        import pandas as pd  # noqa: PLC0415 - the caller's frame has loaded it already

        plain = native[list(names)].astype(object)
        return native.assign(**{_HASH: pd.util.hash_pandas_object(plain, index=False)})
    if engine.is_polars():
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        return native.with_columns(pl.struct(*names).hash(0).alias(_HASH))
    if engine.is_pyspark():
        return _spark.with_hash(native, names, _HASH)
    return None
