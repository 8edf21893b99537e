"""Refused with its own error, and nothing drawn, charged or lost."""

import datetime as dt
import math
import sqlite3
from contextlib import closing, contextmanager

import pytest

import onesided as od
from onesided import policy as policies
from onesided.errors import (
    DataError,
    KeysError,
    LedgerFormatError,
    LedgerUnavailableError,
    ParameterError,
    PolicyMismatchError,
    TamperedLedgerError,
    UnknownColumnError,
    UnprotectableError,
)
from onesided.monitor._sql import SqlJournal

ONE = {"person": [1], "place": ["a"]}


class NoNoise:
    """Fails the test if anything is drawn."""

    def __getattr__(self, name):
        pytest.fail(f"{name} was drawn")


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"at_most": -1}, ParameterError),
        ({"at_most": math.nan}, ParameterError),
        ({"at_most": 1.5}, ParameterError),
        ({"at_most": "many"}, ParameterError),
        ({"at_most": [1, 2]}, ParameterError),
        ({"epsilon": 0}, ParameterError),
        ({"epsilon": math.nan}, ParameterError),
        ({"epsilon": -1}, ParameterError),
        ({"epsilon": math.inf}, ParameterError),
        ({"epsilon": 10**9}, ParameterError),
        ({"window": 0}, ParameterError),
        ({"window": -3}, ParameterError),
        ({"window": "soon"}, ParameterError),
        ({"window": dt.timedelta(0)}, ParameterError),
        ({"ahead": -1}, ParameterError),
        ({"ahead": 1.5}, ParameterError),
        ({"charges": 0}, ParameterError),
        ({"max_answers": 3}, ParameterError),
        ({"keys": []}, KeysError),
        ({"keys": ["a", "a"]}, KeysError),
        ({"keys": ["a", None]}, KeysError),
        ({"policy": policies.bounded()}, UnprotectableError),
        ({"policy": policies.unbounded()}, UnprotectableError),
        ({"policy": policies.sensitive("age < 18")}, UnprotectableError),
        ({"policy": "presence"}, ParameterError),
        ({"state": 7}, ParameterError),
        ({"state": "mysql://x/y"}, ParameterError),
        ({"budget": "1/2"}, od.errors.BudgetExceededError),
    ],
    ids=str,
)
def test_a_monitor_that_cannot_be_meant(make, wrong, error):
    with pytest.raises(error):
        make(**({"state": None} | wrong))


@pytest.mark.parametrize(
    ("batch", "error", "names"),
    [
        ({"person": [1]}, UnknownColumnError, "place"),
        ({"person": [1, None], "place": ["a", "a"]}, DataError, "None"),
        ({"person": [1.5], "place": ["a"]}, DataError, "1.5"),
        ({"person": [True], "place": ["a"]}, DataError, "True"),
        ({"person": [1, "1"], "place": ["a", "a"]}, DataError, "Row 1"),
        ({"person": [1], "place": ["nowhere"]}, DataError, "nowhere"),
        ({"person": [1], "place": [None]}, DataError, "None"),
        ({"person": [1, 2], "place": ["a"]}, DataError, "lengths"),
        (ONE | {"time": [9]}, DataError, "later"),
        (ONE | {"time": [None]}, DataError, "None"),
        (ONE | {"time": [math.nan]}, DataError, "nan"),
        (ONE | {"time": ["noon"]}, DataError, "noon"),
        (7, DataError, "int"),
    ],
    ids=str,
)
def test_a_batch_that_cannot_be_read_changes_nothing(make, batch, error, names):
    monitor = make(state=None, noise=NoNoise())
    with pytest.raises(error, match=names) as caught:
        monitor.step(batch, id="1", time=5)
    assert caught.value.hint
    assert monitor.last is None


def test_persons_as_text_after_persons_as_numbers(make):
    monitor = make(state=None)
    monitor.step(ONE, id="1", time=1)
    with pytest.raises(DataError, match="str"):
        monitor.step({"person": ["1"], "place": ["a"]}, id="2", time=2)


def test_unknown_places_may_be_left_out(make):
    monitor = make(state=None, on_unknown="ignore", epsilon=1000, at_most=0)
    batch = {"person": [1, 2], "place": ["nowhere", "b"]}
    assert monitor.step(batch, id="1", time=1).values.tolist() == [0, 1, 0]
    with pytest.raises(ParameterError):
        make(state=None, on_unknown="guess").step(batch, id="1", time=1)


@pytest.mark.parametrize(
    ("rows", "time"), [({"person": [2], "place": ["a"]}, 1), (None, 1), (ONE, 2)]
)
def test_a_batch_id_is_accepted_once(make, rows, time):
    monitor = make()
    monitor.step(ONE, id="1", time=1)
    with pytest.raises(DataError, match="accepted before"):
        monitor.step(rows, id="1", time=time)
    assert monitor.last.number == 1


