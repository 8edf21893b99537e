"""Rectangles of a plane of 128 or 256 cells squared."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from onesided.linear import (
    Grid,
    Identity,
    Operator,
    Quadtree,
    error_factors,
    kron,
    moves_of,
    sampled_ranges,
    sensitivity,
    strategy_shifts,
)
from onesided.mechanism import Counts
from onesided.mechanism._rates import rates_over
from onesided.mechanism.histograms import AGrid, Dawa, Hierarchical
from onesided.noise import NotPrivateSeededNoise, TwoSidedGeometric
from onesided.papers._model import Experiment, Job, Result, Row, Setup
from onesided.papers.delta_neighbourhood._data import PLANES, found, read, squared
from onesided.papers.delta_neighbourhood._plane_result import result as _result
from onesided.papers.delta_neighbourhood._tiles import tile_solver, tiles
from onesided.policy import bounded, neighbourhood

_SIDES: Final = (128, 256)
_QUERIES: Final = 2_000
_EPSILONS: Final = ("0.1", "1")
_DELTAS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 362)


def ours(*, side: int, delta: int, metric: str, repeats: int, seed: int) -> list[Row]:
    """Each strategy's error under the policy, in variances of one noise; about no data.

    Exact by eq. (5) where there is a closed form; tiles by drawing noise alone, for least squares
    err by the noise whatever the data are.
    """
    ranges, noise = sampled_ranges((side, side), _QUERIES, seed=1), NotPrivateSeededNoise(seed)
    by_sides = metric == "sides"
    policy = neighbourhood(radius=delta, metric="grid" if by_sides else metric)
    moves = moves_of(policy, Grid((side, side), box=not by_sides))
    rows: list[Row] = []
    for name, strategy, width in _strategies(side, delta):
        shifts = strategy_shifts(strategy, moves)
        factor = (
            _drawn(side, width, ranges, repeats, noise)
            if width
            else float(error_factors(strategy, ranges.part(np.arange(0, _QUERIES, 16))).mean())
        )
        rows += [
            {
                "part": "ours",
                "side": side,
                "delta": delta,
                "metric": metric,
                "strategy": name,
                "sensitivity": sensitivity(shifts),
                "epsilon": epsilon,
                "error": factor * TwoSidedGeometric(*_rates(shifts, epsilon)).variance(),
            }
            for epsilon in _EPSILONS
        ]
    return rows


def _rates(shifts: Any, epsilon: str) -> Any:
    return rates_over(shifts, Fraction(epsilon))


def _strategies(side: int, delta: int) -> list[tuple[str, Operator, int]]:
    """Name, strategy, and the width of its tiles (0 for a closed form)."""
    closed: list[tuple[str, Operator, int]] = [
        ("identity", kron(Identity(side), Identity(side)), 0),
        ("quadtree 4", Quadtree((side, side), 4), 0),
        ("quadtree 8", Quadtree((side, side), 8), 0),
    ]
    widths = [w for w in (delta, 2 * delta) if w <= side // 4]
    return closed + [(f"tiles {w}", tiles(side, w), w) for w in widths]


def _drawn(side: int, width: int, ranges: Any, repeats: int, noise: NotPrivateSeededNoise) -> float:
    """The mean squared error of noise of variance 1, through least squares."""
    law = TwoSidedGeometric(1, 1)
    rows = tiles(side, width).shape[0]
    solve, nothing = tile_solver(side, width), np.zeros(side * side, dtype=np.int64)
    errors = [
        float(squared(ranges, solve(noise.two_sided(1, 1, rows)), nothing).mean())
        for _ in range(repeats)
    ]
    return float(np.mean(errors)) / law.variance()


def standard(*, path: str, side: int, epsilon: str, repeats: int, seed: int) -> list[Row]:
    """Four methods under standard neighbours."""
    truth, noise = read(path, side=side), NotPrivateSeededNoise(seed)
    ranges = sampled_ranges((side, side), _QUERIES, seed=1)
    rows: list[Row] = []
    for name, release in _methods(epsilon, int(truth.sum())).items():
        errors = [
            float(squared(ranges, release(truth, noise), truth).mean()) for _ in range(repeats)
        ]
        rows.append(
            {
                "part": "data",
                "data": Path(path).stem,
                "side": side,
                "epsilon": epsilon,
                "method": name,
                "repeats": repeats,
                "error": float(np.mean(errors)),
            }
        )
    return rows


def _methods(epsilon: str, records: int) -> dict[str, Callable[[Any, NotPrivateSeededNoise], Any]]:
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


def jobs(setup: Setup) -> list[Job]:
    """Our error needs no data; the others' does."""
    paths = found(setup.data, PLANES, axes=2)
    if not paths:
        return []
    sides = (32,) if setup.quick else _SIDES
    deltas = (1, 8, 45) if setup.quick else _DELTAS
    kept, repeats = (paths[:2], 2) if setup.quick else (paths, 5)
    made = [
        Job(ours, {"side": s, "delta": d, "metric": metric, "repeats": repeats, "seed": s + d})
        for s in sides
        for d in deltas
        for metric in ("euclidean", "sides")
        if metric == "euclidean" or d == 1
    ]
    every = [(path, s, e) for path in kept for s in sides for e in _EPSILONS]
    return made + [
        Job(standard, {"path": str(path), "side": s, "epsilon": e, "repeats": repeats, "seed": k})
        for k, (path, s, e) in enumerate(every, start=1000 * setup.seed)
    ]


def result(rows: list[Row], setup: Setup) -> Result:
    """By δ, and by data set."""
    return _result(rows, quick=setup.quick)


EXPERIMENT = Experiment(
    name="plane",
    title="2-D rectangles, 128² and 256² cells (DPBench)",
    needs="dpbench2d",
    jobs=jobs,
    result=result,
)
