"""Declared forms of text mean on every engine what they mean in plain Python."""

import datetime as dt
import re
import zoneinfo

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import onesided as od
from onesided.engine import Table
from onesided.schema import local_offsets, value_of

EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the clock of the place
ENGINES = {
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "pandas": pd.DataFrame,
    "duckdb": lambda columns: duckdb.connect().from_arrow(pa.table(columns)),
}
ZURICH = zoneinfo.ZoneInfo("Europe/Zurich")


def moment(form):
    """Plain Python's own reader, which takes blanks for any blanks, and years only of 4 digits."""

    def read(text):
        try:
            found = dt.datetime.strptime(text, form)  # noqa: DTZ007
        except ValueError:
            return None
        odd = text.isascii() and not re.search(r"\s", text.replace(" ", "", 1))
        return value_of(found) if odd else None

    return read


def day(form):
    def read(text):
        found = moment(form)(text)
        return None if found is None else found // 86_400_000_000

    return read


def number(pattern, marks, make):
    def read(text):
        if not re.fullmatch(pattern, text, re.ASCII):
            return None
        for old, new in marks:
            text = text.replace(old, new)
        return make(text)

    return read


def clock(text):
    """A moment of Zürich's clock: none of the hour that is left out, or of the one told twice."""
    try:
        found = dt.datetime.strptime(text, "%Y-%m-%dT%H:%M")  # noqa: DTZ007
    except ValueError:
        return None
    first, second = (found.replace(tzinfo=ZURICH, fold=fold).utcoffset() for fold in (0, 1))
    same = first == second and 1901 < found.year < 2099 and len(text) == 16
    return (found - first - EPOCH) // dt.timedelta(microseconds=1) if same else None


# What a column declares, and how plain Python reads its text.
COLUMNS = [
    (
        od.column("number", decimal=",", thousands="."),
        number(
            r"[+-]?((\d{1,3}(\.\d{3})+|\d+)(,\d*)?|,\d+)", [(".", ""), (",", ".")], float
        ),
    ),
    (od.column("number", decimal=","), number(r"[+-]?(\d+(,\d*)?|,\d+)", [(",", ".")], float)),
    *(
        (od.column("integer", thousands=mark), number(form, [(mark, "")], int))
        for mark in "'."
        for form in [rf"[+-]?(\d{{1,3}}([{mark}]\d{{3}})+|\d+)"]
    ),
    (od.column("date", date="%d/%m/%Y"), day("%d/%m/%Y")),
    (od.column("date", date="%Y%m%d"), lambda t: day("%Y%m%d")(t) if len(t) == 8 else None),
    (od.column("datetime", date="%d.%m.%Y %H:%M"), moment("%d.%m.%Y %H:%M")),
    (
        od.column("boolean", true=["ja", "Ja"], false=["nein"]),
        {"ja": True, "Ja": True, "nein": False}.get,
    ),
    (od.column("datetime with zone", zone="Europe/Zurich"), clock),
]  # fmt: skip
TEXTS = [
    "1", "1.234,5", "1,5", "1.5", "1.234", "1.234.567,25", "12.34", ",5", "5,", "-1,5", "+0,0",
    "1'000", "12'34", "1'234'567", "'1", "2/11/2026", "02/11/2026", "29/02/2007", "29/02/2008",
    "2/11/26", "31/04/2026", "20261102", "2026112", "20080229", "2.11.2026 07:30",
    "2.11.2026 7:5", "2.11.2026 24:00", "2.11.2026  07:30", "ja", "Ja", "JA", "nein", "ja ", "NA",
    "", None, "2026-11-02T07:30", "2026-03-29T02:30", "2026-10-25T02:30", "1920-04-14T00:00",
    "1850-01-01T00:00", "2300-01-01T00:00", "1/1/0001", "01/01/9999", "\uff11", "x", "\x00", "\n",
]  # fmt: skip
PIECES = st.sampled_from([*"0123456789.,'/:- T", "2026", "11", "29", "02", "07:30", "ja", "\n"])
MADE = st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=1, max_size=30)
IDS = [f"{one.type} {one.decimal or one.thousands or one.date or one.zone}" for one, _ in COLUMNS]


def values(data, column):
    """What the column x is read as, by the column i, and how many texts were not."""
    table = Table(data, declared=od.Schema(columns={"x": column}))
    with table.take(["i", "x"]) as taken:
        i, x = taken.at("i"), taken.at("x")
        native = nw.to_native(taken.frame)
        if "spark" in type(native).__module__:
            from pyspark.sql import functions as sql

            zoned = column.type == "datetime with zone"
            native = native.withColumn(x, sql.unix_micros(x)) if zoned else native
            rows = {row[i]: row[x] for row in native.collect()}
        else:
            found = taken.columns([i, x])
            rows = dict(zip(found[i].to_list(), found[x].to_list(), strict=True))
    return [value_of(rows[i]) for i in range(len(rows))], table.unreadable().get("x", 0)


