"""A Spark of one master and two workers, each a process and a host of its own (all loopback).

Speculation runs a second copy of a task on another *host* only, and ``local-cluster`` has one.
"""

import contextlib
import os
import socket
import subprocess
import time
from pathlib import Path

JVM = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
HOSTS = ("127.0.0.2", "127.0.0.3")


class Standalone:
    """Master and workers, until it is left; they outlive the drivers that are killed."""

    def __init__(self, folder):
        import pyspark

        # As drivers name it: one archive of classes serves one class path.
        self.home, self.folder = Path(pyspark.__file__).resolve().parent, folder
        self.archive = folder / "classes.jsa"
        self.workers, self._all = [], []

    def __enter__(self):
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
            port = taken.getsockname()[1]
        self.url = f"spark://127.0.0.1:{port}"
        # Executors are killed more often than a master expects; endless would hide a broken set-up.
        patient = "-Dspark.deploy.maxExecutorRetries=100"
        self._start("master.Master", "--host", "127.0.0.1", "--port", port, java=[patient])
        while socket.socket().connect_ex(("127.0.0.1", port)):
            time.sleep(0.1)
        for host in HOSTS:
            room = ("--cores", 1, "--memory", "600m", "--work-dir", self.folder / "work")
            self.workers.append(self._start("worker.Worker", "--host", host, *room, self.url))
        return self

    def __exit__(self, *_):
        for one in self._all:
            one.kill()
            one.wait()

    def _start(self, name, *options, java=()):
        command = ["java", "-Xmx128m", *JVM, *java, "-cp", f"{self.home}/jars/*"]
        command += [f"org.apache.spark.deploy.{name}", "--webui-port", "0"]
        with (self.folder / "log").open("ab") as log:
            one = subprocess.Popen(
                [*command, *map(str, options)],
                stdout=log,
                stderr=log,
                env=os.environ | {"SPARK_HOME": str(self.home), "SPARK_SCALA_VERSION": "2.13"},
            )
        self._all.append(one)
        return one.pid


def descendants(pids):
    """The processes below some, with their command lines."""
    parents = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            number = int(entry.name)
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            parents[number] = parent, command
    below, found = set(pids), {}
    for _ in range(8):
        for number, (parent, command) in parents.items():
            if parent in below and number not in found:
                found[number] = command
        below |= set(found)
    return found


def speculated(folder):
    """How many copies of tasks Spark's event logs tell of."""
    logs = [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.read_bytes().count(b'"Speculative":true') for path in logs) // 2
