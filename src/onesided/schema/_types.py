"""The closed list of types that a column can have; conditions, schemas and engines share it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KINDS: Final = (
    "text",
    "boolean",
    "integer",
    "number",
    "date",
    "datetime",
    "time",
    "duration",
)
# Whole numbers are exact up to here: what 128 bits and decimals of 38 digits both hold.
LARGEST: Final = 10**38 - 1
_INT64: Final = (-(2**63), 2**63 - 1)


@dataclass(frozen=True, slots=True)
class Type:
    """What a column or an expression holds.

    kind: one of :data:`KINDS`.
    low, high: for whole numbers, what the type can hold; never what rows were seen to hold.
    zoned: moments that are instants, read in UTC; without it, the clock of the place itself.
    fine: moments in nanoseconds; otherwise in microseconds.

    >>> Type("integer", low=0, high=110).is_long, str(Type("text"))
    (True, 'text')
    """

    kind: str
    low: int = 0
    high: int = 0
    zoned: bool = False
    fine: bool = False

    def __str__(self) -> str:
        return "datetime with zone" if self.zoned else self.kind

    @property
    def is_long(self) -> bool:
        """Whether 64 bits hold every value."""
        return _INT64[0] <= self.low and self.high <= _INT64[1]

    @property
    def is_bounded(self) -> bool:
        """Whether every value is within the largest whole number."""
        return self.low >= -LARGEST and self.high <= LARGEST


def whole(low: int, high: int) -> Type:
    """Whole numbers from ``low`` to ``high``.

    >>> whole(0, 110).high, whole(0, 2**70).is_long
    (110, False)
    """
    return Type("integer", low=low, high=high)


def bits(size: int, *, signed: bool = True) -> Type:
    """Whole numbers of so many bits.

    >>> bits(8), bits(8, signed=False).high
    (Type(kind='integer', low=-128, high=127, zoned=False, fine=False), 255)
    """
    return whole(-(2 ** (size - 1)), 2 ** (size - 1) - 1) if signed else whole(0, 2**size - 1)


def moment(*, zoned: bool = False, fine: bool = False) -> Type:
    """Dates with a time of day.

    >>> moment(zoned=True).zoned, moment().fine
    (True, False)
    """
    return Type("datetime", zoned=zoned, fine=fine)


TEXT: Final = Type("text")
BOOLEAN: Final = Type("boolean")
INTEGER: Final = bits(64)
NUMBER: Final = Type("number")
DATE: Final = Type("date")
TIME: Final = Type("time")
DURATION: Final = Type("duration")
