"""Questions and releases as JSON: read back exactly; what is not known is refused."""

# ruff: noqa: E501 - documents are lines

import datetime as dt
import json
import math
import random
from decimal import Decimal
from fractions import Fraction

import jsonschema
import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.session import (
    Above,
    AtLeast,
    AtMost,
    Below,
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
    AtLeast(5, **BY),
    Below({"a": 1, "b": 2}, max_answers=3, adaptive=True, **BY),
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
    whole = jsonschema.Draft202012Validator(questions_schema())
    form = {part["properties"]["question"]["const"]: part for part in whole.schema["oneOf"]}
    for question in QUESTIONS:
        told = json.loads(question_to_json(question))
        known = form[told["question"]]["properties"]["fields"]
        assert set(told["fields"]) <= set(known["properties"])
        assert set(known["required"]) <= set(told["fields"])
        assert known["additionalProperties"] is False
        whole.validate(told)


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [({"epsilon": []}, "epsilon"), ({"by": 3}, "by"), ({"max_groups": "two"}, "max_groups")],
)
def test_the_published_form_has_the_type_of_every_field(fields, wrong):
    told = {"version": 2, "question": "Count", "fields": {"epsilon": 1, **fields}}
    (count,) = (
        k for k in questions_schema()["oneOf"] if k["properties"]["question"]["const"] == "Count"
    )
    with pytest.raises(jsonschema.ValidationError) as caught:
        jsonschema.validate(told, {**questions_schema(), "oneOf": [count]})
    assert wrong in str(caught.value)


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


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b["guarantee"].update(epsilon={"record -> absent": "-1"}),
        lambda b: b["guarantee"].update(delta={"record -> absent": "2"}),
        lambda b: b["guarantee"].update(policy=5),
        lambda b: b["statement"].update(confidence="certain"),
        lambda b: b["columns"].append(b["columns"][0]),
        lambda b: b["columns"][0][1].append(1),
        lambda b: dict(b["columns"])["upper_certain"].__setitem__(0, 1),
        lambda b: b.update(drawn=5),
        lambda b: b.update(cut=True),
        lambda b: b.update(entry=float("nan")),
        lambda b: b.update(told_again="yes"),
        lambda b: b.update(found="\ud800"),
        lambda b: b.update(version=2.0),
    ],
)
def test_a_document_that_is_no_release_is_refused(change):
    people, policy = pl.DataFrame({"person": [1, 2]}), od.policy.addition_only()
    release = od.Session(people, unit="person", policy=policy, budget=90).count(epsilon=80)
    document = json.loads(release_to_json(release))
    release_from_json(json.dumps(document))
    change(document)
    with pytest.raises(errors.ParameterError):
        release_from_json(json.dumps(document))


def test_what_a_document_says_cannot_steer_a_terminal():
    people, policy = pl.DataFrame({"person": [1, 2]}), od.policy.addition_only()
    release = od.Session(people, unit="person", policy=policy, budget=90).count(epsilon=80)
    document = json.loads(release_to_json(release))
    document |= {"cut": "\x1b[2J", "found": "\x1b[31m"}
    document["guarantee"] |= {"about": "\x1b]0;x\x07", "policy": "\x1b[1m"}
    document["guarantee"]["epsilon"] |= {"\x1b[1m": "1"}
    document["guarantee"]["delta"] |= {"\x1b[1m": "0"}
    read = release_from_json(json.dumps(document))
    assert "\x1b" not in str(read) + str(read.guarantee.as_dict())


def test_questions_that_nest_too_deep_or_name_a_key_twice_are_refused():
    deep = "[" * 500 + "]" * 500
    twice = '{"pairs":[["a",[1]],["a",[2]]]}'
    for keys in (deep, twice):
        text = f'{{"version":2,"question":"Count","fields":{{"epsilon":1,"keys":{keys}}}}}'
        with pytest.raises(errors.ParameterError):
            question_from_json(text)


