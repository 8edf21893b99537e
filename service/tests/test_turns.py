"""One analyst can take neither all places nor all of a dataset's time."""

import asyncio
import importlib.util
import json
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import update

import onesided as od

pytest.importorskip("fastapi")

from onesided.session.kit import QUESTIONS
from onesided_service import _api, _made_up
from onesided_service._asking import _REFUSED
from onesided_service._clock import (
    ALONE,
    Clock,
    asked_of,
    cells_of,
    groups_of,
    refuse_large,
    refuse_slow,
)
from onesided_service._config import DatasetConfig
from onesided_service._errors import ServiceError
from onesided_service._form import Asked
from onesided_service._pages import settle
from onesided_service._store import State, asks
from onesided_service._turns import DEEPEST, LONGEST, Places, Turns

COUNT = {"version": 1, "question": "Count", "fields": {"epsilon": 1, "by": "place"}}
spec = importlib.util.spec_from_file_location("pages", Path(__file__).with_name("test_pages.py"))
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)
FORM, Browser = pages.FORM, pages.Browser

VISITS = "/api/v1/datasets/visits"


def test_one_person_fills_their_own_places_alone():
    places = Places(most=5, each=3)
    for _ in range(3):
        places.enter("ann")
    with pytest.raises(ServiceError) as refused:
        places.enter("ann")
    assert refused.value.status == 429
    places.enter("bob")
    places.enter("bob")
    with pytest.raises(ServiceError):
        places.enter("cleo")
    places.leave("ann")
    places.enter("cleo")


def test_a_place_is_given_back_whatever_happens():
    places = Places(most=1, each=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), places.held("ann"):
            _ = 1 // 0


def of_visits(state=None):
    return Turns(state or State.open(None), "visits")


def test_turns_are_shared_by_workers_and_not_by_datasets():
    """Two workers never read one dataset at a time, else each makes the other's answers late."""
    state, now = State.open(None), Fraction(1000)
    one, other = of_visits(state), of_visits(state)
    assert one.take("first", "ann", Fraction(2), now=now) == 1002
    assert other.take("second", "bob", Fraction(3), now=now) == 1005
    assert other.take("second", "bob", Fraction(3), now=now) == 1005  # taken up again
    assert Turns(state, "others").take("third", "ann", Fraction(1), now=now) == 1001
    assert one.free_from(now) == 1005
    assert one.take("late", "ann", Fraction(1), now=now + 60) == 1061


