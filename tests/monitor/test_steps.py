"""What a monitor says, step by step; without noise above the truth where rates are huge."""

import datetime as dt
from contextlib import closing
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import onesided as od
from onesided.noise import NotPrivateSeededNoise

EXACT = 1000  # ε so large that the noise is 0


def people(count, place="a", start=0):
    """A batch of that many different people at one place."""
    return {"person": list(range(start, start + count)), "place": [place] * count}


def test_statuses_follow_counts_and_rests_follow_the_clock(make):
    monitor = make(epsilon=EXACT, window=3)
    first = monitor.step(people(3), id="1", time=1)
    assert first.status == ["unknown", "certified", "certified"]
    assert first.values.tolist() == [3, 0, 0]
    assert first.at_most() == ["b", "c"]
    assert monitor.step(None, id="2", time=2).status[0] == "resting"
    assert monitor.step(None, id="3", time=3).status[0] == "resting"
    # The batch of time 1, the newest at the answer, has expired: nothing marked is left.
    assert monitor.step(None, id="4", time=4).status[0] == "certified"
    assert [r.number for r in monitor.history()] == [1, 2, 3, 4]
    assert monitor.check() == 4


def test_a_rest_does_not_end_because_marked_batches_are_empty(make):
    monitor = make(epsilon="1/1000000", window=5)
    first = monitor.step(None, id="1", time=1)
    assert first.status == ["unknown"] * 3  # noise alone
    for time in (2, 3, 4, 5):
        assert monitor.step(None, id=str(time), time=time).status == ["resting"] * 3
    assert monitor.step(None, id="6", time=6).status == ["unknown"] * 3


def test_people_are_counted_once_per_place_and_leave_with_their_last_visit(make):
    monitor = make(epsilon=EXACT, window=5, at_most=0)
    batch = {"person": [1, 1, 2], "place": ["a", "a", "a"], "time": [1, 2, 2]}
    assert monitor.step(batch, id="1", time=2).values[0] == 2
    monitor = make(epsilon=EXACT, window=5, at_most=0, state=None, charges=9)
    monitor.step(batch, id="1", time=2)
    again = monitor.step({"person": [1], "place": ["a"]}, id="2", time=4)
    assert again.values[0] == 2
    assert monitor.step(None, id="3", time=7).values[0] == 1  # person 2 has left
    assert monitor.step(None, id="4", time=9).status[0] == "certified"


def test_rows_expire_by_their_own_time(make):
    monitor = make(epsilon=EXACT, window=5, at_most=0)
    batch = {"person": [1, 2], "place": ["a", "b"], "time": [1, 6]}
    first = monitor.step(batch, id="1", time=6)  # row 0 is no longer in the window
    assert first.status == ["certified", "unknown", "certified"]


def test_m_charges_let_a_place_answer_m_times(make):
    monitor = make(epsilon=EXACT, charges=2, window=4)
    words = [monitor.step(people(5, start=9 * t), id=str(t), time=t).status[0] for t in range(1, 9)]
    assert words[:4] == ["unknown", "unknown", "resting", "resting"]
    # At 5 the batch of time 1 is gone; those of 2 to 4 were used once at most.
    assert words[4] == "unknown"


def test_a_designated_time_stops_after_its_answers(make):
    monitor = make(epsilon=EXACT, window=None, max_answers=2)
    both = {"person": [1, 2, 3] * 3, "place": ["a"] * 3 + ["b"] * 3 + ["c"] * 3}
    first = monitor.step(both, id="1")
    assert first.status == ["unknown", "unknown", "resting"]
    assert monitor.step(None, id="2").status == ["resting"] * 3
    # Each visit costs at most ε, and nobody at all three places more than the two answers.
    assert monitor.guarantees().for_ever == 2 * EXACT


def test_late_batches_count_but_do_not_move_the_clock(make):
    monitor = make(epsilon=EXACT, window=5)
    monitor.step(people(2), id="10", time=10)
    late = monitor.step(people(2, start=5), id="7", time=7)
    assert late.time == "10"
    assert late.status[0] == "unknown"
    assert late.values[0] == 4
    with pytest.raises(od.errors.DataError, match="too late"):
        monitor.step(people(1), id="5", time=5)
    assert monitor.accepted("5") is None


def test_the_order_of_batches_in_the_window_does_not_change_the_counts(make):
    batches = [(str(t), t, people(t, start=10 * t)) for t in (1, 2, 3)]
    ends = []
    for order in (batches, batches[::-1]):
        monitor = make(epsilon=EXACT, state=None, at_most=0, charges=9, window=20)
        for name, time, rows in order:
            release = monitor.step(rows, id=name, time=time)
        ends.append(release.values.tolist())
    assert ends[0] == ends[1] == [6, 0, 0]


def test_the_same_batch_again_gives_the_same_answer_again(make):
    monitor = make(epsilon="1/10")
    rows = people(3)
    first = monitor.step(rows, id="x", time=1)
    monitor.step(people(1, "b"), id="y", time=2)
    shuffled = {name: column[::-1] for name, column in rows.items()}
    again = make(epsilon="1/10").step(shuffled, id="x", time=1)
    assert (again.number, again.status, again.head) == (first.number, first.status, first.head)
    assert len(list(monitor.history())) == 2


