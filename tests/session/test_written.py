"""Questions and releases as JSON: read back exactly; what is not known is refused."""

import datetime as dt
import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.session import (
    Above,
    AtMost,
    Count,
    Histogram,
    Mean,
    Quantile,
    RangeQuery,
    Sample,
    Several,
    Sum,
    TopK,
    question_from_json,
    question_to_json,
    questions_schema,
    release_from_json,
    release_to_json,
)

BY = {"by": "place", "keys": ["a", "b"], "epsilon": 1}
QUESTIONS = [
    Count(epsilon=1),
    Count(**BY, confidence="0.9", simultaneous=True, id="x", again=True),
    Count(**BY, where="age >= 18 AND place <> 'ä'"),
    Count(by=["place", "hour"], keys=[("a", 1), ("b", 2)], epsilon=Fraction(1, 3)),
    Count(by=("place",), keys={"place": ["a"]}, epsilon=0.1, others=True),
    Count(by="hour", keys=range(24), epsilon=Decimal("0.25"), counted=["open"]),
    Count(by="day", keys=[dt.date(2026, 1, 2)], epsilon=1),
    Count(by="at", keys=[dt.datetime(2026, 1, 2, 3, 4, 5, 6, dt.UTC)], epsilon=1),
    Count(by="at", keys=[dt.time(3, 4), dt.timedelta(days=-1, microseconds=3)], epsilon=1),
    Count(by="x", keys=[1.5, math.inf, -math.inf, True, None, 2**70, ""], epsilon=1),
    Sum("age", of="units", total_bounds=(0, Fraction(1, 2)), step=Fraction(1, 4), **BY),
    Mean("age", bounds=[0, 100], missing="drop", epsilon="1/2"),
    Quantile("age", Fraction(9, 10), candidates=[1, 2, 3], epsilon=1),
    Histogram("age", bins=[0, 18, 65], epsilon=1, max_groups=3),
    Histogram({"x": [0, 1], "y": [0, 1, 2]}, epsilon=1),
    RangeQuery("age", [(0, 8)], bins=range(9), epsilon=1),
    TopK(3, **BY, confidence="0.9"),
    Above(5, max_answers=None, **BY),
    Above({"a": 1, "b": 2}, max_answers=3, **BY),
    AtMost(5, **BY),
    Sample(epsilon=1),
    Several(
        [Count(**BY), Sum("age", of="units", total_bounds=(0, 9), epsilon=1)],
        weights=[1, 2],
        id="both",
    ),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: type(one).__name__)
def test_a_question_is_read_back_exactly(question):
    text = question_to_json(question)
    back = question_from_json(text)
    assert back == question
    assert type(back) is type(question)
    assert question_to_json(back) == text
    assert json.loads(text)["version"] == 2


def test_keys_of_any_kind_are_the_same_keys():
    rows = pl.DataFrame({"place": ["a", "b"]})
    session = od.Session(rows, policy=od.policy.bounded(), budget=9)
    asked = Count(by="place", keys=pl.Series(["a", "b"]), epsilon=1, id="x")
    session.ask(asked)
    for keys in (np.array(["a", "b"]), rows, rows.to_arrow(), asked.keys):
        read = question_from_json(question_to_json(Count(by="place", keys=keys, epsilon=1)))
        again = Count(by="place", keys=read.keys, epsilon=1, id="x", again=True)
        assert session.ask(again).told_again


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "{}",
        '{"version":1,"question":"Count"}',
        '{"version":3,"question":"Count","fields":{"epsilon":1}}',
        '{"version":true,"question":"Count","fields":{"epsilon":1}}',
        '{"version":1,"question":"Count","fields":{"epsilon":1},"more":1}',
        '{"version":1,"question":"Counts","fields":{"epsilon":1}}',
        '{"version":1,"question":"OwnMechanism","fields":{"epsilon":1}}',
        '{"version":1,"question":"__import__","fields":{}}',
        '{"version":1,"question":["Count"],"fields":{"epsilon":1}}',
        '{"version":1,"question":"Count","fields":[]}',
        '{"version":1,"question":"Count","fields":{}}',
        '{"version":1,"question":"Count","fields":{"epsilon":1,"limit":3}}',
        '{"version":1,"question":"AtMost","fields":{"threshold":1,"epsilon":1,"max_answers":3}}',
        '{"version":1,"question":"Count","fields":{"epsilon":{"number":"x"}}}',
        '{"version":1,"question":"Count","fields":{"epsilon":{"number":"1/0"}}}',
        '{"version":1,"question":"Count","fields":{"epsilon":{"number":"1e9000000"}}}',
        '{"version":1,"question":"Count","fields":{"epsilon":{"number":1.5}}}',
        '{"version":1,"question":"Several","fields":{"questions":"abc"}}',
        '{"version":1,"question":"Count","fields":{"epsilon":{"eval":"1"}}}',
        '{"version":1,"question":"Count","fields":{"epsilon":{"number":"1","float":"nan"}}}',
        '{"version":1,"question":"Count","fields":{"keys":{"date":3},"epsilon":1}}',
        '{"version":1,"question":"Count","fields":{"keys":{"pairs":[1]},"epsilon":1}}',
        '{"version":1,"question":"Several","fields":{"questions":[{"question":"Count"}]}}',
        '{"version":1,"question":"Count","fields":{"epsilon":1,"epsilon":5}}',
        '{"version":1,"question":"Count","fields":{"keys":{"range":[0,1000000000000,1]},"epsilon":1}}',
        '{"version":1,"question":"Count","fields":{"keys":{"range":[true,5]},"epsilon":1}}',
        '{"version":1,"question":"Count","fields":{"keys":{"tuple":"ab"},"epsilon":1}}',
        '{"version":1,"question":"Count","fields":{"keys":{"pairs":["ab"]},"epsilon":1}}',
        "[" * 10_000,
        3,
    ],
    ids=lambda text: str(text)[:40],
)
def test_what_is_no_question_is_refused(text):
    with pytest.raises(errors.ParameterError):
        question_from_json(text)