def test_one_persons_questions_take_so_long_together_and_no_longer():
    turns, now = of_visits(), Fraction(1000)
    for number in range(LONGEST // 20):
        turns.require("ann", Fraction(20), now=now)
        turns.take(f"ask {number}", "ann", Fraction(20), now=now)
    with pytest.raises(ServiceError) as refused:
        turns.require("ann", Fraction(1), now=now)
    assert refused.value.values["seconds"] == 20
    turns.require("bob", Fraction(20), now=now)
    turns.require("ann", Fraction(20), now=now + 20)


def test_a_long_question_alone_is_answered():
    turns, now = of_visits(), Fraction(1000)
    turns.require("ann", Fraction(ALONE), now=now)
    turns.take("ask", "ann", Fraction(ALONE), now=now)
    turns.require("bob", Fraction(DEEPEST - ALONE), now=now)
    with pytest.raises(ServiceError, match="of this dataset"):
        turns.require("bob", Fraction(DEEPEST - ALONE + 1), now=now)
    with pytest.raises(ServiceError):
        turns.require("ann", Fraction(1), now=now)


DEAR = "UPPER(" * 24 + "place" + ")" * 24 + " = 'A'"
LONG = [
    {"question": "Several", "fields": {"questions": [count] * 256}}
    for count in [{"question": "Count", "fields": {"epsilon": "1/100", "where": DEAR}}]
]
MEDIAN = {"question": "Quantile", "fields": {"epsilon": 1, "column": "age", "q": "1/2"}}
MEDIAN["fields"]["where"] = " OR ".join([DEAR] * 3)
LONG.append(MEDIAN)


@pytest.mark.parametrize("question", LONG, ids=["several", "median"])
def test_no_request_makes_all_others_wait_for_longer_than_one_may(service, question):
    """Whatever it is made of: the seconds that it may take are what is bounded."""
    found = service.inner.datasets["visits"]
    found._seconds = Fraction(30)
    body = {"question": {"version": 1, **question}}
    for way in ("plan", "preview", "ask"):
        refused = service.post(f"{VISITS}/{way}", body)
        assert refused.status_code == 422, refused.text
        assert "seconds; one request here may take 300" in refused.json()["error"]["message"]
        assert refused.json()["error"]["hint"]
    assert set(service.get(VISITS).json()["spent"].values()) == {"0"}


def test_a_question_of_any_class_is_answered_however_large_the_table():
    """What one request may take grows with what the smallest one takes."""
    base = {"name": "v", "data": "", "schema": "", "policy": "", "budget": Fraction(1)}
    kinds = (getattr(kind, "work", 1) for kind in QUESTIONS.values())
    assert max(kinds) < 10
    for rows in (1, 10**6, 10**12):
        config = DatasetConfig(**base, declared_rows=rows)
        for one in (od.Count(epsilon=1), od.session.Quantile("age", "1/2", epsilon=1)):
            refuse_slow(one, None, config)
        some = od.session.Several([od.Count(epsilon=1)] * (ALONE + 1))
        with pytest.raises(od.errors.ParameterError, match="seconds"):
            refuse_slow(some, None, config)


@pytest.mark.parametrize("way", ["api", "page"])
def test_previews_are_bounded_by_what_questions_may_take(service, monkeypatch, way):
    """They are free: two people who preview without end would leave no plan to others."""
    made = []
    monkeypatch.setattr(_made_up, "made_up", lambda *given, **_: made.append(given))
    if way == "api":
        median = {"question": {"version": 1, **MEDIAN}}
        told = service.post(f"{VISITS}/preview", median)
        assert service.post(f"{VISITS}/plan", median).status_code == 200
    else:
        form = {**FORM, **MEDIAN["fields"], "epsilon": "1", "kind": "median", "do": "preview"}
        told = Browser(service).sign_in("ann").post("/datasets/visits/ask", form)
    assert "preview" in told.text
    assert f"as {_made_up.MOST_TIMES}." in told.text
    assert not made


def test_whoever_has_too_much_under_way_is_told_so_before_any_charge(service, monkeypatch):
    monkeypatch.setattr(service.inner._asks, "_each", 2)
    for _ in range(2):
        service.inner._asks.enter("ann")
    refused = service.ask(COUNT)
    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "1"
    assert refused.json()["error"]["type"] == "Busy"
    assert service.ask(COUNT, "bob").status_code == 200
    for _ in range(2):
        service.inner._asks.leave("ann")
    assert service.ask(COUNT).status_code == 200
    spent = json.loads(service.get(VISITS).text)["allowance_spent"]
    assert set(spent.values()) == {"1"}


def test_places_are_free_again_after_answers_and_refusals(service):
    for _ in range(3):
        assert service.ask(COUNT).status_code == 200
        assert service.post(f"{VISITS}/ask", {"sql": "SELECT 1"}).status_code == 422
        assert service.post(f"{VISITS}/plan", {"sql": "SELECT 1"}).status_code == 422
        assert service.post(f"{VISITS}/plan", {"question": COUNT}).status_code == 200
    assert not service.inner._asks._held
    assert not service.inner._plans._held


def test_plans_of_one_person_leave_room_for_those_of_others(service):
    for _ in range(4):
        service.inner._plans.enter("ann")
    refused = service.post(f"{VISITS}/plan", {"question": COUNT})
    assert refused.status_code == 429
    assert service.post(f"{VISITS}/preview", {"question": COUNT}).status_code == 429
    assert service.post(f"{VISITS}/plan", {"question": COUNT}, "bob").status_code == 200


@pytest.mark.parametrize("way", ["ask", "plan"])
def test_one_person_takes_one_thread_before_a_charge(service, monkeypatch, way):
    """Else a crowd of questions that cost more than is left holds every thread, at no charge."""
    go, inner = threading.Event(), service.inner
    begin, planned = inner.asking.begin, _api.planned

    def slow(person, *given):
        assert person.name != "ann" or go.wait(60)
        return begin(person, *given)

    def planning(at, body):
        assert "id" not in body["question"]["fields"] or go.wait(60)
        return planned(at, body)

    monkeypatch.setattr(inner.asking, "begin", slow)
    monkeypatch.setattr(_api, "planned", planning)
    named = {**COUNT, "fields": {**COUNT["fields"], "id": "mine"}}
    crowd = [
        threading.Thread(target=service.post, args=(f"{VISITS}/{way}", {"question": named}))
        for _ in range(4 if way == "plan" else 40)
    ]
    for one in crowd:
        one.start()
    try:
        assert service.get("/api/v1/me", "bob", timeout=30).status_code == 200
        told = service.post(f"{VISITS}/{way}", {"question": COUNT}, "bob", timeout=30)
        assert told.status_code == 200
    finally:
        go.set()
        for one in crowd:
            one.join()


def asked(**fields):
    return {"version": 1, "question": "RangeQuery", "fields": {"epsilon": 1, **fields}}


@pytest.mark.parametrize(
    "fields",
    [
        {"column": ["age", "age"], "ranges": "cells", "bins": [40, 40]},
        {"column": "age", "ranges": "all", "bins": 4096},
        {"column": "age", "ranges": [[0, 55]] * 30_000, "bins": 110},
    ],
)
@pytest.mark.parametrize("way", ["plan", "preview", "ask"])
def test_a_question_that_is_too_large_is_refused_by_its_size(service, fields, way):
    refused = service.post(f"{VISITS}/{way}", {"question": asked(**fields)})
    assert refused.status_code == 422, refused.text
    assert "this dataset" in refused.json()["error"]["message"]


def test_maps_have_the_time_that_they_need():
    clock = Clock(Fraction(1))
    config = DatasetConfig(name="v", data="", schema="", policy="", budget=Fraction(1))
    few, many = (
        od.session.RangeQuery(["x", "y"], "cells", bins=[n, n], epsilon=1) for n in (2, 32)
    )
    assert clock.takes(many, config) == 13 * clock.takes(few, config)


def test_several_questions_are_as_large_as_all_of_them(service):
    """Else 256 histograms of 1,000 bins keep a core busy for minutes, at no charge."""
    bins = {"question": "Histogram", "fields": {"epsilon": 1, "column": "age", "bins": 100}}
    several = {"version": 1, "question": "Several", "fields": {"questions": [bins] * 11}}
    refused = service.post(f"{VISITS}/plan", {"question": several})
    assert refused.status_code == 422, refused.text
    assert refused.json()["error"]["values"]["cells"] == 1100


def _grid(size):
    column = od.column("integer", keys=list(range(size)))
    return od.Schema(columns={"x": column, "y": column, "z": column})


def test_groups_that_the_schema_declares_have_the_time_that_they_need():
    """A few words stand for all pairs of keys: whoever asked for many closed the dataset."""
    clock, schema = Clock(Fraction(1)), _grid(300)
    config = DatasetConfig(name="v", data="", schema="", policy="", budget=Fraction(1))
    one = od.Count(by="x", epsilon=1)
    pairs = od.Count(by=["x", "y"], epsilon=1)
    medians = od.session.Quantile(by=["x", "y"], column="z", q="1/2", epsilon=1)
    took = [clock.takes(question, config, schema) for question in (one, pairs, medians)]
    written = 9  # seconds for drawing and writing down, after they are read
    assert took == [1, 5 + written, 3 * (1 + 90_000 // 2_000) + written]


def test_an_answer_of_many_numbers_has_time_to_be_written_down(service):
    """Twenty long counts were late each time after a turn that was for reading alone."""
    keys = {"keys": {"range": [0, 19_900, 1]}, "by": "age", "epsilon": "1/1000"}
    count = {"question": "Count", "fields": keys}
    several = {"version": 1, "question": "Several", "fields": {"questions": [count] * 20}}
    told = service.post(f"{VISITS}/plan", {"question": several})
    assert int(told.json()["due_seconds"]) == 20 + 40 + 1, told.text
    asking, dataset = service.inner.asking, service.inner.datasets["visits"]
    ann = service.inner.people.named("ann")
    ask, _ = asking.begin(ann, dataset, {"question": several})
    assert ask.through - ask.starts == 20
    assert ask.due - ask.through >= 40


def test_keys_in_a_file_are_counted(tmp_path):
    column = od.column("integer", keys="x.csv")
    schema = od.Schema(columns={"x": column, "y": column}, folder=tmp_path)
    (tmp_path / "x.csv").write_text("x,y\n" + "\n".join(f"{n},{n}" for n in range(70)))
    assert groups_of(od.Count(by=["x", "y"], epsilon=1), schema) == 4_900


@pytest.mark.parametrize(
    "question",
    [
        od.Count(by=["x", "y", "z"], epsilon=1),
        od.session.Histogram("x", by=["x", "y"], bins=1000, epsilon=1),
        od.session.Several([od.Count(by=["x", "y"], epsilon=1)] * 120),
    ],
)
def test_too_many_groups_are_refused(question):
    with pytest.raises(od.errors.ParameterError, match="groups"):
        refuse_large(question, _grid(102), most=1024)


@pytest.mark.parametrize(
    ("question", "cells", "ranges"),
    [
        (od.Count(epsilon=1), 1, 1),
        (od.session.Histogram("age", bins=[0, 18, 65], epsilon=1), 2, 1),
        (od.session.Histogram({"x": 8, "y": [0, 1, 2]}, epsilon=1), 16, 1),
        (od.session.RangeQuery("x", "all", bins=16, epsilon=1), 16, 136),
        (od.session.RangeQuery(["x", "y"], "cells", bins=[4, [0, 1, 5]], epsilon=1), 8, 8),
        (od.session.RangeQuery("x", [(0, 1)] * 7, bins=16, epsilon=1), 16, 7),
    ],
)
def test_what_a_question_says_is_counted(question, cells, ranges):
    assert (cells_of(question), asked_of(question)) == (cells, ranges)


def test_a_turn_is_admitted_in_the_transaction_that_takes_it(tmp_path):
    """Eight at once never take more than one person may, and what is refused leaves no trace."""
    from concurrent.futures import ThreadPoolExecutor

    state = State.open(str(tmp_path / "service.db"))
    turns, now = Turns(state, "visits"), Fraction(1000)

    def take(number):
        try:
            with state.write() as connection:
                turns.admit(connection, f"ask {number}", "ann", Fraction(10), now=now)
        except ServiceError as error:
            return error.status
        return 200

    with ThreadPoolExecutor(8) as threads:
        found = sorted(threads.map(take, range(24)))
    assert found == [200] * (LONGEST // 10) + [429] * (24 - LONGEST // 10)
    turns.leave("ask none")
    state.close()


def test_what_everybody_waits_for_is_bounded(tmp_path):
    state = State.open(str(tmp_path / "service.db"))
    turns, now = Turns(state, "visits"), Fraction(1000)

    def admit(ask, who, takes):
        with state.write() as connection:
            turns.admit(connection, ask, who, Fraction(takes), now=now)

    for number in range(DEEPEST // LONGEST):
        admit(f"ask {number}", f"person {number}", LONGEST)
    with pytest.raises(ServiceError, match="of this dataset") as caught:
        admit("more", "bob", 1)
    assert caught.value.status == 429
    turns.leave("ask 0")
    admit("more", "bob", 1)
    state.close()


@pytest.mark.parametrize("column", ["age", ["age", "person"]])
def test_an_epsilon_is_looked_for_by_page_and_program_for_few_cells_alone(
    service, monkeypatch, column
):
    """Some thirty plans are made to find one: what the one refuses, the other does."""
    bins = 100 if column == "age" else [9, 9]
    cells = {"question": "Histogram", "fields": {"epsilon": 1, "column": column, "bins": bins}}
    body = {"question": {"version": 1, **cells}}
    told = service.post(f"{VISITS}/suggest", {**body, "wanted": {"within": 20}})
    assert "at most 64" in told.json()["error"]["message"]

    monkeypatch.setattr(Asked, "body", property(lambda _: body))
    with pytest.raises(od.errors.ParameterError, match="at most 64"):
        settle(service.inner.datasets["visits"], Asked(within="20"))


def test_a_charge_that_another_noted_as_refused_is_answered(service):
    """Two ask under one name at once: the one is refused, and the other charged."""
    inner = service.inner
    found, ann = inner.datasets["visits"], inner.people.named("ann")
    named = {"question": {**COUNT, "fields": {**COUNT["fields"], "id": "monday"}}}
    ask, _ = inner.asking.begin(ann, found, named)
    ask = replace(ask, due=ask.due - 60)
    row = update(asks).where(asks.c.id == ask.id)
    inner.state.run(row.values(due=str(ask.due), charged=_REFUSED))

    async def told():
        return await asyncio.wait_for(inner.told(ask, found), 60)

    assert service.client.run(told()).answer


@pytest.mark.parametrize("way", ["plan", "preview", "ask", "suggest"])
def test_rows_made_up_by_a_model_are_refused(service, way):
    """How long a model takes to fit follows from answers, and no clock waits for that."""
    fields = {"columns": ["place"], "records": 100, "epsilon": "1/100"}
    question = {"version": 2, "question": "Synthetic", "fields": fields}
    told = service.post(f"{VISITS}/{way}", {"question": question, "error": 5})
    assert told.status_code in (400, 422), told.text
    assert "A mistake" not in told.text
