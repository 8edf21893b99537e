"""One question of each class, read over real rows before a dataset opens. Nothing is drawn."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from operator import sub
from typing import Any, Final

from onesided.engine.kit import quoted, reading
from onesided.errors import OnesidedError
from onesided.policy import Policy
from onesided.schema import Schema
from onesided.session import Count, Session
from onesided.session.kit import QUESTIONS, prepared, required
from onesided_service._clock import cost_of

_KEYS: Final[Mapping[str, list[Any]]] = {
    "text": [""],
    "boolean": [True],
    "integer": [0],
    "date": [dt.date(2000, 1, 1)],
}
_DEAR: Final = {
    "text": "LOWER({0}) = ''",
    "integer": "({0} * {0} * {0} + 1 = 0)",
    "number": "({0} * {0} * {0} + 1 = 0)",
}
_FAR: Final = 2**50  # sums of so large values are made of two
# What is asked where a question is not made without it.
_GIVEN: Final[Mapping[str, Any]] = {
    "epsilon": 1,
    "threshold": 1,
    "k": 1,
    "max_answers": 1,
    "max_rows": 1,
    "delta": "1/1000",
    "n": 2,
    "workload": [[1]],
    "ranges": "cells",
}


def rehearse_each(session: Session, schema: Schema) -> Fraction:
    """Read a question of each class; those that the policy refuses are not offered.

    Returns the seconds that the slowest one took of this machine, for each that the public clock
    gives it at ``seconds = 1`` and no more rows than are declared by default.
    Errors: DataError, where the dataset must not open.
    """
    slowest = Fraction(0)
    for question in examples(schema, session.policy):
        try:
            steps = prepared(session, question)
        except OnesidedError:
            continue
        if not steps.fails_by_rows:
            began = time.monotonic_ns(), time.process_time_ns()
            with reading():
                steps.read()
            ended = time.monotonic_ns(), time.process_time_ns()
            took = Fraction(max(map(sub, ended, began)), 10**9)  # elsewhere, or by many threads
            slowest = max(slowest, took / cost_of(question, schema))
    return slowest


def examples(schema: Schema, policy: Policy) -> Iterator[Any]:
    """Questions of all classes over the columns of a schema.

    >>> import onesided as od
    >>> ages = Schema(columns={"age": od.column("integer")})
    >>> len({type(one) for one in examples(ages, od.policy.sensitive("age < 18"))})
    18
    """
    types = {name: one.type for name, one in schema.columns.items() if name != schema.unit}
    listed = [name for name, kind in types.items() if kind in _KEYS][:1]
    numbers = [name for name, kind in types.items() if kind in ("integer", "number")][:1]
    for name, kind in types.items():  # as much as one turn of the clock has, true of few and of all
        if dear := _DEAR.get(kind):
            for one in (dear, f"NOT {dear}"):
                yield Count(epsilon=1, where=one.format(quoted(name)))
    for kind in QUESTIONS.values():
        names = {one.name for one in fields(kind) if one.init}
        given = {name: _GIVEN[name] for name in required(kind) & _GIVEN.keys()}
        given |= {"max_rows": 1} if "max_rows" in names and "of" not in names else {}
        if "column" in names:
            variants = [more for name in numbers for more in _of_numbers(name, names)]
        elif "by" in names:
            variants = [
                more for name in listed for more in _grouped(name, _KEYS[types[name]], names)
            ]
            order = next((name for name in types if name not in listed), "")
            variants = [{**one, "order": order} if "order" in names else one for one in variants]
            if "keys" in names - required(kind):
                variants += [{}, *({"counted": one} for one in policy.kinds)]
        else:
            continue  # its parts are rehearsed; samples take each row as it is
        for more in variants:
            yield kind(**{**given, **more})


def _grouped(name: str, keys: list[Any], names: set[str]) -> Iterator[dict[str, Any]]:
    """Over public groups, or over those that are found."""
    by = {"by": name, **({"keys": keys} if "keys" in names else {})}
    if "on_excess" in names:
        yield {**by, "on_excess": "keep"}
        yield {**by, "on_excess": "truncate", "max_groups": 1}
    else:
        yield {**by, **({"max_groups": 1} if "max_groups" in names else {})}


def _of_numbers(name: str, names: set[str]) -> Iterator[dict[str, Any]]:
    """Over a column of numbers: of units, of rows, in bins, at candidates."""
    asked: dict[str, Any] = {"column": name, "missing": "drop"}
    if "bins" in names:
        yield {**asked, "bins": [0, 1]}
        return
    for high in (1, _FAR):
        bounds = (0, high)
        total = "total_bounds" in names
        yield {
            **asked,
            **({"of": "units", "total_bounds": bounds} if total else {"bounds": bounds}),
        }
        line = {"interpolate": True} if "interpolate" in names else {}
        yield {**asked, "bounds": bounds, "of": "rows", "max_rows": 2, **line}
    if "candidates" in names:
        yield {**asked, "candidates": [0, 1], "method": "cumulative"}
