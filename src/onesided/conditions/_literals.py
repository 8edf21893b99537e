"""Literals of a condition's text: numbers, dates and moments, lengths of time."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Final

from onesided._english import a
from onesided.conditions._source import Source
from onesided.conditions._tree import Literal
from onesided.schema import (
    DATE,
    DAY,
    DURATION,
    LARGEST,
    NUMBER,
    TIME,
    Type,
    moment_type,
    read,
    whole,
)

_NUMBER: Final = re.compile(r"[0-9]{1,400}(\.[0-9]{0,400})?([eE][+-]?[0-9]{1,3})?")
_UNITS: Final = {"DAY": DAY, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_AMOUNT: Final = re.compile(r"([+-]?)([0-9]{1,12})(?:\.([0-9]{1,6}))?")
_LONGEST: Final = 4_000_000 * DAY  # more than lies between the years 1 and 9999
MOMENTS: Final[dict[str, tuple[Type, ...]]] = {
    "DATE": (DATE,),
    "TIMESTAMP": (moment_type(), moment_type(zoned=True), DATE),
    "TIMESTAMPTZ": (moment_type(zoned=True),),
    "TIME": (TIME,),
}
_WRITTEN: Final = {
    "DATE": "DATE '2024-01-31'",
    "TIMESTAMP": "TIMESTAMP '2024-01-31 08:30:00'",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2024-01-31 08:30:00+01:00'",
    "TIME": "TIME '08:30:00'",
}


def number(text: str, *, source: Source, place: int) -> Literal:
    """A whole number, exactly, or one with a point or an exponent."""
    if not _NUMBER.fullmatch(text):
        raise source.error(f"{text[:40]} is not a number.", place, "Write 18, 1.5 or 2e6.")
    if text.isdecimal():
        value = int(text)
        if value > LARGEST:
            raise source.error("This number has more than 38 digits.", place, "Write it as 1e40.")
        return Literal(value=value, type=whole(value, value), place=place)
    exact = Decimal(text)
    if float(exact) in (float("inf"), float("-inf")):
        raise source.error(
            "This number is larger than 64-bit numbers go.", place, "They go up to 1.8e308."
        )
    return Literal(value=exact, type=NUMBER, place=place)


def negated(literal: Literal) -> Literal:
    """The literal with the other sign."""
    if isinstance(literal.value, int):
        return replace(literal, value=-literal.value, type=whole(-literal.value, -literal.value))
    return replace(literal, value=-Decimal(str(literal.value)))


def moment(text: str, kind: str, *, source: Source, place: int) -> Literal:
    """DATE, TIMESTAMP, TIMESTAMPTZ or TIME and a text in ISO 8601."""
    for made in MOMENTS[kind]:
        value = read(str(made), text)
        if value is None:
            continue
        if kind == "TIMESTAMP" and made is DATE:
            return Literal(value=int(value) * DAY, type=moment_type(), place=place)
        return Literal(value=value, type=made, place=place)
    raise source.error(
        f"{text[:40]!a} is not {a(kind.lower())} in ISO 8601.", place, f"Write {_WRITTEN[kind]}."
    )


def interval(text: str, unit: str, *, source: Source, place: int) -> Literal:
    """INTERVAL, an amount and a unit from days to seconds."""
    singular = unit.removesuffix("S")
    amount = _AMOUNT.fullmatch(text)
    if amount is None or singular not in _UNITS or (amount[3] and singular != "SECOND"):
        raise source.error(
            "An interval is an amount of days, hours, minutes or seconds.",
            place,
            "Write INTERVAL '3' DAY; months and years have no one length.",
        )
    value = int(amount[2]) * _UNITS[singular] + int((amount[3] or "").ljust(6, "0"))
    if value > _LONGEST:
        raise source.error(
            "This interval is longer than ten thousand years.", place, "Write a shorter one."
        )
    return Literal(value=-value if amount[1] == "-" else value, type=DURATION, place=place)
