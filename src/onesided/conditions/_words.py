"""Names and literals as canonical text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from onesided.schema import DAY, Type, clock_text, date_text, moment_text

_UNITS: Final = ((DAY, "DAY"), (3_600_000_000, "HOUR"), (60_000_000, "MINUTE"))


def quoted_name(name: str) -> str:
    """A column's name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Text in single quotes."""
    return "'" + text.replace("'", "''") + "'"


def literal_text(value: object, kind: Type) -> str:
    """A literal as the language writes it."""
    return _WRITERS[str(kind)](value)


def _interval(value: object) -> str:
    micros = int(str(value))
    for size, unit in _UNITS:
        if micros % size == 0:
            return f"INTERVAL '{micros // size}' {unit}"
    seconds = Decimal(micros).scaleb(-6)
    return f"INTERVAL '{seconds.normalize():f}' SECOND"


def _number(value: object) -> str:
    """Numbers keep a point or an exponent, so that they are not read as whole ones."""
    text = str(value)
    return text if any(sign in text for sign in ".eE") else f"{text}.0"


_WRITERS: Final[Mapping[str, Callable[[object], str]]] = MappingProxyType(
    {
        "text": lambda value: quoted_text(str(value)),
        "boolean": lambda value: "TRUE" if value else "FALSE",
        "integer": str,
        "number": _number,
        "date": lambda value: f"DATE '{date_text(int(str(value)))}'",
        "datetime": lambda value: f"TIMESTAMP '{moment_text(int(str(value)))}'",
        "datetime with zone": lambda value: f"TIMESTAMPTZ '{moment_text(int(str(value)))}Z'",
        "time": lambda value: f"TIME '{clock_text(int(str(value)))}'",
        "duration": _interval,
    }
)
