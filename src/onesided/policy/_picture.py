"""A policy as a picture: kinds as boxes, moves as arrows.

Colours never carry meaning alone: what is protected also has a solid frame and what is not a dashed
one, with the words beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

from onesided.policy._shift import Edge
from onesided.show import ESTIMATE, GROUND, INK, UNSURE, element, long, text

Spot: TypeAlias = tuple[float, float]
_HEIGHT: Final = 40.0
_TIP: Final = (
    '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" '
    f'orient="auto"><path d="M0 0 10 5 0 10z" fill="{INK}"/></marker></defs>'
    f'<rect width="100%" height="100%" fill="{GROUND}"/>'
)


def draw(boxes: Sequence[str], edges: Sequence[Edge], *, title: str) -> str:
    """The picture; arrows go from the real record to what it must be able to pass as."""
    ends = (end for edge in edges for end in (edge.source, edge.target))
    names = list(dict.fromkeys((*boxes, *ends)))
    sources = {edge.source for edge in edges}
    width = max(108.0, 24 + max(map(long, names)))
    spots, (across, down) = _layout(names, width)
    body = [_arrow(edge, edges, spots, width) for edge in edges]
    body += [_box(name, spots[name], width, protected=name in sources) for name in names]
    legend = "Arrows: what is real must be indistinguishable from what they point to."
    if any(edge.weight != 1 for edge in edges):
        legend += " Numbers: how far apart (1 elsewhere)."
    across = max(across, 24 + long(legend, 12))
    inside = (
        f"{_TIP}{text(12, 24, title, size=16, ink=INK)}"
        f'<g transform="translate(0 36)">{"".join(body)}</g>'
        f"{text(12, down + 52, legend, size=12)}"
    )
    return element(inside, (across, down + 64), title=title, said=legend)


def _layout(names: Sequence[str], width: float) -> tuple[dict[str, Spot], Spot]:
    """Two side by side, more around an ellipse; and the size of the whole."""
    margin_x, margin_y = width / 2 + 40, _HEIGHT / 2 + 56
    if len(names) <= 2:
        gap = width + 170
        spots = {name: (margin_x + place * gap, margin_y) for place, name in enumerate(names)}
        return spots, (2 * margin_x + (len(names) - 1) * gap, 2 * margin_y)
    round_x = max(width * 0.95, 30.0 * len(names)) + 30
    round_y = max(110.0, 26.0 * len(names))
    spots = {}
    for place, name in enumerate(names):
        angle = 2 * math.pi * place / len(names) - math.pi / 2
        spots[name] = (
            margin_x + round_x * (1 + math.cos(angle)),
            margin_y + round_y * (1 + math.sin(angle)),
        )
    down = max(y for _, y in spots.values()) + margin_y
    return spots, (2 * (margin_x + round_x), down)


def _box(name: str, spot: Spot, width: float, *, protected: bool) -> str:
    x, y = spot[0] - width / 2, spot[1] - _HEIGHT / 2
    colour, dash = (ESTIMATE, "") if protected else (UNSURE, ' stroke-dasharray="6 4"')
    word = "protected" if protected else "not protected"
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_HEIGHT:.0f}" rx="8" '
        f'fill="{GROUND}" stroke="{colour}" stroke-width="2"{dash}/>'
        f"{text(spot[0], spot[1] - 2, name, ink=INK, middle=True)}"
        f"{text(spot[0], spot[1] + 14, word, size=12, ink=colour, middle=True)}"
    )


def _arrow(edge: Edge, edges: Sequence[Edge], spots: dict[str, Spot], width: float) -> str:
    """One move; ways there and back bend apart, a loop stands outside its box."""
    label = "" if edge.weight == 1 else str(edge.weight)
    if edge.source == edge.target:
        # A loop on the side of the box that looks away from the middle.
        spot = spots[edge.source]
        middle = tuple(sum(one) / len(spots) for one in zip(*spots.values(), strict=True))
        side, up = (1 if spot[0] > middle[0] else -1), (1 if spot[1] > middle[1] + 1 else -1)
        x, y = spot[0] + side * (width / 2 - 26), spot[1] + up * _HEIGHT / 2
        path = (
            f"M{x - side * 14:.1f} {y:.1f}C{x - side * 22:.1f} {y + up * 42:.1f} "
            f"{x + side * 30:.1f} {y + up * 42:.1f} {x + side * 14:.1f} {y:.1f}"
        )
        return _line(path) + _weight((x + side * 4, y + up * 32), label)
    there_and_back = any((e.source, e.target) == (edge.target, edge.source) for e in edges)
    (x1, y1), (x2, y2) = spots[edge.source], spots[edge.target]
    length = math.hypot(x2 - x1, y2 - y1)
    bend = 26.0 if there_and_back else 0.0
    mid = ((x1 + x2) / 2 - (y2 - y1) / length * bend, (y1 + y2) / 2 + (x2 - x1) / length * bend)
    start, end = _border((x1, y1), mid, width), _border((x2, y2), mid, width)
    line = f"M{start[0]:.1f} {start[1]:.1f}Q{mid[0]:.1f} {mid[1]:.1f} {end[0]:.1f} {end[1]:.1f}"
    # Not at the middle, where the diagonals of a crowded picture cross.
    share = 0.28
    at = tuple(
        (1 - share) ** 2 * a + 2 * share * (1 - share) * m + share**2 * b
        for a, m, b in zip(start, mid, end, strict=True)
    )
    return _line(line) + _weight((at[0], at[1]), label)


def _line(path: str) -> str:
    return (
        f'<path d="{path}" fill="none" stroke="{INK}" stroke-width="1.5" marker-end="url(#tip)"/>'
    )


def _weight(spot: Spot, label: str) -> str:
    """An edge's weight on the ground, so that lines below it stay legible."""
    if not label:
        return ""
    wide = long(label, 12) + 8
    return (
        f'<rect x="{spot[0] - wide / 2:.1f}" y="{spot[1] - 9:.1f}" width="{wide:.1f}" height="18" '
        f'rx="4" fill="{GROUND}"/>{text(spot[0], spot[1] + 4.5, label, size=12, middle=True)}'
    )


def _border(centre: Spot, towards: Spot, width: float) -> Spot:
    """Where a line from the centre of a box leaves it."""
    dx, dy = towards[0] - centre[0], towards[1] - centre[1]
    scale = min(
        (width / 2 + 2) / abs(dx) if dx else math.inf,
        (_HEIGHT / 2 + 2) / abs(dy) if dy else math.inf,
    )
    return centre[0] + dx * scale, centre[1] + dy * scale
