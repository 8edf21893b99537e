"""How fast the verifier is, how much an audit recovers, and whether time tells secret counts.

python benchmarks/verify.py [--long]
"""

import sys
from itertools import combinations
from time import perf_counter

import numpy as np

import onesided as od
from onesided import verify
from onesided.mechanism import Counts
from onesided.noise import SecureNoise
from onesided.policy import Record
from onesided_proofs.checks._timing import time_release


def sixteen_coins(data, noise):
    return int(noise.bernoulli("1/3", 16).sum()) + len(data[0].value)


def paths_per_second():
    policy = od.policy.bounded()
    mechanism = Counts.for_policy(policy, epsilon=1)
    start = perf_counter()
    report = verify.exact(mechanism, policy, verify.Universe(max_groups=1), tail=1e-12)
    seconds = perf_counter() - start
    rate = report.noise_paths / seconds
    print(f"counts: {report.noise_paths:,} paths, {seconds:.1f} s, {rate:,.0f} paths/s, one core")


def two_million_paths():
    groups = tuple("abcde")
    values = [Record("record", frozenset(c)) for n in range(5) for c in combinations(groups, n)]
    world = verify.Universe(groups=groups, units=1, values=tuple(values[:30]))
    print("estimate:", verify.estimate(sixteen_coins, od.policy.bounded(), world))
    start = perf_counter()
    report = verify.exact(sixteen_coins, od.policy.bounded(), world)
    print(f"30 data sets of 65,536 paths: {report.noise_paths:,} in {perf_counter() - start:.1f} s")


def audit():
    sampler = verify.EachCount(Counts(1, od.INFINITE))
    start = perf_counter()
    found = verify.audit(sampler, (1, 0), sampler=True, samples=10**6)
    print(f"audit: {found} ({perf_counter() - start:.1f} s)")


def timing():
    """Small and large counts by turns; "apart" should not stand out from "noise floor"."""
    noise = SecureNoise()
    small, large = np.zeros(1000, dtype=np.int64), np.full(1000, 2**60, dtype=np.int64)
    for rates in ((1, od.INFINITE), ("1/1000", "1/1000")):
        mechanism = Counts(*rates)
        found = time_release(lambda v, m=mechanism: m.noisy(v, noise=noise), small, large)
        print(
            f"Counts{rates}: {found.one / 1e3:.1f} us against {found.two / 1e3:.1f} us, "
            f"apart {found.apart:+.2%}, noise floor {found.noise_floor:.2%}"
        )


if __name__ == "__main__":
    paths_per_second()
    audit()
    timing()
    if "--long" in sys.argv:
        two_million_paths()
