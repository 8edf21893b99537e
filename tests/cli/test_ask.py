"""``onesided ask``: SQL from the shell, priced, answered and told to programs."""

import json
import sys
from dataclasses import fields

import polars as pl
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import onesided as od
from onesided.cli import _app
from onesided.cli._app import app
from onesided.ledger import Ledger
from onesided.session.kit import IN_SQL, QUERIES

QUERY = "SELECT place, COUNT(DISTINCT person) FROM visits GROUP BY place"


@pytest.fixture
def folder(tmp_path):
    visits = {"person": [1, 1, 2], "place": ["gym", "bar", "bar"], "age": [20, 20, 30]}
    pl.DataFrame(visits).write_parquet(tmp_path / "visits.parquet")
    pl.DataFrame({"place": ["gym", "bar"]}).write_parquet(tmp_path / "places.parquet")
    return tmp_path


def run(folder, *words, config=""):
    given = ["--data", folder / "visits.parquet", "--unit", "person", "--policy", "presence"]
    given += ["--max-groups", "2", "--keys", folder / "places.parquet"]
    given += ["--ledger", folder / "own.db", *([] if config else ["--epsilon", "90"])]
    return CliRunner().invoke(app, ["ask", *map(str, [*words, *given])])


def test_a_refusal_speaks_of_options_in_what_it_says_too(folder, monkeypatch, capsys):
    words = ["ask", "SELECT MAX(age) FROM v", "--max-rows", "2", "--epsilon", "1"]
    words += ["--data", folder / "visits.parquet", "--unit", "person", "--policy", "presence"]
    monkeypatch.setattr(sys, "argv", ["onesided", *map(str, [*words, "--max-groups", "2"])])
    assert _app.run() != 0
    said = " ".join(capsys.readouterr().err.split())
    assert "--max-rows is no argument of a query such as this." in said
    assert "It takes --bounds, --candidates," in said


def test_a_query_is_answered_and_charged(folder):
    found = run(folder, QUERY, "--id", "monday", "--budget", "200")
    assert found.exit_code == 0, found.output
    first, *rest = found.output.splitlines()
    assert first.endswith("own.db (new): 110 left on present -> not present.")
    assert "Rows without a value of 'place' are in no group." in rest[0]
    assert "Number of units (person) by place." in rest
    with Ledger.open(folder / "own.db") as ledger:
        assert len(ledger.entries(kind="spend")) == 1
    again = run(folder, QUERY, "--id", "monday", "--again", "--budget", "200")
    assert "own.db (it was there): 110 left" in again.output.splitlines()[0]
    assert "Told again" in again.output.splitlines()[1]
    assert run(folder, QUERY, "--id", "monday", "--budget", "200").exit_code != 0


def test_the_command_says_how_unknown_is_read(folder):
    asked = QUERY.replace(" GROUP BY", " WHERE place <> 'x' GROUP BY")
    found = run(folder, asked, "--unknown", "possible", "--budget", "200")
    assert "Counted where place <> 'x' is true or unknown." in found.output
    assert "Recorded as place <> 'x'" in run(folder, asked, "--budget", "200").output
    assert run(folder, asked, "--unknown", "maybe", "--budget", "200").exit_code != 0


def test_a_plan_costs_nothing(folder):
    found = run(folder, QUERY, "--plan")
    assert "Charge" in found.output
    found = run(folder, "EXPLAIN " + QUERY, "--json")
    told = json.loads(found.output)
    assert told["charge"] == {"present -> not present": "90"}
    assert told["affordable"] is True
    assert not (folder / "own.db").exists()


def test_answers_for_programs(folder):
    found = run(folder, QUERY, "--json", "--budget", "900")
    release = od.session.release_from_json(found.output)
    assert release.labels == ["gym", "bar"]
    both = "SELECT COUNT(DISTINCT person), COUNT(DISTINCT person) FROM visits WHERE age > 3"
    told = json.loads(run(folder, both, "--json", "--budget", "900").output)
    assert [one["release"] for one in told["answers"]] == ["CountRelease", "CountRelease"]


def test_mistakes_are_shown_at_their_place(folder):
    found = run(folder, "SELECT place, COUNT(*) FROM visits GROUP BY place")
    assert found.exit_code != 0
    assert not (folder / "own.db").exists()
    missing = run(folder, QUERY, config="none")
    assert missing.exit_code != 0


def test_every_argument_that_sql_has_no_word_for_is_an_option():
    command = get_command(app).commands["ask"]
    options = {option for one in command.params for option in one.opts}
    for kind in QUERIES:
        for field in fields(kind):
            if field.init and field.name not in IN_SQL | {"questions"}:
                name = {"counted": "count"}.get(field.name, field.name)
                assert f"--{name.replace('_', '-')}" in options


@pytest.mark.parametrize("method", ["noisy_max", "cumulative"])
def test_candidates_and_method_can_be_passed(folder, method):
    query = "SELECT place, MEDIAN_PER_UNIT(age) FROM visits GROUP BY place"
    words = ["--candidates", "10,20,30,40", "--method", method, "--budget", "900", "--json"]
    found = run(folder, query, *words)
    assert found.exit_code == 0, found.output
    assert json.loads(found.output)["release"].startswith("Quantile")


def test_a_flag_and_shares_can_be_passed(folder):
    both = "SELECT COUNT(DISTINCT person), COUNT(DISTINCT person) FROM visits WHERE age > 3"
    found = run(folder, both, "--weights", "2,1", "--simultaneous", "--budget", "900", "--json")
    assert found.exit_code == 0, found.output
    told = map(json.dumps, json.loads(found.output)["answers"])
    charged = [od.session.release_from_json(one).guarantee.epsilon for one in told]
    assert [next(iter(one.values())) for one in charged] == [60, 30]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT MEDIAN_PER_UNIT(age) FROM visits", ("--candidates", "20")),
        ("SELECT COUNT(DISTINCT person) FROM visits", ("--guesses", "100")),
        ("SELECT COUNT(DISTINCT person) FROM visits", ("--weights", "1")),
    ],
)
def test_a_list_of_one_can_be_said(folder, query, words):
    found = run(folder, query, *words, "--budget", "900", "--json")
    assert found.exit_code == 0, found.output


def test_answers_in_files_are_computed_with_at_no_charge(folder):
    found = run(folder, QUERY, "--json")
    (folder / "monday.json").write_text(found.output)
    given = ["--releases", str(folder / "monday.json")]
    query = "SELECT place, value / 2 FROM monday WHERE value <= 1"
    told = CliRunner().invoke(app, ["ask", query, *given])
    assert told.exit_code == 0, told.output
    assert told.output.splitlines()[-1].split() == ["gym", "0", "0.5"]
    query = "SELECT SUM(value) FROM monday"
    told = CliRunner().invoke(app, ["ask", query, *given, "--json", "--likely"])
    columns = dict(json.loads(told.output)["columns"])
    assert (columns["lower"], columns["upper"], columns["likely_lower"]) == ([0], [3], [3])
    with Ledger.open(folder / "own.db") as ledger:
        assert len(ledger.entries(kind="spend")) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "No policy is named."),
        (["--releases", "x.json"], "Cannot read --releases 'x.json'"),
        (["--releases", "x.json", "--epsilon", "1"], "there are no data and no ε"),
        (["--releases", "x.json", "--data", "x.csv"], "there are no data and no ε"),
    ],
)
def test_what_stands_beside_answers_in_files_is_refused(words, told):
    found = CliRunner().invoke(app, ["ask", "SELECT SUM(value) FROM x", *words])
    assert told in str(found.exception)
