"""Batch files for ``onesided monitor``: their rows, and the public time that each bears."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import duckdb
import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.cli._files import stem
from onesided.cli._key_table import with_degrees
from onesided.cli._schema import as_declared, file_of_keys, under_names, usable
from onesided.cli._tables import reading
from onesided.engine import Table
from onesided.engine.kit import Column, beside, position_columns, quoted
from onesided.errors import DataError, ParameterError, UnknownColumnError, first_line
from onesided.monitor.kit import Scale, time_in_name, times_of
from onesided.schema import Schema

_WHOLE: Final = frozenset(
    f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "", "BIG", "HUGE")
) | {"INTEGER", "UINTEGER"}
# Of other types one value has several texts: 7 and 7.0 would be two people, or two places.
_NAMES: Final = _WHOLE | {"VARCHAR", "UUID"}
_TIMES: Final = "a date and time in the file's name, such as visits-2026-11-21T07-30.parquet"


class BatchTime(StrEnum):
    """Where a batch's public time comes from."""

    AUTO = "auto"
    NAME = "name"
    COLUMN = "column"
    LATEST = "latest"
    MODIFIED = "modified"


@dataclass(frozen=True, slots=True)
class BatchFile:
    """One file of the folder; its name is the batch's id."""

    path: Path
    stamp: tuple[int, int]

    @property
    def name(self) -> str:
        """The batch's id."""
        return self.path.name

    def older_than(self, accepted: str) -> bool:
        """Whether it was last written to before that moment."""
        moment = dt.datetime.fromisoformat(accepted)
        return self.stamp[0] < int(moment.timestamp() * 10**9)


@dataclass(frozen=True, slots=True)
class Batch:
    """What a file holds: its public time, its columns, and how many texts could not be read."""

    time: object
    columns: Mapping[str, Column]
    unread: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which columns mean what, and where public times come from."""

    person: str
    place: str
    time: str
    time_required: bool
    source: BatchTime
    scale: Scale
    schema: Schema

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the times."""
        if self.source is BatchTime.LATEST:
            return (
                "Each batch bears the latest time of its rows. Whoever runs this monitor says that "
                "this time is public knowledge; if it is not, the schedule tells of that visit.",
            )
        return ()

    @property
    def read_as(self) -> dict[str, str]:
        """The declared types of the columns that are used."""
        wanted = (self.person, self.place, self.time)
        return {n: one.type for n, one in self.schema.columns.items() if n in wanted}

    def order(self, file: BatchFile) -> tuple[int, int, str]:
        """By the time in the name where there is one, then by name."""
        named = self._from_name(file)
        return (0, named, file.name) if named is not None else (1, 0, file.name)

    def read(self, file: BatchFile) -> Batch:
        """The batch's public time, and its columns under the names that the monitor expects.

        Errors: DataError for a damaged file or one without a public time; UnknownColumnError;
        SchemaError for a typed file that is not as declared.
        """
        with reading([file.path], schema=self.schema) as (relation,):
            if not (self.schema.columns or self.schema.missing_unit == "drop"):
                columns, unread = self._columns(relation, file), dict[str, int]()
            else:
                columns, unread = self._declared(relation, file)
        return Batch(self._public_time(file, columns.get("time")), columns, unread)

    def _declared(
        self, relation: duckdb.DuckDBPyRelation, file: BatchFile
    ) -> tuple[dict[str, Column], dict[str, int]]:
        table = Table(relation, declared=self.schema, unit=self.person, complete=False)
        with table.texts(usable(table), records=True) as rows:
            unread, kept = rows.unreadable(), rows
            if self.schema.missing_unit == "drop" and self.person in rows.names:
                kept = rows.of_somebody(rows.at(self.person))
            return self._columns(under_names(kept), file), unread

    def _columns(self, relation: duckdb.DuckDBPyRelation, file: BatchFile) -> dict[str, Column]:
        wanted = [self.person, self.place]
        if self.time in relation.columns or self.time_required:
            wanted.append(self.time)
        for name in wanted:
            if name not in relation.columns:
                raise UnknownColumnError(
                    f"{file.name} has no column {name!r}.",
                    hint=f"Its columns are {', '.join(relation.columns)}.",
                    column=name,
                )
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        for name in wanted[:2]:
            _refuse_ambiguous(types[name], file.name, name)
        picked = [f"CAST({quoted(name)} AS VARCHAR)" for name in wanted[:2]]
        picked += [self._moment(name, types[name], file) for name in wanted[2:]]
        named = zip(picked, ("person", "place", "time"), strict=False)
        try:
            return _columns_of(
                relation.project(", ".join(f"{one} AS {name}" for one, name in named))
            )
        except duckdb.Error as error:
            raise _damaged(file.path, error) from error

    def _moment(self, name: str, kind: str, file: BatchFile) -> str:
        """SQL that gives a time the monitor can read."""
        column = quoted(name)
        if not self.scale.dated and kind == "VARCHAR":  # what is no whole number is missing
            whole = f"regexp_full_match({column}, '[+-]?[0-9]+')"
            return f"CASE WHEN {whole} THEN CAST({column} AS BIGINT) END"
        if not self.scale.dated and kind not in _WHOLE:
            raise DataError(
                f"Column {name!r} of {file.name} holds {kind}, and times are whole numbers here, "
                "as the window is.",
                hint="Cast the column: rounded, a visit would be at another time.",
                column=name,
            )
        if not self.scale.dated:
            return f"CAST({column} AS BIGINT)"
        if kind == "TIMESTAMP WITH TIME ZONE":
            return f"timezone('UTC', {column})"
        # Whole microseconds, which columns have as they are: also of TIMESTAMP_S and the like.
        return f"CAST({column} AS TIMESTAMP)" if kind.startswith("TIMESTAMP_") else column

    def _public_time(self, file: BatchFile, times: Column | None) -> object:
        source = self.source
        if source is BatchTime.MODIFIED:
            return dt.datetime.fromtimestamp(file.stamp[0] / 10**9, dt.UTC)
        named = self._from_name(file)
        if source is BatchTime.NAME or (source is BatchTime.AUTO and named is not None):
            if named is None:
                raise _no_time(file, f"its name holds no time ({_TIMES})")
            return self._said(named)
        if times is None or not len(times) or _has_nulls(times):
            raise _no_time(file, f"column {self.time!r} is missing, empty or has nulls")
        ticks = times_of(times, self.scale, self.time)
        if source is not BatchTime.LATEST and ticks.min() != ticks.max():
            raise _no_time(file, f"its rows have different times in column {self.time!r}")
        return self._said(int(ticks.max()))

    def _said(self, ticks: int) -> object:
        """A time on the monitor's scale, as its callers say it."""
        if not self.scale.dated:
            return ticks
        return dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=ticks)

    def _from_name(self, file: BatchFile) -> int | None:
        """The end of the period that the name speaks of; a whole number where those are counted."""
        if not self.scale.dated and self.source is not BatchTime.NAME:
            return None
        return time_in_name(stem(file.path), self.scale)


