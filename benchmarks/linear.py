"""Linear queries at size: sensitivities, releases and answers, in seconds and gigabytes.

    python benchmarks/linear.py [--side 1000] [--queries 1000]

Prints one row per strategy: seconds to work out its sensitivity, to release and answer, and the
predicted error per query; then the peak memory of the whole run. The goals are a workload over
10^6 cells in under 60 s and 4 GB, and sampled rectangles on a grid of 256 x 256 in under 30 s.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from onesided import linear, policy
from onesided.mechanism._linear import Linear


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=1_000)
    parser.add_argument("--queries", type=int, default=1_000)
    asked = parser.parse_args()
    side, cells = asked.side, asked.side**2
    near = policy.neighbourhood(radius=1)
    print(f"{'cells':>9} {'strategy':24} {'sensitivity s':>13} {'answers s':>10} {'error':>12}")
    line = linear.sampled_ranges(cells, asked.queries)
    for name, strategy in (
        ("prefix", linear.Prefix(cells)),
        ("hierarchy 16", linear.Hierarchy(cells, 16)),
    ):
        row(name, strategy, line, near, linear.Grid(cells))
    for width in (side, 256):
        grid = (width, width)
        rectangles = linear.sampled_ranges(grid, asked.queries)
        for name, strategy in (
            ("identity", linear.kron(linear.Identity(width), linear.Identity(width))),
            ("hierarchies 4", linear.kron(linear.Hierarchy(width, 4), linear.Hierarchy(width, 4))),
            ("row prefix", linear.row_prefix(grid)),
            ("quadtree 2", linear.Quadtree(grid)),
            ("summed area", linear.summed_area(grid)),
        ):
            row(name, strategy, rectangles, near, linear.Grid(grid))
    width = 256
    start = time.perf_counter()
    rectangles = linear.sampled_ranges((width, width), 10_000)
    made = Linear.for_policy(near, workload=rectangles, epsilon=1)
    made.release(counts(width * width))
    spent = time.perf_counter() - start
    print(
        f"{width * width:>9} 10,000 rectangles, the best strategy chosen among all: {spent:.1f} s"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {peak:.2f} GB")


def row(name, strategy, workload, near, grid):
    start = time.perf_counter()
    moves = linear.moves_of(near, grid)
    linear.strategy_shifts(strategy, moves)
    middle = time.perf_counter()
    made = Linear.for_policy(near, strategy=strategy, workload=workload, epsilon=1, cells=grid)
    answers = made.release(counts(grid.cells))
    done = time.perf_counter()
    error = "not worked out" if answers.variance is None else f"{answers.variance.mean():,.0f}"
    print(
        f"{grid.cells:>9} {name:24} {middle - start:13.2f} {done - middle:10.2f} {error:>12}",
        flush=True,
    )


def counts(cells):
    return np.random.default_rng(0).poisson(2, cells)


if __name__ == "__main__":
    main()
