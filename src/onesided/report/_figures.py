"""The two figures, as plotly.js JSON: where the places are, and how the bounds are spread.

Plain scatter traces on longitude and latitude, never a tile or topography layer: those would ask
the network. Colours come from the Okabe-Ito palette and the two statuses also differ in shape.
The page's script adds fonts and resolves the colours, which live in the style sheet.
"""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from onesided.show import line_trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onesided.report._page import Page

# Names of colours in report.css; the script resolves them for the theme in use.
CERTIFIED = "var(--certified)"
UNKNOWN = "var(--unknown)"
INK = "var(--ink)"
SVG_LIMIT = 4_000  # above this many markers WebGL draws them; below, SVG is sharper, also on paper
MAP_LIMIT = 100_000  # markers beyond this make the file heavy and the picture no clearer
_BARS = 40
_KM_PER_DEGREE = 111.2


def map_figure(page: Page) -> dict[str, Any] | None:
    """The map, or None where no position is known."""
    rows = np.flatnonzero(page.located)
    if rows.size == 0 or page.latitude is None or page.longitude is None:
        return None
    rows = rows[:: math.ceil(rows.size / MAP_LIMIT)]
    latitude, longitude = page.latitude[rows], page.longitude[rows]
    layout = map_layout(latitude, longitude)
    lines = line_trace(page.outline, color="var(--muted)")
    return {"data": [*lines, _map_trace(page, rows)], "layout": layout}


def map_layout(latitude: NDArray[np.float64], longitude: NDArray[np.float64]) -> dict[str, Any]:
    """Axes that hold the points, as long as each other on the ground, and a bar of their scale.

    >>> layout = map_layout(np.array([35.0, 35.1]), np.array([139.0, 139.2]))
    >>> layout["yaxis"]["scaleanchor"]
    'x'
    """
    stretch = max(math.cos(math.radians(float(latitude.mean()))), 0.01)
    upright = {**_map_axis(latitude, least=0.002), "scaleanchor": "x", "scaleratio": 1 / stretch}
    return {
        "xaxis": _map_axis(longitude, least=0.002 / stretch),
        "yaxis": upright,
        "dragmode": "pan",
        "hovermode": "closest",
        "showlegend": False,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        **_scale_bar(latitude, longitude, stretch=stretch),
    }


def _map_axis(values: NDArray[np.float64], *, least: float) -> dict[str, Any]:
    low, high = float(values.min()), float(values.max())
    pad = max((high - low) * 0.04, least)
    return {
        "range": [low - pad, high + pad],
        "showticklabels": False,
        "zeroline": False,
        "showgrid": False,
    }


def _map_trace(page: Page, rows: NDArray[np.intp]) -> dict[str, Any]:
    """All markers in one trace: of two statuses in one spot neither is always on top."""
    latitude, longitude = page.latitude, page.longitude
    if latitude is None or longitude is None:  # callers have looked; this is for the type checker
        return {}
    # Smaller where there are many, so that they do not hide each other.
    size = min(8.0, max(3.0, 7.5 * math.sqrt(2500 / rows.size)))
    by_value = page.certified is None
    return {
        "type": "scattergl" if needs_webgl(rows.size) else "scatter",
        "mode": "markers",
        "x": longitude[rows].round(6).tolist(),
        "y": latitude[rows].round(6).tolist(),
        "customdata": rows.tolist(),
        "hovertext": [_hover(page, int(row)) for row in rows],
        "hoverinfo": "text",
        "marker": {
            "size": round(size, 1),
            "opacity": 0.9,
            "line": {"width": 0 if needs_webgl(rows.size) else 0.5, "color": "var(--plot)"},
            **(_by_value(page, rows) if by_value else _by_status(page, rows, size=size)),
        },
    }


def _by_status(page: Page, rows: NDArray[np.intp], *, size: float) -> dict[str, Any]:
    """Colour and shape for certified and unknown."""
    certified = np.zeros(rows.size, bool) if page.certified is None else page.certified[rows]
    return {
        "color": certified.astype(int).tolist(),
        "cmin": 0,
        "cmax": 1,
        "colorscale": [[0, UNKNOWN], [1, CERTIFIED]],
        # WebGL draws one shape after the other; once dots are too small to show a shape, one shape
        # for both keeps either status from covering the other.
        "symbol": "circle" if size < 4 else np.where(certified, "circle", "diamond").tolist(),
    }


