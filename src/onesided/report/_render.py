"""Turn a page into one HTML file that asks the network for nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onesided.errors import OutputError
from onesided.report._figures import (
    MAP_LIMIT,
    bounds_figure,
    map_figure,
    needs_webgl,
    plain,
    sureness,
)
from onesided.report._template import fill, resource
from onesided.store import replace_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onesided.report._page import Page

TABLE_LIMIT = 20_000  # rows in the page's own table; the release files hold all
_FIRST_ROWS = 20  # rows that are in the HTML itself, for paper and for readers without scripts


def write(page: Page, path: str | Path) -> None:
    """Write the page as a self-contained HTML file, replacing an older one in one step.

    Raises:
        MissingDependencyError: plotly or jinja2 is not installed.
        OutputError: the file cannot be written.

    >>> import numpy as np
    >>> from onesided.report import Page
    >>> counts = {name: np.array([4.0]) for name in ("estimate", "lower", "upper")}
    >>> words = {"title": "Visits", "question": "How many?", "key_name": "place"}
    >>> page = Page(keys=("a",), lower_certain=False, upper_certain=True, **words, **counts)
    >>> write(page, "visits.html")
    >>> "Visits</title>" in Path("visits.html").read_text()
    True
    """
    text = render(page)
    path = Path(path)
    try:
        replace_file(path, text)
    except OSError as error:
        raise OutputError(
            f"cannot write the report {path}: {error}", hint="choose a folder you may write to"
        ) from error


def render(page: Page) -> str:
    """The page as HTML text.

    Raises:
        MissingDependencyError: plotly or jinja2 is not installed.
    """
    figures = {"map": map_figure(page), "bounds": bounds_figure(page)}
    table = _table(page)
    return fill(
        resource("report.html"),
        data={"figures": figures, "table": table},
        css=resource("report.css"),
        script=resource("report.js"),
        page=page,
        title=page.title,
        columns=table["columns"],
        first_rows=_first_rows(table),
        has=figures,
        **_counts(page),
    )


def _counts(page: Page) -> dict[str, Any]:
    """Numbers that the template puts into sentences."""
    total = len(page.keys)
    certified = None if page.certified is None else int(page.certified.sum())
    located = int(page.located.sum())
    drawn = len(range(0, located, math.ceil(located / MAP_LIMIT))) if located else 0
    side = getattr(page, page.main_side).astype(float)
    return {
        "total": total,
        "certified": certified,
        # Rounded down: the page never shows more certified than there are.
        "percent": 0 if not certified else certified * 100 // total,
        "located": located,
        "drawn": drawn,
        # plotly's WebGL code compiles drawing programs at run time; without it nothing may do so.
        "webgl": needs_webgl(drawn),
        "no_bound": int((~np.isfinite(side)).sum()),
        "shown": min(total, TABLE_LIMIT),
        "sureness": {
            "upper": sureness(page, certain=page.upper_certain),
            "lower": sureness(page, certain=page.lower_certain),
        },
    }


def _table(page: Page) -> dict[str, Any]:
    """Columns of the table, cut to the first rows of a very long release."""
    shown = slice(0, TABLE_LIMIT)
    columns = [_column("key", page.key_name, "", list(page.keys[shown]))]
    columns += [_column("key", name, "", list(texts[shown])) for name, texts in page.beside]
    if page.certified is not None:
        columns.append(_column("status", "status", "", page.certified[shown].astype(int).tolist()))
    numbers = (
        ("upper", "at most", sureness(page, certain=page.upper_certain)),
        ("lower", "at least", sureness(page, certain=page.lower_certain)),
        ("estimate", "best guess", ""),
    )
    for kind, label, note in numbers:
        values = _numbers(getattr(page, kind)[shown])
        if any(value is not None for value in values):
            columns.append(_column(kind, label, note, values))
    return {"columns": columns, "threshold": page.threshold}


def _column(kind: str, label: str, note: str, values: list[Any]) -> dict[str, Any]:
    return {"kind": kind, "label": label, "note": note, "values": values}


def _numbers(values: NDArray[Any]) -> list[float | int | None]:
    """JSON has no infinity: a missing bound is null."""
    if values.dtype.kind in "iu":
        return [int(value) for value in values]
    return [float(value) if math.isfinite(value) else None for value in values]


def _first_rows(table: dict[str, Any]) -> list[list[str]]:
    """The first rows as text, for the HTML itself."""
    count = min(_FIRST_ROWS, len(table["columns"][0]["values"]))
    return [[_cell(c["kind"], c["values"][i]) for c in table["columns"]] for i in range(count)]


def _cell(kind: str, value: Any) -> str:
    if kind == "key":
        return str(value)
    if kind == "status":
        return "certified" if value else "unknown"
    return "–" if value is None else plain(value)
