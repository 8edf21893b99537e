"""On which line of a schema file something wrong stands."""

from __future__ import annotations

import re

_LONGEST = 1_000


def line_of(text: str, column: object, key: object) -> int | None:
    """The line where the key of a column is set, else where the column is, else None."""
    lines = text.splitlines()
    first = 0
    if isinstance(column, str):
        found = _first(lines, column, 0)
        if found is None:
            return None
        first = found
    if isinstance(key, str):
        inside = _first(lines, key, first)
        ends = _next_table(lines, first + 1) if isinstance(column, str) else len(lines)
        if inside is not None and inside < ends:
            return inside + 1
    return first + 1 if isinstance(column, str) else None


def _first(lines: list[str], name: str, start: int) -> int | None:
    """The first line, from ``start`` on, that sets a key or opens a table of this name."""
    if len(name) > _LONGEST:
        return None
    escaped = re.escape(name)
    key = rf"""(?:"{escaped}"|'{escaped}'|(?<![\w"'-]){escaped}(?![\w"'-]))\s*[=.\]]"""
    pattern = re.compile(key)
    for place in range(start, len(lines)):
        if name in lines[place] and pattern.search(lines[place]):
            return place
    return None


def _next_table(lines: list[str], start: int) -> int:
    for place in range(start, len(lines)):
        if lines[place].lstrip().startswith("["):
            return place
    return len(lines)
