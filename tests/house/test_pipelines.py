"""The files of docs/pipelines.md run, with stand-ins for the schedulers that are not installed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "pipelines.md").read_text()
DAYS = """
import polars as pl
from pathlib import Path
Path("visits").mkdir()
for day in range(1, 16):
    rows = [(p, f"place {(p * p + 7 * v + day) % 23}") for p in range(60) for v in range(3)]
    table = pl.DataFrame(rows, schema=["person", "place"], orient="row")
    table.write_parquet(f"visits/2025-11-{day:02}.parquet")
"""
AIRFLOW = """
def task(**options):
    assert options["retries"]
    return lambda step: lambda: print(step(**GIVEN))

def dag(**options):
    assert options["schedule"] and options["start_date"].tzinfo
    return lambda made: made

from datetime import datetime, timezone
GIVEN = {"logical_date": datetime(2025, 11, 3, 6, tzinfo=timezone.utc)}
"""
DAGSTER = """
def DailyPartitionsDefinition(*, start_date):
    return start_date

def RetryPolicy(*, max_retries, delay):
    return max_retries, delay

class AssetExecutionContext:
    partition_key = "2025-11-03"

def asset(*, partitions_def, retry_policy):
    return lambda made: print(made(AssetExecutionContext()))
"""


@pytest.fixture
def folder(tmp_path):
    pytest.importorskip("polars")
    for module in ("duckdb", "plotly", "jinja2"):
        pytest.importorskip(module)
    for name, content in re.findall(r'```python title="([\w.]+)"\n(.*?)```', PAGE, re.DOTALL):
        (tmp_path / name).write_text(content.replace('Path("/srv/visits")', "Path.cwd()"))
    (tmp_path / "airflow").mkdir()
    (tmp_path / "airflow" / "sdk.py").write_text(AIRFLOW)
    (tmp_path / "dagster.py").write_text(DAGSTER)
    ran(tmp_path, "-c", DAYS)
    return tmp_path


def ran(folder, *words, fails=False):
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout.strip()


@pytest.mark.heavy
def test_every_scheduler_publishes_a_day_once(folder):
    assert ran(folder, "publish_day.py", "2025-11-01").endswith("public/2025-11-01")
    assert ran(folder, "airflow_daily.py").endswith("public/2025-11-02")
    assert ran(folder, "dagster_daily.py").endswith("public/2025-11-03")
    told = (folder / "public" / "2025-11-02" / "release.csv").read_bytes()
    for path in (folder / "public" / "2025-11-02").iterdir():
        path.unlink()
    (folder / "public" / "2025-11-02").rmdir()
    ran(folder, "airflow_daily.py")
    assert (folder / "public" / "2025-11-02" / "release.csv").read_bytes() == told


@pytest.mark.heavy
def test_day_15_is_refused_and_a_day_is_a_date(folder):
    every = "import publish_day as p; from pathlib import Path\n"
    every += "for day in range(1, 15): p.publish_day(f'2025-11-{day:02}', Path.cwd())"
    ran(folder, "-c", every)
    assert "BudgetExceededError" in ran(folder, "publish_day.py", "2025-11-15", fails=True)
    assert not (folder / "public" / "2025-11-15").exists()
    assert "Invalid isoformat" in ran(folder, "publish_day.py", "../2025-11-01", fails=True)
