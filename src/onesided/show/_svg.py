"""Charts as SVG text: for pages that run no script of others and fetch nothing.

Colours are custom properties of the page's style sheet, with values to fall back on, so that one
picture serves light and dark. All text is escaped; there are no style attributes, which a strict
content security policy would drop.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Final, TypeAlias

import numpy as np

from onesided.show._chart import Bars, Chart, Dots, Heat, Lines, Numbers, Places, Shape

Marks: TypeAlias = tuple[list[str], float]  # the elements, and how far down they reach
Span: TypeAlias = tuple[float, float]

ESTIMATE: Final = "var(--certified, #0072b2)"
CERTAIN: Final = "var(--certain, #00805c)"
UNSURE: Final = "var(--unsure, #c25000)"
INK: Final = "var(--ink, #1d2730)"
MUTED: Final = "var(--muted, #5a6672)"
GRID: Final = "var(--line, #dde2e7)"
MOST_PLACES: Final = 3_000
_SERIES: Final = (ESTIMATE, UNSURE, CERTAIN, INK)
_DASHES: Final = ("", "7 4", "2 4", "9 3 2 3")
# Cividis, which people with any colour vision read as dark to bright.
_SCALE: Final = np.array(
    [(0, 34, 78), (64, 77, 108), (124, 123, 120), (187, 175, 113), (254, 232, 56)], dtype=float
)
_ROW: Final = 26.0
_LETTER: Final = 7.0  # how wide a letter of 13 pixels is, on average
_LONGEST: Final = 24
_FEET: Final = 44.0


def svg_text(chart: Chart, *, width: int = 720) -> str:
    """The picture as an SVG element of that width; its words are an accessible name, not drawn.

    >>> import numpy as np
    >>> dots = Dots(labels=["gym", "<b>"], estimate=np.array([3.0, 1.0]))
    >>> drawn = svg_text(Chart(title="Counts", shape=dots, value_name="people"))
    >>> drawn.startswith("<svg"), "<b>" in drawn
    (True, False)
    """
    marks, height = _drawn(chart.shape, chart.value_name, float(width))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" '
        f'width="{width}" height="{height:.0f}" role="img" '
        f'aria-label="{_text(chart.title)}. The table has the same numbers." '
        f'font-family="inherit" font-size="13" fill="{MUTED}">{"".join(marks)}</svg>'
    )


@singledispatch
def _drawn(shape: Shape, value_name: str, width: float) -> Marks:  # noqa: ARG001 - as its variants
    raise TypeError(type(shape).__name__)


@_drawn.register
def _(shape: Dots, value_name: str, width: float) -> Marks:
    """A row per group: its name, its dot, and lines to its bounds."""
    longest = max(map(len, shape.labels), default=0)
    left = min(width * 0.34, _LETTER * min(longest, _LONGEST) + 16)
    bottom = _ROW * len(shape.labels) + 8
    ticks, span = _ticks(_all(shape), least=3 if width < 500 else 5, zero=True)
    reach = (left, width - 24.0)
    marks = _upright_grid(ticks, span, reach, (4.0, bottom), value_name)
    anchor = np.where(np.isnan(shape.estimate), 0.0, shape.estimate)
    most = int(max(6, (left - 12) / _LETTER))
    for row, label in enumerate(shape.labels):
        y = _ROW * (row + 0.5) + 4
        marks.append(_words(left - 10, y + 4, _short(label, most), end=True, title=label))
        start = _at(anchor[row], span, reach)
        for bound in (shape.lower, shape.upper):
            if bound is not None and math.isfinite(bound.values[row]):
                end = _at(bound.values[row], span, reach)
                marks += _side(start, y, end, y, certain=bool(bound.certain[row]))
        if not math.isnan(shape.estimate[row]):
            marks.append(_dot(start, y, f"{label}: {_number(shape.estimate[row])}"))
    return marks, bottom + _FEET


@_drawn.register
def _(shape: Bars, value_name: str, width: float) -> Marks:
    """A bar per bin on a common foot."""
    left, bottom = 56.0, 300.0
    ticks, span = _ticks(_all(shape), least=5, zero=True)
    reach = (bottom, 14.0)
    marks = _level_grid(ticks, span, reach, (left, width - 12), value_name)
    ends, across = (float(shape.left.min()), float(shape.right.max())), (left, width - 12)
    for row, (low, high) in enumerate(zip(shape.left, shape.right, strict=True)):
        value = 0.0 if math.isnan(shape.estimate[row]) else float(shape.estimate[row])
        top, foot = sorted((_at(value, span, reach), _at(0.0, span, reach)))
        x, end = _at(low, ends, across), _at(high, ends, across)
        said = f"{low:g} to below {high:g}: {_number(value)}"
        marks.append(
            f'<rect x="{x:.1f}" y="{top:.1f}" width="{max(end - x - 1, 1):.1f}" '
            f'height="{max(foot - top, 0):.1f}" fill="{ESTIMATE}" fill-opacity="0.55">'
            f"<title>{_text(said)}</title></rect>"
        )
        for bound in (shape.lower, shape.upper):
            if bound is not None and math.isfinite(bound.values[row]):
                middle, to = (x + end) / 2, _at(bound.values[row], span, reach)
                start = _at(value, span, reach)
                marks += _side(middle, start, middle, to, certain=bool(bound.certain[row]))
    edges = [*shape.left.tolist(), ends[1]]
    step = max(1, math.ceil(len(edges) * 52 / (width - left)))
    for edge in edges[::step]:
        marks.append(_words(_at(edge, ends, across), bottom + 18, f"{edge:g}", middle=True))
    return marks, bottom + 26


@_drawn.register
def _(shape: Heat, value_name: str, width: float) -> Marks:
    """A field per pair; brighter is more, and the number stands in it where there is room."""
    most = max(map(len, shape.down), default=0)
    left, top = min(width * 0.3, _LETTER * min(most, _LONGEST) + 16), 26.0
    wide = (width - left - 4) / max(len(shape.across), 1)
    known = shape.values[np.isfinite(shape.values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    marks = [_words(left, 14, f"{shape.across_name} →  {value_name} by colour")]
    letters = int(max(4, (left - 12) / _LETTER))
    for row, name in enumerate(shape.down):
        y = top + _ROW * row
        marks.append(_words(left - 8, y + 17, _short(name, letters), end=True, title=name))
        for place, value in enumerate(shape.values[row]):
            said = f"{name}, {shape.across[place]}: {_number(value)}"
            x = left + wide * place
            marks.append(_field((x, y, wide - 1, _ROW - 1), value, (low, high), said))
    bottom = top + _ROW * len(shape.down)
    step = max(1, math.ceil(48 / wide))
    for place, name in list(enumerate(shape.across))[::step]:
        label = _short(name, int(max(3, wide * step / _LETTER)))
        marks.append(_words(left + wide * (place + 0.5), bottom + 17, label, middle=True))
    return marks, bottom + 26


@_drawn.register
def _(shape: Places, value_name: str, width: float) -> Marks:
    """A dot where each place is; as long a kilometre upwards as across."""
    height = min(520.0, width * 0.8)
    stretch = max(math.cos(math.radians(float(np.mean(shape.latitude)))), 0.01)
    x, y = shape.longitude * stretch, shape.latitude
    scale = min((width - 24) / _wide(x), (height - 24) / _wide(y))
    rows = np.arange(len(shape.labels))[:: math.ceil(max(len(shape.labels), 1) / MOST_PLACES)]
    left = (width - scale * float(np.ptp(x))) / 2 - scale * float(x.min())
    foot = (height + scale * float(np.ptp(y))) / 2 + scale * float(y.min())
    known = shape.values[np.isfinite(shape.values)]
    span = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    size = min(6.0, max(2.0, 5 * math.sqrt(400 / max(rows.size, 1))))
    lines = [
        _path([(left + scale * stretch * b, foot - scale * a) for a, b in zip(*line, strict=True)])
        for line in shape.outline
    ]
    # A picture of its own, so that no line runs into the words below.
    marks = [f'<svg width="{width:.0f}" height="{height:.0f}">{"".join(lines)}</svg>']
    marks += [
        f'<circle cx="{left + scale * x[row]:.1f}" cy="{foot - scale * y[row]:.1f}" '
        f'r="{size:.1f}" fill="{_colour(shape.values[row], span)}" stroke="{MUTED}">'
        f"<title>{_text(f'{shape.labels[row]}: {_number(shape.values[row])}')}</title></circle>"
        for row in rows.tolist()
    ]
    said = f"{value_name}: dark {_number(span[0])}, bright {_number(span[1])}"
    return [*marks, _words(12, height + 16, said)], height + 26


@_drawn.register
def _(shape: Lines, value_name: str, width: float) -> Marks:
    """Curves, told apart by dashes as well as by colour."""
    left, bottom = 56.0, 300.0
    x = np.array([_place(value, n) for n, value in enumerate(shape.x)], dtype=float)
    curves = {name: values.astype(float) for name, values in shape.y.items()}
    if shape.logarithmic:
        x, curves = np.log10(x), {name: np.log10(values) for name, values in curves.items()}
    every = np.concatenate(list(curves.values())) if curves else np.zeros(1)
    ticks, span = _ticks(every[np.isfinite(every)], least=5, zero=not shape.logarithmic)
    if shape.logarithmic:
        span = (math.floor(span[0]), math.ceil(span[1]))
        ticks = [float(power) for power in range(int(span[0]), int(span[1]) + 1)]
    reach, across = (bottom, 14.0), (left, width - 16)
    marks = _level_grid(ticks, span, reach, across, value_name, powers=shape.logarithmic)
    ends = (float(x.min()), float(x.max())) if x.size else (0.0, 1.0)
    for number, (name, values) in enumerate(curves.items()):
        points = [
            (_at(one, ends, across), _at(value, span, reach)) if math.isfinite(value) else None
            for one, value in zip(x, values, strict=True)
        ]
        marks += _curve(points, name, number=number, steps=shape.steps)
    labels = [_short(str(value), 12) for value in shape.x]
    room = _LETTER * max(map(len, labels), default=0) + 24
    step = max(1, math.ceil(len(labels) * room / (width - left)))
    for place in range(0, len(labels), step):
        middle = min(_at(x[place], ends, across), width - room / 2 + 8)
        marks.append(_words(middle, bottom + 18, labels[place], middle=True))
    return marks, bottom + 26


def _path(points: Sequence[Span]) -> str:
    """A line of an outline."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{MUTED}" stroke-opacity="0.7"/>'


