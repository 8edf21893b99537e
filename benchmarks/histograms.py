"""Pooled counts, DAWA, AHP, DAWAz, trees: error beside outside figures, time, memory at two sizes.

    python benchmarks/histograms.py [--repeats 10] [--epsilon 1] [FILE.npy ...]

FILE: histograms of one dimension, such as dpbench1d/*.npy; a made-up one is always used. Errors are
means over the repeats of the L1 distance, and of the absolute error of 500 random ranges. DAWAz
gets nine records of ten as open ones. Times are medians; trust the ratios to plain noise, which
is timed in turn.

The outside figures (dpcomp_core, 2019, built by hand for Python 3.11; 4,096 bins, add or remove
one record, ε = 1) were measured once on this kind of machine and are printed, not run. Its
DAWA gives cells no noise in phase 1 and clips noisy costs at 0; exact checks show that this loses
more than ε, so its error is not one that a correct DAWA can be held to.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
import tracemalloc
from pathlib import Path
from typing import NamedTuple

import numpy as np

import onesided as od
from onesided.mechanism import Counts
from onesided.mechanism.histograms import Ahp, Dawa, Hierarchical, zeros
from onesided.mechanism.histograms.kit import pooled

BOUNDED, UNBOUNDED = od.policy.bounded(), od.policy.unbounded()
SENSITIVE = od.policy.sensitive("minor")
OUTSIDE = """
| outside, ε = 1, add or remove one | seconds | L1 made up | L1 Adult |
|---|---:|---:|---:|
| DAWA, share 1/4 for the partition | 0.08-0.18 | 465 | 574 |
| DAWA, share 1/2 | 0.09-0.15 | 644 | 531 |
| AHP | 1.2-1.4 | 295 | 358 |
| GreedyH | 6.1-6.6 | 4,058 | 4,058 |
| Laplace | 0.0001 | 4,067 | 4,067 |"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("files", nargs="*")
    asked = parser.parse_args()
    print(f"\n| ε = {asked.epsilon} | policy | algorithm | L1 | ranges | ms | x plain |")
    print("|---|---|---|---:|---:|---:|---:|")
    lines = {"made up, 98 % zeros": sparse()}
    lines |= {Path(file).stem: np.load(file).astype(np.int64) for file in asked.files}
    for name, counts in lines.items():
        for policy in (UNBOUNDED, BOUNDED):
            rows(name, counts, policy, asked.epsilon, asked.repeats)
        recipe_rows(name, counts, asked.epsilon, asked.repeats)
    print(OUTSIDE)
    sizes()


def sparse() -> np.ndarray:
    """4,096 bins, 17,665 records, 98 % zeros: what the outside figures were measured on."""
    random = np.random.default_rng(0)
    filled = round(4096 * (1 - 0.98))
    places = random.choice(4096, filled, replace=False)
    weights = 1.0 / np.arange(1, filled + 1)
    counts = np.zeros(4096, dtype=np.int64)
    counts[places] = 1 + random.multinomial(17_665 - filled, weights / weights.sum())
    return counts


def rows(name: str, counts: np.ndarray, policy: od.policy.Policy, epsilon: str, many: int) -> None:
    algorithms = {
        "plain": Counts.for_policy(policy, epsilon=epsilon),
        "best": Pooled(Counts.for_policy(policy, epsilon=epsilon, correction="median")),
        "Dawa": Dawa.for_policy(policy, epsilon=epsilon),
        "Ahp": Ahp.for_policy(policy, epsilon=epsilon),
        "Dawa, ranges": Dawa.for_policy(policy, epsilon=epsilon, workload="ranges"),
        "Hierarchical": Hierarchical.for_policy(policy, epsilon=epsilon),
    }
    plain = 0.0
    for label, algorithm in algorithms.items():
        far, ranges, seconds = measured(lambda a=algorithm: a.release(counts), counts, many)
        plain = plain or seconds
        print(
            f"| {name} | {policy.name} | {label} | {far:,.0f} | {ranges:,.1f} | "
            f"{1000 * seconds:.2f} | {seconds / plain:.1f} |"
        )


class Pooled(NamedTuple):
    """What ``session.histogram(method="best")`` tells, from the same noisy counts."""

    law: Counts

    def release(self, counts: np.ndarray) -> np.ndarray:
        """Estimates of the counts."""
        noisy = self.law.noisy(counts)
        plain = np.maximum(self.law.estimate(noisy), 0)
        return pooled(noisy, self.law.upper_rate, self.law.lower_rate, plain)


def recipe_rows(name: str, counts: np.ndarray, epsilon: str, many: int) -> None:
    opened = np.random.default_rng(2).binomial(counts, 0.9)
    plain = Dawa.for_policy(SENSITIVE, epsilon=epsilon)
    recipe = zeros(Dawa).for_policy(SENSITIVE, epsilon=epsilon)
    for label, run in (
        ("Dawa", lambda: plain.release(counts)),
        ("DAWAz", lambda: recipe.release(counts, opened)),
    ):
        far, ranges, seconds = measured(run, counts, many)
        print(
            f"| {name} | sensitive | {label} | {far:,.0f} | {ranges:,.1f} | "
            f"{1000 * seconds:.2f} | |"
        )


def measured(run, counts: np.ndarray, many: int) -> tuple[float, float, float]:
    ends = np.sort(np.random.default_rng(3).integers(0, counts.size + 1, (500, 2)), axis=1)
    far, ranges, seconds = [], [], []
    for _ in range(many):
        start = time.perf_counter()
        found = run()
        seconds.append(time.perf_counter() - start)
        sums = np.concatenate([[0.0], np.cumsum(found - counts)])
        far.append(np.abs(found - counts).sum())
        ranges.append(np.abs(sums[ends[:, 1]] - sums[ends[:, 0]]).mean())
    return float(np.mean(far)), float(np.mean(ranges)), statistics.median(seconds)


def sizes() -> None:
    print("\n| cells, bounded, ε = 1 | algorithm | s | MiB above the counts' own |")
    print("|---|---|---:|---:|")
    for cells in (4096, 2**20):
        counts = np.random.default_rng(4).poisson(3, cells)
        for algorithm in (
            Dawa.for_policy(BOUNDED, epsilon=1),
            Dawa.for_policy(BOUNDED, epsilon=1, workload="ranges"),
            Hierarchical.for_policy(BOUNDED, epsilon=1),
        ):
            algorithm.release(counts)
            seconds = []
            for _ in range(5):
                start = time.perf_counter()
                algorithm.release(counts)
                seconds.append(time.perf_counter() - start)
            tracemalloc.start()
            algorithm.release(counts)
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
            label = type(algorithm).__name__ + (
                ", ranges" if getattr(algorithm, "workload", "") == "ranges" else ""
            )
            print(f"| {cells:,} | {label} | {statistics.median(seconds):.4f} | {peak:.1f} |")
    whole = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nPeak resident size of this process: {whole:.0f} MiB.")


if __name__ == "__main__":
    main()
