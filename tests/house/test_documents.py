"""The README's example runs as it stands, and documents point at files that exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]


def test_the_python_example_runs(tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in example.splitlines() if line.strip()]) <= 16
    pytest.importorskip("polars")
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "upper_certain" in done.stdout
    assert "present -> not present: ε = 1/2" in done.stdout
    assert (tmp_path / "visits.ledger.db").exists()


# Whole programs; what other pages show is a part of one, or is run by tests of its own.
EXAMPLES = [
    "histograms",
    "histograms-more",
    "linear",
    "local",
    "mechanisms",
    "monitor",
    "one-sided-noise",
    "ranges",
    "samples",
    "schema",
    "split-histograms",
    "unknown-keys",
    "values",
]


@pytest.mark.parametrize("page", EXAMPLES)
def test_the_examples_of_a_page_run(page, tmp_path):
    for module in ("polars", "scipy"):
        pytest.importorskip(module)
    text = (ROOT / "docs" / f"{page}.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert examples
    command = [sys.executable, "-W", "error", "-c", "\n".join(examples)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_commands_in_the_readme_exist():
    pytest.importorskip("typer")
    from onesided.cli._app import app

    known = {command.name for command in app.registered_commands}
    known |= {group.name for group in app.registered_groups}
    for command in re.findall(r"^    onesided (\w+)", README, re.MULTILINE):
        assert command in known


def test_make_targets_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^    make (\w+)", README, re.MULTILINE):
        assert f"\n{target}:" in makefile


def test_every_page_is_in_the_index():
    docs = ROOT / "docs"
    listed = set(re.findall(r"\]\(([^)#]+\.md)", (docs / "README.md").read_text()))
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")} - {"README.md"}
    assert not pages - listed
