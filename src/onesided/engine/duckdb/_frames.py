"""Tables of Arrow and pandas as DuckDB reads them: a closed list of types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet

from onesided.engine._protocol import KIND, Objects
from onesided.engine._snapshot import BATCH, Kinds, Rows, Subject
from onesided.engine.duckdb._condition import connected
from onesided.engine.duckdb._engine import Caller, DuckDBEngine, read
from onesided.engine.duckdb._sources import ArrowSource
from onesided.noise import BoolArray

# Samples of DuckDB relations.

# A byte for each number up to so many times the units takes less memory than their rows.
_DENSE: Final = 64
_PLACE: Final = "onesided_place"
_CHOSEN: Final = "onesided_chosen"


class DuckDBRows(Rows):
    """A DuckDB relation: rows pass by in Arrow batches, and the kept ones are held in memory.

    beside: makes a relation of an Arrow table on the same connection.
    """

    def __init__(self, subject: Subject, *, caller: Caller, beside: Callable[[Any], Any]) -> None:
        super().__init__(subject)
        self._caller, self._beside = caller, beside

    def batches(self, kinds: Sequence[str]) -> Iterator[tuple[Any, int, Kinds]]:
        for batch in _reader(nw.to_native(self.of_kinds(kinds))):
            part = pa.Table.from_batches([batch])
            if KIND in part.column_names:
                found = part[KIND].to_numpy()
                yield part.drop_columns([KIND]), part.num_rows, found
            else:
                yield part, part.num_rows, None

    def keep(self, batch: Any, mask: BoolArray) -> Any:
        return batch.filter(pa.array(mask))

    def of_units(self, unit: str, chosen: nw.Series[Any]) -> Any:
        units = nw.to_native(chosen)
        if pa.types.is_integer(units.type) and len(units):
            ends = pc.min_max(units).as_py()
            if ends["max"] - ends["min"] < _DENSE * len(units):
                return self._looked_up(unit, units)
        return self._joined(unit, units)

    def _looked_up(self, unit: str, chosen: Any) -> Any:
        """Rows as they pass by in the table's order, looked up in a table of a byte a number."""
        wanted, parts = _wrapped(chosen), []
        # Differences wrap at 2^64, so whatever is below the least is far above it.
        least = wanted[np.argmin(chosen.to_numpy())]
        held = np.zeros(int((wanted - least).max()) + 1, dtype=np.bool_)
        held[wanted - least] = True
        for batch in _reader(self.native):
            part = pa.Table.from_batches([batch])
            known = part.filter(pc.is_valid(part[unit])) if part[unit].null_count else part
            place = _wrapped(known[unit]) - least
            inside = place < held.size
            inside[inside] = held[place[inside]]
            parts.append(self.keep(known, inside))
        return pa.concat_tables(parts) if parts else _reader(self.native.limit(0)).read_all()

    def _joined(self, unit: str, chosen: Any) -> Any:
        """Rows joined by the engine, and then put in the table's order.

        A join gives rows as its threads come by them, each a stretch of the table: where one ends
        would tell how many rows were left out before it.
        """
        numbered = self.native.project(f"*, row_number() OVER () AS {_PLACE}").set_alias(
            "onesided_all"
        )
        wanted = self._beside(pa.table({_CHOSEN: chosen})).set_alias(_CHOSEN)
        rows = numbered.join(wanted, f"{unit} = {_CHOSEN}", how="semi").order(_PLACE)
        return _reader(rows.project(", ".join(self.native.columns))).read_all()

    def finish(self, parts: Sequence[Any]) -> Any:
        empty = _reader(self.native.limit(0)).read_all()
        # The table from what it shows and no more: written to Parquet and read back. A filtered
        # column may still hold bits beyond its end, and values under its nulls. Moments in seconds
        # pass as numbers: Parquet has milliseconds, in which the far ones do not fit.
        table = pa.concat_tables([empty, *parts])
        # Parquet has no such type: those few columns are made of Python's own values.
        aside = [
            name for name in table.column_names if "interval" in str(table.schema.field(name).type)
        ]
        passing = table.drop_columns(aside)
        written = passing.cast(
            pa.schema([field.with_type(_stored(field.type)) for field in passing.schema])
        )
        store = pa.BufferOutputStream()
        parquet.write_table(written, store, compression="none", write_statistics=False)
        read = parquet.read_table(pa.BufferReader(store.getvalue())).combine_chunks()
        columns = {
            field.name: pa.array(table[field.name].to_pylist(), field.type)
            if field.name in aside
            else read[field.name].cast(field.type)
            for field in table.schema
        }
        kept = pa.table(columns)
        return self._caller.sample(kept.rename_columns(list(self.names.values())))


