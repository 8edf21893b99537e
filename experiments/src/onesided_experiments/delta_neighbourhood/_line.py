"""Ranges of a line of 4,096 cells: how much a small δ gains, and how the gain goes away."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from onesided.linear import (
    Grid,
    Hierarchy,
    Identity,
    Operator,
    Prefix,
    block_prefix,
    error_factors,
    moves_of,
    non_negative,
    sampled_ranges,
    sensitivity,
    strategy_shifts,
)
from onesided.mechanism import Counts
from onesided.mechanism.histograms import Dawa, Hierarchical
from onesided.mechanism.kit import rates_over
from onesided.noise import NotPrivateSeededNoise, TwoSidedGeometric
from onesided.policy import bounded, neighbourhood
from onesided_experiments._model import Experiment, Job, Result, Row, Setup
from onesided_experiments.delta_neighbourhood._data import LINES, found, of_lengths, read, squared
from onesided_experiments.delta_neighbourhood._line_result import result as _result

_CELLS: Final = 4_096
_QUERIES: Final = 2_000
_EPSILONS: Final = ("0.1", "1")
_DELTAS: Final = tuple(2**k for k in range(13))
_LENGTHS: Final = [4**k for k in range(7)]
_EACH: Final = 200


def ours(*, delta: int, epsilon: str) -> list[Row]:
    """The least predicted error among standard strategies; exact, and about no data."""
    ranges = sampled_ranges(_CELLS, _QUERIES, seed=1)
    probe = ranges.part(np.arange(0, _QUERIES, 8))
    moves = moves_of(neighbourhood(radius=delta), Grid(_CELLS, box=True))
    best: tuple[float, str, Operator, float, int] | None = None
    for name, strategy in _strategies(delta):
        shifts = strategy_shifts(strategy, moves)
        spread = TwoSidedGeometric(*rates_over(shifts, Fraction(epsilon))).variance()
        error = float(error_factors(strategy, probe).mean()) * spread
        if best is None or error < best[0]:
            best = (error, name, strategy, spread, sensitivity(shifts))
    if best is None:
        return []
    error, name, strategy, spread, size = best
    row: Row = {"part": "ours", "delta": delta, "epsilon": epsilon, "error": error}
    rows = [{**row, "strategy": name, "sensitivity": size}]
    if delta in (1, 16, 256):
        by = of_lengths(_CELLS, _LENGTHS, _EACH, seed=2)
        factors = error_factors(strategy, by).reshape(len(_LENGTHS), _EACH).mean(axis=1)
        rows += [
            {"part": "ours by length", "delta": delta, "epsilon": epsilon, "length": n,
             "error": float(factor) * spread}
            for n, factor in zip(_LENGTHS, factors, strict=True)
        ]  # fmt: skip
    return rows


def _strategies(delta: int) -> list[tuple[str, Operator]]:
    widths = sorted({max(2, delta * times // 4) for times in (1, 2, 4, 8)})
    return [
        ("prefix", Prefix(_CELLS)),
        ("identity", Identity(_CELLS)),
        ("hierarchy 16", Hierarchy(_CELLS, 16)),
        *((f"block prefix {w}", block_prefix(_CELLS, w)) for w in widths if 4 <= w <= 1024),
    ]


def standard(*, path: str, epsilon: str, repeats: int, seed: int) -> list[Row]:
    """Three methods under standard neighbours, and prefix sums at δ = one cell, on real data."""
    truth, noise = read(path), NotPrivateSeededNoise(seed)
    ranges = sampled_ranges(_CELLS, _QUERIES, seed=1)
    by = of_lengths(_CELLS, _LENGTHS, _EACH, seed=2)
    rows: list[Row] = []
    for name, release in _methods(epsilon).items():
        many = [release(truth, noise) for _ in range(repeats)]
        errors = [float(squared(ranges, one, truth).mean()) for one in many]
        row: Row = {"part": "data", "data": Path(path).stem, "epsilon": epsilon, "method": name}
        rows.append({**row, "repeats": repeats, "error": float(np.mean(errors))})
        lengths = np.mean([squared(by, one, truth) for one in many], axis=0)
        rows += [
            {**row, "part": "data by length", "length": n, "error": float(error)}
            for n, error in zip(
                _LENGTHS, lengths.reshape(len(_LENGTHS), _EACH).mean(axis=1), strict=True
            )
        ]
    return rows


def _methods(epsilon: str) -> dict[str, Callable[[Any, NotPrivateSeededNoise], Any]]:
    anyone, prefix = bounded(), Prefix(_CELLS)
    plain = Counts.for_policy(anyone, epsilon=epsilon)
    tree = Hierarchical.for_policy(anyone, epsilon=epsilon)
    dawa = Dawa.for_policy(anyone, epsilon=epsilon, workload="ranges")
    moves = moves_of(neighbourhood(radius=1), Grid(_CELLS, box=True))
    upper, lower = rates_over(strategy_shifts(prefix, moves), Fraction(epsilon))
    sums = Counts(upper, lower)

    def noisy(truth: Any, noise: NotPrivateSeededNoise) -> Any:
        return sums.noisy(prefix.apply(truth), noise=noise) - sums.distribution.mean()

    return {
        "identity": lambda truth, noise: plain.release(truth, noise=noise),
        "hierarchy": lambda truth, noise: tree.release(truth, noise=noise),
        "DAWA": lambda truth, noise: dawa.release(truth, noise=noise),
        "ours": lambda truth, noise: prefix.solve(noisy(truth, noise)),
        "isotonic": lambda truth, noise: non_negative(prefix, noisy(truth, noise)),
    }


def jobs(setup: Setup) -> list[Job]:
    """Our error needs no data; the others' does."""
    paths = found(setup.data, LINES, axes=1)
    if not paths:
        return []
    epsilons = _EPSILONS[:1] if setup.quick else _EPSILONS
    deltas = (1, 64, 4096) if setup.quick else _DELTAS
    kept, repeats = (paths[:2], 2) if setup.quick else (paths, 10)
    made = [Job(ours, {"delta": d, "epsilon": e}) for e in epsilons for d in deltas]
    return made + [
        Job(standard, {"path": str(path), "epsilon": e, "repeats": repeats, "seed": place})
        for place, (path, e) in enumerate(
            ((path, e) for path in kept for e in epsilons), start=1000 * setup.seed
        )
    ]


def result(rows: list[Row], setup: Setup) -> Result:
    """By δ and by length."""
    return _result(rows, quick=setup.quick)


EXPERIMENT = Experiment(
    name="line",
    title="1-D ranges, 4,096 cells (DPBench)",
    needs="dpbench1d",
    jobs=jobs,
    result=result,
)
