"""How each engine hands out rows, drops some, and puts the rest together afresh."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.errors import DataError
from onesided.noise import BoolArray
from onesided.session._desk import Desk
from onesided.session._engine import KIND, Lazy

# Rows in one step: few enough for a small memory, enough to keep an engine busy.
BATCH: Final = 2**20
_PLACE: Final = "onesided_place"
# Per row of a batch, the place of its kind among those asked for, or -1; None if all are of one.
Kinds = NDArray[Any] | None


class Rows(ABC):
    """The rows of one table. What :meth:`finish` returns is made of the kept rows alone.

    A data frame holds more than rows. Left as they are, an index, chunks or stored metadata would
    tell where rows are missing, lists of categories would name values of suppressed rows, and
    shared buffers of text would hold them in full.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.native: Any = nw.to_native(desk.table.frame)

    def check(self) -> None:  # noqa: B027 - most engines have nothing to refuse
        """Refuse columns that cannot be cut out cleanly, before anything is charged."""

    @abstractmethod
    def batches(self, kinds: Sequence[str]) -> Iterator[tuple[Any, int, Kinds]]:
        """Every row of these kinds once, as (batch, its height, kinds); others may come along."""

    @abstractmethod
    def keep(self, batch: Any, mask: BoolArray) -> Any:
        """The rows of a batch where ``mask`` is true."""

    @abstractmethod
    def of_units(self, unit: str, chosen: nw.Series[Any]) -> Any:
        """All rows of the chosen units."""

    @abstractmethod
    def finish(self, parts: Sequence[Any]) -> Any:
        """The parts as one table of the caller's own type, in memory."""

    def coded(self, frame: Lazy, kinds: Sequence[str]) -> Lazy:
        """Rows with the place of their kind in ``kinds`` beside them, below 0 for others."""
        table, policy = self.desk.table, self.desk.policy
        codes = {kind: place for place, kind in enumerate(kinds)}
        return table.with_kind(frame, None, policy.rules, policy.default_kind, codes=codes)


class ScannedRows(Rows):
    """Rows that pass by: their kinds are found on the way."""

    @abstractmethod
    def in_shells(self, aside: Mapping[str, str]) -> Any:
        """The table, and each of these columns once more as a struct of one field."""

    def of_kinds(self, kinds: Sequence[str]) -> Lazy:
        """Rows of these kinds as they are; their kind beside them if there are several.

        Conditions see NaN as null, so floats are set aside, in a shell, and put back.
        """
        table, policy = self.desk.table, self.desk.policy
        if not policy.rules:
            return table.frame
        aside = {
            name: f"onesided_{place}"
            for place, (name, dtype) in enumerate(table.schema.items())
            if dtype.is_float()
        }
        frame = table.frame
        if aside:
            frame = nw.from_native(self.in_shells(aside))
        frame = self.coded(frame, kinds).filter(nw.col(KIND) >= 0)
        columns = [
            nw.col(aside[name]).struct.field(name).alias(name) if name in aside else nw.col(name)
            for name in table.schema
        ]
        return frame.select(*columns, *([nw.col(KIND)] if len(kinds) > 1 else []))


class HeldRows(Rows):
    """Rows in memory: their kinds are found beside them."""

    def all_kinds(self, kinds: Sequence[str]) -> Kinds:
        """The place in ``kinds`` of every row's kind, for a table in memory, in its order."""
        if not self.desk.policy.rules:
            return None
        frame = self.coded(self.desk.table.frame, kinds).select(KIND).collect()
        return np.asarray(frame[KIND].to_numpy(), dtype=np.int8)


def rows_of(desk: Desk) -> Rows:
    """The rows of the session's table. Errors: DataError for an engine that we do not know."""
    engine = desk.table.frame.implementation
    if engine.is_polars():
        return PolarsRows(desk)
    if engine.is_duckdb():
        return DuckDBRows(desk)
    if engine.is_pandas():
        return PandasRows(desk)
    if engine.is_pyarrow():
        return ArrowRows(desk)
    raise DataError(
        f"True records cannot be cut out of a {engine.value} table yet.",
        hint="Convert it to Polars, pandas, PyArrow or DuckDB.",
    )


class PolarsRows(ScannedRows):
    """Polars, eager or lazy. Enums become categories, whose list is that of the kept rows."""

    def check(self) -> None:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        for name, dtype in self.native.collect_schema().items():
            if dtype.is_nested() and "Enum(" in str(dtype):
                raise _unclean(name, "Enum in a nested type", str(pl.Categorical))

    def batches(self, kinds: Sequence[str]) -> Iterator[tuple[Any, int, Kinds]]:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        frame = nw.to_native(self.of_kinds(kinds))
        # What is in memory already is taken whole. Versions of Polars before 2 know no batches, or
        # end them quietly when a source breaks.
        steps = self.desk.table.was_lazy and int(pl.__version__.split(".")[0]) >= 2
        parts = (
            frame.collect_batches(chunk_size=BATCH, maintain_order=True)
            if steps
            else [frame.collect()]
        )
        for part in parts:
            if KIND in part.columns:
                yield part.drop(KIND), part.height, part[KIND].to_numpy()
            else:
                yield part, part.height, None

    def in_shells(self, aside: Mapping[str, str]) -> Any:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        return self.native.with_columns(pl.struct(n).alias(shell) for n, shell in aside.items())

    def keep(self, batch: Any, mask: BoolArray) -> Any:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        return _own_buffers(batch.filter(pl.Series(mask)))

    def of_units(self, unit: str, chosen: nw.Series[Any]) -> Any:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        wanted = nw.to_native(chosen)
        return _own_buffers(self.native.filter(pl.col(unit).is_in(wanted.implode())).collect())

    def finish(self, parts: Sequence[Any]) -> Any:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        empty = self.native.limit(0).collect()
        made = pl.concat([empty, *parts], rechunk=True)
        made = made.with_columns(pl.selectors.enum().cast(pl.Categorical))
        # "Sorted" is said of all rows that there were; what is taken place by place is not marked.
        marked = [column.name for column in made if any(column.flags.values())]
        if marked:
            made = made.with_columns(pl.col(marked).gather(np.arange(made.height)))
        return made.lazy() if self.desk.table.was_lazy else made


