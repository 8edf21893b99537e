"""Ranges of a line of 4,096 cells: how much a small δ gains, and how the gain goes away."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import geometric_mean, median
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
from onesided_experiments import _model as lab
from onesided_experiments.delta_neighbourhood._data import (
    LINES,
    curve,
    found,
    level,
    of_lengths,
    read,
    squared,
)

_CELLS: Final = 4_096
_QUERIES: Final = 2_000
_EPSILONS: Final = ("0.1", "1")
_DELTAS: Final = tuple(2**k for k in range(13))
_LENGTHS: Final = [4**k for k in range(7)]
_EACH: Final = 200


def ours(*, delta: int, epsilon: str) -> list[lab.Row]:
    """The least predicted error among standard strategies; exact, and about no data."""
    ranges = sampled_ranges(_CELLS, _QUERIES, seed=1)
    probe = ranges.part(np.arange(0, _QUERIES, 8))
    moves = moves_of(neighbourhood(radius=delta), Grid(_CELLS, box=True))
    best: tuple[float, str, Operator, float, int] | None = None
    widths = sorted({max(2, delta * times // 4) for times in (1, 2, 4, 8)})
    tried: list[tuple[str, Operator]] = [
        ("prefix", Prefix(_CELLS)),
        ("identity", Identity(_CELLS)),
        ("hierarchy 16", Hierarchy(_CELLS, 16)),
        *((f"block prefix {w}", block_prefix(_CELLS, w)) for w in widths if 4 <= w <= 1024),
    ]
    for name, strategy in tried:
        shifts = strategy_shifts(strategy, moves)
        spread = TwoSidedGeometric(*rates_over(shifts, Fraction(epsilon))).variance()
        error = float(error_factors(strategy, probe).mean()) * spread
        if best is None or error < best[0]:
            best = (error, name, strategy, spread, sensitivity(shifts))
    if best is None:
        return []
    error, name, strategy, spread, size = best
    row: lab.Row = {"part": "ours", "delta": delta, "epsilon": epsilon, "error": error}
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


def standard(*, path: str, epsilon: str, repeats: int, seed: int) -> list[lab.Row]:
    """Three methods under standard neighbours, and prefix sums at δ = one cell, on real data."""
    truth, noise = read(path), NotPrivateSeededNoise(seed)
    ranges = sampled_ranges(_CELLS, _QUERIES, seed=1)
    by = of_lengths(_CELLS, _LENGTHS, _EACH, seed=2)
    rows: list[lab.Row] = []
    for name, release in _methods(epsilon).items():
        many = [release(truth, noise) for _ in range(repeats)]
        errors = [float(squared(ranges, one, truth).mean()) for one in many]
        row: lab.Row = {"part": "data", "data": Path(path).stem, "epsilon": epsilon, "method": name}
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


def jobs(setup: lab.Setup) -> list[lab.Job]:
    """Our error needs no data; the others' does."""
    paths = found(setup.data, LINES, axes=1)
    if not paths:
        return []
    epsilons = _EPSILONS[:1] if setup.quick else _EPSILONS
    deltas = (1, 64, 4096) if setup.quick else _DELTAS
    kept, repeats = (paths[:2], 2) if setup.quick else (paths, 10)
    made = [lab.Job(ours, {"delta": d, "epsilon": e}) for e in epsilons for d in deltas]
    return made + [
        lab.Job(standard, {"path": str(path), "epsilon": e, "repeats": repeats, "seed": place})
        for place, (path, e) in enumerate(
            ((path, e) for path in kept for e in epsilons), start=1000 * setup.seed
        )
    ]


_STANDARD = ("identity", "hierarchy", "DAWA")
_GOAL = 100


def result(rows: list[lab.Row], _setup: lab.Setup) -> lab.Result:
    """Figures and verdicts."""
    epsilons = sorted({row["epsilon"] for row in rows}, key=float)
    panels = []
    for epsilon in epsilons:
        mine = lab.where(rows, part="ours", epsilon=epsilon)
        deltas = sorted(row["delta"] for row in mine)
        curves = [curve(mine, "ours", "delta", "error")]
        for method in _STANDARD:
            errors = _errors(rows, epsilon, method)
            curves.append(level(method, deltas, geometric_mean(errors.values())))
        panels.append(
            lab.Panel(
                title=f"ε = {epsilon}",
                x_label="δ (cells)",
                y_label="mean squared error of a random range",
                curves=curves,
                log_x=True,
                log_y=True,
            )
        )
    figures = {
        "line_by_delta": lab.Figure("Random ranges of 4,096 cells, by δ", panels),
        "line_by_length": _by_length(rows),
    }
    return lab.Result(
        rows, figures, lambda: [claim for e in epsilons for claim in _claims(rows, e)], _NOTES
    )