def _by_value(page: Page, rows: NDArray[np.intp]) -> dict[str, Any]:
    """Colour by the bound worth drawing, dark for small."""
    values = getattr(page, page.main_side)[rows].astype(float)
    finite = values[np.isfinite(values)]
    return {
        "color": [float(value) if math.isfinite(value) else None for value in values],
        "colorscale": "Cividis",
        "cmin": float(finite.min()) if finite.size else 0.0,
        # A few giants would leave everyone else in one colour.
        "cmax": float(np.quantile(finite, 0.98)) if finite.size else 1.0,
        "colorbar": {"thickness": 10, "len": 0.6, "outlinewidth": 0},
    }


def needs_webgl(markers: int) -> bool:
    """Whether that many markers are drawn by the graphics card; SVG would be slow.

    >>> needs_webgl(100), needs_webgl(100_000)
    (False, True)
    """
    return markers > SVG_LIMIT


def _hover(page: Page, row: int) -> str:
    """Text of one marker; plotly reads a little HTML here, so names are escaped for it."""
    lines = [f"<b>{html.escape(page.keys[row])}</b>"]
    lines += [html.escape(texts[row]) for _, texts in page.beside if texts[row]]
    if page.certified is not None:
        yes = bool(page.certified[row])
        lines.append(f"certified: at most {page.threshold}" if yes else "unknown")
    upper, lower = float(page.upper[row]), float(page.lower[row])
    if math.isfinite(upper):
        lines.append(f"at most {plain(upper)} ({sureness(page, certain=page.upper_certain)})")
    if math.isfinite(lower):
        lines.append(f"at least {plain(lower)} ({sureness(page, certain=page.lower_certain)})")
    return "<br>".join(lines)


def sureness(page: Page, *, certain: bool) -> str:
    """How sure a bound is: "certain" or "95 %"; about which data, if not as they are."""
    sure = "certain" if certain else page.confidence
    return f"{sure}, about {page.scope}" if page.scope else sure


def plain(value: float) -> str:
    """A number for people: thousands separated, no more digits than it has."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.4g}"


def _scale_bar(
    latitude: NDArray[np.float64], longitude: NDArray[np.float64], *, stretch: float
) -> dict[str, Any]:
    """A bar of a round length in the lower left corner, in map coordinates so that it zooms."""
    width = float(np.ptp(longitude)) * stretch * _KM_PER_DEGREE
    if width <= 0:
        return {}
    length = next_round(width / 8)
    x, y = float(longitude.min()), float(latitude.min())
    line = {"type": "line", "x0": x, "x1": x + length / (stretch * _KM_PER_DEGREE)}
    label = f"{length:g} km" if length >= 1 else f"{length * 1000:g} m"
    return {
        "shapes": [{**line, "y0": y, "y1": y, "line": {"width": 2, "color": INK}}],
        "annotations": [
            {
                "x": x,
                "y": y,
                "text": label,
                "showarrow": False,
                "xanchor": "left",
                "yanchor": "bottom",
            }
        ],
    }


def next_round(value: float) -> float:
    """The smallest 1, 2 or 5 times a power of ten that is at least this positive value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        step * power for step in (1.0, 2.0, 5.0, 10.0) if value <= step * power * (1 + 1e-9)
    )