def test_what_has_no_form_is_refused():
    for given in (
        od.session.LinearQuery(od.linear.Identity(2), by="x", keys=[1, 2], epsilon=1),
        Count(by="x", keys=object(), epsilon=1),
    ):
        with pytest.raises(errors.ParameterError, match="no form in JSON"):
            question_to_json(given)


def test_the_published_form_names_every_field():
    form = {part["properties"]["question"]["const"]: part for part in questions_schema()["oneOf"]}
    for question in QUESTIONS:
        told = json.loads(question_to_json(question))
        known = form[told["question"]]["properties"]["fields"]
        assert set(told["fields"]) <= set(known["properties"])
        assert set(known["required"]) <= set(told["fields"])
        assert known["additionalProperties"] is False


def releases():
    rows = pl.DataFrame({"person": [1, 2, 3], "place": ["a", "b", "b"], "age": [1, 2, 3]})
    session = od.Session(rows, unit="person", policy=od.policy.addition_only(), budget=999)
    yield session.count(**BY, max_groups=1)
    yield session.sum("age", of="units", total_bounds=(0, 9), epsilon=1)
    yield session.top_k(1, **BY, max_groups=1, on_excess="error")
    yield session.mean("age", bounds=(0, 9), epsilon=1)
    yield session.at_most(1, **BY, max_groups=1, on_excess="error")
    yield session.histogram("age", bins=[0, 2, 4], epsilon=1)


@pytest.mark.parametrize("release", list(releases()), ids=lambda one: type(one).__name__)
def test_a_release_is_read_back_exactly(release):
    text = release_to_json(release)
    back = release_from_json(text)
    assert release_to_json(back) == text
    assert back.columns() == release.columns()
    assert back.guarantee.epsilon == release.guarantee.epsilon
    assert str(back.guarantee) == str(release.guarantee)
    assert (back.title, back.entry, back.cut) == (release.title, release.entry, release.cut)
    assert np.array_equal(back.interval.upper, release.interval.upper)
    assert back.interval.upper_certain == release.interval.upper_certain
    for other in (
        text.replace('"version":2', '"version":3'),
        text.replace('"title"', '"name"'),
        text.replace('"about"', '"other"'),
        text.replace('"columns":[[', '"columns":[3,['),
        "{}",
    ):
        with pytest.raises(errors.ParameterError):
            release_from_json(other)


def test_several_answers_are_read_back_as_several():
    rows = pl.DataFrame({"person": [1, 2, 3], "place": ["a", "b", "b"]})
    session = od.Session(rows, unit="person", policy=od.policy.addition_only(), budget=999)
    asked = [Count(**BY, max_groups=1), Count(epsilon=1)]
    answers = session.ask_all(asked, id="both")
    text = release_to_json(answers)
    back = release_from_json(text, frame=pl.DataFrame)
    assert release_to_json(back) == text
    assert [one.columns() for one in back] == [one.columns() for one in answers]
    assert str(back.guarantee) == str(answers.guarantee)
    assert back[0].frame.columns[0] == "place"
    assert back[1].labels == answers[1].labels == [()]
    again = session.ask_all(asked, id="both", again=True)
    assert release_from_json(release_to_json(again))[0].told_again
    inside = json.loads(text)
    inside["answers"] = [{k: v for k, v in inside.items() if k != "version"}]
    for wrong in (inside, {**inside, "answers": [3]}, {**inside, "answers": 3}):
        with pytest.raises(errors.ParameterError):
            release_from_json(json.dumps(wrong))
