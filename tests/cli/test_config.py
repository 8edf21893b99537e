"""Options in a file, and what programs read: every command takes them."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

pytest.importorskip("typer")

import onesided as od
from onesided.cli._app import app

WORDS = """
ledger = "book.db"
policy = "presence"
quiet = true

[publish]
data = "visits.parquet"
unit = "person"
by = ["place"]
keys = "places.parquet"
max-groups = 2
epsilon = "1/2"
budget = 3
out = "out"

[explain]
policy = "presence"
max_groups = 3
quiet = false
"""


@pytest.fixture
def folder(tmp_path):
    visits = {"person": [1, 1, 2], "place": ["gym", "bar", "bar"]}
    pl.DataFrame(visits).write_parquet(tmp_path / "visits.parquet")
    pl.DataFrame({"place": ["gym", "bar"]}).write_parquet(tmp_path / "places.parquet")
    (tmp_path / "onesided.toml").write_text(WORDS)
    return tmp_path


def run(*arguments):
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def test_all_commands_read_one_file(folder):
    config = folder / "onesided.toml"
    assert run("publish", "--config", config).output == ""
    assert (folder / "out" / "release.csv").is_file()
    assert "ε 0.5" in run("ledger", "show", folder / "book.db").output
    assert run("ledger", "check", "--config", config).output == ""
    told = json.loads(run("ledger", "check", "--config", config, "--json").output)
    assert (told["charges"], told["kept_head"]) == (1, False)
    head = json.loads(run("ledger", "head", "--config", config, "--json").output)
    assert head["head"] == told["head"]
    assert "Policy 'presence'" in run("explain", "--config", config).output


def test_the_command_line_comes_before_the_file(folder):
    done = run("publish", "--config", folder / "onesided.toml", "--epsilon", "2", "--json")
    told = json.loads(done.output)
    assert told["guarantee"]["edges"]["present -> not present"]["epsilon"] == "2"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("colour = 3", "unknown option 'colour' in any table"),
        ("[publish]\ncolour = 3", r"unknown option 'colour' in \[publish\]"),
        ("publish = 3", "is not a table"),
        ("[publish", "Cannot read --config"),
    ],
)
def test_what_no_command_knows_is_refused(folder, words, said):
    (folder / "onesided.toml").write_text(words)
    with pytest.raises(od.errors.ParameterError, match=said):
        run("publish", "--config", folder / "onesided.toml")


def test_explain_for_programs(folder):
    told = json.loads(run("explain", "presence", "--max-groups", "2", "--json").output)
    assert told["policy"] == "presence"
    assert [edge["name"] for edge in told["edges"]] == ["present -> not present"]
    schema = folder / "s.toml"
    schema.write_text('unit = "person"\n[columns.person]\ntype = "integer"\n')
    assert json.loads(run("explain", schema, "--json").output)["unit"] == "person"
    assert run("explain", "presence", "--max-groups", "2", "--quiet").output == ""


def test_a_monitor_prints_a_line_for_each_step(folder):
    batches = folder / "batches"
    batches.mkdir()
    for day in (1, 2):
        rows = {"person": [1, 2], "place": ["gym", "bar"], "time": [f"2026-11-0{day}T08:00:00"] * 2}
        frame = pl.DataFrame(rows).with_columns(pl.col("time").str.to_datetime())
        frame.write_parquet(batches / f"2026-11-0{day}.parquet")
    asked = [
        "--input",
        batches,
        "--keys",
        folder / "places.parquet",
        "--epsilon",
        1,
        "--at-most",
        1,
    ]
    where = ["--window", "7d", "--max-groups", 2, "--once", "--ahead", "100000d"]
    files = ["--state", folder / "s.db", "--ledger", folder / "m.db", "--out", folder / "public"]
    done = run("monitor", *asked, *where, *files, "--json")
    steps = [json.loads(line) for line in done.output.splitlines()]
    assert [step["step"] for step in steps] == [1, 2]
    assert all(step["certified"] + step["unknown"] + step["resting"] == 2 for step in steps)
    assert run("monitor", *asked, *where, *files, "--quiet").output == ""


def test_the_demo_is_quiet_when_asked(tmp_path):
    assert run("demo", "--out", tmp_path / "demo", "--quiet").output == ""
    assert (tmp_path / "demo" / "report.html").is_file()
