"""Tables in DuckDB: all that is asked of a snapshot runs on a connection of our own."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine._packed import Packing
from onesided.engine._protocol import (
    LENGTH,
    ORDER,
    ROW,
    Column,
    KeyTypes,
    Lazy,
    SteppedEngine,
    Taking,
    Words,
)
from onesided.engine._snapshot import Draw, Keeping, Samples, Subject, sampler, unclean
from onesided.engine._sql import quoted
from onesided.engine.duckdb import _condition
from onesided.engine.duckdb._condition import DuckDBTerms, column_type, connected
from onesided.engine.duckdb._sources import RelationSource, Source
from onesided.noise import IntArray
from onesided.schema import Reading

if TYPE_CHECKING:
    import pyarrow as pa


# Whose table DuckDB reads: answers and samples go back in the form in which the table came.


class Caller(ABC):
    """The form of the caller's own table."""

    @abstractmethod
    def read_as(self, names: Iterable[str]) -> None:
        """Forget the types of columns that are now read as others."""

    @abstractmethod
    def answer(self, relation: Any, names: Sequence[str]) -> Any:
        """A small public relation in the caller's form, its columns called ``names``."""

    @abstractmethod
    def sample(self, table: pa.Table) -> Any:
        """Rows of the caller's own table, as DuckDB gave them back, in the caller's form."""


class RelationCaller(Caller):
    """A DuckDB relation. An ENUM becomes text: its list would name values of suppressed rows."""

    def __init__(self, native: Any) -> None:
        self._native, self._declared = native, frozenset[str]()

    def read_as(self, names: Iterable[str]) -> None:
        self._declared = frozenset(names)

    def answer(self, relation: Any, names: Sequence[str]) -> Any:
        if find_spec("pyarrow") is None:
            pairs = zip(relation.columns, names, strict=True)
            return relation.project(", ".join(f"{c} AS {quoted(name)}" for c, name in pairs))
        return _handed_over(self._native, read(relation, names))

    def sample(self, table: pa.Table) -> Any:
        kinds = ("VARCHAR" if kind.id == "enum" else kind for kind in self._native.types)
        columns = zip(self._native.columns, kinds, strict=True)
        wanted = ", ".join(
            quoted(c) if c in self._declared else f"CAST({quoted(c)} AS {kind}) AS {quoted(c)}"
            for c, kind in columns
        )
        return _handed_over(self._native, table).project(wanted)


def read(relation: Any, names: Sequence[str]) -> pa.Table:
    table: pa.Table = relation.to_arrow_table()
    return table.rename_columns(list(names))


def _handed_over(native: Any, table: pa.Table) -> Any:
    """A public table beside the caller's own, or on a connection of ours where that gives another.

    The caller's connection may not let Python's tables be found, or hold one of that name.
    """
    onesided_small = table  # noqa: F841 - DuckDB finds it by its name
    with contextlib.suppress(Exception):
        made = native.query("onesided_data", "SELECT * FROM onesided_small").select("*")
        if made.to_arrow_table() == table:
            return made
    return connected().from_arrow(table)


_LOST: Final = ("TIME WITH TIME ZONE", "UHUGEINT", "TIME_NS", "BIT[")


def relation_engine(native: Any) -> DuckDBEngine:
    """A caller's relation."""
    connection = connected(native)
    return DuckDBEngine(RelationSource(native, connection), RelationCaller(native), connection)


