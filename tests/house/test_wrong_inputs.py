"""Wrong types at the border: each is refused in words, and before anything is charged."""

import math
from functools import partial

import pytest

import onesided as od
from onesided.errors import KeysError, ParameterError, PolicyError, UnknownColumnError

PRESENCE = od.policy.presence(max_groups=3)
ASKED = {"by": "place", "keys": ["a", "b"], "epsilon": 1}


@pytest.fixture
def session():
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"person": [1, 1, 2], "place": ["a", "b", "a"], "v": [1, 2, 3]})
    return partial(od.Session, table, policy=PRESENCE, budget=10)


@pytest.mark.parametrize("unit", [["person"], 3, ("person",), {"person"}])
def test_a_unit_is_the_name_of_a_column(session, unit):
    with pytest.raises(UnknownColumnError, match="named by text") as caught:
        session(unit=unit)
    assert "person, place, v" in caught.value.hint


def test_a_table_without_columns_says_so():
    pl = pytest.importorskip("polars")
    with pytest.raises(UnknownColumnError) as caught:
        od.Session(pl.DataFrame(), unit="person", policy=PRESENCE, budget=1)
    assert caught.value.hint == "The table has no columns."


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        ({"again": "yes"}, ParameterError, "again must be True or False"),
        ({"again": 1}, ParameterError, "again must be True or False"),
        ({"id": 3}, ParameterError, "id must be text that is not empty, got 3"),
        ({"id": ""}, ParameterError, "id must be text that is not empty"),
        ({"by": ()}, KeysError, "keys= is given without by="),
        ({"keys": {"a", "b"}}, KeysError, "a set, which has an order of its own"),
        ({"keys": frozenset("ab")}, KeysError, "a set, which has an order of its own"),
        ({"keys": {"place": ["a", "b"], "v": [1]}, "by": ["place", "v"]}, KeysError, "differ in"),
        ({"epsilon": math.nan}, ParameterError, "epsilon must be a finite number"),
        ({"epsilon": True}, ParameterError, "epsilon must be a finite number"),
        ({"epsilon": 1j}, ParameterError, "epsilon must be a finite number"),
    ],
)
def test_an_argument_of_a_question_is_refused_before_the_charge(session, change, kind, says):
    asked = session(unit="person")
    with pytest.raises(kind, match=says) as caught:
        asked.count(**{**ASKED, **change})
    assert caught.value.hint
    assert not asked.ledger.entries()


@pytest.mark.parametrize("column", [["v"], 3, None])
def test_a_column_of_values_is_a_name(session, column):
    asked = session(unit="person")
    with pytest.raises(UnknownColumnError, match="named by text"):
        asked.sum(column, of="units", total_bounds=(0, 5), epsilon=1)
    assert not asked.ledger.entries()


def test_what_draws_nothing_is_no_noise(session):
    with pytest.raises(ParameterError, match="a source of noise, got 3"):
        session(unit="person", noise=3)


def test_keys_without_a_grouping_are_not_passed_over(session):
    with pytest.raises(KeysError, match="without by"):
        session(unit="person").count(keys=["a"], epsilon=1)


@pytest.mark.parametrize("folder", [3, None, b"out"])
def test_a_folder_is_a_path(session, folder):
    release = session(unit="person").count(**ASKED)
    with pytest.raises(ParameterError, match="folder must be a path"):
        release.write(folder)


@pytest.mark.parametrize(
    "policy",
    [PRESENCE, od.policy.bounded(), od.policy.neighbourhood(radius=1), od.policy.local(["a", "b"])],
    ids=lambda policy: policy.name,
)
@pytest.mark.parametrize("given", ["a", None, 3])
def test_distances_are_between_records(policy, given):
    with pytest.raises(PolicyError, match="A record was expected") as caught:
        policy.distance(given, "b")
    assert "Record(kind, value)" in caught.value.hint
    with pytest.raises(PolicyError, match="A record was expected"):
        list(policy.moves([given]))


@pytest.mark.parametrize(
    ("wrong", "kind", "says"),
    [
        (lambda: od.cross(place=3), KeysError, "place=3 is no list"),
        (od.cross, KeysError, "No columns are given"),
        (lambda: od.cross(place="abc"), KeysError, "is one text"),
        (lambda: od.policy.neighbourhood(radius=1, places=["a"]), PolicyError, "a mapping from"),
        (
            lambda: od.mechanism.Counts.for_policy("presence", epsilon=1),
            PolicyError,
            "policy must be a Policy, got 'presence'",
        ),
    ],
)
def test_what_is_made_without_a_table_is_checked_too(wrong, kind, says):
    with pytest.raises(kind, match=says) as caught:
        wrong()
    assert caught.value.hint
