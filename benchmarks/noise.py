"""Speed of the exact samplers beside numpy's and the exact samplers of other libraries.

    python benchmarks/noise.py [--draws 10000000] [--repeats 5] [--cpu] [--least] [--peer PYTHON]

Everything is timed in one run, ours and theirs in turn; each row gives medians and their
ratio, which is what to trust on a shared machine. ``--cpu`` counts the processor's time instead
of the clock's, for a machine that is busy with others; ``--least`` takes the least of the
repeats. The process is bound to one core; at the end the same draws are made with all of them.
``share of AES`` is the time of the random bits alone, out of one cipher into one buffer, over the
time of the draw: 8 bits for a draw (two come of 16), and 16 for each lower part of a small rate.
``--peer`` names the interpreter of another
environment that has opendp, diffprivlib or tmlt.core (they pin versions that collide with
each other); without it this interpreter is asked.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import date
from fractions import Fraction

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR

from onesided.noise import SecureNoise
from onesided.noise._geometric import bulk

RATES = {"1": 1, "1/10": Fraction(1, 10), "1/1000": Fraction(1, 1000), "2^-20": Fraction(1, 2**20)}
SINGLES = 2000
# A tenth of the draws, at so many different rates near 1/10 and (lists) given as objects.
DISTINCT = (1, 100, 10_000)
# Runs in the peer's interpreter, which need not have onesided: prints seconds per draw.
PEERS = {
    "opendp make_laplace (rate 1, two-sided)": """
import time, numpy as np, opendp.prelude as dp
dp.enable_features("contrib")
m = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=1.0)
def draw(n): m(np.zeros(n, np.int64))
""",
    "opendp make_geometric, bounded (constant time)": """
import time, numpy as np, opendp.prelude as dp
dp.enable_features("contrib")
m = dp.m.make_geometric(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"),
                        scale=1.0, bounds=(0, 100))
def draw(n): m(np.zeros(n, np.int64))
""",
    "diffprivlib Geometric, loop": """
import time, diffprivlib.mechanisms as mechanisms
m = mechanisms.Geometric(epsilon=1.0, sensitivity=1)
def draw(n): [m.randomise(0) for _ in range(n)]
""",
    "tmlt.core AddGeometricNoise, loop": """
import time, numpy as np
from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise
m = AddGeometricNoise(alpha=1)
def draw(n): [m(np.int64(0)) for _ in range(n)]
""",
}
TIMER = """
n = 1000
draw(10)
start = time.perf_counter(); draw(n); taken = time.perf_counter() - start
n = max(n, min(10**6, int(n * 0.5 / taken)))
times = []
for _ in range(3):
    start = time.perf_counter(); draw(n); times.append((time.perf_counter() - start) / n)
