"""Drivers and executors killed at random: the same answers, each published once, one charge."""

import importlib.util
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("spark")
HERE = Path(__file__).parent


def test_an_executor_and_the_driver_killed(spark, tmp_path, monkeypatch):
    # One other Spark is started; after its death the tests' own goes on where it was.
    monkeypatch.syspath_prepend(HERE)
    crash = importlib.import_module("crash")
    monkeypatch.setattr("onesided.monitor._monitor.new_key", lambda: crash.KEY)
    folder = tmp_path / "stream"
    kills = crash.Kills(folder, random.Random(4), "local-cluster[1,1,512]")
    kills.start()
    try:
        kills.wait_until_ready()
        while not kills.notes:
            kills.wait_for_a_step()
            kills.kill_executor()
        kills.drop()
        kills.pause()
    finally:
        kills.kill_driver()
    assert [kind for kind, _ in kills.notes] == ["executor", "driver"]
    with crash.opened(folder, spark) as monitor:
        monitor.run(folder / "check")
    crash.check(kills)


@pytest.mark.only_slow
def test_killed_at_random_the_answers_are_those_of_one_machine(tmp_path):
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("pyspark or java not found")
    kills = 100
    command = [sys.executable, HERE / "crash.py", tmp_path / "stream", kills, 4]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["driver"] + told["executor"] == kills
    sys.stdout.write(done.stdout)
