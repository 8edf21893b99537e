"""``onesided new``: answers in, files out; what they say runs as it stands."""

import json
import os
import runpy
import subprocess
import sys

import duckdb
import pytest
import typer
from tests.command import called
from typer.testing import CliRunner

from onesided import errors
from onesided.cli._app import app

ANSWERS = {
    "data": "visits.parquet",
    "unit": "person",
    "by": "place",
    "keys": "gym, bar, pool, sauna",
    "where": "",
    "policy": "1",
    "groups": "3",
    "at_most": "5",
    "epsilon": "1",
    "times": "2",
}


@pytest.fixture
def town(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = (
        "SELECT i // 2 AS person, ['gym', 'bar', 'pool'][1 + (i * i) % 3] AS place, i % 50 AS age, "
        "i % 3 AS zone FROM range(120) t(i)"
    )
    duckdb.sql(rows).write_parquet("visits.parquet")
    duckdb.sql(rows).write_csv("visits.csv")
    duckdb.sql("SELECT unnest([0, 1, 2, 3])::BIGINT AS zone").write_parquet("zones.parquet")
    return tmp_path


def answered(*words, **changes):
    lines = [value for value in (ANSWERS | changes).values() if value is not None]
    return CliRunner().invoke(app, ["new", *words], input="\n".join(lines) + "\n")


def run(folder, *words):
    own = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, env=own, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_answer_does_not_choose_the_weakest_protection(town):
    done = answered("made", unit="\nnone", policy="2", groups=None, at_most="")
    assert "Nothing was answered." in done.output
    assert "ten times less" in done.output
    assert done.exit_code == 0, done.output


SENSITIVE = {"policy": "4\nage < 18", "groups": "1", "at_most": None}


@pytest.mark.heavy
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"data": "visits.csv"},
        {"unit": "\nnone", "policy": "2", "groups": None, "at_most": ""},
        {"by": "zone", "keys": "zones.parquet", "policy": "3", "groups": "1", "at_most": None},
        SENSITIVE,
        {"where": "age < 'x'\nage >= 18 and place <> 'pool'"},
    ],
    ids=["presence", "csv", "rows", "numbers", "sensitive", "condition"],
)
def test_the_configuration_the_script_and_the_notebook_run(town, changes, monkeypatch, capsys):
    done = answered("made", **changes)
    assert done.exit_code == 0, done.output
    made = town / "made"
    first = run(made, "publish.py")
    monkeypatch.chdir(made)
    capsys.readouterr()
    runpy.run_path("publish.py", run_name="__main__")
    assert capsys.readouterr().out.splitlines()[-1] == first.splitlines()[-1]
    done = called(["publish", "--config", "onesided.toml"], cwd=made, env=dict(os.environ))
    assert "Ledger" in done.stdout
    assert (made / "out" / "report.html").exists()
    cells = json.loads((made / "publish.ipynb").read_text())["cells"]
    code = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    same, shown = code.rsplit("\n\n", 1)
    assert (same in (made / "publish.py").read_text(), shown) == (True, "release")
    done = called(["ledger", "check", "onesided.ledger.db"], cwd=made, env=dict(os.environ))
    assert done.returncode == 0, done.stderr


def test_consequences_are_said_and_wrong_answers_asked_again(town):
    done = answered("made", unit="who\nperson", epsilon="-1\n1", keys=",\ngym")
    assert "There is no column 'who'" in done.output
    assert "No value is named" in done.output
    assert "A person's rows are protected together" in done.output
    assert "A truly empty group is certified in 86.5% of all publications" in done.output
    assert "The budget is 2" in done.output
    assert "At ε = 2, whatever is published is at most 7.39 times as likely" in done.output


def test_no_share_is_rounded_up_to_always(town):
    done = answered("made", epsilon="6", at_most="4")
    assert "certified in over 99.9% of all publications" in done.output


def test_the_script_publishes_what_stands_beside_the_keys_and_says_the_epsilon_of_its_odds(town):
    beside = "gym,North <b>,48.2,16.3\nbar,South,48.3,16.4\n"
    (town / "places.csv").write_text(f"place,name,lat,lon\n{beside}")
    done = answered("made", keys="places.csv", at_most="", epsilon="1/2")
    assert "from the same file: name, lat, lon." in done.output
    told = run(town / "made", "publish.py")
    assert "North <b>" in told
    assert "At ε = 1/2, whatever is published is at most 1.65 times as likely" in told
    assert list((town / "made").glob("python-*/release.xlsx"))
    (page,) = (town / "made").glob("python-*/release.html")
    assert " km</text>" in page.read_text(), "no map"


def test_the_script_takes_the_first_line_of_a_csv_as_its_heading(town):
    (town / "texts.csv").write_text("person,place\nann,gym\nbob,bar\n")
    assert answered("made", data="texts.csv").exit_code == 0
    assert "gym" in run(town / "made", "publish.py")


def test_values_that_are_no_text_come_from_a_file(town):
    done = answered("made", by="zone", keys="1, 2\nzones.parquet")
    assert "are no text (BIGINT)" in done.output
    assert done.exit_code == 0


def test_who_answers_nothing_or_nonsense_leaves_nothing(town):
    before = sorted(town.iterdir())
    done = answered("made", data="\n".join(["nowhere.csv"] * 5))
    assert isinstance(done.exception, errors.ParameterError)
    assert sorted(town.iterdir()) == before


def test_a_folder_that_is_there_is_refused_before_a_question(town):
    (town / "made").mkdir()
    done = answered("made")
    assert isinstance(done.exception, errors.OutputError)
    assert "1." not in done.output


def test_the_end_of_the_input_is_told_with_the_next_step(town):
    before = sorted(town.iterdir())
    done = called(["new", "made"], cwd=town, env=dict(os.environ))
    assert done.returncode == 2
    assert "The input ended before question 1 was answered." in done.stderr
    assert "Run onesided new in a terminal" in done.stderr
    ended = CliRunner().invoke(app, ["new", "made"], input="nowhere.csv\nvisits.parquet\n")
    assert isinstance(ended.exception, errors.ParameterError)
    assert "before question 2" in ended.exception.reason
    assert sorted(town.iterdir()) == before


def test_an_interrupt_is_no_end_of_the_input(town, monkeypatch):
    def stopped(*_, **__):
        raise typer.Abort from KeyboardInterrupt()

    monkeypatch.setattr("typer.prompt", stopped)
    assert CliRunner().invoke(app, ["new", "made"]).exit_code == 1


def test_what_check_finds_is_said_and_refuses(town):
    """Rows of nobody are found before a budget is thought of, and a file the script cannot read."""
    done = answered("made")
    assert "has 2 rows (1.67 %)" in done.output
    (town / "nobody.csv").write_text("person,place,age\n1,gym,7\n,bar,8\n")
    done = answered("made2", data="nobody.csv")
    assert (done.exit_code, (town / "made2").exists()) != (0, True)
    assert "1 row has no value in the unit column 'person'" in str(done.exception)
    (town / "v.jsonl").write_text('{"person": 1, "place": "gym"}\n')
    done = answered("made3", data="v.jsonl\nvisits.csv")
    assert "which the script reads" in done.output
    assert done.exit_code == 0, done.output
