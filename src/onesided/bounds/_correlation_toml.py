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

import tomllib
from collections.abc import Callable, Hashable, Mapping
from decimal import Decimal
from typing import Any, Final

from onesided._numbers import Number
from onesided.bounds._correlated import Correlation, World, household, walk
from onesided.errors import ParameterError
from onesided.policy import Record
from onesided.store import read_toml

VERSION: Final = 1
_SEE: Final = "See docs/policies.md for an example of each kind."
_FIELDS: Final = ("onesided_correlation", "kind", "parameters")
_RECORD: Final = ("kind", "groups", "value")


def correlation_from_toml(text: str) -> Correlation:
    r"""Read a correlation that somebody declared in a file; numbers are exact, as written.

    kind: "household", "walk" or "worlds"; parameters: those of :func:`household` and :func:`walk`,
    or the listed worlds, each with its weight, whether the secret holds, and its records.
    Errors: ParameterError naming the field for what is no such text.

    >>> lines = ['onesided_correlation = 1', 'kind = "household"', '[parameters]', 'others = 1',
    ...          'together = "1/2"', 'there = {kind = "record"}', 'away = {kind = "absent"}']
    >>> known = correlation_from_toml("\n".join(lines))
    >>> known.words
    'the person being there'
    """
    if not isinstance(text, str):
        raise ParameterError(f"A correlation in TOML must be text, got {text!r}.", hint=_SEE)
    try:
        document = read_toml(text, number=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"The correlation is not valid TOML: {error}.", hint=_SEE) from None
    except ValueError as error:
        raise ParameterError(f"The correlation could not be read: {error}.", hint=_SEE) from None
    _only(document, _FIELDS, "the correlation")
    version, kind = document.get("onesided_correlation"), document.get("kind")
    if type(version) is not int or version != VERSION:
        raise ParameterError(
            f"onesided_correlation must be {VERSION}, got {version!r}.",
            hint=f"Write onesided_correlation = {VERSION} in the first line.",
        )
    reader = _KINDS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise ParameterError(
            f"Unknown kind of correlation {kind!r}.", hint=f"Known: {', '.join(_KINDS)}."
        )
    return reader(_table(document.get("parameters"), "parameters"))


def _household(given: Mapping[str, Any]) -> Correlation:
    _only(given, ("there", "away", "others", "together", "apart"), "parameters")
    return household(
        _record(_needed(given, "there"), "there"),
        _record(_needed(given, "away"), "away"),
        others=_needed(given, "others"),
        together=_number(_needed(given, "together"), "together"),
        apart=_number(given.get("apart", 0), "apart"),
    )


def _walk(given: Mapping[str, Any]) -> Correlation:
    """nowhere: the place that is no group."""
    _only(given, ("start", "steps", "length", "place", "time", "record", "nowhere"), "parameters")
    nowhere = _text(given.get("nowhere", ""), "nowhere")
    steps = _table(_needed(given, "steps"), "steps")
    return walk(
        _weights(_needed(given, "start"), "start", nowhere),
        {_place(one, nowhere): _weights(row, "steps", nowhere) for one, row in steps.items()},
        length=_needed(given, "length"),
        place=_text(_needed(given, "place"), "place"),
        time=_needed(given, "time"),
        kind=_text(given.get("record", "unit"), "record"),
    )


def _worlds(given: Mapping[str, Any]) -> Correlation:
    _only(given, ("worlds", "words"), "parameters")
    listed = _needed(given, "worlds")
    if not isinstance(listed, list):
        raise ParameterError(f"worlds must be a list of tables, got {listed!r}.", hint=_SEE)
    law: dict[World, Number] = {}
    secret: dict[World, bool] = {}
    for one in listed:
        row = _table(one, "a world")
        _only(row, ("weight", "secret", "records"), "a world")
        records, holds = _needed(row, "records"), _needed(row, "secret")
        if not isinstance(records, list) or not isinstance(holds, bool):
            raise ParameterError(
                f"A world has a list of records and a secret that is true or false, got {row!r}.",
                hint=_SEE,
            )
        world = tuple(_record(record, "records") for record in records)
        if world in law:
            raise ParameterError(
                f"The world {records!r} is listed twice.", hint="Add up its weights."
            )
        law[world], secret[world] = _number(_needed(row, "weight"), "weight"), holds
    words = _text(given.get("words", "the secret"), "words")
    return Correlation(law, secret.__getitem__, words=words)


_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any]], Correlation]]] = {
    "household": _household,
    "walk": _walk,
    "worlds": _worlds,
}


def _record(given: object, name: str) -> Record:
    """A kind, with groups, or one value, or neither."""
    row = _table(given, name)
    _only(row, _RECORD, name)
    kind, groups, value = _text(_needed(row, "kind"), "kind"), row.get("groups"), row.get("value")
    if groups is not None and value is not None:
        raise ParameterError(f"{name} has groups and a value: {row!r}.", hint="Give one of them.")
    if groups is not None:
        if not isinstance(groups, list):
            raise ParameterError(f"groups must be a list, got {groups!r}.", hint=_SEE)
        return Record(kind, frozenset(_plain(one, "a group") for one in groups))
    return Record(kind) if value is None else Record(kind, _plain(value, "value"))


def _weights(given: object, name: str, nowhere: str) -> dict[Hashable, Number]:
    row = _table(given, name)
    return {_place(one, nowhere): _number(weight, name) for one, weight in row.items()}


def _place(name: str, nowhere: str) -> str | None:
    return None if nowhere and name == nowhere else name


def _number(given: object, name: str) -> Number:
    if isinstance(given, bool) or not isinstance(given, int | str | Decimal):
        raise ParameterError(
            f"{name} must be a number, got {given!r}.", hint='Write 0.25, or "1/4".'
        )
    return given


def _plain(given: object, name: str) -> str | int:
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise ParameterError(
            f"{name} must be text or a whole number, got {given!r}.", hint='Write "clinic".'
        )
    return given


def _text(given: object, name: str) -> str:
    if not isinstance(given, str):
        raise ParameterError(f"{name} must be text, got {given!r}.", hint='Write it in "".')
    return given


def _table(given: object, name: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ParameterError(f"{name} must be a table, got {given!r}.", hint=_SEE)
    return given


def _needed(given: Mapping[str, Any], name: str) -> Any:
    if name not in given:
        raise ParameterError(f"{name} is missing.", hint=_SEE)
    return given[name]


def _only(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in known:
            raise ParameterError(
                f"Unknown field {name!r} in {where}.", hint=f"Known: {', '.join(known)}."
            )
