"""The session's count on Spark, DuckDB and Polars beside the plain query: time and peak memory.

    python benchmarks/engines.py [--rows 10000000] [--engines duckdb,polars,spark] [--rounds 3]
    python benchmarks/engines.py --engines duckdb,polars --threads 1
    python benchmarks/engines.py --rows 1000000000 --engines duckdb --rounds 1 --memory 8GB

Visits of a million people to 5,835 places, as Parquet files in a temporary folder. The plain query
counts distinct people per place by the engine's own means; ours is ``session.count`` with public
keys, once as "keep" (under presence) and once as "truncate" (each person cut down to 3 places).
Each case is a process of its own, which runs it ``rounds`` times after one run to warm up where
there is more than one round; medians are reported, also of the CPU seconds of a round, which are
Python's alone for Spark. Peak memory is the largest sum of resident sizes over the process and all
its children, the JVM included, looked at 10 times a second. The last CPU seconds are those of all
rounds and the start. --threads: how many DuckDB and Polars may use.
Polars runs its streaming engine for the plain query; ours reaches it through narwhals, lazily.
--memory limits DuckDB, which then spills into a folder beside the files. 10^9 rows are 5 GB there.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PEOPLE, PLACES = 1_000_000, 5_835
CASES = ("plain", "keep", "truncate")
CHUNK = 10_000_000


def make(folder: Path, rows: int) -> Path:
    import numpy as np
    import polars as pl

    random = np.random.default_rng(7)
    weight = 1 / (np.arange(PLACES) + 10)
    edges = np.cumsum(weight / weight.sum())
    for number, start in enumerate(range(0, rows, CHUNK)):
        size = min(CHUNK, rows - start)
        pl.DataFrame(
            {
                "person": random.integers(0, PEOPLE, size, dtype=np.int32),
                "place": np.minimum(np.searchsorted(edges, random.random(size)), PLACES - 1).astype(
                    np.int32
                ),
                "hour": random.integers(0, 24, size).astype(np.int8),
            }
        ).write_parquet(folder / f"visits-{number:03}.parquet")
    return folder


def table(engine: str, folder: Path, memory: str, threads: str = ""):
    files = f"{folder}/*.parquet"
    if engine == "polars":
        if threads:
            os.environ["POLARS_MAX_THREADS"] = threads
        import polars as pl

        return pl.scan_parquet(files)
    if engine == "duckdb":
        import duckdb

        if threads:
            duckdb.execute(f"SET threads = {int(threads)}")
        if memory:
            duckdb.execute(f"SET memory_limit = '{memory}'")
            duckdb.execute(f"SET temp_directory = '{folder}/spill'")
        return duckdb.read_parquet(files)
    return spark_session().read.parquet(str(folder))


def spark_session():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "6g")
    for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(name, "false")
    return builder.config("spark.sql.shuffle.partitions", "16").getOrCreate()


def plain_query(engine: str, data):
    if engine == "polars":
        import polars as pl

        query = data.select("person", "place").unique().group_by("place").agg(pl.len())
        return lambda: query.collect(engine="streaming").height
    if engine == "duckdb":
        pairs = "select distinct person, place from visits"
        text = f"select place, count(*) from ({pairs}) group by place"
        return lambda: len(data.query("visits", text).fetchall())
    pairs = data.select("person", "place").distinct()
    return lambda: len(pairs.groupBy("place").count().collect())


def our_query(data, mode: str):
    import onesided as od

    policy = od.policy.presence(max_groups=3) if mode == "keep" else od.policy.addition_only()
    bound = None if mode == "keep" else 3

    def run():
        session = od.Session(data, unit="person", policy=policy, budget=1)
        release = session.count(by="place", keys=range(PLACES), epsilon=1, max_groups=bound)
        return len(release.at_most(1000))

    return run


def worker(engine: str, case: str, folder: Path, rounds: int, *limits: str) -> None:
    data = table(engine, folder, *limits)
    query = plain_query(engine, data) if case == "plain" else our_query(data, case)
    times = []
    for _ in range(rounds + (rounds > 1)):
        start, cpu = time.perf_counter(), time.process_time()
        query()
        times.append((time.perf_counter() - start, time.process_time() - cpu))
    print(json.dumps([statistics.median(some) for some in zip(*times[-rounds:], strict=True)]))


def tree(root: int) -> tuple[int, dict[int, float]]:
    """Bytes held by a process and all that it started, and the CPU seconds of each."""
    parents, sizes, seconds = {}, {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            sizes[int(entry.name)] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
            ticks = int(fields[11]) + int(fields[12])
            seconds[int(entry.name)] = ticks / os.sysconf("SC_CLK_TCK")
    inside = []
    for process in sizes:
        above = process
        while above in parents and above != root:
            above = parents[above]
        if above == root:
            inside.append(process)
    return sum(sizes[one] for one in inside), {one: seconds[one] for one in inside}


def run(engine: str, case: str, folder: Path, *more: object) -> tuple[list[float], float, float]:
    """Median seconds and CPU seconds, CPU seconds of all rounds and the start, and peak bytes."""
    command = [sys.executable, __file__, "--worker", engine, case, str(folder), *map(str, more)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    peak, cpu, done = [0], {}, threading.Event()

    def watch():
        while not done.wait(0.1):
            size, seconds = tree(process.pid)
            peak[0] = max(peak[0], size)
            cpu.update(seconds)

    watcher = threading.Thread(target=watch)
    watcher.start()
    out, _ = process.communicate()
    done.set()
    watcher.join()
    taken = [float("nan")] * 2 if process.returncode else json.loads(out.splitlines()[-1])
    return taken, sum(cpu.values()), peak[0] / 2**20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", default="duckdb,polars,spark")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--folder", help="where the Parquet files are, or are to be kept")
    parser.add_argument("--memory", default="", help="limit of DuckDB, such as 8GB")
    parser.add_argument("--threads", default="", help="of DuckDB and Polars")
    parser.add_argument("--worker", nargs=6)
    given = parser.parse_args()
    if given.worker:
        engine, case, folder, rounds, *limits = given.worker
        worker(engine, case, Path(folder), int(rounds), *limits)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(given.folder or temporary)
        folder.mkdir(exist_ok=True)
        if not any(folder.iterdir()):
            make(folder, given.rows)
        print(f"{given.rows:,} rows; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        heads = ("engine", "case", "seconds", "over plain", "CPU s a round", "over plain", "CPU s")
        print(f"| {' | '.join(heads)} | peak MB |")
        print("|---|---|--:|--:|--:|--:|--:|--:|")
        for engine in given.engines.split(","):
            plain = [float("nan")] * 2
            for case in given.cases.split(","):
                more = (given.rounds, given.memory, given.threads)
                taken, cpu, peak = run(engine, case, folder, *more)
                plain = taken if case == "plain" else plain
                pairs = zip(taken, plain, strict=True)
                told = " | ".join(f"{one:.2f} | {one / base:.2f}" for one, base in pairs)
                print(f"| {engine} | {case} | {told} | {cpu:.0f} | {peak:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