def test_two_monitors_on_one_state_see_each_other(make):
    one, two = make(epsilon=EXACT), make(epsilon=EXACT)
    one.step(people(3), id="1", time=1)
    assert two.step(None, id="2", time=2).status[0] == "resting"
    assert one.step(None, id="3", time=3).number == 3


def test_what_is_resumed_is_what_was(make):
    """Step for step the same as a monitor that was never closed, given the same noise."""
    rng = np.random.default_rng(3)
    whole = make(state=None, noise=NotPrivateSeededNoise(1), charges=2, window=6)
    noise = NotPrivateSeededNoise(1)
    for time in range(1, 30):
        rows = {"person": rng.integers(0, 9, 4).tolist(), "place": list(rng.choice(list("abc"), 4))}
        plain = whole.step(rows, id=str(time), time=time)
        broken = make(noise=noise, charges=2, window=6)
        resumed = broken.step(rows, id=str(time), time=time)
        broken.close()
        assert plain.columns() == resumed.columns()


def test_zero_false_certified_over_random_streams(make):
    """The truth recomputed from all rows, against every certificate and every bound."""
    rng = np.random.default_rng(8)
    checked = 0
    for _ in range(6):
        monitor = make(keys=list(range(200)), epsilon=1, window=7, at_most=3, state=None, charges=2)
        log, clock = [], 0
        for step in range(60):
            clock = max(clock, time := int(step + rng.integers(-3, 4)) + 10)
            size = int(rng.poisson(90))
            rows = {
                "person": rng.integers(0, 500, size),
                "place": rng.zipf(1.6, size) % 200,
                "time": time - rng.integers(0, 3, size),
            }
            if time <= clock - 7:
                continue
            release = monitor.step(rows, id=str(step), time=time)
            log += list(zip(*(column.tolist() for column in rows.values()), strict=True))
            inside = {(person, place) for person, place, at in log if at > clock - 7}
            truth = np.bincount([place for _, place in inside], minlength=200)
            assert (truth[release.certified] <= 3).all()
            assert (truth[release.unknown] <= release.values[release.unknown]).all()
            checked += int(release.certified.sum())
    assert checked > 10_000


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "pyarrow", "arrays"])
def test_any_frame_will_do(make, kind):
    start = dt.datetime(2026, 11, 21, 7)  # noqa: DTZ001 - a time without a zone is UTC
    plain = {"person": ["x", "y", "z"], "place": ["a"] * 3, "time": [start] * 3}
    frame = {
        "polars": lambda: pl.DataFrame(plain),
        "lazy": lambda: pl.LazyFrame(plain),
        "pandas": lambda: pd.DataFrame(plain),
        "pyarrow": lambda: pa.table(plain),
        "arrays": lambda: plain | {"time": np.array([start] * 3, dtype="datetime64[us]")},
    }[kind]()
    monitor = make(window="2h", epsilon=EXACT, state=None)
    release = monitor.step(frame, id="1", time="2026-11-21T07:30")
    assert release.values.tolist() == [3, 0, 0]
    assert release.time == "2026-11-21T07:30:00Z"


def test_a_duckdb_relation_will_do(make):
    import duckdb

    with duckdb.connect() as connection:
        rows = connection.sql("select i as person, 'a' as place from range(3) t(i)")
        release = make(epsilon=EXACT, state=None).step(rows, id="1", time=1)
    assert release.values.tolist() == [3, 0, 0]


def test_guarantees_say_whose_they_are(make):
    promise = make(policy=od.policy.presence(max_groups=3), epsilon=3, charges=2).guarantees()
    assert (promise.visit, promise.visits, promise.person(places=3)) == (1, 3, 6)
    assert promise.person(places=1) == 2
    assert promise.for_ever == od.INFINITE
    assert "unbounded" in str(promise)
    assert promise.power(0) == pytest.approx(1 - np.exp(-1.5))
    assert promise.as_dict()["epsilon_decimal"]["a person for ever"] is None


def test_the_whole_life_is_charged_once_and_before_anything_is_drawn(make, tmp_path):
    monitor = make(epsilon="3/4", budget=1)
    for time in range(5):
        monitor.step(people(4), id=str(time), time=time)
    report = monitor.ledger.check()
    assert (report.charges, report.unanswered) == (1, ())
    (account,) = monitor.ledger.accounts()
    assert account.spent == {"present -> not present": Fraction(3, 4)}
    with pytest.raises(od.errors.BudgetExceededError):
        make(epsilon="3/4", budget=1, state=tmp_path / "other.db", ledger=monitor.ledger)


def test_expired_rows_leave_the_store(make, tmp_path):
    monitor = make(window=2)
    monitor.step({"person": ["Zacharias Werner"], "place": ["a"]}, id="1", time=1)
    monitor.step(None, id="2", time=5)
    import sqlite3

    with closing(sqlite3.connect(tmp_path / "state.db")) as raw, raw:
        kept = raw.execute("select batch from onesided_monitor_contents").fetchall()
    assert kept == [("2",)]


def test_thresholds_per_place(make):
    monitor = make(at_most=[0, 3, 5], epsilon=EXACT)
    rows = {"person": list(range(3)) * 3, "place": ["a"] * 3 + ["b"] * 3 + ["c"] * 3}
    assert monitor.step(rows, id="1", time=1).status == ["unknown", "certified", "certified"]