def _by_length(rows: list[lab.Row]) -> lab.Figure:
    panels = []
    epsilon = min((row["epsilon"] for row in rows), key=float)
    names = sorted({row["data"] for row in rows if row["part"] == "data by length"})
    shown = [name for name in ("hepth", "searchlogs", "adult", "patent") if name in names]
    for name in shown:
        mine = lab.where(rows, part="data by length", data=name, epsilon=epsilon)
        curves = [
            curve(lab.where(mine, method=method), method, "length", "error")
            for method in (*_STANDARD, "isotonic")
        ]
        curves += [
            curve(known, f"delta {delta}", "length", "error")
            for delta in (1, 16, 256)
            if (known := lab.where(rows, part="ours by length", epsilon=epsilon, delta=delta))
        ]
        panels.append(
            lab.Panel(
                title=f"{name}, ε = {epsilon}",
                x_label="length of the range (cells)",
                y_label="mean squared error",
                curves=curves,
                log_x=True,
                log_y=True,
            )
        )
    return lab.Figure("Error by length of the range", panels)


def _errors(rows: list[lab.Row], epsilon: str, method: str) -> dict[str, float]:
    mine = lab.where(rows, part="data", epsilon=epsilon, method=method)
    return {row["data"]: row["error"] for row in mine}


def _claims(rows: list[lab.Row], epsilon: str) -> list[lab.Claim]:
    mine = {r["delta"]: r["error"] for r in lab.where(rows, part="ours", epsilon=epsilon)}
    by_method = {m: _errors(rows, epsilon, m) for m in _STANDARD}
    best = {name: min(by_method[m][name] for m in _STANDARD) for name in by_method["DAWA"]}
    plain = {name: min(by_method[m][name] for m in _STANDARD[:2]) for name in best}
    widest = mine[max(mine)]
    last = geometric_mean(best.values()) / widest
    unaided = geometric_mean(plain.values()) / widest
    gains = {name: error / mine[min(mine)] for name, error in best.items()}
    reached = sum(one >= _GOAL for one in gains.values())
    verdict: lab.Verdict = "holds" if reached == len(gains) else "holds in part"
    smoothed = _errors(rows, epsilon, "isotonic")
    helps = [smoothed[name] / error for name, error in _errors(rows, epsilon, "ours").items()]
    better = {name: error / smoothed[name] for name, error in best.items()}
    both = sum(one >= _GOAL for one in better.values())
    return [
        lab.Claim(
            judges="ours",
            text=f"ε = {epsilon}: at δ = one cell the mean squared error of random ranges is at "
            f"least {_GOAL} times below the best standard method's.",
            measured=f"{min(gains.values()):.0f} ({min(gains, key=gains.__getitem__)}) to "
            f"{max(gains.values()):.0f} ({max(gains, key=gains.__getitem__)}), geometric mean "
            f"{geometric_mean(gains.values()):.0f}; at least {_GOAL} on {reached} of {len(gains)} "
            "data sets",
            verdict=verdict if reached else "does not hold",
        ),
        lab.Claim(
            judges="ours",
            text=f"ε = {epsilon}: the gap closes to 1 as δ grows to the whole domain.",
            measured=f"best standard method over ours at δ = {max(mine):,} cells: {last:.2f} "
            f"(geometric mean), {unaided:.2f} without DAWA",
            verdict="holds" if last < 2 else "does not hold",
        ),
        lab.Claim(
            judges="ours",
            text=f"ε = {epsilon}: isotonic regression lowers the error further (section 5.5).",
            measured=f"{min(helps):.2f} to {max(helps):.2f} of the error of prefix sums, median "
            f"{median(helps):.2f}; then {min(better.values()):.0f} to {max(better.values()):,.0f} "
            f"times below the best standard method, at least {_GOAL} times on {both} of "
            f"{len(better)} data sets",
            verdict="holds" if max(helps) < 1 else "holds in part",
        ),
    ]


_NOTES = (
    "Values lie anywhere in a cell, so that within δ of c cells they are up to c cells apart. Our "
    "error does not depend on the data; it is exact, by eq. (5) with whole-number noise.",
    "Standard neighbours: one record may be any other (sensitivity 2). Lines of standard methods "
    "are geometric means over the data sets; DAWA's error depends on the data.",
    "At δ = the domain we measure sums with the same noise on every level; the hierarchy under "
    "standard neighbours shares its noise out among its levels, and DAWA merges cells.",
)


EXPERIMENT = lab.Experiment("line", "1-D ranges, 4,096 cells (DPBench)", "dpbench1d", jobs, result)