class DuckDBEngine(SteppedEngine):
    """A source of columns, and the connection on which they are asked. caller: whose they are."""

    reader: ClassVar[Any] = _condition

    def __init__(self, source: Source, caller: Caller, connection: Any) -> None:
        self.caller, self._source, self._connection = caller, source, connection
        self.fixed = source.fixed
        self.refused = dict(source.refused)
        self._numbers = count()
        self.types = source.dtypes(connection)

    @contextmanager
    def snapshot(self, columns: Sequence[str], how: Taking) -> Iterator[Lazy]:
        steps = [
            [f"{made} AS {at}" for at, made in step.items()] for step in self.steps(columns, how)
        ]
        with self._source.lay(self._connection, columns, steps, rows=how.rows) as laid:
            yield nw.from_native(laid)

    def plain(self, name: str, place: str, how: Taking) -> str:
        if self.types[name].is_float() and name not in self.readings and not how.records:
            return f"CASE WHEN isnan({place}) THEN NULL ELSE {place} END"
        return place

    def read_as(self, readings: Mapping[str, Reading]) -> None:
        super().read_as(readings)
        self.caller.read_as([name for name, one in readings.items() if one.kind != "text"])

    def numbered(self, frame: Lazy) -> Lazy:
        return _of_rows(frame, f"SELECT *, row_number() OVER () AS {ROW} FROM onesided_rows")  # noqa: S608 - ours

    def small(self, columns: Mapping[str, Column], *, like: KeyTypes) -> Lazy:
        del like  # the join casts both sides
        return nw.from_native(self.relation(_held(columns)))  # type: ignore[no-any-return]

    def relation(self, arrays: Any) -> Any:
        """Public arrays, or an Arrow table, as a relation on the same connection."""
        if not isinstance(arrays, dict):
            return self._connection.from_arrow(arrays)
        if find_spec("pyarrow") is not None:
            import pyarrow as pa  # noqa: PLC0415 - optional

            return self._connection.from_arrow(pa.table(arrays))
        name = f"small_{next(self._numbers)}"
        self._connection.register(name, arrays)
        return self._connection.table(name)

    def null_rows(self, frame: Lazy, column: str) -> int:
        native: Any = nw.to_native(frame)
        ((found,),) = native.filter(f"{column} IS NULL").aggregate("count(*)").fetchall()
        return int(found)

    def key_counts(
        self, rows: Lazy, keys: Mapping[str, Column], types: KeyTypes, *, unit: str | None
    ) -> tuple[IntArray, IntArray]:
        """As for every engine, in few statements: DuckDB binds each one anew."""
        native: Any = nw.to_native(rows)
        names = ", ".join(map(quoted, types))
        pairs = "onesided_rows"
        if unit is not None:
            pairs = f"(SELECT DISTINCT {quoted(unit)}, {names} FROM onesided_rows)"  # noqa: S608 - quoted
        grouped = native.query(
            "onesided_rows",
            f"SELECT {names}, count(*) AS {LENGTH} FROM {pairs} GROUP BY {names}",  # noqa: S608 - quoted
        )
        held = dict(zip(grouped.columns, map(str, grouped.types), strict=True))
        kinds = {n: "BIGINT" if kind == nw.Int64() else held[n] for n, kind in types.items()}
        same = " AND ".join(
            f"CAST(g.{quoted(name)} AS {kind}) = CAST(k.{quoted(name)} AS {kind})"
            for name, kind in kinds.items()
        )
        joined = grouped.set_alias("g").join(self.relation(_held(keys)).set_alias("k"), same)
        found = joined.project(f"k.{ORDER}, g.{LENGTH}").fetchnumpy()
        return found[ORDER], found[LENGTH]

    def fetch(self, frame: Lazy) -> dict[str, NDArray[Any]]:
        names = frame.collect_schema().names()
        # Sums are wider than 64 bits, and would be told as floats.
        wide = ", ".join(f"CAST({quoted(name)} AS BIGINT) AS {quoted(name)}" for name in names)
        native: Any = nw.to_native(frame)
        return {
            name: np.ma.filled(column, 0)
            for name, column in native.project(wide).fetchnumpy().items()
        }

    def columns(self, frame: Lazy) -> dict[str, nw.Series[Any] | list[Any]]:
        if find_spec("pyarrow") is not None:
            return super().columns(frame)
        native: Any = nw.to_native(frame)
        rows = native.fetchall()
        return {name: [row[i] for row in rows] for i, name in enumerate(native.columns)}

    def told(self, columns: Mapping[str, Column], types: KeyTypes, names: Sequence[str]) -> Any:
        return self.caller.answer(nw.to_native(self.cast(columns, types)), names)

    def with_hash(self, frame: Lazy, names: Sequence[str], hashed: str) -> Lazy:
        # DuckDB's hash of several columns is far from even; hashed once more it is.
        mixed = f"hash(hash({', '.join(map(quoted, names))}))"
        return _of_rows(frame, f"SELECT *, {mixed} AS {hashed} FROM onesided_rows")  # noqa: S608 - quoted

    def leading(self, rows: Lazy, unit: str, order: Sequence[str], *, most: int) -> Lazy:
        columns, own = ", ".join(map(quoted, nw.to_native(rows).columns)), quoted(unit)
        places = ", ".join((own, *map(quoted, order)))
        before = f"lag({own}, {int(most)}) OVER (ORDER BY {places})"
        text = (
            f"SELECT {columns} FROM (SELECT *, {before} AS onesided_before FROM onesided_rows) "  # noqa: S608 - quoted
            f"WHERE onesided_before IS DISTINCT FROM {own}"
        )
        return _of_rows(rows, text)

    def packed(
        self, rows: Lazy, unit: str, code: str, packing: Packing, part: int
    ) -> Sequence[NDArray[Any]]:
        own, number = quoted(unit), quoted(code)
        owner, place = f"CAST({own} AS BIGINT)", f"CAST({number} AS UBIGINT)"
        if packing.most is not None:
            top = f"hash(hash({own}, {number})) >> {packing.dropped}"
            place = f"((({top}) << {packing.bits}) | {place})"
        if packing.least is not None:
            above = f"CAST({owner} - CAST('{packing.least}' AS BIGINT) AS UBIGINT)"
            place = f"(({above} << {packing.width}) | {place})"
        else:
            place = f"{place} AS onesided_place, {owner}"
        which = f"{own} IS NOT NULL AND hash({own}) % {packing.parts} = {part}"
        text = f"SELECT {place} FROM onesided_rows WHERE {which}"  # noqa: S608 - ours
        return list(nw.to_native(rows).query("onesided_rows", text).fetchnumpy().values())

    def words(self, native: Any) -> Words:
        import duckdb  # noqa: PLC0415 - optional

        held = dict(zip(native.columns, map(str, native.types), strict=True))
        return Words(
            held=held,
            types={column: column_type(kind) for column, kind in held.items()},
            terms=DuckDBTerms(held),
            add=lambda made, name: native.select(
                duckdb.StarExpression(), duckdb.SQLExpression(made).alias(name)
            ),
            keep=lambda made: native.filter(duckdb.SQLExpression(made)),
        )

    def refuse_uncut(self) -> None:
        for name, kind in self.refused.items():
            if name not in self.types or name in self.odd:
                raise unclean(name, kind, "a plain type")
        for name, kind in self._source.kinds.items():
            # A stream of Arrow changes these: people told apart by them would become one.
            if any(lost in kind for lost in _LOST) or kind == "BIT":
                raise unclean(name, kind, "VARCHAR")
            if "ENUM(" in kind and not (kind.startswith("ENUM(") and kind.endswith(")")):
                raise unclean(name, "ENUM in a nested type", "VARCHAR")

    def sampler(self, subject: Subject, samples: Samples, keeping: Keeping | None) -> Draw:
        from onesided.engine.duckdb._frames import DuckDBRows  # noqa: PLC0415 - PyArrow is optional

        rows = DuckDBRows(subject, caller=self.caller, beside=self.relation)
        return sampler(rows, samples, keeping)


