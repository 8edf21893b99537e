"""Text becomes the same values on every engine, which are those of ``onesided.schema.read``."""

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import onesided as od
from onesided.engine import Table
from onesided.errors import SchemaError, UnknownColumnError
from onesided.schema import TYPES, read, value_of

TEXTS = [
    None, "", " ", "\x00", "\n", "é", "a",
    "true", "TRUE", "tRuE", "FALSE", "false", "fal\u017fe", "1", "0", "yes", "t", "true ",
    "7", "+7", "-7", "007", "7.0", " 7", "7 ", "7\n", "\n7", "\u0661", "\uff11", "\u22121", "1_0",
    "0x10", "+-1", "--1", "-0", "+0", "0" * 37 + "8", "0" * 38 + "8", "9" * 19, "9" * 38, "9" * 39,
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "1.5", ".5", "5.", ".", "1e2", "1.e5", "1E+2", "1e", "1,5", "1d", "1f", "1e999", "-1e999",
    "1.7976931348623157e308", "1.7976931348623159e308", "4.9e-324", "2.4703282292062327e-324",
    "2.4703282292062328e-324", "2.2250738585072011e-308", "1e-400", "0e9999",
    "9007199254740993." + "0" * 300 + "1", "9" * 401, "nan", "NaN", "inf", "-inf", "Infinity",
    "2008-02-29", "2007-02-29", "2000-02-29", "1900-02-29", "0000-01-01", "0001-01-01",
    "9999-12-31", "2008-04-31", "2008-13-01", "2008-00-10", "2008-01-00", "10/02/2008", "2008-2-1",
    "20080201", "12008-02-01", "-2008-02-01", "2008-02-01 ", "2008\u201002\u201001", "2008-W05-5",
    "now", "today", "epoch", "infinity", "-infinity", "yesterday",
    "2008-02-10T07:30", "2008-02-10 07:30:15", "2008-02-10t07:30", "2008-02-10T07:30:15.5",
    "2008-02-10T07:30:15.123456", "2008-02-10T07:30:15.1234567", "2008-02-10T07:30:15.",
    "2008-02-10T24:00", "2008-02-10T07:60", "2008-02-10T23:59:60", "2007-02-29T07:30",
    "0001-01-01T00:00", "9999-12-31T23:59:59.999999", "2008-02-10  07:30", "2008-02-10T7:30",
    "2008-02-10T07:30Z", "2008-02-10T07:30z", "2008-02-10T07:30:15+05:30", "2008-02-10T07:30+0530",
    "2008-02-10 07:30:15.25-23:59", "2008-02-10T07:30+24:00", "2008-02-10T07:30 +01:00",
    "2008-02-10T07:30UTC", "0001-01-01T00:00+05:00", "0001-01-01T00:00-05:00",
    "9999-12-31T23:59-00:01", "9999-12-31T23:59:59.999999+00:00", "2008-02-10T07:30-00:00",
    "07:30", "24:00", "7:30", "23:59:59.999999", "07:30:61", "00:00:00.000001", "07:30:15.5Z",
    "P1D", "PT1H", "P1DT2H3M4.5S", "PT", "P", "P1DT", "PT0.000001S", "PT1.1234567S", "P1Y", "P1M",
    "-P1D", "PT1.5H", "PT99999999H", "PT999999999H", "PT9999999999M",
    "P9999999DT99999999H9999999999M999999999999.999999S", "p1d",
]  # fmt: skip
PIECES = st.sampled_from(
    ["0", "1", "9", "00", "2008", "-", "+", ":", ".", "T", " ", "Z", "e", "E", "P", "D", "H", "M",
     "S", "02-29", "2008-02-29", "07:30", "+01:00", "true", "\n", "\u0661", "inf", "\x00"]
)  # fmt: skip
MADE = st.lists(st.lists(PIECES, max_size=6).map("".join), min_size=1, max_size=30)
ENGINES = {
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "pandas": pd.DataFrame,
    "duckdb": lambda columns: duckdb.connect().from_arrow(pa.table(columns)),
}


