"""With one key, batches get the same answers on Spark as on one machine."""

import datetime as dt

import numpy as np
import pytest

from onesided import Monitor, errors, policy
from onesided.monitor import _monitor

pytestmark = pytest.mark.xdist_group("spark")
KEY = bytes(range(32))
START = dt.datetime(2026, 11, 21, 7, tzinfo=dt.UTC)
NAMES = ["Ann", "ann", "Änn", "Z", '"', "a\nb", "日本", "𝒳", "", " Ann"]


@pytest.fixture
def both(monkeypatch, tmp_path, spark):
    from onesided.spark import SparkMonitor

    monkeypatch.setattr(_monitor, "new_key", lambda: KEY)

    def opened(keys, **given):
        rules = {"at_most": 2, "window": 6, "epsilon": 2, "policy": policy.presence(max_groups=1)}
        rules |= given
        here = Monitor(keys, **rules)
        there = SparkMonitor(spark, keys, state=tmp_path / "there.db", **rules)
        return here, there

    return opened


def facts(release):
    return release.head, release.number, release.time, release.status, release.values.tolist()


def test_whole_numbers_late_batches_and_times_of_their_own(both, spark):
    here, there = both(range(300), charges=2)
    dice = np.random.default_rng(7)
    for step in range(6):
        at, size = step + int(dice.integers(-2, 2)) + 5, int(dice.integers(1, 400))
        batch = {
            "person": dice.integers(-50, 90, size),
            "place": dice.zipf(1.4, size) % 300,
            "time": at - dice.integers(0, 4, size),
        }
        rows = [tuple(map(int, row)) for row in zip(*batch.values(), strict=True)]
        frame = spark.createDataFrame(rows, "person int, place long, time long")
        if step == 3:
            batch = frame = None
        one = here.step(batch, id=str(step), time=at)
        two = there.step(frame, id=str(step), time=at)
        assert facts(one) == facts(two)
        again = there.step(frame, id=str(step), time=at)
        assert again.told_again
        assert facts(again) == facts(one)
    assert there.check() == 6


def test_text_and_moments(both, spark):
    places = ["a", "b", "ü", "A"]
    here, there = both(places, window="2h", epsilon=1, on_unknown="ignore")
    dice = np.random.default_rng(3)
    for step in range(3):
        size, at = int(dice.integers(20, 60)), START + dt.timedelta(minutes=70 * step)
        rows = [
            (
                NAMES[dice.integers(len(NAMES))],
                [*places, "nowhere"][dice.integers(5)],
                at - dt.timedelta(microseconds=int(dice.integers(0, 9 * 10**9))),
            )
            for _ in range(size)
        ]
        batch = dict(zip(("person", "place", "time"), zip(*rows, strict=True), strict=True))
        frame = spark.createDataFrame(rows, "person string, place string, time timestamp")
        one = here.step(batch, id=str(step), time=at)
        two = there.step(frame, id=str(step), time=at)
        assert facts(one) == facts(two)


ALARMS = {"at_most": 2, "at_least": 4, "window": 3, "on_unknown": "ignore"}
VISITS = policy.sensitive_presence("NOT agreed OR minor", max_groups=1)
ALARMED = "person int, place string, agreed boolean, minor boolean"


def test_alarms_count_open_visits_as_on_one_machine(both, spark):
    here, there = both(["a", "b", "ü"], policy=VISITS, epsilon=9, **ALARMS)
    dice = np.random.default_rng(5)
    asked = [True, False, None]
    seen = set()
    for step in range(4):
        rows = [
            (
                int(dice.integers(12)),
                ["a", "b", "ü", "nowhere"][dice.integers(4)],
                asked[dice.choice(3, p=[0.8, 0.1, 0.1])],
                asked[dice.choice(3, p=[0.1, 0.8, 0.1])],
            )
            for _ in range(int(dice.integers(5, 60)))
        ]
        columns = zip(*rows, strict=True)
        batch = dict(zip(("person", "place", "agreed", "minor"), columns, strict=True))
        one = here.step({n: list(c) for n, c in batch.items()}, id=str(step), time=step)
        two = there.step(spark.createDataFrame(rows, ALARMED), id=str(step), time=step)
        assert facts(one) == facts(two)
        assert (one.lower_bounds, one.upper_bounds) == (two.lower_bounds, two.upper_bounds)
        seen |= set(two.status)
    assert "alarm" in seen


def test_what_decides_who_is_open_must_be_there_and_boolean(both, spark):
    _, there = both(["a"], policy=VISITS, **ALARMS)
    for rows, shape, said in (
        ([(1, "a", True)], "person int, place string, agreed boolean", "no column 'minor'"),
        ([(1, "a", "yes", True)], ALARMED.replace("agreed boolean", "agreed string"), "'agreed'"),
    ):
        with pytest.raises(errors.DataError, match=said):
            there.step(spark.createDataFrame(rows, shape), id="x", time=1)
    many = policy.sensitive_presence(" OR ".join(f"c{n}" for n in range(8)), max_groups=1)
    with pytest.raises(errors.ParameterError, match="reads 8 columns"):
        both(["a"], policy=many, **ALARMS)
