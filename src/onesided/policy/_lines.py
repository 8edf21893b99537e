"""On which line of a policy file something wrong stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onesided.errors import PolicyError


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
