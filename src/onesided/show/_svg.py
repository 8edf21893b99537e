"""The one drawer of pictures: a chart as SVG text, for notebooks, reports, pages and documents.

The plot area has most of the height whatever is written around it. Where many marks stand they are
one path, so that a picture of thousands of groups stays small.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Final

import numpy as np
from numpy.typing import NDArray

from onesided._english import one_line
from onesided.show._chart import (
    Bars,
    Chart,
    Dots,
    Heat,
    Lines,
    Numbers,
    Panels,
    Places,
    Shape,
    Side,
    sides_of,
)
from onesided.show._marks import (
    APART,
    CERTAIN,
    ESTIMATE,
    GRID,
    GROUND,
    INK,
    MUTED,
    OPEN,
    SHADES,
    SMALL,
    UNSURE,
    Span,
    Spot,
    at,
    bright,
    colour_of,
    diamond,
    dots,
    element,
    long,
    number,
    polyline,
    stroked,
    text,
    wrapped,
)
from onesided.show._table import cell_text

MOST_ROWS: Final = 60  # more groups are ranked, and the highest and lowest of them named
_NAMED: Final = 10  # at each end of a ranking
_MIDDLE: Final = 2_000  # rows between them that are drawn
MOST_PLACES: Final = 5_000
_SERIES: Final = (ESTIMATE, UNSURE, CERTAIN, INK)
_DASHES: Final = ("", "7 4", "2 4", "9 3 2 3")
_LIMITS: Final = ("6 3", "2 3")  # of what is asked at most, and at least
_EDGE: Final = 12.0
_PANEL: Final = (330.0, 178.0)  # how wide and high a panel is at least
_LEAST: Final = 124.0  # how high a plot area is at least
_SHARE: Final = 1.55  # and how many times as high as all words around it
_AT: Final = {"lower": "at least", "upper": "at most"}
_KM: Final = 111.2  # kilometres of a degree


@dataclass(frozen=True, slots=True)
class _Room:
    """What a shape is drawn in. words: how high all that stands around it is already."""

    width: float
    words: float
    value_name: str

    def area(self, natural: float, around: float) -> float:
        """How high the plot area is: most of the picture, whatever is written around it."""
        return math.ceil(max(natural, _LEAST, _SHARE * (self.words + around)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    """Marks whose plot area begins at y = 0, and what stands ``above`` and ``below`` it."""

    marks: Sequence[str]
    across: Span
    area: float
    above: float = 0.0
    below: float = 0.0


def svg_text(chart: Chart, *, width: int = 720, words: bool = True) -> str:
    """The picture as an SVG element of that width.

    words: whether title and caption are drawn; a page that has them around it wants none.

    >>> import numpy as np
    >>> dots = Dots(labels=["gym"], estimate=np.array([3.0]))
    >>> drawn = svg_text(Chart(title="Counts", shape=dots, value_name="people"), words=False)
    >>> drawn.count("Counts")
    1
    """
    reach = width - 2 * _EDGE
    head = wrapped(chart.title, reach, 16.0, most=3) if words else []
    foot = wrapped(chart.below, reach, SMALL) if words else []
    key, deep = _legend(chart.shape, reach)
    top = 21.0 * len(head) + (10 if head else 4)
    last = 16.0 * len(foot) + (12 if foot else 6)
    body = _drawn(chart.shape, _Room(width, top + deep + last, chart.value_name))
    start = top + deep + body.above
    height = start + body.area + body.below + last
    lines = [
        text(_EDGE, 22 + 21.0 * row, line, size=16, ink=INK, title=chart.title)
        for row, line in enumerate(head)
    ]
    lines += [
        text(_EDGE, height - last + 20 + 16.0 * row, line, size=SMALL)
        for row, line in enumerate(foot)
    ]
    left, right = body.across
    area = (
        f'<rect class="plot-area" x="{left:.1f}" y="0" width="{right - left:.1f}" '
        f'height="{body.area:.0f}" fill="none"/>'
    )
    inside = (
        f'<rect width="100%" height="100%" fill="{GROUND}"/>{"".join(lines)}'
        f'<g transform="translate({_EDGE:.0f} {top:.1f})">{"".join(key)}</g>'
        f'<g transform="translate(0 {start:.1f})">{area}{"".join(body.marks)}</g>'
    )
    said = f"{chart.below} The table has the same numbers.".strip()
    return element(inside, (width, height), title=chart.title, said=said)


@singledispatch
def _drawn(shape: Shape, room: _Room) -> _Body:  # noqa: ARG001 - as its variants
    raise TypeError(type(shape).__name__)


@_drawn.register
def _(shape: Dots, room: _Room) -> _Body:
    """A row per group: its name, its dot, and lines to its bounds; many groups are ranked."""
    size = len(shape.labels)
    few = size <= MOST_ROWS
    order = np.arange(size) if few else np.argsort(-shape.sizes(), kind="stable")
    named = order if few else np.concatenate([order[:_NAMED], order[-_NAMED:]])
    more = "" if few else f"… {size - 2 * _NAMED:,} more"
    longest = max(long(words) for words in (more, *(shape.labels[row] for row in named)))
    left = _EDGE + min(room.width * 0.34, max(longest, long(shape.label_name, SMALL))) + 10
    above, below = (20.0 if shape.label_name else 4.0), 44.0
    pitch = 28.0 if size <= 25 else 19.0
    natural = pitch * size if few else pitch * 2 * _NAMED + 220
    area = room.area(natural, above + below)
    y = (np.arange(size) + 0.5) * area / max(size, 1)
    if not few:
        inner = np.linspace(pitch * _NAMED, area - pitch * _NAMED, size - 2 * _NAMED + 2)[1:-1]
        ends = (np.arange(_NAMED) + 0.5) * pitch
        y = np.concatenate([ends, inner, area - ends[::-1]])
    known = np.concatenate([_all(shape), *(one.values for one in shape.limits)])
    # An axis begins at 0 where that leaves the values at least half of it.
    wide = float(np.ptp(known)) if known.size else 0.0
    based = bool(np.isnan(shape.estimate).any()) or not wide or float(np.abs(known).min()) <= wide
    reach = (left, room.width - 24.0)
    ticks, span = _ticks(known, reach[1] - reach[0], zero=based)
    spots = [(at(tick, span, reach), number(tick)) for tick in ticks]
    marks = [stroked("".join(f"M{x:.1f} 0V{area:.1f}" for x, _ in spots), GRID)]
    marks += _feet(spots, area, room.width - 12, room.value_name, reach)
    if shape.label_name:
        marks.append(text(_EDGE, -8, shape.label_name, left - _EDGE, size=SMALL))
    marks += _lines_at(shape, order, y, (pitch, area), (span, reach))
    for place in range(size) if few else (*range(_NAMED), *range(size - _NAMED, size)):
        row = int(order[place])
        marks.append(text(left - 8, y[place] + 4, shape.labels[row], left - _EDGE - 8, end=True))
        marks += _row(shape, row, float(y[place]), (span, reach), bar=based and few)
    if not few:
        middle = np.arange(_NAMED, size - _NAMED)
        marks.append(text(left - 8, area / 2 + 4, more, left - _EDGE - 8, end=True))
        middle = middle[:: math.ceil(middle.size / _MIDDLE)]
        marks += _crowd(shape, order[middle], y[middle], (span, reach))
    return _Body(marks=marks, across=reach, area=area, above=above, below=below)


def _lines_at(
    shape: Dots, order: NDArray[np.intp], y: Numbers, high: Span, scale: tuple[Span, Span]
) -> list[str]:
    """The thresholds: a line through all rows, or a stroke in each of them."""
    marks, (pitch, area) = [], high
    for dash, limit in zip(_LIMITS, shape.limits, strict=False):
        x = np.array([at(one, *scale) for one in limit.values])[order]
        path = f"M{x[0]:.0f} 0V{area:.0f}" if x.size else ""
        if limit.one is None:
            tall = np.full(x.size, pitch)  # of a ranking's middle, where rows are close, dots
            tall[_NAMED:-_NAMED] = 2 if x.size > MOST_ROWS else pitch
            every = slice(None, None, math.ceil(x.size / _MIDDLE) or 1)
            rows = zip(x[every], y[every], tall[every], strict=True)
            path = "".join(f"M{x:.0f} {down - long / 2:.0f}v{long:.0f}" for x, down, long in rows)
        marks.append(stroked(path, INK, 1.6, dash))
    return marks


def _row(shape: Dots, row: int, y: float, scale: tuple[Span, Span], *, bar: bool) -> list[str]:
    """One group among few, or at an end of a ranking."""
    value = shape.estimate[row]
    start = at(0.0 if math.isnan(value) else value, *scale)
    marks = []
    if bar and not math.isnan(value):
        low, high = sorted((start, at(0.0, *scale)))
        marks.append(
            f'<rect x="{low:.1f}" y="{y - 5:.1f}" width="{high - low:.1f}" height="10" '
            f'fill="{ESTIMATE}" fill-opacity="0.18"/>'
        )
    for _, bound in sides_of(shape):
        if math.isfinite(bound.values[row]):
            end = (at(bound.values[row], *scale), y)
            marks.append(_ways([((start, y), end)], certain=bool(bound.certain[row])))
    seen = float(shape.sizes()[row])
    if math.isfinite(seen) and not (math.isnan(value) and shape.decided is None):
        sure = shape.decided is None or bool(shape.decided[row])
        x, fill = at(seen, *scale), ESTIMATE if sure else OPEN
        said = _said(shape.labels[row], shape, row)
        marks.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{fill}">{said}</circle>'
            if sure
            else f'<path d="{diamond(x, y, 5)}" fill="{fill}" stroke="{MUTED}">{said}</path>'
        )
        return marks
    return [f"<g>{_said(shape.labels[row], shape, row)}{''.join(marks)}</g>"] if marks else []


def _crowd(shape: Dots, rows: NDArray[np.intp], y: Numbers, scale: tuple[Span, Span]) -> list[str]:
    """Many groups: dots close by, certain bounds as a solid edge and the others as a broken one."""
    marks = []
    for _, bound in sides_of(shape):
        for sure in (True, False):
            one = bound.certain[rows] == sure
            spots = _spots(bound.values[rows][one], y[one], scale)
            if sure:
                path = "".join(f"M{x} {down - 1}v3" for x, down in spots)
                marks.append(stroked(path, CERTAIN, 2))
            else:
                path = "".join(f"M{x} {down}h0" for x, down in spots if down % 5 == 0)
                marks.append(dots(path, UNSURE, 2.5))
    if shape.decided is None:
        spots = _spots(shape.estimate[rows], y, scale)
        return [*marks, dots("".join(f"M{x} {down}h0" for x, down in spots), ESTIMATE, 4)]
    told, seen = shape.decided[rows], shape.sizes()[rows]
    spots = _spots(seen[told], y[told], scale)
    marks.append(dots("".join(f"M{x} {down}h0" for x, down in spots), ESTIMATE, 4))
    path = "".join(diamond(x, down, 3) for x, down in _spots(seen[~told], y[~told], scale))
    return [*marks, f'<path d="{path}" fill="{OPEN}"/>'] if path else marks


def _spots(values: Numbers, y: Numbers, scale: tuple[Span, Span]) -> list[tuple[int, int]]:
    """Whole pixels with a mark, each once."""
    known = np.isfinite(values)
    pairs = zip(values[known].tolist(), y[known].tolist(), strict=True)
    return list(dict.fromkeys((round(at(value, *scale)), round(down)) for value, down in pairs))


@_drawn.register
def _(shape: Bars, room: _Room) -> _Body:
    """A bar per bin on a common foot; of bins narrower than a few pixels the highest is drawn."""
    shape = _gathered(shape, int(room.width / 3))
    above, below = 24.0, 44.0 if shape.x_name else 26.0
    area = room.area(300.0, above + below)
    marks, span, reach, across = _levels(_all(shape), room, area)
    ends = (float(shape.left.min()), float(shape.right.max())) if shape.left.size else (0.0, 1.0)
    for row, (low, high) in enumerate(zip(shape.left, shape.right, strict=True)):
        value = shape.estimate[row]
        start = at(0.0 if math.isnan(value) else value, span, reach)
        top, foot = sorted((start, at(0.0, span, reach)))
        x, end = at(low, ends, across), at(high, ends, across)
        name = f"{number(low)} to below {number(high)}"
        said = _said(name, shape, row) if shape.left.size <= APART else ""
        marks.append(
            f'<rect x="{x:.1f}" y="{top:.1f}" width="{max(end - x - (end - x > 4), 0.5):.1f}" '
            f'height="{foot - top:.1f}" fill="{ESTIMATE}" fill-opacity="0.55">{said}</rect>'
        )
        for _, bound in sides_of(shape):
            if math.isfinite(bound.values[row]):
                to, most = at(bound.values[row], span, reach), max((end - x) / 2, 0.8)
                sure = bool(bound.certain[row])
                way, most = (((x + end) / 2, start), ((x + end) / 2, to)), min(most, 6.0)
                marks.append(_ways([way], certain=sure, most=most, stems=most > 3))
    edges = [*shape.left.tolist(), *shape.right[-1:].tolist()]
    if len(edges) > 20:
        edges = _ticks(np.array(ends), across[1] - across[0], zero=False)[0]
    spots = [(at(edge, ends, across), number(edge)) for edge in edges]
    marks += _feet(spots, area, room.width, shape.x_name, across)
    return _Body(marks=marks, across=across, area=area, above=above, below=below)


def _gathered(shape: Bars, most: int) -> Bars:
    """At most so many bars: of neighbours the highest estimate and the widest bounds."""
    step = math.ceil(shape.left.size / most)
    if step <= 1:
        return shape
    starts = np.arange(0, shape.left.size, step)

    def widest(bound: Side | None, pick: np.ufunc, none: float) -> Side | None:
        if bound is None:
            return None
        values = np.where(np.isfinite(bound.values), bound.values, none)
        certain = np.logical_and.reduceat(bound.certain, starts)
        return replace(bound, values=pick.reduceat(values, starts), certain=certain)

    return Bars(
        left=shape.left[starts],
        right=np.maximum.reduceat(shape.right, starts),
        estimate=np.fmax.reduceat(shape.estimate, starts),
        lower=widest(shape.lower, np.minimum, -np.inf),
        upper=widest(shape.upper, np.maximum, np.inf),
        x_name=f"{shape.x_name} (the highest of every {step} bins)",
    )


@_drawn.register
def _(shape: Heat, room: _Room) -> _Body:
    """A field per pair; brighter is more, and the number stands in it where there is room."""
    size = shape.values.size
    longest = max((long(name) for name in (*shape.down, shape.down_name)), default=0.0)
    left = _EDGE + min(room.width * 0.3, longest) + 10
    across = (left, room.width - _EDGE)
    wide = (across[1] - across[0]) / max(len(shape.across), 1)
    natural = (28.0 if len(shape.down) <= 25 else 12.0) * len(shape.down)
    area = room.area(natural, 24.0 + 44.0)
    high = area / max(len(shape.down), 1)
    span = _reach(shape.values)
    marks = [*_scale_of(room.value_name, span, room.width, left)]
    marks.append(text(_EDGE, -8, shape.down_name, left - _EDGE - 8, size=SMALL))
    every = math.ceil(15 / high)
    for row, name in list(enumerate(shape.down))[::every]:
        y = high * (row + 0.5) + 4
        marks.append(text(left - 8, y, name, left - _EDGE - 8, end=True))
    paths: dict[str, list[str]] = {}
    for row, column in np.ndindex(*shape.values.shape):
        value, x, y = float(shape.values[row, column]), left + wide * column, high * row
        if size <= APART:
            said = f"{shape.down[row]}, {shape.across[column]}: {number(value)}"
            marks += _field((x, y, wide - 1, high - 1), value, span, said)
        elif math.isfinite(value):
            path = f"M{x:.1f} {y:.1f}h{wide:.1f}v{high:.1f}h-{wide:.1f}z"
            paths.setdefault(colour_of(value, span, shades=SHADES), []).append(path)
    marks += [f'<path d="{"".join(found)}" fill="{fill}"/>' for fill, found in paths.items()]
    spots = [(left + wide * (place + 0.5), name) for place, name in enumerate(shape.across)]
    marks += _feet(spots, area, room.width, shape.across_name, across)
    return _Body(marks=marks, across=across, area=area, above=24.0, below=44.0)


@_drawn.register
def _(shape: Places, room: _Room) -> _Body:
    """A mark where each place is; as long a kilometre upwards as across."""
    above = 4.0 if shape.certified is not None else 24.0
    area, width = room.area(min(520.0, room.width * 0.7), above + 8), room.width - 2 * _EDGE
    x, y = shape.longitude * shape.stretch, shape.latitude
    (west, east), (south, north) = _reach(x), _reach(y)
    scale = min((width - 32) / (east - west or 0.01), (area - 32) / (north - south or 0.01))
    middle = ((west + east) / 2, (south + north) / 2)

    def spots_of(longitude: Numbers, latitude: Numbers) -> list[Spot]:
        right = width / 2 + scale * (longitude * shape.stretch - middle[0])
        down = area / 2 - scale * (latitude - middle[1])
        return list(zip(right.tolist(), down.tolist(), strict=True))

    spots, marks = spots_of(shape.longitude, shape.latitude), []
    for latitude, longitude in shape.outline:
        path = spots_of(np.array(longitude), np.array(latitude))
        marks.append(polyline(path, MUTED, stroke=1))
    rows = range(0, len(spots), max(1, math.ceil(len(spots) / MOST_PLACES)))
    marks += _placed(shape, spots, rows)
    most = width / 5 / (scale / _KM)
    power = 10.0 ** math.floor(math.log10(most))
    length = max(step * power for step in (1.0, 2.0, 5.0) if step * power <= most * 1.0001)
    said = f"{length:g} km" if length >= 1 else f"{length * 1000:g} m"
    end = 10 + length * scale / _KM
    marks += [
        f'<rect x="4" y="{area - 28:.1f}" width="{max(end, 10 + long(said, SMALL)) + 4:.1f}" '
        f'height="24" fill="{GROUND}" fill-opacity="0.85"/>',
        stroked(f"M10 {area - 10:.1f}H{end:.1f}", INK, 2),
        text(10, area - 15, said, size=SMALL),
    ]
    # A picture of its own, so that no line runs into the words around it.
    inner = f'<svg x="{_EDGE}" width="{width:.0f}" height="{area:.0f}">{"".join(marks)}</svg>'
    around = (
        f'<rect x="{_EDGE}" y="0" width="{width:.0f}" height="{area:.0f}" fill="none" '
        f'stroke="{GRID}"/>'
    )
    key = [] if above < 24 else _scale_of(room.value_name, _reach(shape.values), room.width)
    across = (_EDGE, room.width - _EDGE)
    return _Body(marks=[around, inner, *key], across=across, area=area, above=above, below=8.0)


def _placed(shape: Places, spots: Sequence[Spot], rows: Sequence[int]) -> list[str]:
    """The marks of a map: each with its words, or of one colour in one path."""
    size = min(6.0, max(1.5, 5 * math.sqrt(300 / max(len(rows), 1))))
    span = _reach(shape.values)
    paths: dict[tuple[str, bool], list[str]] = {}
    marks = []
    for row in rows:
        x, y = spots[row]
        sure = True if shape.certified is None else bool(shape.certified[row])
        fill = colour_of(shape.values[row], span, shades=SHADES)
        if shape.certified is not None:
            fill = ESTIMATE if sure else OPEN
        path = f"M{x:.0f} {y:.0f}h0" if sure else diamond(x, y, size)
        if len(rows) > APART:
            paths.setdefault((fill, sure), []).append(path)
            continue
        words = f"{shape.labels[row]}: {number(shape.values[row])}"
        if shape.certified is not None:
            words += " (certified)" if sure else " (unknown)"
        title = f"<title>{html.escape(one_line(words))}</title>"
        marks.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" fill="{fill}" stroke="{MUTED}">'
            f"{title}</circle>"
            if sure
            else f'<path d="{path}" fill="{fill}" stroke="{MUTED}">{title}</path>'
        )
    for (fill, sure), found in paths.items():
        path = "".join(dict.fromkeys(found))
        marks.append(dots(path, fill, 2 * size) if sure else f'<path d="{path}" fill="{fill}"/>')
    return marks


@_drawn.register
def _(shape: Lines, room: _Room) -> _Body:
    """Curves, told apart by dashes as well as by colour."""
    # Numbers stand where they are, all else one after the other.
    places = (one if isinstance(one, int | float) else n for n, one in enumerate(shape.x))
    x = np.array(list(places), dtype=float)
    curves = {name: values.astype(float) for name, values in shape.y.items()}
    if shape.logarithmic:
        x, curves = np.log10(x), {name: np.log10(values) for name, values in curves.items()}
    every = np.concatenate(list(curves.values())) if curves else np.zeros(1)
    area = room.area(280.0, 24.0 + 44.0)
    marks, span, reach, across = _levels(
        every[np.isfinite(every)], room, area, powers=shape.logarithmic
    )
    ends = (float(x.min()), float(x.max())) if x.size else (0.0, 1.0)
    for place, (name, values) in enumerate(curves.items()):
        points = [
            (at(one, ends, across), at(value, span, reach) if math.isfinite(value) else math.nan)
            for one, value in zip(x, values, strict=True)
        ]
        marks += _curve(points, name, place=place, steps=shape.steps)
    named = [number(one) if isinstance(one, float) else str(one) for one in shape.x]
    marked = list(zip(x.tolist(), named, strict=True))
    powers = range(math.ceil(ends[0]), math.floor(ends[1]) + 1) if shape.logarithmic else ()
    if len(powers) > 1:
        marked = [(one, number(10.0**one)) for one in powers]
    elif len(marked) > 12 and all(isinstance(one, int | float) for one in shape.x):
        ticks = _ticks(x, across[1] - across[0], zero=False)[0]
        marked = [(one, number(one)) for one in ticks if ends[0] <= one <= ends[1]]
    spots = [(at(one, ends, across), name) for one, name in marked]
    marks += _feet(spots, area, room.width, shape.x_name, across)
    return _Body(marks=marks, across=across, area=area, above=24.0, below=44.0)


@_drawn.register
def _(shape: Panels, room: _Room) -> _Body:
    """A panel per group, each with a scale of its own."""
    chosen = shape.drawn()
    columns = max(1, min(len(chosen), int(room.width // _PANEL[0])))
    rows = max(1, math.ceil(len(chosen) / columns))
    area, wide = room.area(rows * _PANEL[1], 20.0), room.width / columns
    marks = [text(_EDGE, -8, room.value_name, room.width - 2 * _EDGE, size=SMALL)]
    for place, row in enumerate(chosen):
        own = _Room(wide, 0.0, shape.labels[row])
        inside = "".join(_panel(shape.group(row), own, area / rows - 54))
        down, right = divmod(place, columns)
        corner = f"{wide * right:.1f} {area / rows * down + 24:.1f}"
        marks.append(f'<g transform="translate({corner})">{inside}</g>')
    return _Body(marks=marks, across=(0.0, room.width), area=area, above=20.0)


def _panel(shape: Dots, room: _Room, area: float) -> list[str]:
    """One group over time: its estimates as a line, its bounds as on a row of dots."""
    known = np.concatenate([_all(shape), *(one.values for one in shape.limits)])
    marks, span, reach, across = _levels(known, room, area)
    size, inner = len(shape.labels), (across[0] + 10, across[1] - 10)
    x = np.linspace(*inner, size) if size > 1 else np.array([sum(inner) / 2])
    y = [at(value, span, reach) for value in shape.estimate]
    for dash, limit in zip(_LIMITS, shape.limits, strict=False):
        level = at(limit.values[0], span, reach)
        marks.append(stroked(f"M{across[0]:.0f} {level:.0f}H{across[1]:.0f}", INK, 1.6, dash))
    foot = at(0.0, span, reach)
    for _, bound in sides_of(shape):
        for sure in (True, False):
            kept = np.flatnonzero(np.isfinite(bound.values) & (bound.certain == sure)).tolist()
            ends = [(x[row], at(bound.values[row], span, reach)) for row in kept]
            starts = [(x[row], foot if math.isnan(y[row]) else y[row]) for row in kept]
            marks.append(_ways(zip(starts, ends, strict=True), certain=sure))
    marks += _curve(list(zip(x.tolist(), y, strict=True)), room.value_name, place=0, steps=False)
    if shape.decided is not None:
        seen = shape.sizes()
        spots = [(x[row], at(seen[row], span, reach), shape.decided[row]) for row in range(size)]
        spots = [spot for spot in spots if math.isfinite(spot[1])]
        told = "".join(f"M{left:.1f} {down:.1f}h0" for left, down, sure in spots if sure)
        path = "".join(diamond(left, down, 4) for left, down, sure in spots if not sure)
        marks.append(dots(told, ESTIMATE, 7))
        marks.append(f'<path d="{path}" fill="{OPEN}" stroke="{MUTED}"/>' if path else "")
    times = list(zip(x.tolist(), shape.labels, strict=True))
    if sum(long(words) + 10 for words in shape.labels) > inner[1] - inner[0]:
        times = times[:: max(1, size - 1)]  # where there is room for few, the first and the last
    return [*marks, *_feet(times, area, room.width, "", across)]


def _ways(
    ways: Iterable[tuple[Spot, Spot]], *, certain: bool, most: float = 6.0, stems: bool = True
) -> str:
    """From estimates to bounds: certain ones end in a bar, the others in a ring on dotted lines.

    most: half of how long a bar is at most, across a line that goes up; 6 across a level one.
    """
    lines, ends, rings = "", "", ""
    for (x, y), (to_x, to_y) in ways:
        lines += f"M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" * stems
        level = abs(to_y - y) < abs(to_x - x) or to_y == y
        bar, half = ("v", 6.0) if level else ("h", most)
        across, along = (0.0, half) if level else (half, 0.0)
        ends += f"M{to_x - across:.1f} {to_y - along:.1f}{bar}{2 * half:.1f}"
        rings += f"M{to_x:.1f} {to_y:.1f}h0"
    if certain:
        return stroked(lines + ends, CERTAIN, 2)
    drawn, wide = stroked(lines, UNSURE, 2, "2 3"), 2 * min(most, 3.5)
    return drawn + dots(rings, UNSURE, wide + 1.5) + dots(rings, GROUND, wide - 1.5)


def _field(
    box: tuple[float, float, float, float], value: float, span: Span, said: str
) -> list[str]:
    x, y, wide, high = box
    fill, words = colour_of(value, span), number(value) if math.isfinite(value) else "–"
    title = f"<title>{html.escape(one_line(said))}</title>"
    rect = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(wide, 1):.1f}" height="{max(high, 1):.1f}" '
        f'fill="{fill}">{title}</rect>'
    )
    if wide < long(words, SMALL) + 4 or high < 14:
        return [rect]
    ink = MUTED if fill == "none" else "#000000" if bright(fill) > 0.18 else "#ffffff"
    label = text(x + wide / 2, y + high / 2 + 4, words, size=SMALL, ink=ink, middle=True)
    return [rect, label]


def _curve(points: Sequence[Spot], name: str, *, place: int, steps: bool) -> list[str]:
    """A line that breaks where y is no number; a dot where a value stands alone, or few do.

    steps: each value holds until the next point, even if that has no value.
    """
    pieces: list[list[Spot]] = [[]]
    for x, y in points:
        if steps and pieces[-1]:
            pieces[-1].append((x, pieces[-1][-1][1]))
        if math.isnan(y):
            pieces.append([])
        else:
            pieces[-1].append((x, y))
    colour = _SERIES[place % len(_SERIES)]
    dash = _DASHES[(place + place // len(_SERIES)) % len(_DASHES)]
    few, thick = len(points) <= 40 and not steps, 2.0 if len(points) <= APART else 1.0
    some = [spot for piece in pieces for spot in (piece if few or len(piece) == 1 else ())]
    lines = [piece for piece in pieces if len(piece) > 1]
    marks = [polyline(piece, colour, dash=dash, stroke=thick, said=name) for piece in lines]
    return [*marks, dots("".join(f"M{x:.1f} {y:.1f}h0" for x, y in some), colour, 6)]


def _legend(shape: Shape, reach: float) -> tuple[list[str], float]:
    """What the marks mean, on as many lines as it takes; and how high they are together."""
    marks: list[str] = []
    x, y = 0.0, 12.0
    for sign, words in _signs(shape):
        wide = 36 + long(words)
        if x and x + wide > reach:
            x, y = 0.0, y + 20
        marks.append(f'<g transform="translate({x:.1f} {y - 4:.1f})">{sign}</g>')
        marks.append(text(x + 32, y, words, reach - x - 32))
        x += wide + 16
    return marks, y + 10 if marks else 0.0


def _signs(shape: Shape) -> list[tuple[str, str]]:
    if isinstance(shape, Lines):
        return [
            ("".join(_curve([(0, 0), (24, 0)], "", place=place, steps=False)), name)
            for place, name in enumerate(shape.y)
            if len(shape.y) > 1
        ]
    if isinstance(shape, Places) and shape.certified is not None:
        return _apart(("certified", "unknown"))
    way = "M12 -7v14"
    if isinstance(shape, Panels):
        shape, way = shape.dots, "M0 0h24"
    if not isinstance(shape, Dots | Bars):
        return []
    signs = []
    if isinstance(shape, Dots) and shape.decided is not None:
        signs += _apart(shape.apart)
    elif np.isfinite(shape.estimate).any():
        bar = f'<path d="M4 -6h16v12h-16z" fill="{ESTIMATE}" fill-opacity="0.55"/>'
        dot = dots("M12 0h0", ESTIMATE, 9)
        signs.append((dot if isinstance(shape, Dots) else bar, "estimate"))
    for sure in (True, False):
        seen = [
            (name, bound)
            for name, bound in sides_of(shape)
            if (np.isfinite(bound.values) & (bound.certain == sure)).any()
        ]
        if seen:
            which = f"{seen[0][0]} bound" if len(seen) == 1 else "bounds"
            words = "certain" if sure else seen[0][1].confidence or "not certain"
            signs.append((_ways([((0, 0), (22, 0))], certain=sure), f"{which} ({words})"))
    if isinstance(shape, Dots):
        said = zip(_LIMITS, shape.limits, strict=False)
        signs += [(stroked(way, INK, 1.6, dash), limit.said) for dash, limit in said]
    return signs


def _apart(words: tuple[str, str]) -> list[tuple[str, str]]:
    """The signs of what is decided and of what is open."""
    open_ = f'<path d="{diamond(12, 0, 5)}" fill="{OPEN}" stroke="{MUTED}"/>'
    return [(dots("M12 0h0", ESTIMATE, 9), words[0]), (open_, words[1])]


def _scale_of(name: str, span: Span, width: float, left: float = _EDGE) -> list[str]:
    """The colours above a picture, from the least value to the largest."""
    low, high = map(number, span)
    wide = 60.0
    x = width - _EDGE - long(high, SMALL) - 6 - wide
    start = x - 6 - long(low, SMALL)
    marks = [
        f'<rect x="{x + wide / 12 * part:.1f}" y="-18" width="{wide / 12 + 0.3:.1f}" height="12" '
        f'fill="{colour_of(part, (0, 11))}"/>'
        for part in range(12)
    ]
    ends = (text(x - 6, -8, low, size=SMALL, end=True), text(x + wide + 6, -8, high, size=SMALL))
    return [*marks, *ends, text(start - 8, -8, name, start - 16 - left, size=SMALL, end=True)]


def _all(shape: Dots | Bars) -> Numbers:
    """Every finite number that the picture must have room for."""
    every = np.concatenate([shape.estimate, *(bound.values for _, bound in sides_of(shape))])
    return np.asarray(every[np.isfinite(every)])


def _ticks(values: Numbers, room: float, *, zero: bool) -> tuple[list[float], Span]:
    """Round numbers that cover the values, as many as have room; whole ones of whole values."""
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
    if not high - low > 1e-300:  # what is less has no power of ten
        high = low + max(1.0, abs(low) * 1e-6)
    # An axis ends soon after its values, but never without two numbers on it.
    pad = 0.04 * (high - low)
    whole = bool((values == np.floor(values)).all())  # between two people there is nobody
    for parts in (6, 5, 4, 3, 2, 1):
        rough = max((high - low) / parts, 1.0 if whole else 0.0)
        power = 10.0 ** math.floor(math.log10(rough))
        round_ones = (1, 2, 5, 10, 20) if whole and power == 1 else (1, 2, 2.5, 5, 10, 20)
        step = next(one * power for one in round_ones if rough <= one * power * 1.0001)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        span = (max(step * first, low - pad), min(step * last, high + pad))
        ticks = [step * n for n in range(first, last + 1)]
        seen = [one for one in ticks if span[0] <= one + step / 1e9 and one - step / 1e9 <= span[1]]
        if len(seen) < 2:
            seen, span = ticks, (step * first, step * last)
        if (max(long(number(tick)) for tick in seen) + 14) * len(seen) <= room:
            break
    return seen, span


def _reach(values: Numbers) -> Span:
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)


def _levels(
    values: Numbers, room: _Room, area: float, *, powers: bool = False
) -> tuple[list[str], Span, Span, Span]:
    """Lines across with their numbers; what the axis spans, in pixels, too, and how wide it is."""
    ticks, span = _ticks(values, 6 * 60.0, zero=not powers)
    if powers:
        span = (math.floor(span[0]), math.ceil(span[1]))
        ticks = [float(power) for power in range(int(span[0]), int(span[1]) + 1)]
    said = [number(10**tick if powers else tick) for tick in ticks]
    reach = (area - 1, 8.0)
    across = (_EDGE + max(map(long, said)) + 8, room.width - 20.0)
    marks = [text(_EDGE, -10, room.value_name, room.width - 2 * _EDGE)]
    for tick, words in zip(ticks, said, strict=True):
        y = at(tick, span, reach)
        marks.append(stroked(f"M{across[0]:.1f} {y:.1f}H{across[1]:.1f}", GRID))
        marks.append(text(across[0] - 8, y + 4, words, end=True))
    return marks, span, reach, across


def _feet(
    spots: Sequence[tuple[float, str]], area: float, width: float, name: str, across: Span
) -> list[str]:
    """Words below an axis where there is room for them, and the name of the axis."""
    marks, free = [], 0.0
    for x, words in spots:
        room = min(width - 4, max(90.0, (across[1] - across[0]) / max(len(spots), 1)))
        wide = min(long(words), room)
        start = min(max(x - wide / 2, 2.0), width - wide - 2)
        if start >= free:
            marks.append(text(start + wide / 2, area + 18, words, room, middle=True))
            free = start + wide + 10
    if name:
        wide = min(long(name), width - 2 * _EDGE)
        middle = min(max(sum(across) / 2, wide / 2 + 2), width - wide / 2 - 2)
        marks.append(text(middle, area + 38, name, wide, middle=True))
    return marks


def _said(name: object, shape: Dots | Bars, row: int) -> str:
    """What a mark stands for, in words; a bound is rounded outwards alone."""
    value = shape.estimate[row]
    told = [] if math.isnan(value) else [number(value)]
    for side, bound in sides_of(shape):
        if math.isfinite(bound.values[row]):
            sure = "certain" if bound.certain[row] else bound.confidence or "not certain"
            told.append(f"{_AT[side]} {cell_text(float(bound.values[row]), side)} ({sure})")
    if isinstance(shape, Dots) and shape.decided is not None:
        told.append(shape.apart[not shape.decided[row]])
    words = ", ".join(told)
    return f"<title>{html.escape(one_line(f'{name}: {words}'))}</title>"
