"""What pictures are made of: words that fit, lines, spots and colours, as SVG text.

Colours are custom properties of the page's style sheet, with values to fall back on, so that one
picture serves light and dark. All text is escaped; there are no style attributes, which a strict
content security policy would drop.
"""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

from onesided._english import one_line

Span: TypeAlias = tuple[float, float]
Spot: TypeAlias = tuple[float, float]

# Okabe and Ito's colours, which people with any colour vision can tell apart.
ESTIMATE: Final = "var(--certified, #0072b2)"
CERTAIN: Final = "var(--certain, #00805c)"
UNSURE: Final = "var(--unsure, #c25000)"
OPEN: Final = "var(--unknown, #e69f00)"
INK: Final = "var(--ink, #1d2730)"
MUTED: Final = "var(--muted, #5a6672)"
GRID: Final = "var(--line, #dde2e7)"
GROUND: Final = "var(--card, #ffffff)"
TEXT: Final = 13.0
SMALL: Final = 12.0
APART: Final = 300  # more marks than that are one path, without a title each
SHADES: Final = 24  # so many colours where marks share a path
# Cividis, which people with any colour vision read as dark to bright.
_SCALE: Final = np.array(
    [(0, 34, 78), (64, 77, 108), (124, 123, 120), (187, 175, 113), (254, 232, 56)], dtype=float
)
# What stands between the parts of a name, and how many letters of a part are some of it.
_BETWEEN: Final = " · "
_LEAST: Final = 4


def element(inside: str, size: Span, *, title: str, said: str) -> str:
    """An SVG element that says what it is to those who do not see it.

    >>> "<title>Nothing</title>" in element("", (8, 8), title="Nothing", said="An empty square.")
    True
    """
    width, height = (f"{side:.0f}" for side in size)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="system-ui, sans-serif" font-size="13" '
        f'fill="{MUTED}"><title>{html.escape(one_line(title))}</title>'
        f"<desc>{html.escape(one_line(said))}</desc>{inside}</svg>"
    )


def at(value: float, span: Span, reach: Span) -> float:
    """Where a value stands in pixels."""
    share = (float(value) - span[0]) / ((span[1] - span[0]) or 1.0)
    return reach[0] + share * (reach[1] - reach[0])


def stroked(path: str, colour: str, wide: float = 1.0, dash: str = "") -> str:
    """Lines along a path; nothing where it is empty."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    look = f'fill="none" stroke="{colour}" stroke-width="{wide:g}"{dashed}'
    return f'<path d="{path}" {look}/>' if path else ""


def polyline(
    points: Sequence[Spot], colour: str, *, dash: str = "", stroke: float = 2, said: str = ""
) -> str:
    """A line through points; of many that fall on one pixel in a row the first."""
    digits = 1 if len(points) <= APART else 0
    path = [f"{x:.{digits}f},{y:.{digits}f}" for x, y in points]
    path = [one for place, one in enumerate(path) if not place or one != path[place - 1]]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    title = f"<title>{html.escape(one_line(said))}</title>" if said else ""
    return (
        f'<polyline points="{" ".join(path)}" fill="none" stroke="{colour}" '
        f'stroke-width="{stroke:g}"{dashed}>{title}</polyline>'
    )


def dots(path: str, colour: str, size: float) -> str:
    """A round spot wherever the path stands still."""
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{size:g}" '
        'stroke-linecap="round"/>'
        if path
        else ""
    )


def diamond(x: float, y: float, size: float) -> str:
    side = round(size * 1.25, 1)
    return f"M{x:.0f} {y - side:.0f}l{side} {side}l-{side} {side}l-{side} -{side}z"


def bright(colour: str) -> float:
    """Relative luminance, as WCAG has it; black has enough contrast above 0.18, white below."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    plain = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return float(np.dot(plain, (0.2126, 0.7152, 0.0722)))


def colour_of(value: float, span: Span, *, shades: int = 0) -> str:
    """A colour of the scale; none for what has no value."""
    if not math.isfinite(value):
        return "none"
    share = min(max(at(value, span, (0.0, 1.0)), 0.0), 1.0)
    spot = (round(share * shades) / shades if shades else share) * (len(_SCALE) - 1)
    low = min(int(spot), len(_SCALE) - 2)
    mixed = _SCALE[low] + (spot - low) * (_SCALE[low + 1] - _SCALE[low])
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


def text(
    x: float,
    y: float,
    words: str,
    room: float = math.inf,
    *,
    size: float = TEXT,
    ink: str = "",
    end: bool = False,
    middle: bool = False,
    title: str = "",
) -> str:
    """Words at a place, cut to the room they have; title: all of them, if not these words.

    >>> "gym" in text(1, 2, "gym")
    True
    """
    words = one_line(words)
    whole, kept = one_line(title) or words, _start(words, room, size)
    anchor = "end" if end else "middle" if middle else ""
    facts = f' text-anchor="{anchor}"' if anchor else ""
    facts += f' font-size="{size:g}"' if size != TEXT else ""
    facts += f' fill="{ink}"' if ink else ""
    told = f"<title>{html.escape(whole)}</title>" if whole != kept else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{facts}>{html.escape(kept)}{told}</text>'


def _start(words: str, room: float, size: float) -> str:
    if long(words, size) <= room:
        return words
    parts = words.split(_BETWEEN)
    place = max(range(len(parts)), key=lambda one: long(parts[one], size))
    rest = room - long(words, size) + long(parts[place], size)
    if len(parts) > 1 and rest > _LEAST * size:  # every part tells rows apart
        parts[place] = _start(parts[place], rest, size)
        return _BETWEEN.join(parts)
    kept = len(words)
    while kept and long(words[:kept], size) + size > room:
        kept -= 1
    return f"{words[:kept].rstrip()}…"


def wrapped(words: str, room: float, size: float, *, most: int = 99) -> list[str]:
    """The words on lines that fit; a word longer than a line is cut, and so is what is too long.

    >>> wrapped("one two three", 60, 13)
    ['one two', 'three']
    """
    lines: list[str] = []
    for word in one_line(words).split():
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and long(joined, size) <= room:
            lines[-1] = joined
        else:
            lines.append(word)
    if len(lines) > most:
        lines = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    return [_start(one, room, size) for one in lines]


def long(words: str, size: float = TEXT) -> float:
    """How wide words are at most, by what their letters are like in common fonts.

    >>> long("mm") > long("ii")
    True
    """
    return size * sum(_letter(one) for one in one_line(words))


def _letter(one: str) -> float:
    if one in "iljtfrI.,:;'|!()[] ":
        return 0.4
    if one in "mwMW@%…" or unicodedata.east_asian_width(one) in "WF":
        return 1.05
    return 0.76 if one.isupper() else 0.64


def number(value: float) -> str:
    if not math.isfinite(value):
        return "no value"
    if float(value).is_integer() or abs(value) >= 1e5:
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.3g}"
    return f"{value:,.6g}" if abs(value) >= 1000 else f"{value:,.4g}"
