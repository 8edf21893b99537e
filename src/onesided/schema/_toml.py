"""Schemas as TOML, both ways; what is wrong in one is told with its line."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Final

import tomli_w

from onesided._numbers import text as number_text
from onesided.errors import OnesidedError, SchemaError
from onesided.fields import Field, Fields, inside, of, read, shortened
from onesided.schema._checks import Written
from onesided.schema._column import Column, column
from onesided.schema._forms import FORMS
from onesided.store import toml_document

LONGEST: Final = 500_000
TABLE: Final = (
    "unit",
    "missing",
    "unreadable",
    "missing_unit",
    "noun",
    "encoding",
    "max_rows",
)  # said of the whole table
# Written where they are given: the identities of schemas without them stay.
_READ: Final = ("missing", "unreadable", "required", *FORMS)
_FIELDS: Final = ("type", "bounds", "step", "keys", "about", *_READ)
_HINT: Final = (
    'Write unit = "person" and, for each column, [columns.NAME] with type = "text"; docs/schema.md '
    "shows all."
)


@contextmanager
def parsed(text: object) -> Iterator[tuple[dict[str, Any], dict[str, Column]]]:
    """What it says of the table, and columns. Errors, inside too: SchemaError with the line."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise SchemaError(
            f"A schema in TOML must be text of at most {LONGEST:,} characters, got "
            f"{shortened(text)}.",
            hint="Read a file with onesided.Schema.read(path).",
        )
    with toml_document(
        text, what="schema", hint=_HINT, error=SchemaError, number=Written
    ) as document:
        try:
            yield _built(document)
        except SchemaError as error:
            column = error.values.get("column")
            raise (inside(error, "columns", column) if isinstance(column, str) else error) from None


def _built(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Column]]:
    facts = read(_SCHEMA, document, what="a schema")
    columns = facts.pop("columns", {})
    return facts, {name: _column(name, columns[name]) for name in columns}


def _column(name: str, facts: object) -> Column:
    what = f"the column {shortened(name)}"
    try:
        given = read(_COLUMN, facts, what=what)
        if "type" not in given:
            raise SchemaError(f"{what} has no type.", hint='Write type = "text".')
        return column(**given)
    except OnesidedError as error:
        reason = error.reason if what in error.reason else f"{what}: {error.reason}"
        raise SchemaError(reason, hint=error.hint, **{**error.values, "column": name}) from None


def _unit(value: object, *, name: str) -> str:
    if isinstance(value, str) and not isinstance(value, Written):
        return value
    raise SchemaError(f"{name} is {shortened(value)}, not text.", hint=_HINT)


def _given(value: object, *, name: str) -> Any:  # noqa: ARG001 - what columns read by themselves
    return value


_COLUMN: Final[Fields] = {name: Field(_given, default=None) for name in _FIELDS}
_SCHEMA: Final[Fields] = {
    **{name: Field(_given, default=None) for name in TABLE},
    "unit": Field(_unit, default=None),
    "columns": Field(of("a table", dict), default=None, example='{age = {type = "integer"}}'),
}


def written(facts: Mapping[str, Any], columns: Mapping[str, Column], *, told: bool = True) -> str:
    """A table's facts and columns as TOML. told: with what they are about."""
    document = {name: _listed(value) for name, value in facts.items()}
    if columns:
        document["columns"] = {name: _facts(one, told=told) for name, one in columns.items()}
    return tomli_w.dumps(document)


def _facts(one: Column, *, told: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"type": one.type}
    if one.bounds is not None:
        found["bounds"] = [_plain(end) for end in one.bounds]
    if one.step is not None:
        found["step"] = _plain(one.step)
    if one.keys is not None:
        keys = one.keys
        found["keys"] = keys if isinstance(keys, str) else [_plain(key) for key in keys]
    if told and one.about:
        found["about"] = one.about
    given = {name: getattr(one, name) for name in _READ}
    return found | {n: _listed(value) for n, value in given.items() if value not in (None, False)}


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _plain(value: object) -> object:
    """A value that TOML has, exactly: what is no whole number is text."""
    if isinstance(value, Fraction):
        whole = value.denominator == 1 and -(2**63) <= value < 2**63
        return int(value) if whole else number_text(value)
    if isinstance(value, dt.datetime) and value.year < 1000:
        return value.isoformat()  # of four digits, which TOML asks for
    return value
