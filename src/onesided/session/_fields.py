"""The fields of questions: a field's type says how JSON holds it, and what tells its values apart.

Plain types, numbers, names and choices speak for themselves. Of the others the type is annotated
with a field that does: where JSON holds them otherwise, or where two values mean the same.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
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

from onesided._numbers import Infinite, Number, exact, text
from onesided.errors import ParameterError
from onesided.fields import shortened
from onesided.linear import Operator
from onesided.mechanism import Mechanism
from onesided.mechanism.kit import source_of
from onesided.noise import IntArray
from onesided.session._context import QueryContext, condition
from onesided.session._missing import Unknown, left_out
from onesided.session.written._values import Form, fits, listed

Told: TypeAlias = Callable[[Any, Any, QueryContext], object]
Settled: TypeAlias = Callable[[Any, str], Any]
_PROBES: Final = 4
_ODD: Final = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's field: what JSON holds of it, and what tells its values apart.

    form: its JSON Schema. told: what is the same for the same meaning, of a value, the question and
    its context. settle: takes a value and the field's name; gives what stands for all that mean
    the same.
    """

    form: Form
    told: Told
    settle: Settled

    def fitting(self, value: Any, *, name: str) -> Any:
        """JSON of the form. Errors: ParameterError for what is not of it."""
        if fits(self.form, value):
            return value
        raise ParameterError(
            f"{name} is {shortened(value)}, which is not of its form.",
            hint=f"Its form is {dict(self.form)!r:.400}; see docs/json.md.",
        )


def _as_given(value: Any, name: str) -> Any:
    del name
    return value


def asked(form: Form, told: Told, settle: Settled = _as_given) -> Asked:
    """A question's field; see :class:`Asked`."""
    return Asked(form, told, settle)


def settled(question: Any) -> Any:
    """The question with one value for all that mean the same. Errors: ParameterError.

    >>> import onesided as od
    >>> settled(od.TopK("2", by="place", epsilon=1)).k
    2
    """
    changed = {}
    for name, one in asked_fields(question.__class__).items():
        given = getattr(question, name)
        found = one.settle(given, name)
        if found is not given:
            changed[name] = found
    return replace(question, **changed) if changed else question


@cache
def asked_fields(kind: type) -> Mapping[str, Asked]:
    """How each field of a question's class is read, and what tells its values apart.

    >>> import onesided as od
    >>> asked_fields(od.Count)["simultaneous"].form
    {'type': 'boolean'}
    """
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
    return asked(_form_of(parts), told, _flag if flag else _whole if whole else _as_given)


def _flag(value: Any, name: str) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    raise ParameterError(
        f"{name} must be True or False, got {shortened(value)}.", hint="Write True or False."
    )


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


_ANY: Final[Form] = {"$ref": "#/$defs/value"}
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
            return _ANY
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


def _condition(value: Any, *_: Any) -> object:
    chosen = condition(value)
    return chosen.text if chosen else None


def _unknown(value: Any, question: Any, context: QueryContext) -> object:
    return "possible" if left_out(context, (), question.where, value).possible else None


def _cells(value: Any, *_: Any) -> object:
    return plain(value if isinstance(value, str | Operator) else np.asarray(value))


def _source(value: Any, *_: Any) -> object:
    return source_of(value)


_UNKNOWNS: Final = {"enum": list(get_args(Unknown))}
Keys: TypeAlias = Annotated[object, asked(_ANY, _keys)]
Edges: TypeAlias = Annotated[object, asked(_ANY, _edges)]
EdgesOf: TypeAlias = Annotated[Any, asked(_ANY, _edges)]
Condition: TypeAlias = Annotated[object, asked({"type": ["string", "null"]}, _condition)]
IfUnknown: TypeAlias = Annotated[Unknown, asked(_UNKNOWNS, _unknown)]
Weights: TypeAlias = Annotated[Operator | ArrayLike, asked(_ANY, _cells)]
Shares: TypeAlias = Annotated[
    Sequence[Number] | None,
    asked({"anyOf": [*listed({"$ref": "#/$defs/number"}, whole=True), {"type": "null"}]}, _shares),
]
OwnCode: TypeAlias = Annotated[Mechanism, asked({"not": {}}, _source)]


def plain(value: object) -> object:  # noqa: C901, PLR0911 - a line for each kind of value
    """A value as JSON that differs where values differ. Errors: ParameterError."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Infinite):
        return {"number": text(value)}
    if isinstance(value, int | float | Fraction | Decimal):
        return {"number": text(exact(value, name="a value"))}
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
    return _of_many(value)


def _of_many(value: object) -> object:
    """Series, tables and other runs of values."""
    read = nw.from_native(value, pass_through=True, allow_series=True)
    if isinstance(read, nw.Series):
        return [plain(part) for part in read.to_list()]
    if isinstance(read, nw.DataFrame):
        return {"pairs": [[name, plain(read[name].to_list())] for name in read.columns]}
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
