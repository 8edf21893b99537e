"""Quantiles and means: error beside OpenDP's, in one run, and the time of large ranges.

    python benchmarks/values.py [--repeats 100] [--people 2000] [FILE.npy ...]

FILE: histograms of one dimension, such as dpbench1d/*.npy; people are drawn from each, once, with a
fixed seed. Made-up data are always used. No constant of the library was chosen on any of them. The
error of a quantile is by how many ranks the candidate misses it, 0 where the candidate's own values
hold it; candidates are all cells. Both add or remove one person. Where OpenDP is not installed its
columns are left out.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import onesided as od
from onesided.mechanism import NoisyMaxQuantile

try:
    import opendp.prelude as dp

    dp.enable_features("contrib")
except ImportError:
    dp = None

EPSILONS = ("0.01", "0.1", "1", "10")
SHARES = ("0.01", "0.1", "0.5", "0.9", "0.99")
CELLS = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("files", nargs="*")
    asked = parser.parse_args()
    random = np.random.default_rng(0)
    sets = {
        "made up, even": np.ones(CELLS),
        "made up, steep": 1 / np.arange(1, CELLS + 1) ** 2,
        "made up, two far heaps": np.isin(np.arange(CELLS), (*range(20), *range(4000, 4010))) * 1.0,
    }
    for file in asked.files:
        if Path(file).is_file():
            sets[Path(file).stem] = np.load(file).astype(float)
        else:
            print(f"{file}: skipped: data not found")
    drawn = {
        name: random.multinomial(asked.people, weights / weights.sum()).astype(np.int64)
        for name, weights in sets.items()
    }
    if dp is None:
        print("OpenDP: skipped: not installed")
    quantiles(drawn, asked.repeats)
    means(drawn, asked.repeats)
    large()
    grouped()


def quantiles(drawn: dict[str, np.ndarray], repeats: int) -> None:
    print("\n| ε | q | ours | OpenDP | ratio | worst set |")
    print("|--:|--:|--:|--:|--:|---|")
    beyond = 0
    for epsilon in EPSILONS:
        for q in SHARES:
            pairs = {name: pair(counts, q, epsilon, repeats) for name, counts in drawn.items()}
            ours = np.array([own for own, _ in pairs.values()])
            if dp is None:
                print(f"| {epsilon} | {q} | {told(ours)} | - | - | - |")
                continue
            theirs = np.array([other for _, other in pairs.values()])
            for name, (own, other) in pairs.items():
                spread = math.hypot(error(own), 1.05 * error(other))
                if own.mean() - 1.05 * other.mean() > 2 * spread:
                    beyond += 1
                    print(f"beyond 1.05 and two standard errors: {name} ε={epsilon} q={q}")
            name, worst = max(
                ((name, ratio(own, other)) for name, (own, other) in pairs.items()),
                key=lambda one: one[1],
            )
            print(
                f"| {epsilon} | {q} | {told(ours)} | {told(theirs)} | {ratio(ours, theirs):.2f} | "
                f"{name} {worst:.2f} |"
            )
    if dp is not None:
        print(f"\n{beyond} of {len(EPSILONS) * len(SHARES) * len(drawn)} settings beyond")


def pair(counts: np.ndarray, q: str, epsilon: str, repeats: int) -> tuple[np.ndarray, np.ndarray]:
    """The errors in ranks of ours and of OpenDP's."""
    mechanism = NoisyMaxQuantile.for_policy(
        od.policy.unbounded(), q=q, candidates=CELLS, epsilon=epsilon
    )
    places = np.flatnonzero(counts)
    own = [mechanism.choose(places, counts[places]) for _ in range(repeats)]
    if dp is None:
        return missed(counts, q, own), np.zeros(0)
    return missed(counts, q, own), missed(counts, q, [rival(counts, q, epsilon)() for _ in own])


RIVALS: dict[tuple[int, str, str], Callable[[], int]] = {}


def rival(counts: np.ndarray, q: str, epsilon: str) -> Callable[[], int]:
    """OpenDP's noisy maximum over its scores of all cells, at the scale that it finds for ε."""
    key = (id(counts), q, epsilon)
    if key not in RIVALS:
        space = dp.vector_domain(dp.atom_domain(T="i32")), dp.symmetric_distance()
        scores = space >> dp.t.then_quantile_score_candidates(
            candidates=list(range(CELLS)), alpha=float(q)
        )
        scale = dp.binary_search_param(
            lambda one: scores >> dp.m.then_noisy_max(dp.max_divergence(), scale=one, negate=True),
            d_in=1,
            d_out=float(epsilon),
        )
        choice = dp.m.make_noisy_max(
            scores.output_domain, scores.output_metric, dp.max_divergence(), scale, negate=True
        )
        # Scores have no chance in them: worked out once.
        known = scores(np.repeat(np.arange(CELLS), counts).tolist())
        RIVALS[key] = lambda: choice(known)
    return RIVALS[key]


