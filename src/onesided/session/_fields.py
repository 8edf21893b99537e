"""The fields of questions: a field's type says how JSON holds it, and what tells its values apart.

Plain types, numbers, names and choices speak for themselves. Of the others the type is annotated
with a field that does: where JSON holds them otherwise, or where two values mean the same.

Whole numbers, texts, booleans, null and lists are JSON's own. All else is an object of one name,
such as {"number": "1/2"} or {"pairs": [[key, value], ...]}: :data:`FORMS` says which, as JSON
Schema, and :func:`fits` checks it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import MAX_COUNT, Infinite, Number, exact, text
from onesided.errors import ParameterError
from onesided.fields import is_bool, shortened
from onesided.linear import Operator
from onesided.mechanism import Mechanism
from onesided.mechanism.kit import source_of
from onesided.noise import IntArray
from onesided.session._context import QueryContext, Unknown, condition, left_out

Form: TypeAlias = Mapping[str, Any]
_MOST_VALUES: Final = 10**7
_MOMENTS: Final[tuple[tuple[Any, str], ...]] = (
    (dt.datetime, "datetime"),
    (dt.date, "date"),
    (dt.time, "time"),
)


def written(value: object) -> Any:  # noqa: C901, PLR0911 - a line for each kind of value
    """A value as JSON. Errors: ParameterError for what has no form there."""
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
    held = value.tolist() if isinstance(value, np.ndarray) else _held(value)
    if held is not value:
        return written(held)
    raise ParameterError(
        f"A value of type {type(value).__name__} has no form in JSON.",
        hint="Give plain values, lists, arrays or tables.",
        value=value,
    )


def _held(value: object) -> object:
    """Series as lists, tables as their columns; itself for all else."""
    read = nw.from_native(value, pass_through=True, allow_series=True)
    if isinstance(read, nw.Series):
        return read.to_list()
    if isinstance(read, nw.DataFrame):
        return {name: read[name].to_list() for name in read.columns}
    return value


def value_of(given: Any) -> Any:
    """The value that was written. Errors: ParameterError for any other object."""
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


def _objects(*names: str, **others: Form) -> list[Form]:
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
    "number": {"anyOf": [{"type": ["number", "string"]}, *_objects("number")]},
    "value": {"anyOf": [_SCALAR, {"type": "array", "items": _VALUE}, *_objects(*_NAMED)]},
    "key": {"anyOf": [_SCALAR, *_objects(*_PLAIN, tuple=_OF_KEYS)]},
    "mapping": _objects("pairs")[0],
}


def listed(form: Form, *, whole: bool) -> list[Form]:
    """Lists and tuples of values of a form; ranges, if they may be whole numbers."""
    array = {"type": "array", "items": form}
    return [array, *_objects(*(["range"] if whole else []), tuple=array)]


_KINDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: _KINDS["number"](value) and value == value // 1,
}


def fits(form: Form, value: Any) -> bool:
    """Whether JSON has this form, of the words of JSON Schema that forms here are made of."""
    return all(_WORDS[word](said, value, form) for word, said in form.items())


_WORDS: Final[Mapping[str, Callable[[Any, Any, Form], bool]]] = {
    "type": lambda said, value, _: any(
        _KINDS[one](value) for one in ((said,) if isinstance(said, str) else said)
    ),
    "enum": lambda said, value, _: not isinstance(value, bool) and value in said,
    "pattern": lambda said, value, _: re.search(said, value) is not None,
    "minimum": lambda said, value, _: value >= said,
    "maximum": lambda said, value, _: value <= said,
    "items": lambda said, value, _: all(fits(said, part) for part in value),
    "prefixItems": lambda said, value, _: all(map(fits, said, value)),
    "minItems": lambda said, value, _: len(value) >= said,
    "maxItems": lambda said, value, _: len(value) <= said,
    "properties": lambda said, value, _: all(fits(said[n], value[n]) for n in said if n in value),
    "required": lambda said, value, _: all(name in value for name in said),
    "additionalProperties": lambda _, value, form: set(value) <= set(form["properties"]),
    "anyOf": lambda said, value, _: any(fits(one, value) for one in said),
    "not": lambda said, value, _: not fits(said, value),
    "$ref": lambda said, value, _: fits(FORMS[said.rpartition("/")[2]], value),
}


Told: TypeAlias = Callable[[Any, Any, QueryContext], object]
Settled: TypeAlias = Callable[[Any, str], Any]
_PROBES: Final = 4
_ODD: Final = 0x9E3779B97F4A7C15


def _as_given(value: Any, name: str) -> Any:
    del name
    return value


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's field: its JSON Schema, and what tells its values apart.

    told: what is the same for the same meaning, of a value, the question and its context.
    settle: of a value and the field's name, gives what stands for all that mean the same.
    """

    form: Form
    told: Told
    settle: Settled = _as_given

    def fitting(self, value: Any, *, name: str) -> Any:
        """JSON of the form. Errors: ParameterError for what is not of it."""
        if fits(self.form, value):
            return value
        raise ParameterError(
            f"{name} is {shortened(value)}, which is not of its form.",
            hint=f"Its form is {dict(self.form)!r:.400}; see docs/json.md.",
        )


