"""Event times as whole numbers: microseconds since 1970 in UTC, or whatever the caller counts."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import whole
from onesided.errors import DataError, ParameterError

# Far from the ends of int64, so that a window can always be added or taken away.
LATEST: Final = 2**61
NEVER: Final = -(2**62)
# Microseconds of the years 1 to 9999 of UTC, which Python's moments can say.
YEARS: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_FINE: Final = ("ns", "ps", "fs", "as")  # of which 64 bits hold a few centuries
_UNITS: Final = {"ms": 10**3, "s": 10**6, "min": 60 * 10**6, "m": 60 * 10**6, "h": 3600 * 10**6}
_UNITS_LONG: Final = {"d": 86_400 * 10**6, "w": 7 * 86_400 * 10**6}
_DURATION: Final = re.compile(r"(\d{1,9})\s*(ms|s|min|m|h|d|w)")


@dataclass(frozen=True, slots=True)
class Scale:
    """How times are counted: ``dated`` in microseconds of UTC, else in the caller's own numbers.

    >>> Scale(dated=True).text(Scale(dated=True).ticks("2026-01-05", name="time"))
    '2026-01-05T00:00:00Z'
    >>> Scale(dated=False).ticks(12, name="time")
    12
    """

    dated: bool

    def ticks(self, value: object, *, name: str) -> int:
        """One moment as a whole number. A datetime without a zone is taken to be in UTC.

        Errors: DataError naming what cannot be a time on this scale.
        """
        try:
            found = _dated(value) if self.dated else _counted(value)
        except (ValueError, TypeError, OverflowError):
            found = None
        low, high = YEARS if self.dated else (-LATEST, LATEST)
        if found is None or not low <= found <= high:
            wanted = "a date and time" if self.dated else "a whole number, as the window is"
            raise DataError(
                f"{name} must be {wanted}, got {value!r}.",
                hint='Give a datetime or text such as "2026-11-21T07:30" with a window such as '
                '"2h", or whole numbers with a whole window. Nothing was drawn or stored.',
                value=value,
            )
        return found

    def many(self, values: Iterable[Any], *, name: str) -> list[int]:
        """Moments as whole numbers; see :meth:`ticks`."""
        if isinstance(values, np.ndarray) and values.dtype.kind == "M" and self.dated:
            missing = np.flatnonzero(np.isnat(values))
            if missing.size == 0 and in_years(values):
                ticks: list[int] = values.astype("datetime64[us]").astype(np.int64).tolist()
                return ticks
            values = [None if np.isnat(value) else value for value in values]
        plain = values.tolist() if isinstance(values, np.ndarray) else values
        return [self.ticks(value, name=f"{name} of row {row}") for row, value in enumerate(plain)]

    def text(self, ticks: int) -> str:
        """A moment for people and files: ISO 8601 in UTC, or the number."""
        if not self.dated:
            return str(ticks)
        return (_EPOCH + ticks * _MICROSECOND).isoformat().replace("+00:00", "Z")


def in_years(moments: NDArray[np.datetime64]) -> bool:
    """Whether moments of NumPy, none missing, can be said in microseconds by Python.

    >>> in_years(np.array(["2026-01-05", "300000-01-01"], dtype="datetime64[D]"))
    False
    """
    if not moments.size or np.datetime_data(moments.dtype)[0] in _FINE:
        return True
    return all(isinstance(end.item(), dt.date) for end in (moments.min(), moments.max()))


def _dated(value: object) -> int | None:
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    elif isinstance(value, np.datetime64):
        # NumPy would make another moment of one that is far away.
        fine = np.datetime_data(value.dtype)[0] in _FINE
        value = (value.astype("datetime64[us]") if fine else value).item()
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time.min)
    if not isinstance(value, dt.datetime):
        return None
    aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
    return (aware - _EPOCH) // _MICROSECOND


def _counted(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return None
    return int(value)


def read_window(window: object) -> tuple[Scale, int | None]:
    """The scale of times and the window's length on it; None for a window without end.

    Errors: ParameterError for a length that is not above 0.

    >>> read_window("1h"), read_window(7)
    ((Scale(dated=True), 3600000000), (Scale(dated=False), 7))
    """
    if window is None:
        return Scale(dated=False), None
    if isinstance(window, dt.timedelta) or (isinstance(window, str) and not window.isdecimal()):
        return Scale(dated=True), duration(window, name="window")
    return Scale(dated=False), whole(window, name="window", least=1, most=LATEST)


def duration(value: object, *, name: str) -> int:
    """A length of time in microseconds: a timedelta, or text such as "90s", "5m", "2h", "14d".

    Errors: ParameterError for anything else, and for a length that is not above 0.

    >>> duration("90s", name="--every"), duration("1m", name="--every")
    (90000000, 60000000)
    """
    found = 0
    if isinstance(value, dt.timedelta):
        found = value // _MICROSECOND
    elif isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        found = int(match[1]) * (_UNITS | _UNITS_LONG)[match[2]]
    if 1 <= found <= LATEST:
        return found
    raise ParameterError(
        f"{name} must be a length of time above 0, got {value!r}.",
        hint='Give text such as "90s", "5m", "2h" or "14d", or a timedelta.',
        value=value,
    )


def length_text(ticks: int) -> str:
    """A length of time in microseconds, as people write it: "14 days, 0:00:00"."""
    return str(ticks * _MICROSECOND)