def _stored(kind: Any) -> Any:
    """The type by which a type passes through Parquet."""
    types = pa.types
    if types.is_timestamp(kind) and kind.unit == "s":
        return pa.int64()
    if types.is_map(kind):
        return pa.map_(_stored(kind.key_type), _stored(kind.item_type))
    if types.is_struct(kind):
        return pa.struct([field.with_type(_stored(field.type)) for field in kind])
    if types.is_fixed_size_list(kind):
        return pa.list_(_stored(kind.value_type), kind.list_size)
    if types.is_list(kind):
        return pa.list_(_stored(kind.value_type))
    return pa.large_list(_stored(kind.value_type)) if types.is_large_list(kind) else kind


def _wrapped(column: Any) -> NDArray[np.uint64]:
    """Whole numbers of any width, those below 0 as 2^64 more."""
    numbers: NDArray[Any] = column.to_numpy()
    unsigned = numbers.dtype.kind == "u"
    return numbers.astype(np.uint64) if unsigned else numbers.astype(np.int64).view(np.uint64)


def _reader(relation: Any) -> Any:
    newer = hasattr(relation, "to_arrow_reader")
    return relation.to_arrow_reader(BATCH) if newer else relation.fetch_record_batch(BATCH)


# Arrow columns as DuckDB reads them: a closed list of types, each mapped to one that it keeps.
#
# What no mapping keeps exactly is refused by name: rounded or merged, two values could become one.

_WIDEST: Final = 38


def arrow_engine(native: Any) -> DuckDBEngine:
    """A PyArrow table, copied as a pandas one is."""
    table, refused = mapped(native)
    source = ArrowSource(owned(table), refused)
    return DuckDBEngine(source, ArrowCaller(native), connected())


class ArrowCaller(Caller):
    """A PyArrow table. The sample has no metadata: pandas' notes in it would count the rows."""

    def __init__(self, native: pa.Table) -> None:
        self._types = {field.name: field.type for field in native.schema}

    def read_as(self, names: Iterable[str]) -> None:
        for name in names:
            del self._types[name]

    def answer(self, relation: Any, names: Sequence[str]) -> Any:
        return read(relation, names)

    def sample(self, table: pa.Table) -> Any:
        return restored(table, self._types)


def mapped(table: pa.Table) -> tuple[pa.Table, dict[str, str]]:
    """The table with every column of a type that DuckDB keeps, and what was left out, by name."""
    kept, refused = {}, {}
    for field, column in zip(table.schema, table.columns, strict=True):
        try:
            kept[field.name] = _mapped(column)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError):
            refused[field.name] = str(field.type)
    return pa.table(kept) if kept else table.select([]), refused


def owned(table: pa.Table) -> pa.Table:
    """The table in memory of its own: that of a table may be NumPy's, or a file's, and change.

    Arrow does not tell whose a column is. Written as a stream and read back, it is ours.
    """
    made = {}
    for name in table.column_names:
        store = pa.BufferOutputStream()
        one = table.select([name])
        with pa.ipc.new_stream(store, one.schema) as stream:
            stream.write_table(one)
        made[name] = pa.ipc.open_stream(store.getvalue()).read_all()[name]
    return pa.table(made) if made else table


def _mapped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """One column. Errors: TypeError for a type of no list; ArrowInvalid if values would be lost."""
    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        # To values, and byte by byte: a dictionary may hold one word in two places.
        return _mapped(column.cast(kind.value_type))
    if types.is_run_end_encoded(kind):
        return _mapped(pa.chunked_array([pc.run_end_decode(c) for c in column.chunks]))
    plain = _as(kind)
    if plain is None:
        raise TypeError(str(kind))
    made = column if plain == kind else column.cast(plain)
    return _readable(made) if types.is_string(plain) or types.is_large_string(plain) else made


