"""What the first line of a CSV file decides for all others, and that the file is UTF-8."""

from __future__ import annotations

import codecs
import csv
import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from onesided.errors import DataError

_DELIMITERS: Final = {",": "comma", ";": "semicolon", "|": "bar", "\t": "tab"}
_LONGEST: Final = 10**6
_CHUNK: Final = 2**20
_SAID: Final = re.compile(r"sep=([,;|\t])(?:\r\n|\n|\r)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heading:
    """A CSV file's columns, in order, and what stands between them.

    names: "" is a column without a name, which may stand first or last. skipped: lines above it.

    >>> Heading(("person", "place"), ",").names
    ('person', 'place')
    """

    names: tuple[str, ...]
    delimiter: str
    skipped: int = 0

    @property
    def folded(self) -> set[str]:
        """The names without their capitals."""
        return {name.casefold() for name in self.names}


def heading_of(path: Path, *, called: Path | None = None) -> Heading:
    r"""The heading of a file that is UTF-8 from end to end.

    The first line alone tells which of comma, semicolon, bar and tab separates columns; one that
    says it in so many words (``sep=;``, as Excel reads it) stands above the heading.
    called: the name to tell in errors.
    Errors: DataError naming the byte that is not UTF-8, or what is wrong with the first line.

    >>> _ = Path("visits.csv").write_text("person;place\n1;a\n")
    >>> heading_of(Path("visits.csv"))
    Heading(names=('person', 'place'), delimiter=';', skipped=0)
    """
    told = path if called is None else called
    _refuse_other_encoding(path, told)
    with path.open(encoding="utf-8-sig", newline="") as file:
        text = file.read(_LONGEST)
    said = _SAID.match(text)
    line = _first_record(text if said is None else text[said.end() :])
    if len(line) == _LONGEST:
        raise _unclear(told, f"its first line is longer than {_LONGEST:,} characters")
    marks = {mark for mark, inside in _marks(line) if mark in _DELIMITERS and not inside}
    found = marks if said is None else {said[1]}
    if len(found) > 1:
        several = " and ".join(_DELIMITERS[mark] for mark in sorted(found))
        raise _unclear(told, f"its first line has {several}, so what separates columns is unclear")
    delimiter = found.pop() if found else ","
    try:
        names = tuple(next(csv.reader([line], delimiter=delimiter, strict=True), ()))
    except csv.Error as error:
        raise _unclear(
            told, f"its first line has a quoted name that does not end ({error})"
        ) from error
    _refuse_names(told, names)
    _refuse_quotes_after_blanks(path, delimiter, told)
    return Heading(names, delimiter, 0 if said is None else 1)


def _refuse_names(path: Path, names: tuple[str, ...]) -> None:
    """The engine knows columns by name, in which capitals make no difference."""
    if not any(names):
        raise _unclear(path, "its first line is empty")
    seen: set[str] = set()
    for place, name in enumerate(names, start=1):
        if not name and place in (1, len(names)) and len(names) > 1:
            continue  # a row's number, or a separator at the end of each line
        if not name.strip() or "\x00" in name:
            raise _unclear(path, f"column {place} has no name")
        if "\n" in name or "\r" in name:
            raise _unclear(path, f"the name of column {place} goes over several lines")
        if name.casefold() in seen:
            raise _unclear(path, f"two columns are called {name!r}")
        seen.add(name.casefold())


def _first_record(text: str) -> str:
    """Up to the first end of line outside quotes."""
    for place, (mark, inside) in enumerate(_marks(text)):
        if mark in "\r\n" and not inside:
            return text[:place]
    return text


def _marks(text: str) -> Iterator[tuple[str, bool]]:
    """Each character, and whether it is inside quotes, which open where a name begins."""
    inside, begins = False, True
    for mark in text:
        if mark == '"' and (inside or begins):
            inside = not inside
        yield mark, inside
        # A doubled quote closes and opens again at once.
        begins = mark in _DELIMITERS or (mark == '"' and not inside)


def _unclear(path: Path, why: str) -> DataError:
    return DataError(
        f"Cannot read {str(path)!r}: {why}.",
        hint="The first line must name the columns, once each, separated by commas, semicolons, "
        'bars or tabs; put a name that contains one of them in quotes ("a, b").',
    )


def _refuse_other_encoding(path: Path, told: Path) -> None:
    """Errors: DataError naming the first byte that is not UTF-8, and its place."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    start = lines = 0  # of this piece; ends of lines before it
    with path.open("rb") as file:
        while True:
            piece = file.read(_CHUNK)
            kept, _ = decoder.getstate()  # bytes of a character that the last piece cut
            try:
                decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as error:
                data = kept + piece
                raise _not_utf8(
                    told,
                    byte=data[error.start],
                    place=start - len(kept) + error.start,
                    line=lines + data.count(b"\n", 0, error.start) + 1,
                ) from None
            if not piece:
                return
            start += len(piece)
            lines += piece.count(b"\n")


def _refuse_quotes_after_blanks(path: Path, delimiter: str, told: Path) -> None:
    """Refuse a quote that some readers take to open a text, and others to stand in one.

    By the first reading one row's quote takes in the rows below it. Errors: DataError.
    """
    if not path.stat().st_size:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = len(codecs.BOM_UTF8) if data[:3] == codecs.BOM_UTF8 else 0
        ends = b"\r\n" + delimiter.encode()
        if not _perhaps(data, start, ends):
            return
        rest = rb"[^" + re.escape(ends) + rb"]*"
        fields = re.compile(rb'(?:"(?:[^"]|"")*")?' + rest + rb"(?:[" + re.escape(ends) + rb"]|\Z)")
        for field in fields.finditer(data, start):
            if re.match(rb' +"', field[0]):
                line = data[: field.start()].count(b"\n") + 1
                raise DataError(
                    f"Cannot read {str(told)!r}: a quote follows blanks (line {line:,}).",
                    hint="Remove the blanks before it, or put the whole field in quotes and double "
                    "those in it.",
                    line=line,
                )


def _perhaps(data: mmap.mmap, start: int, ends: bytes) -> bool:
    """Whether a quote follows blanks that follow an end of a field, or what looks like one."""
    place = data.find(b' "', start)
    while place >= 0:
        before = place
        while before >= start and data[before] == ord(" "):
            before -= 1
        if before < start or data[before] in ends:
            return True
        place = data.find(b' "', place + 1)
    return False


def _not_utf8(path: Path, *, byte: int, place: int, line: int) -> DataError:
    return DataError(
        f"Cannot read {str(path)!r}: it is not UTF-8. Byte 0x{byte:02X} at position {place:,} "
        f"(line {line:,}) does not belong there.",
        hint='Declare what it is in the schema, such as encoding = "cp1252", or save it as UTF-8 '
        "('CSV UTF-8' in Excel).",
        byte=byte,
        position=place,
        line=line,
    )
