"""Public values as a small piece of HTML for notebooks: warnings, a table, what it cost."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from onesided._numbers import outward

_FIRST: Final = 7
_LAST: Final = 3
_SIDES: Final = ("lower", "upper")
# Colours with enough contrast on white and on black alike; notebooks have either.
_BOX: Final = "font:13px/1.45 system-ui,sans-serif;max-width:60em;overflow-x:auto"
_WARNING: Final = "border-left:4px solid #D55E00;padding:2px 10px;margin:6px 0"
_QUIET: Final = "opacity:.75;margin:4px 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A heading, what must be known first, a table, and lines below it.

    first: warnings. columns: the table; its first and last rows are shown. confidence: of bounds
    that are not certain, in words. picture: SVG of our own making, shown as it is.

    >>> "<td" in Card(title="Counts", columns={"place": ["gym"], "estimate": [3]}).html()
    True
    """

    title: str
    first: Sequence[str] = ()
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    confidence: str = ""
    lines: Sequence[str] = ()
    picture: str = ""

    def html(self) -> str:
        """The card as HTML: no script, no style sheet, nothing fetched."""
        parts = [
            f"<strong>{_text(self.title)}</strong>",
            *(f'<div role="note" style="{_WARNING}">{_text(words)}</div>' for words in self.first),
            self.picture,
            _table(self.columns, self.confidence),
            *(f'<div style="{_QUIET}">{_text(line)}</div>' for line in self.lines),
        ]
        return f'<div style="{_BOX}">{"".join(filter(None, parts))}</div>'


def table_html(columns: Mapping[str, Sequence[Any]], confidence: str = "") -> str:
    """All rows of a table, for a page of its own."""
    size = len(next(iter(columns.values()), ()))
    return _rows(columns, confidence, range(size), size)


def _table(columns: Mapping[str, Sequence[Any]], confidence: str) -> str:
    size = len(next(iter(columns.values()), ()))
    if not columns:
        return ""
    few = size <= _FIRST + _LAST
    shown = range(size) if few else (*range(_FIRST), *range(size - _LAST, size))
    return _rows(columns, confidence, shown, size)


def _rows(
    columns: Mapping[str, Sequence[Any]], confidence: str, shown: Sequence[int], size: int
) -> str:
    """A heading, the rows of ``shown``, and a line for those left out between them."""
    names = [name for name in columns if not name.endswith("_certain")]
    heads = "".join(f'<th scope="col">{_head(name, columns, confidence)}</th>' for name in names)
    lines, before = [], -1
    for row in shown:
        if row > before + 1:
            lines.append(f'<tr><td colspan="{len(names)}">… {row - before - 1:,} more …</td></tr>')
        cells = "".join(_cell(name, columns, row) for name in names)
        lines.append(f"<tr>{cells}</tr>")
        before = row
    if not size:
        lines.append(f'<tr><td colspan="{len(names)}">(no rows)</td></tr>')
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _head(name: str, columns: Mapping[str, Sequence[Any]], confidence: str) -> str:
    sure = list(columns.get(f"{name}_certain", ())) if name in _SIDES else []
    if sure and all(sure):
        return f"{_text(name)} (certain)"
    if sure and not any(sure) and confidence:
        return f"{_text(name)} ({_text(confidence)})"
    return _text(name)


def _cell(name: str, columns: Mapping[str, Sequence[Any]], row: int) -> str:
    value = columns[name][row]
    sure = list(columns.get(f"{name}_certain", ())) if name in _SIDES else []
    mark = " certain" if any(sure) and not all(sure) and sure[row] else ""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    align = ' style="text-align:right"' if number else ' style="text-align:left"'
    return f"<td{align}>{_text(_value(value, bound=name if name in _SIDES else ''))}{mark}</td>"


def _value(value: Any, *, bound: str) -> str:
    """A value as text; a bound is rounded outwards alone, for else it could be wrong."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and math.isinf(value):
        return "no bound"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, float):
        return outward(value, up=bound == "upper") if bound else f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _text(value: object) -> str:
    text = str(value)
    return html.escape(text if text.isprintable() else ascii(text)[1:-1])
