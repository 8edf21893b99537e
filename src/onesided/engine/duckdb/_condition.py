"""Our own connections of DuckDB, and conditions as its SQL."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TextIO

from onesided import schema
from onesided.engine._sql import CAPITALS, NAMED, SqlTerms, literal, quoted
from onesided.errors import MissingDependencyError

# Connections of our own: where snapshots lie, and where everything that is asked of them runs.
#
# Nothing of the caller's is known there: no macro, no function, and no setting but how many threads
# and how much memory he allows. They read no file and find no variable. What does not fit in memory
# lies in one folder that this user alone can enter, and that goes when the process does; what a
# process left that was stopped goes at the next start.

_CLOSED: Final = {"enable_external_access": "false", "python_enable_replacements": "false"}
_FOLDER: Final = "onesided-rows-"
_LOCK: Final = "lock"
_ALLOWED: Final = ("threads", "memory_limit")


def connected(native: Any = None) -> Any:
    """A new connection, whose tables no other sees. Errors: MissingDependencyError.

    native: a caller's relation, whose connection may be allowed less than the machine has.
    """
    try:
        import duckdb  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError(
            "pandas and PyArrow tables are read by DuckDB, which is not installed.",
            hint="pip install 'onesided[pandas]' or 'onesided[pyarrow]'.",
        ) from None
    limits: dict[str, str] = {}
    if native is not None:
        # Some settings of the caller's: a table of the system's own, read by no expression.
        told = native.query("onesided_rows", "FROM system.main.duckdb_settings()").fetchall()
        limits = {name: str(value) for name, value, *_ in told if name in _ALLOWED}
    connection = _database(duckdb.connect, os.getpid(), **limits).cursor()
    connection.execute("SET enable_progress_bar = false")  # it is drawn among the answers
    return connection


@cache
def _database(connect: Callable[..., Any], process: int, **limits: str) -> Any:
    """One for all connections of a process within the same limits: to open one takes milliseconds.

    What a connection is handed and what it makes is its own: views and temporary tables alone.
    """
    spilled = tempfile.mkdtemp(dir=_folder(process))
    return connect(config={**_CLOSED, **limits, "temp_directory": spilled})


@cache
def _folder(process: int) -> Path:
    """Where this process may leave rows for as long as it runs; its lock says that it does."""
    above = Path(tempfile.gettempdir())
    for left in above.glob(f"{_FOLDER}*"):
        with contextlib.suppress(OSError), (left / _LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left)
    made = Path(tempfile.mkdtemp(prefix=_FOLDER, dir=above))
    lock = (made / _LOCK).open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    atexit.register(_removed, made, process, lock)  # which keeps the lock open until then
    return made


def _removed(folder: Path, process: int, lock: TextIO) -> None:
    if os.getpid() == process:  # a child of the process inherits what is done at exit
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()


# Conditions as DuckDB's SQL.

_SIZES: Final = {
    "TINYINT": schema.bits(8),
    "SMALLINT": schema.bits(16),
    "INTEGER": schema.bits(32),
    "BIGINT": schema.bits(64),
    "HUGEINT": schema.bits(128),
    "UTINYINT": schema.bits(8, signed=False),
    "USMALLINT": schema.bits(16, signed=False),
    "UINTEGER": schema.bits(32, signed=False),
    "UBIGINT": schema.bits(64, signed=False),
}
_TYPES: Final[Mapping[str, schema.Type]] = {
    **_SIZES,
    "BOOLEAN": schema.BOOLEAN,
    "VARCHAR": schema.TEXT,
    "FLOAT": schema.NUMBER,
    "DOUBLE": schema.NUMBER,
    "DATE": schema.DATE,
    "TIME": schema.TIME,
    "TIMESTAMP": schema.moment_type(),
    "TIMESTAMP_S": schema.moment_type(),
    "TIMESTAMP_MS": schema.moment_type(),
    "TIMESTAMP_NS": schema.moment_type(fine=True),
    "TIMESTAMP WITH TIME ZONE": schema.moment_type(zoned=True),
}
_NAMES: Final = {kind: name for name, kind in _SIZES.items()}


def column_type(name: str) -> schema.Type | None:
    """What a column of DuckDB's type ``name`` holds; None if conditions cannot look at it."""
    if re.fullmatch(r"DECIMAL\(\d+,\s*\d+\)", name):
        return schema.NUMBER
    return _TYPES.get(name)


