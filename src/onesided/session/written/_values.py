"""The values of questions and releases as JSON, and back; what has no exact form is refused.

Whole numbers, texts, booleans, null and lists are JSON's own. All else is an object of one name:

    {"number": "1/2"}  {"float": "nan"}  {"date": "2026-01-31"}  {"datetime": ...}  {"time": ...}
    {"duration": [days, seconds, microseconds]}  {"tuple": [...]}  {"range": [0, 24, 1]}
    {"pairs": [[key, value], ...]}
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import narwhals as nw
import numpy as np

from onesided._numbers import exact, text
from onesided.errors import ParameterError


def written(value: object) -> Any:  # noqa: C901, PLR0911 - a line for each kind of value
    """A value as JSON. Errors: ParameterError for what has no form there.

    >>> written((1, "a"))
    {'tuple': [1, 'a']}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, Fraction | Decimal):
        return {"number": text(exact(value, name="a number"))}
    for kind, name in _MOMENTS:
        if isinstance(value, kind):
            return {name: value.isoformat()}
    if isinstance(value, dt.timedelta):
        return {"duration": [value.days, value.seconds, value.microseconds]}
    if isinstance(value, Mapping):
        return {"pairs": [[written(key), written(part)] for key, part in value.items()]}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, tuple):
        return {"tuple": [written(part) for part in value]}
    if isinstance(value, list):
        return [written(part) for part in value]
    return _of_table(value)


def _of_table(value: object) -> Any:
    """Arrays and series as lists, tables as their columns."""
    if isinstance(value, np.ndarray):
        return written(value.tolist())
    read = nw.from_native(value, pass_through=True, allow_series=True)
    if isinstance(read, nw.Series):
        return written(read.to_list())
    if isinstance(read, nw.DataFrame):
        return written({name: read[name].to_list() for name in read.columns})
    raise ParameterError(
        f"A value of type {type(value).__name__} has no form in JSON.",
        hint="Give plain values, lists, arrays or tables.",
        value=value,
    )


def value_of(given: Any) -> Any:
    """The value that was written. Errors: ParameterError for any other object.

    >>> value_of({"number": "1/2"})
    Fraction(1, 2)
    """
    if isinstance(given, list):
        return [value_of(part) for part in given]
    if not isinstance(given, dict):
        return given
    if len(given) != 1 or next(iter(given)) not in _READ:
        raise ParameterError(
            f"{{{', '.join(map(repr, list(given)[:3]))}}} is no value of this form.",
            hint=f"An object has one of the names {', '.join(sorted(_READ))}.",
        )
    ((name, inner),) = given.items()
    try:
        return _READ[name](inner)
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
        raise ParameterError(
            f"{{{name!r}: ...}} cannot be read: {error}.", hint="See docs/json.md."
        ) from error


def _number(given: str) -> Fraction:
    """An exact number: text, whose exponent fits in memory."""
    if not isinstance(given, str):
        raise TypeError("a number is text")
    return exact(given, name="a number")


def _range(ends: Any) -> range:
    """Whole numbers from one to another, no more than a list in the text could name."""
    if any(type(end) is not int for end in _list(ends)):
        raise TypeError("its ends and its step are whole numbers")
    if len(made := range(*ends)) > _MOST_VALUES:
        raise ValueError(f"it has more than {_MOST_VALUES:,} values")
    return made


def _list(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise TypeError("a list is expected")
    return given


def _float(given: str) -> float:
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[given]


_MOST_VALUES: Final = 10**7
_MOMENTS: Final[tuple[tuple[Any, str], ...]] = (
    (dt.datetime, "datetime"),
    (dt.date, "date"),
    (dt.time, "time"),
)
_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "number": _number,
    "float": _float,
    "datetime": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
    "duration": lambda parts: dt.timedelta(*_list(parts)),
    "tuple": lambda parts: tuple(map(value_of, _list(parts))),
    "range": _range,
    "pairs": lambda pairs: {
        value_of(key): value_of(part) for key, part in map(_list, _list(pairs))
    },
}
