"""How methods are drawn, in every figure of this paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from onesided_experiments._model import Curve, Look, Row

LOOKS: Final = {
    "ours": Look("ours, δ-neighbourhood", "blue"),
    "ours, sides": Look("ours, δ in steps over sides", "green", "diamond"),
    "ours, at least 0": Look("ours, cells of at least 0", "sky", "circle"),
    "ours, sides, at least 0": Look("ours, δ over sides, at least 0", "black", "circle"),
    "identity": Look("identity, standard", "grey", "cross"),
    "hierarchy": Look("hierarchy, standard", "orange", "triangle"),
    "DAWA": Look("DAWA, standard", "vermillion", "square"),
    "AGrid": Look("AGrid, standard", "purple", "diamond"),
    "isotonic": Look("ours, isotonic (5.5)", "purple", "diamond"),
    "50 visits": Look("50 to 149 visits", "sky"),
    "150 visits": Look("150 to 499 visits", "orange"),
    "500 visits": Look("500 visits or more", "vermillion"),
    "delta 1": Look("ours, δ = 1 cell", "blue"),
    "delta 16": Look("ours, δ = 16 cells", "sky", "diamond"),
    "delta 256": Look("ours, δ = 256 cells", "green", "triangle"),
    "Table 1": Look("Table 1 (counts as they are)", "vermillion", "square"),
    "Table 2": Look("Table 2 (sums to the end)", "blue"),
}


def curve(rows: Iterable[Row], look: str, x: str, y: str) -> Curve:
    """Points of the rows, in the order of ``x``."""
    return Curve.of(LOOKS[look], sorted(rows, key=lambda row: row[x]), x, y)


def level(look: str, xs: Sequence[float], y: float) -> Curve:
    """A horizontal line: what does not depend on δ."""
    return Curve(look=replace(LOOKS[look], dashed=True), x=list(xs), y=[y] * len(xs))
