"""A small city on disk, and the command as users call it."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

PUBLISH = [
        "publish", "visits.parquet", "--unit", "person", "--by", "place", "--policy", "presence",
        "--max-groups", "3", "--keys", "places.parquet", "--epsilon", "1", "--at-most", "5",
        "--out", "out",
    ]  # fmt: skip


@dataclass
class World:
    """A folder with visits and places, where commands are run."""

    folder: Path
    words = PUBLISH

    def run(self, *words, **more):
        return subprocess.run(
            [sys.executable, "-m", "onesided", *map(str, words)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", "COLUMNS": "200", "HOME": str(self.folder)},
            check=False,
            **more,
        )

    def publish(self, *words, **more):
        return self.run(*PUBLISH, *words, **more)


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