JUNK = [
    *(None, True, False, 0, 1, -1, 2, 2.0, 1.5, 2**70, "", "2", "1/2", "a", "possible", [], {}, [1], ["a"]),
    *([[1]], ["2"], [True], [None, "x"], {"a": 1}, {"number": "1/2"}, {"number": "1/0"}, {"number": 3}),
    *({"number": "1e9"}, {"number": "1e900"}, {"number": "1\n"}, {"number": ""}, {"number": "-.5"}, {"number": "."}),
    *({"float": "nan"}, {"float": "NaN"}, {"float": 1}, {"range": [0, 4, 1]}, {"range": [0, 4, 0]}, {"range": []}),
    *({"range": [3.0]}, {"range": [True]}, {"range": [1, 2, 3, 4]}, {"range": [0, 4, -1]}, {"range": 3}),
    *({"tuple": [1, {"date": "2024-02-29"}]}, {"tuple": [1, {"date": "2023-02-29"}]}, {"tuple": "a"}),
    *({"date": "1900-02-29"}, {"date": "2000-02-29"}, {"date": "0000-01-01"}, {"date": "20240101"}, {"date": 3}),
    *({"datetime": "2024-01-01T00:00:00"}, {"datetime": "2024-01-01T24:00:00"}, {"datetime": "2024-01-01"}),
    *({"datetime": "2024-01-01T00:00:00.123456+01:30"}, {"time": "03:04:00"}, {"time": "3:4"}, {"time": "03:04Z"}),
    *({"duration": [0, 1, 2]}, {"duration": [True]}, {"duration": [1, 2]}, {"duration": [0, 86400, 0]}, {"duration": 1}),
    *({"pairs": []}, {"pairs": [["a", 1]]}, {"pairs": [[[1], 1]]}, {"pairs": [["a"]]}, {"pairs": [["a", {"x": 1}]]}),
    *({"pairs": [[{"tuple": ["a", 1]}, [0, "5"]]]}, {"pairs": [[{"tuple": [[1]]}, 1]]}, {"pairs": [[{"range": [3]}, 1]]}),
    *({"question": "Count", "fields": {"epsilon": 1}}, {"version": 2, "question": "Count", "fields": {"epsilon": 1}}),
    *({"question": "Count", "fields": {"epsilon": "1/2", "max_groups": "2"}}, {"question": "Nothing", "fields": {}}),
]  # fmt: skip


def places(node, before=()):
    """Where a document can be changed: the ways to all its parts."""
    yield before
    parts = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node if isinstance(node, list) else ())
    )
    for key, part in parts:
        yield from places(part, (*before, key))


def changed(document, rng):
    """A document near a valid one: a part in place of another, without one, or with one more."""
    made = json.loads(document)
    *before, last = rng.choice([way for way in places(made) if way and way != ("version",)])
    node = made
    for key in before:
        node = node[key]
    match rng.randrange(4):
        case 0 if isinstance(node, dict):
            del node[last]
        case 1 if isinstance(node, dict):
            names = [
                "version",
                "keys",
                "k",
                "max_groups",
                "simultaneous",
                "bins",
                "title",
                "weights",
                "x",
            ]
            node[rng.choice(names)] = rng.choice(JUNK)
        case _:
            node[last] = rng.choice(JUNK)
    return made


def test_the_published_form_and_the_reader_agree():
    rng, form = random.Random(5), jsonschema.Draft202012Validator(questions_schema())
    documents = [question_to_json(one) for one in QUESTIONS]
    seen = set()
    for _ in range(800):
        document = changed(rng.choice(documents), rng)
        if str(document.get("version")) not in ("2", "None"):
            continue  # version 1 is read, and to JSON Schema 2.0 is 2
        try:
            question_from_json(json.dumps(document))
            read = True
        except errors.ParameterError:
            read = False
        seen.add(read)
        assert form.is_valid(document) == read, document
    assert seen == {True, False}


@pytest.mark.parametrize(
    "text",
    [
        '{"question":"Count","fields":{"epsilon":1}}',
        '{"version":2,"question":"Count","fields":{"epsilon":NaN}}',
        '{"version":2,"question":"Count","fields":{"epsilon":Infinity}}',
        '{"version":2,"question":"Count","fields":{"epsilon":true}}',
        '{"version":2,"question":"Count","fields":{"epsilon":1,"max_groups":"2"}}',
        '{"version":2,"question":"Several","fields":{"questions":[{"version":2,"question":"Count","fields":{"epsilon":1}}]}}',
    ],
)
def test_what_is_not_of_the_form_is_refused(text):
    with pytest.raises(errors.ParameterError):
        question_from_json(text)


def test_a_value_is_read_once():
    """However it is written: the same question, plan and document."""
    rows = pl.DataFrame({"person": [1, 2, 3], "place": ["a", "b", "b"], "age": [1, 2, 3]})
    session = od.Session(rows, unit="person", policy=od.policy.presence(max_groups=2), budget=999)
    one, two = TopK("2", **BY), TopK(np.int64(2), **BY)
    assert question_to_json(one) == question_to_json(two) == question_to_json(TopK(2, **BY))
    assert session.plan(one).charge == session.plan(two).charge
    for same in (
        (Count(**BY, max_groups=2, id="a"), Count(**BY, max_groups="2", id="a", again=True)),
        (
            Histogram("age", bins=[0, 10], epsilon=1, id="b"),
            Histogram("age", bins=("0", "10"), epsilon=1, id="b", again=True),
        ),
        (
            Several([Count(epsilon=1), Count(**BY)], epsilon=1, weights=[1, 2], id="c"),
            Several([Count(epsilon=1), Count(**BY)], epsilon=1, weights=["0.5", 1], id="c", again=True),
        ),
        (Above(1, **BY, max_answers=1, id="d"), Above("1", **BY, max_answers=1.0, id="d", again=True)),
    ):  # fmt: skip
        session.ask(same[0])
        assert session.ask(same[1]).told_again
    with pytest.raises(errors.ParameterError, match="column must be text"):
        session.plan(Histogram(["a"], bins=[0, 1], epsilon=1))
    with pytest.raises(errors.ParameterError, match="True or False"):
        session.plan(Count(epsilon=1, simultaneous="no"))
