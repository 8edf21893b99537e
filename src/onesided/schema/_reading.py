"""How the text of one column becomes values: by the forms that a schema declares, of a closed list.

A form turns text into the canonical one of its type, which one strict parser reads. Engines do the
same in their own words, from the same parts: patterns, pieces and words.
"""

from __future__ import annotations

import codecs
import csv
import datetime as dt
import math
import mmap
import re
import zoneinfo
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from onesided.errors import DataError, SchemaError

# Text to values, strictly: ISO 8601 for time, plain digits for numbers, nothing guessed.
#
# Values are whole numbers where time is concerned, so that no library's own limits get in: dates
# are days and moments microseconds since 1970-01-01 (zoned ones in UTC), times of day and
# durations are microseconds. What cannot be read is ``None``: unknown.

Value: TypeAlias = str | bool | int | float

DAY: Final = 86_400_000_000  # microseconds
FIRST_DAY: Final = dt.date(1, 1, 1).toordinal() - dt.date(1970, 1, 1).toordinal()
LAST_DAY: Final = dt.date(9999, 12, 31).toordinal() - dt.date(1970, 1, 1).toordinal()
_DAY_ZERO: Final = dt.date(1970, 1, 1).toordinal()

# RE2, which DuckDB uses, Rust, Java and Python read these patterns alike. Capitals are listed:
# where they are ignored, some take the long s for an s.
_YEAR: Final = r"(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_DATE: Final = rf"{_YEAR}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_CLOCK: Final = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"
_OFFSET: Final = r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
PATTERNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "boolean": r"[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|1|0",
        "integer": r"[+-]?[0-9]{1,38}",
        "number": r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?",
        "date": _DATE,
        "datetime": rf"{_DATE}[T ]{_CLOCK}",
        "datetime with zone": rf"{_DATE}[T ]{_CLOCK}{_OFFSET}",
        "time": _CLOCK,
        "duration": r"P([0-9]{1,7}D)?"
        r"(T([0-9]{1,8}H)?([0-9]{1,10}M)?([0-9]{1,12}(\.[0-9]{1,6})?S)?)?",
    }
)
_COMPILED: Final = {kind: re.compile(pattern) for kind, pattern in PATTERNS.items()}


def read(kind: str, text: str) -> Value | None:
    """``text`` as a value of this kind (``str(Type)``), or None if it is not one, strictly.

    >>> read("date", "1970-01-03"), read("date", "3 January 1970"), read("integer", "12")
    (2, None, 12)
    """
    if kind == "text":
        return text
    return _READERS[kind](text) if _COMPILED[kind].fullmatch(text) else None


def _boolean(text: str) -> bool:
    return text.lower() in ("true", "1")


def _integer(text: str) -> int | None:
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


def _iso_number(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _iso_date(text: str) -> int | None:
    try:
        return dt.date.fromisoformat(text[:10]).toordinal() - _DAY_ZERO
    except ValueError:
        return None


def _clock(text: str) -> int:
    """Microseconds since midnight."""
    parts = text.split(":")
    seconds, _, fraction = (parts[2] if len(parts) > 2 else "0").partition(".")
    whole = (int(parts[0]) * 60 + int(parts[1])) * 60 + int(seconds)
    return whole * 1_000_000 + int(fraction.ljust(6, "0"))


def _moment(text: str) -> int | None:
    days = _iso_date(text)
    return None if days is None else days * DAY + _clock(text[11:])


def _zoned(text: str) -> int | None:
    """In UTC, and of a year from 1 to 9999 there."""
    clock, offset = (text[:-1], 0) if text.endswith("Z") else (text[:-6], _clock(text[-5:]))
    local = _moment(clock)
    if local is None:
        return None
    value = local + offset if text[-6] == "-" else local - offset
    return value if FIRST_DAY * DAY <= value < (LAST_DAY + 1) * DAY else None


def _duration(text: str) -> int | None:
    if text in ("P", "PT") or text.endswith("T"):
        return None
    total = 0
    for amount, unit in re.findall(r"([0-9.]+)([DHMS])", text):
        seconds, _, fraction = amount.partition(".")
        total += int(seconds) * UNITS[unit] + int(fraction.ljust(6, "0") if fraction else 0)
    return total


UNITS: Final[Mapping[str, int]] = MappingProxyType(
    {"D": DAY, "H": 3_600_000_000, "M": 60_000_000, "S": 1_000_000}
)
_READERS: Final[Mapping[str, Callable[[str], Value | None]]] = MappingProxyType(
    {
        "boolean": _boolean,
        "integer": _integer,
        "number": _iso_number,
        "date": _iso_date,
        "datetime": _moment,
        "datetime with zone": _zoned,
        "time": _clock,
        "duration": _duration,
    }
)


def date_text(days: int) -> str:
    """Days since 1970 as ISO text.

    >>> date_text(0), date_text(-1)
    ('1970-01-01', '1969-12-31')
    """
    return dt.date.fromordinal(days + _DAY_ZERO).isoformat()


def clock_text(micros: int) -> str:
    """Microseconds since midnight as ISO text.

    >>> clock_text(3_600_000_000 + 500_000)
    '01:00:00.500000'
    """
    seconds, fraction = divmod(micros, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{clock}.{fraction:06}" if fraction else clock


def moment_text(micros: int) -> str:
    """Microseconds since 1970 as ISO text, without a zone.

    >>> moment_text(86_400_000_000)
    '1970-01-02 00:00:00'
    """
    days, clock = divmod(micros, DAY)
    return f"{date_text(days)} {clock_text(clock)}"


def value_of(value: object) -> Value | None:
    """A Python value in the form that this file describes; NaN, infinities and None are unknown.

    >>> value_of(dt.date(1970, 1, 3)), value_of(math.nan), value_of("gym")
    (2, None, 'gym')
    """
    if isinstance(value, dt.datetime):
        zone = value.utcoffset()
        naive = value.replace(tzinfo=None) - (zone or dt.timedelta())
        return (naive - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)  # noqa: DTZ001
    if isinstance(value, dt.date):
        return value.toordinal() - _DAY_ZERO
    if isinstance(value, dt.time):
        return _clock(value.replace(tzinfo=None).isoformat(timespec="microseconds"))
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | bool | int) else None


Piece: TypeAlias = str | int
DECIMALS: Final = (".", ",")
THOUSANDS: Final = (",", ".", "'", "\u2019", " ", "\u00a0", "\u202f", "_")
FIELDS: Final = "YmdHMSfz"
_DIGITS: Final = {"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2, "f": 6}
# The fields that a type needs, and those that it can have, in the order of its canonical form.
NEEDED: Final = {
    "date": ("Ymd", ""),
    "datetime": ("YmdHM", "Sf"),
    "datetime with zone": ("YmdHM", "Sfz"),
    "time": ("HM", "Sf"),
}
# The types of which each value has one text, in this form.
_SPELT_ONCE: Final = {"text": "", "integer": "0|-?[1-9][0-9]*", "date": ""}
_BEFORE: Final = {"m": "-", "d": "-", "H": "T", "M": ":", "S": ":", "f": "."}
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_FIRST, _LAST = dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(2100, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Reading:
    """The one reading of a column's text, which every engine follows.

    kind: the declared type. missing: texts that stand for no value. words: what single texts mean
    in the canonical form; where there are any, no other text is read. form: a pattern of the whole
    text; "" is the canonical one. pieces: the canonical text, where it is not the text itself:
    literals, and groups of the form; those below 0 are filled up to two digits. swaps: marks that
    become others, one after the other. zone: of moments that say none.

    >>> amount = reading_of("number", missing=("NA",), decimal=",", thousands=".")
    >>> amount.read("1.234,5"), amount.read("NA"), amount.is_unreadable("1,234.5")
    (1234.5, None, True)
    >>> reading_of("date", date="%d/%m/%Y").canonical("1/2/2008")
    '2008-02-01'
    """

    kind: str
    missing: tuple[str, ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    form: str = ""
    pieces: tuple[Piece, ...] = ()
    swaps: tuple[tuple[str, str], ...] = ()
    zone: str = ""

    def of_unit(self, name: str) -> Reading:
        """The same reading of a column of units, in which no two texts are one value.

        Errors: SchemaError where a type or a form writes one value in several ways.

        >>> person = reading_of("integer").of_unit("person")
        >>> person.read("7"), [person.is_unreadable(text) for text in ("07", "+7", "-0")]
        (7, [True, True, True])
        """
        plain = not (self.words or self.form or self.zone)
        if self.kind not in _SPELT_ONCE or not plain:
            raise SchemaError(
                f"The schema reads the text of the unit column {name!r} as {self.kind}, in which "
                "several texts are one unit.",
                hint="Declare it as text, or as integer or date without a form of its own.",
                column=name,
            )
        return replace(self, form=_SPELT_ONCE[self.kind])

    def canonical(self, text: str) -> str | None:
        """The text in the canonical form of its type, as far as it has the declared one."""
        if self.words:
            return dict(self.words).get(text)
        if self.form:
            found = re.fullmatch(self.form, text)
            if found is None:
                return None
            if self.pieces:
                parts = (
                    p if isinstance(p, str) else (found[p] if p > 0 else found[-p].rjust(2, "0"))
                    for p in self.pieces
                )
                text = "".join(parts)
        for old, new in self.swaps:
            text = text.replace(old, new)
        return text

    def read(self, text: str) -> Value | None:
        """The value; None for a word for no value, and for text that is not of the form."""
        made = None if text in self.missing else self.canonical(text)
        if made is None:
            return None
        found = read(self.kind, made)
        local = read("datetime", made) if found is None and self.zone else None
        return found if local is None else instant(int(local), self.zone)

    def is_unreadable(self, text: str) -> bool:
        """Whether it is neither of the form nor a word for no value."""
        return text not in self.missing and self.read(text) is None


def reading_of(
    kind: str,
    *,
    missing: tuple[str, ...] = (),
    decimal: str | None = None,
    thousands: str | None = None,
    date: str | None = None,
    true: tuple[str, ...] | None = None,
    false: tuple[str, ...] | None = None,
    zone: str | None = None,
) -> Reading:
    """The reading of a column of this type with these declared forms, checked before.

    >>> reading_of("boolean", true=("ja",), false=("nein",)).read("ja")
    True
    """
    if true is not None and false is not None:
        words = (*((word, "true") for word in true), *((word, "false") for word in false))
        return Reading(kind, missing, words=words)
    if decimal is not None or thousands is not None:
        form, swaps = _number(kind, decimal or ".", thousands)
        return Reading(kind, missing, form=form, swaps=swaps)
    if date is not None:
        form, pieces = _date(kind, date)
        return Reading(kind, missing, form=form, pieces=pieces, zone=zone or "")
    return Reading(kind, missing, zone=zone or "")


def _number(kind: str, decimal: str, mark: str | None) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Groups are of three digits, all or none of them: 1.234.567 and 1234567, not 1234.567."""
    point, digits = re.escape(decimal), "[0-9]{1,400}"
    swaps = [(decimal, ".")] if decimal != "." else []
    if mark is not None:
        digits = rf"([0-9]{{1,3}}({re.escape(mark)}[0-9]{{3}}){{1,130}}|{digits})"
        swaps.insert(0, (mark, ""))
    if kind == "integer":
        return rf"[+-]?{digits}", tuple(swaps)
    whole = rf"({digits}({point}[0-9]{{0,400}})?|{point}[0-9]{{1,400}})"
    return rf"[+-]?{whole}([eE][+-]?[0-9]{{1,4}})?", tuple(swaps)


def split_date(form: str) -> list[tuple[bool, str]] | None:
    """A form of dates in fields (true) and what stands between them; None if it is none.

    >>> split_date("%d/%Y"), split_date("%j")
    ([(True, 'd'), (False, '/'), (True, 'Y')], None)
    """
    found: list[tuple[bool, str]] = []
    place = 0
    while place < len(form):
        mark = form[place]
        if mark != "%":
            found.append((False, mark))
            place += 1
            continue
        field = form[place + 1 : place + 2]
        if field == "" or field not in FIELDS + "%":
            return None
        found.append((False, "%") if field == "%" else (True, field))
        place += 2
    return found


def _date(kind: str, form: str) -> tuple[str, tuple[Piece, ...]]:
    parts, pattern, groups = split_date(form) or [], "", dict[str, int]()
    for place, (is_field, mark) in enumerate(parts):
        if not is_field:
            pattern += re.escape(mark)
            continue
        groups[mark] = len(groups) + 1
        if mark == "z":
            pattern += "(Z|[+-][0-9]{2}:[0-9]{2})"
            continue
        near = parts[max(place - 1, 0) : place + 2]
        # Beside other digits a field has all of its own.
        fixed = mark == "Y" or sum(one[0] and one[1] != "z" for one in near) > 1
        least = _DIGITS[mark] if fixed else 1
        pattern += f"([0-9]{{{least},{_DIGITS[mark]}}})"
    pieces: list[Piece] = []
    for mark in "".join(NEEDED[kind]):
        if mark in groups:
            first = not pieces
            pieces += [] if first or mark not in _BEFORE else [_BEFORE[mark]]
            pieces.append(groups[mark] if mark in "Yfz" else -groups[mark])
    return pattern, tuple(pieces)


@cache
def local_offsets(zone: str) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    """Where a place's clock changes, in its own microseconds since 1970, and its offsets between.

    One more offset than changes; None where a time of the clock is none, or two moments.
    """
    place = zoneinfo.ZoneInfo(zone)
    second, day_long = dt.timedelta(seconds=1), dt.timedelta(days=1)

    def offset(moment: dt.datetime) -> int:
        found = moment.astimezone(place).utcoffset() or dt.timedelta()
        return found // dt.timedelta(microseconds=1)

    day = _FIRST - day_long  # one more on both sides: a clock may be a day off
    before = offset(day)
    changes, offsets = list[int](), list[int | None]([before])
    while day <= _LAST:
        later = day + day_long
        after = offset(later)
        if before != after:
            low, high = day, later
            while high - low > second:
                middle = low + (high - low) // 2
                middle = middle.replace(microsecond=0)
                low, high = (middle, high) if offset(middle) == before else (low, middle)
            ends = sorted((_micros(high) + before, _micros(high) + after))
            changes += ends
            offsets += [None, after]
        day, before = later, after
    start, end = _micros(_FIRST), _micros(_LAST)
    first, last = bisect_right(changes, start), bisect_left(changes, end)
    return (start, *changes[first:last], end), (None, *offsets[first : last + 1], None)


def _micros(moment: dt.datetime) -> int:
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)


def instant(local: int, zone: str) -> int | None:
    """A moment of a place's clock in UTC; None where it is none there, or two.

    From 1900 to 2099: beyond, nobody knows what clocks will say.

    >>> instant(0, "Europe/Zurich"), instant(1774751400_000_000, "Europe/Zurich")
    (-3600000000, None)
    """
    changes, offsets = local_offsets(zone)
    found = offsets[bisect_right(changes, local)]
    return None if found is None else local - found


# What the first line of a CSV file decides for all others, and that the file is UTF-8.

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
    _refuse_line(line, told)
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
    # The engine knows columns by name, in which capitals make no difference.
    if not any(names):
        raise _unclear(told, "its first line is empty")
    seen: set[str] = set()
    for place, name in enumerate(names, start=1):
        if not name and place in (1, len(names)) and len(names) > 1:
            continue  # a row's number, or a separator at the end of each line
        if not name.strip():
            raise _unclear(told, f"column {place} has no name")
        if "\n" in name or "\r" in name:
            raise _unclear(told, f"the name of column {place} goes over several lines")
        if name.casefold() in seen:
            raise _unclear(told, f"two columns are called {name!r}")
        seen.add(name.casefold())
    _refuse_quotes_after_blanks(path, delimiter, told)
    return Heading(names, delimiter, 0 if said is None else 1)


def _refuse_line(line: str, told: Path) -> None:
    if len(line) == _LONGEST:
        raise _unclear(told, f"its first line is longer than {_LONGEST:,} characters")
    if "\x00" in line:
        raise DataError(
            f"Cannot read {str(told)!r}: its first line has NUL characters, as UTF-16 has.",
            hint='Declare encoding = "utf-16" in the schema, or save it as UTF-8.',
        )


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
