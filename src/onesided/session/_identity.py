"""Which question a stored answer is an answer to, read off the question's own fields."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import narwhals as nw
import numpy as np

from onesided._numbers import Infinite, exact, text
from onesided.errors import ParameterError
from onesided.linear import Operator
from onesided.mechanism.kit import source_of
from onesided.noise import IntArray
from onesided.session._context import QueryContext, condition
from onesided.session._groups import names_of
from onesided.session._missing import left_out
from onesided.session._question import PreparedQuery

# How an answer is called and told is no part of what was asked.
_UNTOLD: Final = frozenset({"id", "again"})
_LONG: Final = 200
_PROBES: Final = 4
_ODD: Final = 0x9E3779B97F4A7C15


def identity_of(
    question: Any, prepared: PreparedQuery[Any, Any], context: QueryContext
) -> dict[str, object]:
    """The question, the policy, the unit and the noise, as JSON: two answers differ where it does.

    Every field counts, also one that is added tomorrow. Fields at their default are left out, so
    that a further field with a default leaves older answers answers to the same question.
    Numbers count by their value ("1/2" is 0.5), keys by their rows, conditions by their text. The
    mechanism and its charge count too: were rates chosen in another way one day, an older answer's
    bounds and guarantee would be told wrong.
    Errors: ParameterError for a value that cannot be told from others.
    """
    return {
        "question": type(question).__name__,
        "asked": _asked(question, context),
        "policy": context.policy.identity,
        "unit": context.unit,
        "noise": _short(plain(prepared.noise or prepared.plan.mechanism)),
        "charge": {edge: text(loss) for edge, loss in prepared.plan.charge.items()},
        **({"joined": context.table.joined} if context.table.joined else {}),
        **({} if context.declared is None else {"schema": context.declared.identity}),
    }


def _asked(question: Any, context: QueryContext) -> dict[str, object]:
    """The fields that are not at their default."""
    asked: dict[str, object] = {}
    if hasattr(question, "identified"):
        question = question.identified(context)
    for one in fields(question):
        if one.name in _UNTOLD:
            continue
        if one.name == "unknown":
            # Older answers counted what is recorded, also where that is no default any more.
            if left_out(context, (), question.where, question.unknown).possible:
                asked[one.name] = "possible"
            continue
        value = _told(one, question, getattr(question, one.name), context)
        if value != _told(one, question, one.default, context):
            asked[one.name] = _short(value)
    return {**asked, **getattr(question, "meaning", {})}


def _told(  # noqa: PLR0911 - by kind
    one: Field[Any], question: Any, value: object, context: QueryContext
) -> object:
    """A field's value in a form that is the same for the same meaning."""
    if value is None or value is MISSING:
        return value
    if one.name == "keys":
        return context.keys(value, names_of(question.by, name="by")).digest
    if one.name == "where":
        chosen = condition(value)
        return chosen.text if chosen else None
    kind = str(one.type)
    if kind == "Mechanism":
        return source_of(value)
    if kind.startswith("Number") and not isinstance(value, list | tuple | np.ndarray):
        return plain(exact(value, name=one.name))
    if kind.startswith("str | Sequence[str]") and not isinstance(value, Mapping):
        return list(names_of(value, name=one.name))  # type: ignore[arg-type] # it refuses others
    if kind.startswith("Sequence[Question") and isinstance(value, Iterable):
        return [{type(part).__name__: _asked(part, context)} for part in value]
    if "Sequence[Number]" in kind and isinstance(value, Iterable):
        return [plain(exact(part, name=one.name)) for part in value]
    if "ArrayLike" in kind and not isinstance(value, str | Operator):
        return plain(np.asarray(value))
    return plain(value)


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
        return _of_operator(value)
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


def _of_operator(operator: Operator) -> object:
    """An operator told from others by what it does to vectors without a pattern."""
    seen = hashlib.sha256()
    columns = operator.shape[1]
    for probe in range(1, _PROBES + 1):
        found = operator.apply(_without_pattern(columns, probe))
        seen.update(np.ascontiguousarray(found, dtype=np.int64).tobytes())
    return {"shape": list(operator.shape), "operator": seen.hexdigest()}


def _without_pattern(columns: int, probe: int) -> IntArray:
    """The same numbers below 2^20 for ever: those of a library's generator may change."""
    mixed = np.arange(1, columns + 1, dtype=np.uint64) * np.uint64(_ODD * probe % 2**64)
    for shift in (31, 27, 33):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(_ODD)
    return (mixed >> np.uint64(44)).astype(np.int64)


def _short(value: object) -> object:
    """Itself, or its digest where it is long."""
    written = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if len(written) <= _LONG:
        return value
    return {"sha256": hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()}