print(sorted(times)[1])
"""


def seconds(action, count, clock):
    start = clock()
    action(count)
    return clock() - start


def side_by_side(ours, theirs, *, count, repeats, clock, typical=statistics.median):
    """Nanoseconds per draw of each, taken in turn."""
    ours(count // 10)
    theirs(count // 10)
    pairs = [(seconds(ours, count, clock), seconds(theirs, count, clock)) for _ in range(repeats)]
    return tuple(typical(column) / count * 1e9 for column in zip(*pairs, strict=True))


def aes(count):
    """The bits of so many words, as fast as the cipher gives them: a megabyte at a time."""
    cipher = Cipher(AES256(os.urandom(32)), CTR(os.urandom(16))).encryptor()
    zeros, out = bytes(2**20), bytearray(2**20 + 16)
    for _ in range(-(-count // 2**17)):
        cipher.update_into(zeros, out)


def bits_of(rate):
    """Random bits that one of very many draws at a rate takes, ties and the rest left out."""
    tables = bulk(Fraction(rate))
    return 8 + 16 * len(tables.parts)


def limits(noise, *, count, **how):
    """Each rate's draws beside the AES keystream of the bits that they take."""
    for name, rate in RATES.items():
        bits = bits_of(rate)
        mine, words = side_by_side(
            lambda n, r=rate: noise.geometric(r, n),
            lambda n, b=bits: aes(n * b // 64),
            count=count,
            **how,
        )
        yield name, bits, mine, words


def by_cores(noise, *, count, repeats, cores):
    """One core and all, by the clock on the wall, in turn; the best of each."""
    for name, rate in RATES.items():
        one, every = [], []
        for _ in range(repeats):
            for spent, allowed in ((one, {min(cores)}), (every, cores)):
                os.sched_setaffinity(0, allowed)
                spent.append(
                    seconds(lambda n, r=rate: noise.geometric(r, n), count, time.perf_counter)
                )
        yield name, min(one) / count * 1e9, min(every) / count * 1e9


def cases(noise, other):
    def p(rate):
        return -math.expm1(-float(rate))

    for name, rate in RATES.items():
        yield (
            f"geometric, rate {name}",
            lambda n, r=rate: noise.geometric(r, n),
            lambda n, r=rate: other.geometric(p(r), n),
        )
    for name, rate in RATES.items():
        yield (
            f"two_sided, rates {name}",
            lambda n, r=rate: noise.two_sided(r, r, n),
            lambda n, r=rate: other.geometric(p(r), n) - other.geometric(p(r), n),
        )
    yield (
        "bernoulli, 1/3",
        lambda n: noise.bernoulli(Fraction(1, 3), n),
        lambda n: other.random(n) < 1 / 3,
    )
    yield (
        "bernoulli_exp, rate 1",
        lambda n: noise.bernoulli_exp(1, n),
        lambda n: other.random(n) < math.exp(-1),
    )
    yield (
        "uniform, below 1000",
        lambda n: noise.uniform(1000, n),
        lambda n: other.integers(1000, size=n),
    )
    yield "permutation", noise.permutation, other.permutation


def many_rates(noise, other, *, count, **how):
    """Draws that have a rate each: as a list of Fractions and as an array of floats."""
    for distinct in DISTINCT:
        rates = [Fraction(1000, 10_000 + i) for i in range(distinct)]
        codes = np.arange(count) % distinct
        as_list = [rates[code] for code in codes.tolist()]
        as_array = np.array([float(rate) for rate in rates])[codes]
        chances = -np.expm1(-as_array)
        for name, value in (("list", as_list), ("array", as_array)):
            mine, its = side_by_side(
                lambda n, v=value: noise.geometric(v[:n], n),
                lambda n, p=chances: other.geometric(p[:n], n),
                count=count,
                **how,
            )
            yield f"{name}, {distinct:,} different", mine, its


def singles(noise, other, *, repeats, typical):
    for name, rate in {**RATES, "2^-40": Fraction(1, 2**40)}.items():
        p = -math.expm1(-float(rate))
        for kind, ours in (
            ("geometric", lambda n, r=rate: [noise.geometric(r, 1) for _ in range(n)]),
            ("two_sided", lambda n, r=rate: [noise.two_sided(r, r, 1) for _ in range(n)]),
        ):
            # Short calls on a shared machine mostly measure the others: the processor's time too.
            walls, processor = (
                side_by_side(
                    ours,
                    lambda n, p=p: [other.geometric(p, 1) for _ in range(n)],
                    count=SINGLES,
                    repeats=repeats,
                    clock=clock,
                    typical=typical,
                )
                for clock in (time.perf_counter, time.process_time)
            )
            yield f"{kind}, rate {name}", *(spent / 1e3 for spent in (*walls, *processor))


def peer_rows(interpreter, ours, clock):
    timer = TIMER.replace("perf_counter", clock.__name__)
    for name, setup in PEERS.items():
        done = subprocess.run(
            [interpreter, "-c", setup + timer], capture_output=True, text=True, check=False
        )
        if done.returncode:
            missing = "ModuleNotFoundError" in done.stderr
            reason = done.stderr.strip().splitlines()[-1:] or ["no output"]
            yield name, None, "not installed" if missing else f"failed: {reason[0][:60]}"
        else:
            theirs = float(json.loads(done.stdout.splitlines()[-1])) * 1e9
            yield name, theirs, f"{theirs / ours:,.0f}"


def machine():
    """What the figures depend on."""
    import cryptography

    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{platform.machine()}, {os.cpu_count()} cores{load}; Python {platform.python_version()}, "
        f"numpy {np.__version__}, cryptography {cryptography.__version__}; {date.today()}"  # noqa: DTZ011
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10**7)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peer", default=sys.executable)
    parser.add_argument("--cpu", action="store_true", help="the processor's time, not the clock's")
    parser.add_argument("--least", action="store_true", help="the least of the repeats")
    arguments = parser.parse_args()
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if cores:
        os.sched_setaffinity(0, {max(cores)})
    clock = time.process_time if arguments.cpu else time.perf_counter
    typical = min if arguments.least else statistics.median
    how = {"repeats": arguments.repeats, "clock": clock, "typical": typical}
    noise, other = SecureNoise(), np.random.default_rng()
    taken = f"{typical.__name__} of {arguments.repeats} in turn, {clock.__name__}"
    print(f"{arguments.draws:,} draws, {taken}")
    print(f"{machine()}\n")
    print("| sampler | onesided ns/draw | numpy PCG64 ns/draw | times as fast |")
    print("|---|--:|--:|--:|")
    two_sided = math.nan
    for name, ours, theirs in cases(noise, other):
        mine, its = side_by_side(ours, theirs, count=arguments.draws, **how)
        two_sided = mine if name == "two_sided, rates 1" else two_sided
        print(f"| {name} | {mine:.2f} | {its:.2f} | {its / mine:.1f} |", flush=True)
    print("\n| geometric, rate | bits | ns/draw | AES-256-CTR for its bits, ns | share of AES |")
    print("|---|--:|--:|--:|--:|")
    for name, bits, mine, words in limits(noise, count=arguments.draws, **how):
        print(f"| {name} | {bits} | {mine:.2f} | {words:.2f} | {words / mine:.0%} |", flush=True)
    print("\n| a rate for each draw | onesided ns/draw | numpy PCG64 ns/draw |\n|---|--:|--:|")
    tenth = arguments.draws // 10
    for name, mine, its in many_rates(noise, other, count=tenth, **how):
        print(f"| {name} | {mine:,.0f} | {its:,.0f} |", flush=True)
    print("\n| one draw at a time, µs | onesided | numpy geometric | onesided, CPU | numpy, CPU |")
    print("|---|--:|--:|--:|--:|")
    for name, *times in singles(noise, other, repeats=arguments.repeats, typical=typical):
        print(f"| {name} | {' | '.join(f'{spent:.1f}' for spent in times)} |", flush=True)
    if len(cores) > 1:
        print(f"\n| geometric, rate | one core, ns/draw | {len(cores)} cores | times as fast |")
        print("|---|--:|--:|--:|")
        repeats = arguments.repeats
        for name, one, every in by_cores(
            noise, count=arguments.draws, repeats=repeats, cores=cores
        ):
            print(f"| {name} | {one:.2f} | {every:.2f} | {one / every:.2f} |", flush=True)
        os.sched_setaffinity(0, cores)
    print("\n| other libraries | ns/draw | onesided two_sided is times as fast |\n|---|--:|--:|")
    for name, theirs, ratio in peer_rows(arguments.peer, two_sided, clock):
        print(f"| {name} | {'' if theirs is None else f'{theirs:,.0f}'} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
