"""What the plane's numbers show."""

from __future__ import annotations

from dataclasses import replace
from statistics import geometric_mean

from onesided_experiments._model import Claim, Figure, Panel, Result, Row, Verdict
from onesided_experiments.delta_neighbourhood._looks import curve, level

_STANDARD = ("identity", "hierarchy", "DAWA", "AGrid")
_GOAL = 5


def result(rows: list[Row], *, quick: bool) -> Result:
    """Figures and verdicts."""
    cases = sorted(
        {(row["side"], row["epsilon"]) for row in rows}, key=lambda c: (c[0], float(c[1]))
    )
    panels = [_panel(rows, side, epsilon) for side, epsilon in cases]
    figure = Figure(title="Random rectangles, by δ", panels=panels)
    data = Figure(
        title="Error at δ = one cell and under standard neighbours, by data set",
        panels=[_bars(rows, side, epsilon) for side, epsilon in cases],
    )
    claims = [] if quick else [claim for s, e in cases for claim in _claims(rows, s, e)]
    return Result(
        rows=rows,
        figures={"plane_by_delta": figure, "plane_by_data": data},
        claims=claims,
        notes=_NOTES,
    )


def _best(rows: list[Row], side: int, epsilon: str, metric: str) -> list[Row]:
    """Our least error at each δ."""
    mine = [
        row
        for row in rows
        if row["part"] == "ours" and (row["side"], row["epsilon"]) == (side, epsilon)
        and row["metric"] == metric
    ]  # fmt: skip
    return [
        min((row for row in mine if row["delta"] == delta), key=lambda row: row["error"])
        for delta in sorted({row["delta"] for row in mine})
    ]


def _errors(rows: list[Row], side: int, epsilon: str, method: str) -> dict[str, float]:
    wanted = ("data", side, epsilon, method)
    return {
        row["data"]: row["error"]
        for row in rows
        if (row["part"], row["side"], row["epsilon"], row.get("method")) == wanted
    }


def _panel(rows: list[Row], side: int, epsilon: str) -> Panel:
    mine = _best(rows, side, epsilon, "euclidean")
    deltas = [row["delta"] for row in mine]
    curves = [curve(mine, "ours", "delta", "error", where=lambda _: True)]
    curves.append(
        curve(_best(rows, side, epsilon, "sides"), "ours, sides", "delta", "error",
              where=lambda _: True)
    )  # fmt: skip
    for method in _STANDARD:
        errors = _errors(rows, side, epsilon, method)
        curves.append(level(method, deltas, geometric_mean(errors.values())))
    return Panel(
        title=f"{side} x {side} cells, ε = {epsilon}",
        x_label="δ (cells)",
        y_label="mean squared error",
        curves=curves,
        log_x=True,
        log_y=True,
    )


def _bars(rows: list[Row], side: int, epsilon: str) -> Panel:
    names = sorted(_errors(rows, side, epsilon, "AGrid"))
    curves = []
    for look, metric in (("ours", "euclidean"), ("ours, sides", "sides")):
        error = _best(rows, side, epsilon, metric)[0]["error"]
        curves.append(level(look, range(len(names)), error))
    for method in (*_STANDARD, "ours, at least 0", "ours, sides, at least 0"):
        errors = _errors(rows, side, epsilon, method)
        points = [{"place": place, "error": errors[name]} for place, name in enumerate(names)]
        line = curve(points, method, "place", "error", where=lambda _: True)
        curves.append(replace(line, kind="dots"))
    return Panel(
        title=f"{side} x {side} cells, ε = {epsilon}",
        x_label="data set",
        y_label="mean squared error",
        curves=curves,
        log_y=True,
        x_names=[name.removesuffix("_2d").replace("_cabs", "") for name in names],
    )


def _claims(rows: list[Row], side: int, epsilon: str) -> list[Claim]:
    by_method = {m: _errors(rows, side, epsilon, m) for m in _STANDARD}
    best = {name: min(by_method[m][name] for m in _STANDARD) for name in by_method["AGrid"]}
    plain = min(geometric_mean(by_method[m].values()) for m in ("identity", "hierarchy"))
    near, far = (_best(rows, side, epsilon, "euclidean")[k] for k in (0, -1))
    sides = _best(rows, side, epsilon, "sides")[0]
    claims = []
    for row, words, name in (
        (near, "cells that touch", "ours"),
        (sides, "cells that share a side", "ours, sides"),
    ):
        fitted = _errors(rows, side, epsilon, f"{name}, at least 0")
        gains = {data: error / fitted[data] for data, error in best.items()}
        linear = [error / row["error"] for error in best.values()]
        reached = sum(gain >= _GOAL for gain in gains.values())
        verdict: Verdict = "holds" if reached == len(gains) else "holds in part"
        claims.append(
            Claim(
                judges="ours",
                text=f"{side}², ε = {epsilon}, δ = one cell ({words}): at least {_GOAL} times "
                "below the best standard method.",
                measured=f"with cells of at least 0: {min(gains.values()):.2g} "
                f"({min(gains, key=gains.__getitem__)}) to {max(gains.values()):.2g} "
                f"({max(gains, key=gains.__getitem__)}), geometric mean "
                f"{geometric_mean(gains.values()):.2g}, at least {_GOAL} on {reached} of "
                f"{len(gains)} data sets; unbiased: {min(linear):.2g} to {max(linear):.2g}, and "
                f"{plain / row['error']:.2g} times below the better of identity and hierarchy",
                verdict=verdict if reached else "does not hold",
            )
        )
    last = plain / far["error"]
    claims.append(
        Claim(
            judges="ours",
            text=f"{side}², ε = {epsilon}: the gap closes to 1 as δ grows to the whole domain.",
            measured=f"the better of identity and hierarchy over ours: {last:.2f}; best of all "
            f"four: {geometric_mean(best.values()) / far['error']:.2f}",
            verdict="holds in part" if 0.5 < last < 2 else "does not hold",
        )
    )
    return claims


_NOTES = (
    "Points lie anywhere in a cell, so that those within one cell's side of each other are in "
    "cells that touch, corners included (eight neighbours). 'Share a side' is δ = 1 step from "
    "cell to cell for data that are cells already (four neighbours).",
    "Our unbiased error does not depend on the data; where cells are fitted by numbers of at least "
    "0 it is smaller, the more so the more cells are empty. Tiles have no closed form, so theirs "
    "is measured by drawing noise alone.",
)
