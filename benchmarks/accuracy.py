"""Errors beside those of rivals, on made-up data: what a session's answers lose, and to whom.

python benchmarks/accuracy.py [totals] [fits] [top-k] [histograms]; all of them without a name.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

import onesided as od
from onesided.linear import Identity, sampled_ranges
from onesided.mechanism import Linear, NoisyTopK, PeeledTopK
from onesided.mechanism import TopK as Largest
from onesided.noise import NotPrivateSeededNoise

ROUNDS = 30


def totals() -> None:
    """The mean deviation of all ranges of 128 cells where the number of all is public."""
    print("\nranges of 128 cells, 500 people, ε = 1/10: mean deviation with and without the total")
    frame = pl.DataFrame({"x": np.repeat(np.arange(128), 4)[:500]})
    session = od.Session(frame, policy=od.policy.bounded(), budget=10**4, ledger=None)
    for strategy in ("identity", "prefix", "hierarchy 16"):
        for asked in ("all", "prefixes"):
            told = session.ranges(
                "x", asked, bins=128, bounds=(0, 128), epsilon="1/10", strategy=strategy
            )
            free = np.sqrt(np.mean(replace(told.mechanism, public=None).variance))
            held, last = np.sqrt(np.mean(told.variance)), told.frame.row(-1, named=True)
            print(f"{strategy:<14}{asked:<10}{free:8.0f} -> {held:6.0f}   all: {last['estimate']}")


def fits() -> None:
    """Seconds of a projection, whether it ended, and its squared error over the unbiased one's."""
    print("\nrectangles fitted to counts of at least 0: s, nearest, squared error over unbiased")
    for side, queries in ((40, 1_200), (64, 100), (256, 100), (256, 1_000)):
        rng = np.random.default_rng(1)
        cells = np.zeros((side, side), dtype=np.int64)
        for row, column in rng.integers(0, side, (20, 2)):
            cells[row : row + 6, column : column + 6] += rng.integers(0, 300)
        asked = sampled_ranges((side, side), queries)
        truth = asked.apply(cells.ravel())
        for public in (None, np.zeros(side * side, dtype=np.int64)):
            fitted = Linear(
                Identity(side * side), asked, "1/20", "1/20", non_negative=True, public=public
            )
            noisy = fitted.noisy(cells.ravel(), noise=NotPrivateSeededNoise(2))
            kept = fitted.totals(cells.ravel())
            start = time.perf_counter()
            found = fitted.estimate(noisy, kept)
            spent = time.perf_counter() - start
            before = replace(fitted, non_negative=False).estimate(noisy, kept).estimate
            ratio = np.sum((found.estimate - truth) ** 2) / np.sum((before - truth) ** 2)
            what = "with the total" if public is not None else "without"
            print(
                f"{side:>4} x {side:<4}{queries:>6} {what:<15}{spent:7.2f} s  {found.fitted}  "
                f"{ratio:.3f}"
            )


def top_k() -> None:
    """Bias and mean absolute error of the k values told, for counts that fall with their rank."""
    print("\ntop 10 at ε = 1/100: bias, mean absolute error")
    noise = NotPrivateSeededNoise(3)
    for keys, most in ((1_657, 333), (500, 6_000), (5_000, 150_000)):
        counts = (most / np.arange(1, keys + 1)).astype(np.int64)
        one, two = (
            Largest(10, upper_rate="1/1000"),
            NoisyTopK(10, upper_rate="1/1000", lower_rate="1/1000"),
        )
        peeled = PeeledTopK(10, pick_rate="1/4000", upper_rate="1/4000", lower_rate="1/4000")
        for name, mechanism in (("noise above", one), ("noise on both", two), ("peeled", peeled)):
            gaps: dict[str, list[Any]] = {}
            for _ in range(ROUNDS):
                indices, values = mechanism.release(counts, noise=noise)
                if isinstance(mechanism, PeeledTopK):
                    told = {"measured afterwards": np.maximum(values, 0)}
                else:
                    told = {
                        "less the mean": mechanism.estimate(values),
                        "shrunk": mechanism.shrunk(values, candidates=keys),
                    }
                for way, found in told.items():
                    gaps.setdefault(way, []).append(found - counts[indices])
            for way, gap in gaps.items():
                print(
                    f"{keys:>6} keys, largest {most:>7}  {name:<14}{way:<20}{np.mean(gap):9.0f}"
                    f"{np.mean(np.abs(gap)):9.0f}"
                )


def histograms() -> None:
    """Under OSDP, the error of each method over that of the best that ignores the policy."""
    print("\n1,024 bins under OSDP: L1 error over that of the best of DAWA, AHP and counts")
    places = np.arange(1_024)
    shapes = {
        "smooth": 200 * np.exp(-(((places - 400) / 150) ** 2)),
        "steps": np.repeat([5, 80, 0, 40, 1, 120, 0, 20], 128),
        "spikes": np.where(places % 37 == 0, 900, 0),
    }
    for name, shape in shapes.items():
        for share in (0.9, 0.5, 0.1):
            rng = np.random.default_rng(1)
            counts = rng.poisson(shape)
            opened = rng.binomial(counts, share)
            rows = np.concatenate([np.repeat(places, opened), np.repeat(places, counts - opened)])
            frame = pl.DataFrame({"v": rows, "open": np.arange(rows.size) < opened.sum()})
            session = od.Session(
                frame, policy=od.policy.sensitive("not open"), budget=10**6, ledger=None
            )
            for epsilon in ("1/100", "1/10", "1"):
                errors = {
                    method: np.mean(
                        [
                            np.abs(
                                session.histogram(
                                    "v",
                                    bins=1_024,
                                    bounds=(0, 1_024),
                                    epsilon=epsilon,
                                    method=method,
                                ).non_negative
                                - counts
                            ).sum()
                            for _ in range(3)
                        ]
                    )
                    for method in ("counts", "best", "dawa", "ahp", "split", "open_shape")
                }
                best = min(errors[method] for method in ("counts", "dawa", "ahp"))
                told = ", ".join(f"{method} {e / best:.2f}" for method, e in errors.items())
                print(f"{name:<8}open {share}  ε {epsilon:<6}{told}")


PARTS = {"totals": totals, "fits": fits, "top-k": top_k, "histograms": histograms}


def main() -> None:
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