class DuckDBTerms(SqlTerms):
    """How DuckDB writes each operation. types: the columns' own types, by name."""

    natives = MappingProxyType({"text": "VARCHAR", "number": "DOUBLE", "wide": "HUGEINT"})
    # DuckDB itself makes a chain of = of a short IN.
    repeats = frozenset(
        [
            "between",
            "LOWER",
            "UPPER",
            "non_zero",
            "extract",
            *(f"one_of {kind}" for kind in schema.KINDS),
        ]
    )

    def __init__(self, types: Mapping[str, str]) -> None:
        self._types = types

    def named(self, parts: Sequence[str], use: Callable[..., str]) -> str:
        # A subquery's columns would be written again where DuckDB pushes a filter below it.
        names, body = self.together(parts, use)
        given = ", ".join(f"'{name}': {part}" for name, part in zip(names, parts, strict=True))
        return f"list_transform([{{{given}}}], lambda {NAMED}: {body})[1]"

    def native(self, kind: schema.Type) -> str:
        return _NAMES.get(kind) or super().native(kind)

    def column(self, name: str, kind: schema.Type) -> str:
        found, native = quoted(name), self._types[name]
        if kind.fine:
            return f"TRY(epoch_ns({found}))"
        if native in ("TIMESTAMP_S", "TIMESTAMP_MS"):
            return f"TRY_CAST({found} AS TIMESTAMP)"
        if native.startswith("DECIMAL"):
            return f"CAST(CAST({found} AS VARCHAR) AS DOUBLE)"
        return found

    def number(self, part: str, *, wide: bool) -> str:
        # From 128 bits DuckDB rounds twice; from text it rounds once, as everybody does.
        return f"CAST({f'CAST({part} AS VARCHAR)' if wide else part} AS DOUBLE)"

    def numbers(self, op: str, left: str, right: str) -> str:
        return f"(CAST({left} AS DOUBLE) {op} CAST({right} AS DOUBLE))"

    def whole(self, op: str, left: str, right: str, *, wide: bool, checked: bool) -> str:  # noqa: ARG002
        made = f"({left} {op} {right})"
        if not checked:
            return made
        return f"CAST(TRY_CAST(TRY{made} AS DECIMAL(38, 0)) AS HUGEINT)"

    def divided(self, op: str, left: str, right: str, *, wide: bool, positive: bool) -> str:  # noqa: ARG002
        return f"({left} {'//' if op == '/' else '%'} {right})"

    def text(self, function: str, part: str, arguments: Sequence[int]) -> str:
        if function == "LENGTH":
            return f"length({part})"
        if function == "TRIM":
            return f"trim({part}, ' ')"
        if function == "SUBSTRING":
            return f"substring({', '.join((part, *map(str, arguments)))})"
        small, ends = function.lower(), (CAPITALS, CAPITALS.lower())
        old, new = ends if function == "LOWER" else ends[::-1]
        # DuckDB's own function is right, and fast, where each character is a byte.
        plain = f"strlen({part}) = length({part})"
        other = f"translate({part}, '{old}', '{new}')"
        return f"(CASE WHEN {plain} THEN {small}({part}) ELSE {other} END)"

    def extract(self, unit: str, part: str, kind: schema.Type) -> str:
        if kind.fine:
            micros = f"({part} // 1000 - CASE WHEN {part} % 1000 < 0 THEN 1 ELSE 0 END)"
            return f"{unit.lower()}(make_timestamp({micros}))"
        if kind.zoned:
            return f"{unit.lower()}(make_timestamp(epoch_us({part})))"
        return f"{unit.lower()}({part})"

    def midnight(self, part: str, kind: schema.Type) -> str:
        if not kind.zoned:
            return f"CAST({part} AS TIMESTAMP)"
        start = "TIMESTAMPTZ '1970-01-01 00:00:00+00'"
        return f"({start} + to_microseconds(({part} - DATE '1970-01-01') * 86400000000))"

    def finer(self, part: str, kind: schema.Type) -> str:  # noqa: ARG002
        return f"TRY(epoch_us({part}) * CAST(1000 AS BIGINT))"

    def later(self, part: str, amount: int, kind: schema.Type) -> str:
        if kind.fine:
            return f"TRY_CAST(CAST({part} AS HUGEINT) + CAST('{amount}' AS HUGEINT) AS BIGINT)"
        if kind.kind == "date":
            return f"({part} + CAST('{amount}' AS INTEGER))"
        return f"({part} + to_microseconds(CAST('{amount}' AS BIGINT)))"


# Text as declared types in DuckDB: SQL of our own patterns and quoted names.

