"""Local reports: how fast a server estimates them, a client makes one, and a simulation many.

    python benchmarks/local.py [--people 10000000] [--letters 32]

Prints seconds, and the ratio to a plain numpy count of the same array. Texts are counted a million
at a time, each line a text of its own.
"""

import argparse
import time
from itertools import pairwise

import numpy as np

from onesided.mechanism import local
from onesided.policy import local as local_policy

MILLION = 10**6


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--people", type=int, default=10 * MILLION)
    parser.add_argument("--letters", type=int, default=32)
    options = parser.parse_args()
    letters = [f"place {number:03}" for number in range(options.letters)]
    half = letters[: len(letters) // 2]
    neighbours = list(pairwise(letters))
    path = local_policy(letters, edges=[*neighbours, *((y, x) for x, y in neighbours)])
    chosen = np.random.default_rng(1).integers(len(letters), size=options.people)
    values = [letters[place] for place in chosen.tolist()]
    for name, randomiser in (
        ("k-ary response", local.k_ary_response(letters, epsilon=1)),
        ("uRR", local.utility_optimised_response(letters, sensitive=half, epsilon=1)),
        ("context-aware channel", local.context_aware(path, epsilon=1)),
        ("RAPPOR", local.rappor(letters, epsilon=1)),
        ("uRAP", local.utility_optimised_rappor(letters, sensitive=half, epsilon=1)),
    ):
        measure(name, randomiser, values)


def measure(name, randomiser, values):
    """One randomiser's four times; the release is checked against the truth on the way."""
    made, outputs = timed(lambda: randomiser.release(values))
    told, estimate = timed(lambda: randomiser.estimate(outputs))
    plain, _ = timed(lambda: np.bincount(outputs) if outputs.ndim == 1 else outputs.sum(axis=0))
    truth = np.array([values.count(letter) for letter in randomiser.alphabet]) / len(values)
    worst = np.abs((estimate.frequencies - truth) / np.sqrt(estimate.variances)).max()
    one, _ = timed(lambda: [randomiser.report(value) for value in values[:1000]])
    texts = [report.to_json() for report in randomiser.reports(outputs[:MILLION])]
    read, _ = timed(lambda: randomiser.estimate(texts))
    print(
        f"{name}: {len(values):,} people simulated in {made:.2f} s, estimated in {told:.2f} s "
        f"({told / plain:.1f} x a plain count), worst error {worst:.1f} standard deviations; "
        f"one report {one * 1000:.0f} µs; {len(texts):,} texts estimated in {read:.2f} s"
    )


def timed(run):
    began = time.perf_counter()
    found = run()
    return time.perf_counter() - began, found


if __name__ == "__main__":
    main()
