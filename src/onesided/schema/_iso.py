"""Text to values, strictly: ISO 8601 for time, plain digits for numbers, nothing guessed.

Values are whole numbers where time is concerned, so that no library's own limits get in: dates are
days and moments microseconds since 1970-01-01 (zoned ones in UTC), times of day and durations are
microseconds. What cannot be read is ``None``: unknown.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

Value: TypeAlias = str | bool | int | float

DAY: Final = 86_400_000_000  # microseconds
FIRST_DAY: Final = dt.date(1, 1, 1).toordinal() - dt.date(1970, 1, 1).toordinal()
LAST_DAY: Final = dt.date(9999, 12, 31).toordinal() - dt.date(1970, 1, 1).toordinal()
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()

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


def _number(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _date(text: str) -> int | None:
    try:
        return dt.date.fromisoformat(text[:10]).toordinal() - _EPOCH
    except ValueError:
        return None


def _clock(text: str) -> int:
    """Microseconds since midnight."""
    parts = text.split(":")
    seconds, _, fraction = (parts[2] if len(parts) > 2 else "0").partition(".")
    whole = (int(parts[0]) * 60 + int(parts[1])) * 60 + int(seconds)
    return whole * 1_000_000 + int(fraction.ljust(6, "0"))


def _moment(text: str) -> int | None:
    days = _date(text)
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
        "number": _number,
        "date": _date,
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
    return dt.date.fromordinal(days + _EPOCH).isoformat()


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
        return value.toordinal() - _EPOCH
    if isinstance(value, dt.time):
        return _clock(value.replace(tzinfo=None).isoformat(timespec="microseconds"))
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | bool | int) else None
