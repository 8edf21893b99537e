"""Draw the pictures of docs/choosing.md from the numbers that the page's own code computes.

python scripts/pictures.py docs/choosing

The same numbers give the same files, byte for byte.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import onesided as od
from onesided.show import Chart, Lines, svg_text


def chart(
    title: str, x: Sequence[float], lines: Mapping[str, Sequence[float]], across: str, up: str
) -> str:
    """Lines over one number, as SVG."""
    curves = {name: np.array(values, dtype=float) for name, values in lines.items()}
    shape = Lines(x=list(x), y=curves, x_name=across)
    return svg_text(Chart(title=title, shape=shape, value_name=up)) + "\n"


def odds() -> str:
    """How sure an observer can become, by how sure she was."""

    def after(before: float, epsilon: float) -> float:
        return before * math.exp(epsilon) / (1 - before + before * math.exp(epsilon))

    shares = [step / 100 for step in range(51)]
    return chart(
        "How sure an observer can become that somebody was there",
        [100 * share for share in shares],
        {f"ε = {e:g}": [100 * after(s, e) for s in shares] for e in (0, 0.5, 1, 2, 4)},
        "how sure she was before (%)",
        "at most, afterwards (%)",
    )


def days() -> str:
    """What daily publications add up to for somebody who is in all of them."""
    shares = {"ε = 1/10": 0.1, "ε = 1/4": 0.25, "ε = 1/2": 0.5, "ε = 1": 1.0}
    days = range(1, 29)
    return chart(
        "What daily publications add up to, for somebody who is in all of them",
        days,
        {f"{text} a day": [day * share for day in days] for text, share in shares.items()},
        "days",
        "ε in all",
    )


def certified() -> str:
    """How often a place is certified, by how many people were truly there."""
    policy = od.policy.presence(max_groups=3)
    lines = {}
    for epsilon in ("1/4", "1/2", "1", "2", "4"):
        decision = od.mechanism.AtMost.for_policy(policy, threshold=20, epsilon=epsilon)
        lines[f"ε = {epsilon}"] = [100 * decision.power(count) for count in range(21)]
    title, up = (
        "“At most 20 people”: how often it is certified",
        "share of such places certified (%)",
    )
    return chart(title, range(21), lines, "people truly there", up)


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
