"""Columns of an answer as lines of text, certain bounds marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from onesided._numbers import Number, exact, outward
from onesided.session._statement import plain_words

Columns = Mapping[str, Sequence[Any]]
_SIDES: Final = ("lower", "upper")
_MARKS: Final = ("lower_certain", "upper_certain")


def table(columns: Columns, *, rows: int, share: str = "") -> list[str]:
    """A heading and at most ``rows`` lines; what is certain is called so.

    share: how sure a bound is that is not certain, as of :func:`share_words`.

    >>> for line in table({"place": ["gym"], "upper": [3], "upper_certain": [True]}, rows=5):
    ...     print(line)
    place  upper (certain)
    gym                  3
    """
    size = len(next(iter(columns.values()), ()))
    if not size:
        return ["(no rows)"]
    shown = [_column(name, columns, rows, share) for name in columns if name not in _MARKS]
    lines = ["  ".join(line).rstrip() for line in zip(*shown, strict=True)]
    return [*lines, f"... and {size - rows:,} more"] if size > rows else lines


def share_words(confidence: Number, *, together: bool = False) -> str:
    """A confidence in words; together: whether it is of all lines at once.

    >>> share_words("0.95"), share_words("0.9", together=True)
    ('95 %', '90 %, all at once')
    """
    told = f"{float(exact(confidence, name='confidence')) * 100:g} %"
    return f"{told}, all at once" if together else told


def _column(name: str, columns: Columns, rows: int, share: str) -> list[str]:
    """One column's heading and cells, text to the left and numbers to the right."""
    values = list(columns[name][:rows])
    sure = list(columns.get(f"{name}_certain", ())) if name in _SIDES else []
    mixed = any(sure) and not all(sure)
    cells = [
        _head(name, sure, share),
        *(_cell(v, bound=name if name in _SIDES else "") for v in values),
    ]
    if mixed:
        cells[1:] = [f"{c} certain" if s else c for c, s in zip(cells[1:], sure, strict=False)]
    width = max(map(len, cells))
    words = all(isinstance(value, str) for value in values)
    return [cell.ljust(width) if words else cell.rjust(width) for cell in cells]


def _head(name: str, sure: Sequence[bool], share: str) -> str:
    name = plain_words(name)
    if not sure:
        return name
    if all(sure):
        return f"{name} (certain)"
    if any(sure) or not share:
        return name
    return f"{name} ({share})"


def _cell(value: Any, *, bound: str) -> str:
    """A value as text; a bound is rounded outwards alone, for else it could be wrong."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, float):
        return outward(value, up=bound == "upper") if bound else f"{value:,.6g}"
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text if text.isprintable() else ascii(text)[1:-1]
