"""Unknown keys: a histogram of 10 million five-grams over 64^5 values, and n-grams of trajectories.

    python benchmarks/unknown_keys.py [--rows 10000000] [--rounds 3]

"histogram": a Parquet file of 10 million (person, five-gram) rows, 500,000 people; nearly all
five-grams differ, the worst case for memory. "ngrams": the five-grams of 500,000 trajectories of 20
steps each, found first. Under ``sensitive`` at ε = 20, at most 20 five-grams of a person; all of it
is included: reading, cutting units down, noise, sorting, and the ledger in a file. A fresh process
for each; the plain query is the engine's own distinct-and-group-by of the same five-grams, without
bounds or noise. Seconds are those of a clock, and of the processors ("cpu", imports included),
whose ratio says more on a busy machine. Peak memory is the process's largest resident size.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PEOPLE, VALUES, STEPS = 500_000, 64, 5
ENGINES = ("polars", "duckdb")
MODES = ("histogram", "ngrams")
NAMES = [f"place_{step}" for step in range(1, STEPS + 1)]


def make(folder: Path, rows: int) -> None:
    import numpy as np
    import polars as pl

    random = np.random.default_rng(7)
    person = random.integers(0, PEOPLE, rows, dtype=np.int32)
    open_to_all = pl.Series("minor", np.zeros(rows, dtype=bool))
    grams = {name: random.integers(0, VALUES, rows).astype(np.int8) for name in NAMES}
    frame = pl.DataFrame({"person": person, **grams}).with_columns(open_to_all)
    frame.write_parquet(folder / "histogram.parquet")
    steps = {
        "person": person,
        "time": random.integers(0, 1_000_000, rows, dtype=np.int32),
        "place": random.integers(0, VALUES, rows).astype(np.int8),
    }
    pl.DataFrame(steps).with_columns(open_to_all).write_parquet(folder / "ngrams.parquet")


def plain(engine: str, mode: str, path: Path) -> int:
    if engine == "duckdb":
        import duckdb

        keys = ", ".join(NAMES)
        if mode == "histogram":
            rows = f"SELECT DISTINCT person, {keys} FROM '{path}'"
        else:
            later = ", ".join(f"lead(place, {k}) OVER w AS {NAMES[k]}" for k in range(1, STEPS))
            window = "WINDOW w AS (PARTITION BY person ORDER BY time, place)"
            steps = f"SELECT person, place AS {NAMES[0]}, {later} FROM '{path}' {window}"
            rows = f"SELECT DISTINCT * FROM ({steps}) WHERE {NAMES[-1]} IS NOT NULL"
        return len(
            duckdb.sql(f"SELECT {keys}, count(*) FROM ({rows}) GROUP BY ALL").to_arrow_table()
        )
    import polars as pl

    rows = pl.scan_parquet(path)
    if mode == "ngrams":
        later = [
            pl.col("place").shift(-k).over("person", order_by=["time", "place"]).alias(NAMES[k])
            for k in range(1, STEPS)
        ]
        rows = rows.select("person", pl.col("place").alias(NAMES[0]), *later).drop_nulls()
    return rows.select("person", *NAMES).unique().group_by(NAMES).agg(pl.len()).collect().height


def ours(engine: str, mode: str, path: Path) -> int:
    import onesided as od

    if engine == "duckdb":
        import duckdb

        data = duckdb.read_parquet(str(path))
    else:
        import polars as pl

        data = pl.scan_parquet(path)
    policy = od.policy.sensitive("minor")
    with tempfile.TemporaryDirectory() as folder:
        ledger = od.Ledger.open(Path(folder) / "ledger.db")
        session = od.Session(data, unit="person", policy=policy, budget=20, ledger=ledger)
        if mode == "histogram":
            release = session.discover(by=NAMES, epsilon=20, max_groups=20)
        else:
            release = session.ngrams(by="place", order="time", n=STEPS, epsilon=20, max_groups=20)
        ledger.close()
        return len(release)


def worker(part: str, engine: str, mode: str, path: Path) -> None:
    case = {"plain": plain, "ours": ours}[part]
    start = time.perf_counter()
    found = case(engine, mode, path)
    taken = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(json.dumps({"found": found, "taken": taken, "cpu": cpu, "peak": peak}))


def run(part: str, engine: str, mode: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--worker", part, engine, mode, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", nargs=4)
    given = parser.parse_args()
    if given.worker:
        part, engine, mode, path = given.worker
        worker(part, engine, mode, Path(path))
        return
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), given.rows)
        print(
            "| engine | question | plain s | ours s | plain cpu | ours cpu | cpu ratio "
            "| plain MB | ours MB | keys found |"
        )
        print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
        for engine in ENGINES:
            for mode in MODES:
                path = Path(folder) / f"{mode}.parquet"
                pairs = [
                    (run("plain", engine, mode, path), run("ours", engine, mode, path))
                    for _ in range(given.rounds)
                ]
                a, b = (statistics.median(p[i]["taken"] for p in pairs) for i in (0, 1))
                c, d = (statistics.median(p[i]["cpu"] for p in pairs) for i in (0, 1))
                ratio = statistics.median(y["cpu"] / x["cpu"] for x, y in pairs)
                first, second = (max(p[i]["peak"] for p in pairs) for i in (0, 1))
                print(
                    f"| {engine} | {mode} | {a:.1f} | {b:.1f} | {c:.1f} | {d:.1f} | {ratio:.2f} "
                    f"| {first:.0f} | {second:.0f} | {pairs[0][1]['found']:,.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
