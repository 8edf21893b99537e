"""The values of questions and releases as JSON, and back; what has no exact form is refused.

Whole numbers, texts, booleans, null and lists are JSON's own. All else is an object of one name:

    {"number": "1/2"}  {"float": "nan"}  {"date": "2026-01-31"}  {"datetime": ...}  {"time": ...}
    {"duration": [days, seconds, microseconds]}  {"tuple": [...]}  {"range": [0, 24, 1]}
    {"pairs": [[key, value], ...]}

What is such an object, :data:`FORMS` says as JSON Schema; :func:`fits` checks it.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, TypeAlias

import narwhals as nw
import numpy as np

from onesided._numbers import MAX_COUNT, exact, text
from onesided.errors import ParameterError

Form: TypeAlias = Mapping[str, Any]
_MOST_VALUES: Final = 10**7
_MOMENTS: Final[tuple[tuple[Any, str], ...]] = (
    (dt.datetime, "datetime"),
    (dt.date, "date"),
    (dt.time, "time"),
)


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
    if len(given) != 1 or next(iter(given)) not in _NAMED:
        raise ParameterError(
            f"{{{', '.join(map(repr, list(given)[:3]))}}} is no value of this form.",
            hint=f"An object has one of the names {', '.join(sorted(_NAMED))}.",
        )
    ((name, inner),) = given.items()
    form, read = _NAMED[name]
    if not fits(form, inner):
        raise ParameterError(f"{{{name!r}: ...}} cannot be read.", hint=f"Its form is {form}.")
    try:
        return read(inner)
    except (ValueError, OverflowError) as error:
        raise ParameterError(
            f"{{{name!r}: ...}} cannot be read: {error}.", hint="See docs/json.md."
        ) from error


def _range(ends: list[Any]) -> range:
    """Whole numbers from one to another, no more than a list in the text could name."""
    if len(made := range(*map(int, ends))) > _MOST_VALUES:
        raise ValueError(f"it has more than {_MOST_VALUES:,} values")
    return made


def _pairs(given: list[Any]) -> dict[Any, Any]:
    """A mapping, each key of which stands once."""
    found = {value_of(key): value_of(part) for key, part in given}
    if len(found) < len(given):
        raise ValueError("a key stands twice")
    return found


def _text(pattern: str) -> Form:
    """Text that is all of it as the pattern says, in the words of Python and of JavaScript."""
    return {"type": "string", "pattern": f"^(?:{pattern})$(?!\\n)"}


def _list(*parts: Form, least: int | None = None) -> Form:
    """A list of these parts, of at least so many of them."""
    least = len(parts) if least is None else least
    return {"type": "array", "prefixItems": list(parts), "minItems": least, "maxItems": len(parts)}


def _between(least: int, most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most}


_WHOLE: Final = _between(-MAX_COUNT, MAX_COUNT)
_VALUE: Final[Form] = {"$ref": "#/$defs/value"}
_KEY: Final[Form] = {"$ref": "#/$defs/key"}
_DECIMAL: Final = r"(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,2})?"
_EXACT: Final = rf"[+-]?(?:{_DECIMAL}|[0-9]{{1,400}}|[0-9]{{1,4000}}/[1-9][0-9]{{0,3999}})"
_LEAP: Final = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE: Final = (
    r"(?!0000)(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    rf"|{_LEAP}-02-29)"
)
_CLOCK: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{6})?)?"
_TIME: Final = rf"{_CLOCK}(?:[+-]{_CLOCK})?"
# The objects of one name: what is in each, and how it is read.
_NAMED: Final[Mapping[str, tuple[Form, Callable[[Any], Any]]]] = {
    "number": (_text(_EXACT), lambda given: exact(given, name="a number")),
    "float": ({"enum": ["nan", "inf", "-inf"]}, float),
    "datetime": (_text(f"{_DATE}T{_TIME}"), dt.datetime.fromisoformat),
    "date": (_text(_DATE), dt.date.fromisoformat),
    "time": (_text(_TIME), dt.time.fromisoformat),
    "duration": (
        _list(_between(-999_999_999, 999_999_999), _between(0, 86_399), _between(0, 999_999)),
        lambda parts: dt.timedelta(*parts),
    ),
    "tuple": ({"type": "array", "items": _VALUE}, lambda parts: tuple(map(value_of, parts))),
    "range": (_list(_WHOLE, _WHOLE, {**_WHOLE, "not": {"enum": [0]}}, least=1), _range),
    "pairs": ({"type": "array", "items": _list(_KEY, _VALUE)}, _pairs),
}
_OF_KEYS: Final[Form] = {"type": "array", "items": _KEY}
_SCALAR: Final[Form] = {"type": ["string", "number", "boolean", "null"]}


def _named(*names: str, **others: Form) -> list[Form]:
    """Objects of one of these names."""
    forms = {**{name: _NAMED[name][0] for name in names}, **others}
    return [
        {
            "type": "object",
            "properties": {name: form},
            "required": [name],
            "additionalProperties": False,
        }
        for name, form in forms.items()
    ]


_PLAIN: Final = ("number", "float", "datetime", "date", "time", "duration")
# What JSON holds of values, as docs/json.md says; other forms refer to them by name.
FORMS: Final[Mapping[str, Form]] = {
    "number": {"anyOf": [{"type": ["number", "string"]}, *_named("number")]},
    "value": {"anyOf": [_SCALAR, {"type": "array", "items": _VALUE}, *_named(*_NAMED)]},
    "key": {"anyOf": [_SCALAR, *_named(*_PLAIN, tuple=_OF_KEYS)]},
    "mapping": _named("pairs")[0],
}


def listed(form: Form, *, whole: bool) -> list[Form]:
    """Lists and tuples of values of a form; ranges, if they may be whole numbers."""
    array = {"type": "array", "items": form}
    return [array, *_named(*(["range"] if whole else []), tuple=array)]


_TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: _TYPES["number"](value) and value == value // 1,
}


def fits(form: Form, value: Any) -> bool:
    """Whether JSON has this form, of the words of JSON Schema that forms here are made of.

    >>> fits({"type": "array", "items": FORMS["key"]}, ["a", {"date": "2026-01-31"}])
    True
    """
    return all(_WORDS[word](said, value, form) for word, said in form.items())


def _all(values: Any, forms: Any) -> bool:
    return all(map(fits, forms, values))


_WORDS: Final[Mapping[str, Callable[[Any, Any, Form], bool]]] = {
    "type": lambda said, value, _: any(
        _TYPES[one](value) for one in ((said,) if isinstance(said, str) else said)
    ),
    "enum": lambda said, value, _: not isinstance(value, bool) and value in said,
    "pattern": lambda said, value, _: re.search(said, value) is not None,
    "minimum": lambda said, value, _: value >= said,
    "maximum": lambda said, value, _: value <= said,
    "items": lambda said, value, _: all(fits(said, part) for part in value),
    "prefixItems": lambda said, value, _: _all(value, said),
    "minItems": lambda said, value, _: len(value) >= said,
    "maxItems": lambda said, value, _: len(value) <= said,
    "properties": lambda said, value, _: all(fits(said[n], value[n]) for n in said if n in value),
    "required": lambda said, value, _: all(name in value for name in said),
    "additionalProperties": lambda _, value, form: set(value) <= set(form["properties"]),
    "anyOf": lambda said, value, _: any(fits(one, value) for one in said),
    "not": lambda said, value, _: not fits(said, value),
    "$ref": lambda said, value, _: fits(FORMS[said.rpartition("/")[2]], value),
}