def values(data, kind, unit=None):
    """What the column x is read as, by the column i, and how many texts were not."""
    table = Table(data, declared=od.Schema(columns={"x": od.column(kind)}), unit=unit)
    with table.take(["i", "x"]) as held:
        native = nw.to_native(held.frame)
        if "spark" in type(native).__module__:
            from pyspark.sql import functions as sql

            zoned = kind == "datetime with zone"  # Python's own reader knows not all of them
            native = native.withColumn("c1", sql.unix_micros("c1")) if zoned else native
            rows = {row.c0: row.c1 for row in native.collect()}
        elif hasattr(native, "collect"):
            rows = dict(native.collect().rows())
        else:
            found = native.arrow().read_all()
            rows = dict(zip(found["c0"].to_pylist(), found["c1"].to_pylist(), strict=True))
    return [value_of(rows[i]) for i in range(len(rows))], table.unreadable().get("x", 0)


def wanted(texts, kind, unit=None):
    found = [None if text is None else read(kind, text) for text in texts]
    if unit is not None:  # as Python writes them, and in no other way
        found = [v if written(kind, v) == t else None for t, v in zip(texts, found, strict=True)]
    return found, sum(v is None and t is not None for t, v in zip(texts, found, strict=True))


def written(kind, value):
    if value is None:
        return None
    return od.schema.date_text(value) if kind == "date" else str(value)


def same(one, other):
    return repr(one) == repr(other)  # -0.0 is not 0.0, True is not 1


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("engine", ENGINES)
def test_hostile_text_is_read_alike(engine, kind):
    columns = {"i": list(range(len(TEXTS))), "x": TEXTS}
    found, expected = values(ENGINES[engine](columns), kind), wanted(TEXTS, kind)
    assert [
        (t, a, b) for t, a, b in zip(TEXTS, found[0], expected[0], strict=True) if not same(a, b)
    ] == []
    assert found[1] == expected[1]


@pytest.mark.parametrize("kind", ["text", "integer", "date"])
@pytest.mark.parametrize("engine", ENGINES)
def test_no_two_texts_are_one_unit(engine, kind):
    data = ENGINES[engine]({"i": list(range(len(TEXTS))), "x": TEXTS})
    found = values(data, kind, unit="x")
    assert same(found, wanted(TEXTS, kind, unit="x"))
    known = [value for value in found[0] if value is not None]
    assert len(set(known)) == len(known)


@pytest.mark.parametrize(
    "declared",
    [
        *(od.column(kind) for kind in TYPES if kind not in ("text", "integer", "date")),
        od.column("integer", thousands=","),
        od.column("date", date="%d/%m/%Y"),
    ],
    ids=repr,
)
def test_types_that_write_a_unit_in_several_ways_are_refused(declared):
    data, schema = pl.DataFrame({"x": ["1"]}), od.Schema(unit="x", columns={"x": declared})
    with pytest.raises(SchemaError, match="several texts are one unit"):
        Table(data, declared=schema)


@pytest.mark.xdist_group("spark")
def test_no_two_texts_are_one_unit_in_spark(spark):
    rows = spark.createDataFrame(list(enumerate(TEXTS)), "i int, x string").cache()
    for kind in ("text", "integer", "date"):
        assert same(values(rows, kind, unit="x"), wanted(TEXTS, kind, unit="x")), kind


@pytest.mark.xdist_group("spark")
def test_hostile_text_is_read_alike_in_spark(spark):
    rows = spark.createDataFrame(list(enumerate(TEXTS)), "i int, x string").cache()
    for kind in TYPES:
        if kind != "time":
            assert same(values(rows, kind), wanted(TEXTS, kind)), kind
    with pytest.raises(SchemaError, match="not read in Spark"):
        values(rows, "time")


