"""Correlations from versioned TOML: a closed language of households, walks and listed worlds.

onesided_correlation = 1
kind = "household"

[parameters]
others = 2
together = "1/2"

[parameters.there]
kind = "unit"
groups = ["clinic"]

[parameters.away]
kind = "unit"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from onesided._numbers import Number, whole
from onesided.bounds._correlated import Correlation, World, household, walk
from onesided.errors import ParameterError
from onesided.fields import (
    Field,
    Fields,
    inside,
    is_flag,
    is_text,
    listing,
    of,
    read,
    table,
)
from onesided.policy import Record
from onesided.store import toml_document

VERSION: Final = 1
_SEE: Final = "See docs/policies.md for an example of each kind."


def correlation_from_toml(text: str) -> Correlation:
    r"""Read a correlation that somebody declared in a file; numbers are exact, as written.

    kind: "household", "walk" or "worlds"; parameters: those of :func:`household` and :func:`walk`,
    or the listed worlds, each with its weight, whether the secret holds, and its records.
    Errors: ParameterError naming the line and the field for what is no such text.

    >>> lines = ['onesided_correlation = 1', 'kind = "household"', '[parameters]', 'others = 1',
    ...          'together = "1/2"', 'there = {kind = "record"}', 'away = {kind = "absent"}']
    >>> known = correlation_from_toml("\n".join(lines))
    >>> known.words
    'the person being there'
    """
    with toml_document(
        text,
        what="correlation",
        hint=_SEE,
        error=ParameterError,
        number=Decimal,
        version=("onesided_correlation", VERSION),
    ) as document:
        kind = document.get("kind")
        if not isinstance(kind, str) or kind not in _KINDS:
            known = f"Known: {', '.join(_KINDS)}."
            raise ParameterError(f"Unknown kind of correlation {kind!r}.", hint=known, key="kind")
        fields, make = _KINDS[kind]
        given = read({**_DOCUMENT, "parameters": _parameters(fields)}, document, what="the file")
        try:
            return make(**given["parameters"])
        except ParameterError as error:
            raise inside(error, "parameters") from None


def _record(given: object, *, name: str) -> Record:
    """A kind, with groups, or one value, or neither."""
    row = read(_RECORD, given, what=name, name=name)
    if len(row) == len(_RECORD):
        raise ParameterError(f"{name} has groups and a value: {given!r}.", hint="Give one of them.")
    held = frozenset(row["groups"]) if "groups" in row else row.get("value", frozenset())
    return Record(row["kind"], held)


def _parameters(fields: Fields) -> Field[Any, dict[str, Any]]:
    return Field(lambda given, *, name: read(fields, given, what=name))


def _walk(
    start: Mapping[str, Number],
    steps: Mapping[str, Mapping[str, Number]],
    *,
    nowhere: str = "",
    record: str = "unit",
    **given: Any,
) -> Correlation:
    """nowhere: the place that is no group."""

    def placed(row: Mapping[str, Any]) -> dict[Any, Any]:
        return {None if nowhere and one == nowhere else one: row[one] for one in row}

    rows = {one: placed(row) for one, row in placed(steps).items()}
    return walk(placed(start), rows, kind=record, **given)


def _worlds(worlds: Sequence[Mapping[str, Any]], words: str = "the secret") -> Correlation:
    law: dict[World, Number] = {}
    secret: dict[World, bool] = {}
    for row in worlds:
        world = tuple(row["records"])
        if world in law:
            raise ParameterError(
                f"The world {row['records']!r} is listed twice.", hint="Add up its weights."
            )
        law[world], secret[world] = row["weight"], row["secret"]
    return Correlation(law, secret.__getitem__, words=words)


def _world(given: object, *, name: str) -> dict[str, Any]:
    return read(_WORLD, given, what=name, name=name)


_number: Final = of("a number", int, str, Decimal)
_DOCUMENT: Final[Fields] = {"kind": Field(is_text)}
_RECORD: Final[Fields] = {
    "kind": Field(is_text, example='"unit"'),
    "groups": Field(listing(of("a group, text or a whole number", str, int)), default=None),
    "value": Field(of("text or a whole number", str, int), default=None),
}
_WORLD: Final[Fields] = {
    "weight": Field(_number, example='"1/4"'),
    "secret": Field(is_flag, example="true"),
    "records": Field(listing(_record, "a list of records"), example='[{kind = "unit"}]'),
}
_KINDS: Final[Mapping[str, tuple[Fields, Callable[..., Correlation]]]] = {
    "household": (
        {
            "there": Field(_record, example='{kind = "unit", groups = ["clinic"]}'),
            "away": Field(_record, example='{kind = "unit"}'),
            "others": Field(whole, example="2"),
            "together": Field(_number, example='"1/2"'),
            "apart": Field(_number, default=0, example="0.1"),
        },
        household,
    ),
    "walk": (
        {
            "start": Field(table(_number), example="{ward = 1}"),
            "steps": Field(table(table(_number)), example="{ward = {ward = 1}}"),
            "length": Field(whole, example="2"),
            "place": Field(is_text, example='"ward"'),
            "time": Field(whole, example="0"),
            "record": Field(is_text, default="unit", example='"unit"'),
            "nowhere": Field(is_text, default="", example='"out"'),
        },
        _walk,
    ),
    "worlds": (
        {
            "worlds": Field(listing(_world, "a list of tables")),
            "words": Field(is_text, default="the secret", example='"being there"'),
        },
        _worlds,
    ),
}
