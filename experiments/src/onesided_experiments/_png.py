"""Figures as PNG, by matplotlib without a display."""

from __future__ import annotations

import math
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np

from onesided.errors import OutputError
from onesided_experiments._model import COLOURS, Curve, Figure, Panel
from onesided_experiments._tables import load

_MARKERS: Final = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle": "^",
    "cross": "x",
    "none": "",
}
_DPI: Final = 100
_MOST_TICKS: Final = 8
_ROOM: Final = 1.3  # between numbers on a logarithmic axis, as a factor
_FEW_DECADES: Final = 300


def write(figure: Figure, path: Path) -> Path:
    """Draw ``figure`` to ``path``. Errors: OutputError; MissingDependencyError."""
    figures = load("matplotlib.figure")
    rows = math.ceil(len(figure.panels) / figure.columns)
    wide = 3.5 if figure.columns > 2 else 4.6
    tall = 3.6 if figure.panels[0].is_map else 2.7
    drawn = figures.Figure(figsize=(wide * figure.columns, tall * rows + 0.9), layout="constrained")
    axes = drawn.subplots(rows, figure.columns, squeeze=False).ravel()
    handles: dict[str, Any] = {}
    for axis, panel in zip(axes, figure.panels, strict=False):
        _draw(axis, panel, handles)
    for axis in axes[len(figure.panels) :]:
        axis.set_axis_off()
    drawn.suptitle(figure.title, fontsize=12, fontweight="bold")
    drawn.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=min(len(handles), 2 if figure.columns == 1 else figure.columns),
        fontsize=9,
        frameon=False,
    )
    try:
        # As PNG with a palette: a third of the size, and the same to the eye.
        image = load("PIL.Image")
        made = BytesIO()
        drawn.savefig(made, dpi=_DPI, format="png")
        made.seek(0)
        image.open(made).convert("RGB").quantize(colors=160).save(path, format="PNG", optimize=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error}") from error
    return path


def _draw(axis: Any, panel: Panel, handles: dict[str, Any]) -> None:
    bars = [curve for curve in panel.curves if curve.kind == "bar"]
    for curve in panel.curves:
        if curve.kind == "bar":
            of = len(bars)
            width = 0.8 / of
            x = np.asarray(curve.x, float) + (bars.index(curve) - (of - 1) / 2) * width
            handle = axis.bar(
                x,
                curve.y,
                width=width,
                yerr=curve.spread,
                color=COLOURS[curve.look.colour],
                error_kw={"linewidth": 0.8},
            )
        elif curve.kind == "dots":
            handle = axis.scatter(
                curve.x,
                curve.y,
                s=_area(panel, curve),
                color=COLOURS[curve.look.colour],
                marker=_MARKERS[curve.look.marker],
                linewidths=0.6 if curve.look.marker == "cross" else 0,
            )
        else:
            handle = _line(axis, curve)
        handles.setdefault(curve.look.name, handle)
    axis.set_title(panel.title, fontsize=9.5)
    axis.set_xlabel(panel.x_label, fontsize=9)
    axis.set_ylabel(panel.y_label, fontsize=9)
    axis.tick_params(labelsize=8)
    _scales(axis, panel)


def _area(panel: Panel, curve: Curve) -> float:
    """Of one dot on a map: smaller where there are many, larger for what is rare."""
    if not panel.is_map:
        return 16
    if sum(len(one.x) for one in panel.curves) < 2000:
        return 7
    return 10 if len(curve.x) < 200 else 2.5


def _scales(axis: Any, panel: Panel) -> None:
    if panel.log_x:
        axis.set_xscale("log")
        ticks = _apart({x for curve in panel.curves for x in curve.x})
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
    if panel.log_y:
        if panel.zero_y is None:
            axis.set_yscale("log")
        else:
            axis.set_yscale("symlog", linthresh=panel.zero_y, linscale=0.3)
    if panel.y_range is not None:
        axis.set_ylim(*panel.y_range)
    if panel.log_y:
        _number_ticks(axis, panel)
    if panel.x_names is not None:
        axis.set_xticks(range(len(panel.x_names)), panel.x_names)
    elif not panel.log_x and all(x == round(x) for curve in panel.curves for x in curve.x):
        axis.xaxis.get_major_locator().set_params(integer=True)
    if panel.is_map:
        middle = float(np.mean([y for curve in panel.curves for y in curve.y]))
        axis.set_aspect(1 / math.cos(math.radians(middle)))
        axis.locator_params(nbins=4)
    else:
        axis.grid(visible=True, axis="y", color="#dddddd", linewidth=0.6)
        axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _apart(values: set[float], room: float = _ROOM) -> list[float]:
    """Those that have room for a number on a logarithmic axis, the middle one first."""
    ordered = sorted(values)
    kept: list[float] = []
    for value in sorted(ordered, key=lambda x: abs(ordered.index(x) - len(ordered) // 2)):
        if all(max(value, one) >= room * min(value, one) for one in kept):
            kept.append(value)
    return sorted(kept) if len(kept) <= _MOST_TICKS else _apart(values, 1.5 * room)


def _number_ticks(axis: Any, panel: Panel) -> None:
    """Ticks as plain numbers; between decades too, where there are few."""
    low, high = axis.get_ylim()
    least = panel.zero_y or low
    steps = (1, 2, 5) if high / least < _FEW_DECADES else (1,)
    ticks = [
        step * 10.0**power
        for power in range(math.floor(math.log10(least)), math.ceil(math.log10(high)) + 1)
        for step in steps
        if least <= step * 10.0**power <= high
    ]
    if len(ticks) > _MOST_TICKS:
        ticks = ticks[:: math.ceil(len(ticks) / _MOST_TICKS)]
    if panel.zero_y is not None:
        ticks = [0.0, *ticks]
    axis.set_yticks(ticks, [_number(tick) for tick in ticks])
    axis.yaxis.set_minor_locator(load("matplotlib.ticker").NullLocator())


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 or value == 0 else f"{value:.10f}".rstrip("0")


def _line(axis: Any, curve: Curve) -> Any:
    colour = COLOURS[curve.look.colour]
    (handle,) = axis.plot(
        curve.x,
        curve.y,
        color=colour,
        marker=_MARKERS[curve.look.marker],
        markersize=4.5,
        linewidth=1.5,
        linestyle="--" if curve.look.dashed else "-",
    )
    if curve.spread is not None:
        y, half = np.asarray(curve.y, float), np.asarray(curve.spread, float)
        axis.fill_between(curve.x, y - half, y + half, color=colour, alpha=0.2, linewidth=0)
    return handle
