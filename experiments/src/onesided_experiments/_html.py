"""Figures and the list of verdicts as HTML that needs no network."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from onesided.errors import OutputError
from onesided_experiments._lazy import load
from onesided_experiments._model import COLOURS, Curve, Figure, Panel, Paper, Setup

if TYPE_CHECKING:
    from onesided_experiments._run import Outcome

_MARKERS: Final = {
    "circle": "circle",
    "square": "square",
    "diamond": "diamond",
    "triangle": "triangle-up",
    "cross": "x-thin-open",
    "none": "circle",
}
_STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}"
    "img{max-width:100%}table{border-collapse:collapse}td,th{border:1px solid #ccc;"
    "padding:.3rem .6rem;text-align:left;vertical-align:top}.verdict{white-space:nowrap}"
)


def write(figure: Figure, path: Path) -> Path:
    """Write ``figure`` as a page; plotly.js lies beside it, once for all pages of the folder."""
    objects = load("plotly.graph_objects")
    subplots = load("plotly.subplots")
    rows = math.ceil(len(figure.panels) / figure.columns)
    drawn = subplots.make_subplots(
        rows=rows,
        cols=figure.columns,
        subplot_titles=[panel.title for panel in figure.panels],
        vertical_spacing=0.35 / rows if rows > 1 else 0.1,
    )
    named: set[str] = set()
    for number, panel in enumerate(figure.panels):
        row, column = number // figure.columns + 1, number % figure.columns + 1
        for curve in panel.curves:
            trace = _trace(objects, curve, shown=curve.look.name not in named and len(curve.x) > 0)
            drawn.add_trace(trace, row=row, col=column)
            if len(curve.x):
                named.add(curve.look.name)
        _axes(drawn, panel, row, column)
    drawn.update_layout(
        title=figure.title,
        template="plotly_white",
        height=(430 if figure.panels[0].is_map else 330) * rows + 160,
        legend={"orientation": "h", "y": -0.1 / rows - 0.05},
    )
    try:
        drawn.write_html(str(path), include_plotlyjs="directory", full_html=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error}") from error
    return path


def _trace(objects: Any, curve: Curve, *, shown: bool) -> Any:
    colour = COLOURS[curve.look.colour]
    spread = None if curve.spread is None else {"type": "data", "array": list(curve.spread)}
    shared = {
        "x": list(curve.x),
        "y": list(curve.y),
        "name": curve.look.name,
        "legendgroup": curve.look.name,
        "showlegend": shown,
    }
    if curve.kind == "bar":
        return objects.Bar(**shared, marker_color=colour, error_y=spread)
    dots = curve.kind == "dots"
    return objects.Scatter(
        **shared,
        error_y=spread,
        mode="markers" if dots else "lines+markers",
        marker={
            "color": colour,
            "symbol": _MARKERS[curve.look.marker],
            "size": 5 if dots else 0 if curve.look.marker == "none" else 7,
            "line": {"color": colour, "width": 1 if curve.look.marker == "cross" else 0},
        },
        line={"color": colour, "dash": "dash" if curve.look.dashed else "solid"},
    )


def _axes(drawn: Any, panel: Panel, row: int, column: int) -> None:
    x: dict[str, Any] = {"title": panel.x_label}
    y: dict[str, Any] = {"title": panel.y_label}
    if panel.log_x:
        ticks = sorted({value for curve in panel.curves for value in curve.x})
        x |= {"type": "log"}
        if len(ticks) <= 8:
            x |= {"tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}
    if panel.log_y:
        y |= {"type": "log", "exponentformat": "power", "dtick": 1}
    if panel.y_range is not None:
        y |= {"range": list(panel.y_range)}
    if panel.x_names is not None:
        x |= {"tickvals": list(range(len(panel.x_names))), "ticktext": list(panel.x_names)}
    if panel.is_map:
        middle = float(np.mean([value for curve in panel.curves for value in curve.y]))
        anchor = drawn.get_subplot(row, column).xaxis.plotly_name.replace("axis", "")
        y |= {"scaleanchor": anchor, "scaleratio": 1 / math.cos(math.radians(middle))}
    drawn.update_xaxes(**x, row=row, col=column)
    drawn.update_yaxes(**y, row=row, col=column)


def write_index(paper: Paper, outcomes: Sequence[Outcome], setup: Setup, out: Path) -> Path:
    """One page with every picture, verdict and file."""
    parts = [
        "<!doctype html><meta charset=utf-8>",
        f"<title>{html.escape(paper.title)}</title><style>{_STYLE}</style>",
        f"<h1>{html.escape(paper.title)}</h1>",
        f"<p>Seed {setup.seed}{', quick form: too few repetitions to judge' * setup.quick}.</p>",
    ]
    for outcome in outcomes:
        parts.append(f"<h2>{html.escape(outcome.experiment.title)}</h2>")
        parts += _section(outcome)
    path = out / "index.html"
    try:
        path.write_text("\n".join(parts), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error}") from error
    return path


def _section(outcome: Outcome) -> list[str]:
    if outcome.skipped:
        return [f"<p>skipped: data not found ({html.escape(outcome.experiment.needs)})</p>"]
    parts = []
    if outcome.claims:
        parts.append("<table><tr><th>the paper<th>measured<th>verdict</tr>")
        parts += [
            f"<tr><td>{html.escape(claim.text)}<td>{html.escape(claim.measured)}"
            f"<td class=verdict>{claim.verdict}</tr>"
            for claim in outcome.claims
        ]
        parts.append("</table>")
    parts += [f"<p>{html.escape(note)}</p>" for note in outcome.notes]
    for file in outcome.files:
        name = html.escape(file.name)
        picture = f"<img src='{name}' alt='{name}'>" if file.suffix == ".png" else name
        parts.append(f"<p><a href='{name}'>{picture}</a></p>")
    return parts
