"""How the text of one column becomes values: by the forms that a schema declares, of a closed list.

A form turns text into the canonical one of its type, which one strict parser reads. Engines do the
same in their own words, from the same parts: patterns, pieces and words.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, TypeAlias

from onesided.errors import SchemaError
from onesided.schema._iso import Value, read

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
_YEARS: Final = range(1900, 2101)


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
                parts = (p if isinstance(p, str) else _group(found, p) for p in self.pieces)
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


def _group(found: re.Match[str], piece: int) -> str:
    return found[piece] if piece > 0 else found[-piece].rjust(2, "0")


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
    second = dt.timedelta(seconds=1)

    def offset(moment: dt.datetime) -> int:
        found = moment.astimezone(place).utcoffset() or dt.timedelta()
        return found // dt.timedelta(microseconds=1)

    changes: list[int] = [_micros(dt.datetime(_YEARS[0], 1, 2, tzinfo=dt.UTC))]
    offsets: list[int | None] = [None]
    day = dt.datetime(_YEARS[0], 1, 1, tzinfo=dt.UTC)
    before = offset(day)
    offsets.append(before)
    while day.year < _YEARS[-1]:
        later = day + dt.timedelta(days=1)
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
    changes.append(_micros(dt.datetime(_YEARS[-1] - 1, 12, 30, tzinfo=dt.UTC)))
    offsets.append(None)
    return tuple(changes), tuple(offsets)


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
