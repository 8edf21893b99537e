"""Rectangles of a plane of 128 or 256 cells squared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Final

import numpy as np

from onesided.linear import (
    Grid,
    Identity,
    Kron,
    Operator,
    Quadtree,
    Ranges,
    error_factors,
    kron,
    moves_of,
    sampled_ranges,
    sensitivity,
    strategy_shifts,
)
from onesided.mechanism import Counts
from onesided.mechanism.histograms import AGrid, Dawa, Hierarchical
from onesided.mechanism.kit import rates_over
from onesided.noise import NotPrivateSeededNoise, TwoSidedGeometric
from onesided.policy import Edge, Shift, bounded, neighbourhood
from onesided_experiments import _model as lab
from onesided_experiments.delta_neighbourhood._data import (
    PLANES,
    curve,
    found,
    least,
    least_from_zero,
    level,
    read,
    squared,
    tile_matrix,
    tiles,
)

_SIDES: Final = (128, 256)
_QUERIES: Final = 2_000
_EPSILONS: Final = ("0.1", "1")
_DELTAS: Final = (1, 2, 4, 8, 16, 64, 362)
# Wider tiles than this lose to single cells.
_WIDEST: Final = 4
_WEIGHTS: Final = (1, 2)


def ours(*, side: int, delta: int, metric: str, repeats: int, seed: int) -> list[lab.Row]:
    """Each strategy's error under the policy, in variances of one noise; about no data.

    Exact by eq. (5) where there is a closed form; tiles by drawing noise alone, for least squares
    err by the noise whatever the data are.
    """
    ranges, noise = sampled_ranges((side, side), _QUERIES, seed=1), NotPrivateSeededNoise(seed)
    by_sides = metric == "sides"
    policy = neighbourhood(radius=delta, metric="grid" if by_sides else metric)
    moves = moves_of(policy, Grid((side, side), box=not by_sides))
    row: lab.Row = {"part": "ours", "side": side, "delta": delta, "metric": metric}
    rows: list[lab.Row] = []
    for name, strategy in plain_strategies(side):
        shifts = strategy_shifts(strategy, moves)
        factor = float(error_factors(strategy, probe(strategy, ranges)).mean())
        rows += _rows(row | {"strategy": name}, shifts, factor)
    for weight in _WEIGHTS if delta <= _WIDEST else ():
        strategy = tiles(side, delta, weight)
        shifts = strategy_shifts(strategy, moves)
        factor = drawn(side, (delta, weight), ranges, repeats, noise)
        rows += _rows(row | {"strategy": f"tiles, cells x {weight}"}, shifts, factor)
    return rows


def _rows(row: lab.Row, shifts: Mapping[Edge, tuple[Shift, ...]], factor: float) -> list[lab.Row]:
    """At every ε: the factor times the variance of one noise."""
    size = sensitivity(shifts)
    found: list[lab.Row] = []
    for epsilon in _EPSILONS:
        law = TwoSidedGeometric(*rates_over(shifts, Fraction(epsilon)))
        error = factor * law.variance()
        found.append({**row, "sensitivity": size, "epsilon": epsilon, "error": error})
    return found


def plain_strategies(side: int) -> list[tuple[str, Operator]]:
    """Those with a closed form."""
    return [
        ("identity", kron(Identity(side), Identity(side))),
        ("quadtree 4", Quadtree((side, side), 4)),
        ("quadtree 8", Quadtree((side, side), 8)),
    ]


def probe(strategy: Operator, ranges: Ranges) -> Ranges:
    """All queries where a formula has them, else every tenth."""
    return ranges if isinstance(strategy, Kron) else ranges.part(np.arange(0, _QUERIES, 10))


def drawn(
    side: int, laid: tuple[int, int], ranges: Ranges, repeats: int, noise: NotPrivateSeededNoise
) -> float:
    """The mean squared error of noise of variance 1, through least squares."""
    law = TwoSidedGeometric(1, 1)
    matrix, nothing = tile_matrix(side, *laid), np.zeros(side * side, dtype=np.int64)
    rows = matrix.shape[0]
    errors = [
        float(squared(ranges, least(matrix, noise.two_sided(1, 1, rows)), nothing).mean())
        for _ in range(repeats)
    ]
    return float(np.mean(errors)) / law.variance()


def standard(*, path: str, side: int, epsilon: str, repeats: int, seed: int) -> list[lab.Row]:
    """Four methods under standard neighbours, and ours with cells of at least 0 at δ = 1."""
    truth, noise = read(path, side=side), NotPrivateSeededNoise(seed)
    ranges = sampled_ranges((side, side), _QUERIES, seed=1)
    rows: list[lab.Row] = []
    every = methods(epsilon, int(truth.sum())) | _at_least_zero(side, epsilon)
    for name, release in every.items():
        few = min(repeats, 256 // side) if "ours" in name else repeats
        errors = [float(squared(ranges, release(truth, noise), truth).mean()) for _ in range(few)]
        rows.append(
            {
                "part": "data",
                "data": Path(path).stem,
                "side": side,
                "epsilon": epsilon,
                "method": name,
                "repeats": few,
                "error": float(np.mean(errors)),
            }
        )
    return rows


def methods(epsilon: str, records: int) -> dict[str, Callable[[Any, NotPrivateSeededNoise], Any]]:
    anyone = bounded()
    plain = Counts.for_policy(anyone, epsilon=epsilon)
    tree = Hierarchical.for_policy(anyone, epsilon=epsilon, branching=4)
    dawa = Dawa.for_policy(anyone, epsilon=epsilon, workload="ranges")
    grid = AGrid.for_policy(anyone, epsilon=epsilon, records=records)
    return {
        "identity": lambda truth, noise: plain.release(truth.ravel(), noise=noise),
        "hierarchy": lambda truth, noise: tree.release(truth, noise=noise),
        "DAWA": lambda truth, noise: dawa.release(truth, noise=noise),
        "AGrid": lambda truth, noise: grid.release(truth, noise=noise),
    }


def _at_least_zero(
    side: int, epsilon: str
) -> dict[str, Callable[[Any, NotPrivateSeededNoise], Any]]:
    """Tiles at δ = one cell, of boxes and of points, fitted by cells of at least 0."""
    found: dict[str, Callable[[Any, NotPrivateSeededNoise], Any]] = {}
    for name, metric in (("ours", "euclidean"), ("ours, sides", "grid")):
        moves = moves_of(
            neighbourhood(radius=1, metric=metric), Grid((side, side), box=metric == "euclidean")
        )
        shifts = strategy_shifts(tiles(side, 1, 1), moves)
        sums = Counts(*rates_over(shifts, Fraction(epsilon)))
        matrix = tile_matrix(side, 1, 1)

        def release(
            truth: Any, noise: NotPrivateSeededNoise, sums: Counts = sums, matrix: Any = matrix
        ) -> Any:
            exact = np.rint(matrix @ truth.ravel()).astype(np.int64)
            noisy = sums.noisy(exact, noise=noise) - sums.distribution.mean()
            return least_from_zero(matrix, noisy)

        found[f"{name}, at least 0"] = release
    return found


def jobs(setup: lab.Setup) -> list[lab.Job]:
    """Our error needs no data; the others' does."""
    paths = found(setup.data, PLANES, axes=2)
    if not paths:
        return []
    sides = (32,) if setup.quick else _SIDES
    deltas = (1, 8, 45) if setup.quick else _DELTAS
    kept, repeats = (paths[:2], 2) if setup.quick else (paths, 5)
    made = [
        lab.Job(ours, {"side": s, "delta": d, "metric": metric, "repeats": 512 // s, "seed": s + d})
        for s in sides
        for d in deltas
        for metric in ("euclidean", "sides")
        if metric == "euclidean" or d == 1
    ]
    every = [(path, s, e) for path in kept for s in sides for e in _EPSILONS]
    return made + [
        lab.Job(
            standard, {"path": str(path), "side": s, "epsilon": e, "repeats": repeats, "seed": k}
        )
        for k, (path, s, e) in enumerate(every, start=1000 * setup.seed)
    ]


_STANDARD = ("identity", "hierarchy", "DAWA", "AGrid")
_GOAL = 5


def result(rows: list[lab.Row], _setup: lab.Setup) -> lab.Result:
    """Figures and verdicts."""
    cases = sorted(
        {(row["side"], row["epsilon"]) for row in rows}, key=lambda c: (c[0], float(c[1]))
    )
    panels = [_panel(rows, side, epsilon) for side, epsilon in cases]
    figure = lab.Figure("Random rectangles, by δ", panels)
    data = lab.Figure(
        "Error at δ = one cell and under standard neighbours, by data set",
        [_bars(rows, side, epsilon) for side, epsilon in cases],
    )
    return lab.Result(
        rows,
        {"plane_by_delta": figure, "plane_by_data": data},
        lambda: [claim for s, e in cases for claim in _claims(rows, s, e)],
        _NOTES,
    )


def _best(rows: list[lab.Row], side: int, epsilon: str, metric: str) -> list[lab.Row]:
    """Our least error at each δ."""
    mine = lab.where(rows, part="ours", side=side, epsilon=epsilon, metric=metric)
    return [
        min(lab.where(mine, delta=delta), key=lambda row: row["error"])
        for delta in sorted({row["delta"] for row in mine})
    ]


def _errors(rows: list[lab.Row], side: int, epsilon: str, method: str) -> dict[str, float]:
    mine = lab.where(rows, part="data", side=side, epsilon=epsilon, method=method)
    return {row["data"]: row["error"] for row in mine}


def _panel(rows: list[lab.Row], side: int, epsilon: str) -> lab.Panel:
    mine = _best(rows, side, epsilon, "euclidean")
    deltas = [row["delta"] for row in mine]
    curves = [curve(mine, "ours", "delta", "error")]
    curves.append(curve(_best(rows, side, epsilon, "sides"), "ours, sides", "delta", "error"))
    for method in _STANDARD:
        errors = _errors(rows, side, epsilon, method)
        curves.append(level(method, deltas, geometric_mean(errors.values())))
    return lab.Panel(
        title=f"{side} x {side} cells, ε = {epsilon}",
        x_label="δ (cells)",
        y_label="mean squared error",
        curves=curves,
        log_x=True,
        log_y=True,
    )


def _bars(rows: list[lab.Row], side: int, epsilon: str) -> lab.Panel:
    names = sorted(_errors(rows, side, epsilon, "AGrid"))
    curves = []
    for look, metric in (("ours", "euclidean"), ("ours, sides", "sides")):
        error = _best(rows, side, epsilon, metric)[0]["error"]
        curves.append(level(look, range(len(names)), error))
    for method in (*_STANDARD, "ours, at least 0", "ours, sides, at least 0"):
        errors = _errors(rows, side, epsilon, method)
        points = [{"place": place, "error": errors[name]} for place, name in enumerate(names)]
        line = curve(points, method, "place", "error")
        curves.append(replace(line, kind="dots"))
    return lab.Panel(
        title=f"{side} x {side} cells, ε = {epsilon}",
        x_label="data set",
        y_label="mean squared error",
        curves=curves,
        log_y=True,
        x_names=[name.removesuffix("_2d").replace("_cabs", "") for name in names],
    )


def _claims(rows: list[lab.Row], side: int, epsilon: str) -> list[lab.Claim]:
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
        verdict: lab.Verdict = "holds" if reached == len(gains) else "holds in part"
        claims.append(
            lab.Claim(
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
        lab.Claim(
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


EXPERIMENT = lab.Experiment(
    "plane", "2-D rectangles, 128² and 256² cells (DPBench)", "dpbench2d", jobs, result
)
