"""Texts as event times: read in columns, and just as Python's own reader has them."""

import datetime as dt
import itertools
import random

import polars as pl
import pytest

from onesided.errors import DataError
from onesided.monitor._batch import column_of, times_of
from onesided.monitor._rows import moments_in_column
from onesided.monitor._rules import Scale

SCALE = Scale(dated=True)
EPOCH, MICROSECOND = dt.datetime(1970, 1, 1), dt.timedelta(microseconds=1)  # noqa: DTZ001
DATES = "2026-01-01 0001-01-01 9999-12-31 2024-02-29 2023-02-29 2026-13-01 0000-01-01 20260101"
DATES += " 2026-W01-1 10000-01-01 -001-01-01 26-01-01 1969-12-31"
HOURS = "00:00:00 23:59:59 24:00:00 23:59:60 12 12:30 1230 12:30:15.5 12:30:15.123456 12:30:15,5"
HOURS += " 12:30:15.1234567 12:30:15. 1:2:3 12:60:00 00:00:00.000"
PARTS = ["", "T", " ", "t"], [*HOURS.split(), ""], ["", " ", "Z", "+00:00", "\x00"]


def one(text):
    """What Python reads, in microseconds of UTC; None for what it refuses."""
    try:
        since = dt.datetime.fromisoformat(text) - EPOCH
    except (TypeError, ValueError):
        return None
    return since // MICROSECOND


def written():
    for parts in itertools.product(DATES.split(), *PARTS):
        yield "".join(parts)
    dice = random.Random(1)
    for _ in range(3000):
        letters = list("2026-01-31T12:34:56.789012")
        for _ in range(dice.randint(1, 3)):
            letters[dice.randrange(len(letters))] = dice.choice("0123456789-:T .+Z９") * (
                dice.random() < 0.8
            )
        yield "".join(letters)


def test_a_text_is_read_as_python_reads_it_or_refused():
    """By itself, so that each is tried in columns first: 6,900 texts, of which many are times."""
    read = 0
    for text in written():
        column = column_of(pl.Series("time", [text]))
        if (wanted := one(text)) is None:
            found = moments_in_column(column)
            assert found is None or found[0] < one("0001-01-01"), text
        else:
            assert times_of(column, SCALE, "time").tolist() == [wanted], text
            read += 1
    assert read > 600


@pytest.mark.parametrize(
    "text", ["0000-01-01T00:00:00", "2026-02-30", "soon", "", "2026-01-01T24:30"]
)
def test_what_is_no_time_is_refused_by_name(text):
    with pytest.raises(DataError, match="'time'"):
        times_of(column_of(pl.Series("time", ["2026-01-01T00:00:00", text])), SCALE, "time")


def test_a_zone_beside_none_is_read_one_by_one():
    texts = ["2026-01-01T01:00:00", "2026-01-01T01:00:00+01:00"]
    first, second = times_of(column_of(pl.Series("time", texts)), SCALE, "time").tolist()
    assert first - second == 3_600_000_000
