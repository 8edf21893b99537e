"""Text for spreadsheets, which take a cell for a formula by its first character."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

# The last four are the full-width forms, which some spreadsheets read alike.
_STARTS: Final = ("=", "+", "-", "@", "|", "%", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def cell(value: object) -> object:
    """``value``, as it is if it is a number; text that would be a formula behind an apostrophe."""
    if isinstance(value, str) and value.lstrip().startswith(_STARTS):
        return f"'{value}"
    return str(value).lower() if isinstance(value, bool) else value


def csv_text(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A CSV file that no spreadsheet computes with; the one place where cells are made.

    >>> print(csv_text(["place", "count"], [["=1+1", 3]]))
    place,count
    '=1+1,3
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([cell(name) for name in names])
    writer.writerows([cell(value) for value in row] for row in rows)
    return out.getvalue()
