"""How much of a mechanism's exact loss an audit recovers; with --peers, of what others state.

    python benchmarks/audit.py [--samples 1000000] [--peers]

The exact loss of the pair comes from every noise path; the audit sees outputs alone and is given
no event. Peers: ``pip install "./experiments[peers]"`` in an environment of its own; what is not
installed is left out, and said.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from onesided import policy as policies
from onesided import verify
from onesided.mechanism import Counts, SparseVector, TopK
from onesided.mechanism.histograms import Dawa
from onesided_experiments.peers import Each, Measured, Randomised, Stated, audited, both_ways

POLICY = policies.addition_only()
PEER_SAMPLES = 10


@dataclass(frozen=True)
class Of:
    """A mechanism on one of two data sets: that of a world in which the unit is, or is not."""

    mechanism: Any
    pair: tuple[list[int], list[int]]

    def __call__(self, data, noise):
        """Its release on the data set of that world."""
        counts = np.array(self.pair[data[0].kind == "absent"])
        return self.mechanism.release(counts, noise=noise)

    def sampled(self, counts, noise):
        """Its release on these counts."""
        return self.mechanism.release(np.array(counts), noise=noise)


def ours():
    """At ε = 1, one unit in one group; the pair on which each loses all, or much, of it."""
    asked = {"epsilon": 1, "max_groups": 1}
    yield "Counts (one-sided)", Counts.for_policy(POLICY, **asked), ([5], [4])
    yield "Counts (two-sided)", Counts(1, 1), ([5], [4])
    yield "TopK(k=1)", TopK.for_policy(POLICY, k=1, **asked), ([3, 2, 1], [2, 2, 1])
    sparse = SparseVector.for_policy(POLICY, thresholds=2, max_answers=1, **asked)
    yield "SparseVector", sparse, ([1, 3, 2], [1, 2, 2])
    yield "Dawa", Dawa.for_policy(POLICY, epsilon=1, look_share=None), ([5, 3], [4, 3])


def exact_loss(case: Of) -> float:
    """On this pair, in this direction, from every noise path."""
    absent, _, there = POLICY.records(("a",), max_groups=1)
    world = verify.Universe(values=(absent, there), units=1)
    found = verify.exact(case, POLICY, world, tail=1e-8, limit=3 * 10**6)
    return max(finding.loss for finding in found.findings.values())


def peers() -> Iterator[Stated]:
    """What of the two libraries is installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        print("skipped: opendp is not installed")
    else:
        dp.enable_features("contrib")
        numbers = dp.vector_domain(dp.atom_domain(T=int))
        laplace = dp.m.make_laplace(numbers, dp.l1_distance(T=int), 1.0)
        yield Stated(
            library="OpenDP",
            name="Laplace on whole numbers",
            program=Each(laplace),
            pair=(5, 4),
            epsilon=laplace.map(1),
            sampler=True,
        )
        answers = dp.m.make_randomized_response_bool(0.75)
        yield Stated(
            library="OpenDP",
            name="randomized response",
            program=Measured(answers),
            pair=(True, False),
            epsilon=answers.map(1),
        )
        highest = dp.m.make_noisy_max(numbers, dp.linf_distance(T=int), dp.max_divergence(), 2.0)
        yield Stated(
            library="OpenDP",
            name="noisy maximum",
            program=Measured(highest),
            pair=([3, 3], [4, 2]),
            epsilon=highest.map(1),
        )
    try:
        from diffprivlib import mechanisms as others
    except ImportError as error:
        print(f"skipped: diffprivlib cannot be imported ({error})")
        return
    made = {"epsilon": 1.0, "sensitivity": 1}
    for name, mechanism, pair in (
        ("Geometric", others.Geometric(**made), (5, 4)),
        ("GeometricTruncated", others.GeometricTruncated(lower=0, upper=9, **made), (1, 0)),
        ("Laplace", others.Laplace(delta=0.0, **made), (5.0, 4.0)),
        ("LaplaceFolded", others.LaplaceFolded(lower=0.0, upper=9.0, **made), (1.0, 0.0)),
        ("Staircase", others.Staircase(**made), (5.0, 4.0)),
        ("Binary", others.Binary(epsilon=1.0, value0="a", value1="b"), ("a", "b")),
    ):
        yield Stated(
            library="diffprivlib", name=name, program=Randomised(mechanism), pair=pair, epsilon=1.0
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=10**6)
    parser.add_argument("--peers", action="store_true")
    given = parser.parse_args()
    print(
        "| mechanism | exact loss | recovered | share | CPU s | event |\n|---|--:|--:|--:|--:|---|"
    )
    for name, mechanism, pair in ours():
        case, start = Of(mechanism, pair), time.process_time()
        exact = exact_loss(case)
        between = time.process_time()
        found = verify.audit(case.sampled, pair, samples=given.samples)
        took = f"{between - start:.0f} + {time.process_time() - between:.0f}"
        share = found.loss / exact
        print(f"| {name} | {exact:.4f} | {found.loss:.4f} | {share:.3f} | {took} | {found.event} |")
    if given.peers:
        samples = max(given.samples // PEER_SAMPLES, 1000)
        print(f"\n{samples:,} samples each")
        print(both_ways([one for said in peers() for one in audited(said, samples=samples)]))


if __name__ == "__main__":
    main()
