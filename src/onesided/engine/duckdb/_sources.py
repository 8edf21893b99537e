"""Where DuckDB's snapshots come from: a caller's relation, or an Arrow table that was handed in.

Of a relation the columns are copied by their bare names, as a stream of Arrow: on the caller's
connection no expression of ours runs. What came is read where it lies if it is small and of types
that need no cast; else it is copied once more, into a table of ours, which spills. A type is taken
if its extreme values came through as they were on the way that it goes, tried once on connections
of our own; others are refused by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib.util import find_spec
from itertools import chain, count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

import narwhals as nw

from onesided.engine._protocol import places_of
from onesided.engine._sql import literal, quoted
from onesided.engine.duckdb._condition import connected
from onesided.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

# Extreme values of each type, and some between, as DuckDB writes them.
_WHOLE: Final = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
_EXTREMES: Final[Mapping[str, tuple[str, ...]]] = {
    **{kind: (str(-(2**bits)), "0", str(2**bits - 1)) for kind, bits in _WHOLE.items()},
    **{
        f"U{kind}": ("0", str(2 ** (bits + 1) - 1))
        for kind, bits in _WHOLE.items()
        if kind != "HUGEINT"
    },
    "BOOLEAN": ("true", "false"),
    "VARCHAR": ("", "a", "\u00e9\u0301\U0001f600", " x "),
    "BLOB": ("", "\\x00\\xFF"),
    "FLOAT": ("nan", "-inf", "inf", "-0.0", "1e-45", "3.4028235e38"),
    "DOUBLE": ("nan", "-inf", "inf", "-0.0", "5e-324", "1.7976931348623157e308"),
    "DATE": ("0001-01-01", "1969-12-31", "9999-12-31", "-infinity", "infinity"),
    "TIME": ("00:00:00", "23:59:59.999999", "24:00:00"),
    "TIMESTAMP": ("0001-01-01 00:00:00.000001", "9999-12-31 23:59:59.999999", "infinity"),
    "TIMESTAMP_S": ("0001-01-01 00:00:01", "9999-12-31 23:59:59"),
    "TIMESTAMP_MS": ("0001-01-01 00:00:00.001", "9999-12-31 23:59:59.999"),
    "TIMESTAMP_NS": ("1677-09-22 00:00:00.000000001", "2262-04-11 00:00:00.999999999"),
    "TIMESTAMP WITH TIME ZONE": (
        "0001-01-01 00:00:00.000001+00",
        "9999-12-31 23:59:59.999999+00",
        "infinity",
    ),
    "UUID": ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
}
# Types in which values that differ count as equal, or that no other engine has.
_REFUSED: Final = ("bit", "interval", "time with time zone", "variant", "geometry", "union")
# What a stream may bring in place of a type, without a loss.
_CARRIED: Final = {"HUGEINT": ("DECIMAL(38,0)",), "VARCHAR": ("UUID", "JSON")}
_WORDS: Final = ("VARCHAR", "enum")
_EMPTY: Final = "rows_none"
_NESTED: Final = ("list", "array", "struct", "map")
# Types that are read where they came, as far as their extreme values are kept there.
_LEFT: Final = frozenset(_EXTREMES) - {"HUGEINT", "UUID", "BLOB"}
_MOST: Final = 2**28  # bytes that are read where they came, if all memory is not less than 8 times
# Projections, each of what the one before gives: what it uses often is written once.
Steps: TypeAlias = Sequence[Sequence[str]]


class Source(ABC):
    """Columns that snapshots are taken of.

    refused: columns that may not be asked of, with what they hold. kinds: what a relation calls its
    columns' types; empty for a table that was mapped before. fixed: as of :class:`Engine`.
    """

    fixed: ClassVar[bool] = False
    refused: Mapping[str, str]
    kinds: Mapping[str, str] = MappingProxyType({})

    @abstractmethod
    def dtypes(self, connection: Any) -> dict[str, nw.dtypes.DType]:
        """The types of all columns, as snapshots have them."""

    @abstractmethod
    def lay(
        self, connection: Any, columns: Sequence[str], steps: Steps, *, rows: bool
    ) -> AbstractContextManager[Any]:
        """Within, the columns lie there as a relation, called c0, c1 ...

        steps: what is made of them, one step after the other, as SQL of their names there. rows:
        False takes none.
        """


class ArrowSource(Source):
    """An Arrow table of mapped columns, which nobody can change; DuckDB reads that."""

    fixed = True

    def __init__(self, table: pa.Table, refused: Mapping[str, str]) -> None:
        self.refused, self._names = refused, table.column_names
        self._table = table.rename_columns(places_of(table.num_columns))

    def dtypes(self, connection: Any) -> dict[str, nw.dtypes.DType]:
        if not self._names:
            return {}
        with self.lay(connection, self._names, (), rows=False) as empty:
            return dict(zip(self._names, _dtypes(empty), strict=True))

    @contextmanager
    def lay(
        self, connection: Any, columns: Sequence[str], steps: Steps, *, rows: bool
    ) -> Iterator[Any]:
        whole = self._table if rows else self._table.slice(0, 0)
        if not columns:
            yield _nothing_of(connection, whole.num_rows)
            return
        places = places_of(len(columns))
        taken = whole.select([self._names.index(name) for name in columns]).rename_columns(places)
        yield _stepped(connection.from_arrow(taken), steps)


class RelationSource(Source):
    """A caller's relation: its columns are copied as an Arrow stream into a table of ours."""

    def __init__(self, native: Any, connection: Any) -> None:
        self._native, self._numbers = native, count()
        held = dict(zip(native.columns, native.types, strict=True))
        self._casts = {name: cast for name, kind in held.items() if (cast := _cast(kind))}
        self.refused = {
            name: str(kind)
            for name, kind in held.items()
            if name not in self._casts and kind.id not in _NESTED
        }
        self.kinds = {name: str(kind) for name, kind in held.items()}
        self._nested = [name for name, kind in held.items() if kind.id in _NESTED]
        self._places = dict(zip(self._casts, places_of(len(self._casts)), strict=True))
        columns = list(self._casts)
        empty = native.project(", ".join(map(quoted, columns)) or "1").limit(0)
        self._copy(connection, _EMPTY, columns, (), empty)

    def dtypes(self, connection: Any) -> dict[str, nw.dtypes.DType]:
        found = _dtypes(connection.table(_EMPTY))
        known = dict(zip(self._casts, found, strict=False))
        known |= {name: self._nested_type(connection, name) for name in self._nested}
        return {name: known.get(name, nw.Unknown()) for name in self.kinds}

    def _nested_type(self, connection: Any, name: str) -> nw.dtypes.DType:
        """Asked on this side: on the caller's, even that may call a function of his."""
        empty = self._native.project(quoted(name)).limit(0)
        connection.register("nested", empty.__arrow_c_stream__())
        try:
            return _dtypes(connection.table("nested"))[0]
        finally:
            connection.unregister("nested")

    @contextmanager
    def lay(
        self, connection: Any, columns: Sequence[str], steps: Steps, *, rows: bool
    ) -> Iterator[Any]:
        if not rows:
            yield self._without_rows(connection, columns, steps)
            return
        if not columns:
            # How many rows there are, by a constant for each: no column is read.
            connection.register("rows_all", self._native.project("1").__arrow_c_stream__())
            try:
                ((found,),) = connection.sql("SELECT count(*) FROM rows_all").fetchall()
            finally:
                connection.unregister("rows_all")
            yield _nothing_of(connection, int(found))
            return
        name = f"rows_{next(self._numbers)}"
        stream: Any = self._native.project(", ".join(map(quoted, columns)))
        if len(steps) == 1 and find_spec("pyarrow") is not None and self._stays(columns):
            # Several steps, made for each reading, would read texts as many times.
            table, stream = _come(stream, most=_room(connection))
            if table is not None:
                connection.register(name, table.rename_columns(places_of(len(columns))))
                try:
                    came = connection.table(name)
                    _require(columns, [self._casts[name] for name in columns], came.types)
                    yield _stepped(came, steps)
                finally:
                    connection.unregister(name)
                return
        self._copy(connection, name, columns, steps, stream)
        try:
            yield connection.table(name)
        finally:
            connection.execute(f"DROP TABLE {name}")

    def _stays(self, columns: Sequence[str]) -> bool:
        """Whether columns are read where they came as they were."""
        casts = (self._casts.get(name, "") for name in columns)
        return all(
            cast in _LEFT and cast == self.kinds[name] and _is_kept(cast, left=True)
            for name, cast in zip(columns, casts, strict=True)
        )

    def _without_rows(self, connection: Any, columns: Sequence[str], steps: Steps) -> Any:
        empty, places = connection.table(_EMPTY), places_of(len(columns))
        if not columns:
            return _nothing_of(connection, 0)
        pairs = zip(columns, places, strict=True)
        taken = empty.project(
            ", ".join(f"{self._places[name]} AS {place}" for name, place in pairs)
        )
        return _stepped(taken, steps)

    def _copy(
        self, connection: Any, name: str, columns: Sequence[str], steps: Steps, taken: Any
    ) -> None:
        """Copy what was taken by bare names alone; what is made of it is made on this side."""
        places, stream = places_of(len(columns) or 1), f"from_{name}"
        casts = [self._casts.get(column, "") for column in columns] or [""]
        given = ", ".join(
            f"CAST({place} AS {cast}) AS {place}" if cast else place
            for place, cast in zip(places, casts, strict=True)
        )
        told = f"(SELECT {given} FROM {stream} AS t({', '.join(places)}))"  # noqa: S608 - names of ours
        for step in steps:
            told = f"(SELECT {', '.join(step)} FROM {told})"  # noqa: S608 - as above
        connection.register(stream, taken.__arrow_c_stream__())
        try:
            _require(columns, casts, connection.table(stream).types)
            connection.execute(f"CREATE TEMP TABLE {name} AS FROM {told}")
        finally:
            connection.unregister(stream)