# What text of the right form is cast to, and what the value must be besides.
_CASTS: Final[Mapping[str, tuple[str, str]]] = {
    "boolean": ("BOOLEAN", ""),
    "integer": ("BIGINT", ""),
    "number": ("DOUBLE", "isfinite({0})"),
    "date": ("DATE", ""),
    "datetime": ("TIMESTAMP", ""),
    "datetime with zone": (
        "TIMESTAMP WITH TIME ZONE",
        "epoch_us({0}) BETWEEN "
        f"{schema.FIRST_DAY * schema.DAY} AND {(schema.LAST_DAY + 1) * schema.DAY - 1}",
    ),
    "time": ("TIME", ""),
}
column = str  # SQL of a column of a snapshot: its name


def lost(text: str, made: str) -> str:
    """Whether a text has no value."""
    return f"({text} IS NOT NULL AND {made} IS NULL)"


def known(name: str, reading: schema.Reading) -> str:
    """SQL for a column of text, in which words for no value are null."""
    column = quoted(name)
    if not reading.missing:
        return column
    return (
        f"CASE WHEN {column} NOT IN ({', '.join(map(literal, reading.missing))}) THEN {column} END"
    )


def canonical(name: str, reading: schema.Reading) -> str:
    """SQL for a column of text in the canonical form of its type; null for other forms."""
    made = column = quoted(name)
    if reading.words:
        cases = (f"WHEN {literal(one)} THEN {literal(other)}" for one, other in reading.words)
        return f"CASE {column} {' '.join(cases)} END"
    pattern = literal(reading.form)
    if reading.pieces:
        made = " || ".join(
            literal(piece) if isinstance(piece, str) else _group(column, pattern, piece)
            for piece in reading.pieces
        )
    for old, new in reading.swaps:
        made = f"replace({made}, {literal(old)}, {literal(new)})"
    return (
        f"CASE WHEN regexp_full_match({column}, {pattern}) THEN {made} END"
        if reading.form
        else made
    )


def _group(column: str, pattern: str, piece: int) -> str:
    found = f"regexp_extract({column}, {pattern}, {abs(piece)})"
    return found if piece > 0 else f"lpad({found}, 2, '0')"


def value(name: str, reading: schema.Reading) -> str:
    """SQL for a column in canonical form as its type; null for what is not of its form."""
    made = strict(name, reading.kind)
    if not reading.zone:
        return made
    return f"coalesce({made}, {_instant(strict(name, 'datetime'), reading.zone)})"


def _instant(local: str, zone: str) -> str:
    """A moment of a place's clock as an instant, by halves of the list of its changes."""
    changes, offsets = schema.local_offsets(zone)
    micros = f"epoch_us({local})"

    def between(first: int, last: int) -> str:
        if first == last:
            offset = offsets[first]
            return "NULL" if offset is None else f"{offset}"
        middle = (first + last) // 2
        below, above = between(first, middle), between(middle + 1, last)
        return f"CASE WHEN onesided_at < {changes[middle]} THEN {below} ELSE {above} END"

    found = f"(SELECT {between(0, len(offsets) - 1)} FROM (SELECT {micros} AS onesided_at))"  # noqa: S608 - numbers of ours
    return f"make_timestamptz({micros} - {found})"


def strict(name: str, kind: str) -> str:
    """SQL for a column of text read as ``kind``; null for what is not of its form."""
    if kind == "text":
        return quoted(name)
    column, pattern = quoted(name), schema.PATTERNS[kind].replace("'", "''")
    form = f"regexp_full_match({column}, '{pattern}')"
    if kind == "duration":
        empty = f"ends_with({column}, 'T') OR {column} = 'P'"
        return f"CASE WHEN {form} AND NOT ({empty}) THEN {_micros(column)} END"
    to, more = _CASTS[kind]
    value = f"TRY_CAST({column} AS {to})"
    return f"CASE WHEN {form}{f' AND {more.format(value)}' if more else ''} THEN {value} END"


def _micros(column: str) -> str:
    """Whole microseconds: days have 24 hours."""

    def part(pattern: str, scale: int) -> str:
        found = f"TRY_CAST(regexp_extract({column}, '{pattern}', 1) AS BIGINT)"
        return f"coalesce({found}, 0) * {scale}"

    fraction = f"rpad(regexp_extract({column}, '\\.([0-9]+)S', 1), 6, '0')"
    parts = [
        *(part(f"([0-9]+){unit}", schema.UNITS[unit]) for unit in "DHM"),
        part("([0-9]+)(\\.[0-9]+)?S", schema.UNITS["S"]),
        f"CAST({fraction} AS BIGINT)",
    ]
    return f"CAST({' + '.join(parts)} AS BIGINT)"
