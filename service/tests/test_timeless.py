"""What is told never says when another answer was drawn, or how long one took."""

import asyncio
import copy
import threading
import time
from dataclasses import replace
from fractions import Fraction

import pytest
from sqlalchemy import func, select

pytest.importorskip("fastapi")

from onesided_service._store import overruns

COUNT = {"version": 1, "question": "Count", "fields": {"epsilon": 1, "by": "place"}}
SQL = "EXPLAIN SELECT place, COUNT(DISTINCT person) FROM visits GROUP BY place"


def test_answers_have_no_numbers_of_the_ledger(service):
    """Answers take numbers once they are drawn: those of charges would tell when others were."""
    count = {"question": "Count", "fields": {"epsilon": 1}}
    several = {"version": 1, "question": "Several", "fields": {"questions": [count, count]}}
    for question in (COUNT, several):
        told = service.ask(question).json()
        release = told["release"]
        for one in (release, *release.get("answers", ())):
            assert (one["entry"], one["told_again"], one["drawn"]) == (None, False, "")
        read = service.get(f"/api/v1/asks/{told['ask']}").json()["release"]
        assert read == release
    numbers = [one["number"] for one in entries(service)]
    assert numbers == sorted(numbers, reverse=True)


def entries(service):
    return service.get("/api/v1/datasets/visits/ledger", who="curator").json()


def test_a_late_answer_is_never_told_and_the_eighth_closes_the_dataset(service, monkeypatch):
    """An answer leaves at its one tick or never: of several ticks, which one would tell of rows."""
    from onesided_service._clock import Clock

    dataset, done, go = service.inner.datasets["visits"], threading.Event(), threading.Event()
    real = dataset.answer

    def slow(question):
        go.wait(60)
        try:
            return real(question)
        finally:
            done.set()

    monkeypatch.setattr(type(dataset), "answer", lambda _, question: slow(question))
    monkeypatch.setattr(type(service.inner.clock), "until", Clock.until)
    monkeypatch.setattr(type(service.inner.clock), "takes", lambda *_: Fraction(1, 10))
    late = [named(number) for number in range(8)]
    assert service.ask(late[0]).json()["error"]["type"] == "Lost"
    assert service.ask(late[0]).status_code == 410  # and is not charged again
    assert dataset.open
    for question in late[1:]:
        assert service.ask(question).status_code == 410
    assert not dataset.open
    assert service.ask(named(8)).status_code == 503
    told = service.get("/api/v1/datasets/visits/notes", who="curator").json()
    assert told[0]["note"] == "8 questions missed their ticks."
    assert len(told) == 9
    go.set()
    assert done.wait(60)
    monkeypatch.undo()
    dataset.reopen()
    assert service.ask(named(8)).status_code == 200
    for question in late:
        assert service.ask(question).status_code == 410
        assert service.ask({**question, "fields": question["fields"] | {"again": True}}).is_error
    asks = service.get("/api/v1/datasets/visits/asks").json()
    states = [service.get(f"/api/v1/asks/{one['ask']}").status_code for one in asks]
    assert sorted(states) == [200, *[410] * 8]
    assert sum(one["kind"] == "spend" for one in entries(service)) == 9


def test_late_answers_before_a_reopening_count_no_more(service):
    inner, dataset = service.inner, service.inner.datasets["visits"]

    def late(*numbers):
        with inner.state.write() as connection:
            return [dataset.overran(connection, f"ask {n}") for n in numbers]

    assert late(*range(7), 3) == [True] * 7 + [False]
    assert dataset.open
    assert late(7) == [True]
    assert not dataset.open
    dataset.reopen()
    assert late(8) == [True]
    assert dataset.open


def test_what_died_while_it_read_is_taken_up_once_and_counts(service):
    """An answer leaves at its one tick or never: another tick tells a bit, a third none more."""
    inner, dataset = service.inner, service.inner.datasets["visits"]
    ann = inner.people.named("ann")
    fresh, _ = inner.asking.begin(ann, dataset, {"question": named(0)})
    begun, _ = inner.asking.begin(ann, dataset, {"question": named(1)})
    number = select(func.count()).select_from(overruns)
    later = inner.asking.postponed(fresh, dataset)
    assert later.due > fresh.due
    assert inner.asking.postponed(fresh, dataset) is None  # another has it
    assert inner.state.all(number)[0]["count_1"] == 0
    for turn in range(2):
        assert inner.state.run(inner.asking._begun(begun)) == 1
        begun, old = inner.asking.postponed(begun, dataset), begun
        assert inner.state.all(number)[0]["count_1"] == 1
        assert (begun is None) == (turn == 1)
    assert inner.asking.found(old.id).lost
    assert inner.asking.draw(old, dataset).answer == ""
    assert inner.asking.draw(later, dataset).answer