def wanted(texts, read):
    found = [None if text is None else read(text) for text in texts]
    return found, sum(v is None and t is not None for t, v in zip(texts, found, strict=True))


@pytest.mark.parametrize(("column", "read"), COLUMNS, ids=IDS)
def test_a_form_means_what_plain_python_reads(column, read):
    reading = od.Schema(columns={"x": column}).reading("x")
    texts = [text for text in TEXTS if text is not None]
    assert {t: reading.read(t) for t in texts} == {t: read(t) for t in texts}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("column", "read"), COLUMNS, ids=IDS)
def test_a_form_is_read_alike_on_every_engine(engine, column, read):
    columns = {"i": list(range(len(TEXTS))), "x": TEXTS}
    assert repr(values(ENGINES[engine](columns), column)) == repr(wanted(TEXTS, read))


@pytest.mark.heavy
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MADE, st.sampled_from(COLUMNS))
def test_made_up_text_of_a_form_is_read_alike(texts, case):
    column, _ = case
    read = od.Schema(columns={"x": column}).reading("x").read
    columns = {"i": list(range(len(texts))), "x": texts}
    for engine in ("polars", "duckdb"):
        assert repr(values(ENGINES[engine](columns), column)) == repr(wanted(texts, read)), engine


@pytest.mark.xdist_group("spark")
def test_forms_are_read_alike_in_spark(spark):
    rows = spark.createDataFrame(list(enumerate(TEXTS)), "i int, x string").cache()
    for column, read in COLUMNS:
        assert repr(values(rows, column)) == repr(wanted(TEXTS, read)), column


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("zone", ["Australia/Lord_Howe", "America/St_Johns", "Africa/Monrovia"])
def test_a_zones_clock_is_pythons_in_spark(spark, zone):
    """About each change of the clock, by the microsecond, and beyond what is known."""
    column = od.column("datetime with zone", zone=zone)
    read = od.Schema(columns={"x": column}).reading("x").read
    ends = [change + near for change in local_offsets(zone)[0] for near in (-1, 0, 1)]
    texts = [(EPOCH + dt.timedelta(microseconds=end)).isoformat() for end in ends]
    texts += ["1970-01-01T00:00Z", "1970-01-01 00:00:00+01:00", "1970-02-30T00:00", "1970-01-01"]
    rows = spark.createDataFrame(list(enumerate(texts)), "i int, x string").cache()
    assert repr(values(rows, column)) == repr(wanted(texts, read))


def test_an_offset_in_the_text_comes_before_the_zone():
    column = od.column("datetime with zone", zone="America/New_York", missing=["-"])
    texts = ["1970-01-01T00:00Z", "1970-01-01 00:00:00", "1970-01-01T00:00+01:00", "-"]
    for make in ENGINES.values():
        found = values(make({"i": list(range(4)), "x": texts}), column)
        assert found == ([0, 5 * 3_600_000_000, -3_600_000_000, None], 0)


@pytest.mark.parametrize("zone", ["Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu"])
@given(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2099, 12, 31, 23, 59)))  # noqa: DTZ001
@example(dt.datetime(1900, 1, 1))  # noqa: DTZ001
@example(dt.datetime(2099, 12, 31, 23, 59, 59, 999_999))  # noqa: DTZ001
def test_a_zones_clock_is_pythons(zone, local):
    place = zoneinfo.ZoneInfo(zone)
    text = local.isoformat()
    found = od.Schema(columns={"x": od.column("datetime with zone", zone=zone)}).reading("x")
    first, second = (local.replace(tzinfo=place, fold=fold).utcoffset() for fold in (0, 1))
    wanted = (local - first - EPOCH) // dt.timedelta(microseconds=1) if first == second else None
    assert found.read(text) == wanted


@pytest.mark.parametrize("name", ["a.b", "*", 'q"x', "^x$", "select", "it's"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_is_a_name_wherever_text_is_read(engine, name):
    data = ENGINES[engine]({"x": ["7", "7"], name: ["1,5", "-"]})
    column = od.column("number", decimal=",", missing=["-"])
    table = Table(data, declared=od.Schema(columns={name: column}))
    assert table.unreadable() == {}
    assert str(table.schema[name]) == "Float64"
    assert str(table.schema["x"]) == "String"