def _curve(points: Sequence[Span | None], name: str, *, number: int, steps: bool) -> list[str]:
    """A line that breaks where there is no value; a dot where a value stands alone."""
    pieces: list[list[Span]] = [[]]
    for point in points:
        if point is None:
            pieces.append([])
        else:
            if steps and pieces[-1]:
                pieces[-1].append((point[0], pieces[-1][-1][1]))
            pieces[-1].append(point)
    colour, dash = _SERIES[number % len(_SERIES)], _DASHES[number % len(_DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    marks = []
    for piece in pieces:
        if len(piece) == 1:
            ((x, y),) = piece
            marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>')
        elif piece:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in piece)
            marks.append(
                f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashed}>'
                f"<title>{_text(name)}</title></polyline>"
            )
    return marks


def _all(shape: Dots | Bars) -> Numbers:
    """Every finite number that the picture must have room for."""
    sides = [bound.values for bound in (shape.lower, shape.upper) if bound is not None]
    every = np.concatenate([shape.estimate, *sides]).astype(float)
    return np.asarray(every[np.isfinite(every)])


def _ticks(values: Numbers, *, least: int, zero: bool) -> tuple[list[float], Span]:
    """Round numbers that cover the values."""
    low = float(values.min()) if values.size else 0.0
    high = float(values.max()) if values.size else 1.0
    low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
    if not high > low:
        high = low + 1
    rough = (high - low) / least
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one * power for one in (1, 2, 2.5, 5, 10) if rough <= one * power * (1 + 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * n for n in range(first, last + 1)], (step * first, step * last)


