"""With one key, batches get the same answers on Spark as on one machine."""

import datetime as dt

import numpy as np
import pytest

from onesided import Monitor, policy
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