def missed(counts: np.ndarray, q: str, places: list[int]) -> np.ndarray:
    upto = np.concatenate([[0], np.cumsum(counts)])
    target, found = float(q) * upto[-1], np.array(places)
    return np.maximum(0, np.maximum(upto[found] - target, target - upto[found + 1]))


def means(drawn: dict[str, np.ndarray], repeats: int) -> None:
    print("\n| ε | mean, number public: ours | OpenDP's sum / n | ratio |")
    print("|--:|--:|--:|--:|")
    for epsilon in EPSILONS:
        ours, theirs = [], []
        for counts in drawn.values():
            values = np.repeat(np.arange(CELLS), counts)
            table = pl.DataFrame({"person": np.arange(values.size), "v": values})
            session = od.Session(
                table, unit="person", policy=od.policy.bounded(), budget=10**6, ledger=None
            )
            asked = od.session.Mean("v", bounds=(0, CELLS - 1), epsilon=epsilon)
            ours += [abs(session.ask(asked).value - values.mean()) for _ in range(repeats)]
            if dp is not None:
                noisy = noisy_sum(values.size, epsilon)
                given = values.tolist()
                theirs += [abs(noisy(given) / values.size - values.mean()) for _ in range(repeats)]
        if dp is None:
            print(f"| {epsilon} | {told(np.array(ours))} | - | - |")
        else:
            one, other = np.array(ours), np.array(theirs)
            print(f"| {epsilon} | {told(one)} | {told(other)} | {one.mean() / other.mean():.3f} |")


def noisy_sum(people: int, epsilon: str) -> Any:
    space = (
        dp.vector_domain(dp.atom_domain(bounds=(0, CELLS - 1)), size=people),
        dp.symmetric_distance(),
    )
    total = space >> dp.t.then_sum()
    return dp.binary_search_chain(
        lambda scale: total >> dp.m.then_laplace(scale=scale), d_in=2, d_out=float(epsilon)
    )


def large() -> None:
    print("\n| rows | candidates | CPU s | wall s |")
    print("|--:|--:|--:|--:|")
    random = np.random.default_rng(1)
    for rows in (10**5, 10**6):
        for bits in (10, 20, 40):
            values = random.integers(0, 2**bits, rows)
            table = pl.DataFrame({"person": np.arange(rows), "v": values})
            session = od.Session(table, unit="person", policy=od.policy.unbounded(), budget=9)
            cpu, wall = time.process_time(), time.perf_counter()
            session.median("v", bounds=(0, 2**bits), epsilon=1)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            print(f"| {rows:,} | 2^{bits} | {cpu:.2f} | {wall:.2f} |")


def grouped() -> None:
    """Medians of many groups whose sizes fall as 1 / rank: drawn side by side."""
    print("\n| rows | groups | candidates | CPU s |")
    print("|--:|--:|--:|--:|")
    random, rows, groups = np.random.default_rng(2), 10**6, 5835
    odds = 1 / np.arange(1, groups + 1)
    for number in (100, 1000, 10_000):
        held = {"place": random.choice(groups, rows, p=odds / odds.sum())}
        table = pl.DataFrame(held | {"v": random.integers(0, number + 1, rows)})
        session = od.Session(table, policy=od.policy.unbounded(), budget=9)
        for _ in range(2):
            cpu = time.process_time()
            session.median("v", by="place", keys=range(groups), bounds=(0, number), epsilon=1)
            cpu = time.process_time() - cpu
        print(f"| {rows:,} | {groups:,} | {number + 1:,} | {cpu:.2f} |")


def error(errors: np.ndarray) -> float:
    return float(errors.std() / math.sqrt(errors.size))


def told(errors: np.ndarray) -> str:
    return f"{errors.mean():.3g} ± {error(errors):.2g}"


def ratio(one: np.ndarray, other: np.ndarray) -> float:
    """1 where both are 0."""
    if not other.mean():
        return 1.0 if not one.mean() else math.inf
    return float(one.mean() / other.mean())


if __name__ == "__main__":
    main()
