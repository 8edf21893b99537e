"""Batches in columns: counts and digests as by hand, from every kind of table; nothing is lost."""

import datetime as dt
import importlib
import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from onesided.errors import DataError
from onesided.monitor._batch import Batch, Columns, read_batch, stored_batch
from onesided.monitor._machine import Pairs, Window
from onesided.monitor._rules import Scale, time_in_name

PEOPLE = {
    "small": [0, 1, 2, 3, 4, 5],
    "any": [-(2**63), -1, 0, 7, 2**31, 2**63 - 1],
    "beyond": [-(2**70), -1, 0, 7, 2**63, 2**64],
    "text": ["a", "", "é", "ab", "b" * 50, "7"],
}
TIMES = {"near": range(9), "far": [-(2**61), 0, 2**61 - 1]}


@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("times", TIMES)
def test_a_batch_is_digested_and_stored_as_by_hand(people, times, rows_digest):
    dice = random.Random(f"{people}{times}")
    for _ in range(60):
        size = dice.randrange(12)
        rows = [
            (dice.randrange(3) * 5, dice.choice(PEOPLE[people]), dice.choice(TIMES[times]))
            for _ in range(size)
        ]
        batch = Batch("1", 2**61, rows)
        columns = zip(*rows, strict=True) if rows else ((), (), ())
        assert batch.digest() == rows_digest(*columns)
        again = stored_batch("1", 2**61, batch.content())
        assert again == batch
        assert again.person_type == batch.person_type


@pytest.mark.parametrize("people", PEOPLE)
def test_the_window_counts_as_by_hand(people):
    """Late rows, repeats, people who leave and come back, over many compactions."""
    dice, window, latest, clock = random.Random(people), Window(7), {}, 0
    for _ in range(300):
        clock += dice.randrange(3)
        rows = [
            (dice.randrange(7), dice.choice(PEOPLE[people]), clock - dice.randrange(12))
            for _ in range(dice.randrange(9))
        ]
        if people == "small":  # ever new persons, of whom the old ones must be forgotten
            rows = [(place, clock * 10 + person, at) for place, person, at in rows]
        window.add(Batch("1", clock, rows))
        for place, person, at in rows:
            latest[place, person] = max(at, latest.get((place, person), at))
        window.expire(clock - 6)
        latest = {pair: at for pair, at in latest.items() if at > clock - 6}
        truth = np.bincount([place for place, _ in latest], minlength=7)
        assert window.counts.tolist() == truth.tolist()
    assert window._pairs.size < 400


def test_pairs_are_told_apart_by_equality_alone(monkeypatch):
    """With a hash that sends all pairs to one slot, nothing is merged or missed."""
    module = importlib.import_module("onesided.monitor._machine")
    monkeypatch.setattr(module, "_KEY", (np.uint64(0), np.uint64(0), np.uint64(0)))
    monkeypatch.setattr(Pairs, "_hash", lambda _, left, __: np.zeros(left.size, dtype=np.int64))
    pairs, dice, met = Pairs(), random.Random(1), {}
    for _ in range(40):
        drawn = [(dice.randrange(9), dice.choice(PEOPLE["any"])) for _ in range(20)]
        given = list(dict.fromkeys(drawn))
        left, right = np.array(given, dtype=np.int64).T
        found = pairs.find(left.copy(), right.copy()).tolist()
        assert found == [met.setdefault(pair, len(met)) for pair in given]


START = dt.datetime(2026, 11, 21, 7)  # noqa: DTZ001 - a time without a zone is UTC
ROWS = [("a", 5, 1), ("c", -5, 2), ("a", 5, 9), ("b", 2**40, 0), ("a", 6, 9)]


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("dated", [False, True])
@pytest.mark.parametrize(
    "table", [dict, pl.DataFrame, pl.LazyFrame, pd.DataFrame, pa.table, "duckdb", "series"]
)
def test_every_table_gives_the_same_batch(make, table, text, dated, rows_digest):
    place, person, minutes = map(list, zip(*ROWS, strict=True))
    times = [START + dt.timedelta(minutes=m) for m in minutes] if dated else minutes
    columns = {"person": list(map(str, person)) if text else person, "place": place, "time": times}
    if table == "duckdb":
        duckdb = importlib.import_module("duckdb")
        given = duckdb.connect().from_arrow(pa.table(columns))
    elif table == "series":
        given = {name: pl.Series(values) for name, values in columns.items()}
    else:
        given = table(columns)
    rules = make(window="2h" if dated else 10).rules
    at = START + dt.timedelta(minutes=9) if dated else 9
    read = read_batch(given, rules=rules, columns=Columns(), id="1", time=at)
    ticks = [rules.scale.ticks(time, name="time") for time in times]
    wanted = rows_digest(["abc".index(one) for one in place], columns["person"], ticks)
    assert read.digest() == wanted


