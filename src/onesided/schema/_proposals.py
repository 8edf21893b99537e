"""Forms that people's files have, to be proposed where a column's text is of exactly one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

_MARKS: Final = (None, ".", ",", "'", "\u2019", " ", "\u00a0", "\u202f")
_WORDS: Final = ("ja nein", "yes no", "oui non", "si no", "y n", "j n", "t f", "wahr falsch")
_DATES: Final = (
    "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d",
)  # fmt: skip
_CLOCKS: Final = ("%H:%M", "%H:%M:%S")


def proposals(kind: str) -> Iterator[dict[str, Any]]:
    """Forms of this type, fewer declarations first.

    >>> next(proposals("number"))
    {'decimal': ','}
    """
    if kind in ("integer", "number"):
        yield from _numbers(decimals=(None, ",") if kind == "number" else (None,))
    elif kind == "boolean":
        yield from _booleans()
    elif kind in ("date", "datetime"):
        clocks = ("",) if kind == "date" else (f" {clock}" for clock in _CLOCKS)
        yield from ({"date": f"{form}{clock}"} for clock in clocks for form in _DATES)


def _numbers(*, decimals: tuple[str | None, ...]) -> Iterator[dict[str, Any]]:
    for mark in _MARKS:
        for decimal in decimals:
            given = {"decimal": decimal, "thousands": mark}
            if (decimal or ".") != mark and any(given.values()):
                yield {name: one for name, one in given.items() if one is not None}


def _booleans() -> Iterator[dict[str, Any]]:
    for pair in _WORDS:
        for change in (str.lower, str.title, str.upper):
            true, false = change(pair).split()
            yield {"true": (true,), "false": (false,)}