def settled(question: Any) -> Any:
    """The question with one value for all that mean the same. Errors: ParameterError."""
    changed = {}
    for name, one in asked_fields(question.__class__).items():
        given = getattr(question, name)
        found = one.settle(given, name)
        if found is not given:
            changed[name] = found
    return replace(question, **changed) if changed else question


@cache
def asked_fields(kind: type) -> Mapping[str, Asked]:
    """How each field of a question's class is read, and what tells its values apart."""
    hints = get_type_hints(kind, include_extras=True)
    return {one.name: _declared(hints[one.name]) for one in fields(kind)}


def _declared(hint: Any) -> Asked:
    if get_origin(hint) is Annotated:
        return next(one for one in hint.__metadata__ if isinstance(one, Asked))
    parts = _parts(hint)
    listed = [_parts(get_args(one)[0]) for one in parts if get_origin(one) is Sequence]
    numbers = Fraction in parts or any(Fraction in one for one in listed)
    told = _exactly if numbers else _names if any(str in one for one in listed) else _plainly
    if told is _plainly and any(get_origin(one) is Mapping for one in parts):
        told = _edges
    flag, whole = parts[0] is bool, int in parts and not numbers
    return Asked(_form_of(parts), told, _flag if flag else _whole if whole else _as_given)


def _flag(value: Any, name: str) -> Any:
    if isinstance(value, np.bool_):
        return bool(value)
    return value if value is None else is_bool(value, name=name)


def _whole(value: Any, name: str) -> Any:
    """A whole number as one, however it was written; what is none, its question refuses."""
    if isinstance(value, Mapping):
        return {key: _whole(part, name) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_whole(part, name) for part in value)
    if value is None or type(value) in (int, bool):
        return value
    try:
        number = exact(value, name=name)
    except ParameterError:
        return value
    return int(number) if number.denominator == 1 else value


_TYPES: Final[Mapping[type, str]] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    type(None): "null",
}


def _parts(hint: Any) -> tuple[Any, ...]:
    """The types of a union, or the one that it is."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _form_of(parts: tuple[Any, ...]) -> Form:
    """The JSON Schema of values of these types."""
    forms: list[Any] = []
    if Fraction in parts:
        forms.append({"$ref": "#/$defs/number"})
        parts = tuple(one for one in parts if one is type(None) or get_origin(one))
    named = [_TYPES[one] for one in parts if isinstance(one, type) and one in _TYPES]
    forms += [{"type": named[0] if len(named) == 1 else named}] if named else []
    for one in parts:
        if get_origin(one) is Literal:
            forms.append({"enum": list(get_args(one))})
        elif get_origin(one) is Sequence:
            inner = _parts(get_args(one)[0])
            forms += listed(_form_of(inner), whole=int in inner)
        elif get_origin(one) is Mapping:
            forms.append({"$ref": "#/$defs/mapping"})
        elif one not in _TYPES:
            return _VALUE
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def _plainly(value: Any, *_: Any) -> object:
    return plain(value)


def _exactly(value: Any, *_: Any) -> object:
    """A number by its value, also where one stands alone that may be several."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(exact(part, name="a number")) for part in value]
    return plain(exact(value, name="a number"))


def _names(value: Any, *_: Any) -> object:
    """Names in a list, also where there is one; with what a mapping says of each."""
    if isinstance(value, Mapping):
        return _edges(value)
    return [value] if isinstance(value, str) else list(value)


def _edges(value: Any, *_: Any) -> object:
    """Bins, and what else is made of numbers: they count by their value, also written as text."""
    if isinstance(value, Mapping):
        return {"pairs": [[plain(key), _edges(part)] for key, part in value.items()]}
    if isinstance(value, list | tuple):
        return [_edge(part) for part in value]
    return plain(value)