def _at(value: float, span: Span, reach: Span) -> float:
    share = (float(value) - span[0]) / ((span[1] - span[0]) or 1.0)
    return reach[0] + share * (reach[1] - reach[0])


def _wide(values: Numbers) -> float:
    return float(np.ptp(values)) or 0.01


def _place(value: object, number: int) -> float:
    """Where a value stands: numbers where they are, all else one after the other."""
    return float(value) if isinstance(value, int | float) else float(number)


def _upright_grid(
    ticks: Sequence[float], span: Span, reach: Span, rows: Span, name: str
) -> list[str]:
    marks = []
    for tick in ticks:
        x = _at(tick, span, reach)
        marks.append(_line(x, rows[0], x, rows[1], GRID))
        marks.append(_words(x, rows[1] + 18, _number(tick), middle=True))
    return [*marks, _words(sum(reach) / 2, rows[1] + 38, name, middle=True)]


def _level_grid(
    ticks: Sequence[float],
    span: Span,
    reach: Span,
    across: Span,
    name: str,
    *,
    powers: bool = False,
) -> list[str]:
    marks = []
    for tick in ticks:
        y = _at(tick, span, reach)
        marks.append(_line(across[0], y, across[1], y, GRID))
        marks.append(_words(across[0] - 8, y + 4, _number(10**tick if powers else tick), end=True))
    return [*marks, _words(across[0], 10, name)]


