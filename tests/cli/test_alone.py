"""The command line needs what its extra brings, and no more: neither PyArrow, Polars nor pandas."""

import subprocess
import sys

import pytest

for module in ("typer", "duckdb", "plotly", "jinja2"):
    pytest.importorskip(module)

HIDDEN = """
import sys
sys.modules.update(dict.fromkeys(("pyarrow", "polars", "pandas")))
from onesided.cli import main
main()
"""
VISITS = "person,place,spend\n1,cafe,10\n1,gym,20\n2,cafe,5\n3,cafe,7\n3,park,8\n4,gym,9\n"
POLICY = ["--unit", "person", "--policy", "presence", "--max-groups", "3", "--epsilon", "1"]
COUNT = "SELECT place, COUNT(DISTINCT person) FROM visits GROUP BY place"


def run(folder, *words):
    command = [sys.executable, "-c", HIDDEN, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_demo_runs(tmp_path):
    done = run(tmp_path, "demo", "--out", "demo")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "report.html").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["publish", "visits.csv", "--by", "place", "--at-most", "5", "--out", "out"],
        ["ask", COUNT, "--data", "visits.csv"],
    ],
    ids=lambda words: words[0],
)
def test_a_question_is_answered(tmp_path, words):
    (tmp_path / "visits.csv").write_text(VISITS)
    (tmp_path / "places.csv").write_text("place\ncafe\ngym\npark\npool\n")
    done = run(tmp_path, *words, *POLICY, "--keys", "places.csv")
    assert done.returncode == 0, done.stderr