def _as(kind: pa.DataType) -> pa.DataType | None:
    """The type that a type is read as; None for one of no list."""
    types = pa.types
    if any(known(kind) for known in _plain()) or _rides_along(kind):
        return kind
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz) if kind.tz else kind
    if types.is_decimal(kind) and kind.precision <= _WIDEST:
        return pa.decimal128(kind.precision, kind.scale)
    mapping = (
        (types.is_float16, pa.float32()),
        (types.is_duration, pa.int64()),
        (types.is_date64, pa.date32()),
        (types.is_time, pa.time64("us")),
        (types.is_null, pa.string()),
        (types.is_string_view, pa.large_string()),
        (types.is_binary_view, pa.large_binary()),
    )
    return next((made for known, made in mapping if known(kind)), None)


def _plain() -> list[Any]:
    """The types that stay as they are."""
    types = pa.types
    return [
        types.is_boolean,
        types.is_integer,
        types.is_float32,
        types.is_float64,
        types.is_string,
        types.is_large_string,
        types.is_binary,
        types.is_large_binary,
        types.is_fixed_size_binary,
        types.is_date32,
    ]


def _rides_along(kind: pa.DataType) -> bool:
    """Whether a nested type holds nothing that had to be mapped."""
    types = pa.types
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if types.is_map(kind):
        inner = [kind.key_type, kind.item_type]
    elif types.is_struct(kind):
        inner = [kind.field(place).type for place in range(kind.num_fields)]
    else:
        inner = [kind.value_type] if lists else []
    return bool(inner) and all(_as(part) == part for part in inner)


def _readable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text, in which bytes that are no UTF-8 are unknown."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        binary = pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary()
        chunks = [_decoded(chunk.view(binary), column.type) for chunk in column.chunks]
        return pa.chunked_array(chunks, type=column.type)
    return column


def _decoded(chunk: pa.Array, kind: pa.DataType) -> pa.Array:
    def text(value: bytes | None) -> str | None:
        try:
            return None if value is None else value.decode()
        except UnicodeDecodeError:
            return None

    return pa.array([text(value) for value in chunk.to_pylist()], kind)


