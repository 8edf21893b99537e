"""Tables in files: Parquet with the types it brings, all others as text."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

import duckdb

from onesided.cli._files import (
    SUFFIXES,
    is_partition,
    is_table,
    partitions,
    plain_csv,
    require_table,
)
from onesided.engine.kit import quoted
from onesided.errors import DataError, ParameterError, first_line
from onesided.schema import Heading, Schema, heading_of
from onesided.store import scratch

# A table of people compresses to some tenths of a byte per row at best. What declares more than
# this is made to fill the machine that reads it; below the first numbers it cannot.
_MOST_ROWS, _MOST_ROWS_PER_BYTE = 10**7, 100
_MOST_BYTES, _MOST_BYTES_PER_BYTE = 2**31, 200
# What DuckDB hands to one reader, in bytes.
_PIECE: Final = 8_000_000


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a table: where it is, what the engine calls it, and a CSV file's heading.

    fixed: the columns that its folders give to all its rows.
    """

    path: Path
    alias: Path
    heading: Heading | None
    fixed: dict[str, str | None]


@contextmanager
def reading(
    *tables: Sequence[Path], schema: Schema | None = None, base: Path | None = None
) -> Iterator[tuple[duckdb.DuckDBPyRelation, ...]]:
    """Each group of files as one table, for as long as the block runs.

    In CSV files and lines of JSON every column is text, and an empty field is null. A Parquet
    file's rows stay where they are. Folders called ``name=value`` below ``base`` give a column of
    text. The engine is given names of ours, so that no file name is a pattern to it.
    schema: says how text is encoded. base: the folder whose ``name=value`` ones count.

    Errors: DataError for a file that is missing, of another type, damaged, in another encoding,
    or unlike the others of its table; it names the place.
    """
    encoding = None if schema is None else schema.encoding
    with scratch() as folder:
        groups = [
            [_part(path, folder / f"{i}-{j}", encoding, base) for j, path in enumerate(group)]
            for i, group in enumerate(tables)
        ]
        with _engine(folder, [part.path for group in groups for part in group]) as connection:
            yield tuple(_table(connection, parts, f"file_{i}") for i, parts in enumerate(groups))


