"""Rectangles of maps where a step to the next cell is hidden, against standard methods.

Usage: python benchmarks/plane.py MAPS [SIDE [REPEATS [EPSILON]]]

MAPS is a folder of square histograms (.npy, whole numbers). Prints per map, ε and layout the mean
squared error of 2,000 random rectangles, with its standard error, and how many times it is below
the best standard method's. "touch": cells that touch are joined; "sides": those that share a side,
which is easier and measured by 12 repeats. Ours have cells of at least 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from onesided.linear import (
    Grid,
    Quadtree,
    Ranges,
    likeliest,
    moves_of,
    sampled_ranges,
    staggered,
    strategy_shifts,
)
from onesided.mechanism import Counts, Linear
from onesided.mechanism.histograms import AGrid, Dawa, Hierarchical
from onesided.mechanism.kit import rates_over
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import bounded, neighbourhood

QUERIES: Final = 2_000
FEWER: Final = 12
FEW: Final = 6
Release = Callable[[Any, NotPrivateSeededNoise], Any]


def main(folder: str, side: int, repeats: int, *epsilons: str) -> None:
    ranges = sampled_ranges((side, side), QUERIES, seed=1)
    for epsilon in epsilons or ("1", "0.1"):
        ours = {name: _near(name, side, epsilon, ranges) for name in ("touch", "sides")}
        for path in sorted(Path(folder).glob("*.npy")):
            counts = np.load(path, allow_pickle=False).astype(np.int64)
            block = counts.shape[0] // side
            truth = counts.reshape(side, block, side, block).sum(axis=(1, 3))
            told = f"{path.stem}, {side}, ε = {epsilon}"
            standard = _standard(epsilon, side, int(truth.sum()))
            errors = {
                name: _errors(make, truth, ranges, repeats) for name, make in standard.items()
            }
            best = min(errors, key=lambda name: float(errors[name].mean()))
            every = ", ".join(f"{name} {_words(found)}" for name, found in errors.items())
            print(f"{told}: {every}", flush=True)
            for name, make in ours.items():
                found = _errors(make, truth, ranges, repeats if name == "touch" else FEWER)
                gain = float(errors[best].mean() / found.mean())
                print(f"{told}, {name}: {_words(found)}, {gain:.1f} times below {best}", flush=True)
            same = _errors(_fitted_tree(epsilon, side), truth, ranges, FEW)
            print(f"{told}: quadtree 4 with the same fit {_words(same)}", flush=True)


def _errors(release: Release, truth: Any, ranges: Ranges, repeats: int) -> Any:
    """The mean squared error of each repeat."""
    exact = ranges.apply(truth.ravel())
    found = []
    for seed in range(repeats):
        cells = np.asarray(release(truth, NotPrivateSeededNoise(seed + 1)), dtype=float).ravel()
        found.append(float(np.mean((ranges.apply(cells) - exact) ** 2)))
    return np.array(found)


def _words(errors: Any) -> str:
    return f"{errors.mean():,.0f} ± {errors.std(ddof=1) / len(errors) ** 0.5:,.0f}"


def _near(name: str, side: int, epsilon: str, ranges: Ranges) -> Release:
    touch = name == "touch"
    policy = neighbourhood(radius=1, metric="euclidean" if touch else "grid")
    grid = Grid((side, side), box=touch)
    strategy = staggered((side, side))
    upper, lower = rates_over(strategy_shifts(strategy, moves_of(policy, grid)), Fraction(epsilon))
    law = Counts(upper, lower)
    scale = float(law.distribution.variance() / 2) ** 0.5
    whole = Linear(strategy, ranges.part(np.arange(1)), upper, lower, non_negative=True)

    def release(truth: Any, noise: NotPrivateSeededNoise) -> Any:
        noisy = whole.noisy(truth.ravel(), noise=noise) - law.distribution.mean()
        return likeliest(strategy, noisy, scale=scale)

    return release


def _standard(epsilon: str, side: int, records: int) -> dict[str, Release]:
    """Under bounded neighbours, where a record may be in any other cell."""
    anyone = bounded()
    plain = Counts.for_policy(anyone, epsilon=epsilon)
    tree = Hierarchical.for_policy(anyone, epsilon=epsilon, branching=4)
    dawa = Dawa.for_policy(anyone, epsilon=epsilon, workload="ranges")
    agrid = AGrid.for_policy(anyone, epsilon=epsilon, records=records)
    found: dict[str, Release] = {
        "identity": lambda truth, noise: plain.release(truth.ravel(), noise=noise),
        "hierarchy": lambda truth, noise: tree.release(truth, noise=noise),
        "DAWA": lambda truth, noise: dawa.release(truth, noise=noise),
        "AGrid": lambda truth, noise: agrid.release(truth, noise=noise),
    }
    for branching in (2, 4, 8):
        squares, counts = _quadtree(epsilon, side, branching)
        found[f"quadtree {branching}"] = lambda truth, noise, s=squares, c=counts: s.solve(  # type: ignore[misc]
            c.noisy(s.apply(truth.ravel()), noise=noise) - c.distribution.mean()
        )
    return found


def _quadtree(epsilon: str, side: int, branching: int) -> tuple[Quadtree, Counts]:
    squares = Quadtree((side, side), branching)
    moves = moves_of(bounded(), Grid((side, side)), partition=True)
    return squares, Counts(*rates_over(strategy_shifts(squares, moves), Fraction(epsilon)))


def _fitted_tree(epsilon: str, side: int) -> Release:
    """A standard strategy with our fit: what is left is what the policy gives."""
    squares, counts = _quadtree(epsilon, side, 4)
    scale = float(counts.distribution.variance() / 2) ** 0.5
    return lambda truth, noise: likeliest(
        squares,
        counts.noisy(squares.apply(truth.ravel()), noise=noise) - counts.distribution.mean(),
        scale=scale,
    )


if __name__ == "__main__":
    folder, side, repeats, *epsilons = [*sys.argv[1:], *("128", "60")[len(sys.argv) - 2 :]]
    main(folder, int(side), int(repeats), *epsilons)
