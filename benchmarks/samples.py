"""What ``session.sample`` costs beside the engine's own sampling, whose coins are not secure.

    python benchmarks/samples.py [--rows 10000000] [--rounds 3]

10 million visits of a million people, 3 % of the rows sensitive, as a Parquet file. By row: the
engine drops sensitive rows and flips a coin for each other one. By person: the engine finds the
people without a sensitive row, flips a coin for each and joins the rows back. Polars has no coins
of its own; numpy's generator stands in. Each case is a fresh process per round; within it the
plain query and ours alternate, and the ratio of their medians is reported. Peak memory is a
process's largest resident size, plain and ours in processes apart.
"""

import math
from pathlib import Path

from _compare import main

PEOPLE, PLACES = 1_000_000, 5_835
ENGINES = ("polars", "polars-eager", "duckdb")
MODES = ("row", "person")
KEEP = -math.expm1(-1)


def make(folder: Path, rows: int) -> Path:
    import numpy as np
    import polars as pl

    path = folder / "visits.parquet"
    random = np.random.default_rng(7)
    pl.DataFrame(
        {
            "person": random.integers(0, PEOPLE, rows, dtype=np.int32),
            "place": random.integers(0, PLACES, rows, dtype=np.int32),
            "hour": random.integers(0, 24, rows).astype(np.int8),
            "minor": random.random(rows) < 0.03,
        }
    ).write_parquet(path)
    return path


def plain_query(engine: str, path: Path, mode: str):
    if engine == "duckdb":
        import duckdb

        coin = f"random() < {KEEP}"
        if mode == "row":
            text = f"FROM '{path}' WHERE NOT minor AND {coin}"
        else:
            people = f"SELECT person FROM '{path}' GROUP BY person HAVING NOT bool_or(minor)"
            text = f"FROM '{path}' SEMI JOIN (FROM ({people}) WHERE {coin}) USING (person)"
        return lambda: duckdb.sql(text).to_arrow_table().num_rows
    import numpy as np
    import polars as pl

    data = pl.scan_parquet(path)
    frame = data.collect().lazy() if engine == "polars-eager" else data
    random = np.random.default_rng()

    def flip(rows):
        return rows.filter(pl.Series(random.random(rows.height) < KEEP))

    def by_row():
        return flip(frame.filter(~pl.col("minor")).collect()).height

    def by_person():
        people = frame.group_by("person").agg(pl.col("minor").any()).filter(~pl.col("minor"))
        return frame.join(flip(people.collect()).lazy(), on="person", how="semi").collect().height

    return by_row if mode == "row" else by_person


def our_query(engine: str, path: Path, mode: str):
    import onesided as od

    if engine == "duckdb":
        import duckdb

        data = duckdb.read_parquet(str(path))
    else:
        import polars as pl

        data = pl.scan_parquet(path)
        data = data.collect() if engine == "polars-eager" else data
    policy = od.policy.sensitive("minor")

    def run():
        unit = None if mode == "row" else "person"
        session = od.Session(data, unit=unit, policy=policy, budget=1)
        return sum(session.sample(epsilon=1).units.values())

    return run


if __name__ == "__main__":
    main(__file__, make, plain_query, our_query, engines=ENGINES, modes=MODES, second="unit")
