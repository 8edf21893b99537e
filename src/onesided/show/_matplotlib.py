"""Charts as Matplotlib figures, for papers and for where Plotly is not at hand."""

from __future__ import annotations

import textwrap
from functools import singledispatch
from typing import Any

import numpy as np

from onesided.errors import MissingDependencyError
from onesided.show._chart import Bars, Chart, Dots, Heat, Lines, Numbers, Places, Shape, Side
from onesided.show._plotly import CERTAIN, ESTIMATE, SERIES, UNSURE, room


def matplotlib_figure(chart: Chart) -> Any:
    """A ``matplotlib.figure.Figure``. Errors: MissingDependencyError."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError(
            "backend='matplotlib' needs Matplotlib.", hint="pip install matplotlib"
        ) from None
    rows = len(chart.shape.labels) if isinstance(chart.shape, Dots) else 0
    figure = Figure(figsize=(8, max(4.0, 2.0 + 0.28 * rows)), layout="constrained")
    axes = figure.add_subplot()
    _drawn(chart.shape, axes, chart.value_name)
    below = "\n".join(textwrap.wrap(chart.below, 100))
    axes.set_title(f"{chart.title}\n", loc="left", fontsize=12, parse_math=False)
    figure.supxlabel(below, x=0.01, ha="left", fontsize=8, parse_math=False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=8)
    return figure


@singledispatch
def _drawn(shape: Shape, axes: Any, value_name: str) -> None:  # noqa: ARG001 - as its variants
    raise TypeError(type(shape).__name__)


@_drawn.register
def _(shape: Dots, axes: Any, value_name: str) -> None:
    rows = np.arange(len(shape.labels), dtype=float)
    anchor = np.where(np.isnan(shape.estimate), 0.0, shape.estimate)
    for side, bound in (("lower", shape.lower), ("upper", shape.upper)):
        _sides(axes, side, bound, rows, anchor, upright=False)
    axes.plot(shape.estimate, rows, "o", color=ESTIMATE, label="estimate")
    axes.set_yticks(rows, [_text(label) for label in shape.labels], parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel(value_name, parse_math=False)


@_drawn.register
def _(shape: Bars, axes: Any, value_name: str) -> None:
    width, middle = shape.right - shape.left, (shape.left + shape.right) / 2
    axes.bar(
        middle, shape.estimate, width, color=ESTIMATE, alpha=0.75, ec="white", label="estimate"
    )
    for side, bound in (("lower", shape.lower), ("upper", shape.upper)):
        _sides(axes, side, bound, middle, shape.estimate, upright=True)
    axes.set_ylabel(value_name, parse_math=False)


@_drawn.register
def _(shape: Heat, axes: Any, value_name: str) -> None:
    image = axes.imshow(shape.values, cmap="cividis", aspect="auto")
    axes.set_xticks(range(len(shape.across)), list(map(_text, shape.across)), rotation=45)
    axes.set_yticks(range(len(shape.down)), list(map(_text, shape.down)))
    axes.set_xlabel(shape.across_name, parse_math=False)
    axes.set_ylabel(shape.down_name, parse_math=False)
    axes.figure.colorbar(image, ax=axes, label=value_name)


@_drawn.register
def _(shape: Places, axes: Any, value_name: str) -> None:
    for latitude, longitude in shape.outline:
        axes.plot(longitude, latitude, color="#888888", linewidth=0.8)
    dots = axes.scatter(shape.longitude, shape.latitude, c=shape.values, cmap="cividis", s=14)
    for limits, values in ((axes.set_xlim, shape.longitude), (axes.set_ylim, shape.latitude)):
        limits(room(values))
    axes.set_aspect(1 / max(float(np.cos(np.radians(np.mean(shape.latitude)))), 0.01))
    axes.figure.colorbar(dots, ax=axes, label=value_name)


@_drawn.register
def _(shape: Lines, axes: Any, value_name: str) -> None:
    for place, (name, values) in enumerate(shape.y.items()):
        style = {"drawstyle": "steps-post"} if shape.steps else {}
        axes.plot(shape.x, values, marker="o", color=SERIES[place % 6], label=name, **style)
    if shape.logarithmic:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set_xlabel(shape.x_name, parse_math=False)
    axes.set_ylabel(value_name, parse_math=False)


def _sides(
    axes: Any, side: str, bound: Side | None, rows: Numbers, anchor: Numbers, *, upright: bool
) -> None:
    if bound is None:
        return
    for sure in (True, False):
        chosen = (bound.certain == sure) & np.isfinite(bound.values) & ~np.isnan(anchor)
        if not chosen.any():
            continue
        color, style = (CERTAIN, "solid") if sure else (UNSURE, "dotted")
        draw = axes.vlines if upright else axes.hlines
        draw(rows[chosen], anchor[chosen], bound.values[chosen], color=color, linestyles=style)
        ends, mark = bound.values[chosen], ("_" if upright else "|") if sure else "o"
        x, y = (rows[chosen], ends) if upright else (ends, rows[chosen])
        name = f"{side} bound ({'certain' if sure else bound.confidence or 'not certain'})"
        axes.plot(x, y, mark, color=color, mfc="none", ms=9 if sure else 5, ls="", label=name)


def _text(value: object) -> str:
    text = str(value)
    return text if text.isprintable() else ascii(text)[1:-1]