def _columns_of(relation: duckdb.DuckDBPyRelation) -> dict[str, Column]:
    """All rows in columns: of Arrow where PyArrow is there, of numpy elsewhere."""
    if find_spec("pyarrow") is not None:
        table = nw.from_native(relation.to_arrow_table(), eager_only=True)
        return {name: table[name] for name in table.columns}
    found = relation.fetchnumpy()
    return {
        name: one.tolist() if np.ma.isMaskedArray(one) or one.dtype.kind == "O" else one
        for name, one in found.items()
    }


def _has_nulls(column: Column) -> bool:
    if isinstance(column, nw.Series):
        return column.null_count() > 0
    return isinstance(column, list) and None in column


def _refuse_ambiguous(kind: str, file: str, column: str) -> None:
    if kind not in _NAMES and not kind.startswith("ENUM"):
        raise DataError(
            f"Column {column!r} of {file} holds {kind}; people and places are told apart by text "
            "or whole numbers.",
            hint="Cast the column, in every file alike: 7 and 7.0 would be two of them.",
            column=column,
        )


def _no_time(file: BatchFile, why: str) -> DataError:
    return DataError(
        f"{file.name} has no public time: {why}.",
        hint="A batch's time must not depend on any one visit, or the schedule reveals it. Put "
        f"{_TIMES}, or one and the same value in every row of the column; or say --batch-time "
        "latest if the latest time of each file is public knowledge, or --batch-time modified.",
        batch=file.name,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The public places and, where the file has them, their positions in degrees."""

    names: tuple[str, ...]
    latitude: NDArray[np.float64] | None
    longitude: NDArray[np.float64] | None


def read_places(path: Path | None, column: str, schema: Schema | None) -> Places:
    """The places of a file, or of the schema, as text.

    Errors: DataError; UnknownColumnError; KeysError for a position that is nowhere on Earth;
    ParameterError where neither names them.
    """
    path = file_of_keys(schema, column) if path is None else path
    if path is not None:
        with reading([path], schema=schema) as (relation,), as_declared(relation, schema) as told:
            return _places(told, path, column)
    known = None if schema is None else schema.columns.get(column)
    if known is None or known.keys is None or known.type not in ("text", "integer"):
        raise ParameterError(
            "No public places are named.",
            hint=f"Name a file of them with --keys, or keys of {column!r} in the schema.",
        )
    return Places(names=tuple(map(str, known.keys)), latitude=None, longitude=None)


def _places(relation: duckdb.DuckDBPyRelation, path: Path, column: str) -> Places:
    if column not in relation.columns:
        raise UnknownColumnError(
            f"{path.name} has no column {column!r}.",
            hint=f"Its columns are {', '.join(relation.columns)}; name one with --place.",
            column=column,
        )
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    _refuse_ambiguous(types[column], path.name, column)
    picked = [f"CAST({quoted(column)} AS VARCHAR)"]
    sides = position_columns(relation.columns)
    relation = with_degrees(relation, [column])
    picked += [f"TRY_CAST({quoted(side)} AS DOUBLE)" for side in sides or ()]
    rows = _fetched(relation, picked, path)
    names = tuple(row[0] for row in rows)
    if sides is None:
        return Places(names=names, latitude=None, longitude=None)
    degrees = np.array([row[1:] for row in rows], dtype=np.float64).reshape(-1, 2)
    beside({"place": names, "latitude": degrees[:, 0], "longitude": degrees[:, 1]}, ("place",))
    return Places(names=names, latitude=degrees[:, 0], longitude=degrees[:, 1])


def _fetched(
    relation: duckdb.DuckDBPyRelation, picked: Sequence[str], path: Path
) -> list[tuple[Any, ...]]:
    """The picked columns of every row. Errors: DataError."""
    try:
        return relation.project(", ".join(picked)).fetchall()
    except duckdb.Error as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> DataError:
    return DataError(
        f"Cannot read {path.name}: {first_line(error)}",
        hint="It may still be being written, be truncated or damaged. Write a batch under another "
        "name and rename it when it is complete.",
    )
