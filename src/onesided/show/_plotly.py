"""Charts as Plotly figures: legible without colour, nothing fetched from the network."""

from __future__ import annotations

import html
import math
import textwrap
from functools import singledispatch
from typing import Any, Final, TypeAlias

import numpy as np

from onesided.errors import MissingDependencyError
from onesided.show._chart import (
    Bars,
    Chart,
    Dots,
    Heat,
    Lines,
    Numbers,
    Outline,
    Places,
    Shape,
    Side,
)

# Okabe and Ito's colours, which people with any colour vision can tell apart.
ESTIMATE: Final = "#0072B2"
CERTAIN: Final = "#009E73"
UNSURE: Final = "#D55E00"
SERIES: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_DASHES: Final = ("solid", "dash", "dot", "dashdot")
_CHARACTERS: Final = 56  # what fits across a phone
_NARROW: Final = 40  # room for the buttons on the right
_WIDE: Final = 130  # and for a colour bar beside them

Drawn: TypeAlias = tuple[list[dict[str, Any]], dict[str, Any]]


def plotly_figure(chart: Chart) -> Any:
    """A ``plotly.graph_objects.Figure``. Errors: MissingDependencyError."""
    try:
        import plotly.graph_objects as go  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError(
            "Drawing needs Plotly.", hint="pip install 'onesided[cli]'"
        ) from None
    traces, layout = _drawn(chart.shape, chart.value_name)
    # "ε = 1" stays on one line
    words = textwrap.wrap(chart.below.replace(" = ", "\u00a0=\u00a0"), _CHARACTERS)
    below = "".join(f"<br><sup>{html.escape(line)}</sup>" for line in words)
    figure = go.Figure(data=traces, layout=layout)
    side = _WIDE if isinstance(chart.shape, Heat | Places) else _NARROW
    figure.update_layout(
        template="plotly_white",
        title={"text": f"{html.escape(chart.title)}{below}", "x": 0, "xref": "container"},
        margin={"t": 70 + 16 * len(words), "l": 60, "r": side, "b": 90},
        title_pad={"l": 16, "t": 12},
        title_yanchor="top",
        title_y=1,
        colorway=SERIES,
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0},
        modebar={"orientation": "v"},
        hovermode="closest",
    )
    return figure


@singledispatch
def _drawn(shape: Shape, value_name: str) -> Drawn:  # noqa: ARG001 - as its variants
    raise TypeError(type(shape).__name__)


@_drawn.register
def _(shape: Dots, value_name: str) -> Drawn:
    """Rows are placed by number, so that groups with the same name stay apart."""
    rows = np.arange(len(shape.labels), dtype=float)
    names = [escaped(label) for label in shape.labels]
    anchor = _anchor(shape)
    traces = []
    for side, bound in (("lower", shape.lower), ("upper", shape.upper)):
        traces += _sides(side, bound, rows, anchor, upright=False)
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "estimate",
            "cliponaxis": False,
            "x": _plain(shape.estimate),
            "y": rows.tolist(),
            "hovertext": names,
            "hovertemplate": "%{hovertext}: %{x:,}<extra>estimate</extra>",
            "marker": {"size": 9, "color": ESTIMATE},
        }
    )
    layout = {
        "xaxis": {"title": escaped(value_name), "rangemode": "tozero", "zeroline": True},
        "yaxis": {
            "tickvals": rows.tolist(),
            "ticktext": [_short(name) for name in names],
            "range": [len(names) - 0.4, -0.6],
            "automargin": True,
            "ticks": "outside",  # room for a mark at 0, which else covers the name
            "ticklen": 9,
            "tickcolor": "rgba(0,0,0,0)",
        },
        "height": max(280, 210 + 22 * len(names)),
    }
    return [trace for trace in traces if trace["x"]], layout


@_drawn.register
def _(shape: Bars, value_name: str) -> Drawn:
    middle, width = (shape.left + shape.right) / 2, shape.right - shape.left
    bins = [f"{a:g} to below {b:g}" for a, b in zip(shape.left, shape.right, strict=True)]
    traces: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": "estimate",
            "x": middle.tolist(),
            "y": _plain(shape.estimate),
            "width": width.tolist(),
            "hovertext": bins,
            "hovertemplate": "%{hovertext}: %{y:,}<extra>estimate</extra>",
            "marker": {"color": ESTIMATE, "opacity": 0.75, "line": {"color": "white", "width": 1}},
        }
    ]
    for side, bound in (("lower", shape.lower), ("upper", shape.upper)):
        traces += _sides(side, bound, middle, shape.estimate, upright=True)
    layout = {
        "yaxis": {"title": escaped(value_name), "rangemode": "tozero"},
        "xaxis": {"zeroline": False},
        "bargap": 0,
        "height": 420,
    }
    return traces, layout


@_drawn.register
def _(shape: Heat, value_name: str) -> Drawn:
    across, down = map(list, (map(escaped, shape.across), map(escaped, shape.down)))
    field = {
        "type": "heatmap",
        "x": list(range(len(across))),
        "y": list(range(len(down))),
        "z": [_plain(row) for row in shape.values],
        "colorscale": "Cividis",
        "colorbar": {"title": escaped(value_name), "lenmode": "pixels", "len": 220},
        "customdata": [[[a, d] for a in across] for d in down],
        "hovertemplate": "%{customdata[1]}, %{customdata[0]}: %{z:,}<extra></extra>",
    }
    layout = {
        "xaxis": {"title": escaped(shape.across_name), **_named(across)},
        "yaxis": {"title": escaped(shape.down_name), "autorange": "reversed", **_named(down)},
        "height": min(900, max(300, 180 + 18 * len(down))),
    }
    return [field], layout