def _of_rows(frame: Lazy, text: str) -> Lazy:
    """What SQL of ours makes of ``onesided_rows``."""
    return nw.from_native(nw.to_native(frame).query("onesided_rows", text))  # type: ignore[no-any-return]


def _held(columns: Mapping[str, Column]) -> Any:
    """Columns in a form that DuckDB reads: an Arrow table for text in a series, else arrays."""
    arrays = {n: c for n, c in columns.items() if not isinstance(c, nw.Series)}
    plain = all(isinstance(c, np.ndarray) and c.dtype.kind in "iub" for c in arrays.values())
    if plain and len(arrays) < len(columns):
        with contextlib.suppress(ImportError):
            import pyarrow as pa  # noqa: PLC0415 - DuckDB reads no series without it

            return pa.table(
                {n: c.to_arrow() if isinstance(c, nw.Series) else c for n, c in columns.items()}
            )
    return {name: _array(column) for name, column in columns.items()}


def _array(column: Column) -> NDArray[Any]:
    """Numbers as they are; all else as objects, which DuckDB reads one by one."""
    if isinstance(column, nw.Series):
        return np.array(column.to_list(), dtype=object)
    if isinstance(column, np.ndarray) and column.dtype.kind != "U":
        days = column.dtype == np.dtype("datetime64[D]")
        return column.astype("datetime64[us]") if days else column
    plain = len(column) > 0 and isinstance(column[0], int | float | bool | np.generic)
    return np.asarray(column) if plain else np.array(column, dtype=object)
