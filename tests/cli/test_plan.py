"""``onesided plan``: what an ε buys, without data, and nothing left behind."""

import json
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import onesided as od
from onesided import errors
from onesided.cli._app import app


def planned(*words):
    return CliRunner().invoke(app, ["plan", *words], catch_exceptions=True)


def test_it_says_error_certified_share_and_what_two_weeks_add_up_to(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = planned("presence", "--max-groups", "3", "--at-most", "5").output
    assert "14 of them add up to -- present -> not present: 14." in told
    assert "The upper bound is certain: it is never too low." in told
    assert "certified at most 5, if truly 0" in told
    assert list(tmp_path.iterdir()) == []


def test_json_is_what_a_sessions_plan_says():
    told = json.loads(planned("addition_only", "--epsilon", "1/2", "--times", "3", "--json").output)
    people = od.Session(
        pytest.importorskip("polars").DataFrame({"place": ["a"]}),
        policy=od.policy.addition_only(),
        budget=1,
    )
    plan = people.plan(od.Count(by="place", keys=["a"], epsilon="1/2"))
    assert told["one"]["error"] == plan.options[0].error
    assert told["together"] == {"record -> absent": "3/2"}
    assert told["each_of_them_sharing"]["charge"] == {"record -> absent": "1/6"}


@pytest.mark.parametrize("policy", ["addition_only", "removal_only", "bounded", "unbounded"])
def test_the_epsilon_that_an_error_needs_gives_it(policy):
    needed = json.loads(planned(policy, "--error", "2", "--json").output)["needed"]["epsilon"]
    assert json.loads(planned(policy, "--epsilon", needed, "--json").output)["one"]["error"] <= 2


def test_the_epsilon_that_a_certified_share_needs_gives_it():
    asked = ["presence", "--max-groups", "2", "--at-most", "5", "--json"]
    needed = json.loads(planned(*asked, "--certified", "0.9", "--at", "3").output)["needed"]
    told = json.loads(planned(*asked, "--epsilon", needed["epsilon"]).output)
    assert told["one"]["certified"]["3"] >= 0.9


def test_the_curve_is_drawn(tmp_path):
    for name in ("error.html", "error.svg"):
        assert planned("bounded", "--plot", str(tmp_path / name)).exit_code == 0
        assert 'class="plot-area"' in (tmp_path / name).read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["presence"], "--max-groups"),
        (["sensitive"], "--sensitive"),
        (["nowhere"], "no policy"),
        (["bounded", "--epsilon", "nan"], "finite"),
        (["bounded", "--times", "0"], "times"),
        (["bounded", "--certified", "0.9"], "threshold"),
        (["bounded", "--certified", "0.9", "--error", "1"], "exclude each other"),
        (["bounded", "--plot", "picture.gif"], "'.gif' cannot be drawn"),
    ],
)
def test_bad_input_is_refused_with_the_next_step(words, said):
    found = planned(*words)
    assert isinstance(found.exception, errors.OnesidedError)
    assert said in f"{found.exception}"
    assert found.exception.hint


def test_a_policy_that_reads_columns_is_planned_with_its_table(tmp_path):
    policy = tmp_path / "own.toml"
    policy.write_text(od.policy.sensitive("age < 18").to_toml())
    found = planned(str(policy))
    assert "publish DATA ... --plan" in found.exception.hint


def test_what_is_told_before_groups_are_known_holds_however_many_there_are():
    """One made-up group was told of as if a unit in any three were in no other than that one."""
    told = json.loads(planned("presence", "--max-groups", "3", "--json").output)
    presence = od.policy.presence(max_groups=3)
    alone = od.mechanism.Counts.for_policy(presence, epsilon=1)
    assert told["one"]["error"] >= alone.distribution.variance() ** 0.5


def test_what_a_year_of_days_costs_three_ways():
    asked = ("unbounded", "--epsilon", "1/10", "--days", "365")
    told = " ".join(planned(*asked).output.split())
    assert "365 of them add up to -- record -> absent: 73/2" in told
    assert "36.5" in told
    days = json.loads(planned(*asked, "--delta", "1e-6", "--json").output)["days"]
    assert days["delta"] == "1e-6"
    for edge in days["edges"].values():
        told = {name: float(Fraction(one)) for name, one in edge.items()}
        added, filtered, fixed = told["added"], told["filtered"], told["planned"]
        assert added == 36.5
        assert 10 < fixed < filtered < 13


@pytest.mark.parametrize(
    "wrong", [("--days", "0"), ("--days", "3", "--delta", "2"), ("--days", "3", "--times", "4")]
)
def test_no_days_or_no_delta_is_refused(wrong):
    done = planned("unbounded", *wrong)
    assert isinstance(done.exception, errors.ParameterError | SystemExit)
    assert done.exit_code != 0