class FromFiles:
    """A command's options that name the files of one table: one as data, or several as input."""

    data: Path | None
    input: str | None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the table. Errors: ParameterError unless one way names them; DataError."""
        if (self.data is None) == (self.input is None):
            raise ParameterError(
                "The data are named twice." if self.data else "No data are named.",
                hint="Name one file as DATA, or a folder or pattern with --input.",
            )
        return (self.data,) if self.data is not None else expanded(str(self.input))

    @property
    def base(self) -> Path | None:
        """The folder that ``--input`` names or starts from."""
        return None if self.input is None else fixed_part(self.input)


def expanded(pattern: str) -> tuple[Path, ...]:
    """The tables that a folder holds or a pattern such as ``visits/*.parquet`` names, in order.

    Errors: DataError if there are none.
    """
    named = Path(pattern)
    if named.is_file():
        return (named,)
    if named.is_dir():
        found = [path for path in _below(named) if is_table(path)]
    else:
        base = fixed_part(pattern)
        rest = named.parts[len(base.parts) :]
        found = list(base.glob(str(Path(*rest)))) if rest and base.is_dir() else []
    files = sorted(path for path in found if path.is_file() and not path.name.startswith("."))
    if not files:
        raise DataError(
            f"There is no file for --input {pattern!r}.",
            hint=f"Name a folder of {', '.join(SUFFIXES)} files, or a pattern in quotes, such as "
            "--input 'visits/*.parquet'.",
        )
    return tuple(files)


def _below(folder: Path) -> Iterator[Path]:
    """What is in a folder, and in those in it that are called ``name=value``.

    Errors: DataError for tables that would not be read, in other folders or of other kinds.
    """
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "_")):
            continue
        if path.is_dir() and not is_partition(path):
            raise DataError(
                f"{str(path)!r} is a folder in {str(folder)!r}, and no column's name and value.",
                hint="Move it away, or name the files by a pattern in quotes, such as --input "
                f"'{folder}/*.csv'.",
            )
        if path.is_dir():
            yield from _below(path)
        elif path.suffix.lower() in (".tsv", ".xlsx", ".xls", ".ods"):
            require_table(path)
        else:
            yield path


def fixed_part(pattern: str) -> Path:
    """The folder that a pattern starts from: what stands before its first star or bracket."""
    parts = Path(pattern).parts
    stop = next((i for i, part in enumerate(parts) if set(part) & set("*?[")), len(parts))
    return Path(*parts[:stop])


@contextmanager
def _engine(folder: Path, files: Sequence[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB of its own, which opens these files and no others, and spills into this folder.

    It finds no variable of Python's, fetches no extension, and cannot be told otherwise later.
    """
    settings: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": str(folder / "spill"),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
    }
    with duckdb.connect(config=settings) as connection:
        # DuckDB takes a backslash in a path for a slash, and then knows no such file.
        odd = [path.parent for path in files if "\\" in str(path)]
        known = ", ".join(_literal(str(path)) for path in files)
        inside = ", ".join(_literal(str(path)) for path in (folder.resolve(), *odd))
        connection.execute(f"SET allowed_paths = [{known}]")
        connection.execute(f"SET allowed_directories = [{inside}]")
        connection.execute("SET enable_external_access = false")
        # Drawn on the standard output, even of a program that reads JSON from it.
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET lock_configuration = true")
        yield connection


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _part(path: Path, alias: Path, encoding: str | None, base: Path | None) -> Part:
    """A file under a name of ours. Errors: DataError."""
    require_table(path)
    real, heading = path.resolve(), None
    try:
        if path.suffix.lower() == ".parquet":
            alias = alias.with_suffix(".parquet")
            alias.symlink_to(real)
        else:
            alias = alias.with_suffix(".csv")
            plain_csv(path, alias, encoding=encoding)
            heading = heading_of(alias, called=path)
    except OSError as error:
        raise DataError(
            f"Cannot read {str(path)!r}: {error.strerror or error}.",
            hint="Ask for the right to read it.",
        ) from error
    return Part(real, alias, heading, {} if base is None else partitions(path, base))


def _table(
    connection: duckdb.DuckDBPyConnection, parts: Sequence[Part], name: str
) -> duckdb.DuckDBPyRelation:
    """The parts as one table. Errors: DataError."""
    relations = [_relation(connection, part) for part in parts]
    first = relations[0]
    for part, relation in zip(parts, relations, strict=True):
        if _columns(relation) != _columns(first):
            raise DataError(
                f"{str(part.path)!r} has other columns than {str(parts[0].path)!r}: "
                f"{_said(relation)} instead of {_said(first)}.",
                hint="The files of one table must have the same columns of the same types.",
            )
    whole = first
    for relation in relations[1:]:
        whole = whole.union(relation)
    if all(part.heading is None for part in parts):
        return whole
    # Kept once: every question then sees the same rows, and a bad row is found before any of them.
    try:
        whole.create(name)
    except duckdb.Error as error:
        raise _unreadable(parts, error) from error
    return connection.table(name)


def _relation(connection: duckdb.DuckDBPyConnection, part: Part) -> duckdb.DuckDBPyRelation:
    try:
        if part.heading is not None:
            found = _csv(connection, part, part.heading)
        else:
            _refuse_bomb(connection, part)
            found = connection.read_parquet(
                str(part.alias), hive_partitioning=False, binary_as_string=False
            )
        return _with_fixed(found, part)
    except duckdb.Error as error:
        raise _unreadable([part], error) from error


def _with_fixed(relation: duckdb.DuckDBPyRelation, part: Part) -> duckdb.DuckDBPyRelation:
    """With a column for each folder called ``name=value``. Errors: DataError."""
    if not part.fixed:
        return relation
    known = {name.casefold() for name in relation.columns}
    for name in part.fixed:
        if name.casefold() in known:
            raise DataError(
                f"{str(part.path)!r} has a column {name!r}, and so has the folder it stands in.",
                hint="Move the file, or remove the column.",
                column=name,
            )
    values = ("NULL" if value is None else _literal(value) for value in part.fixed.values())
    told = (
        f"CAST({value} AS VARCHAR) AS {quoted(name)}"
        for name, value in zip(part.fixed, values, strict=True)
    )
    return relation.project(", ".join(("*", *told)))


def _csv(
    connection: duckdb.DuckDBPyConnection, part: Part, heading: Heading
) -> duckdb.DuckDBPyRelation:
    """All rows below the heading, by rules that the heading alone decides.

    A column without a name, as a row's number or a comma at the end makes one, is left out.
    Several readers at once start where a line seems to, which a quoted text can make believe; one
    alone says nothing of a quote that does not end.
    """
    alias = part.alias
    names, free = [], (name for n in count() if (name := f"c{n}") not in heading.folded)
    names = [name or next(free) for name in heading.names]
    alone = alias.stat().st_size > _PIECE and _has_quotes(part, heading.delimiter)
    options: dict[str, Any] = {
        "auto_detect": False,
        "strict_mode": True,
        "header": True,
        "skiprows": heading.skipped,
        "delimiter": heading.delimiter,
        "quotechar": '"',
        "escapechar": '"',
        "comment": "",
        "na_values": "",
        "null_padding": False,
        "ignore_errors": False,
        "hive_partitioning": False,
        "compression": "none",
        "parallel": not alone,
        "columns": dict.fromkeys(names, "VARCHAR"),
    }
    found = connection.read_csv(str(alias), **options)
    if all(heading.names):
        return found
    if (
        not heading.names[-1]
        and found.filter(f"{quoted(names[-1])} IS NOT NULL").limit(1).fetchall()
    ):
        raise DataError(
            f"Cannot read {str(part.path)!r}: the last column has no name, and has values.",
            hint="Name it in the first line; or a comma stands in a value without quotes.",
        )
    return found.project(", ".join(quoted(name) for name in heading.names if name))


def _has_quotes(part: Part, delimiter: str) -> bool:
    """Whether a field may be in quotes. Errors: DataError where one does not end."""
    with (
        part.alias.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        if data.find(b'"') < 0:
            return False
        ends = re.escape(b"\r\n" + delimiter.encode())
        whole = rb'"(?:[^"]++|"")*+"(?=[' + ends + rb"]|\Z)"
        whole = rb"\xef?\xbb?\xbf?(?:" + whole + rb'|[^"' + ends + rb"][^" + ends + rb"]*+|"
        found = re.match(whole + rb"[" + ends + rb"])*+", data)
        place = found.end() if found else 0
        if place < len(data):
            line = data[:place].count(b"\n") + 1
            raise DataError(
                f"Cannot read {str(part.path)!r}: {_QUOTE} (line {line:,}).", hint=_DAMAGED
            )
        return True


def _refuse_bomb(connection: duckdb.DuckDBPyConnection, part: Part) -> None:
    """By what the file declares of itself: nothing of its content is unpacked for this."""
    name = _literal(str(part.alias))
    ((rows, unpacked),) = connection.sql(
        f"SELECT (SELECT sum(num_rows) FROM parquet_file_metadata({name})), "  # noqa: S608 - ours
        f"(SELECT sum(total_uncompressed_size) FROM parquet_metadata({name}))"
    ).fetchall()
    rows, unpacked = int(rows or 0), int(unpacked or 0)
    size = part.path.stat().st_size
    most_rows = max(_MOST_ROWS, _MOST_ROWS_PER_BYTE * size)
    most_bytes = max(_MOST_BYTES, _MOST_BYTES_PER_BYTE * size)
    if not (0 <= rows <= most_rows and 0 <= unpacked <= most_bytes):
        raise DataError(
            f"{str(part.path)!r} has {size:,} bytes and declares {rows:,} rows, {unpacked:,} bytes "
            "when unpacked: it would fill this machine.",
            hint="No table of people is packed like that. If this one is, write it as several "
            "files and give them with --input.",
            rows=rows,
            bytes=unpacked,
        )


def _columns(relation: duckdb.DuckDBPyRelation) -> list[tuple[str, str]]:
    return list(zip(relation.columns, map(str, relation.types), strict=True))


def _said(relation: duckdb.DuckDBPyRelation) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in _columns(relation)[:20])


_QUOTE: Final = "a quoted text does not end, or goes on after its quote"
_DAMAGED: Final = (
    "The file may be truncated or damaged, or two files in one; its first line must name the "
    "columns."
)
_LINE: Final = re.compile(r"CSV Error on Line: (\d+)")
_KINDS: Final = (
    ("Expected Number of Columns", "its lines differ in how many columns they have"),
    ("unterminated quote", _QUOTE),
    ("state machine", "its lines do not all end in the same way"),
    ("Maximum line size", "a line is longer than two million bytes"),
)


def _unreadable(parts: Sequence[Part], error: duckdb.Error) -> DataError:
    """What DuckDB says, in words about the user's file; the engine's own where there are none."""
    said = str(error)
    part = next((part for part in parts if part.alias.name in said), parts[0])
    line = _LINE.search(said)
    kind = next((words for sign, words in _KINDS if sign in said), None)
    where = f" (line {int(line[1]):,})" if line else ""
    plain = first_line(error).replace(str(part.alias), part.path.name)
    return DataError(
        f"Cannot read {str(part.path)!r}: {kind or plain}{where}.",
        hint=_DAMAGED if part.heading else "The file may be truncated or damaged; fetch it again.",
    )
