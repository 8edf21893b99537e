"""What the command line says where people go wrong at first."""

import ast
import subprocess
import sys

import pytest
from typer.main import get_command

from onesided.cli._app import app, as_options

HELPED = """
import sys
from onesided.cli import main
try:
    main()
finally:
    print(sorted(name for name in sys.modules if name.split(".")[0] in {HEAVY}), file=sys.stderr)
"""
HEAVY = {"numpy", "duckdb", "narwhals", "polars", "sqlalchemy", "sqlglot", "plotly"}
LIGHT = {"onesided", "onesided.errors", "onesided._english", "onesided._plugins"}


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ("Pass keys=, the list.", "Pass --keys, the list."),
        ("open it with further=True: what", "open it with --further: what"),
        ("Count counted='open' under x", "Count --count 'open' under x"),
        ("Leave max_groups out.", "Leave --max-groups out."),
        ("Use presence(max_groups=3).", "Use presence(max_groups=3)."),
        ("each row on its own (unit=None)", "each row on its own (unit=None)"),
        ("The columns are paid, valid.", "The columns are paid, valid."),
        ("Add, under [parameters], max_groups = 3", "Add, under [parameters], max_groups = 3"),
    ],
)
def test_advice_names_options_and_not_arguments(hint, told):
    assert as_options(hint) == told


def test_a_missing_bound_is_asked_for_as_an_option(world):
    words = ["publish", "visits.parquet", "--unit", "person", "--by", "place", "--epsilon", "1"]
    words += ["--policy", "sensitive", "--sensitive", "minor", "--keys", "places.parquet"]
    done = world.run(*words, "--out", "out")
    assert done.returncode == 2
    assert "--max-groups" in done.stderr
    assert "max_groups" not in done.stderr


def test_the_version_is_told(world):
    done = world.run("--version")
    assert done.returncode == 0
    assert done.stdout.strip()[0].isdigit()


def test_explain_says_nothing_before_it_knows_that_it_can(world):
    done = world.run("explain", "bounded", "--epsilon", "much")
    assert done.returncode == 2
    assert not done.stdout


def test_a_condition_for_another_policy_is_not_passed_over(world):
    done = world.run("explain", "presence", "--max-groups", "3", "--sensitive", "minor")
    assert done.returncode == 2
    assert "--sensitive='minor' has no meaning" in done.stderr


def test_papers_are_listed_in_the_help(world):
    done = world.run("papers", "run", "--help")
    assert "one-sided-note" in done.stdout


@pytest.mark.parametrize(
    "slip", [("--by", "plac"), ("--max-groups", "0"), ("--where", "hours > 3")]
)
def test_a_first_mistake_leaves_no_account_that_binds_the_next_try(world, slip):
    """A policy and a budget on record are for ever; those of a slip were never meant."""
    assert world.publish(*slip, "--budget", "7").returncode == 2
    done = world.publish("--max-groups", "2", "--budget", "3")
    assert done.returncode == 0, done.stderr


def test_whom_a_publication_protects_is_said(world):
    done = world.publish()
    assert "each person" in done.stdout
    words = [word for word in world.words if word not in ("--unit", "person", "out")]
    done = world.run(*words, "rows", "--ledger", "rows.db")
    assert "each row on its own (--unit protects people)" in done.stdout
    assert "Each row is protected on its own" in (world.folder / "rows/report.html").read_text()


def test_the_help_loads_no_command():
    code = HELPED.replace("{HEAVY}", repr({*HEAVY, "onesided"}))
    command = [sys.executable, "-c", code, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Publish how many units" in done.stdout
    rooms = {"onesided.cli", "onesided.store"}
    loaded = set(ast.literal_eval(done.stderr)) - LIGHT - rooms
    assert {name for name in loaded if name.rpartition(".")[0] not in rooms} == set()
    assert {name.rpartition(".")[2] for name in loaded if "onesided.cli." in name} == {
        "_app",
        "_exits",
        "_terminal",
    }


def test_the_help_says_of_a_command_what_the_command_says():
    group = get_command(app)
    for name, command in group.commands.items():
        told = " ".join(command.help.split("\n\n")[0].split())
        assert group.get_command(None, name).help == told, name
