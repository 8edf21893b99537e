"""``--schema``: what the columns of a table are read as, declared in a file and never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import duckdb

from onesided.engine.kit import quoted
from onesided.errors import DataError, ParameterError, UnknownColumnError, first_line
from onesided.schema import PATTERNS
from onesided.store import read_toml

_LONGEST: Final = 500_000
_KNOWN: Final = frozenset({"type", "bounds", "step", "keys", "about"})
# What a text is cast to once its form is right, and what must hold besides.
_CASTS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "boolean": ("BOOLEAN", ""),
        "integer": ("BIGINT", ""),
        "number": ("DOUBLE", "isfinite(TRY_CAST({0} AS DOUBLE))"),
        "date": ("DATE", "NOT starts_with({0}, '0000')"),
        "datetime": ("TIMESTAMP", "NOT starts_with({0}, '0000')"),
        "time": ("TIME", ""),
    }
)
_WHOLE: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_MOMENTS: Final = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
# What a typed file may hold of each kind, in DuckDB's words.
_HOLDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "text": ("VARCHAR",),
        "boolean": ("BOOLEAN",),
        "integer": (*_WHOLE, *(f"U{name}" for name in _WHOLE)),
        "number": ("FLOAT", "DOUBLE", "DECIMAL"),
        "date": ("DATE",),
        "datetime": (*_MOMENTS, "TIMESTAMP WITH TIME ZONE"),
        "time": ("TIME",),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The unit and the kinds of columns that a schema file states."""

    unit: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)

    def typed(
        self, table: duckdb.DuckDBPyRelation, *, path: Path, complete: bool = True
    ) -> duckdb.DuckDBPyRelation:
        """The table with its columns as declared; text that is not of its form is unknown.

        complete: every declared column must be there. Errors: UnknownColumnError; DataError where
        a typed file holds another kind.
        """
        for name in self.kinds if complete else ():
            if name not in table.columns:
                raise UnknownColumnError(
                    f"The schema declares a column {name!r}, which {str(path)!r} has not.",
                    hint=f"Its columns are {', '.join(table.columns)}.",
                    column=name,
                )
        if is_text(path):
            return table.project(", ".join(self._cast(name) for name in table.columns))
        for name, kind in zip(table.columns, map(str, table.types), strict=True):
            declared = self.kinds.get(name)
            if declared is not None and kind.partition("(")[0] not in _HOLDS[declared]:
                raise DataError(
                    f"The schema declares {name!r} as {declared}, but {str(path)!r} holds {kind}.",
                    hint="Correct the schema; a Parquet file brings its types.",
                    column=name,
                )
        return table

    def unreadable(self, table: duckdb.DuckDBPyRelation) -> dict[str, int]:
        """How many texts of each column are not of its form. Secret: for the curator alone."""
        names = [name for name in table.columns if self.kinds.get(name, "text") != "text"]
        if not names:
            return {}
        counts = ", ".join(f"count({quoted(name)}) - count({self._value(name)})" for name in names)
        try:
            (found,) = table.aggregate(counts).fetchall()
        except duckdb.Error as error:
            raise DataError(f"The table could not be read: {first_line(error)}") from error
        return {name: int(count) for name, count in zip(names, found, strict=True) if count}

    def _cast(self, name: str) -> str:
        return f"{self._value(name)} AS {quoted(name)}"

    def _value(self, name: str) -> str:
        """SQL for a column's value, from patterns and names that are ours or quoted."""
        column, kind = quoted(name), self.kinds.get(name, "text")
        if kind == "text":
            return column
        to, more = _CASTS[kind]
        pattern = PATTERNS[kind].replace("'", "''")
        form = f"regexp_full_match({column}, '{pattern}')"
        both = f"{form} AND {more.format(column)}" if more else form
        return f"CASE WHEN {both} THEN TRY_CAST({column} AS {to}) END"


def is_text(path: Path) -> bool:
    """Whether a file of this name brings no types."""
    return path.suffix.lower() == ".csv"


def read_schema(path: Path | None, *, unit: str | None) -> Declared:
    """The schema in a file; without one every CSV column is text. ``unit``: as asked otherwise.

    Errors: ParameterError for a file that is no schema, or for two different units.
    """
    if path is None:
        return Declared(unit=unit)
    document = _document(path)
    stated, columns = document.pop("unit", None), document.pop("columns", {})
    if document or not isinstance(columns, dict) or not isinstance(stated, str | None):
        raise _no_schema(path, f"it has {next(iter(document), 'an odd unit or columns')!r}")
    if unit is not None and stated is not None and unit != stated:
        raise ParameterError(
            f"--unit {unit!r} is not the schema's unit, {stated!r}.", hint="Leave out --unit."
        )
    kinds = {name: _kind(path, name, column) for name, column in columns.items()}
    return Declared(unit=unit or stated, kinds=kinds)


def _document(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _no_schema(path, str(error)) from error
    if len(data) > _LONGEST:
        raise _no_schema(path, f"it is larger than {_LONGEST:,} bytes")
    try:
        return dict(read_toml(text))
    except ValueError as error:
        raise _no_schema(path, str(error)) from error


def _kind(path: Path, name: str, column: object) -> str:
    if not isinstance(column, dict) or not set(column) <= _KNOWN:
        raise _no_schema(path, f"[columns.{name}] has more than {', '.join(sorted(_KNOWN))}")
    kind = column.get("type", "text")
    if kind not in _HOLDS:
        raise _no_schema(path, f"[columns.{name}] has the type {kind!r}")
    return str(kind)


def _no_schema(path: Path, why: str) -> ParameterError:
    return ParameterError(
        f"{str(path)!r} is no schema that can be read: {why}.",
        hint='Write unit = "person" and, for each column, [columns.NAME] with type = "text", '
        '"boolean", "integer", "number", "date", "datetime" or "time".',
    )
