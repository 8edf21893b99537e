"""Charts drawn, or handed to Plotly or Matplotlib, for those who want to go on with them there.

For these a shape becomes one list of marks, in Plotly's words; Matplotlib is told the same ones.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from onesided._english import one_line
from onesided._plugins import optional
from onesided.errors import OutputError, ParameterError
from onesided.show._chart import Bars, Chart, Dots, Heat, Lines, Numbers, Panels, Places, sides_of
from onesided.show._svg import svg_text
from onesided.store import replace_file

_Marks: TypeAlias = dict[str, Any]
# Marks, the names of the axes, and more of the layout.
_Traces: TypeAlias = tuple[list[_Marks], tuple[str, str], _Marks]
_INSTALL: Final = "pip install 'onesided[plot]'"
_ESTIMATE, _CERTAIN, _UNSURE = "#0072b2", "#00805c", "#c25000"
_SCALE: Final = "Cividis"
_SIGNS: Final = {"circle": "o", "circle-open": "o", "diamond-open": "D", "line-ns-open": "|"}
_DASHES: Final = {"solid": "-", "dot": ":"}


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart drawn: ``str()`` is SVG, a notebook shows it, :meth:`write` keeps it.

    >>> import numpy as np
    >>> from onesided.show import Chart, Dots
    >>> dots = Dots(labels=["gym", "<b>"], estimate=np.array([3.0, 1.0]))
    >>> picture = Picture(Chart(title="Counts", shape=dots, value_name="people"))
    >>> str(picture).startswith("<svg"), "<b>" in str(picture)
    (True, False)
    >>> picture.write("counts.svg").name
    'counts.svg'
    """

    chart: Chart
    width: int = 720

    def __str__(self) -> str:
        return svg_text(self.chart, width=self.width)

    _repr_svg_ = _repr_html_ = __str__

    def write(self, path: str | Path) -> Path:
        """Write an .svg file, an .html page of the picture alone, or by Matplotlib a .png.

        Errors: ParameterError for another kind of file; OutputError; MissingDependencyError.
        """
        file, drawn = Path(path), str(self)
        if file.suffix not in (".svg", ".html", ".png"):
            raise ParameterError(
                f"A picture {file.suffix or 'without a suffix'!r} cannot be drawn.",
                hint="Name a .html, .png or .svg file.",
            )
        if file.suffix == ".html":
            title = html.escape(one_line(self.chart.title))
            drawn = (
                f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}'
                f"</title></head><body>{drawn}</body></html>\n"
            )
        try:
            if file.suffix == ".png":
                figure(self.chart, "matplotlib").savefig(file)
            else:
                replace_file(file, drawn)
        except OSError as error:
            raise OutputError(
                f"The picture {str(file)!r} could not be written: {error.strerror}.",
                hint="Name a file in a folder that exists.",
            ) from error
        return file


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
    go = optional("plotly.graph_objects", "backend='plotly' needs Plotly.", _INSTALL)
    marks, (across, up), layout = _safe(_traces(chart.shape, chart.value_name))
    made = go.Figure(data=marks, layout=layout)
    made.update_layout(title={"text": _safe(chart.title)}, template="plotly_white")
    return made.update_xaxes(title=across).update_yaxes(title=up)


def _matplotlib(chart: Chart) -> Any:
    """A ``matplotlib.figure.Figure``. Errors: MissingDependencyError."""
    figures = optional("matplotlib.figure", "backend='matplotlib' needs Matplotlib.", _INSTALL)
    marks, names, layout = _traces(chart.shape, chart.value_name)
    rows, scale = layout.get("yaxis", {}).get("ticktext", ()), layout.get("yaxis_scaleratio")
    made = figures.Figure(
        figsize=(8, max(4.0, 1.6 + 0.25 * min(len(rows), 400))), layout="constrained"
    )
    axes, plain = made.add_subplot(), {"parse_math": False}
    for one in marks:
        look, coloured = _look(one), None
        if "z" in one:
            coloured = axes.imshow(one["z"], cmap=_SCALE.lower(), aspect="auto")
            axes.set_xticks(range(len(one["x"])), list(map(one_line, one["x"])), **plain)
            axes.set_yticks(range(len(one["y"])), list(map(one_line, one["y"])), **plain)
        elif "width" in one:
            axes.bar(one["x"], one["y"], one["width"], alpha=0.6, **look)
        elif isinstance(look["color"], np.ndarray):
            coloured = axes.scatter(one["x"], one["y"], c=look["color"], cmap=_SCALE.lower())
        else:
            axes.plot(one["x"], one["y"], **look)
        if coloured is not None:
            made.colorbar(coloured, ax=axes, label=one_line(chart.value_name))
    if len(rows):
        axes.set_yticks(range(len(rows)), list(map(one_line, rows)), **plain)
        axes.invert_yaxis()
    if scale:
        axes.set_aspect(scale)
    if layout.get("xaxis_type") == "log":
        axes.loglog()
    axes.set_title(one_line(chart.title), loc="left", **plain)
    axes.set_xlabel(one_line(names[0]), **plain)
    axes.set_ylabel(one_line(names[1]), **plain)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=8)
    return made


