"""Charts handed to Plotly or Matplotlib, for those who want to go on with them there."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any, Final, TypeAlias

import numpy as np

from onesided._english import one_line
from onesided._plugins import optional
from onesided.errors import ParameterError
from onesided.show._chart import Bars, Chart, Dots, Heat, Lines, Numbers, Panels, Places, sides_of
from onesided.show._svg import Picture

_Traces: TypeAlias = tuple[list[dict[str, Any]], tuple[str, str], dict[str, Any]]
_INSTALL: Final = "pip install 'onesided[plot]'"
_ESTIMATE, _CERTAIN, _UNSURE = "#0072b2", "#00805c", "#c25000"


def figure(chart: Chart, backend: str = "svg") -> Any:
    """The chart as a :class:`Picture`, or as a figure of "plotly" or "matplotlib".

    Errors: ParameterError for another name; MissingDependencyError if it is not installed.

    >>> import numpy as np
    >>> from onesided.show import Dots
    >>> dots = Dots(labels=["gym", "bar"], estimate=np.array([3.0, 1.0]))
    >>> chart = Chart(title="Counts", shape=dots, value_name="people", caption="at no cost")
    >>> figure(chart, "plotly").layout.title.text
    'Counts'
    """
    if backend not in _BACKENDS:
        raise ParameterError(
            f"backend={backend!r} draws no pictures here.",
            hint=f"Use {' or '.join(map(repr, _BACKENDS))}.",
            backend=backend,
        )
    if backend != "svg" and isinstance(chart.shape, Panels):
        chart = replace(chart, shape=chart.shape.dots)
    return _BACKENDS[backend](chart)


def _plotly(chart: Chart) -> Any:
    """A ``plotly.graph_objects.Figure``. Errors: MissingDependencyError."""
    reason = "backend='plotly' needs Plotly."
    go = optional("plotly.graph_objects", reason, _INSTALL)
    traces, names, layout = _traces(chart.shape, chart.value_name)
    made = go.Figure(data=traces, layout=layout)
    made.update_layout(title={"text": _safe(chart.title)}, template="plotly_white")
    across, up = map(_safe, names)
    return made.update_xaxes(title=across).update_yaxes(title=up)


def _matplotlib(chart: Chart) -> Any:
    """A ``matplotlib.figure.Figure``. Errors: MissingDependencyError."""
    reason = "backend='matplotlib' needs Matplotlib."
    figures = optional("matplotlib.figure", reason, _INSTALL)
    rows = len(chart.shape.labels) if isinstance(chart.shape, Dots) else 0
    made = figures.Figure(figsize=(8, max(4.0, 1.6 + 0.25 * min(rows, 400))), layout="constrained")
    axes = made.add_subplot()
    names = map(one_line, _on_axes(chart.shape, axes, chart.value_name))
    axes.set_title(one_line(chart.title), loc="left", parse_math=False)
    axes.set_xlabel(next(names), parse_math=False)
    axes.set_ylabel(next(names), parse_math=False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=8)
    return made


@singledispatch
def _traces(shape: Any, name: str) -> _Traces:
    """Traces, the names of the axes, and more of the layout."""
    bars, rows = isinstance(shape, Bars), _rows(shape)
    traces: list[dict[str, Any]] = []
    for said, sure, at, starts, ends in _bounds(shape, rows):
        mark = {"symbol": "line-ew" if bars else "line-ns", "line_width": 2}
        look = {"color": _CERTAIN if sure else _UNSURE, "dash": "solid" if sure else "dot"}
        ending = mark if sure else {"symbol": "circle-open"}
        marker = {"size": [0, 9, 0] * at.size, "color": look["color"], **ending}
        ways = np.column_stack([starts, ends, np.full(at.size, np.nan)]).ravel()
        x, y = (at.repeat(3), ways) if bars else (ways, at.repeat(3))
        way = {"x": _plain(x), "y": _plain(y), "mode": "lines+markers"}
        traces.append({**way, "name": said, "line": look, "marker": marker})
    estimates = {"name": "estimate", "marker_color": _ESTIMATE}
    told = _plain(shape.estimate)
    if isinstance(shape, Bars):
        wide = {"type": "bar", "width": (shape.right - shape.left).tolist()}
        return (
            [{"x": _plain(rows), "y": told, **wide, **estimates}, *traces],
            (shape.x_name, name),
            {},
        )
    traces += [
        {
            "x": _plain(limit.values),
            "y": _plain(rows),
            "mode": "markers",
            "name": limit.said,
            "marker": {"symbol": "line-ns-open", "size": 20, "color": "#333333"},
        }
        for limit in shape.limits
    ]
    for said, chosen, symbol in _decided(shape):
        spots = {"x": _plain(shape.sizes()[chosen]), "y": _plain(rows[chosen]), "mode": "markers"}
        traces.append({**spots, **estimates, "name": said, "marker_symbol": symbol[0]})
    named = {"tickvals": _plain(rows), "ticktext": list(map(_safe, shape.labels))}
    axis = {**named, "autorange": "reversed", "automargin": True}
    high = max(320, 150 + 24 * rows.size)
    return traces, (name, shape.label_name), {"yaxis": axis, "height": high}


@_traces.register
def _(shape: Heat, name: str) -> _Traces:
    across, down = list(map(_safe, shape.across)), list(map(_safe, shape.down))
    field = {"x": across, "y": down, "z": list(map(_plain, shape.values))}
    look = {"type": "heatmap", "colorscale": "Cividis", "colorbar_title": _safe(name)}
    return (
        [{**field, **look}],
        (shape.across_name, shape.down_name),
        {"yaxis_autorange": "reversed"},
    )


@_traces.register
def _(shape: Places, name: str) -> _Traces:
    lines = [
        {"x": list(east), "y": list(north), "mode": "lines", "line_color": "#888888"}
        for north, east in shape.outline
    ]
    look = {"color": _plain(shape.values), "colorscale": "Cividis", "colorbar_title": _safe(name)}
    where = {"x": _plain(shape.longitude), "y": _plain(shape.latitude), "mode": "markers"}
    dots = {**where, "text": list(map(_safe, shape.labels)), "marker": look}
    scale = {"yaxis_scaleanchor": "x", "yaxis_scaleratio": 1 / shape.stretch}
    return [*lines, dots], ("longitude", "latitude"), {"showlegend": False, **scale}


@_traces.register
def _(shape: Lines, name: str) -> _Traces:
    look = {"mode": "lines+markers", "line_shape": "hv" if shape.steps else "linear"}
    traces = [
        {"x": list(shape.x), "y": _plain(values), "name": _safe(said), **look}
        for said, values in shape.y.items()
    ]
    scale = dict.fromkeys(("xaxis_type", "yaxis_type"), "log") if shape.logarithmic else {}
    return traces, (shape.x_name, name), scale


@singledispatch
def _on_axes(shape: Any, axes: Any, name: str) -> tuple[str, str]:
    """Draw; the names of the axes."""
    bars, rows = isinstance(shape, Bars), _rows(shape)
    for said, sure, at, starts, ends in _bounds(shape, rows):
        look = {"color": _CERTAIN if sure else _UNSURE}
        lines = axes.vlines if bars else axes.hlines
        lines(at, starts, ends, linestyles="solid" if sure else "dotted", **look)
        mark = ("_" if bars else "|") if sure else "o"
        x, y = (at, ends) if bars else (ends, at)
        axes.plot(x, y, mark, mfc="none", label=said, **look)
    estimates = {"color": _ESTIMATE, "label": "estimate"}
    if isinstance(shape, Bars):
        axes.bar(rows, shape.estimate, shape.right - shape.left, alpha=0.6, **estimates)
        return shape.x_name, name
    for limit in shape.limits:
        axes.plot(limit.values, rows, "|", color="#333333", markersize=14, label=limit.said)
    for said, chosen, symbol in _decided(shape):
        axes.plot(shape.sizes()[chosen], rows[chosen], symbol[1], color=_ESTIMATE, label=said)
    axes.set_yticks(rows, list(map(one_line, shape.labels)), parse_math=False)
    axes.invert_yaxis()
    return name, shape.label_name


@_on_axes.register
def _(shape: Heat, axes: Any, name: str) -> tuple[str, str]:
    image = axes.imshow(shape.values, cmap="cividis", aspect="auto")
    axes.figure.colorbar(image, ax=axes, label=one_line(name))
    for ticks, labels in ((axes.set_xticks, shape.across), (axes.set_yticks, shape.down)):
        ticks(range(len(labels)), list(map(one_line, labels)), parse_math=False)
    return shape.across_name, shape.down_name


@_on_axes.register
def _(shape: Places, axes: Any, name: str) -> tuple[str, str]:
    for north, east in shape.outline:
        axes.plot(east, north, color="#888888", linewidth=0.8)
    drawn = axes.scatter(shape.longitude, shape.latitude, c=shape.values, cmap="cividis")
    axes.figure.colorbar(drawn, ax=axes, label=one_line(name))
    axes.set_aspect(1 / shape.stretch)
    return "longitude", "latitude"


@_on_axes.register
def _(shape: Lines, axes: Any, name: str) -> tuple[str, str]:
    for said, values in shape.y.items():
        form = "steps-post" if shape.steps else "default"
        axes.plot(shape.x, values, marker=".", label=one_line(said), drawstyle=form)
    if shape.logarithmic:
        axes.loglog()
    return shape.x_name, name


_BACKENDS: Final[Mapping[str, Callable[[Chart], Any]]] = {
    "svg": Picture,
    "plotly": _plotly,
    "matplotlib": _matplotlib,
}


def _bounds(
    shape: Dots | Bars, rows: Numbers
) -> Iterator[tuple[str, bool, Numbers, Numbers, Numbers]]:
    """Each kind of bound: its name, whether it is certain, and from where to where it reaches."""
    starts = np.where(np.isnan(shape.estimate), 0.0, shape.estimate)
    for side, bound in sides_of(shape):
        for sure in (True, False):
            chosen = (bound.certain == sure) & np.isfinite(bound.values)
            if chosen.any():
                said = "certain" if sure else bound.confidence or "not certain"
                ends = bound.values[chosen]
                yield f"{side} bound ({said})", sure, rows[chosen], starts[chosen], ends


def _decided(shape: Dots) -> list[tuple[str, Any, tuple[str, str]]]:
    """Which rows are an estimate, or are decided and open; their marks in either library."""
    known = ~np.isnan(shape.estimate)
    if shape.decided is None:
        return [("estimate", known, ("circle", "o"))]
    ways = ((shape.decided, ("circle", "o")), (~shape.decided, ("diamond-open", "D")))
    finite = np.isfinite(shape.sizes())
    told = zip(shape.apart, ways, strict=True)
    return [(words, finite & chosen, mark) for words, (chosen, mark) in told]


def _rows(shape: Dots | Bars) -> Numbers:
    """Where each estimate stands: in the middle of its bin, or one below the other."""
    if isinstance(shape, Bars):
        return (shape.left + shape.right) / 2
    return np.arange(len(shape.labels), dtype=float)


def _plain(values: Numbers) -> list[float | None]:
    """JSON has neither NaN nor infinity."""
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _safe(value: object) -> str:
    """Text for Plotly, which reads a little HTML in names."""
    return html.escape(one_line(value), quote=False)
