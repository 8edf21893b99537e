"""Certified share and error of many counts at once: independent noise, noise on all, the limit.

    python benchmarks/many_counts.py [--epsilon 1]

Nothing is drawn: shares are worked out from the laws. A count has room r = t + 1 - f; a share is
the chance that it is certified. n groups, a unit in at most ℓ0 of them. "Limit": what no mechanism
passes on average when half of the groups hold f and half t + 1 (docs/proofs/many-counts.md).
"""

from __future__ import annotations

import argparse
from math import expm1

from onesided.bounds import certified_share
from onesided.mechanism import CubeCounts
from onesided.numbers import positive

GROUPS = (2, 3, 5, 7, 10, 20, 30, 50)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", default="1")
    epsilon = positive(parser.parse_args().epsilon, name="epsilon")
    mechanism, rate = CubeCounts(epsilon), float(epsilon)
    print(f"ε = {epsilon}; room ℓ0, so that independent noise certifies {-expm1(-rate):.3f}\n")
    print("| ℓ0 | alone | all, n = ℓ0 | n = 1.5 ℓ0 | n = 2 ℓ0 | mean alone | all, n = ℓ0 "
          "| limit, n = 20 ℓ0 | 200 ℓ0 | 2,000 ℓ0 |")  # fmt: skip
    print("|" + "---:|" * 10)
    for groups in GROUPS:
        alone = -expm1(-rate)
        shares = [mechanism.share(n, room=groups) for n in (groups, 3 * groups // 2, 2 * groups)]
        limits = [
            certified_share(
                epsilon=epsilon, max_groups=groups, room=groups, free=n * groups, full=n * groups
            )
            for n in (10, 100, 1000)
        ]
        told = [alone, *shares, 1 / expm1(rate / groups), mechanism.mean(groups), *limits]
        print(f"| {groups} | " + " | ".join(f"{one:.3f}" for one in told) + " |")


if __name__ == "__main__":
    main()