def _look(one: _Marks) -> _Marks:
    """How marks look, in Matplotlib's words."""
    marker, line, mode = one.get("marker", {}), one.get("line", {}), one.get("mode", "")
    look = {"color": marker.get("color", line.get("color")), "label": one_line(one.get("name", ""))}
    look["label"] = look["label"] or None
    if not mode:
        return look
    look["linestyle"] = _DASHES[line.get("dash", "solid")] if "lines" in mode else ""
    if "markers" in mode:
        sign, size = marker.get("symbol", "circle"), marker.get("size", 6)
        look |= {"marker": _SIGNS.get(sign, "_"), "mfc": "none" if "open" in sign else None}
        look["markersize"] = 0.7 * np.max(size)
        look["markevery"] = None if isinstance(size, int) else (1, 3)
    return look if line.get("shape") != "hv" else {**look, "drawstyle": "steps-post"}


@singledispatch
def _traces(shape: Any, name: str) -> _Traces:
    """The marks, the names of the axes, and more of the layout."""
    if isinstance(shape, Bars):
        rows, wide = (shape.left + shape.right) / 2, shape.right - shape.left
        bars = {"x": rows, "y": shape.estimate, "type": "bar", "width": wide, "name": "estimate"}
        bars["marker"] = {"color": _ESTIMATE}
        return [bars, *_bounds(shape, rows)], (shape.x_name, name), {}
    rows = np.arange(len(shape.labels), dtype=float)
    marks = list(_bounds(shape, rows))
    look = {"symbol": "line-ns-open", "size": 20, "color": "#333333"}
    marks += [
        {"x": one.values, "y": rows, "mode": "markers", "name": one.said, "marker": look}
        for one in shape.limits
    ]
    chosen = [("estimate", ~np.isnan(shape.estimate), "circle")]
    if shape.decided is not None:
        finite, signs = np.isfinite(shape.sizes()), ("circle", "diamond-open")
        ways = (finite & shape.decided, finite & ~shape.decided)
        chosen = list(zip(shape.apart, ways, signs, strict=True))
    for said, some, sign in chosen:
        spots = {"x": shape.sizes()[some], "y": rows[some], "mode": "markers", "name": said}
        marks.append({**spots, "marker": {"color": _ESTIMATE, "symbol": sign}})
    axis = {"tickvals": rows, "ticktext": shape.labels, "autorange": "reversed", "automargin": True}
    layout = {"yaxis": axis, "height": max(320, 150 + 24 * rows.size)}
    return marks, (name, shape.label_name), layout


def _bounds(shape: Dots | Bars, rows: Numbers) -> Iterator[_Marks]:
    """Each kind of bound: lines from the estimates, with a mark where they end."""
    bars, starts = isinstance(shape, Bars), np.where(np.isnan(shape.estimate), 0.0, shape.estimate)
    for side, bound in sides_of(shape):
        for sure in (True, False):
            some = (bound.certain == sure) & np.isfinite(bound.values)
            if not some.any():
                continue
            at, gaps = rows[some].repeat(3), np.full(int(some.sum()), np.nan)
            ways = np.column_stack([starts[some], bound.values[some], gaps]).ravel()
            x, y = (at, ways) if bars else (ways, at)
            said = "certain" if sure else bound.confidence or "not certain"
            colour, dash = (_CERTAIN, "solid") if sure else (_UNSURE, "dot")
            sign = "circle-open" if not sure else "line-ew-open" if bars else "line-ns-open"
            marker = {"symbol": sign, "size": [0, 9, 0] * gaps.size, "color": colour}
            way = {"x": x, "y": y, "mode": "lines+markers", "name": f"{side} bound ({said})"}
            yield {**way, "line": {"color": colour, "dash": dash}, "marker": marker}


@_traces.register
def _(shape: Heat, name: str) -> _Traces:
    field = {"x": shape.across, "y": shape.down, "z": shape.values, "type": "heatmap"}
    look = {"colorscale": _SCALE, "colorbar": {"title": {"text": name}}}
    names = (shape.across_name, shape.down_name)
    return [{**field, **look}], names, {"yaxis_autorange": "reversed"}


@_traces.register
def _(shape: Places, name: str) -> _Traces:
    coasts = [
        {"x": list(east), "y": list(north), "mode": "lines", "line": {"color": "#888888"}}
        for north, east in shape.outline
    ]
    look = {"color": shape.values, "colorscale": _SCALE, "colorbar": {"title": {"text": name}}}
    where = {"x": shape.longitude, "y": shape.latitude, "mode": "markers", "text": shape.labels}
    scale = {"yaxis_scaleanchor": "x", "yaxis_scaleratio": 1 / shape.stretch, "showlegend": False}
    return [*coasts, {**where, "marker": look}], ("longitude", "latitude"), scale


@_traces.register
def _(shape: Lines, name: str) -> _Traces:
    look = {"mode": "lines+markers", "line": {"shape": "hv" if shape.steps else "linear"}}
    marks = [{"x": shape.x, "y": some, "name": said, **look} for said, some in shape.y.items()]
    scale = dict.fromkeys(("xaxis_type", "yaxis_type"), "log") if shape.logarithmic else {}
    return marks, (shape.x_name, name), scale


_BACKENDS: Final[Mapping[str, Callable[[Chart], Any]]] = {
    "svg": Picture,
    "plotly": _plotly,
    "matplotlib": _matplotlib,
}


def _safe(value: Any) -> Any:
    """As Plotly takes it: it reads a little HTML in text, and JSON has neither NaN nor infinity."""
    if isinstance(value, Mapping):
        return {key: _safe(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return list(map(_safe, value.tolist() if isinstance(value, np.ndarray) else value))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return html.escape(one_line(value), quote=False) if isinstance(value, str) else value
