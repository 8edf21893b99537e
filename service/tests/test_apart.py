"""Rows are read in a process of their own, which can be stopped; so is what is free."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from onesided import policy
from onesided.errors import DataError, PolicyError
from onesided_service import ServiceConfig, _app, create_app
from onesided_service._apart import FREE, EndedError, Process, Taken, UnstartedError, cores_of
from onesided_service._api import previewed
from onesided_service._clock import keeping
from onesided_service._errors import ServiceError
from onesided_service._people import Person
from onesided_service._service import Service

ANN = Person(name="ann", roles={"visits": frozenset({"analyst"})})
COUNT = {"question": {"version": 1, "question": "Count", "fields": {"epsilon": 1, "by": "place"}}}


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    made = Process(
        ServiceConfig(folder=tmp_path_factory.mktemp("state")), Taken(memory=1, nice=FREE.nice)
    )
    yield made
    made.stop()


@pytest.fixture
def apart(folder):
    config = folder / "onesided.toml"
    config.write_text(f"{config.read_text()}seconds = 1\n")  # a busy machine would be given more
    made = Service(ServiceConfig.read(folder / "onesided.toml"), apart=True)
    yield made
    asyncio.run(made.finish())


def test_values_and_errors_come_back_as_they_are(process):
    assert process.run(max, 2, 3) == 3
    assert process.run(os.getpid) == process.run(os.getpid) != os.getpid()
    with pytest.raises(ZeroDivisionError):
        process.run(divmod, 1, 0)
    with pytest.raises(PolicyError) as raised:
        process.run(policy.from_toml, "family = 'none'")
    assert raised.value.hint
    with pytest.raises(DataError, match="lock"):
        process.run(threading.Lock)
    assert process.run(os.nice, 0) == FREE.nice
    nested = []
    for _ in range(2000):
        nested = [nested]
    with pytest.raises(ServiceError, match="too deep"):
        process.run(len, nested)
    assert process.run(len, "four") == 4


def test_what_takes_too_much_memory_or_time_is_ended(process):
    with pytest.raises(MemoryError):
        process.run(bytearray, 2**31)
    first = process.run(os.getpid)
    with pytest.raises(ServiceError) as refused:
        process.run(time.sleep, 600, seconds=0.2)
    assert refused.value.status == 422
    assert process.run(os.getpid) != first


def test_a_process_that_dies_is_an_error_and_another_is_started(process):
    number = process.run(os.getpid)
    with ThreadPoolExecutor(1) as pool:
        slept = pool.submit(process.run, time.sleep, 600)
        time.sleep(0.2)
        os.kill(number, signal.SIGKILL)
        with pytest.raises(DataError, match="ended"):
            slept.result(60)
    assert process.run(os.getpid) != number


def test_it_ends_with_whoever_started_it(tmp_path):
    """Also where that was killed, and while it is busy."""
    code = (
        "import os, threading, time\n"
        "from onesided_service._apart import Process, ServiceConfig, Taken\n"
        "made = Process(ServiceConfig(), Taken())\n"
        "print(made.run(os.getpid), flush=True)\n"
        "threading.Thread(target=made.run, args=(time.sleep, 600), daemon=True).start()\n"
        "time.sleep(600)"
    )
    command = [sys.executable, "-c", code]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    number = int(parent.stdout.readline())
    time.sleep(0.2)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.time() + 60
    while alive(number):
        assert time.time() < deadline
        time.sleep(0.05)


def alive(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{number}/stat")
    return not stat.exists() or stat.read_text().split()[2] != "Z"


def test_cores_are_shared_out_and_the_first_is_left():
    found = sorted(os.sched_getaffinity(0))
    for place in range(5):
        assert set(cores_of(place, 1)) <= set(found[1:] or found)
        assert len(cores_of(place, 99)) == len(found[1:] or found)


def test_rows_are_read_elsewhere_until_the_turn_is_over(apart):
    """The answer comes after the turn, however soon it was read, and before its tick."""
    dataset = apart.datasets["visits"]
    assert dataset.check()["rows"] == 60
    dataset.warm()
    ask, fresh = apart.asking.begin(ANN, dataset, COUNT)
    assert fresh
    assert ask.due >= ask.through + keeping(dataset.config) >= ask.through + 1
    assert ask.through == ask.starts + 1
    told = apart.asking.draw(ask, dataset)
    assert time.time() >= ask.through
    assert told.answer or time.time() > ask.due  # on a machine that is too busy
    assert dataset._back is None  # here, no row was read
    dataset.close("a test")
    dataset.reopen()
    assert dataset.open


def test_errors_of_reading_elsewhere_close_as_those_here_do(apart, folder):
    dataset = apart.datasets["visits"]
    dataset.check()
    ask, _ = apart.asking.begin(ANN, dataset, COUNT)
    (folder / "visits.parquet").write_bytes(b"")
    with pytest.raises(DataError, match="not the one that was checked"):
        apart.asking.draw(ask, dataset)


def test_what_does_not_stop_reading_is_killed(apart):
    dataset = apart.datasets["visits"]
    dataset.check()
    number = dataset.elsewhere.run(os.getpid)
    assert dataset.elsewhere.run(os.sched_getaffinity, 0) == set(cores_of(0, 1))
    ask, _ = apart.asking.begin(ANN, dataset, COUNT)

    async def late():
        sleep = partial(dataset.elsewhere.run, time.sleep, 600, called=ask.id)
        work = asyncio.get_running_loop().run_in_executor(None, sleep)
        await asyncio.sleep(0.2)
        await apart._stopped(work, ask, dataset)

    asyncio.run(asyncio.wait_for(late(), 60))
    assert not alive(number)


def test_a_preview_is_made_elsewhere(apart):
    dataset = apart.datasets["visits"]
    dataset.check()

    async def free():
        return await apart.free(ANN, previewed, dataset, COUNT), await apart.free(ANN, os.getpid)

    told, number = asyncio.run(free())
    assert told["made_up"]
    assert number != os.getpid()


class UnmadeError(Exception):
    """An error that cannot be made again from what it tells."""

    def __init__(self, one, two):
        super().__init__(f"{one}{two}" * 100_000)


def raised():
    raise UnmadeError(1, 2)


def test_what_cannot_be_read_ends_the_process_and_no_later_call(process):
    with pytest.raises(DataError, match="ended"):
        process.run(raised)
    for number in range(3):
        assert process.run(max, number, 0) == number


def test_only_what_is_meant_is_killed(process):
    first = process.run(os.getpid)
    process.kill("an ask that is over")
    assert process.run(os.getpid) == first
    with ThreadPoolExecutor(1) as pool:
        slept = pool.submit(process.run, time.sleep, 600, called="this one")
        time.sleep(0.2)
        process.kill("another one")
        time.sleep(0.2)
        assert not slept.done()
        process.kill("this one")
        with pytest.raises(EndedError):
            slept.result(60)


def test_one_that_takes_nothing_in_is_killed_too(process):
    os.kill(process.run(os.getpid), signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(process.run, len, "x" * 2**22, called="more than a pipe holds")
        while not sent.done():
            process.kill("more than a pipe holds")
            time.sleep(0.05)
        with pytest.raises(EndedError):
            sent.result(60)


def test_one_that_stands_by_takes_over_at_once(apart):
    """So a stall costs the question at hand, and not the next one: it waits for no start."""
    dataset = apart.datasets["visits"]
    dataset.check()
    dataset.warm()
    elsewhere = dataset.elsewhere
    stalled, by = elsewhere.run(os.getpid), elsewhere._spare.pid
    ask, _ = apart.asking.begin(ANN, dataset, COUNT)
    os.kill(stalled, signal.SIGSTOP)

    async def late():
        read = partial(elsewhere.run, os.getpid, called=ask.id)
        work = asyncio.get_running_loop().run_in_executor(None, read)
        await apart._stopped(work, ask, dataset)

    asyncio.run(asyncio.wait_for(late(), 60))
    assert not alive(stalled)
    assert elsewhere._child.pid == by
    assert elsewhere.run(held, dataset)  # it has read the snapshot already
    assert elsewhere.run(os.getpid) == by
    assert elsewhere._spare.pid not in (stalled, by)


def held(dataset):
    return dataset._back is not None


def test_what_does_not_start_is_told_to_its_curators(apart, folder):
    dataset, policy = apart.datasets["visits"], folder / "policy.toml"
    text = policy.read_text()
    dataset.check()
    asyncio.run(apart.warm())
    asyncio.run(apart.ready_to_answer())
    dataset.elsewhere.stop()
    policy.unlink()
    asyncio.run(apart.warm())
    asyncio.run(apart.warm())
    (note,) = dataset.notes()  # once, with its cause
    assert "did not start: Cannot read the policy" in note["note"]
    with pytest.raises(ServiceError) as refused:
        asyncio.run(apart.ready_to_answer())
    assert refused.value.status == 503
    for _ in range(2):  # nothing is charged that nobody could answer, and nobody is held to be late
        with pytest.raises(ServiceError, match="Nothing was charged"):
            apart.asking.begin(ANN, dataset, COUNT)
    assert not any(dataset.session().spent.values())
    assert dataset.open
    policy.write_text(text)
    dataset._tried -= 60
    apart.asking.begin(ANN, dataset, COUNT)  # started once more
    asyncio.run(apart.ready_to_answer())


def test_a_free_process_that_is_killed_is_started_once_more(apart):
    """Whoever asked did nothing wrong: it is worked out anew, or told to be our fault."""
    asyncio.run(apart.free(ANN, bool))
    os.kill(apart._free._child.pid, signal.SIGKILL)
    assert asyncio.run(apart.free(ANN, max, 2, 3)) == 3
    with pytest.raises(ServiceError) as refused:
        asyncio.run(apart.free(ANN, os._exit, 7))
    assert refused.value.status == 503
    with pytest.raises(ServiceError) as refused:
        asyncio.run(apart.free(ANN, bytearray, 2**33))
    assert refused.value.status == 422
    assert asyncio.run(apart.free(ANN, max, 2, 3)) == 3


def test_serving_ends_with_one_sentence_where_a_process_cannot_start(folder, monkeypatch):
    made = []

    def unlinked(config):
        made.append(create_app(config))
        (folder / "policy.toml").unlink()
        return made[0]

    monkeypatch.setattr(_app, "create_app", unlinked)
    path = folder / "onesided.toml"
    with pytest.raises(UnstartedError, match="did not start: Cannot read the policy") as raised:
        _app.run(ServiceConfig.read(path), path=path)
    assert "start the service again" in raised.value.hint
    made[0].state.service.close()


def test_an_ask_that_another_worker_takes_up_is_not_called_late(apart):
    dataset = apart.datasets["visits"]
    dataset.check()
    ask, _ = apart.asking.begin(ANN, dataset, COUNT)
    apart.state.run(apart.asking._begun(ask))
    assert apart.asking.postponed(ask, dataset) is not None
    assert "gets another tick" in dataset.notes()[0]["note"]