def test_what_comes_after_its_tick_is_not_kept(service, monkeypatch):
    inner, dataset = service.inner, service.inner.datasets["visits"]
    ann = inner.people.named("ann")
    ask, _ = inner.asking.begin(ann, dataset, {"question": named(0)})
    before = iter([True, False])
    monkeypatch.setattr(type(inner.clock), "before", lambda *_: next(before))
    assert inner.asking.draw(ask, dataset).answer == ""
    assert inner.asking.lose(ask, dataset).lost
    assert inner.asking.lose(ask, dataset).lost


def named(number):
    question = copy.deepcopy(COUNT)
    question["fields"]["id"] = f"day {number}"
    return question


def test_one_dataset_keeps_no_other_waiting(service):
    """Rows of a dataset that is asked much may not make another one late, and so close it."""
    inner = service.inner
    assert set(inner._readers) == set(inner.datasets)
    assert all(reader._max_workers == 1 for reader in inner._readers.values())


@pytest.mark.parametrize("way", ["plan", "ask"])
def test_explain_is_never_charged(service, way):
    told = service.post(f"/api/v1/datasets/visits/{way}", {"sql": SQL, "epsilon": 1})
    assert told.status_code == (200 if way == "plan" else 422), told.text
    assert service.get("/api/v1/datasets/visits").json()["spent"] == {"present -> not present": "0"}


def test_what_is_long_may_take_longer(service):
    """Else anybody closes a dataset with a long condition, for next to no charge."""
    long = "CASE " + " ".join(f"WHEN age = {n} THEN {n}" for n in range(1000)) + " END = 3"
    keys = {"range": [0, 100_000, 1]}
    took = {}
    for name, more in {"short": {}, "where": {"where": long}, "keys": {"keys": keys}}.items():
        fields = {"epsilon": 1, "by": "age" if name == "keys" else "place", **more}
        body = {"question": {**COUNT, "fields": fields}}
        told = service.post("/api/v1/datasets/visits/plan", body)
        took[name] = int(told.json()["due_seconds"])
    grace = 1  # by default: writing an answer down takes as long however few rows were declared
    long = 1 + (4 * 1000 + 3) // 256
    assert took == {"short": 1 + grace, "where": long + grace, "keys": 6 + 10 + grace}


def test_nothing_says_before_the_tick_that_an_answer_was_drawn(service, monkeypatch):
    """Whoever looks again and again would else see when rows were done with."""
    dataset, asking = service.inner.datasets["visits"], service.inner.asking
    go, tick = threading.Event(), threading.Event()
    real = dataset.answer

    async def until(_, __, work):
        await asyncio.to_thread(tick.wait, 60)
        return work.done()

    monkeypatch.setattr(type(dataset), "answer", lambda _, asked: go.wait(60) and real(asked))
    monkeypatch.setattr(type(asking.clock), "until", until)
    monkeypatch.setattr(type(asking.clock), "takes", lambda *_: 10_000)
    # How long is left counts down in public: both looks are of one moment.
    at = time.time()
    monkeypatch.setattr(asking, "clock", replace(asking.clock, now=lambda: at))
    named = copy.deepcopy(COUNT)
    named["fields"]["id"] = "monday"
    ask = service.ask(named, headers={"Prefer": "respond-async"}).json()["ask"]
    before = looked(service, named, ask)
    go.set()
    for _ in range(6_000):
        if asking.found(ask).answer:
            break
        time.sleep(0.01)
    drawn, after = asking.found(ask).answer, looked(service, named, ask)
    tick.set()
    assert drawn
    assert after == before


def looked(service, question, ask):
    """All that its asker can see of an ask that is under way."""
    later = {"Prefer": "respond-async"}
    told = [
        service.ask(question, headers=later),
        service.get(f"/api/v1/asks/{ask}"),
        service.get("/api/v1/datasets/visits/asks"),
        service.get("/api/v1/datasets/visits"),
    ]
    return [(one.status_code, one.text) for one in told]


def test_an_id_is_of_one_question_while_its_answer_is_on_its_way(service, monkeypatch):
    dataset, go = service.inner.datasets["visits"], threading.Event()
    real = dataset.answer
    monkeypatch.setattr(type(dataset), "answer", lambda _, asked: go.wait(60) and real(asked))
    named, other = copy.deepcopy(COUNT), copy.deepcopy(COUNT)
    named["fields"]["id"] = other["fields"]["id"] = "monday"
    other["fields"]["epsilon"] = 2
    first = service.ask(named, headers={"Prefer": "respond-async"})
    assert first.status_code == 202
    second = service.ask(other, headers={"Prefer": "respond-async"})
    go.set()
    assert second.status_code == 409, second.text
    spent = service.get("/api/v1/datasets/visits").json()["spent"]
    assert spent == {"present -> not present": "1"}


def test_an_id_of_a_question_that_was_refused_is_free(service):
    dear, fair = copy.deepcopy(COUNT), copy.deepcopy(COUNT)
    dear["fields"] |= {"id": "monday", "epsilon": 41}
    fair["fields"] |= {"id": "monday"}
    assert [service.ask(one).status_code for one in (dear, dear, fair, dear)] == [
        403,
        403,
        200,
        409,
    ]
