"""Ranges of a session: what choosing, counting and drawing take, and what a small radius gains.

Prints ratios beside times: the error of random ranges at each radius over that at a radius of one
bin.
"""

from __future__ import annotations

import time

import numpy as np
import polars as pl

import onesided as od

BINS = 512
ROWS = 1_000_000


def main() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"x": rng.integers(0, BINS, ROWS)})
    ends = np.sort(rng.choice(BINS + 1, (500, 2)), axis=1)
    ranges = [(int(low), int(high)) for low, high in ends if low < high]
    first = None
    print(f"{ROWS:,} rows, {BINS} bins, {len(ranges)} ranges, ε = 1")
    for radius in (1, 4, 16, 64, BINS):
        session = od.Session(frame, policy=od.policy.neighbourhood(radius=radius), budget=1)
        start = time.perf_counter()
        release = session.ranges("x", ranges, bins=range(BINS + 1), epsilon=1)
        spent = time.perf_counter() - start
        error = float(np.mean(release.variance))
        first = first or error
        print(
            f"radius {radius:>4}: {release.strategy:<16} error {error / first:8.1f} times that at "
            f"radius 1, {spent:.2f} s"
        )


if __name__ == "__main__":
    main()
