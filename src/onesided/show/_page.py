"""A chart and its table as one HTML file that asks the network for nothing."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, Final

from onesided.show._card import table_html
from onesided.show._chart import Chart
from onesided.show._plotly import plotly_figure

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8888; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem;
  margin: 1.5rem auto; padding: 0 1rem }
.first { border-left: 4px solid #D55E00; padding: .2rem .8rem }
figure { margin: 1rem 0; background: #fff; border-radius: 6px; overflow-x: auto }
.rows { overflow-x: auto; max-height: 40rem; border: 1px solid var(--line) }
table { border-collapse: collapse; width: 100% }
th { position: sticky; top: 0; background: Canvas; text-align: left }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line) }
@media print { .rows { max-height: none } }
"""


def html_page(
    chart: Chart | None,
    *,
    title: str,
    first: Sequence[str],
    lines: Sequence[str],
    columns: Mapping[str, Sequence[Any]],
    confidence: str = "",
) -> str:
    """The page as text: warnings, picture, guarantee, table. Errors: MissingDependencyError.

    >>> page = html_page(None, title="Counts", first=(), lines=("ε = 1",), columns={"n": [3]})
    >>> page.startswith("<!doctype html>")
    True
    """
    drawn = ""
    if chart is not None:
        inside = plotly_figure(chart).to_html(full_html=False, include_plotlyjs=True)
        drawn = f'<figure aria-label="{html.escape(title)}">{inside}</figure>'
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        *(f'<p class="first" role="note">{html.escape(words)}</p>' for words in first),
        drawn,
        *(f"<p>{html.escape(line)}</p>" for line in lines),
        '<h2>All rows</h2><div class="rows" tabindex="0" role="region" aria-label="All rows">',
        f"{table_html(columns, confidence)}</div>",
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )
