"""The README's example runs as it stands, and documents point at files that exist."""

import configparser
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest

import onesided as od

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]


def sentences(text):
    """The sentences of a page's prose, without code, comments, tables, headings and links."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    lines = [line for line in text.splitlines() if not line.startswith(("#", "|", "    ", "!["))]
    for block in re.split(r"\n\s*\n|\n(?=[-*] |\d+\. )", "\n".join(lines)):
        yield from re.split(r"(?<=[.!?:;·])\s+", block)


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    "applications",
    "choosing",
    "coming-from",
    "compound-answers",
    "histograms",
    "local",
    "mechanisms",
    "monitor",
    "one-sided-noise",
    "papers/adp",
    "papers/osdp",
    "ranges",
    "samples",
    "schema",
    "values",
    *(f"tutorials/{page.stem}" for page in sorted((ROOT / "docs" / "tutorials").glob("*.md"))),
]
# What these pages show of their output does not depend on chance.
SHOWN = [
    "choosing",
    "compound-answers",
    "local",
    "papers/adp",
    "papers/osdp",
    "tutorials/choosing-epsilon",
]


@pytest.mark.parametrize("page", EXAMPLES)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch, capsys):
    """In this process, where warnings are errors; the README's example has one of its own."""
    for module in ("polars", "scipy", "plotly"):
        pytest.importorskip(module)
    text = (ROOT / "docs" / f"{page}.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert examples
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name, content in re.findall(r'```python title="([\w.]+)"\n(.*?)```', text, re.DOTALL):
        (tmp_path / name).write_text(content)
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
    program = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", program)
    exec(compile("\n".join(examples), f"{page}.md", "exec"), program.__dict__)  # noqa: S102
    if page in SHOWN:
        told = capsys.readouterr().out
        for shown in re.findall(r"```text\n(.*?)```", text, re.DOTALL):
            assert shown in told


def test_the_pictures_are_those_of_the_code(tmp_path):
    command = [sys.executable, ROOT / "scripts" / "pictures.py", tmp_path]
    subprocess.run(command, check=True)
    for drawn in tmp_path.iterdir():
        kept = ROOT / "docs" / "choosing" / drawn.name
        assert kept.read_text() == drawn.read_text(), "python scripts/pictures.py docs/choosing"


# In the short form the period is of two days, with a budget for two.
SHORTER = {
    'budget = "7/2"': 'budget = "1/2"',
    "for day in 02 03 04 05 06 07 08 09 10 11 12 13 14; do": "for day in 02; do",
    "0 left of 7/2": "0 left of 1/2",
    "14 releases so far": "2 releases so far",
}


@pytest.mark.heavy
@pytest.mark.slow
def test_the_commands_of_daily_publication_run(tmp_path, long_form):
    for module in ("polars", "typer", "duckdb", "jinja2"):
        pytest.importorskip(module)
    text = (ROOT / "docs" / "daily-publication.md").read_text()
    for whole, part in () if long_form else SHORTER.items():
        assert text.count(whole) == 1, whole
        text = text.replace(whole, part)
    for name, content in re.findall(r'```\w+ title="([\w.-]+)"\n(.*?)```', text, re.DOTALL):
        (tmp_path / name).write_text(content)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, words in (("python", ""), ("onesided", "-m onesided")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (tools / name).chmod(0o755)
    commands = "".join(re.findall(r"```bash\n(.*?)```", text, re.DOTALL))
    done = subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", commands],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "2025-11-01 is published already" in done.stdout
    (shown,) = re.findall(r"```text\n(Error.*?)```", text, re.DOTALL)
    refused, code = shown.splitlines()
    assert refused in done.stderr
    assert code in done.stdout
    assert max(day.name for day in (tmp_path / "public").iterdir()) == "2025-11-15"
    for unit in ("service", "timer"):
        read = configparser.ConfigParser(interpolation=None)
        read.optionxform = str
        read.read(tmp_path / f"onesided-daily.{unit}")
        assert read.sections()[:1] == ["Unit"]


SHELL = {126, 127}  # the shell's own


def test_the_exit_codes_of_daily_publication_are_those_there_are():
    pytest.importorskip("typer")
    from onesided.cli._exits import EXITS

    text = (ROOT / "docs" / "daily-publication.md").read_text()
    told = re.findall(r"^\| ([\d, ]+) \|", text, re.MULTILINE)
    assert {int(code) for row in told for code in row.split(",")} == set(EXITS) | SHELL


def test_the_citation_is_of_this_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "CITATION.cff").read_text().splitlines()
    told = dict(line.split(": ", 1) for line in lines if re.match(r"[a-z-]+: ", line))
    assert told["cff-version"] == "1.2.0"
    assert {"message", "title", "license"} <= set(told)
    assert "authors:" in lines
    assert (told["version"], told["license"]) == (project["version"], project["license"])


def test_tutorials_are_short():
    for page in (ROOT / "docs" / "tutorials").glob("*.md"):
        assert len(page.read_text().splitlines()) <= 150, page.name


def test_sentences_are_short():
    for page in PAGES:
        for words in map(str.split, sentences(page.read_text())):
            assert len(words) <= 35, f"{page.name}: {' '.join(words)}"


def test_every_public_package_has_a_page_of_reference():
    source = ROOT / "src" / "onesided"
    rooms = {room.parent.name for room in source.glob("[a-z]*/__init__.py")} - {"cli"}
    told = {page.stem for page in (ROOT / "docs" / "reference").glob("*.md")}
    assert not rooms - told


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_commands_in_the_readme_exist():
    pytest.importorskip("typer")
    from typer.main import get_command

    from onesided.cli._app import app

    known = get_command(app).list_commands(None)
    for command in re.findall(r"^    onesided (\w+)", README, re.MULTILINE):
        assert command in known


def test_make_targets_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^    make (\w+)", README, re.MULTILINE):
        assert f"\n{target}:" in makefile


def test_the_site_is_no_longer_than_it_may_be():
    """If this fails: shorten the page, or delete one; python scripts/words.py counts."""
    words = script("words")
    assert words.words("Two words.\n\n    code\n\n```python\ncode\n```\n\nproves: code -\n") == 2
    for part, number in words.sums().items():
        assert number <= words.LIMITS[part], part
    assert len(README.split()) < 700


def test_the_tables_of_the_reference_are_made():
    pytest.importorskip("typer")
    tables = script("reference_tables")
    text = "".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    assert sorted(tables.MARK.findall(text)) == sorted(tables.TABLES)
    made = tables.filled("".join(f"<!-- made: {name} -->" for name in tables.TABLES))
    rows = ("## Quantile", "| `epsilon` |", "`onesided ledger show`", "`--at-most`", "`TopK`")
    for said in (*rows, "| AtMost | likely |", "`session.sample(epsilon=1)`"):
        assert said in made
    assert all(f"| `{name}` |" in made for name in od.policy.families())


def test_every_page_is_in_the_index():
    docs = ROOT / "docs"
    listed = set(re.findall(r"\]\(([^)#]+\.md)", (docs / "README.md").read_text()))
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")} - {"README.md"}
    assert not pages - listed
