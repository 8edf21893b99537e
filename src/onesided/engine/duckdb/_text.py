"""Names and texts as SQL takes them."""

from __future__ import annotations


def literal(text: str) -> str:
    """A text as SQL text takes it."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A column's name as SQL text takes it.

    >>> print(quoted('the "best" column'))
    "the ""best"" column"
    """
    return '"' + name.replace('"', '""') + '"'
