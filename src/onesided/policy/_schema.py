"""What a policy file may hold, and on which line something wrong stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from onesided.errors import PolicyError


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter: whether it must be given, and what fits it."""

    fits: Callable[[object], bool]
    words: str
    example: str
    required: bool = True


Schema: TypeAlias = Mapping[str, Field]


def _is(*types: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _listing(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(fits(item) for item in value)


def _rows(least: int, most: int) -> Callable[[object], bool]:
    return _listing(
        lambda row: (
            isinstance(row, list)
            and least <= len(row) <= most
            and all(
                isinstance(cell, str | int | float) and not isinstance(cell, bool) for cell in row
            )
        )
    )


def _table(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, dict) and all(fits(item) for item in value.values())


_TEXT: Final = _is(str)
_NUMBER: Final = _is(str, int, float)
_POINT: Final = _listing(_NUMBER)
_PREDICATE: Final = Field(_TEXT, "SQL text", '"age < 18"')
_SQL: Final = Field(_is(bool), "true or false", "true", required=False)
_EDGES: Final = Field(_rows(2, 3), "a list of [source, target] or [source, target, weight]",
                      '[["home", "office", "1/2"]]')  # fmt: skip
_POINTS: Final = "a list of points, each a list of numbers"
_CONDITION: Final = {"predicate": _PREDICATE, "sql": _SQL}

SCHEMAS: Final[Mapping[str, Schema]] = MappingProxyType(
    {
        "bounded": {},
        "unbounded": {},
        "addition_only": {},
        "removal_only": {},
        "sensitive": _CONDITION,
        "extended_sensitive": _CONDITION,
        "proposition": _CONDITION,
        "tiers": {
            "tiers": Field(
                _listing(lambda row: isinstance(row, list) and 2 <= len(row) <= 4 and _texts(row)),
                "a list of [tier, epsilon, predicate], the last without a predicate",
                '[["strict", "1/2", "minor"], ["relaxed", "2"]]',
            )
        },
        "custom": {
            "kinds": Field(_listing(_TEXT), "a list of names", '["strict", "relaxed"]'),
            "edges": _EDGES,
            "rules": Field(
                _listing(lambda row: isinstance(row, list) and len(row) in (2, 3) and _texts(row)),
                "a list of [kind, SQL text]",
                '[["strict", "minor"]]',
                required=False,
            ),
            "default": Field(_TEXT, "the name of a kind", '"relaxed"', required=False),
        },
        "presence": {"max_groups": Field(_NUMBER, "a whole number", "3")},
        "attributes": {
            "sensitive": Field(
                _table(lambda value: _TEXT(value) or _listing(_TEXT)(value)),
                "a table of lists of values",
                '{ diagnosis = ["hiv"], income = "*" }',
            )
        },
        "graph": {
            "edges": _EDGES,
            "directed": Field(_is(bool), "true or false", "true", required=False),
            "values": Field(_listing(_is(str, int)), "a list of values", '["a"]', required=False),
        },
        "local": {
            "alphabet": Field(_listing(_TEXT), "a list of answers", '["yes", "no"]'),
            "edges": Field(_EDGES.fits, _EDGES.words, '[["yes", "no"]]', required=False),
            "sensitive": Field(_listing(_TEXT), "a list of answers", '["yes"]', required=False),
        },
        "neighbourhood": {
            "radius": Field(_NUMBER, "a number", '"1/2"'),
            "metric": Field(_TEXT, "the name of a metric", '"haversine"', required=False),
            "sources": Field(_listing(_POINT), _POINTS, "[[0, 0]]", required=False),
            "places": Field(_table(_POINT), "a table of points", "{ a = [0, 1] }", required=False),
        },
        "intersection": {"parts": Field(_listing(_is(dict)), "a list of policies", "[]")},
    }
)


def _texts(row: list[object]) -> bool:
    return all(_NUMBER(cell) for cell in row)


def line_of(text: str, error: PolicyError) -> int | None:
    """The line that ``error`` is about: of its key, of a value that it names, or of its family."""
    lines = text.splitlines()
    first = _family_line(lines, error.values.get("family"))
    key = error.values.get("key")
    if isinstance(key, str):
        found = _line_with(lines, _key_pattern(key), first) or _line_with(
            lines, _key_pattern(key), 0
        )
        return found or _line_with(lines, _key_pattern("family"), first)
    for wanted in _named(error):
        found = _line_with(lines, wanted, first)
        if found is not None:
            return found
    return _line_with(lines, _key_pattern("family"), first)


def _named(error: PolicyError) -> Iterator[re.Pattern[str]]:
    """What to look for, the most telling first: offending values, then keys that the reason has."""
    for name, value in error.values.items():
        if name not in ("keys", "family", "key") and value not in ("", None):
            yield re.compile(rf"""(["']){re.escape(str(value))}\1""")
            yield re.compile(rf"=\s*{re.escape(str(value))}\s*(#.*)?$")
            yield re.compile(rf"(?<![\w.\"']){re.escape(str(value))}(?![\w.\"'])")
    keys = error.values.get("keys", ())
    if isinstance(keys, tuple):
        yield from (_key_pattern(key) for key in keys if key in error.reason)
        yield from (_key_pattern(key) for key in keys if key.rstrip("s") in error.reason)
        yield from (_key_pattern(key) for key in keys[:1])


def _key_pattern(key: str) -> re.Pattern[str]:
    """A key where it is set, on its own or as a table's header."""
    name = rf"""["']?{re.escape(key)}["']?"""
    path = r"""(?:[\w"'-]+\s*\.\s*)*"""
    return re.compile(
        rf"^\s*(?:{path}{name}\s*[=.]|\[+\s*{path}{name}\s*\]+)|[{{,]\s*{path}{name}\s*="
    )


def _family_line(lines: list[str], family: object) -> int:
    """Where the part of the file about ``family`` begins, as an index."""
    pattern = re.compile(rf"""^\s*family\s*=\s*["']{re.escape(str(family))}["']""")
    return next((place for place, line in enumerate(lines) if pattern.search(line)), 0)


def _line_with(lines: list[str], pattern: re.Pattern[str], first: int) -> int | None:
    for place in range(first, len(lines)):
        if pattern.search(lines[place]):
            return place + 1
    return None
