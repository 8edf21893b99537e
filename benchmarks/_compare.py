"""What benchmarks against a plain query share: fresh processes, alternation, ratios, peak memory.

Each case is a fresh process per round; within it the plain query and ours alternate, and the ratio
of their medians is reported. Peak memory is a process's largest resident size, plain and ours in
processes apart.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main(script, make, plain_query, our_query, *, engines, modes, second) -> None:
    """``make(folder, rows)`` writes the table; the queries take (engine, path, mode)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", nargs=4)
    given = parser.parse_args()
    if given.worker:
        engine, mode, path, part = given.worker
        cases = {"plain": plain_query, "ours": our_query}
        chosen = cases if part == "both" else {part: cases[part]}
        measure({name: make(engine, Path(path), mode) for name, make in chosen.items()})
        return
    with tempfile.TemporaryDirectory() as folder:
        path = make(Path(folder), given.rows)
        print(f"| engine | {second} | plain s | ours s | ratio | plain MB | ours MB |")
        print("|---|---|--:|--:|--:|--:|--:|")
        for engine in engines:
            for mode in modes:
                line(script, engine, mode, path, given.rounds)


def measure(cases) -> None:
    times = {name: [] for name in cases}
    for number in range(4):
        for name, case in cases.items():
            start = time.perf_counter()
            case()
            if number:
                times[name].append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**{k: statistics.median(v) for k, v in times.items()}, "peak": peak}))


def line(script, engine, mode, path, rounds) -> None:
    both = [run(script, path, engine, mode, "both") for _ in range(rounds)]
    plain = statistics.median(x["plain"] for x in both)
    ours = statistics.median(x["ours"] for x in both)
    ratio = statistics.median(x["ours"] / x["plain"] for x in both)
    peak = {part: run(script, path, engine, mode, part)["peak"] for part in ("plain", "ours")}
    print(
        f"| {engine} | {mode} | {plain:.3f} | {ours:.3f} | {ratio:.2f} "
        f"| {peak['plain']:.0f} | {peak['ours']:.0f} |",
        flush=True,
    )


def run(script, path, engine, mode, part):
    command = [sys.executable, script, "--worker", engine, mode, str(path), part]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    return json.loads(done.stdout.splitlines()[-1])