def bounds_figure(page: Page) -> dict[str, Any] | None:
    """Histogram of the bound worth drawing, or None where no row has one.

    Bars never straddle the threshold; everything beyond the last bar is gathered in one.
    """
    values = getattr(page, page.main_side).astype(float)
    values = values[np.isfinite(values)]
    if values.size == 0:
        return None
    whole = bool((values == np.round(values)).all())
    # For whole numbers the next value after the threshold begins a bar, else the threshold does.
    anchor = 0.0 if page.threshold is None else float(page.threshold) + (1.0 if whole else 0.0)
    start, width = _bins(values, whole=whole, anchor=anchor)
    slot = np.floor((values - start) / width + 1e-9).clip(0, _BARS - 1).astype(int)
    count = np.bincount(slot)
    low = start + width * np.arange(count.size)
    spilled = bool((values >= start + width * _BARS).any())
    names = [
        _bar_name(float(x), width, whole=whole, last=spilled and i == _BARS - 1)
        for i, x in enumerate(low)
    ]
    side = {"upper": "at most", "lower": "at least", "estimate": "best guess"}[page.main_side]
    bars = {
        "type": "bar",
        "x": list(range(count.size)),
        "y": count.tolist(),
        "marker": {"color": _bar_colours(page, values, slot), "line": {"width": 0}},
        "hovertext": [f"{side} {n}: {c:,}" for n, c in zip(names, count, strict=True)],
        "hoverinfo": "text",
    }
    ticks = _ticks(names, spilled=spilled)
    return {
        "data": [bars],
        "layout": _bar_layout(ticks, names, page=page, border=(anchor - start) / width),
    }


def _ticks(names: list[str], *, spilled: bool) -> list[int]:
    """The bars to label: as many as their labels leave room for, and the gathering bar always."""
    room = 8 if len(names[-1]) <= 4 else 4
    step = max(1, math.ceil(len(names) / room))
    ticks = list(range(0, len(names), step))
    if spilled:
        ticks = [tick for tick in ticks if tick <= len(names) - 1 - step] + [len(names) - 1]
    return ticks


def _bins(values: NDArray[np.float64], *, whole: bool, anchor: float) -> tuple[float, float]:
    """Start and width of the bars, aligned so that one begins at the anchor."""
    low, high = float(values.min()), float(np.quantile(values, 0.98))
    # Digits of a width far below the values' own size would be lost in rounding.
    least = 1.0 if whole else max(1e-6, 1e-6 * max(abs(low), abs(high), abs(anchor)))
    width = next_round(max((high - low) / (_BARS - 1), least))
    if whole:
        width = math.ceil(width)
    return anchor + math.floor((low - anchor) / width) * width, float(width)


def _bar_name(low: float, width: float, *, whole: bool, last: bool) -> str:
    if last:
        return f"{plain(low)}+"
    if whole and width == 1:
        return plain(low)
    return f"{plain(low)} to {plain(low + width - 1 if whole else low + width)}"


def _bar_colours(
    page: Page, values: NDArray[np.float64], slot: NDArray[np.int64]
) -> list[str] | str:
    """Blue for a bar only if everything in it is at most the threshold."""
    if page.certified is None or page.threshold is None:
        return CERTIFIED
    largest = np.full(int(slot.max()) + 1, -np.inf)
    np.maximum.at(largest, slot, values)
    return [CERTIFIED if most <= page.threshold else UNKNOWN for most in largest]


def _bar_layout(ticks: list[int], names: list[str], *, page: Page, border: float) -> dict[str, Any]:
    single = not any(" to " in name for name in names)
    layout: dict[str, Any] = {
        "xaxis": {
            # A bar of one value is labelled below its middle, a wider one where it begins.
            "tickvals": [i if single or names[i].endswith("+") else i - 0.5 for i in ticks],
            "ticktext": [names[i].split(" ")[0] for i in ticks],
            "fixedrange": True,
            "zeroline": False,
            "showgrid": False,
            "tickangle": 0,
            "ticklabeloverflow": "allow",
        },
        "yaxis": {"fixedrange": True, "zeroline": False, "rangemode": "tozero", "nticks": 6},
        "bargap": 0.12,
        "hovermode": "closest",
        "showlegend": False,
        "dragmode": False,
        "margin": {"l": 44, "r": 16, "t": 24, "b": 36},
    }
    if page.threshold is not None and 0 < border < len(names):
        layout |= _threshold_line(border - 0.5, page.threshold)  # bars sit on whole numbers
    return layout


def _threshold_line(x: float, threshold: int) -> dict[str, Any]:
    """A dotted line between the bars on either side of the threshold."""
    line = {"width": 1.5, "dash": "dot", "color": INK}
    words = {"text": f"at most {threshold} | more", "showarrow": False, "yanchor": "bottom"}
    return {
        "shapes": [
            {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}
        ],
        "annotations": [{"x": x, "y": 1, "yref": "paper", **words}],
    }
