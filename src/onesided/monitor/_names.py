"""The public time that a batch's name speaks of."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from onesided.monitor._time import Scale

_DATE: Final = re.compile(
    r"(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?:[T_ .-]?(\d{2})(?:[:._-]?(\d{2})(?:[:._-]?(\d{2}))?)?)?"
    r"Z?(?!\d)"
)
_NUMBER: Final = re.compile(r"\d+")


def time_in_name(name: str, scale: Scale) -> int | None:
    """The end of the period that the name speaks of; its last number where those are counted.

    None if it speaks of none.

    >>> scale = Scale(dated=True)
    >>> scale.text(time_in_name("visits-2026-11-21T07", scale))
    '2026-11-21T08:00:00Z'
    >>> time_in_name("visits-12", Scale(dated=False)), time_in_name("visits", scale)
    (12, None)
    """
    if not scale.dated:
        numbers = _NUMBER.findall(name)
        return int(numbers[-1]) if numbers else None
    found = _DATE.search(name)
    if found is None:
        return None
    given = [int(part) for part in found.groups() if part is not None]
    length = dt.timedelta(**{("days", "hours", "minutes", "seconds")[len(given) - 3]: 1})
    try:
        end = dt.datetime(*given).replace(tzinfo=dt.UTC) + length  # type: ignore[arg-type]  # noqa: DTZ001
    except (ValueError, OverflowError):  # also the last day of the year 9999
        return None
    return scale.ticks(end, name="the time in a name")
