"""Conditions written to break out, to break down, or to be read differently by two engines."""

import datetime as dt
import decimal
import time

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import onesided as od
from onesided import errors

ROWS = {
    "person": ["a", "b", "c", "target"],
    'x" or true --': ["p", "p", "q", "q"],
    "born": [dt.date(1990, 1, 1), None, dt.date(2015, 1, 1), dt.date(9999, 12, 31)],
    "age": [34, None, 9, -(2**63)],
    "share": [0.5, float("nan"), float("inf"), -0.0],
    "open": [True, None, False, False],
}


def tables(columns=ROWS):
    frame = pl.DataFrame(columns, strict=False)
    arrow = frame.to_arrow()
    connection = duckdb.connect()
    return {
        "polars": frame,
        "polars-lazy": frame.lazy(),
        "pandas": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "pyarrow": arrow,
        "duckdb": connection.from_arrow(arrow),
    }


def counted(data, where):
    """How many rows a condition picks, exactly: ε is large."""
    session = od.Session(data, policy=od.policy.unbounded(), budget=99)
    return int(session.count(epsilon=80, where=where).estimate[0])


WHERE = {
    # Names that would end a quotation, and words that mean something else elsewhere.
    '"x"" or true --" = \'p\'': 2,
    "person = 'x'' OR 1=1 --'": 0,
    "person = '\ud7ff'": 0,
    "person LIKE 'tar%' AND person LIKE '%get'": 1,
    "person LIKE '" + "%a" * 40 + "%b'": 0,
    # Limits of types: no overflow, no error, unknown where there is no value.
    "age - 1 < age": 3,
    "ABS(age) > 9223372036854775807": 1,
    "-age > 9223372036854775807": 1,
    "age * age * age IS NULL": 2,
    "age / 0 IS NULL": 4,
    "age % 0 IS NULL": 4,
    "share * 1e308 * 10.0 IS NULL": 3,
    "share = 0.0": 1,
    "share IS NULL": 2,
    "NOT (share > 0.0)": 1,
    "born + INTERVAL '1' DAY IS NULL": 2,
    "born - INTERVAL '3000000' DAY IS NULL": 3,
    "EXTRACT(YEAR FROM born) = 9999": 1,
    # Three values: what is unknown is not picked, whichever way it is asked.
    "open OR NOT open": 3,
    "open = open": 3,
    "age IN (9, 34) OR NOT (age IN (9, 34))": 3,
    "CASE WHEN open THEN FALSE ELSE TRUE END": 3,
    "COALESCE(open, TRUE)": 2,
}


@pytest.mark.parametrize(("where", "wanted"), WHERE.items(), ids=str)
def test_a_condition_means_one_thing_everywhere(where, wanted):
    found = {}
    for name, data in tables().items():
        found[name] = counted(data, where)
    assert set(found.values()) == {wanted}, found


REFUSED = [
    "person = 'a' -- or true\n",
    "person = 'a' /* or true */",
    "person = 'a'; drop table native",
    "person = 'a' UNION SELECT 1",
    "person IN (SELECT person FROM native)",
    "(SELECT true)",
    "EXISTS (SELECT 1)",
    "person = ANY(['a'])",
    "person = (VALUES ('a'))",
    "read_text('/etc/passwd') IS NULL",
    "getenv('HOME') IS NOT NULL",
    "current_date > born",
    "now() > born",
    "random() < 1",
    "person SIMILAR TO 'a'",
    "person ~ 'a'",
    "person ILIKE 'A'",
    "person LIKE person",
    "person LIKE 'a' ESCAPE '\\'",
    "CAST(person AS INTEGER) = 1",
    "person::integer = 1",
    "TRY_CAST(age AS TEXT) = '1'",
    "person COLLATE nocase = 'A'",
    "rowid = 1",
    "COUNT(*) > 1",
    "ROW_NUMBER() OVER () = 1",
    "COLUMNS(*) IS NULL",
    "* IS NULL",
    "{'a': 1} IS NULL",
    "[1] IS NULL",
    "$1 = 1",
    "? = 1",
    ":x = 1",
    "@x = 1",
    "native.person = 'a'",
    "onesided_kind = 'open'",
    "person = \u2018a\u2019",
    "person = 'a' AND",
    "",
    " ",
    "\x00",
    "person = '\x00'",
    "person = '\ud800'",
    "\ud800 = 1",
    "age = 1e999",
    "age = " + "9" * 5000,
    "born > DATE '2024-02-30'",
    "born > DATE '24-02-03'",
    "born > DATE 'today'",
    "born + INTERVAL '1' MONTH > born",
    "born + INTERVAL '" + "9" * 40 + "' DAY > born",
    "SUBSTRING(person, 0) = 'a'",
    "SUBSTRING(person, 1, -1) = 'a'",
    "SUBSTRING(person, age) = 'a'",
    "age = 'nine'",
    "open = 1",
    "person > 1",
    "(" * 5000 + "open" + ")" * 5000,
    "NOT " * 5000 + "open",
    "age IN (" + "1," * 300_000 + "1)",
    " OR ".join(["open"] * 100_000),
    "-" * 9999 + "age > 1",
    "CASE WHEN open THEN " * 500 + "TRUE" + " END" * 500,
    "person = '" + "a" * 200_000 + "'",
    "person = 'a",
    'person = "a"',
    "`person` = 'a'" + "`" * 999,
    3,
    None.__class__,
    b"open",
    pl.col("open"),
    len,
]