@_drawn.register
def _(shape: Places, value_name: str) -> Drawn:
    stretch = max(math.cos(math.radians(float(np.mean(shape.latitude)))), 0.01)
    lines = line_trace(shape.outline, color="#888888")
    dots = {
        "type": "scattergl" if len(shape.labels) > 4_000 else "scatter",
        "mode": "markers",
        "x": shape.longitude.tolist(),
        "y": shape.latitude.tolist(),
        "hovertext": [escaped(label) for label in shape.labels],
        "customdata": _plain(shape.values),
        "hovertemplate": "%{hovertext}: %{customdata:,}<extra></extra>",
        "showlegend": False,
        "marker": {
            "size": min(12.0, max(4.0, 10 * math.sqrt(400 / max(len(shape.labels), 1)))),
            "color": _plain(shape.values),
            "colorscale": "Cividis",
            "colorbar": {"title": escaped(value_name)},
        },
    }
    axis = {"zeroline": False, "ticksuffix": "°"}
    layout = {
        "xaxis": {**axis, "range": room(shape.longitude)},
        "yaxis": {
            **axis,
            "range": room(shape.latitude),
            "scaleanchor": "x",
            "scaleratio": 1 / stretch,
        },
        "dragmode": "pan",
        "height": 560,
    }
    return [*lines, dots], layout


@_drawn.register
def _(shape: Lines, value_name: str) -> Drawn:
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": escaped(name),
            "x": list(shape.x),
            "y": _plain(values),
            "line": {
                "dash": _DASHES[place % len(_DASHES)],
                "shape": "hv" if shape.steps else "linear",
            },
        }
        for place, (name, values) in enumerate(shape.y.items())
    ]
    scale = {"type": "log"} if shape.logarithmic else {}
    layout = {
        "xaxis": {"title": escaped(shape.x_name), **scale},
        "yaxis": {"title": escaped(value_name), "rangemode": "tozero", **scale},
        "showlegend": len(traces) > 1,
        "height": 420,
    }
    return traces, layout


def line_trace(outline: Outline, *, color: str) -> list[dict[str, Any]]:
    """All lines of an outline as one trace; none where there is no line.

    >>> line_trace([([52.5, 52.6], [13.4, 13.5])], color="#888888")[0]["x"]
    [13.4, 13.5, None]
    """
    if not outline:
        return []
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [value for _, longitude in outline for value in (*longitude, None)],
            "y": [value for latitude, _ in outline for value in (*latitude, None)],
            "line": {"color": color, "width": 1},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]


def _sides(
    side: str, bound: Side | None, rows: Numbers, anchor: Numbers, *, upright: bool
) -> list[dict[str, Any]]:
    """Lines from the dots to a bound: one trace for what is certain, one for what is not."""
    if bound is None:
        return []
    traces = []
    for sure in (True, False):
        chosen = (bound.certain == sure) & np.isfinite(bound.values) & ~np.isnan(anchor)
        ends, starts, places = bound.values[chosen], anchor[chosen], rows[chosen]
        if not ends.size:
            continue
        values = np.column_stack([starts, ends, np.full(ends.size, np.nan)]).ravel()
        along = np.repeat(places, 3)
        color = CERTAIN if sure else UNSURE
        mark = ("line-ew" if upright else "line-ns") if sure else "circle-open"
        ending = {"symbol": mark, "size": 12 if sure else 6, "color": color}
        name = f"{side} bound ({'certain' if sure else bound.confidence or 'not certain'})"
        x, y = (along, values) if upright else (values, along)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "cliponaxis": False,
                "x": _plain(x),
                "y": _plain(y),
                "line": {"color": color, "width": 2, "dash": "solid" if sure else "dot"},
                "marker": {
                    **{key: value for key, value in ending.items() if key != "size"},
                    "size": [0, ending["size"], 0] * ends.size,
                    "line": {"color": color, "width": 2},
                },
                "hovertemplate": f"%{{{'y' if upright else 'x'}:,}}<extra>{name}</extra>",
            }
        )
    return traces


def _anchor(shape: Dots) -> Numbers:
    """Where lines begin: at the estimate, or at 0 where there are bounds only."""
    return np.where(np.isnan(shape.estimate), 0.0, shape.estimate)


def _plain(values: Numbers) -> list[float | None]:
    """JSON has neither NaN nor infinity."""
    return [float(value) if math.isfinite(value) else None for value in values]


def _named(names: list[str]) -> dict[str, Any]:
    step = max(1, math.ceil(len(names) / 30))
    places = list(range(0, len(names), step))
    return {"tickvals": places, "ticktext": [_short(names[place]) for place in places]}


def room(degrees: Numbers) -> list[float]:
    """From where to where an axis of a map reaches."""
    low, high = float(degrees.min()), float(degrees.max())
    pad = max((high - low) * 0.05, 0.002)
    return [low - pad, high + pad]


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:39]}…"


def escaped(value: object) -> str:
    """Text for Plotly, which reads a little HTML in names."""
    text = str(value)
    return html.escape(text if text.isprintable() else ascii(text)[1:-1], quote=False)