def _own_buffers(frame: Any) -> Any:
    """Text and nested columns copied: a filtered one may still hold the whole column's text."""
    import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    others = [n for n, dtype in frame.schema.items() if dtype == pl.Binary or dtype.is_nested()]
    columns: list[Any] = [pl.concat_str(pl.col(n), pl.lit("")).alias(n) for n in texts]
    if others:
        # The older text format, written out and read back, holds what it shows and no more.
        store = BytesIO()
        frame.select(others).write_ipc_stream(store, compat_level=pl.CompatLevel.oldest())
        store.seek(0)
        columns.extend(pl.read_ipc_stream(store).get_columns())
    return frame.with_columns(columns) if columns else frame


class DuckDBRows(ScannedRows):
    """A DuckDB relation: rows pass by in Arrow batches, and the kept ones are held in memory.

    An ENUM becomes text: DuckDB makes such types of pandas' categories, with all their words.
    """

    def check(self) -> None:
        for name, dtype in zip(self.native.columns, self.native.types, strict=True):
            kind = str(dtype)
            if kind == "BIT":
                raise _unclean(name, kind, "VARCHAR")
            if "ENUM(" in kind and dtype.id != "enum":
                raise _unclean(name, "ENUM in a nested type", "VARCHAR")

    def batches(self, kinds: Sequence[str]) -> Iterator[tuple[Any, int, Kinds]]:
        import pyarrow as pa  # noqa: PLC0415 - what DuckDB hands out

        for batch in _reader(nw.to_native(self.of_kinds(kinds))):
            part = pa.Table.from_batches([batch])
            if KIND in part.column_names:
                found = part[KIND].to_numpy()
                yield part.drop_columns([KIND]), part.num_rows, found
            else:
                yield part, part.num_rows, None

    def in_shells(self, aside: Mapping[str, str]) -> Any:
        parts = ", ".join(f"{{{_quoted(n)}: {_quoted(n)}}} AS {s}" for n, s in aside.items())
        return self.native.query("onesided_rows", f"SELECT *, {parts} FROM onesided_rows")  # noqa: S608

    def keep(self, batch: Any, mask: BoolArray) -> Any:
        import pyarrow as pa  # noqa: PLC0415 - what DuckDB hands out

        return batch.filter(pa.array(mask))

    def of_units(self, unit: str, chosen: nw.Series[Any]) -> Any:
        import pyarrow as pa  # noqa: PLC0415 - what DuckDB hands out

        onesided_chosen = pa.table({unit: nw.to_native(chosen)})  # noqa: F841 - found by its name
        # A join gives rows as its threads come by them, each a stretch of the table: where one ends
        # would tell how many rows were left out before it.
        rows = self.native.query(
            "onesided_rows",
            f"SELECT * EXCLUDE ({_PLACE}) FROM (SELECT *, row_number() OVER () AS {_PLACE} "  # noqa: S608
            f"FROM onesided_rows) SEMI JOIN onesided_chosen USING ({_quoted(unit)}) "
            f"ORDER BY {_PLACE}",
        )
        return _reader(rows).read_all()

    def finish(self, parts: Sequence[Any]) -> Any:
        import pyarrow as pa  # noqa: PLC0415 - what DuckDB hands out

        empty = _reader(self.native.limit(0)).read_all()
        onesided_sample = pa.concat_tables([empty, *parts]).combine_chunks()  # noqa: F841
        kinds = ("VARCHAR" if t.id == "enum" else t for t in self.native.types)
        columns = zip(self.native.columns, kinds, strict=True)
        wanted = ", ".join(f"CAST({_quoted(c)} AS {kind}) AS {_quoted(c)}" for c, kind in columns)
        text = f"SELECT {wanted} FROM onesided_sample"  # noqa: S608 - quoted, and of its own schema
        return self.native.query("onesided_rows", text)


def _reader(relation: Any) -> Any:
    newer = hasattr(relation, "to_arrow_reader")
    return relation.to_arrow_reader(BATCH) if newer else relation.fetch_record_batch(BATCH)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class PandasRows(HeldRows):
    """A pandas frame. The sample has a fresh index: the old one would number the gaps.

    Columns that Arrow holds are made anew: of a frame that is kept whole pandas copies nothing.
    """

    def check(self) -> None:
        for name, dtype in self.native.dtypes.items():
            if "dictionary<" in str(dtype) or "run_end" in str(dtype):
                raise _unclean(str(name), str(dtype), "pandas' own category type")

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
                raise _unclean(column.name, kind, "a plain type")

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


def _unclean(column: str, kind: str, other: str) -> DataError:
    return DataError(
        f"Column {column!r} holds {kind}, out of which rows cannot be cut cleanly.",
        hint=f"Cast it to {other}. Nothing was drawn and nothing was recorded.",
        column=column,
    )
