"""Seconds a batch of the monitor on Spark, against the plain windowed distinct count there.

    python benchmarks/spark_monitor.py [--visits 10000000] [--places 100000] [--batches 20]
        [--window 5] [--folder FOLDER]

Local mode, two cores, one session. Both read the same Parquet files, one for each batch. *Plain*
is what one would write without privacy: for each batch, read the files in the window, count
different persons at each place, collect the counts. *Ours* is od.spark.monitor over the same files
as a stream, state in SQLite, answers to Parquet. They take turns batch by batch.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import onesided as od
from onesided import policy


def main():
    options = arguments()
    folder = Path(options.folder or tempfile.mkdtemp())
    (folder / "in").mkdir(parents=True, exist_ok=True)
    make(folder / "all", options)
    spark = session()
    source = od.spark.files(spark, str(folder / "in"))
    rules = {"at_most": 20, "window": options.window, "epsilon": 1}
    rules["policy"] = policy.presence(max_groups=3)
    plain, ours = [], []
    with od.spark.monitor(
        source, range(options.places), state=folder / "state.db", sink=folder / "out", **rules
    ) as monitor:
        for number in range(options.batches):
            started = time.perf_counter()
            counted(spark, folder, number, options.window)
            plain.append(time.perf_counter() - started)
            (folder / "all" / name(number)).rename(folder / "in" / name(number))
            (folder / "all" / name(number)).symlink_to(folder / "in" / name(number))
            started = time.perf_counter()
            monitor.run(folder / "check")
            ours.append(time.perf_counter() - started)
            print(f"{number:3}  plain {plain[-1]:6.2f} s   ours {ours[-1]:6.2f} s", flush=True)
    print(
        f"median after the first: plain {statistics.median(plain[1:]):.2f} s, "
        f"ours {statistics.median(ours[1:]):.2f} s; all: plain {sum(plain):.1f} s, "
        f"ours {sum(ours):.1f} s, {sum(ours) / sum(plain):.2f} times"
    )
    spark.stop()
    if not options.folder:
        shutil.rmtree(folder)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=10**7)
    parser.add_argument("--places", type=int, default=10**5)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--folder")
    return parser.parse_args()


def name(number):
    return f"visits-{number}.parquet"


def make(folder, options):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    dice = np.random.default_rng(1)
    size = options.visits // options.batches
    for number in range(options.batches):
        places = (options.places * dice.random(size) ** 2).astype(np.int64)
        table = pa.table({"person": dice.integers(0, 10**6, size), "place": places})
        pq.write_table(table, folder / name(number))


def counted(spark, folder, number, window):
    from pyspark.sql import functions as F  # noqa: N812

    paths = [folder / "all" / name(n) for n in range(max(0, number - window + 1), number + 1)]
    visits = spark.read.parquet(*map(str, paths))
    return visits.groupBy("place").agg(F.count_distinct("person")).toArrow()


def session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


if __name__ == "__main__":
    main()
