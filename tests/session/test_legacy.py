"""Answers of 0.1.0 are told again as they were, to the question that they answer and to no other.

``data/onesided-0.1.0.db`` was written by 0.1.0: one answer by each question, with scripted noise.
"""

import ast
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import onesided as od
from onesided import errors

DATA = Path(__file__).parent / "data"
TOLD = json.loads((DATA / "onesided-0.1.0.json").read_text())
OTHER = pl.DataFrame({"person": [9], "place": ["b"], "pay": [1], "minor": [True]})
PLACE = {"by": "place", "keys": ["a", "b"]}
PRESENCE, ADDED = od.policy.presence(max_groups=2), od.policy.addition_only()
SENSITIVE = od.policy.sensitive("minor")
ASKED = {
    "count": (PRESENCE, "count", (), {**PLACE, "epsilon": "1/2", "where": "pay < 70"}),
    "top_k": (PRESENCE, "top_k", (1,), {**PLACE, "epsilon": 1}),
    "above": (PRESENCE, "above", (1,), {**PLACE, "epsilon": 1, "max_answers": 1}),
    "at_most": (PRESENCE, "at_most", ({"a": 5, "b": 1},), {**PLACE, "epsilon": 1}),
    "enclose": (PRESENCE, "enclose", (), {**PLACE, "epsilon": 1, "delta": "1/1000"}),
    "sum": (
        ADDED,
        "sum",
        ("pay",),
        {**PLACE, "of": "units", "total_bounds": (0, 100), "max_groups": 2, "epsilon": 4},
    ),
    "histogram": (
        ADDED,
        "histogram",
        ("pay",),
        {"bins": [0, 50, 100], "max_groups": 2, "epsilon": 1, "on_excess": "error"},
    ),
    "quantile": (
        ADDED,
        "quantile",
        ("pay",),
        {
            "candidates": [30, 60],
            "max_groups": 2,
            "epsilon": 1,
            "method": "cumulative",
            "on_excess": "error",  # the default of then
        },
    ),
    "discover": (SENSITIVE, "discover", (), {"by": "place", "epsilon": 5, "max_groups": 2}),
}


# What is computed from the stored noisy numbers, by today's rules.
COMPUTED = {
    "top_k": ("estimate",),
    "linear": ("lower", "upper", "standard_deviation"),
    "ranges": ("lower", "upper", "standard_deviation"),
}


def told(name):
    return pl.DataFrame(ast.literal_eval(TOLD[name].replace("inf", "1e999")))


def as_stored(name, frame):
    return frame.drop(COMPUTED.get(name, ())).to_dict(as_series=False)


@pytest.fixture
def opened(tmp_path):
    """A session over other data than those that were asked."""
    shutil.copy(DATA / "onesided-0.1.0.db", tmp_path / "old.db")
    (tmp_path / "old.db").chmod(0o600)

    def session(policy):
        return od.Session(
            OTHER,
            unit="person",
            policy=policy,
            budget=1000,
            delta_budget="1/100",
            ledger=tmp_path / "old.db",
            further=True,
        )

    return session


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_of_0_1_is_told_again(name, opened):
    policy, method, first, rest = ASKED[name]
    session = opened(policy)
    spent = session.spent
    release = getattr(session, method)(*first, **rest, id=name, again=True)
    assert as_stored(name, release.frame) == as_stored(name, told(name))
    assert release.told_again
    assert release.drawn.startswith("20")
    assert session.spent == spent
    with pytest.raises(errors.ReleaseExistsError):
        getattr(session, method)(*first, **rest, id=name)


@pytest.mark.parametrize("name", ASKED)
def test_it_is_told_to_no_other_question(name, opened):
    policy, method, first, rest = ASKED[name]
    session = opened(policy)
    for other in ({"epsilon": 7}, {"where": "pay < 60"}):
        with pytest.raises(errors.ReleaseExistsError, match="another question"):
            getattr(session, method)(*first, **{**rest, **other}, id=name, again=True)


ROWS = {
    "linear": (([[1, 1], [1, 0]],), {**PLACE, "epsilon": 1}, {"where": "pay < 50"}),
    "ranges": (
        ("pay", "all"),
        {"bins": [0, 30, 60, 100], "epsilon": 1, "strategy": "prefix"},
        {"strategy": "identity"},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_sums_of_many_groups_are_told_again(name, tmp_path):
    first, rest, other = ROWS[name]
    shutil.copy(DATA / "rows-0.1.0.db", tmp_path / "old.db")
    (tmp_path / "old.db").chmod(0o600)
    session = od.Session(OTHER, policy=ADDED, budget=1000, ledger=tmp_path / "old.db")
    release = getattr(session, name)(*first, **rest, id=name, again=True)
    assert as_stored(name, release.frame) == as_stored(name, told(name))
    with pytest.raises(errors.ReleaseExistsError, match="another question"):
        getattr(session, name)(*first, **{**rest, **other}, id=name, again=True)


def test_a_mean_of_0_1_is_told_to_nobody(opened):
    """It was the mean of each unit's sum, which is asked for no more."""
    with pytest.raises(errors.ReleaseExistsError, match="another question"):
        opened(ADDED).mean("pay", bounds=(0, 100), epsilon=4, id="mean", again=True)


def test_a_histogram_of_0_1_by_dawa_is_told_to_nobody(opened):
    """Its mechanism did not ask whether neighbours are alike: another way to answer."""
    asked = {"bins": [0, 50, 100], "method": "dawa", "on_excess": "truncate", "epsilon": 1}
    with pytest.raises(errors.ReleaseExistsError, match="another question"):
        opened(ADDED).histogram("pay", **asked, id="dawa", again=True)