def restored(table: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    """What DuckDB gave back, each column of its type in ``types``; the others as they are."""
    columns = {
        name: _restored(column, types[name]) if name in types else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(columns)


def _restored(column: Any, kind: pa.DataType) -> Any:
    if pa.types.is_dictionary(kind):
        # A new list of words, in the order in which these rows have them.
        words = column.cast(kind.value_type).combine_chunks().dictionary_encode()
        words = words if isinstance(words, pa.DictionaryArray) else words.chunk(0)
        index = words.indices.cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(index, words.dictionary)
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_encode(column.cast(kind.value_type), run_end_type=kind.run_end_type)
    return pa.nulls(len(column)) if pa.types.is_null(kind) else column.cast(kind)


# pandas tables as Arrow ones, and back: columns are read by type, never by some of their rows.

_SHOWN: Final = 3
_DECIMALS: Final = (38, 9)  # digits, and those behind the point


def pandas_engine(native: Any) -> DuckDBEngine:
    """A pandas table, copied: whatever becomes of the frame changes nothing here."""
    table, refused, odd = as_arrow(native)
    source = ArrowSource(owned(table), refused | {name: found.kind for name, found in odd.items()})
    engine = DuckDBEngine(source, PandasCaller(native), connected())
    engine.odd = odd
    return engine


class PandasCaller(Caller):
    """A pandas frame. Samples have a fresh index: the old one would number the gaps."""

    def __init__(self, native: Any) -> None:
        self._types: dict[str, Any] = dict(native.dtypes)
        self._backed = any(type(kind).__name__ == "ArrowDtype" for kind in native.dtypes)

    def read_as(self, names: Iterable[str]) -> None:
        for name in names:
            del self._types[name]

    def answer(self, relation: Any, names: Sequence[str]) -> Any:
        if self._backed:
            return read(relation, names).to_pandas(types_mapper=pd.ArrowDtype)
        return read(relation, names).to_pandas()

    def sample(self, table: pa.Table) -> Any:
        # An Arrow table as pandas', each column of its type in ``types``.
        made = {
            name: _series(column, self._types[name]) if name in self._types else column.to_pandas()
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
        return pd.DataFrame(made, columns=table.column_names)


def as_arrow(frame: pd.DataFrame) -> tuple[pa.Table, dict[str, str], dict[str, Objects]]:
    """The table as DuckDB reads it; what was left out, and objects that are no text, by name."""
    columns, refused = {}, {}
    odd: dict[str, Objects] = {}
    for name in frame.columns:
        try:
            if _is_objects(frame[name].dtype):
                columns[name], found = _of_objects(frame[name])
                odd |= {name: found} if found else {}
            else:
                columns[name] = _arrow_of(frame[name])
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            refused[name] = str(error) if type(error) is TypeError else str(frame[name].dtype)
    table, more = mapped(pa.table(columns))
    return table, {**refused, **more}, odd


def _arrow_of(series: pd.Series[Any]) -> Any:
    """One column. Errors: TypeError saying what it holds, for types of no list."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        categories, codes = pd.Series(dtype.categories), series.cat.codes.to_numpy()
        words, odd = _of_objects(categories) if _is_objects(categories.dtype) else (None, None)
        if odd is not None:
            raise TypeError(f"categories of {odd.kind}")
        words = _arrow_of(categories) if words is None else words
        return words.take(pa.array(codes, mask=codes < 0))
    if isinstance(dtype, pd.SparseDtype | pd.PeriodDtype | pd.IntervalDtype) or dtype.kind == "c":
        raise TypeError(str(dtype))
    made = pa.array(series, from_pandas=True)
    return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made


def _is_objects(dtype: Any) -> bool:
    return dtype.kind == "O" and isinstance(dtype, np.dtype)


def _of_objects(series: pd.Series[Any]) -> tuple[Any, Objects | None]:
    """A column of Python objects, which is text; what is missing to pandas is null.

    No row decides how another is read: what is neither is told beside, and null in the column. A
    column of ``Decimal`` alone, as drivers of databases give it, holds decimals of one fixed type.
    """
    values = series.to_numpy()
    other = np.fromiter((not isinstance(one, str) for one in values), np.bool_, len(values))
    known = ~pd.isna(values)
    places = np.flatnonzero(other & known)
    if places.size and all(isinstance(one, Decimal) for one in values[known]):
        try:
            return pa.array(np.where(known, values, None), pa.decimal128(*_DECIMALS)), None
        except pa.ArrowInvalid:
            raise TypeError("Decimal values beyond 29 digits before the point, 9 after") from None
    found = None
    if places.size:
        some = tuple((int(place) + 1, repr(values[place])) for place in places[:_SHOWN])
        kind = type(values[places[0]]).__name__
        found = Objects(f"Python objects that are no text ({kind})", int(places.size), some)
    texts: Any = np.where(other, None, values)
    try:
        return pa.array(texts, pa.string(), from_pandas=True), found
    except UnicodeEncodeError:  # what cannot be written as UTF-8 is unknown
        same = (one is None or one.encode(errors="replace").decode() == one for one in texts)
        plain = [one if kept else None for one, kept in zip(texts, same, strict=True)]
        return pa.array(plain, pa.string(), from_pandas=True), found


def _series(column: Any, dtype: Any) -> Any:
    """A column of this pandas type, from its values alone."""
    if isinstance(dtype, pd.CategoricalDtype):
        values = column.to_pylist()
        words = sorted({value for value in values if value is not None})
        return pd.Series(pd.Categorical(values, categories=words))
    if dtype.kind == "O" and isinstance(dtype, np.dtype):
        return pd.Series(np.array([*column.to_pylist(), None], dtype=object)[:-1])
    if isinstance(dtype, pd.ArrowDtype):
        whole = restored(pa.table({"x": column}), {"x": dtype.pyarrow_dtype})["x"]
        return pd.Series(dtype.__from_arrow__(whole))
    if dtype.kind == "m":
        ticks = column.fill_null(np.iinfo(np.int64).min).to_numpy()
        return pd.Series(ticks.view(dtype))
    if hasattr(dtype, "__from_arrow__"):
        kind = pa.array(pd.array([], dtype=dtype)).type
        return pd.Series(dtype.__from_arrow__(column.cast(kind)))
    return pd.Series(column.to_numpy()).astype(dtype)
