"""Text for spreadsheets, which take a cell for a formula by its first character."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

# The last four are the full-width forms, which some spreadsheets read alike.
_FORMULA: Final = "[=+\\-@|%\uff1d\uff0b\uff0d\uff20]"
# Where a cell may start to whoever separates cells by another sign.
_STARTS: Final = re.compile(rf"(\A|[;\t\r\n])(?=\s*{_FORMULA})")
_WORD: Final = re.compile(r"\w+")
_PLAIN: Final = re.compile(r"[\w.:+ -]*")


def cell(value: object) -> object:
    """``value``, as it is if it is a number; text that would be a formula behind an apostrophe.

    >>> cell("=1+1"), cell("a;=1+1"), cell(-1)
    ("'=1+1", "a;'=1+1", -1)
    """
    if isinstance(value, str):
        return _STARTS.sub(r"\1'", value)
    return str(value).lower() if isinstance(value, bool) else value


def csv_text(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A CSV file that no spreadsheet computes with; the one place where cells are made.

    All text is in quotes: what separates cells or lines to one reader may not to another. Columns
    that are called by one word alone are not.

    >>> print(csv_text(["place", "count"], [["=1+1", 3]]))
    place,count
    "'=1+1",3
    """
    heading = (name if _WORD.fullmatch(name) else _written(name) for name in names)
    lines = (",".join(cells) for cells in (heading, *(map(_written, row) for row in rows)))
    return "".join(f"{line}\n" for line in lines)


def _written(value: object) -> str:
    text = "" if value is None else str(cell(value))
    if not isinstance(value, str) and _PLAIN.fullmatch(text):
        return text
    return '"' + text.replace('"', '""') + '"'
