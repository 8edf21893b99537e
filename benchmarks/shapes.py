"""Histograms beside their rivals: DAWA, DAWAz, DAWA for ranges, open shape. Errors, in one run.

    python benchmarks/shapes.py [FILE.npy ...] [--repeats 60] [--part dawa dawaz ranges open]

FILE: histograms of one dimension, such as dpbench1d/*.npy; a made-up one is always used. Each
figure is the mean over the repeats with its standard error. Rivals: plain counts and DAWA without a
look (dawa); DAWAz by plain composition (dawaz); Hb, built in trees.py (ranges); DAWA and DAWAz
(open). Open records are a plain sample of all. The noise is seeded: nothing here is secret. No
constant of DAWA was chosen on these files; of open shape see docs/histograms.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
from trees import hb, missed

import onesided as od
from onesided.mechanism import Counts
from onesided.mechanism.histograms import Dawa, OpenShape, zeros
from onesided.noise import NotPrivateSeededNoise
from onesided_experiments.baselines import DirectDawaz

UNBOUNDED, SENSITIVE = od.policy.unbounded(), od.policy.sensitive("minor")
EPSILONS = ("1", "0.1", "0.01")
NOISE = NotPrivateSeededNoise(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--part", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("files", nargs="*")
    asked = parser.parse_args()
    rng = np.random.default_rng(1)
    data = {"made up, 98 % zeros": np.where(rng.random(4096) < 0.02, rng.poisson(50, 4096), 0)}
    data |= {Path(file).stem: np.load(file).astype(np.int64) for file in asked.files}
    for part in asked.part:
        heading, make = PARTS[part]
        print(f"\n{asked.repeats} repeats\n\n{heading}")
        for name, counts in data.items():
            for epsilon in EPSILONS:
                for row in make(counts, epsilon, asked.repeats):
                    print(f"| {name} | {epsilon} | {row} |", flush=True)


def dawa(counts: np.ndarray, epsilon: str, repeats: int) -> list[str]:
    """L1 errors; the last column is over the better of the first two."""
    looking = Dawa.for_policy(UNBOUNDED, epsilon=epsilon, look_share=None)
    made = (Counts.for_policy(UNBOUNDED, epsilon=epsilon), looking,
            Dawa.for_policy(UNBOUNDED, epsilon=epsilon))  # fmt: skip
    found = [drawn(lambda m=m: away(m.release(counts, noise=NOISE), counts), repeats) for m in made]
    best = min(found[:2], key=lambda one: one.mean())
    return [" | ".join([*map(told, found), over(found[2], best)])]


def dawaz(counts: np.ndarray, epsilon: str, repeats: int) -> list[str]:
    """L1 errors of DAWAz and of the direct rival, half and nine tenths open."""
    ours = zeros(Dawa).for_policy(SENSITIVE, epsilon=epsilon, clip=True)
    rival, rows = DirectDawaz(Fraction(epsilon)), []
    for ratio in (0.9, 0.5):
        opened = part_of(counts, ratio)
        one = drawn(lambda o=opened: away(ours.release(counts, o, noise=NOISE), counts), repeats)
        two = drawn(lambda o=opened: away(rival.release(counts, o, NOISE), counts), repeats)
        rows.append(f"{ratio} | {told(one)} | {told(two)} | {over(one, two)}")
    return rows


def ranges(counts: np.ndarray, epsilon: str, repeats: int) -> list[str]:
    """Mean squared errors of 500 random ranges."""
    rng = np.random.default_rng(7)
    ends = np.sort(rng.integers(0, counts.size + 1, (500, 2)), axis=1)
    made = [
        Dawa.for_policy(UNBOUNDED, epsilon=epsilon, workload="ranges", **options)
        for options in ({"look_share": None}, {})
    ]
    ways = [lambda m=m: m.release(counts, noise=NOISE) for m in made]
    ways.append(lambda: hb(counts, Fraction(epsilon)))
    found = [drawn(lambda w=way: missed(w() - counts, ends), repeats) for way in ways]
    return [" | ".join([*map(told, found), over(found[1], found[2])])]


def open_shape(counts: np.ndarray, epsilon: str, repeats: int) -> list[str]:
    """L1 errors as a share of all records, and records published over records."""
    ours = OpenShape.for_policy(SENSITIVE, epsilon=epsilon)
    recipe = zeros(Dawa).for_policy(SENSITIVE, epsilon=epsilon, clip=True)
    plain, rows, total = Dawa.for_policy(SENSITIVE, epsilon=epsilon, clip=True), [], counts.sum()
    for ratio in (0.5, 0.1):
        opened, found = part_of(counts, ratio), {}
        for _ in range(repeats):
            released = ours.measure(counts - opened, opened, noise=NOISE)
            for way, made in (
                ("records", ours.estimate(released)),
                ("cells", ours.estimate(released, keep="cells")),
                ("dawaz", recipe.release(counts, opened, noise=NOISE)),
                ("dawa", plain.release(counts, noise=NOISE)),
            ):
                relative = (np.abs(made - counts) / np.maximum(counts, 1)).mean()
                found.setdefault(way, []).append(
                    (away(made, counts) / total, np.sum(made) / total, relative)
                )
        cells = [
            f"{told(l1)}; {kept.mean():.2f}; {mre.mean():.3g}"
            for l1, kept, mre in (np.array(each).T for each in found.values())
        ]
        rows.append(" | ".join([str(ratio), *cells]))
    return rows


def part_of(counts: np.ndarray, ratio: float) -> np.ndarray:
    rng = np.random.default_rng(3)
    wanted = round(ratio * int(counts.sum()))
    return rng.multivariate_hypergeometric(counts, wanted, method="marginals").astype(np.int64)


def drawn(once: Callable[[], float], repeats: int) -> np.ndarray:
    return np.array([once() for _ in range(repeats)])


def away(found: np.ndarray, counts: np.ndarray) -> float:
    return float(np.abs(found - counts).sum())


def told(found: np.ndarray) -> str:
    return f"{found.mean():.4g} ± {found.std(ddof=1) / np.sqrt(found.size):.2g}"


def over(found: np.ndarray, rival: np.ndarray) -> str:
    """The ratio of the means, with its standard error."""
    ratio = found.mean() / rival.mean()
    parts = (one.std(ddof=1) / one.mean() / np.sqrt(one.size) for one in (found, rival))
    return f"{ratio:.3f} ± {ratio * np.hypot(*parts):.2g}"


_LINE = "|---|---:|---:|---:|---:|---:|"
PARTS = {
    "dawa": (f"| data | ε | Counts | without a look | DAWA | over the better |\n{_LINE}", dawa),
    "dawaz": (f"| data | ε | open | DAWAz | direct | over direct |\n{_LINE}", dawaz),
    "ranges": (f"| data | ε | without a look | DAWA | Hb | over Hb |\n{_LINE}", ranges),
    "open": (
        "L1 error over records; records published over records; mean relative error.\n\n"
        f"| data | ε | open | keeping records | keeping cells | DAWAz | DAWA |\n{_LINE}---:|",
        open_shape,
    ),
}


if __name__ == "__main__":
    main()
