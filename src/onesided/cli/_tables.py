"""Files that commands read: tables, and beside them a schema, public keys, a policy."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import mmap
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import duckdb
import narwhals as nw

from onesided import policy as policies
from onesided.engine import Table
from onesided.engine.kit import Snapshot, literal, position_columns, quoted
from onesided.errors import (
    DataError,
    KeysError,
    OutputError,
    ParameterError,
    PolicyError,
    first_line,
)
from onesided.policy import Family, Policy
from onesided.schema import Heading, Schema, heading_of
from onesided.store import scratch

# What files beside the data say: a schema, the public keys, a policy.


# Families that the command line makes without a file.
_BY_NAME: Final = {
    name: family for name, family in policies.families().items() if family.options is not None
}


def read_schema(path: Path | None) -> Schema | None:
    """The schema in a file, if one is named. Errors: SchemaError."""
    return None if path is None else Schema.read(path)


@contextmanager
def as_declared(table: Any, schema: Schema | None) -> Iterator[Any]:
    """Within, a file's table with its text read as declared, where it has columns of the schema.

    Errors: SchemaError where a typed file holds another type.
    """
    if schema is None:
        yield table
        return
    declared = Table(table, declared=schema, complete=False)
    with declared.source(usable(declared), records=True) as rows:
        yield under_names(rows)


def usable(table: Table) -> list[str]:
    """The columns of a file's table that can be read."""
    return [name for name in table.engine.types if name not in table.engine.refused]


def under_names(rows: Snapshot) -> Any:
    """A snapshot's columns under the names that people use."""
    told = (f"{place} AS {quoted(name)}" for name, place in rows.names.items())
    return nw.to_native(rows.frame).project(", ".join(told))


def file_of_keys(schema: Schema | None, column: str) -> Path | None:
    """The file in which the schema says that the keys of a column stand, if it names one."""
    known = None if schema is None else schema.columns.get(column)
    if known is None or not isinstance(known.keys, str):
        return None
    folder = None if schema is None else schema.folder
    return Path(known.keys) if folder is None else folder / known.keys


def with_degrees(keys: duckdb.DuckDBPyRelation, by: Sequence[str]) -> duckdb.DuckDBPyRelation:
    """The keys with latitude and longitude as numbers, if there are both beside them.

    Errors: KeysError for a text that is no number.

    >>> table = duckdb.sql("SELECT 'gym' AS place, '52.5' AS lat, '13.4' AS lon")
    >>> with_degrees(table, ["place"]).fetchall()
    [('gym', 52.5, 13.4)]
    """
    sides = position_columns([name for name in keys.columns if name not in by])
    if sides is None:
        return keys
    for name in sides:
        odd = f"{quoted(name)} IS NOT NULL AND TRY_CAST({quoted(name)} AS DOUBLE) IS NULL"
        for (value,) in keys.filter(odd).project(quoted(name)).limit(1).fetchall():
            raise KeysError(
                f"The keys' column {name!r} has {value!r:.60}, which is no position.",
                hint="Give degrees as numbers, and nothing where a position is not known.",
                column=name,
            )
    degrees = ", ".join(f"TRY_CAST({quoted(name)} AS DOUBLE) AS {quoted(name)}" for name in sides)
    return keys.project(f"* REPLACE ({degrees})")


def read_policy(name: str, *, max_groups: int | None, sensitive: str | None) -> Policy:
    """A policy by name, or from a TOML file.

    Errors: PolicyError or ParameterError naming what is missing.
    """
    takers = [one.name for one in _BY_NAME.values() if "sensitive" in (one.options or {})]
    if sensitive is not None and name not in takers:
        raise ParameterError(
            f"--sensitive={sensitive!r} has no meaning for the policy {name!r}.",
            hint=f"Leave it out, or use --policy {' or '.join(takers)}.",
        )
    if name in _BY_NAME:
        return _named(_BY_NAME[name], {"max_groups": max_groups, "sensitive": sensitive})
    path = Path(name)
    if not path.is_file():
        raise PolicyError(
            f"There is no policy or file {name!r}.",
            hint=f"Name one of {', '.join(_BY_NAME)}, or a .toml file (docs/policies.md) for "
            "others.",
        )
    return policies.from_toml(read_toml_text(path, "policy"))


