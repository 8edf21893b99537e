"""Questions to begin with: of a dataset's own columns, and such as it answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

from onesided.errors import OnesidedError
from onesided.schema import Column, Schema
from onesided_service._border import asked_in
from onesided_service._datasets import Dataset
from onesided_service._form import CLOSE, Asked

_MOST: Final = 5
_PLAIN: Final = "1/10"
_KEPT: Final[WeakKeyDictionary[Dataset, list[dict[str, str]]]] = WeakKeyDictionary()


def examples_of(found: Dataset) -> list[dict[str, str]]:
    """What each is called, and the query that fills in the form; from public facts alone."""
    if found not in _KEPT:
        told = [one for asked in _candidates(found.schema) if (one := _told(found, asked))]
        _KEPT[found] = told[:_MOST]
    return _KEPT[found]


def _candidates(schema: Schema) -> Iterator[Asked]:
    groups = [name for name, one in schema.columns.items() if one.keys is not None]
    numbers, where = _numbers(schema), condition_of(schema)
    group = groups[-1:]
    for by in groups[:2]:
        yield Asked(kind="count", by=(by,))
    if where:
        yield Asked(kind="count", by=tuple(group), where=where)
    for by in group:
        yield Asked(kind="at_most", by=(by,), number="20")
        yield Asked(kind="top_k", by=(by,), number="3")
    for name in numbers[:1]:
        yield Asked(kind="mean", column=name)
        yield Asked(kind="histogram", column=name, number="10")


def _numbers(schema: Schema) -> list[str]:
    return [
        name
        for name, one in schema.columns.items()
        if one.bounds is not None and one.type in ("integer", "number") and name != schema.unit
    ]


def condition_of(schema: Schema) -> str:
    """A condition on a declared column; "" where none has bounds.

    >>> from onesided.schema import column
    >>> condition_of(Schema(columns={"age": column("integer", bounds=(0, 100))}))
    'age >= 50'
    """
    return next(filter(None, (_condition(n, schema.columns[n]) for n in _numbers(schema))), "")


def _condition(name: str, column: Column) -> str:
    """The upper half of a declared column."""
    if column.bounds is None or not name.isidentifier():
        return ""
    low, high = column.bounds
    return f"{name} >= {int((float(low) + float(high)) // 2)}"


def _told(found: Dataset, asked: Asked) -> dict[str, str] | None:
    """The example if the dataset answers it, with few groups of each unit where it must say so."""
    for more in ("", "1"):
        one = replace(asked, epsilon=_PLAIN, max_groups=more if asked.by else "")
        try:
            question, _ = asked_in(one.body, found.session(), found.config)
            title = found.session().statement(question).title()
            found.session().plan(question)
        except (OnesidedError, KeyError):
            continue
        return {"title": title, "query": urlencode(_filled(one), doseq=True)}
    return None


def _filled(asked: Asked) -> dict[str, Any]:
    """What the address of the form says."""
    own = {"kind": asked.kind, "by": list(asked.by)}
    names = ("column", "number", "where", "max_groups")
    more = {name: getattr(asked, name) for name in names if getattr(asked, name)}
    epsilon = {} if asked.kind in CLOSE else {"epsilon": asked.epsilon}
    return {**own, **more, **epsilon}
