"""Made-up rows fit the schema and say nothing; what is shown as SQL reads as the same question."""

import pytest

import onesided as od
from onesided import policy

pytest.importorskip("duckdb")
pytest.importorskip("fastapi")

from onesided.errors import ParameterError
from onesided.session import question_from_json
from onesided.session.kit import sql_of
from onesided_service._form import LINES, Asked
from onesided_service._made_up import MOST_BYTES, ROWS, made_up, preview_of, within_bytes

SCHEMA = od.Schema(
    unit="person",
    columns={
        "person": od.column("text"),
        "place": od.column("text", keys=["gym", "bar", "inn", "spa"]),
        "Day": od.column("date", keys=["2026-01-05", "2026-01-06"]),
        "note": od.column("text"),
        "ill": od.column("boolean", keys=[True, False]),
        "age": od.column("integer", bounds=(0, 110)),
        "pay": od.column("number", bounds=("-10", "90"), step="1/2"),
        "born": od.column("date", bounds=("1920-01-01", "2020-01-01")),
        "seen": od.column("datetime"),
        "sent": od.column("datetime with zone"),
        "at": od.column("time"),
        "stay": od.column("duration"),
    },
)
PRESENCE = policy.presence(max_groups=2)


@pytest.fixture(scope="module")
def session():
    return od.Session(made_up(SCHEMA), schema=SCHEMA, policy=PRESENCE, budget=10**6)


def test_made_up_rows_have_the_declared_columns_within_their_bounds(session):
    relation, again = made_up(SCHEMA), made_up(SCHEMA)
    assert sorted(relation.columns) == sorted(SCHEMA.columns)
    relation, again = (one.project("* EXCLUDE sent") for one in (relation, again))  # needs pytz
    rows = relation.fetchall()
    assert len(rows) == ROWS
    assert rows == again.fetchall()
    columns = dict(zip(relation.columns, zip(*rows, strict=True), strict=True))
    assert set(columns["place"]) == {"gym", "bar", "inn", "spa"}
    assert min(columns["age"]) >= 0
    assert max(columns["age"]) <= 110
    assert all(-10 <= pay <= 90 and (2 * pay).is_integer() for pay in columns["pay"])
    assert all("1920-01-01" <= str(day) <= "2020-01-01" for day in columns["born"])
    told = session.count(where="born >= DATE '1900-01-01' AND seen IS NOT NULL", epsilon=100)
    assert told.value > 100


def test_the_form_says_how_unknown_is_read_where_there_is_a_condition(session):
    asked = {"kind": "count", "epsilon": "1/2", "unknown": "possible"}
    told = Asked.of({**asked, "where": "ill"}).body["question"]["fields"]
    assert told["unknown"] == "possible"
    assert "unknown" not in Asked.of(asked).body["question"]["fields"]
    assert (
        "unknown"
        not in Asked.of({**asked, "where": "ill", "unknown": ""}).body["question"]["fields"]
    )
    question = od.Count(epsilon="1/2", where="ill", unknown="possible")
    assert sql_of(question, session, table="visits") == ""


def test_at_least_is_previewed_where_counts_only_rise(session):
    asked = Asked(kind="at_least", epsilon="1/2", number="3")
    question = question_from_json(od.session.question_to_json(_read(asked.body["question"])))
    release = preview_of(question, schema=SCHEMA, policy=policy.removal_only())
    assert release.lower_certain
    shown = sql_of(od.AtLeast(3, by="place", epsilon=1), session, table="visits")
    assert shown.endswith(">= 3")
    assert "likely" in preview_of(question, schema=SCHEMA, policy=PRESENCE).columns()


@pytest.mark.parametrize("kind", [kind for kind in LINES if kind != "at_least"])
def test_every_kind_of_the_form_is_a_question_that_is_previewed(kind, session):
    filled = {"column": "age", "number": "3", "max_rows": "3", "by": ("place",)}
    asked = Asked(kind=kind, epsilon="1/2", where="ill", **filled)
    told = asked.body["question"]
    question = question_from_json(od.session.question_to_json(_read(told)))
    release = preview_of(question, schema=SCHEMA, policy=PRESENCE)
    assert release.guarantee.epsilon
    query = sql_of(question, session, table="visits")
    assert bool(query) is (kind not in ("histogram", "sum"))  # which SQL says with max_rows=
    if query:
        assert session.statement(session.question(query, epsilon="1/2")) == session.statement(
            question
        )


def _read(told):
    import json

    told["fields"].setdefault("missing", "drop")
    if told["question"] in ("Count", "AtLeast", "AtMost", "TopK"):
        del told["fields"]["missing"]
    return question_from_json(json.dumps(told))


@pytest.mark.parametrize(
    "question",
    [
        od.Count(by=["place", "Day"], where="age >= 18 AND place LIKE 'b%'", epsilon=1),
        od.session.Quantile("age", "9/10", epsilon=1),
        od.session.Mean("pay", by="Day", epsilon="1/3"),
        od.session.TopK(2, by="place", epsilon=1),
        od.session.AtMost(5, by="place", epsilon=1),
    ],
    ids=repr,
)
def test_sql_that_is_shown_asks_the_same(question, session):
    read = session.question(sql_of(question, session, table="visits"), epsilon=question.epsilon)
    assert session.plan(read).charge == session.plan(question).charge
    assert session.statement(read) == session.statement(question)


@pytest.mark.parametrize(
    "question",
    [
        od.Count(by="place", keys=["gym"], epsilon=1),
        od.Count(by="place", confidence="0.9", epsilon=1),
        od.session.Histogram("age", bins=11, epsilon=1),
        od.Count(others=True, by="place", epsilon=1),
        od.session.Sum("pay", by="Day", of="rows", max_rows=2, epsilon="1/3"),
        od.Quantile("age", q=["1/4", "1/2"], epsilon=1),
        od.Quantile("age", q=("1/4", "1/2"), epsilon=1),
    ],
    ids=repr,
)
def test_what_sql_has_no_words_for_is_not_shown_as_sql(question, session):
    assert sql_of(question, session, table="visits") == ""


@pytest.mark.parametrize(
    "asked",
    [
        Asked(kind="sum"),
        Asked(kind="top_k"),
        Asked(kind="at_most", number="-1"),
        Asked(kind="nothing"),
    ],
)
def test_a_form_that_is_not_filled_in_says_what_is_missing(asked):
    with pytest.raises(ParameterError) as found:
        assert asked.body
    assert found.value.hint


def test_a_preview_is_so_long_and_no_longer():
    assert within_bytes("x" * MOST_BYTES)
    with pytest.raises(ParameterError, match="Preview fewer groups"):
        within_bytes("x" * (MOST_BYTES + 1))
