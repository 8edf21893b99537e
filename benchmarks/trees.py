"""Random ranges by trees, beside Hb: mean squared error over repetitions, in one run.

    python benchmarks/trees.py [--repeats 60] [--epsilon 1] [--ranges 500] [FILE.npy ...]

FILE: histograms of one dimension; a made-up one is always used. Hb is the tree of Qardaji, Yang and
Li 2013 built here: their branching, ε shared evenly among the levels below the root, the same
geometric noise, least squares. All under "add or remove one record". Each figure is the mean over
the repeats of the mean squared error of the same random ranges, with its standard error, and the
ratio to Hb. No constant of the trees was chosen on any of these files.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path

import numpy as np

import onesided as od
from onesided.linear.kit import consistent, tree_sums
from onesided.mechanism import Counts
from onesided.mechanism.histograms import Dawa, Hierarchical
from onesided.noise import SecureNoise, TwoSidedGeometric

UNBOUNDED = od.policy.unbounded()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--ranges", type=int, default=500)
    parser.add_argument("files", nargs="*")
    asked = parser.parse_args()
    rng = np.random.default_rng(1)
    data = {"made up, 98 % zeros": np.where(rng.random(4096) < 0.02, rng.poisson(50, 4096), 0)}
    data |= {Path(file).stem: np.load(file).astype(np.int64) for file in asked.files}
    print(f"ε = {asked.epsilon}, {asked.ranges} random ranges, {asked.repeats} repeats\n")
    print("| data | way | mean squared error | ± | x Hb |\n|---|---|---:|---:|---:|")
    for name, counts in data.items():
        rows(name, counts, asked, rng)


def rows(name: str, counts: np.ndarray, asked: argparse.Namespace, rng) -> None:
    ends = np.sort(rng.integers(0, counts.size + 1, (asked.ranges, 2)), axis=1)
    found = {
        way: np.array([missed(make(counts) - counts, ends) for _ in range(asked.repeats)])
        for way, make in ways(Fraction(asked.epsilon)).items()
    }
    rival = found["Hb"].mean()
    for way, errors in found.items():
        spread = errors.std(ddof=1) / np.sqrt(errors.size)
        print(
            f"| {name} | {way} | {errors.mean():.4g} | {spread:.2g} | {errors.mean() / rival:.3f} |"
        )


def missed(error: np.ndarray, ends: np.ndarray) -> float:
    sums = np.concatenate([[0.0], np.cumsum(error)])
    return float(np.mean((sums[ends[:, 1]] - sums[ends[:, 0]]) ** 2))


def ways(epsilon: Fraction) -> dict:
    """Each way makes estimates of all cells from counts."""
    tree = Hierarchical.for_policy(UNBOUNDED, epsilon=epsilon)
    plain = Counts.for_policy(UNBOUNDED, epsilon=epsilon)
    dawa = Dawa.for_policy(UNBOUNDED, epsilon=epsilon, workload="ranges")
    return {
        "Hb": lambda counts: hb(counts, epsilon),
        "Hierarchical": tree.release,
        "Hierarchical, tree projected to 0 and above": lambda counts: tree.non_negative(
            tree.release(counts)
        ),
        "Hierarchical, cells cut at 0": lambda counts: np.maximum(tree.release(counts), 0),
        'Dawa(workload="ranges")': dawa.release,
        "Counts": plain.release,
    }


def hb(counts: np.ndarray, epsilon: Fraction) -> np.ndarray:
    fan = min(range(2, 129), key=lambda b: hb_error(counts.size, b))
    levels = tree_sums(counts, fan)
    rate = epsilon / (len(levels) - 1)
    law = TwoSidedGeometric(rate, rate)
    noise = SecureNoise()
    noisy = [one + noise.two_sided(rate, rate, one.size).astype(float) for one in levels[:-1]]
    variances = [law.variance()] * len(noisy) + [np.inf]
    return consistent([*noisy, np.zeros(1)], variances, fan)


def hb_error(size: int, fan: int) -> float:
    """The average variance that the paper minimises over the branching."""
    height = 1
    while fan**height < size:
        height += 1
    return (fan - 1) * height**3 - 2 * (fan + 1) * height**2 / 3


if __name__ == "__main__":
    main()
