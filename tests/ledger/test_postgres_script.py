"""The script that starts a throwaway server must work again after its server was killed."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "postgres.sh"

pytestmark = pytest.mark.skipif(
    not any(Path("/usr/lib/postgresql").glob("*/bin/initdb")),
    reason="skipped: no PostgreSQL server installed",
)


def run(command: str, folder: Path) -> str:
    done = subprocess.run([SCRIPT, command, folder], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: the server's own user must be able to reach it.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name) / "server"


def answers(url: str) -> bool:
    with psycopg.connect(url.replace("postgresql+psycopg", "postgresql")) as connection:
        return connection.execute("select 1").fetchone() == (1,)


def test_a_killed_server_is_replaced(folder: Path) -> None:
    first = run("start", folder)
    try:
        assert run("start", folder) == first
        assert answers(first)
        leader = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(leader, signal.SIGKILL)
        assert answers(run("start", folder))
    finally:
        run("stop", folder)
    assert not folder.exists()
