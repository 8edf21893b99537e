"""Correlations in TOML: the same numbers as in Python, a closed language, on the command line."""

import json

import pytest
from typer.testing import CliRunner

import onesided as od
from onesided import errors
from onesided.bounds import Correlation, correlation_from_toml, household, walk
from onesided.cli._app import app
from onesided.policy import Record

pytest.importorskip("scipy")

ONE = od.policy.presence(max_groups=1)
THERE, AWAY = Record("unit", frozenset({"clinic"})), Record("unit")
HOUSEHOLD = """onesided_correlation = 1
kind = "household"
[parameters]
others = 2
together = "1/2"
apart = 0.1
[parameters.there]
kind = "unit"
groups = ["clinic"]
[parameters.away]
kind = "unit"
"""
WALK = """onesided_correlation = 1
kind = "walk"
[parameters]
length = 2
place = "ward"
time = 0
nowhere = "out"
[parameters.start]
ward = 1
out = 3
[parameters.steps]
ward = {ward = "3/4", out = "1/4"}
out = {ward = "1/4", out = "3/4"}
"""
WORLDS = """onesided_correlation = 1
kind = "worlds"
[parameters]
words = "Ann being there"
worlds = [
  {weight = "1/3", secret = true, records = [{kind = "unit", groups = ["clinic"]}]},
  {weight = "2/3", secret = false, records = [{kind = "unit"}]},
]
"""
STEPS = {"ward": {"ward": "3/4", None: "1/4"}, None: {"ward": "1/4", None: "3/4"}}
SAME = {
    HOUSEHOLD: household(THERE, AWAY, others=2, together="1/2", apart="0.1"),
    WALK: walk({"ward": 1, None: 3}, STEPS, length=2, place="ward", time=0),
    WORLDS: Correlation({(THERE,): "1/3", (AWAY,): "2/3"}, lambda world: world[0] == THERE),
}


@pytest.mark.parametrize("text", SAME, ids=["household", "walk", "worlds"])
def test_a_file_says_what_python_says(text):
    read, made = correlation_from_toml(text), SAME[text]
    assert read.law == made.law
    assert read.sides() == made.sides()
    assert read.likelihood(ONE, epsilon=1) == made.likelihood(ONE, epsilon=1)


def test_numbers_are_those_written_and_values_are_possible():
    text = HOUSEHOLD.replace('groups = ["clinic"]', "value = 3").replace('"1/2"', "0.3")
    known = correlation_from_toml(text)
    assert (Record("unit", 3), *[Record("unit", 3)] * 2) in known.law
    assert known.law[Record("unit", 3), Record("unit", 3), Record("unit", 3)] * 100 == 9


def test_explain_reads_it_and_so_does_the_projects_file(tmp_path):
    path = tmp_path / "household.toml"
    path.write_text(HOUSEHOLD)
    run = CliRunner().invoke
    asked = ["explain", "presence", "--max-groups", "1", "--correlation", str(path)]
    told = run(app, asked)
    assert told.exit_code == 0
    assert "With the declared correlation: the odds of the person being there" in told.output
    sentence = SAME[HOUSEHOLD].sentence(ONE, 1)
    assert json.loads(run(app, [*asked, "--json"]).output)["sentences"][-1] == sentence
    config = tmp_path / "onesided.toml"
    config.write_text(f'[explain]\npolicy = "presence"\nmax_groups = 1\ncorrelation = "{path}"\n')
    again = run(app, ["explain", "--config", str(config)])
    assert "With the declared correlation" in again.output, again.output


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("onesided_correlation = 1", "onesided_correlation = 2", "must be 1"),
        ("onesided_correlation = 1", "onesided_correlation = true", "must be 1"),
        ("onesided_correlation = 1", "", "must be 1"),
        ('kind = "household"', 'kind = "friends"', "friends"),
        ('kind = "household"', "kind = 3", "Unknown kind"),
        ('kind = "household"', "", "Unknown kind"),
        ("others = 2", "others = 2\nmore = 1", "'more'"),
        ("others = 2", "", "others is missing"),
        ("others = 2", "others = -1", "others"),
        ("others = 2", "others = 1.5", "others"),
        ("others = 2", "others = 100000", "others"),
        ('together = "1/2"', "together = true", "together"),
        ('together = "1/2"', "together = 1.5", "together"),
        ('together = "1/2"', "together = nan", "together"),
        ('together = "1/2"', 'together = "often"', "together"),
        ('together = "1/2"', "together = [1]", "together"),
        ("apart = 0.1", "apart = -0.1", "apart"),
        ('groups = ["clinic"]', 'groups = "clinic"', "groups"),
        ('groups = ["clinic"]', "groups = [1.5]", "a group"),
        ('groups = ["clinic"]', 'groups = ["a"]\nvalue = 1', "groups and a value"),
        ('groups = ["clinic"]', "value = true", "value"),
        ('groups = ["clinic"]', "size = 3", "'size'"),
        ("[parameters.there]", "[parameters.their]", "their"),
        ("[parameters.there]\nkind", "[parameters.there]\nknd", "knd"),
        ("[parameters]", "[parameters", "not valid TOML"),
    ],
)
def test_what_is_not_in_the_language_is_refused(old, new, said):
    assert old in HOUSEHOLD
    with pytest.raises(errors.ParameterError, match=said):
        correlation_from_toml(HOUSEHOLD.replace(old, new, 1))


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        (WALK, "length = 2", "length = 0", "length"),
        (WALK, "time = 0", "time = 2", "time"),
        (WALK, 'place = "ward"', "place = 3", "place"),
        (WALK, "ward = 1", 'ward = "x"', "start"),
        (WALK, 'ward = {ward = "3/4", out = "1/4"}', "", "ward"),
        (WALK, 'ward = {ward = "3/4", out = "1/4"}', "ward = 1", "steps"),
        (WALK, 'ward = {ward = "3/4", out = "1/4"}', "ward = {ward = -1}", "steps"),
        (WALK, "length = 2", "length = 40", "4,096"),
        (WORLDS, "secret = true", 'secret = "age > 3"', "true or false"),
        (WORLDS, 'weight = "1/3"', "weight = inf", "weight"),
        (WORLDS, "secret = true, ", "", "secret is missing"),
        (WORLDS, '{kind = "unit", groups = ["clinic"]}', '{kind = "unit"}', "listed twice"),
        (WORLDS, '[{kind = "unit"}]', '{kind = "unit"}', "list of records"),
        (WORLDS, '[{kind = "unit"}]', "[]", "differ in how many"),
        (WORLDS, '[{kind = "unit"}]', "[3]", "table"),
    ],
)
def test_walks_and_worlds_are_read_as_strictly(text, old, new, said):
    assert old in text
    with pytest.raises(errors.ParameterError, match=said):
        correlation_from_toml(text.replace(old, new, 1))


@pytest.mark.parametrize("given", [None, 3, b"x", "", "a = 1", "=" * 10, "a = 1\n" * 10**6])
def test_what_is_no_such_text_is_refused(given):
    with pytest.raises(errors.ParameterError):
        correlation_from_toml(given)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    run = CliRunner().invoke
    for name in ("missing.toml", "."):
        asked = ["explain", "presence", "--max-groups", "1", "--correlation", str(tmp_path / name)]
        assert run(app, asked).exit_code != 0