def test_zones_are_moments_and_what_no_moment_can_be_is_refused(make, rows_digest):
    rules = make(window="2h").rules
    east = dt.timezone(dt.timedelta(hours=9))
    aware = [dt.datetime(2026, 11, 21, 16, 1, tzinfo=east)]
    frame = pl.DataFrame({"person": [1], "place": ["a"], "time": aware})
    at = START + dt.timedelta(minutes=2)
    read = read_batch(frame, rules=rules, columns=Columns(), id="1", time=at)
    tick = rules.scale.ticks(aware[0], name="time")
    assert read.digest() == rows_digest([0], [1], [tick])
    near = int(START.replace(tzinfo=dt.UTC).timestamp())
    again = near + 2**64 // 10**6  # in microseconds of 64 bits it would be today once more
    for far in (
        np.array(["200000-01-01"], dtype="datetime64[s]"),
        np.array([again], dtype="datetime64[s]"),
        np.array([again // 86400], dtype="datetime64[D]"),
        pd.Series(np.array([again], dtype="datetime64[s]")),
        pa.chunked_array([pa.array([again], pa.timestamp("s"))]),
        [dt.datetime.max.replace(tzinfo=dt.timezone(-dt.timedelta(hours=5)))],
    ):
        wild = {"person": [1], "place": ["a"], "time": far}
        with pytest.raises(DataError, match=r"must be a date|could not be read"):
            read_batch(wild, rules=rules, columns=Columns(), id="1", time=at)


@pytest.mark.parametrize(
    "column",
    [
        list(np.array([7, -5])),  # numbers of NumPy's
        np.array([7, -5], dtype=object),
        pd.Series([7, -5], dtype=object),
        pd.Series([7, -5]).astype("category"),
        pl.Series([7, -5], dtype=pl.Int128),
        pl.Series([7, -5], dtype=pl.Int8),
    ],
    ids=repr,
)
def test_a_number_is_the_same_person_in_every_column(make, column, rows_digest):
    batch = {"person": column, "place": ["a", "b"]}
    read = read_batch(batch, rules=make().rules, columns=Columns(), id="1", time=3)
    assert read.digest() == rows_digest([0, 1], [7, -5], [3, 3])
    assert read.rows.names is None


@pytest.mark.parametrize("name", ["person", "place"])
def test_bytes_that_are_no_text_are_refused(make, name):
    offsets, body = np.array([0, 1, 2], np.int32), b"\xff\xfe"
    odd = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(body)])
    batch = {"person": ["x", "y"], "place": ["a", "b"], name: pa.chunked_array([odd])}
    with pytest.raises(DataError, match="UTF8"):
        read_batch(batch, rules=make().rules, columns=Columns(), id="1", time=3)


def test_a_name_of_the_last_day_has_no_end():
    scale = Scale(dated=True)
    assert time_in_name("visits-9999-12-31", scale) is None
    assert scale.text(time_in_name("visits-9999-12-30", scale)) == "9999-12-31T00:00:00Z"


def test_people_at_places_left_out_leave_no_name(make, rows_digest):
    rules = make().rules
    batch = {"person": [2**70, 5, 6], "place": ["nowhere", "a", "b"]}
    options = {"rules": rules, "columns": Columns(), "id": "1", "time": 3}
    read = read_batch(batch, on_unknown="ignore", **options)
    assert read.digest() == rows_digest([0, 1], [5, 6], [3, 3])
    assert read.rows.names is None
    batch = {"person": ["Zacharias", "Ann"], "place": ["nowhere", "a"]}
    read = read_batch(batch, on_unknown="ignore", **options)
    assert read.rows.names == (b"\0\0\0\3Ann",)


def test_a_person_is_one_person_beside_a_number_of_any_size(make):
    """Batches whose numbers fit 64 bits, and others: 5 is 5 in both."""
    monitor = make(state=None, epsilon=1000, at_most=0, charges=9)
    monitor.step({"person": [5, 2**70], "place": ["a", "a"]}, id="1", time=1)
    release = monitor.step({"person": [5], "place": ["a"]}, id="2", time=2)
    assert release.values[0] == 2
    release = monitor.step({"person": [5, 2**70, 2**71], "place": ["a"] * 3}, id="3", time=3)
    assert release.values[0] == 3


@pytest.mark.parametrize("cut", [4, 12, 13, 20, 40, -1])
def test_bytes_that_are_no_batch(cut):
    content = Batch("1", 9, [(0, "Ann", 1), (3, "Bob", 2), (3, "Zoe", 9)]).content()
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        stored_batch("1", 9, content[:cut])
