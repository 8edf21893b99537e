"""What ``session.count`` adds to the engine's own distinct-and-group-by.

    python benchmarks/session.py [--rows 10000000] [--rounds 5]

10 million visits of a million people to 5,835 places, as a Parquet file. Each case is a fresh
process per round; within it the plain query and ours alternate, and the ratio of their medians is
reported. Peak memory is a process's largest resident size, plain and ours in processes apart.
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

PEOPLE, PLACES = 1_000_000, 5_835
ENGINES = ("polars", "duckdb")
MODES = ("keep", "truncate")


def make(folder: Path, rows: int) -> Path:
    import numpy as np
    import polars as pl

    path = folder / "visits.parquet"
    random = np.random.default_rng(7)
    weight = 1 / (np.arange(PLACES) + 10)
    pl.DataFrame(
        {
            "person": random.integers(0, PEOPLE, rows, dtype=np.int32),
            "place": random.choice(PLACES, rows, p=weight / weight.sum()).astype(np.int32),
            "hour": random.integers(0, 24, rows).astype(np.int8),
        }
    ).write_parquet(path)
    return path


def plain_query(engine: str, path: Path):
    if engine == "polars":
        import polars as pl

        pairs = pl.scan_parquet(path).select("person", "place").unique()
        query = pairs.group_by("place").agg(pl.len())
        return lambda: query.collect().height
    import duckdb

    pairs = f"select distinct person, place from '{path}'"
    text = f"select place, count(*) from ({pairs}) group by place"
    return lambda: len(duckdb.sql(text).fetchall())


def our_query(engine: str, path: Path, mode: str):
    import onesided as od

    if engine == "polars":
        import polars as pl

        data = pl.scan_parquet(path)
    else:
        import duckdb

        data = duckdb.read_parquet(str(path))
    if mode == "keep":
        policy, bound = od.policy.presence(max_groups=3), None
    else:
        policy, bound = od.policy.addition_only(), 3

    def run():
        with tempfile.TemporaryDirectory() as folder:
            ledger = od.Ledger.open(Path(folder) / "ledger.db")
            session = od.Session(data, unit="person", policy=policy, budget=1, ledger=ledger)
            release = session.count(by="place", keys=range(PLACES), epsilon=1, max_groups=bound)
            ledger.close()
            return len(release.at_most(1000))

    return run


def worker(engine: str, mode: str, path: Path, part: str) -> None:
    plain, ours = plain_query(engine, path), our_query(engine, path, mode)
    times = {"plain": [], "ours": []}
    cases = {"plain": plain, "ours": ours}
    if part != "both":
        cases = {part: cases[part]}
    for number in range(4):
        for name, case in cases.items():
            start = time.perf_counter()
            case()
            if number:
                times[name].append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**{k: statistics.median(v) for k, v in times.items() if v}, "peak": peak}))


def run(path: Path, engine: str, mode: str, part: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--worker", engine, mode, str(path), part]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", nargs=4)
    given = parser.parse_args()
    if given.worker:
        engine, mode, path, part = given.worker
        worker(engine, mode, Path(path), part)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = make(Path(folder), given.rows)
        print("| engine | mode | plain s | ours s | ratio | plain MB | ours MB |")
        print("|---|---|--:|--:|--:|--:|--:|")
        for engine in ENGINES:
            for mode in MODES:
                both = [run(path, engine, mode, "both") for _ in range(given.rounds)]
                plain = statistics.median(x["plain"] for x in both)
                ours = statistics.median(x["ours"] for x in both)
                ratio = statistics.median(x["ours"] / x["plain"] for x in both)
                peak = {part: run(path, engine, mode, part)["peak"] for part in ("plain", "ours")}
                print(
                    f"| {engine} | {mode} | {plain:.3f} | {ours:.3f} | {ratio:.2f} "
                    f"| {peak['plain']:.0f} | {peak['ours']:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
