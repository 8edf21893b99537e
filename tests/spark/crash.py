"""Kill drivers and executors of a followed stream at random instants, and look at what is left.

    python tests/spark/crash.py FOLDER KILLS SEED [MINUTES]

MINUTES: after which no more is killed, and what is there is checked.

Each child is a Spark application with two executors in processes of their own and speculative
execution; it follows a folder of files from its checkpoint and publishes to Parquet. Half of the
kills hit the driver (its JVM and Python), half an executor, after which the stream goes on or dies
by itself. Between kills new files appear. At the end one child is left alone. Prints a JSON
summary; fails with an AssertionError unless the answers are those of one machine with the same
key, each published once, for one charge.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from onesided import Monitor, policy
from onesided.monitor import _monitor

KEY = bytes(range(32))
PLACES = list(range(60))
RULES = {"at_most": 3, "window": 6, "epsilon": 1, "policy": policy.presence(max_groups=2)}
_monitor.new_key = lambda: KEY


def batch(number):
    dice = np.random.default_rng(number)
    size = int(dice.poisson(80))
    return {"person": dice.integers(0, 300, size), "place": dice.zipf(1.7, size) % 60}


def drop(folder, number):
    import pyarrow as pa
    import pyarrow.parquet as pq

    draft = folder / "in" / f".visits-{number}"
    pq.write_table(pa.table(batch(number)), draft)
    draft.rename(folder / "in" / f"visits-{number}.parquet")


def follow(folder, *, once):
    """The child: follow the stream until killed, or until all files are answered."""
    from pyspark.sql import SparkSession

    import onesided as od

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "600m",
        "spark.executor.memory": "512m",
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.3",
        "spark.speculation.minTaskRuntime": "20ms",
        "spark.log.level": "OFF",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    master = os.environ.get("CRASH_MASTER", "local-cluster[2,1,512]")
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    (folder / "ready").touch()
    source = od.spark.files(spark, str(folder / "in"))
    options = {"state": folder / "state.db", "sink": folder / "out"}
    with od.spark.monitor(source, PLACES, **options, **RULES) as monitor:
        while True:
            monitor.run(folder / "check")
            if once:
                break
            time.sleep(0.1)
    spark.stop()


def started(folder, *, once=False):
    (folder / "ready").unlink(missing_ok=True)
    command = [sys.executable, __file__, "--child", str(folder), str(int(once))]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def descendants(pid):
    """The processes below one, with their command lines."""
    parents = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            number = int(entry.name)
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            parents[number] = parent, command
    below, found = {pid}, {}
    for _ in range(8):
        for number, (parent, command) in parents.items():
            if parent in below and number not in found:
                found[number] = command
        below |= set(found)
    return found


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def end(child):
    """Kill the driver and whatever it started."""
    below = descendants(child.pid)
    for pid in (child.pid, *below):
        kill(pid)
    child.wait()


def disturb(folder, kills, dice, minutes):
    """Kill until enough were killed; how many drivers and executors."""
    killed, number, child = {"drivers": 0, "executors": 0}, 3, started(folder)
    ends = time.monotonic() + 60 * minutes
    while sum(killed.values()) < kills and time.monotonic() < ends:
        began = time.monotonic()
        while not (folder / "ready").exists() and child.poll() is None:
            assert time.monotonic() - began < 300, "a driver did not start"
            time.sleep(0.1)
        for _ in range(dice.randint(1, 3)):
            time.sleep(dice.uniform(0, 3))
            number += 1
            drop(folder, number)
            executors = [
                p for p, c in descendants(child.pid).items() if "GrainedExecutorBackend" in c
            ]
            if executors and sum(killed.values()) < kills:
                kill(dice.choice(executors))
                killed["executors"] += 1
        if sum(killed.values()) < kills:
            wait_for_a_step(folder)
            time.sleep(dice.uniform(0, 4))
            end(child)
            killed["drivers"] += 1
            child = started(folder)
    end(child)
    return killed, number


def wait_for_a_step(folder):
    """So that kills hit drivers at work; no longer than a minute."""
    before, began = published(folder), time.monotonic()
    while published(folder) == before and time.monotonic() - began < 60:
        time.sleep(0.05)


def published(folder):
    return len(list((folder / "out").glob("step=*")))


def check(folder, number):
    """The answers are those of one machine; each was published once; one charge."""
    import pyarrow.parquet as pq

    with Monitor(PLACES, **RULES) as here:
        for n in range(1, number + 1):
            here.step(batch(n), id=f"visits-{n}.parquet", time=n)
        expected = {release.batch: release for release in here.history()}
    with Monitor(PLACES, state=folder / "state.db", **RULES) as there:
        history = list(there.history())
        assert there.ledger.check().charges == 1
    assert len(history) == number == published(folder)
    for release in history:
        same = expected[release.batch]
        assert (release.number, release.head) == (same.number, same.head), release.batch
        parts = list((folder / "out" / f"step={release.number:08}").glob("*.parquet"))
        rows = [row for part in parts for row in pq.ParquetFile(part).read().to_pylist()]
        told = {row["place"]: row["status"] for row in rows}
        assert len(rows) == len(PLACES)
        assert told == dict(zip(PLACES, same.status, strict=True))


def main():
    if sys.argv[1] == "--child":
        follow(Path(sys.argv[2]), once=sys.argv[3] == "1")
        return
    folder, kills, dice = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    (folder / "in").mkdir(parents=True)
    for number in (1, 2, 3):
        drop(folder, number)
    minutes = float(sys.argv[4]) if len(sys.argv) > 4 else 600
    killed, number = disturb(folder, kills, dice, minutes)
    last = started(folder, once=True)
    assert last.wait(timeout=600) == 0, (folder / "log").read_text()[-3000:]
    check(folder, number)
    json.dump({**killed, "steps": number}, sys.stdout)


if __name__ == "__main__":
    main()