@pytest.mark.parametrize(
    "where",
    REFUSED,
    ids=lambda where: str(where)[:40] if isinstance(where, str) else type(where).__name__,
)
def test_what_is_no_condition_is_refused_by_our_own_error_and_soon(where):
    start = time.process_time()
    for name, data in tables().items():
        if name == "polars-lazy":
            continue
        session = od.Session(data, policy=od.policy.unbounded(), budget=99)
        with pytest.raises(errors.OnesidedError):
            session.count(epsilon=1, where=where)
        assert not any(session.spent.values())
        with pytest.raises(errors.OnesidedError):
            od.Session(data, policy=od.policy.sensitive(where), budget=9)
    assert time.process_time() - start < 5


ODD = {
    "decimal": pa.array([decimal.Decimal("0.10"), decimal.Decimal("1.5"), None, None]),
    "zoned": pa.array([0, 1, None, 2**53], pa.timestamp("us", "Asia/Tokyo")),
    "fine": pa.array([0, -1, None, 2**62], pa.timestamp("ns")),
    "coarse": pa.array([0, -1, None, 2**40], pa.timestamp("s")),
    "clock": pa.array([0, 1, None, 86_399_999_999], pa.time64("us")),
    "words": pa.array(["a", "A", None, "\u00e9"]).dictionary_encode(),
}
SAME = {
    "decimal = 0.1": 1,
    "zoned >= TIMESTAMPTZ '1970-01-01 09:00:00+09:00'": 3,
    "fine < TIMESTAMP '1970-01-01 00:00:00'": 1,
    "coarse < TIMESTAMP '1970-01-01 00:00:00'": 1,
    "coarse IS NULL": 1,
    "clock = TIME '23:59:59.999999'": 1,
    "LOWER(words) = 'a'": 2,
    "words > 'a'": 1,
    "LENGTH(words) = 1": 3,
}


@pytest.mark.parametrize(("where", "wanted"), SAME.items(), ids=str)
def test_odd_types_mean_one_thing_everywhere(where, wanted):
    table = pa.table(ODD)
    connection = duckdb.connect()
    data = {
        "pyarrow": table,
        "polars": pl.from_arrow(table),
        "pandas": table.to_pandas(types_mapper=pd.ArrowDtype),
        "duckdb": connection.from_arrow(table),
    }
    found = {name: counted(one, where) for name, one in data.items()}
    assert set(found.values()) == {wanted}, found


def test_infinite_dates_of_duckdb_come_after_all_others_and_have_no_parts():
    with duckdb.connect() as connection:
        connection.execute(
            "create table kept as select * from (values (date 'infinity', timestamp '-infinity'), "
            "(date '2020-01-01', timestamp '2020-01-01'), "
            "(date '20000-01-01', timestamp '20000-01-01')) v(d, m)"
        )
        kept = connection.table("kept")
        assert counted(kept, "d > DATE '2021-01-01'") == 2
        assert counted(kept, "m < TIMESTAMP '2019-01-01'") == 1
        for column in ("d", "m"):
            assert counted(kept, f"EXTRACT(YEAR FROM {column}) > 0") == 1
            assert counted(kept, f"{column} + INTERVAL '1' DAY IS NULL") == 2
