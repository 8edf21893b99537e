"""A stored answer is told again to the very question that it answers, by that question's fields."""

import datetime as dt
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors, linear
from onesided.session import Count, RangeQuery, _fields, _recall
from onesided.session._fields import plain
from onesided.session._recall import identity_of

VISITS = pl.DataFrame(
    {"person": [1, 1, 2, 3], "place": ["a", "b", "b", "c"], "age": [9, 9, 30, 70]}
)
PRESENCE = od.policy.presence(max_groups=2)
ASK = {"by": "place", "keys": ["a", "b", "c"], "epsilon": 1}


def session(policy=PRESENCE, **more):
    return od.Session(VISITS, unit="person", policy=policy, budget=100, **more)


def identity(question, **more):
    made = session(**more)
    context = made._context()
    return identity_of(question, made._prepared(question, context), context)


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("epsilon", 1, 2),
        ("keys", ["a", "b", "c"], ["a", "c", "b"]),
        ("keys", ["a", "b", "c"], ["a", "b"]),
        ("where", None, "age > 10"),
        ("where", "age > 10", "age > 11"),
        ("confidence", "0.95", "0.9"),
        ("correction", "median", "mean"),
    ],
)
def test_questions_differ_where_a_field_does(name, one, other):
    first, second = (Count(**{**ASK, name: value}) for value in (one, other))
    assert identity(first) != identity(second)


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("epsilon", "1/2", 0.5),
        ("epsilon", Fraction(1, 2), "0.5"),
        ("keys", ["a", "b", "c"], pl.Series(["a", "b", "c"])),
        ("keys", ["a", "b", "c"], pl.DataFrame({"place": ["a", "b", "c"]})),
        ("by", "place", ["place"]),
        ("where", "age>10 and not (age = 30)", '"age" > 10 AND NOT age = 30'),
        ("confidence", "0.95", Fraction(19, 20)),
        ("id", "x", "y"),
        ("again", True, False),
    ],
)
def test_the_same_meaning_is_the_same_question(name, one, other):
    first, second = (Count(**{**ASK, name: value}) for value in (one, other))
    assert identity(first) == identity(second)


