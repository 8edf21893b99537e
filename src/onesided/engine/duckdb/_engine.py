"""A table in DuckDB: a caller's relation, or a pandas or PyArrow table on a connection of ours."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine._protocol import (
    LENGTH,
    ORDER,
    ROW,
    Column,
    Engine,
    KeyTypes,
    Lazy,
    text_of,
    unread_of,
)
from onesided.engine._sampling import Draw, Samples, sampler
from onesided.engine._words import Words
from onesided.engine.duckdb._arrow import mapped
from onesided.engine.duckdb._callers import ArrowCaller, Caller, PandasCaller, RelationCaller
from onesided.engine.duckdb._pandas import as_arrow
from onesided.engine.duckdb._plan import refuse_unrepeatable
from onesided.engine.duckdb._rows import DuckDBRows
from onesided.engine.duckdb._strict import canonical, known, value
from onesided.engine.duckdb._text import finds_python, handed_over, quoted, refuse_collated, spelt
from onesided.engine.duckdb._words import words
from onesided.errors import MissingDependencyError

if TYPE_CHECKING:
    from onesided.engine._subject import Subject
    from onesided.noise import IntArray
    from onesided.schema import Reading

# Types in which values that differ count as equal, or that no other engine has.
_REFUSED: Final = ("bit", "interval", "time with time zone", "variant", "geometry", "union")
# So many public values are written into a query; more are handed over as they are.
_SPELT: Final = 1_000
# A connection of ours reads no file and finds no variable: tables are handed to it.
_CLOSED: Final = {"enable_external_access": "false", "python_enable_replacements": "false"}


def relation_engine(native: Any) -> DuckDBEngine:
    """A caller's relation, on the caller's connection. Errors: DataError for one that changes."""
    refuse_unrepeatable(native)
    texts = {
        name: "VARCHAR"
        for name, kind in zip(native.columns, native.types, strict=True)
        if kind.id in ("enum", "uuid")
    }
    refused = {
        name: str(kind)
        for name, kind in zip(native.columns, native.types, strict=True)
        if kind.id in _REFUSED
    }
    return DuckDBEngine(native, caller=RelationCaller(native), texts=texts, refused=refused)


def arrow_engine(native: Any) -> DuckDBEngine:
    """A PyArrow table, read where it is."""
    table, refused = mapped(native)
    return _on_our_own(table, refused, ArrowCaller(native))


def pandas_engine(native: Any) -> DuckDBEngine:
    """A pandas table; what is no Arrow column is made into one."""
    table, refused, odd = as_arrow(native)
    refused |= {name: found.kind for name, found in odd.items()}
    engine = _on_our_own(table, refused, PandasCaller(native))
    engine.odd = odd
    return engine


def _on_our_own(table: Any, refused: Mapping[str, str], caller: Caller) -> DuckDBEngine:
    try:
        import duckdb  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError(
            "pandas and PyArrow tables are read by DuckDB, which is not installed.",
            hint="pip install 'onesided[pandas]' or 'onesided[pyarrow]'.",
        ) from None
    connection = duckdb.connect(config=dict(_CLOSED))
    connection.execute("SET enable_progress_bar = false")  # it is drawn among the answers
    native = connection.from_arrow(table)
    return DuckDBEngine(native, caller=caller, connection=connection, refused=refused)


class DuckDBEngine(Engine):
    """A relation. connection: our own; None where the caller's is not to be had."""

    def __init__(
        self,
        native: Any,
        *,
        caller: Caller,
        connection: Any = None,
        texts: Mapping[str, str] | None = None,
        refused: Mapping[str, str] | None = None,
    ) -> None:
        self.native, self.caller, self._connection = native, caller, connection
        self.refused = dict(refused or {})
        self._plain: set[str] | None = None  # columns known to be compared byte by byte
        # A selection of columns lacks DuckDB's own: rowid tells how many rows come before.
        wanted = ", ".join(
            f"CAST({quoted(name)} AS {texts[name]}) AS {quoted(name)}"
            if texts and name in texts
            else quoted(name)
            for name in native.columns
        )
        self.frame = nw.from_native(native.project(wanted))

    def read_as(self, readings: Mapping[str, Reading]) -> None:
        before: Any = nw.to_native(self.frame)
        held, kept = list(before.columns), [text_of(place) for place in range(len(readings))]
        others = ", ".join(quoted(name) for name in held if name not in readings)
        # A stage for each step: what the next one uses is written once.
        told, shared = before, [others] if others else []
        for step, names in ((known, list(readings)), (canonical, kept)):
            made = (
                f"{step(source, one)} AS {text if step is known else quoted(name)}"
                for source, text, (name, one) in zip(names, kept, readings.items(), strict=True)
            )
            told = told.project(", ".join((*shared, *made)))
            shared += kept
        values = {name: value(name, one) for name, one in readings.items()}
        flags = [
            f"({text} IS NOT NULL AND {made} IS NULL) AS {unread_of(place)}"
            for place, (text, made) in enumerate(zip(kept, values.values(), strict=True))
        ]
        columns = (f"{values[n]} AS {quoted(n)}" if n in values else quoted(n) for n in held)
        self.frame = nw.from_native(told.project(", ".join(columns)))
        self.texts = nw.from_native(told.project(", ".join((*kept, *flags))))
        self.read = tuple(readings)
        self.refused = {n: kind for n, kind in self.refused.items() if n not in readings}
        self.caller.read_as([name for name, one in readings.items() if one.kind != "text"])

    def numbered(self, frame: Lazy) -> Lazy:
        text = f"SELECT *, row_number() OVER () AS {ROW} FROM onesided_rows"  # noqa: S608 - ours
        return nw.from_native(nw.to_native(frame).query("onesided_rows", text))  # type: ignore[no-any-return]

    def refuse_collated(self, names: Sequence[str]) -> None:
        self._refuse_collated(self.native, names)

    def settle(self) -> None:
        self._plain = set()

    def _refuse_collated(self, native: Any, names: Sequence[str]) -> None:
        """As :meth:`refuse_collated`, of a relation that is made of this one."""
        if self._plain is None:
            refuse_collated(native, names)
            return
        own = [name for name in names if name in self.native.columns]
        refuse_collated(self.native, [name for name in own if name not in self._plain])
        self._plain.update(own)
        refuse_collated(native, [name for name in names if name not in own])

    def small(self, columns: Mapping[str, Column], *, like: Sequence[str]) -> Lazy:
        del like  # the join casts both sides
        return nw.from_native(self._public(columns))  # type: ignore[no-any-return]

    def _public(self, columns: Mapping[str, Column]) -> Any:
        """Public columns as a relation: spelt out, or handed over where they are many.

        A caller's connection may not let Python's tables be found, or hold one of that name.
        """
        size = len(next(iter(columns.values())))
        if self._connection is not None:
            return self.relation(_held(columns))
        if size > _SPELT:
            with contextlib.suppress(Exception):  # what cannot be handed over is spelt out
                made = handed_over(self.native, _held(columns))
                if list(made.columns) == list(columns):
                    return made
        arrays = {name: _array(column) for name, column in columns.items()}
        return self.native.query("onesided_data", spelt(arrays))

    def relation(self, arrays: Any) -> Any:
        """Public arrays, or an Arrow table, as a relation on the same connection."""
        if self._connection is None:
            if isinstance(arrays, dict):
                return self.native.query("onesided_data", spelt(arrays))
            if finds_python(self.native):
                return handed_over(self.native, arrays)
            columns = zip(arrays.column_names, arrays.columns, strict=True)
            plain = {name: np.array(column.to_pylist(), dtype=object) for name, column in columns}
            return self.native.query("onesided_data", spelt(plain))
        import pyarrow as pa  # noqa: PLC0415 - the caller's table came by it

        table = pa.table(arrays) if isinstance(arrays, dict) else arrays
        return self._connection.from_arrow(table)

    def null_rows(self, frame: Lazy, column: str, dtype: nw.dtypes.DType) -> int:
        name = quoted(column)
        nan = f" OR isnan({name})" if dtype.is_float() else ""
        text = f"SELECT count(*) FROM onesided_rows WHERE {name} IS NULL{nan}"  # noqa: S608 - quoted
        ((found,),) = nw.to_native(frame).query("onesided_rows", text).fetchall()
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
        joined = grouped.set_alias("g").join(self._public(keys).set_alias("k"), same)
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

    def answer(self, columns: Mapping[str, Column], types: Mapping[str, nw.dtypes.DType]) -> Any:
        return self.caller.answer(nw.to_native(self.cast(columns, types)))

    def with_hash(self, frame: Lazy, names: Sequence[str], hashed: str) -> Lazy:
        # DuckDB's hash of several columns is far from even; hashed once more it is.
        mixed = f"hash(hash({', '.join(map(quoted, names))}))"
        text = f"SELECT *, {mixed} AS {hashed} FROM onesided_rows"  # noqa: S608 - quoted names
        native: Any = nw.to_native(frame)
        return nw.from_native(native.query("onesided_rows", text))  # type: ignore[no-any-return]

    def leading(self, rows: Lazy, unit: str, order: Sequence[str], *, most: int) -> Lazy:
        native: Any = nw.to_native(rows)
        columns, own = ", ".join(map(quoted, native.columns)), quoted(unit)
        places = ", ".join((own, *map(quoted, order)))
        before = f"lag({own}, {int(most)}) OVER (ORDER BY {places})"
        text = (
            f"SELECT {columns} FROM (SELECT *, {before} AS onesided_before FROM onesided_rows) "  # noqa: S608 - quoted
            f"WHERE onesided_before IS DISTINCT FROM {own}"
        )
        return nw.from_native(native.query("onesided_rows", text))  # type: ignore[no-any-return]

    def words(self, native: Any) -> Words:
        return words(native, check=partial(self._refuse_collated, native))

    def sampler(self, subject: Subject, samples: Samples) -> Draw:
        rows = DuckDBRows(subject, caller=self.caller, beside=self.relation, refused=self.refused)
        return sampler(rows, samples)


def _held(columns: Mapping[str, Column]) -> Any:
    """Columns in a form that DuckDB reads: an Arrow table for text in a series, else arrays."""
    arrays = {n: c for n, c in columns.items() if not isinstance(c, nw.Series)}
    if len(arrays) < len(columns) and all(map(_is_numbers, arrays.values())):
        with contextlib.suppress(ImportError):
            import pyarrow as pa  # noqa: PLC0415 - DuckDB reads no series without it

            return pa.table(
                {n: c.to_arrow() if isinstance(c, nw.Series) else c for n, c in columns.items()}
            )
    return {name: _array(column) for name, column in columns.items()}


def _is_numbers(column: Column) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind in "iub"


def _array(column: Column) -> NDArray[Any]:
    """Numbers as they are; all else as objects, which DuckDB reads one by one."""
    if isinstance(column, nw.Series):
        return np.array(column.to_list(), dtype=object)
    if isinstance(column, np.ndarray) and column.dtype.kind != "U":
        days = column.dtype == np.dtype("datetime64[D]")
        return column.astype("datetime64[us]") if days else column
    plain = len(column) > 0 and isinstance(column[0], int | float | bool | np.generic)
    return np.asarray(column) if plain else np.array(column, dtype=object)
