"""What is told never says when another answer was drawn, or how long one took."""

import asyncio
import copy
import threading
import time
from dataclasses import replace

import pytest

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


def test_a_late_answer_is_told_after_reopening_and_not_when_it_is_there(service, monkeypatch):
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
    named = copy.deepcopy(COUNT)
    named["fields"]["id"] = "monday"
    assert service.ask(named).status_code == 503
    assert not dataset.open
    go.set()
    assert done.wait(60)
    ask = service.inner.asking.history(_Ann, dataset, everybody=False)[0]
    time.sleep(0.5)
    assert service.inner.asking.found(ask.id).answer == ""
    monkeypatch.undo()
    dataset.reopen()
    first = service.ask(named)
    assert first.status_code == 200, first.text
    assert not first.json()["release"]["told_again"]
    assert sum(one["kind"] == "spend" for one in entries(service)) == 1


class _Ann:
    name = "ann"


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
    assert took == {"short": 1, "where": 1 + len(long) // 2_000, "keys": 6}


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
