"""A small city on disk, and the command as users call it."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from tests.command import called

PUBLISH = [
        "publish", "visits.parquet", "--unit", "person", "--by", "place", "--policy", "presence",
        "--max-groups", "3", "--keys", "places.parquet", "--epsilon", "1", "--at-most", "5",
        "--out", "out",
    ]  # fmt: skip


def environment(folder):
    """What a command sees of ours: a wide terminal, a home of its own, and this source tree."""
    ours = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    return {"PATH": "/usr/bin:/bin", "COLUMNS": "200", "HOME": str(folder), **ours}


@dataclass
class World:
    """A folder with visits and places, where commands are run."""

    folder: Path
    words = PUBLISH

    @property
    def environment(self):
        return environment(self.folder)

    def run(self, *words, env_more=None):
        return called(words, cwd=self.folder, env=self.environment | (env_more or {}))

    def alone(self, *words, **more):
        """In a process of its own: what may hang, and what shows that commands start."""
        command = [sys.executable, "-m", "onesided", *map(str, words)]
        return subprocess.run(
            command,
            cwd=self.folder,
            capture_output=True,
            text=True,
            env=self.environment,
            check=False,
            **more,
        )

    def publish(self, *words):
        return self.run(*PUBLISH, *words)


@pytest.fixture
def world(tmp_path):
    with duckdb.connect() as connection:
        connection.sql(
            "select i % 40 as person, 'place ' || (i * i % 23) as place, i % 24 as hour, "
            "i % 3 = 0 as minor from range(400) t(i)"
        ).write_parquet(str(tmp_path / "visits.parquet"))
        connection.sql(
            "select 'place ' || i as place, 47 + i / 100 as latitude, 8 + i / 50 as longitude "
            "from range(23) t(i)"
        ).write_parquet(str(tmp_path / "places.parquet"))
    return World(tmp_path)
