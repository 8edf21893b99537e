"""One question of each class, read over real rows before a dataset opens. Nothing is drawn."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any, Final

from onesided.engine.kit import reading
from onesided.errors import OnesidedError
from onesided.policy import Policy
from onesided.schema import Schema
from onesided.session import (
    Above,
    AtMost,
    Count,
    Discover,
    Enclosed,
    Histogram,
    LinearQuery,
    Mean,
    Ngrams,
    Quantile,
    RangeQuery,
    RowCount,
    Session,
    Sum,
    TopK,
    Variance,
)
from onesided.session.kit import prepared

_KEYS: Final[Mapping[str, list[Any]]] = {
    "text": [""],
    "boolean": [True],
    "integer": [0],
    "date": [dt.date(2000, 1, 1)],
}
_FAR: Final = 2**50  # sums of so large values are made of two


def rehearse_each(session: Session, schema: Schema) -> None:
    """Read a question of each class; those that the policy refuses are not offered.

    Errors: DataError, where the dataset must not open.
    """
    for question in examples(schema, session.policy):
        try:
            steps = prepared(session, question)
        except OnesidedError:
            continue
        if not steps.fails_by_rows:
            with reading():
                steps.read()


def examples(schema: Schema, policy: Policy) -> Iterator[Any]:
    """Questions of all classes over the columns of a schema.

    >>> import onesided as od
    >>> ages = Schema(columns={"age": od.column("integer")})
    >>> len({type(one) for one in examples(ages, od.policy.sensitive("age < 18"))})
    15
    """
    types = {name: one.type for name, one in schema.columns.items() if name != schema.unit}
    yield Count(epsilon=1)
    yield RowCount(max_rows=1, epsilon=1)
    for kind in policy.kinds:
        yield Count(counted=kind, epsilon=1)
    listed = [name for name, kind in types.items() if kind in _KEYS]
    for name in listed[:1]:
        yield from _grouped(name, _KEYS[types[name]])
        order = next((other for other in types if other != name), "")
        yield Ngrams(by=name, order=order, n=2, max_groups=1, epsilon=1)
    for name in [name for name, kind in types.items() if kind in ("integer", "number")][:1]:
        yield from _of_numbers(name)


def _grouped(name: str, keys: list[Any]) -> Iterator[Any]:
    """Questions over public groups, and over those that are found."""
    by: dict[str, Any] = {"by": name, "keys": keys, "epsilon": 1}
    yield Discover(by=name, max_groups=1, epsilon=1)
    yield LinearQuery([[1]], **by)
    for excess in ("keep", "truncate"):
        cut = {**by, "on_excess": excess, "max_groups": None if excess == "keep" else 1}
        yield Count(**cut)
        yield TopK(1, **cut)
        yield Above(1, max_answers=1, **cut)
        yield AtMost(1, **cut)
        yield Enclosed(delta="1/1000", **cut)


def _of_numbers(name: str) -> Iterator[Any]:
    """Questions over a column of numbers."""
    asked: dict[str, Any] = {"missing": "drop", "epsilon": 1}
    for high in (1, _FAR):
        yield Sum(name, of="units", total_bounds=(0, high), **asked)
        yield Sum(name, bounds=(0, high), of="rows", max_rows=2, **asked)
        yield Mean(name, bounds=(0, high), **asked)
        yield Mean(name, bounds=(0, high), of="rows", max_rows=2, **asked)
        yield Quantile(name, bounds=(0, high), **asked)
        yield Quantile(name, bounds=(0, high), of="rows", max_rows=2, interpolate=True, **asked)
    yield Variance(name, bounds=(0, 1), **asked)
    yield Quantile(name, candidates=[0, 1], method="cumulative", **asked)
    yield Histogram(name, bins=[0, 1], **asked)
    yield RangeQuery(name, "cells", bins=[0, 1], **asked)
