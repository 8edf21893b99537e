"""Draw the pictures of docs/choosing.md from the numbers that the page's own code computes.

python scripts/pictures.py docs/choosing

The same numbers give the same files, byte for byte.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import onesided as od

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 40, 52
# Okabe and Ito's colours, with dashes for those who see no colour.
STYLES = (
    ("#0072B2", ""),
    ("#D55E00", "8 3"),
    ("#009E73", "3 3"),
    ("#CC79A7", "10 3 2 3"),
    ("#56423a", "1 3"),
)
TENTHS, FIFTHS = (0, 0.1, 0.2, 0.3, 0.4, 0.5), (0, 0.2, 0.4, 0.6, 0.8, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis: its name, its ends, its marks and how they are written."""

    name: str
    low: float
    high: float
    marks: Sequence[float]
    write: Callable[[float], str] = "{:g}".format

    def share(self, value: float) -> float:
        """Where ``value`` lies between the ends."""
        return (min(value, self.high) - self.low) / (self.high - self.low)


Line = tuple[str, Sequence[tuple[float, float]]]


def chart(title: str, across: Axis, up: Axis, lines: Sequence[Line]) -> str:
    """Lines with their names at their ends, as SVG."""

    def x(value: float) -> str:
        return f"{LEFT + across.share(value) * (WIDTH - LEFT - RIGHT):.1f}"

    def y(value: float) -> str:
        return f"{HEIGHT - BOTTOM - up.share(value) * (HEIGHT - TOP - BOTTOM):.1f}"

    right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12" fill="#222">',
        f"<title>{title}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="15" font-weight="bold">{title}</text>',
    ]
    for mark in up.marks:
        parts += [
            f'<path d="M{LEFT} {y(mark)}H{right}" stroke="#ddd"/>',
            f'<text x="{LEFT - 8}" y="{y(mark)}" dy="4" text-anchor="end">{up.write(mark)}</text>',
        ]
    for mark in across.marks:
        label = across.write(mark)
        parts.append(f'<text x="{x(mark)}" y="{floor + 18}" text-anchor="middle">{label}</text>')
    middle = (LEFT + right) // 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 12}" text-anchor="middle">{across.name}</text>')
    side = (TOP + floor) // 2
    parts.append(
        f'<text transform="translate(16 {side}) rotate(-90)" text-anchor="middle">{up.name}</text>'
    )
    for (name, points), (colour, dashes) in zip(lines, STYLES, strict=False):
        path = "L".join(f"{x(a)} {y(b)}" for a, b in points if b <= up.high)
        parts.append(
            f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2.5" '
            f'stroke-dasharray="{dashes or "none"}"/>'
        )
        a, b = [point for point in points if point[1] <= up.high][-1]
        parts.append(f'<text x="{x(a)}" y="{y(b)}" dx="8" dy="4">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def percent(share: float) -> str:
    """A share as people write it."""
    return f"{share:.0%}"


def odds() -> str:
    """How sure an observer can become, by how sure she was."""

    def after(before: float, epsilon: float) -> float:
        return before * math.exp(epsilon) / (1 - before + before * math.exp(epsilon))

    shares = [step / 100 for step in range(51)]
    lines = [(f"ε = {e:g}", [(s, after(s, e)) for s in shares]) for e in (0, 0.5, 1, 2, 4)]
    return chart(
        "How sure an observer can become that somebody was there",
        Axis(name="how sure she was before", low=0, high=0.5, marks=TENTHS, write=percent),
        Axis(name="at most, afterwards", low=0, high=1, marks=FIFTHS, write=percent),
        lines,
    )


def days() -> str:
    """What daily publications add up to for somebody who is in all of them."""
    lines = [
        (f"{text} a day", [(day, day * share) for day in range(1, 29)])
        for text, share in (("ε = 1/10", 0.1), ("ε = 1/4", 0.25), ("ε = 1/2", 0.5), ("ε = 1", 1.0))
    ]
    return chart(
        "What daily publications add up to, for somebody who is in all of them",
        Axis(name="days", low=1, high=28, marks=(1, 7, 14, 21, 28)),
        Axis(name="ε in all", low=0, high=14, marks=(0, 2, 4, 6, 8, 10, 12, 14)),
        lines,
    )


def certified() -> str:
    """How often a place is certified, by how many people were truly there."""
    policy = od.policy.presence(max_groups=3)
    lines = []
    for epsilon in ("1/4", "1/2", "1", "2", "4"):
        decision = od.mechanism.AtMost.for_policy(policy, threshold=20, epsilon=epsilon)
        points = [(float(count), decision.power(count)) for count in range(21)]
        lines.append((f"ε = {epsilon}", points))
    return chart(
        "“At most 20 people”: how often it is certified",
        Axis(name="people truly there", low=0, high=20, marks=(0, 5, 10, 15, 20)),
        Axis(name="share of such places certified", low=0, high=1, marks=FIFTHS, write=percent),
        lines,
    )


DRAWN = {"odds": odds, "days": days, "certified": certified}


def main() -> int:
    """Write the pictures into a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWN.items():
        (folder / f"{name}.svg").write_text(draw(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
