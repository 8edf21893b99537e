import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise

RIDES = pl.DataFrame(
    {
        "person": [*range(9), 0, 1, 2, 3, 3],
        "stop": ["a"] * 9 + ["b", "b", "c", "c", "d"],
        "hour": [1] * 14,
    }
)
ROUTES = {"north": ["a", "b"], "south": ["b", "c"], "east": ["d"]}


def session(data=RIDES, **more):
    given = {"unit": "person", "policy": od.policy.presence(max_groups=3), "budget": 1000}
    return od.Session(data, **{**given, "noise": NotPrivateSeededNoise(1), **more})


def test_a_compound_is_certified_where_every_group_is():
    release = session().at_most(2, by="stop", of=ROUTES, epsilon=300)
    assert release.at_most() == ["south", "east"]
    assert release.above == ["north"]
    assert release.columns() == {
        "compound": ["north", "south", "east"],
        "certified": [False, True, True],
        "upper": [9, 2, 2],
        "upper_certain": [True, True, True],
    }
    assert isinstance(release.frame, pl.DataFrame)
    assert "every group of its compound" in str(release)


def test_one_compound_is_priced_once_and_several_by_what_a_person_can_reach():
    asked = session()

    def rate(of):
        question = od.session.AtMost(2, by="stop", of=of, epsilon=6)
        plan = asked.plan(question)
        assert dict(plan.charge) == {"present -> not present": 6}
        return plan.mechanism

    assert rate({"all": ["a", "b", "c", "d"]}).upper_rate == 6
    assert rate({"left": ["a", "b"], "right": ["c", "d"]}).upper_rate == 3
    # A person may be in all three of these: one draw serves them, each surer than at 2.
    assert rate(ROUTES).noise_rate == 6
    assert rate({stop: [stop] for stop in "abcd"}).upper_rate == 2


@pytest.mark.parametrize("kind", ["pandas", "arrow", "duckdb"])
def test_engines_agree(kind):
    duckdb = pytest.importorskip("duckdb")
    table = {
        "pandas": RIDES.to_pandas,
        "arrow": RIDES.to_arrow,
        "duckdb": lambda: duckdb.from_arrow(RIDES.to_arrow()),
    }[kind]()
    assert session(table).at_most(2, by="stop", of=ROUTES, epsilon=300).at_most() == [
        "south",
        "east",
    ]


def test_no_outlier_is_certified_where_it_is_true_and_never_where_it_is_not():
    asked = session()
    groups = {"all": ["a", "b", "c", "d"]}
    question = {"by": "stop", "of": groups, "epsilon": 300}
    assert asked.at_most(0, where="person > 10000", **question).at_most() == ["all"]
    plan = asked.plan(od.session.AtMost(0, by="stop", of=groups, where="person = 1", epsilon=3))
    assert dict(plan.charge) == {"present -> not present": 3}  # once, whatever the branches
    assert plan.mechanism.upper_rate == 3
    assert dict(plan.certifies)[0] == pytest.approx(0.950, abs=0.001)
    # At a rate at which noise is nearly always there, what is not so is never certified.
    for _ in range(20):
        found = asked.at_most(0, where="person >= 1", by="stop", of=groups, epsilon="1/10")
        assert found.at_most() == []
        assert found.interval.upper[0] >= 1


def test_thresholds_by_compound_several_columns_and_a_limit_on_answers():
    of = {"all": [("a", 1), ("b", 1)], "rest": [("d", 1)]}
    limits = {"all": 9, "rest": 0}
    found = session().above(limits, by=["stop", "hour"], of=of, epsilon=600, max_answers=1)
    assert found.at_most() == ["all"]
    assert found.above == ["rest"]
    coarse = session().above(0, by="stop", of=ROUTES, epsilon=900, max_answers=2, adaptive=True)
    assert coarse.above == ["north", "south", "east"]


def test_whole_units_of_other_policies_are_cut_or_asserted():
    added = {"policy": od.policy.addition_only()}
    for excess in ("truncate", "error"):
        asked = session(**added)
        release = asked.at_most(
            9, by="stop", of=ROUTES, epsilon=300, max_groups=3, on_excess=excess
        )
        assert release.at_most() == ["north", "south", "east"]
        assert ("may have been cut" in release.cut) is (excess == "truncate")
    with pytest.raises(errors.ContributionError):
        session(**added).at_most(
            9, by="stop", of=ROUTES, epsilon=3, max_groups=1, on_excess="error"
        )


def test_it_is_told_again_and_told_from_others():
    asked = session()
    first = asked.at_most(2, by="stop", of=ROUTES, epsilon=300, id="x")
    again = asked.at_most(2, by="stop", of=ROUTES, epsilon=300, id="x", again=True)
    assert again.told_again
    assert again.columns() == first.columns()
    with pytest.raises(errors.LedgerError):
        asked.at_most(2, by="stop", of={**ROUTES, "east": ["c"]}, epsilon=300, id="x", again=True)


def test_json_and_sql_ask_the_same():
    question = od.session.AtMost(2, by="stop", of=ROUTES, epsilon=300)
    written = od.session.question_to_json(question)
    assert od.session.question_from_json(written) == question
    text = "SELECT stop FROM rides GROUP BY stop HAVING COUNT(DISTINCT person) <= 2"
    assert session().question(text, of=ROUTES, epsilon=300) == question
    assert (
        session().ask(question).at_most() == session().sql(text, of=ROUTES, epsilon=300).at_most()
    )


def test_keys_of_a_schema_are_the_groups_that_compounds_are_made_of():
    columns = {"stop": od.column("text", keys=["a", "b", "c", "d", "e"])}
    schema = od.Schema(unit="person", columns=columns)
    asked = session(schema=schema)
    assert asked.at_most(9, by="stop", of=ROUTES, epsilon=300).at_most() == list(ROUTES)
    with pytest.raises(errors.KeysError, match="'z'"):
        asked.at_most(9, by="stop", of={"far": ["z"]}, epsilon=3)


def test_suggestions_and_facts_for_the_curator():
    asked = session()
    question = od.session.AtMost(5, by="stop", of={"all": ["a", "d"]}, epsilon=1)
    assert asked.suggest(question, certified="0.9", count=3).epsilon < 1
    assert asked.inspect(question).counted_outside_keys == 4


@pytest.mark.parametrize(
    ("of", "error"),
    [
        ({}, errors.ParameterError),
        (["a"], errors.ParameterError),
        ("routes.csv", errors.ParameterError),
        ({"x": []}, errors.KeysError),
        ({"x": ["a", "a"]}, errors.KeysError),
        ({"x": [None]}, errors.KeysError),
        ({"x": "a"}, errors.KeysError),
        ({"x": 3}, errors.KeysError),
        ({None: ["a"]}, errors.KeysError),
        ({"x": [("a", 1)]}, errors.KeysError),
    ],
)
def test_bad_compounds_are_refused_before_anything_is_charged(of, error):
    asked = session()
    with pytest.raises(error):
        asked.at_most(2, by="stop", of=of, epsilon=1)
    assert not any(asked.spent.values())


def test_compounds_need_groups_and_a_column_of_another_name():
    asked = session(RIDES.rename({"stop": "compound"}))
    for by in ((), "compound"):
        with pytest.raises(errors.ParameterError, match="of= needs by="):
            asked.at_most(2, by=by, of=ROUTES, epsilon=1)
