"""What a count costs beside the plain query, by the processor's seconds, in pairs.

    python benchmarks/one_pass.py [--rows 10000000] [--rounds 5] [--only keys,rows,conditions]

For machines that others use too: the plain query and ours take turns in one process, each round
gives a ratio of CPU seconds, and the median is reported. The session is open before.

keys: 10^6 rows of 300,000 people over 10^6 keys, whole numbers and text, with the answer's frame;
plain is the engine's own distinct-and-group-by.
rows: 10^7 visits over 5,835 places in Parquet: rows as they are, distinct people, and people
cut down to three and to ten places; plain is group-by, or distinct-and-group-by, untruncated.
conditions: 10^7 rows, ``where=`` and rows of a kind; plain is the engine's own filter and group-by.
"""

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import duckdb
import engines
import numpy as np
import polars as pl

import onesided as od

KEYS = 10**6
CONDITIONS = (
    "hour < 12",
    "age >= 18",
    "income > 30000",
    "city = 'rome'",
    "age >= 18 AND hour < 12 AND city <> 'oslo'",
    "city IN ('rome', 'bern')",
    "city LIKE 'r%'",
    "age + hour > 50",
)


def paired(name, plain, ours, rounds):
    """One row of the table."""
    plain()
    ours()
    times = [(cpu(plain), cpu(ours)) for _ in range(rounds)]
    first, second = (median(part) for part in zip(*times, strict=True))
    ratio = median(mine / theirs for theirs, mine in times)
    print(f"| {name} | {first:.3f} | {second:.3f} | {ratio:.2f} |", flush=True)


def cpu(query):
    began = time.process_time()
    query()
    return time.process_time() - began


def in_memory(engine, frame):
    """The table in its engine, and how the engine runs plain SQL over it."""
    if engine == "polars":
        return frame
    connection = duckdb.connect()
    connection.register("source", frame.to_arrow())
    connection.execute("CREATE TABLE visits AS SELECT * FROM source")
    return connection.table("visits")


def plain_count(engine, data, *, condition="", distinct=False):
    if engine == "duckdb":
        where = f" where {condition}" if condition else ""
        rows = f"(select distinct person, place from v{where})" if distinct else f"v{where}"
        text = f"select place, count(*) from {rows} group by place"
        return lambda: data.query("v", text).fetchnumpy()
    lazy = data.lazy().filter(pl.sql_expr(condition)) if condition else data.lazy()
    rows = lazy.select("person", "place").unique() if distinct else lazy
    return lambda: rows.group_by("place").agg(pl.len()).collect(engine="streaming")


def keys(engine, rounds):
    random = np.random.default_rng(1)
    numbers = pl.DataFrame(
        {"person": random.integers(0, 300_000, KEYS), "place": random.integers(0, KEYS, KEYS)}
    )
    told = pl.format("place-{}", pl.col("place"))
    listed = pl.DataFrame({"place": np.arange(KEYS)})
    for kind, frame, given in (
        ("whole numbers, array", numbers, np.arange(KEYS)),
        ("whole numbers, list", numbers, list(range(KEYS))),
        ("text, series", numbers.with_columns(told), listed.select(told)["place"]),
        ("text, list", numbers.with_columns(told), listed.select(told)["place"].to_list()),
    ):
        data = in_memory(engine, frame)
        policy = od.policy.presence(max_groups=3)
        session = od.Session(data, unit="person", policy=policy, budget=10**6)

        def ours(session=session, given=given):
            return session.count(by="place", keys=given, epsilon=1).frame

        name = f"{engine}, {KEYS:,} keys: {kind}"
        paired(name, plain_count(engine, data, distinct=True), ours, rounds)


def rows(engine, folder, rounds):
    data = engines.table(engine, folder, memory="")
    asked = {"by": "place", "keys": range(engines.PLACES), "epsilon": 1}
    policies = (
        ("rows", od.policy.bounded(), None, {}),
        ("distinct people", od.policy.presence(max_groups=3), "person", {}),
        ("people cut to 3 places", od.policy.addition_only(), "person", {"max_groups": 3}),
        ("people cut to 10 places", od.policy.addition_only(), "person", {"max_groups": 10}),
    )
    for name, policy, unit, more in policies:
        session = od.Session(data, unit=unit, policy=policy, budget=10**6)

        def ours(session=session, more=more):
            return session.count(**asked, **more)

        plain = plain_count(engine, data, distinct=unit is not None)
        paired(f"{engine}: {name}", plain, ours, rounds)


def conditions(engine, size, rounds):
    random = np.random.default_rng(3)
    cities = np.array(["rome", "oslo", "bern", "lima"])[random.integers(0, 4, size)]
    frame = pl.DataFrame(
        {
            "place": random.integers(0, engines.PLACES, size, dtype=np.int32),
            "hour": random.integers(0, 24, size).astype(np.int8),
            "age": random.integers(0, 100, size),
            "income": random.normal(3e4, 1e4, size),
            "city": cities,
        }
    )
    data = in_memory(engine, frame)
    asked = {"by": "place", "keys": range(engines.PLACES), "epsilon": 1}
    for text in CONDITIONS:
        session = od.Session(data, policy=od.policy.bounded(), budget=10**6)
        plain = plain_count(engine, data, condition=text)
        paired(
            f"{engine}, where {text}",
            plain,
            lambda session=session, text=text: session.count(**asked, where=text),
            rounds,
        )
        session = od.Session(data, policy=od.policy.sensitive(text), budget=10**6)
        plain = plain_count(engine, data, condition=f"NOT ({text})")
        paired(
            f"{engine}, open unless {text}",
            plain,
            lambda session=session: session.count(**asked, counted="open"),
            rounds,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="keys,rows,conditions")
    parser.add_argument("--engines", default="polars,duckdb")
    parser.add_argument("--folder", help="where the Parquet files of visits are, or are to be kept")
    given = parser.parse_args()
    print("| count | plain CPU s | ours CPU s | ratio |\n|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(given.folder or temporary)
        folder.mkdir(exist_ok=True)
        if "rows" in given.only and not any(folder.iterdir()):
            engines.make(folder, given.rows)
        for engine in given.engines.split(","):
            if "keys" in given.only:
                keys(engine, given.rounds)
            if "rows" in given.only:
                rows(engine, folder, given.rounds)
            if "conditions" in given.only:
                conditions(engine, given.rows, given.rounds)


if __name__ == "__main__":
    main()