def _side(x: float, y: float, to_x: float, to_y: float, *, certain: bool) -> list[str]:
    """From a dot to a bound: certain ones end in a bar, the others in a circle, dotted."""
    colour = CERTAIN if certain else UNSURE
    if not certain:
        ring = f'<circle cx="{to_x:.1f}" cy="{to_y:.1f}" r="3.5" fill="none" stroke="{colour}"/>'
        return [_line(x, y, to_x, to_y, colour, dash="2 3"), ring]
    level = abs(to_y - y) < abs(to_x - x) or to_y == y
    across, along = (0.0, 6.0) if level else (6.0, 0.0)
    cap = _line(to_x - across, to_y - along, to_x + across, to_y + along, colour, stroke=2.5)
    return [_line(x, y, to_x, to_y, colour), cap]


def _line(
    x: float, y: float, to_x: float, to_y: float, colour: str, *, dash: str = "", stroke: float = 0
) -> str:
    wide = stroke or (1.0 if colour == GRID else 2.0)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{colour}" '
        f'stroke-width="{wide:g}"{dashed}/>'
    )


def _dot(x: float, y: float, said: str) -> str:
    title = f"<title>{_text(said)}</title>"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{ESTIMATE}">{title}</circle>'


def _field(box: tuple[float, float, float, float], value: float, span: Span, said: str) -> str:
    x, y, wide, high = box
    title, words = f"<title>{_text(said)}</title>", _number(value)
    rect = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(wide, 1):.1f}" height="{high:.1f}" '
        f'fill="{_colour(value, span)}">{title}</rect>'
    )
    if wide < _LETTER * len(words) + 4:
        return rect
    bright = _at(value, span, (0.0, 1.0)) > 0.55
    ink = "#1d2730" if bright else "#ffffff"
    return (
        f'{rect}<text x="{x + wide / 2:.1f}" y="{y + high / 2 + 4:.1f}" text-anchor="middle" '
        f'fill="{ink}">{_text(words)}</text>'
    )


def _colour(value: float, span: Span) -> str:
    """A colour of the scale; none for what has no value."""
    if not math.isfinite(value):
        return "none"
    spot = min(max(_at(value, span, (0.0, len(_SCALE) - 1.0)), 0.0), len(_SCALE) - 1.0)
    low = min(int(spot), len(_SCALE) - 2)
    mixed = _SCALE[low] + (spot - low) * (_SCALE[low + 1] - _SCALE[low])
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


def _words(
    x: float, y: float, words: str, *, end: bool = False, middle: bool = False, title: str = ""
) -> str:
    anchor = "end" if end else "middle" if middle else "start"
    whole = f"<title>{_text(title)}</title>" if title and title != words else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_text(words)}{whole}</text>'


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "no value"
    whole = float(value).is_integer() and abs(value) < 1e15
    return f"{int(value):,}" if whole else f"{value:,.4g}"


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _text(value: object) -> str:
    text = str(value)
    return html.escape(text if text.isprintable() else ascii(text)[1:-1])