def test_batches_from_the_future_and_clock_jumps(make):
    now = [dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)]
    monitor = make(window="1h", clock=lambda: now[0])
    monitor.step(ONE, id="1", time="2026-11-21T12:00")
    with pytest.raises(DataError, match="the clock says"):
        monitor.step(None, id="far", time="9999-01-01")
    now[0] -= dt.timedelta(days=400)  # the system's clock is set back
    with pytest.raises(DataError, match="the clock says"):
        monitor.step(None, id="2", time="2026-11-21T12:10")
    # What was accepted stays accepted, and is published again whatever the clock says.
    assert monitor.step(ONE, id="1", time="2026-11-21T12:00").number == 1
    now[0] += dt.timedelta(days=400, minutes=10)
    assert monitor.step(None, id="2", time="2026-11-21T12:10").number == 2
    with pytest.raises(DataError, match="too late"):
        monitor.step(None, id="3", time="2026-11-21T11:10")


def test_times_of_another_kind(make):
    with pytest.raises(DataError, match="whole number"):
        make(state=None).step(None, id="1", time="2026-11-21")
    with pytest.raises(DataError, match="date"):
        make(state=None, window="1h").step(None, id="1", time=5)
    with pytest.raises(DataError):
        make(state=None).step(None, id="1", time=None)
    with pytest.raises(DataError):
        make(state=None).step(None, id="1", time=2**62)
    with pytest.raises(ParameterError):
        make(state=None).step(None, id="", time=1)


@pytest.mark.parametrize(
    "other",
    [
        {"policy": policies.presence(max_groups=2)},
        {"policy": policies.addition_only()},
        {"epsilon": 2},
        {"at_most": 3},
        {"at_most": [1, 2, 3]},
        {"window": 11},
        {"window": "11h"},
        {"keys": ["a", "c", "b"]},
        {"charges": 2},
    ],
    ids=str,
)
def test_a_state_of_other_rules_is_refused(make, other):
    make().step(ONE, id="1", time=1)
    with pytest.raises(PolicyMismatchError) as caught:
        make(**other)
    assert caught.value.values["differing"]
    assert make().last.number == 1


def test_a_window_of_other_rules_is_told_as_a_length_of_time(make):
    make(window="14d")
    with pytest.raises(PolicyMismatchError, match=r"window 14 days, 0:00:00 \(asked: 7 days"):
        make(window="7d")


def test_a_state_of_another_version_is_refused(make, tmp_path):
    make().close()
    with closing(sqlite3.connect(tmp_path / "state.db")) as raw, raw:
        raw.execute("update onesided_monitor set version = 99")
    with pytest.raises(LedgerFormatError, match="version 99"):
        make()


def test_a_file_that_is_no_state_is_refused_and_left_alone(make, tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("create table mine (x)")
    before = path.read_bytes()
    with pytest.raises(LedgerFormatError):
        make(state=path)
    assert path.read_bytes() == before
    text = tmp_path / "notes.txt"
    text.write_text("hello" * 1000)
    with pytest.raises(LedgerFormatError):
        make(state=text)
    make()
    with pytest.raises(LedgerFormatError):
        make(state=tmp_path / "state.ledger.db")
    with pytest.raises(LedgerUnavailableError):
        make(state=tmp_path / "no" / "folder.db")


def test_a_state_that_another_ledger_paid_for(make, tmp_path):
    make(ledger=tmp_path / "one.db")
    with pytest.raises(PolicyMismatchError, match="another ledger"):
        make(ledger=tmp_path / "two.db")


def test_a_lost_state_cannot_be_started_again_for_free(make, tmp_path):
    make().step(ONE, id="1", time=1)
    (tmp_path / "state.db").unlink()
    with pytest.raises(od.errors.BudgetExceededError):
        make()


def test_an_edited_history_is_found(make, tmp_path):
    monitor = make(epsilon=1000)
    for time in range(3):
        monitor.step(ONE, id=str(time), time=time)
    with closing(sqlite3.connect(tmp_path / "state.db")) as raw, raw:
        raw.execute(
            "update onesided_monitor_steps set answer = (select answer from "
            "onesided_monitor_steps where number = 1), clock = 7 where number = 2"
        )
    with pytest.raises(TamperedLedgerError) as caught:
        monitor.check()
    assert caught.value.values["number"] == 2


def test_a_damaged_answer_is_no_answer(make, tmp_path):
    monitor = make()
    monitor.step(ONE, id="1", time=1)
    with closing(sqlite3.connect(tmp_path / "state.db")) as raw, raw:
        raw.execute("update onesided_monitor_steps set answer = x'00'")
    with pytest.raises(LedgerFormatError):
        make().step(ONE, id="2", time=2)


def test_a_store_that_fails_publishes_nothing_and_loses_nothing(make):
    class Failing(SqlJournal):
        broken = False

        @contextmanager
        def write(self):
            with super().write() as view:
                yield view
                if self.broken:
                    raise LedgerUnavailableError("no room left.", hint="Free some space.")

    journal = Failing.open(None)
    monitor = make(state=journal, epsilon=1000, at_most=0)
    monitor.step(ONE, id="1", time=1)
    journal.broken = True
    with pytest.raises(LedgerUnavailableError):
        monitor.step({"person": [2], "place": ["b"]}, id="2", time=2)
    journal.broken = False
    assert monitor.last.number == 1
    again = monitor.step({"person": [2], "place": ["b"]}, id="2", time=2)
    assert again.status == ["resting", "unknown", "certified"]
    assert again.values.tolist() == [0, 1, 0]


def test_a_closed_monitor_says_so(make):
    monitor = make()
    monitor.close()
    with pytest.raises(od.errors.LedgerError, match="closed"):
        monitor.step(ONE, id="1", time=1)