def _require(columns: Sequence[str], casts: Sequence[str], came: Sequence[Any]) -> None:
    """Refuse what settings of the caller's connection changed on the way. Errors: DataError."""
    for column, cast, kind in zip(columns, casts, came, strict=False):
        same = str(kind) in (cast, *_CARRIED.get(cast, ())) or (cast, kind.id) == _WORDS
        if cast and not same:
            raise DataError(
                f"The column {column!r} came as {kind} and not as {cast}.",
                hint="Reset the settings of the connection that begin with arrow_.",
                column=column,
            )


def _come(relation: Any, *, most: int) -> tuple[Any, Any]:
    """All that a stream brings as a table, if that is no more bytes; else the stream itself."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    stream, held, size = pa.RecordBatchReader.from_stream(relation), [], 0
    for batch in stream:
        held.append(batch)
        size += batch.nbytes
        if size > most:
            return None, pa.RecordBatchReader.from_batches(stream.schema, chain(held, stream))
    return pa.Table.from_batches(held, stream.schema), None


def _room(connection: Any) -> int:
    """How many bytes may lie beside a connection's own memory, such as 7.4 GiB: an eighth of it."""
    ((told,),) = connection.sql("SELECT current_setting('memory_limit')").fetchall()
    number, unit = told.split()
    return min(_MOST, int(float(number) * 2 ** (10 * " KMGT".find(unit[0])) / 8))


