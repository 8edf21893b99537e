"""AHP beside an outside implementation's figures, and grids on maps.

    python benchmarks/histograms_2d.py [--repeats 10] [--epsilon 1] [--one FILE.npy ...]
                                       [--two FILE.npy ...]

``--one``: histograms of one dimension (``dpbench1d/*.npy``), ``--two``: maps (``dpbench2d/*.npy``).
Without them a made-up histogram and map are used. Errors are L1 over all cells and, for maps, the
mean absolute error of 400 random rectangles; both are means over the repeats. Times are medians;
trust the ratios to plain noise, which is timed in turn.

The outside figures (dpcomp_core, 2019, built by hand for Python 3.11; 4,096 bins, add or remove one
record, ε = 1) were measured once on this kind of machine and are printed, not run: AHP 295 on the
made-up histogram and 358 on Adult, 1.2 to 1.4 seconds a run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np

import onesided as od
from onesided.mechanism import Counts
from onesided.mechanism.histograms import AGrid, Ahp, UniformGrid

BOUNDED, UNBOUNDED = od.policy.bounded(), od.policy.unbounded()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--one", nargs="*", default=[])
    parser.add_argument("--two", nargs="*", default=[])
    asked = parser.parse_args()
    lines = {"made up, 98 % zeros": sparse()} | read(asked.one)
    print(f"\n| ε = {asked.epsilon} | policy | L1 Ahp | L1 plain | Ahp ms | plain ms |")
    print("|---|---|---:|---:|---:|---:|")
    for name, counts in lines.items():
        for policy in (UNBOUNDED, BOUNDED):
            one_row(name, counts, policy, asked.epsilon, asked.repeats)
    large()
    maps = {"made up, two towns": towns()} | read(asked.two)
    print(f"\n| ε = {asked.epsilon}, bounded | algorithm | L1 | rectangles | ms |")
    print("|---|---|---:|---:|---:|")
    for name, counts in maps.items():
        two_rows(name, counts, asked.epsilon, asked.repeats)


def read(paths: list[str]) -> dict[str, np.ndarray]:
    return {Path(path).stem: np.load(path).astype(np.int64) for path in paths}


def sparse() -> np.ndarray:
    """4,096 bins, 17,665 records, 98 % zeros: what the outside figures were measured on."""
    random = np.random.default_rng(0)
    filled = round(4096 * (1 - 0.98))
    places = random.choice(4096, filled, replace=False)
    weights = 1.0 / np.arange(1, filled + 1)
    counts = np.zeros(4096, dtype=np.int64)
    counts[places] = 1 + random.multinomial(17_665 - filled, weights / weights.sum())
    return counts


def towns() -> np.ndarray:
    """100,000 records around two places of a map of 256 by 256."""
    random = np.random.default_rng(1)
    counts = np.zeros((256, 256), dtype=np.int64)
    for centre, width, many in (([60, 80], 9, 70_000), ([180, 150], 25, 30_000)):
        places = np.clip(random.normal(centre, width, (many, 2)), 0, 255).astype(int)
        np.add.at(counts, tuple(places.T), 1)
    return counts


def plain(policy: od.policy.Policy, epsilon: str) -> Counts:
    return Counts.for_policy(policy, epsilon=epsilon, clip=True)


def timed(runs: dict, repeats: int) -> dict[str, tuple[float, list[np.ndarray]]]:
    """Median seconds and all answers, the algorithms in turn."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    answers: dict[str, list[np.ndarray]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            answers[name].append(run())
            times[name].append(time.perf_counter() - start)
    return {name: (statistics.median(times[name]), answers[name]) for name in runs}


def one_row(name: str, counts: np.ndarray, policy: od.policy.Policy, epsilon: str, n: int) -> None:
    ours, noise = Ahp.for_policy(policy, epsilon=epsilon), plain(policy, epsilon)
    found = timed({"ahp": lambda: ours.release(counts), "plain": lambda: noise.release(counts)}, n)
    errors = {k: np.mean([np.abs(a - counts).sum() for a in v[1]]) for k, v in found.items()}
    print(
        f"| {name} | {policy.name} | {errors['ahp']:,.0f} | {errors['plain']:,.0f} "
        f"| {found['ahp'][0] * 1e3:.2f} | {found['plain'][0] * 1e3:.2f} |"
    )


def large() -> None:
    """Seconds for a million cells, of kinds that ask much and little of the clustering."""
    random, size = np.random.default_rng(2), 1 << 20
    kinds = {
        "98 % zeros": np.where(random.random(size) < 0.02, random.geometric(1e-3, size), 0),
        "all counts below 10^6 alike": random.integers(0, 10**6, size),
        "around 50": random.poisson(50, size),
    }
    print("\n| 2^20 cells, ε = 1, bounded | Ahp s | plain s |\n|---|---:|---:|")
    for name, counts in kinds.items():
        ours, noise = Ahp.for_policy(BOUNDED, epsilon=1), plain(BOUNDED, "1")
        found = timed(
            {
                "ahp": lambda m=ours, c=counts: m.release(c),
                "plain": lambda m=noise, c=counts: m.release(c),
            },
            3,
        )
        print(f"| {name} | {found['ahp'][0]:.2f} | {found['plain'][0]:.3f} |")


def two_rows(name: str, counts: np.ndarray, epsilon: str, repeats: int) -> None:
    """The number of records is public under bounded DP, so the grids may know it."""
    told = {"epsilon": epsilon, "records": int(counts.sum())}
    noise = plain(BOUNDED, epsilon)
    runs = {
        "AGrid": AGrid.for_policy(BOUNDED, **told).release,
        "UniformGrid": UniformGrid.for_policy(BOUNDED, **told).release,
        "Ahp": Ahp.for_policy(BOUNDED, epsilon=epsilon).release,
        "plain": lambda values: noise.release(values.ravel()).reshape(values.shape),
    }
    found = timed({key: lambda run=run: run(counts) for key, run in runs.items()}, repeats)
    corners = np.sort(np.random.default_rng(0).integers(0, 257, (400, 2, 2)), axis=2)
    corners = np.minimum(corners, np.array(counts.shape)[:, None])
    truth = rectangles(counts, corners)
    for key, (seconds, answers) in found.items():
        cells = np.mean([np.abs(a - counts).sum() for a in answers])
        boxes = np.mean([np.abs(rectangles(a, corners) - truth).mean() for a in answers])
        print(f"| {name} | {key} | {cells:,.0f} | {boxes:,.0f} | {seconds * 1e3:.1f} |")


def rectangles(counts: np.ndarray, corners: np.ndarray) -> np.ndarray:
    sums = np.pad(counts.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    (top, bottom), (left, right) = corners[:, 0].T, corners[:, 1].T
    return sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]


if __name__ == "__main__":
    main()