def test_fields_at_their_default_are_left_out():
    """So a field that is added with a default orphans no answer."""
    assert set(identity(Count(**ASK))["asked"]) == {"by", "keys", "epsilon"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wider(Count):
    """A question of tomorrow: one more field."""

    weekdays: bool = field(default=False)


def test_a_field_that_is_added_tomorrow_tells_questions_apart():
    assert identity(Wider(**ASK, weekdays=True)) != identity(Wider(**ASK))
    made = session()
    made.ask(Wider(**ASK, id="one"))
    with pytest.raises(errors.ReleaseExistsError, match="another question"):
        made.ask(Wider(**ASK, weekdays=True, id="one", again=True))
    assert made.ask(Wider(**ASK, id="one", again=True)).told_again


def test_policy_unit_and_noise_are_part_of_it(monkeypatch):
    one = identity(Count(**ASK))
    assert identity(Count(**ASK), policy=od.policy.presence(max_groups=3)) != one
    rates = od.mechanism.Counts.for_policy
    half = staticmethod(lambda *a, **k: rates(*a, **{**k, "epsilon": Fraction(1, 2)}))
    monkeypatch.setattr(od.mechanism.Counts, "for_policy", half)
    assert identity(Count(**ASK)) != one  # rates that another version chose


def test_the_four_cases_of_again(tmp_path):
    made = session(ledger=tmp_path / "l.db")
    first = made.count(**ASK, id="day", again=True)  # no entry: drawn
    assert not first.told_again
    with pytest.raises(errors.ReleaseExistsError, match="again=True"):
        made.count(**ASK, id="day")
    told = made.count(**ASK, id="day", again=True)
    assert told.told_again
    assert told.columns() == first.columns()
    for again in (True, False):
        with pytest.raises(errors.ReleaseExistsError, match="another question"):
            made.count(**{**ASK, "epsilon": 2}, id="day", again=again)
    assert dict(made.spent) == dict(first.guarantee.epsilon)


SPELLED = ["age>10", "age > 10"]


def test_one_condition_is_one_question_however_it_is_spelled(tmp_path, monkeypatch):
    made, asked = session(ledger=tmp_path / "l.db"), [Count(**ASK, where=w) for w in SPELLED]
    first = made.ask(replace(asked[0], id="new"))
    told = made.ask(replace(asked[1], id="new", again=True))
    assert (told.told_again, told.columns()) == (True, first.columns())
    several = [od.session.Several([one], id="both", again=True) for one in asked]
    assert [made.ask(one).told_again for one in several] == [False, True]
    # Ledgers hold answers that were known by the text, which is told again as it was written.
    by_text = lambda value, *_: None if value is None else _fields.condition(value).text  # noqa: E731
    with monkeypatch.context() as old:
        where = replace(_fields.asked_fields(Count)["where"], told=by_text)
        kinds = {**_fields.asked_fields(Count), "where": where}
        old.setattr(_recall, "asked_fields", lambda _: kinds)
        first = made.ask(replace(asked[0], id="old"))
    assert made.ask(replace(asked[0], id="old", again=True)).columns() == first.columns()
    with pytest.raises(errors.ReleaseExistsError, match="again=True"):
        made.ask(replace(asked[0], id="old"))
    for other in (asked[1], Count(**ASK, where="age > 11")):
        with pytest.raises(errors.ReleaseExistsError, match="another question"):
            made.ask(replace(other, id="old", again=True))


def test_kinds_are_a_set():
    kinds = ["open", "sensitive"]
    told = [
        identity(Count(**ASK, max_groups=2, counted=one), policy=od.policy.sensitive("age < 10"))
        for one in (kinds, kinds[::-1])
    ]
    assert told[0] == told[1]


def test_every_question_can_be_asked_again():
    for name in od.session.__all__:
        one = getattr(od.session, name)
        if hasattr(one, "prepare") and name != "Question":
            assert {"id", "again"} <= {part.name for part in fields(one)}


@pytest.mark.parametrize(
    "values",
    [
        (1, "1", True, None, dt.date(2026, 1, 1), "2026-01-01"),
        ([1, 2], [2, 1], [[1], 2], (1, 2, 3)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.eye(2), np.ones((2, 2)), np.eye(2).ravel()),
        (linear.Prefix(4), linear.Suffix(4), linear.Identity(4), linear.Prefix(5)),
    ],
)
def test_values_that_differ_are_told_apart(values):
    told = [str(plain(value)) for value in values]
    assert len(set(told)) == len(told)


def test_operators_are_told_apart_by_a_single_entry():
    one = np.zeros((3, 500), dtype=np.int64)
    other = one.copy()
    other[2, 499] = 1
    assert plain(linear.Dense(one)) != plain(linear.Dense(other))
    swapped = np.eye(500, dtype=np.int64)
    assert plain(linear.Dense(swapped)) != plain(linear.Dense(swapped[::-1].copy()))


def test_probes_never_change():
    """They are part of what ledgers hold."""
    assert _fields._without_pattern(3, 1).tolist() == PROBES


PROBES = [630154, 662220, 840666]


def test_a_question_that_cannot_be_told_from_others_is_refused_before_the_charge():
    made = session()
    with pytest.raises(errors.ParameterError, match="told from others"):
        made.histogram("age", bins=[0, 50, 100], epsilon=1, like=None, records=object(), id="x")
    assert not any(made.spent.values())


def test_bins_that_stand_in_a_mapping_tell_ranges_apart():
    rows = pl.DataFrame({"age": [1, 2, 3, 30]})
    open_session = od.Session(rows, policy=od.policy.addition_only(), budget=100)
    asked = {"ranges": "cells", "epsilon": 1, "id": "ages"}
    open_session.ask(RangeQuery({"age": [0, 10, 20]}, **asked))
    other = RangeQuery({"age": [0, 2, 40]}, **asked, again=True)
    with pytest.raises(errors.ReleaseExistsError):
        open_session.ask(other)
