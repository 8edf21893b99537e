import math

import pandas as pd
import polars as pl
import pytest
from tests.covering import drawn

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise

DATA = pl.DataFrame(
    {"person": [*range(40), *range(9), 0, 1, 2], "place": ["a"] * 40 + ["b"] * 9 + ["c"] * 3}
)
KEYS = ["c", "b", "a", "empty"]
ASK = {"by": "place", "keys": KEYS, "epsilon": 1}


def session(data=DATA, **more):
    given = {
        "unit": "person",
        "policy": od.policy.presence(max_groups=3),
        "budget": 10,
        "noise": NotPrivateSeededNoise(1),
        **more,
    }
    return od.Session(data, **given)


class NoDraw:
    def __getattr__(self, name):
        pytest.fail(f"{name} was drawn")


def test_top_k_names_the_largest_with_certain_bounds():
    asked = session()
    top = asked.top_k(2, **ASK)
    assert top.keys.rows[0] == ("a",)
    assert (top.upper >= [40, 3]).all()
    assert top.mechanism.upper_rate == od.mechanism.TopK(1, upper_rate="1/2").upper_rate
    assert dict(asked.spent) == {"present -> not present": 1}
    assert top.frame.columns == ["place", "estimate", "upper", "upper_certain"]
    assert isinstance(top.frame, pl.DataFrame)
    assert "largest" in str(top)


def test_frames_come_back_in_the_callers_type():
    answer = session(DATA.to_pandas()).top_k(1, **ASK)
    assert isinstance(answer.frame, pd.DataFrame)


def test_certified_groups_are_free_and_right():
    asked = session()
    found = asked.at_most({"a": 5, "b": 20, "c": 30, "empty": 10}, **ASK)
    assert "a" in found.above
    assert not found.not_reached
    assert set(found.at_most()) | set(found.above) == set(KEYS)
    assert found.frame["upper"].to_list()[2] >= 40
    assert dict(asked.spent) == {"present -> not present": 1}


def test_above_stops_after_enough_answers():
    found = session().above(0, max_answers=1, **ASK)
    assert found.mechanism.upper_rate == 1
    assert len(found.above) == 1
    assert found.above == ["c"]
    assert found.not_reached == ["b", "a", "empty"]
    assert found.frame.height == 1


def test_the_same_id_re_reads_and_another_question_is_refused():
    asked = session()
    first = asked.top_k(2, **ASK, id="top")
    again = asked.top_k(2, **ASK, id="top", again=True)
    assert again.upper.tolist() == first.upper.tolist()
    assert again.keys == first.keys
    assert again.entry == first.entry
    assert dict(asked.spent) == {"present -> not present": 1}
    with pytest.raises(errors.ReleaseExistsError, match="another question"):
        asked.top_k(3, **ASK, id="top")
    with pytest.raises(errors.ReleaseExistsError, match="another question"):
        asked.at_most(3, **ASK, id="top")
    one = asked.at_most(3, **ASK, id="level")
    assert asked.at_most(3, **ASK, id="level", again=True).at_most() == one.at_most()
    asked.count(**ASK, id="counts")
    with pytest.raises(errors.ReleaseExistsError, match="another question"):
        asked.top_k(2, **ASK, id="counts")


def test_over_budget_nothing_is_drawn_and_nothing_recorded():
    asked = session(budget="1/2", noise=NoDraw())
    before = asked.ledger.head()
    with pytest.raises(errors.BudgetExceededError):
        asked.top_k(2, **ASK)
    with pytest.raises(errors.BudgetExceededError):
        asked.at_most(2, **ASK)
    assert asked.ledger.head() == before


AGREED = od.policy.sensitive("place = 'c'")
CUT = {"on_excess": "truncate"}
EVERY = {
    "open": (AGREED, {"counted": "open", "max_groups": 2, **CUT}, ("lower",)),
    "removal": (od.policy.removal_only(), {"max_groups": 2, **CUT}, ("lower",)),
    "bounded": (od.policy.bounded(), {"max_groups": 2, **CUT}, ()),
    "unbounded": (od.policy.unbounded(), {"max_groups": 2, **CUT}, ()),
    "truncated": (od.policy.presence(max_groups=2), CUT, ()),
    "values": (od.policy.attributes({"place": ["a"]}), CUT, ()),
    "view": (od.policy.view("place = 'c'", over="place", members=50), {"counted": "open", **CUT,
             "max_groups": 2}, ("lower",)),
}  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_the_largest_are_told_under_every_policy(name):
    policy, more, certain = EVERY[name]
    rows = DATA.unique("person", keep="first", maintain_order=True) if name == "view" else DATA
    asked = session(rows, policy=policy, budget=10**6)
    ask = {**ASK, **more, "epsilon": 900}
    plan = asked.plan(od.TopK(2, **ask))
    assert plan.certain == certain
    top = asked.top_k(2, **ask)
    assert max(asked.spent.values()) == 900
    assert top.labels[0] == "a"
    assert [side for side in ("upper", "lower") if side in top.table.columns()] == list(certain)
    sure = asked.top_k(2, **ask, confidence="0.9")
    assert set(sure.table.columns()) >= {"lower", "upper", "lower_certain", "upper_certain"}
    assert sure.lower_certain == ("lower" in certain)
    assert not sure.upper_certain
    assert (sure.lower <= sure.upper).all()


def test_many_groups_of_a_unit_are_picked_one_by_one_and_few_at_once():
    keys = [str(number) for number in range(300)]
    asked = session(policy=AGREED)
    more = {"by": "place", "keys": keys, "counted": "open", **CUT, "epsilon": 1}
    few = asked.plan(od.TopK(2, **more, max_groups=4))
    assert type(few.mechanism).__name__ == "NoisyTopK"
    many = asked.plan(od.TopK(2, **more, max_groups=20))
    assert type(many.mechanism).__name__ == "PeeledTopK"
    assert "picked one after another" in many.why
    assert max(few.charge.values()) == max(many.charge.values()) == 1


@pytest.mark.parametrize("groups", [2, 40])
def test_bounds_of_selected_groups_hold_as_often_as_they_say(groups):
    """400 answers at 90 %: more than 75 misses have a chance below 10^-6 if 40 are due."""
    rows = pl.DataFrame({"person": range(600), "place": [f"{n % 60}" for n in range(600)]})
    asked = session(rows, policy=od.policy.unbounded(), budget=10**6)
    ask = {"by": "place", "keys": [str(n) for n in range(60)], "max_groups": groups, **CUT}
    question = od.TopK(3, **ask, epsilon=2, confidence="0.9")
    missed = 0
    for found in drawn(asked, question, 400, NotPrivateSeededNoise(4)):
        missed += not ((found.lower <= 10) & (found.upper >= 10)).all()
    assert missed <= 75


@pytest.mark.parametrize("bad", [0, -1, 5, 1.5, math.nan, "x"])
def test_bad_k_is_refused(bad):
    with pytest.raises(errors.ParameterError):
        session(noise=NoDraw()).top_k(bad, **ASK)


@pytest.mark.parametrize("bad", [-1, math.nan, [1], {"a": 1}, [1, 2, 3, -4], "x", None])
def test_bad_thresholds_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        session(noise=NoDraw()).at_most(bad, **ASK)


def test_a_column_named_like_a_result_is_refused():
    data = DATA.rename({"place": "certified"})
    with pytest.raises(errors.ParameterError, match="certified"):
        session(data).at_most(1, by="certified", keys=KEYS, epsilon=1)
