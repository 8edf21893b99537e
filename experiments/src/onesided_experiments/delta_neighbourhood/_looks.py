"""How methods are drawn, in every figure of this paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from onesided_experiments._model import Curve, Look, Row

LOOKS: Final = {
    "ours": Look(name="ours, δ-neighbourhood", colour="blue"),
    "ours, sides": Look(name="ours, δ in steps over sides", colour="green", marker="diamond"),
    "ours, at least 0": Look(name="ours, cells of at least 0", colour="sky", marker="circle"),
    "ours, sides, at least 0": Look(
        name="ours, δ over sides, at least 0", colour="black", marker="circle"
    ),
    "identity": Look(name="identity, standard", colour="grey", marker="cross"),
    "hierarchy": Look(name="hierarchy, standard", colour="orange", marker="triangle"),
    "DAWA": Look(name="DAWA, standard", colour="vermillion", marker="square"),
    "AGrid": Look(name="AGrid, standard", colour="purple", marker="diamond"),
    "isotonic": Look(name="ours, isotonic (5.5)", colour="purple", marker="diamond"),
    "50 visits": Look(name="50 to 149 visits", colour="sky"),
    "150 visits": Look(name="150 to 499 visits", colour="orange"),
    "500 visits": Look(name="500 visits or more", colour="vermillion"),
    "delta 1": Look(name="ours, δ = 1 cell", colour="blue"),
    "delta 16": Look(name="ours, δ = 16 cells", colour="sky", marker="diamond"),
    "delta 256": Look(name="ours, δ = 256 cells", colour="green", marker="triangle"),
    "Table 1": Look(name="Table 1 (counts as they are)", colour="vermillion", marker="square"),
    "Table 2": Look(name="Table 2 (sums to the end)", colour="blue"),
}


def curve(
    rows: Iterable[Row],
    look: str,
    x: str,
    y: str,
    *,
    where: Callable[[Row], bool],
    dashed: bool = False,
) -> Curve:
    """Points of the chosen rows, in the order of ``x``."""
    mine = sorted((row for row in rows if where(row)), key=lambda row: row[x])
    drawn = LOOKS[look]
    if dashed:
        drawn = Look(name=drawn.name, colour=drawn.colour, marker="none", dashed=True)
    return Curve.of(drawn, mine, x, y)


def level(look: str, xs: Sequence[float], y: float) -> Curve:
    """A horizontal line: what does not depend on δ."""
    drawn = LOOKS[look]
    flat = Look(name=drawn.name, colour=drawn.colour, marker=drawn.marker, dashed=True)
    return Curve(look=flat, x=list(xs), y=[y] * len(xs))
