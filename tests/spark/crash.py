"""Kill drivers and executors of a followed stream at random instants, and look at what is left.

    python tests/spark/crash.py FOLDER KILLS SEED [MINUTES]

MINUTES: after which no more is killed, and what is there is checked.

Each child is a Spark application with an executor on each of two workers and speculative
execution; it follows a folder of files from its checkpoint and publishes to Parquet. A third of the
kills hit the driver (its JVM and Python, one in eight while they start), the others an executor,
after which the stream goes on or dies by itself. Between kills new files appear. At the end one
child is left alone. Prints a line for each kill and a JSON summary; fails with an AssertionError
unless the answers are those of one machine with the same key, each published once, for one charge.
"""

import collections
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from standalone import JVM, Standalone, descendants, speculated

from onesided import Monitor, policy
from onesided.monitor import _monitor

KEY = bytes(range(32))
PLACES = list(range(60))
RULES = {"at_most": 3, "window": 6, "epsilon": 1, "policy": policy.presence(max_groups=2)}
LONG = 1800  # seconds: nothing takes as long, on however busy a machine


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


def session(folder, master, java):
    """A Spark that starts quickly: the queries are small, and each is run a few times only."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    (folder / "events").mkdir(exist_ok=True)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "600m",
        "spark.executor.memory": "512m",
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.3",
        "spark.speculation.minTaskRuntime": "20ms",
        "spark.speculation.task.duration.threshold": "100ms",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{folder}/events",
        "spark.log.level": "OFF",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": " ".join((*JVM, *java)),
        "spark.executor.extraJavaOptions": " ".join((*JVM, *java)),
    }
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def opened(folder, spark):
    import onesided as od

    source = od.spark.files(spark, str(folder / "in"))
    options = {"state": folder / "state.db", "sink": folder / "out", "spark": spark}
    return od.spark.monitor(source, PLACES, **options, **RULES)


def follow(folder, master, *java, once):
    """The child: follow the stream until killed, or until all files are answered."""
    _monitor.new_key = lambda: KEY
    spark = session(folder, master, java)
    (folder / "ready.draft").write_text(spark.sparkContext.applicationId)
    (folder / "ready.draft").rename(folder / "ready")
    with opened(folder, spark) as monitor:
        while not once:
            try:
                monitor.start(folder / "check").awaitTermination()
            except Exception as error:  # noqa: BLE001 - told at the end; the stream goes on
                with (folder / "errors").open("a") as told:
                    told.write(f"{type(error).__name__}: {str(error).splitlines()[0][:200]}\n")
        monitor.run(folder / "check")
    java = spark.sparkContext._gateway.proc
    spark.stop()
    java.stdin.close()
    java.wait()  # it may have classes to archive


class Kills:
    """Starts drivers over a folder, kills them and their executors, and notes at which instants."""

    def __init__(self, folder, dice, master, *, workers=(), java=()):
        self.folder, self.dice, self.master, self.java = folder, dice, master, java
        self.workers, self.notes, self.first_seen = workers, [], {}
        self.number, self.step_times = 0, [1.0]
        (folder / "in").mkdir(parents=True)
        for _ in range(3):
            self.drop()

    def drop(self):
        self.number += 1
        drop(self.folder, self.number)

    def start(self, *, once=False, java=None):
        (self.folder / "ready").unlink(missing_ok=True)
        java = self.java if java is None else java
        command = [sys.executable, __file__, "--child", self.folder, int(once), self.master, *java]
        with (self.folder / "log").open("ab") as log:
            child = subprocess.Popen(
                list(map(str, command)), stdout=log, stderr=log, start_new_session=True
            )
        self.child, self.began = child, time.monotonic()
        return child

    def wait_until_ready(self):
        while not (self.folder / "ready").exists() and self.child.poll() is None:
            assert time.monotonic() - self.began < LONG, "a driver did not start"
            time.sleep(0.05)

    def wait_for_a_step(self):
        """So that kills hit drivers at work; no longer than two minutes."""
        self.drop()
        before, began = published(self.folder), time.monotonic()
        while published(self.folder) == before and time.monotonic() - began < 120:
            time.sleep(0.02)
        self.step_times.append(time.monotonic() - began)

    def pause(self):
        time.sleep(self.dice.uniform(0, 2 * statistics.median(self.step_times[-9:])))

    def kill_executor(self):
        application = (self.folder / "ready").read_text()
        mine = descendants([self.child.pid, *self.workers]).items()
        found = [pid for pid, line in mine if "ExecutorBackend" in line and application in line]
        if found:
            instant = self.instant()
            kill(self.dice.choice(found))
            self.note("executor", instant)

    def kill_driver(self):
        """The driver and whatever it started."""
        ready = (self.folder / "ready").exists()
        for pid in (self.child.pid, *descendants([self.child.pid])):
            kill(pid)
        died = self.child.wait()
        self.note("driver", self.instant() if ready else "starting", died=died)

    def note(self, kind, instant, died=-signal.SIGKILL):
        assert died == -signal.SIGKILL, "a driver ended by itself, see errors and log"
        seconds = round(time.monotonic() - self.began, 1)
        self.notes.append((kind, instant))
        for path in sorted((self.folder / "out").glob("step=*")):
            self.first_seen.setdefault(path.name, contents(path))
        counted = f"{len(self.notes):3} {kind:8} {seconds:6} s  {published(self.folder):3} steps"
        sys.stderr.write(f"{counted}  {instant}\n")
        sys.stderr.flush()

    def instant(self):
        """Where the followed batch stands, told from the files."""
        drafts = list((self.folder / "out").glob("_draft*"))
        stored, kept = state(self.folder)
        offsets, commits = (self.folder / "check" / name for name in ("offsets", "commits"))
        if drafts:
            return "answer half published"
        if stored > published(self.folder):
            return "answer stored, not published"
        if {path.name for path in (self.folder / "state.rows").glob("*")} - kept:
            return "rows written, answer not stored"
        begun = len(list(offsets.glob("[0-9]*"))) > len(list(commits.glob("[0-9]*")))
        return "batch begun or answered, not committed" if begun else "waiting"

    def life(self, kills):
        """Some executors, then the driver."""
        self.start()
        if self.dice.random() < 1 / 8:
            self.pause()
            self.kill_driver()
            return
        self.wait_until_ready()
        for _ in range(self.dice.randint(1, 4)):
            self.drop()
            self.pause()
            if len(self.notes) < kills - 1:
                self.kill_executor()
        if self.dice.random() < 2 / 3:
            self.wait_for_a_step()
        self.pause()
        self.kill_driver()


def state(folder):
    """How many steps are stored, and which folders of rows they need; from a copy."""
    with tempfile.TemporaryDirectory() as beside, contextlib.suppress(sqlite3.OperationalError):
        for path in folder.glob("state.db*"):
            with contextlib.suppress(OSError):
                shutil.copy(path, beside)
        with contextlib.closing(sqlite3.connect(f"{beside}/state.db")) as connection:
            steps = connection.execute("SELECT count(*) FROM onesided_monitor_steps").fetchone()
            rows = connection.execute("SELECT content FROM onesided_monitor_contents").fetchall()
            return steps[0], {json.loads(row[0])["folder"] for row in rows}
    return 0, set()


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def published(folder):
    return len(list((folder / "out").glob("step=*")))


def contents(path):
    """Names and hashes: a step that was published again would have others."""
    files = (file for file in path.rglob("*") if file.is_file())
    return {str(file): hashlib.sha256(file.read_bytes()).digest() for file in files}


def check(kills):
    """The answers are those of one machine; each was published once; one charge."""
    import pyarrow.parquet as pq

    folder, number = kills.folder, kills.number
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
        step = folder / "out" / f"step={release.number:08}"
        rows = [
            r for part in step.glob("*.parquet") for r in pq.ParquetFile(part).read().to_pylist()
        ]
        told = {row["place"]: row["status"] for row in rows}
        assert len(rows) == len(PLACES)
        assert told == dict(zip(PLACES, same.status, strict=True))
        assert kills.first_seen.get(step.name, contents(step)) == contents(step), "published again"


def archived(cluster, kills):
    """Java options by which each JVM loads its classes from an archive, in half the time."""
    last = kills.start(once=True, java=[f"-XX:ArchiveClassesAtExit={cluster.archive}"])
    last.wait(timeout=LONG)
    return [f"-XX:SharedArchiveFile={cluster.archive}"] if cluster.archive.exists() else []


def main():
    if sys.argv[1] == "--child":
        follow(Path(sys.argv[2]), *sys.argv[4:], once=sys.argv[3] == "1")
        return
    folder, wanted, dice = Path(sys.argv[1]).absolute(), int(sys.argv[2]), sys.argv[3]
    minutes = float(sys.argv[4]) if len(sys.argv) > 4 else 600
    ends = time.monotonic() + 60 * minutes
    _monitor.new_key = lambda: KEY
    folder.mkdir(parents=True)
    with Standalone(folder) as cluster:
        kills = Kills(folder, random.Random(int(dice)), cluster.url, workers=cluster.workers)
        kills.java = archived(cluster, kills)
        while len(kills.notes) < wanted and time.monotonic() < ends:
            kills.life(wanted)
        last = kills.start(once=True)
        assert last.wait(timeout=LONG) == 0, (folder / "log").read_text()[-3000:]
    check(kills)
    told = {kind: sum(note[0] == kind for note in kills.notes) for kind in ("driver", "executor")}
    told["steps"], told["speculated"] = kills.number, speculated(folder / "events")
    told["instants"] = dict(collections.Counter(" ".join(note) for note in kills.notes))
    errors = folder / "errors"
    told["errors"] = errors.read_text().splitlines() if errors.exists() else []
    json.dump(told, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
