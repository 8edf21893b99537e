"""Every store keeps the same contract: in memory, in an SQLite file, in PostgreSQL."""

import os
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from onesided.monitor._sql import SqlJournal

EXACT = 1000


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def place(request, tmp_path):
    """Options that open the same state again and again."""
    if request.param == "memory":
        from onesided import Ledger

        yield {"state": SqlJournal.open(None), "ledger": Ledger.open()}
    elif request.param == "sqlite":
        yield {"state": tmp_path / "state.db"}
    else:
        url = os.environ.get("ONESIDED_POSTGRES_URL")
        if not url:
            pytest.skip("skipped: ONESIDED_POSTGRES_URL not set")
        import sqlalchemy

        schema = f"monitor_{secrets.token_hex(6)}"
        engine = sqlalchemy.create_engine(url)
        with engine.begin() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
        yield {"state": f"{url}?options=-csearch_path%3D{schema}"}
        with engine.begin() as connection:
            connection.exec_driver_sql(f"DROP SCHEMA {schema} CASCADE")
        engine.dispose()


def people(count, start=0):
    return {"person": list(range(start, start + count)), "place": ["a"] * count}


def test_a_stream_is_resumed_where_it_was(make, place):
    for time in range(1, 7):
        monitor = make(epsilon=EXACT, window=3, **place)
        release = monitor.step(people(3, start=time), id=str(time), time=time)
        assert release.number == time
        again = monitor.step(people(3, start=time), id=str(time), time=time)
        assert (again.head, again.status) == (release.head, release.status)
        monitor.close()
    with make(epsilon=EXACT, window=3, **place) as monitor:
        words = [r.status[0] for r in monitor.history()]
        assert words == ["unknown", "resting", "resting", "unknown", "resting", "resting"]
        assert [r.number for r in monitor.history(after=4)] == [5, 6]
        assert monitor.check() == 6
        assert monitor.ledger.check().charges == 1
        assert monitor.accepted("3")
        assert monitor.accepted("9") is None


def test_writers_take_turns(make, place):
    """Four monitors on one state, all sending the same batches: each is answered once."""
    monitors = [make(epsilon="1/10", **place) for _ in range(4)]
    seen, lock = {}, threading.Lock()

    def follow(monitor):
        for time in range(10):
            release = monitor.step(people(2), id=str(time), time=time)
            with lock:
                assert seen.setdefault(str(time), release.head) == release.head

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(follow, monitor) for monitor in monitors]:
            done.result()
    assert monitors[0].check() == 10
    assert [release.batch for release in monitors[1].history()] == [str(t) for t in range(10)]


def test_a_forked_child_may_go_on(make, tmp_path):
    monitor = make(epsilon=EXACT)
    monitor.step(people(3), id="1", time=1)
    child = os.fork()
    if child == 0:
        status = monitor.step(None, id="2", time=2).status[0]
        os._exit(0 if status == "resting" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert monitor.step(None, id="3", time=3).number == 3
