"""Files that other tools write, made into what the one reader of tables reads: CSV in UTF-8."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import unquote

from onesided.errors import DataError, first_line

SUFFIXES: Final = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz")
# What is unpacked may fill no disk: text of people shrinks to a hundredth at best.
_MOST_BYTES, _MOST_BYTES_PER_BYTE = 2**31, 200
_PIECE: Final = 2**20
_ONE_BYTE: Final = ("cp1252", "latin-1")
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MISSING_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"
_WAYS_OUT: Final = {
    ".xlsx": "Save the sheet as 'CSV UTF-8' in Excel, one file for each sheet.",
    ".xls": "Save the sheet as 'CSV UTF-8' in Excel, one file for each sheet.",
    ".ods": "Save the sheet as CSV in UTF-8, one file for each sheet.",
    ".json": "Write one object a line and call it .jsonl, or convert it to CSV or Parquet.",
    ".tsv": "Rename it to .csv: tabs may stand between its columns.",
    ".txt": "If it is CSV, rename it to .csv.",
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
        start = file.read(3)
    plain = _chosen(start, encoding) in ("utf-8", "utf-8-sig")
    if plain and not (lines or packed):
        made.symlink_to(path.resolve())
        return
    try:
        pieces = _decoded(path, encoding, packed=packed)
        with made.open("w", encoding="utf-8", newline="") as out:
            if lines:
                _rows_of_lines(path, pieces, out)
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
    with _opened(path, packed=packed) as file:
        while True:
            piece = file.read(_PIECE)
            if decoder is None:
                chosen = _chosen(piece, encoding)
                decoder = codecs.getincrementaldecoder(chosen)()
                other = _Perhaps() if chosen in _ONE_BYTE else None
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
            if other is not None and other.is_utf8(piece) and not piece:
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


class _Perhaps:
    """Whether bytes seen piece by piece are UTF-8 with letters beyond ASCII."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._fits, self._beyond = True, False

    def is_utf8(self, piece: bytes) -> bool:
        self._beyond |= not piece.isascii()
        if self._fits:
            try:
                self._decoder.decode(piece, final=not piece)
            except UnicodeDecodeError:
                self._fits = False
        return self._fits and self._beyond


def _opened(path: Path, *, packed: bool) -> IO[bytes]:
    return gzip.open(path) if packed else path.open("rb")  # type: ignore[return-value] # it is one


def _rows_of_lines(path: Path, pieces: Iterator[str], out: IO[str]) -> None:
    """Objects of JSON, one a line, as rows of text. The first one names the columns.

    Numbers keep their digits, null and a name that is left out are missing. Errors: DataError.
    """
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


def _lines(pieces: Iterator[str]) -> Iterator[str]:
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    yield rest


def _object(path: Path, line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(
            line, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_pairs
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