@pytest.mark.parametrize("kind", ["date", "datetime", "datetime with zone", "time"])
def test_a_callers_zone_and_calendar_change_nothing(kind):
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Asia/Tokyo'")
    connection.execute("SET Calendar = 'japanese'")
    columns = {"i": list(range(len(TEXTS))), "x": TEXTS}
    data = connection.from_arrow(pa.table(columns))
    table = Table(data, declared=od.Schema(columns={"x": od.column(kind)}))
    with table.take(["i", "x"]) as held:
        native = nw.to_native(held.frame)
        if kind == "datetime with zone":  # past the last day Python has no local time
            native = native.project("c0, epoch_us(c1) AS c1")
        found = native.arrow().read_all().sort_by("c0")["c1"].to_pylist()
    assert same([value_of(value) for value in found], wanted(TEXTS, kind)[0])


@pytest.mark.heavy
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MADE, st.sampled_from(TYPES))
def test_made_up_text_is_read_alike(texts, kind):
    columns, expected = {"i": list(range(len(texts))), "x": texts}, wanted(texts, kind)
    for engine in ("polars", "duckdb"):
        assert same(values(ENGINES[engine](columns), kind), expected), engine


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", TYPES)
def test_a_table_without_rows_is_read_like_any_other(engine, kind):
    empty = {"i": pa.array([], pa.int64()), "x": pa.array([], pa.string())}
    if engine == "pandas":
        data = pd.DataFrame({"i": [], "x": pd.Series([], dtype=object)})
    elif engine in ("polars", "lazy"):
        data = pl.from_arrow(pa.table(empty))
        data = data.lazy() if engine == "lazy" else data
    else:
        data = ENGINES[engine](empty)
    assert values(data, kind) == ([], 0)


@pytest.mark.parametrize("engine", ["polars", "pyarrow"])
def test_a_column_of_nothing_is_of_any_type(engine):
    data = pl.DataFrame({"i": [0], "x": [None]}) if engine == "polars" else None
    data = pa.table({"i": [0], "x": pa.nulls(1)}) if data is None else data
    for kind in TYPES:
        assert values(data, kind) == ([None], 0)


HELD = {
    "text": ["a"],
    "boolean": [True],
    "integer": [1],
    "number": [1.5],
    "date": [pd.Timestamp("2008-02-10").date()],
    "datetime": [pd.Timestamp("2008-02-10 07:30").to_pydatetime()],
    "time": [pd.Timestamp("2008-02-10 07:30").time()],
}


@pytest.mark.parametrize("engine", ["polars", "lazy", "pyarrow", "duckdb"])
@pytest.mark.parametrize("held", HELD)
def test_a_typed_column_must_be_of_its_type(engine, held):
    data = ENGINES[engine]({"i": [0], "x": HELD[held]})
    for kind in TYPES:
        schema = od.Schema(columns={"x": od.column(kind)})
        if held in (kind, "text"):
            Table(data, declared=schema)
            continue
        with pytest.raises(SchemaError, match=f"declares 'x' as {kind}, but the table holds"):
            Table(data, declared=schema)


def test_every_declared_column_is_there():
    schema = od.Schema(columns={"y": od.column("text")})
    with pytest.raises(UnknownColumnError, match="'y', which the table does not have"):
        Table(pl.DataFrame({"x": [1]}), declared=schema)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sample_has_the_declared_types_and_no_other_text(engine):
    texts = ["2008-02-10", "10/02/2008", "2008-02-30", None]
    data = ENGINES[engine]({"i": ["1", "2", "3", "4"], "x": texts})
    columns = {"i": od.column("integer"), "x": od.column("date", unreadable="missing")}
    schema = od.Schema(unit="i", columns=columns)
    policy = od.policy.sensitive("x > DATE '2009-01-01'")
    session = od.Session(data, schema=schema, policy=policy, budget=1000)
    sample = session.sample(epsilon=100).frame
    rows = nw.from_native(sample)
    rows = rows.collect() if isinstance(rows, nw.LazyFrame) else rows
    assert rows["i"].to_list() == [1]
    assert value_of(rows["x"].to_list()[0]) == read("date", "2008-02-10")