def read_toml_text(path: Path, what: str) -> str:
    """What a file says. Errors: PolicyError, as all that is said of policies."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(
            f"Cannot read the {what} {str(path)!r}: {error}.",
            hint="Name a .toml file (docs/policies.md).",
        ) from error


def write_text(path: Path, text: str, *, folder: bool = False) -> None:
    """Write a file; with ``folder`` make the one it is in. Errors: OutputError."""
    try:
        if folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"{str(path)!r} could not be written: {error.strerror}.", hint="Choose another place."
        ) from error


def _named(family: Family, given: Mapping[str, object]) -> Policy:
    """A policy of a family that needs no file. Errors: ParameterError for an option it lacks."""
    parameters: dict[str, object] = {}
    for name, option in (family.options or {}).items():
        if given.get(name) is None:
            raise ParameterError(
                f"The {family.name} policy needs --{name.replace('_', '-')}.",
                hint=f"Give {option.hint}.",
            )
        parameters[option.parameter] = given[name]
    return family.read(**parameters)


# Files that other tools write, made into what the one reader of tables reads: CSV in UTF-8.

SUFFIXES: Final = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz")
# What is unpacked may fill no disk: text of people shrinks to a hundredth at best.
_MOST_BYTES, _MOST_BYTES_PER_BYTE = 2**31, 200
_AT_ONCE: Final = 2**20
_ONE_BYTE: Final = ("cp1252", "latin-1")
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MISSING_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"
_SHEET: Final = "Save the sheet as 'CSV UTF-8' in Excel, one file for each sheet."
_PACKED: Final = "Unpack it, or pack it by gzip as .csv.gz or .jsonl.gz."
# In a folder of tables, these would be rows that nobody reads.
_ROWS: Final = {
    ".xlsx": _SHEET,
    ".xls": _SHEET,
    ".ods": "Save the sheet as CSV in UTF-8, one file for each sheet.",
    ".tsv": "Rename it to .csv: tabs may stand between its columns.",
    ".ndjson": "Rename it to .jsonl.",
    **dict.fromkeys((".gz", ".zip", ".bz2", ".xz", ".zst"), _PACKED),
}
_WAYS_OUT: Final = {
    **_ROWS,
    ".json": "Write one object a line and call it .jsonl, or convert it to CSV or Parquet.",
    ".txt": "If it is CSV, rename it to .csv.",
}
# How files begin whose name says that they are text.
_SIGNS: Final = {
    b"\x1f\x8b": ("packed by gzip", "Add .gz to its name."),
    b"PK\x03\x04": ("a workbook of Excel, or packed", f"{_SHEET} {_PACKED}"),
    b"PAR1\x15": ("Parquet", "Call it .parquet."),
}


def is_table(path: Path) -> bool:
    """Whether a file in a folder of tables is one of them, by its name.

    >>> is_table(Path("visits.CSV.gz")), is_table(Path(".visits.csv")), is_table(Path("notes.txt"))
    (True, False, False)
    """
    return path.name.lower().endswith(SUFFIXES) and not path.name.startswith(".")


def stem(path: Path) -> str:
    """The name without what says how it is read.

    >>> stem(Path("in/2026-11-02.csv.gz"))
    '2026-11-02'
    """
    suffix = next((end for end in SUFFIXES if path.name.lower().endswith(end)), path.suffix)
    return path.name[: len(path.name) - len(suffix)]


def require_table(path: Path) -> None:
    """Errors: DataError for a file that is missing or of another type, with the way out."""
    if path.is_dir():
        raise DataError(
            f"{str(path)!r} is a folder.", hint=f"Read all its files by --input {str(path)!r}."
        )
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.", hint="Check the path.")
    if not path.name.lower().endswith(SUFFIXES):
        raise DataError(
            f"Cannot read {str(path)!r}: not one of {', '.join(SUFFIXES)}.",
            hint=_WAYS_OUT.get(
                path.suffix.lower(), "Convert it, or use the Python library with a data frame."
            ),
        )


def partitions(path: Path, base: Path) -> dict[str, str | None]:
    """The columns that folders called ``name=value`` below ``base`` give to the tables in them.

    Errors: DataError for a name that stands twice.

    >>> partitions(Path("visits/day=2026-11-02/city=Z%C3%BCrich/0.parquet"), Path("visits"))
    {'day': '2026-11-02', 'city': 'Zürich'}
    """
    below = path.parent.relative_to(base).parts if path.parent.is_relative_to(base) else ()
    found: dict[str, str | None] = {}
    for folder in below:
        name, mark, value = folder.partition("=")
        if name and mark and unquote(name) in found:
            raise DataError(
                f"{str(path)!r} stands in two folders called {unquote(name)}=.",
                hint="Rename one: each is a column of the table.",
            )
        if name and mark:
            found[unquote(name)] = None if value == _MISSING_PARTITION else unquote(value)
    return found


def is_partition(folder: Path) -> bool:
    """Whether a folder's name is a column's and a value."""
    return folder.name.find("=") > 0


def table_folder(path: Path) -> Path:
    """The folder above those that are columns of a table: all its parts share a ledger there.

    >>> table_folder(Path("visits/day=2026-11-02/0.parquet")).name
    'visits'
    """
    folder = path.resolve().parent
    while is_partition(folder):
        folder = folder.parent
    return folder


def plain_csv(path: Path, made: Path, *, encoding: str | None) -> None:
    """Have ``made`` hold the rows of ``path`` as CSV in UTF-8; a link where they are that already.

    encoding: as the schema declares it; None is UTF-8, or UTF-16 where the file begins with its
    mark. Errors: DataError for what is damaged, in another encoding, or would fill this machine.
    """
    lines = path.name.lower().endswith((".jsonl", ".jsonl.gz"))
    packed = path.name.lower().endswith(".gz")
    with path.open("rb") as file:
        start = file.read(5)
    for sign, (what, way) in _SIGNS.items():
        if start.startswith(sign) and not packed:
            raise DataError(f"{str(path)!r} is no text: it is {what}.", hint=way)
    plain = _chosen(start, encoding) in ("utf-8", "utf-8-sig")
    if plain and not (lines or packed):
        made.symlink_to(path.resolve())
        return
    try:
        pieces = _decoded(path, encoding, packed=packed)
        with made.open("w", encoding="utf-8", newline="") as out:
            if lines:
                # Objects of JSON, one a line, as rows of text. The first one names the columns.
                # Numbers keep their digits; null, NaN and a name that is left out are missing.
                # Errors: DataError.
                rows = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
                names: list[str] | None = None
                for number, line in enumerate(_lines(pieces), start=1):
                    if not line.strip():
                        continue
                    row = _object(path, line, number)
                    if names is None:
                        names = list(row)
                        rows.writerow(names)
                    if unknown := next((name for name in row if name not in names), None):
                        raise _no_row(path, number, f"{unknown!r} is no name of the first line's")
                    rows.writerow([_text(path, number, row.get(name)) for name in names])
            else:
                out.writelines(pieces)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"Cannot read {str(path)!r}: {first_line(error)}.",
            hint="The file may be truncated or damaged; fetch it again.",
        ) from error


def _decoded(path: Path, encoding: str | None, *, packed: bool) -> Iterator[str]:
    """The text, piece by piece. Errors: DataError naming the first byte that is none."""
    most, read = max(_MOST_BYTES, _MOST_BYTES_PER_BYTE * path.stat().st_size), 0
    decoder: codecs.IncrementalDecoder | None = None
    beyond = False  # whether it has letters beyond ASCII
    with gzip.open(path) if packed else path.open("rb") as file:
        while True:
            piece = file.read(_AT_ONCE)
            if decoder is None:
                chosen = _chosen(piece, encoding)
                decoder = codecs.getincrementaldecoder(chosen)()
                other = codecs.getincrementaldecoder("utf-8")() if chosen in _ONE_BYTE else None
            try:
                text = decoder.decode(piece, final=not piece)
            except UnicodeError as error:
                place = read + (error.start if isinstance(error, UnicodeDecodeError) else 0)
                raise DataError(
                    f"Cannot read {str(path)!r}: it is not {chosen.removesuffix('-sig').upper()} "
                    f"near byte {place:,}.",
                    hint='Declare what it is in the schema, such as encoding = "cp1252", or save '
                    "it as UTF-8.",
                ) from None
            beyond |= not piece.isascii()
            if other is not None:
                try:
                    other.decode(piece, final=not piece)
                except UnicodeDecodeError:
                    other = None
            if other is not None and beyond and not piece:
                raise DataError(
                    f"{str(path)!r} is UTF-8, and read as {chosen} its letters would be others.",
                    hint="Save it in the encoding that the schema declares for all files of text, "
                    "or save all as UTF-8 and declare none.",
                )
            yield text
            read += len(piece)
            if not piece:
                return
            if read > most:
                raise DataError(
                    f"{str(path)!r} unpacks to more than {most:,} bytes: it would fill this "
                    "machine.",
                    hint="If it is no mistake, write it as several files, or as Parquet.",
                )


def _chosen(start: bytes, encoding: str | None) -> str:
    """How a file is read: by its mark, else as declared, else as UTF-8."""
    if start.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    return "utf-16" if start[:2] in _UTF16 else encoding or "utf-8"


def _lines(pieces: Iterator[str]) -> Iterator[str]:
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    yield rest


def _object(path: Path, line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(
            line,
            parse_int=str,
            parse_float=str,
            parse_constant=lambda name: None if name == "NaN" else name,
            object_pairs_hook=_pairs,
        )
    except (ValueError, RecursionError) as error:
        raise _no_row(path, number, f"it is no JSON ({first_line(error)})") from None
    if not isinstance(row, dict):
        raise _no_row(path, number, "it is no object")
    return row


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _text(path: Path, number: int, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        told = value or ""
        # What is no text, such as half of a pair, is unknown here as in every engine.
        return told if told.encode(errors="replace").decode() == told else ""
    raise _no_row(path, number, "a value is a list or an object")


def _no_row(path: Path, number: int, why: str) -> DataError:
    return DataError(
        f"Cannot read {str(path)!r}: {why} (line {number:,}).",
        hint="Each line is one object of plain values, such as "
        '{"person": 7, "place": "gym"}; the first line names all columns.',
        line=number,
    )


# A table of people compresses to some tenths of a byte per row at best. What declares more than
# this is made to fill the machine that reads it; below the first numbers it cannot.
_MOST_ROWS, _MOST_ROWS_PER_BYTE = 10**7, 100
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
        elif path.suffix.lower() in _ROWS and not is_table(path):
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
        known = ", ".join(literal(str(path)) for path in files)
        inside = ", ".join(literal(str(path)) for path in (folder.resolve(), *odd))
        connection.execute(f"SET allowed_paths = [{known}]")
        connection.execute(f"SET allowed_directories = [{inside}]")
        connection.execute("SET enable_external_access = false")
        # Drawn on the standard output, even of a program that reads JSON from it.
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET lock_configuration = true")
        yield connection


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
        # With a column for each folder called `name=value`. Errors: DataError.
        if not part.fixed:
            return found
        known = {name.casefold() for name in found.columns}
        for name in part.fixed:
            if name.casefold() in known:
                raise DataError(
                    f"{str(part.path)!r} has a column {name!r}, and so has the folder it stands "
                    "in.",
                    hint="Move the file, or remove the column.",
                    column=name,
                )
        values = ("NULL" if value is None else literal(value) for value in part.fixed.values())
        told = (
            f"CAST({value} AS VARCHAR) AS {quoted(name)}"
            for name, value in zip(part.fixed, values, strict=True)
        )
        return found.project(", ".join(("*", *told)))
    except duckdb.Error as error:
        raise _unreadable([part], error) from error


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
    name = literal(str(part.alias))
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
