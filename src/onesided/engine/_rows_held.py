"""Samples of tables in memory: pandas and PyArrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from onesided.engine._rows import HeldRows, Kinds, unclean
from onesided.noise import BoolArray


class PandasRows(HeldRows):
    """A pandas frame. The sample has a fresh index: the old one would number the gaps.

    Columns that Arrow holds are made anew: of a frame that is kept whole pandas copies nothing.
    """

    def check(self) -> None:
        for name, dtype in self.native.dtypes.items():
            if "dictionary<" in str(dtype) or "run_end" in str(dtype):
                raise unclean(str(name), str(dtype), "pandas' own category type")

    def batches(self, kinds: Sequence[str]) -> Iterator[tuple[Any, int, Kinds]]:
        yield self.native, len(self.native), self.all_kinds(kinds)

    def keep(self, batch: Any, mask: BoolArray) -> Any:
        return batch.loc[mask]

    def of_units(self, unit: str, chosen: nw.Series[Any]) -> Any:
        return self.native.loc[self.native[unit].isin(nw.to_native(chosen)).to_numpy(dtype=bool)]

    def finish(self, parts: Sequence[Any]) -> Any:
        (part,) = parts
        made = part.reset_index(drop=True).copy()
        for name, dtype in made.dtypes.items():
            if str(dtype) == "category":
                made[name] = made[name].cat.remove_unused_categories()
            elif type(made[name].array).__name__.startswith("Arrow"):
                made[name] = _anew(made[name])
        made.attrs = {}
        return made


def _anew(series: Any) -> Any:
    """A column that Arrow holds, from what it shows."""
    import pandas as pd  # noqa: PLC0415 - the caller's frame has loaded it already
    import pyarrow as pa  # noqa: PLC0415 - it holds the column

    (column,) = _shown(pa.table([pa.array(series.array)], names=["x"])).columns
    return pd.Series(pd.array(column, dtype=series.dtype), index=series.index)


class ArrowRows(HeldRows):
    """A PyArrow table. The sample has no metadata: pandas' notes in it would count the rows."""

    def check(self) -> None:
        for column in self.native.schema:
            kind = str(getattr(column.type, "storage_type", column.type))
            nested = "dictionary<" in kind and not kind.startswith("dictionary<")
            if nested or "_view" in kind or "run_end" in kind:
                raise unclean(column.name, kind, "a plain type")

    def batches(self, kinds: Sequence[str]) -> Iterator[tuple[Any, int, Kinds]]:
        yield self.native, self.native.num_rows, self.all_kinds(kinds)

    def keep(self, batch: Any, mask: BoolArray) -> Any:
        import pyarrow as pa  # noqa: PLC0415 - the caller's table has loaded it already

        return batch.filter(pa.array(mask))

    def of_units(self, unit: str, chosen: nw.Series[Any]) -> Any:
        import pyarrow as pa  # noqa: PLC0415 - the caller's table has loaded it already
        import pyarrow.compute as pc  # noqa: PLC0415

        column, wanted = self.native[unit], pa.chunked_array(nw.to_native(chosen))
        if pa.types.is_dictionary(column.type):
            column, wanted = (c.cast(column.type.value_type) for c in (column, wanted))
        values = wanted.combine_chunks()
        return self.native.filter(pc.is_in(column, value_set=values))

    def finish(self, parts: Sequence[Any]) -> Any:
        import pyarrow as pa  # noqa: PLC0415 - the caller's table has loaded it already

        (part,) = parts
        columns = [_used_words(part[name]) for name in part.column_names]
        fields = [pa.field(f.name, f.type, f.nullable) for f in part.schema]
        return _shown(pa.table(columns, schema=pa.schema(fields)))


def _shown(table: Any) -> Any:
    """The table written out and read back, in one piece: what it shows, and no more.

    A filtered column keeps its mask of nulls, so a mask without nulls says that a row left out had
    one; and what is kept whole is not copied at all.
    """
    import pyarrow as pa  # noqa: PLC0415 - the caller's table has loaded it already

    whole, store = table.combine_chunks(), pa.BufferOutputStream()
    with pa.ipc.new_stream(store, whole.schema) as writer:
        writer.write_table(whole)
    return pa.ipc.open_stream(store.getvalue()).read_all()


def _used_words(column: Any) -> Any:
    """A dictionary column without words that no row uses, the others in their order."""
    import pyarrow as pa  # noqa: PLC0415 - the caller's table has loaded it already

    if not pa.types.is_dictionary(column.type):
        return column
    parts = column.unify_dictionaries().chunks
    codes = [np.asarray(part.indices.cast(pa.int64()).fill_null(-1)) for part in parts]
    used = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *codes]))
    used = used[used >= 0]
    chunks = []
    for part, code in zip(parts, codes, strict=True):
        indices = pa.array(np.searchsorted(used, code), mask=code < 0)
        words = part.dictionary.take(pa.array(used, pa.int64()))
        small = indices.cast(column.type.index_type)
        ordered = column.type.ordered
        chunks.append(pa.DictionaryArray.from_arrays(small, words, ordered=ordered))
    return pa.chunked_array(chunks, type=column.type)