def _edge(value: Any) -> object:
    if not isinstance(value, str):
        return _edges(value)
    try:
        return plain(exact(value, name="an edge"))
    except ParameterError:
        return value


def _shares(value: Any, *_: Any) -> object:
    """Weights count by their proportions: as whole numbers without a common factor."""
    given = [exact(part, name="a weight") for part in value]
    whole = [int(part * math.lcm(*(one.denominator for one in given))) for part in given]
    return [plain(part // max(math.gcd(*whole), 1)) for part in whole]


def _keys(value: Any, question: Any, context: QueryContext) -> object:
    by = (question.by,) if isinstance(question.by, str) else tuple(question.by)
    return context.keys(value, by).digest


def _condition(value: Any, _: Any, context: QueryContext) -> object:
    chosen = condition(value)
    if chosen is None:
        return None
    return chosen.text if context.spelled else str(chosen.readable())


def _counted(value: Any, _: Any, context: QueryContext) -> object:
    told = [value] if isinstance(value, str) else list(value)
    return told if context.spelled else sorted(set(told))


def _unknown(value: Any, question: Any, context: QueryContext) -> object:
    return "possible" if left_out(context, (), question.where, value).possible else None


def _cells(value: Any, *_: Any) -> object:
    return plain(value if isinstance(value, str | Operator) else np.asarray(value))


_UNKNOWNS: Final = {"enum": list(get_args(Unknown))}
Keys: TypeAlias = Annotated[object, Asked(_VALUE, _keys)]
Edges: TypeAlias = Annotated[object, Asked(_VALUE, _edges)]
EdgesOf: TypeAlias = Annotated[Any, Asked(_VALUE, _edges)]
Condition: TypeAlias = Annotated[object, Asked({"type": ["string", "null"]}, _condition)]
Counted: TypeAlias = Annotated[
    str | Sequence[str] | None, Asked(_form_of(_parts(str | Sequence[str] | None)), _counted)
]
IfUnknown: TypeAlias = Annotated[Unknown, Asked(_UNKNOWNS, _unknown)]
Weights: TypeAlias = Annotated[Operator | ArrayLike, Asked(_VALUE, _cells)]
Shares: TypeAlias = Annotated[
    Sequence[Number] | None,
    Asked({"anyOf": [*listed({"$ref": "#/$defs/number"}, whole=True), {"type": "null"}]}, _shares),
]
OwnCode: TypeAlias = Annotated[Mechanism, Asked({"not": {}}, lambda value, *_: source_of(value))]


def plain(value: object) -> object:  # noqa: C901, PLR0911 - a line for each kind of value
    """A value as JSON that differs where values differ. Errors: ParameterError."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Infinite | int | float | Fraction | Decimal):
        number = value if isinstance(value, Infinite) else exact(value, name="a value")
        return {"number": text(number)}
    if isinstance(value, dt.date | dt.time | dt.timedelta):
        return {type(value).__name__: str(value)}
    if isinstance(value, Mapping):
        return {"pairs": [[plain(key), plain(part)] for key, part in value.items()]}
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "cells": [plain(cell) for cell in value.ravel()]}
    if isinstance(value, Operator):
        # An operator told from others by what it does to vectors without a pattern.
        seen = hashlib.sha256()
        columns = value.shape[1]
        for probe in range(1, _PROBES + 1):
            found = value.apply(_without_pattern(columns, probe))
            seen.update(np.ascontiguousarray(found, dtype=np.int64).tobytes())
        return {"shape": list(value.shape), "operator": seen.hexdigest()}
    if isinstance(value, set | frozenset):
        return {"set": sorted((plain(part) for part in value), key=json.dumps)}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {
            one.name: plain(part)
            for one in fields(value)
            if (part := getattr(value, one.name)) is not one.default
        }
        return {type(value).__name__: parts}
    held = _held(value)
    if held is not value:
        return plain(held)
    if isinstance(value, Iterable):
        return [plain(part) for part in value]
    raise ParameterError(
        f"A question with an id cannot hold {value!r}: its answer could not be told from others.",
        hint="Give plain values, lists, arrays or tables.",
        value=value,
    )


def _without_pattern(columns: int, probe: int) -> IntArray:
    """The same numbers below 2^20 for ever: those of a library's generator may change."""
    mixed = np.arange(1, columns + 1, dtype=np.uint64) * np.uint64(_ODD * probe % 2**64)
    for shift in (31, 27, 33):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(_ODD)
    return (mixed >> np.uint64(44)).astype(np.int64)
