"""What ``session.count`` adds to the engine's own distinct-and-group-by.

    python benchmarks/session.py [--rows 10000000] [--rounds 5]

10 million visits of a million people to 5,835 places, as a Parquet file. Each case is a fresh
process per round; within it the plain query and ours alternate, and the ratio of their medians is
reported. Peak memory is a process's largest resident size, plain and ours in processes apart.
At last, what a count costs beside its rows: milliseconds and Python calls for five rows, in memory.
"""

import cProfile
import pstats
import tempfile
import time
from pathlib import Path
from statistics import median

from _compare import main

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


def plain_query(engine: str, path: Path, _mode: str):
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


def fixed_cost(rounds: int = 300) -> tuple[float, int]:
    """Milliseconds and Python calls of a count over five rows, with a ledger in memory."""
    import polars as pl

    import onesided as od

    rows = pl.DataFrame({"person": [1, 1, 2, 3, 4], "place": list("abaab")})
    policy = od.policy.presence(max_groups=3)
    session = od.Session(rows, unit="person", policy=policy, budget=10**6)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        session.count(by="place", keys=["a", "b"], epsilon="1/2")
        times.append(time.perf_counter() - start)
    profile = cProfile.Profile()
    profile.runcall(session.count, by="place", keys=["a", "b"], epsilon="1/2")
    return median(times) * 1e3, pstats.Stats(profile).total_calls


if __name__ == "__main__":
    milliseconds, calls = fixed_cost()
    print(f"fixed cost of a count: {milliseconds:.2f} ms, {calls:,} Python calls")
    main(__file__, make, plain_query, our_query, engines=ENGINES, modes=MODES, second="mode")