def _nothing_of(connection: Any, rows: int) -> Any:
    """A relation of so many rows, that holds nothing of them."""
    return connection.sql(f"SELECT 1 AS c0 FROM range({rows})")  # noqa: S608 - a number


def _stepped(relation: Any, steps: Steps) -> Any:
    for step in steps:
        relation = relation.project(", ".join(step))
    return relation


def _dtypes(relation: Any) -> list[nw.dtypes.DType]:
    return list(nw.from_native(relation).collect_schema().values())


def _cast(kind: Any) -> str:
    """The type that a column of this type has in snapshots; "" for one of no list."""
    name = str(kind)
    if kind.id in ("enum", "uuid") or name == "JSON":
        return "VARCHAR"
    known = name in _EXTREMES or kind.id == "decimal"
    return name if known and kind.id not in _REFUSED and _is_kept(name) else ""


@cache
def _is_kept(kind: str, *, left: bool = False) -> bool:
    """Whether extreme values of a type come through a stream of Arrow as they were.

    left: whether so, and of the same type, if they are read where they came.
    """
    values = _EXTREMES.get(kind) or _decimals(kind)
    rows = ", ".join(f"({literal(value)})" for value in values)
    there, here = connected(), connected()
    given = there.sql(f"SELECT CAST(v AS {kind}) AS v FROM (VALUES {rows}) AS t(v)")  # noqa: S608
    wanted = given.project("CAST(v AS VARCHAR)").fetchall()
    if left:
        table, _ = _come(given, most=2**20)  # a few values
        came = here.from_arrow(table)
        found = came.project("CAST(v AS VARCHAR)").fetchall()
        return bool(found == wanted and list(map(str, came.types)) == [kind])
    here.register("given", given.__arrow_c_stream__())
    told = f"SELECT CAST(CAST(v AS {kind}) AS VARCHAR) FROM given"  # noqa: S608 - a type's name
    return bool(here.sql(told).fetchall() == wanted)


def _decimals(kind: str) -> tuple[str, ...]:
    """The ends of a type of decimals, such as DECIMAL(18,3)."""
    digits, scale = map(int, kind.removeprefix("DECIMAL(").removesuffix(")").split(","))
    most = "9" * (digits - scale) + "." + "9" * scale
    return (f"-{most}", "0", most)
