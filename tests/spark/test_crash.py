"""Drivers and executors killed at random: the same answers, each published once, one charge."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.slow
def test_killed_at_random_the_answers_are_those_of_one_machine(tmp_path):
    # An application starts anew after each killed driver: minutes, so in the long form alone.
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("pyspark or java not found")
    kills = 100
    script = Path(__file__).with_name("crash.py")
    command = [sys.executable, script, tmp_path / "stream", kills, 4]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["drivers"] + told["executors"] == kills
    sys.stdout.write(done.stdout)
