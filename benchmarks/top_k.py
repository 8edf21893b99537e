"""Speed of top-k with values beside numpy's Gumbel top-k and OpenDP's exact top-k.

    python benchmarks/top_k.py [--items 41270] [--repeats 31] [--peer PYTHON] [--data FILE.parquet]

Everything is timed in one run, ours and numpy's in turn; each row gives the median, the quartiles
and the ratio to numpy, which is what to trust on a shared machine. ``--peer`` names an interpreter
that has opendp (it is timed there on the same counts, three times: it takes seconds). ``--data``
also compares errors on click data at ε = 0.5, k = 100: ours against free gap with measurements.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np

import onesided as od
from onesided.mechanism import SparseVector, TopK
from onesided_experiments.baselines import GapTopK, MeasuredTopK

EPSILON = 1
PEER = """
import json, sys, time, numpy as np, opendp.prelude as dp
dp.enable_features("contrib")
items, k = map(int, sys.argv[1:])
x = np.sort((1e6 / (np.arange(items) + 10)).astype(np.int64))[::-1].copy()
np.random.default_rng(1).shuffle(x)
m = dp.m.make_noisy_top_k(dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64"),
                          dp.max_divergence(), k=k, scale=2.0 * k)
times = []
for _ in range(3):
    start = time.perf_counter(); m(x); times.append(time.perf_counter() - start)
print(json.dumps(times))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=41_270)
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--peer", help="an interpreter that has opendp")
    parser.add_argument("--data", nargs="*", default=[], help="click data to compare errors on")
    asked = parser.parse_args()
    counts = np.sort((1e6 / (np.arange(asked.items) + 10)).astype(np.int64))[::-1].copy()
    np.random.default_rng(1).shuffle(counts)
    times = interleaved(rivals(counts), asked.repeats)
    if asked.peer:
        run = [asked.peer, "-c", PEER, str(asked.items), "100"]
        out = subprocess.run(run, capture_output=True, text=True, check=True).stdout
        times["OpenDP make_noisy_top_k, k = 100 (indices only)"] = json.loads(out)
    else:
        print("OpenDP was not timed: name an interpreter that has it with --peer.", file=sys.stderr)
    table(times, asked.items)
    for path in asked.data:
        errors(path, asked.repeats)


def rivals(counts: np.ndarray) -> dict:
    """What is timed; the first is what the others are compared with."""
    generator, size = np.random.default_rng(), counts.size
    rows = {
        "numpy one-shot Gumbel, k = 100 (floats, not exact, indices only)": lambda: np.argpartition(
            -(counts + generator.gumbel(0, 200 / EPSILON, size)), 100
        )[:100]
    }
    for k in (1, 10, 100, 500):
        ours = TopK(k, upper_rate=Fraction(EPSILON, k))
        rows[f"TopK, k = {k} (certain upper bounds)"] = lambda m=ours: m.release(counts)
    gap = GapTopK(100, noise_rate=Fraction(EPSILON, 100))
    measured = MeasuredTopK(
        GapTopK(100, noise_rate=Fraction(EPSILON, 200)), measure_rate=Fraction(EPSILON, 200)
    )
    vector = SparseVector(1000, upper_rate=Fraction(EPSILON, 100), max_answers=100)
    rows["GapTopK, k = 100 (free gap, two-sided)"] = lambda: gap.release(counts)
    rows["MeasuredTopK, k = 100 (free gap and measurements)"] = lambda: measured.release(counts)
    rows["SparseVector, 100 answers"] = lambda: vector.release(counts)
    return rows


def interleaved(rows: dict, repeats: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in rows}
    for run in rows.values():
        run()
    for _ in range(repeats):
        for name, run in rows.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return times


def table(times: dict[str, list[float]], items: int) -> None:
    base = statistics.median(next(iter(times.values())))
    print(f"\n| {items:,} items | median ms | quartiles ms | beside numpy |\n|---|---:|---:|---:|")
    for name, many in times.items():
        middle = statistics.median(many)
        low, high = np.quantile(many, [0.25, 0.75]) * 1e3
        print(f"| {name} | {middle * 1e3:.2f} | {low:.2f} to {high:.2f} | {middle / base:.1f} |")


def errors(path: str, repeats: int, *, k: int = 100, epsilon: str = "1/2") -> None:
    """Mean squared error of the published values, and the share of the true top k found."""
    import polars as pl

    rows = pl.read_parquet(path).unique(["record", "item"])
    counts = rows.group_by("item").len()["len"].to_numpy().astype(np.int64)
    longest = int(rows.group_by("record").len()["len"].max())
    one_way, two_way = od.policy.presence(max_groups=longest), od.policy.unbounded()
    ours = TopK.for_policy(one_way, k=k, epsilon=epsilon)
    theirs = MeasuredTopK.for_policy(two_way, k=k, epsilon=epsilon, max_groups=longest)
    best = set(np.argsort(-counts)[:k].tolist())
    found: dict[str, list[tuple[float, float]]] = {}

    def note(name: str, indices: np.ndarray, values: np.ndarray) -> None:
        hit = len(best & set(indices.tolist())) / k
        found.setdefault(name, []).append((float(((values - counts[indices]) ** 2).mean()), hit))

    for _ in range(repeats * 10):
        indices, values = ours.release(counts)
        note("TopK, raw (certain)", indices, values)
        note("TopK, less the mean", indices, ours.estimate(values))
        middle = np.maximum(ours.estimate(values, correction="median"), 0)
        note("TopK, less the median", indices, middle)
        note("TopK, shrunk", indices, ours.shrunk(values, candidates=counts.size))
        answer = theirs.release(counts)
        note("free gap, measured only", answer.indices, answer.measured)
        note("free gap, combined", answer.indices, answer.combined)
    print(
        f"\n| {path.rsplit('/', 1)[-1]}: ε = {epsilon}, k = {k} | mean squared error | precision |"
    )
    print("|---|---:|---:|")
    for name, many in found.items():
        error, hit = np.mean(many, axis=0)
        print(f"| {name} | {error:,.0f} | {hit:.3f} |")


if __name__ == "__main__":
    main()
