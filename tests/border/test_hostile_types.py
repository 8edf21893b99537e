"""Types and values made so that people are counted twice, or not at all, or read differently."""

import datetime as dt
import decimal
import uuid

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import onesided as od
from onesided import errors

P = od.policy


def counted(data, *, unit="person", by="place", keys=("gym",)):
    """How many units are in each group, exactly: ε is large."""
    session = od.Session(data, unit=unit, policy=P.unbounded(), budget=99)
    release = session.count(by=by, keys=list(keys), epsilon=90, max_groups=1)
    return [int(value) for value in release.estimate]


def refused(ask, data, **given):
    unit = given.pop("unit", "person")
    try:
        session = od.Session(data, unit=unit, policy=P.unbounded(), budget=9)
    except errors.OnesidedError:
        return
    with pytest.raises(errors.OnesidedError):
        ask(session, **given)
    assert not any(session.spent.values())


def count(session, by="place", keys=("gym",)):
    session.count(by=by, keys=list(keys), epsilon=1, max_groups=1)


WORDS = ["gym", "gym", "gym"]
TWO_SPELLINGS = pc.utf8_lower(pa.array(["Gym", "gym", "GYM"]))
OTHERS = (
    pa.ArrowException,
    duckdb.Error,
    pl.exceptions.PolarsError,
    NotImplementedError,
    TypeError,
)
UNITS = {
    # (values of the unit column, how many people they are)
    "one word in two places of a dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), TWO_SPELLINGS),
        1,
    ),
    "null in a dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array(["a", "b"])),
        2,
    ),
    "runs": (pc.run_end_encode(pa.array(["a", "a", "b"])), 2),
    "text with and without NUL": (pa.array(["a", "a\0", "a\0b"]), 3),
    "two ways to write é": (pa.array(["\u00e9", "e\u0301", "E\u0301"]), 3),
    "capitals": (pa.array(["ann", "ANN", "Ann"]), 3),
    "spaces": (pa.array(["ann", "ann ", " ann"]), 3),
    "0.0 and -0.0": (pa.array([0.0, -0.0, 1.0]), 2),
    "neighbours beyond 2^53": (pa.array([2**53, 2**53 + 1, 2**53 + 2]), 3),
    "unsigned beyond 2^63": (pa.array([2**63, 2**63 + 1, 2**64 - 1], pa.uint64()), 3),
    "moments a nanosecond apart": (pa.array([1, 2, 3], pa.timestamp("ns")), 3),
    "moments of two zones": (pa.array([1, 1, 2], pa.timestamp("us", "Asia/Tokyo")), 2),
    "decimals": (pa.array([decimal.Decimal("1.10"), decimal.Decimal("1.1"), None]).fill_null(0), 2),
    "wide decimals": (pa.array([decimal.Decimal(10**37 + n) for n in (0, 1, 1)]), 2),
    "bytes": (pa.array([b"\xff", b"\xfe", b"\xff"]), 2),
    "views": (pa.array(["a", "b", "b"], pa.string_view()), 2),
    "half floats": (pa.array(np.array([1, 2, 2], dtype=np.float16)), 2),
}


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("engine", ["pyarrow", "polars", "pandas", "duckdb"])
def test_people_are_as_many_as_their_names(name, engine):
    """Or the column is refused, before anything is charged."""
    column, people = UNITS[name]
    connection = duckdb.connect()
    make = {
        "pyarrow": lambda t: t,
        "polars": pl.from_arrow,
        "pandas": lambda t: t.to_pandas(types_mapper=pd.ArrowDtype),
        "duckdb": connection.from_arrow,
    }[engine]
    try:
        data = make(pa.table({"person": column, "place": WORDS}))
    except OTHERS:
        return  # another library's refusal: no such table exists
    try:
        assert counted(data) == [people]
    except errors.OnesidedError:
        refused(count, data)


def test_units_in_objects_of_several_types_are_refused():
    for values in (["1", 1, 1.0], [1, True, 2], [b"a", "a", "a"], [1, 2, 2**70], [(1,), (1,), (2,)],
                   [decimal.Decimal(1), 1, 2], [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1), None],  # noqa: DTZ001
                   [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None],  # noqa: DTZ001
                   [uuid.UUID(int=1), "a", "b"], [object(), object(), object()]):  # fmt: skip
        refused(count, pd.DataFrame({"person": pd.Series(values, dtype=object), "place": WORDS}))


def test_a_surrogate_that_is_no_character_is_nobody_and_no_place():
    bad = pd.Series(["gym", "\ud800", "gym"], dtype=object)
    frame = pd.DataFrame({"person": ["a", "b", "c"], "place": bad})
    assert counted(frame) == [2]
    refused(count, pd.DataFrame({"person": bad, "place": WORDS}))
    refused(count, frame, keys=("\ud800",))


@pytest.mark.parametrize("make", [lambda t: t, pl.from_arrow, lambda t: pl.from_arrow(t).lazy()])
def test_narrow_columns_and_empty_ones_are_read_alike(make):
    half = pa.array(np.array([1.5, np.nan, -0.0], dtype=np.float16))
    data = make(pa.table({"person": ["a", "b", "c"], "half": half, "none": pa.nulls(3)}))
    session = od.Session(data, unit="person", policy=P.sensitive("half > 1"), budget=999)
    for where, people in (("half = 1.5", 1), ("half IS NULL", 1), ("none IS NULL", 3)):
        assert session.count(where=where, epsilon=90).value == people
    kept = session.sample(epsilon=90).frame
    kept = kept.collect() if isinstance(kept, pl.LazyFrame) else kept
    assert kept.shape == (1, 3)


def test_bytes_that_are_no_text_are_unknown():
    bad = pa.array([b"gym", b"\xff", b"gym"]).view(pa.string())
    table = pa.table({"person": ["a", "b", "c"], "place": bad})
    assert counted(table) == [2]
    sensitive = od.Session(table, unit="person", policy=P.sensitive("place = 'home'"), budget=99)
    assert sensitive.sample(epsilon=90).frame["person"].to_pylist() == ["a", "c"]


KEYS = {
    "numbers for text": ("place", [1]),
    "text for numbers": ("age", ["1"]),
    "booleans for numbers": ("age", [True]),
    "floats for numbers": ("age", [1.0]),
    "moments for dates": ("day", [dt.datetime(2020, 1, 1)]),  # noqa: DTZ001
    "dates for moments": ("moment", [dt.date(2020, 1, 1)]),
    "zones for none": ("moment", [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]),
    "twice": ("place", ["a", "a"]),
    "one instant in two zones": (
        "instant",
        [
            dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
            dt.datetime(2020, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        ],
    ),
    "null": ("place", [None]),
    "NaN": ("place", [float("nan")]),
    "NaT": ("moment", [pd.NaT]),
    "a text": ("place", "gym"),
    "none": ("place", []),
    "bytes": ("place", [b"gym"]),
    "sets": ("place", [{"gym"}]),
    "beyond the type": ("age", [2**64]),
    "too wide": ("place", [("gym", "gym")]),
    "finer than the column": ("coarse", [dt.datetime(2020, 1, 1, 0, 0, 0, 1)]),  # noqa: DTZ001
    "of a floating column": ("share", [0.5]),
    "of a list": ("list", [[1]]),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_that_could_never_match_or_match_twice_are_refused(name):
    by, keys = KEYS[name]
    instant = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    frame = pl.DataFrame(
        {
            "person": [1], "place": ["gym"], "age": [1], "day": [dt.date(2020, 1, 1)],
            "share": [0.5],
            "moment": [dt.datetime(2020, 1, 1)], "instant": [instant], "list": [[1]],  # noqa: DTZ001
            "coarse": pl.Series([0]).cast(pl.Datetime("ms")),
        }
    )  # fmt: skip
    for data in (
        frame,
        frame.to_arrow(),
        frame.to_arrow().to_pandas(types_mapper=pd.ArrowDtype),
        duckdb.connect().from_arrow(frame.to_arrow()),
    ):
        session = od.Session(data, unit="person", policy=P.unbounded(), budget=9)
        with pytest.raises(errors.OnesidedError):
            session.count(by=by, keys=keys, epsilon=1, max_groups=1)
        assert not any(session.spent.values())


def test_columns_of_no_list_ride_along_or_are_refused_by_name():
    """Nothing can be asked of them; a sample holds them in full or names the one it cannot hold."""
    odd = pa.table(
        {
            "person": [1, 2],
            "minor": [False, True],
            "list": pa.array([["a"], None]),
            "struct": pa.array([{"a": 1}, None]),
            "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        }
    )
    session = od.Session(odd, unit="person", policy=P.sensitive("minor"), budget=99)
    assert session.sample(epsilon=90).frame.to_pylist() == odd.slice(0, 1).to_pylist()
    for name in ("list", "struct", "map"):
        with pytest.raises(errors.DataError, match=name):
            session.count(by=name, keys=["a"], epsilon=1, max_groups=1)
        with pytest.raises(errors.OnesidedError):
            session.count(epsilon=1, where=f"{name} IS NULL")
    span = pa.array([(1, 2, 3), None], pa.month_day_nano_interval())
    refused(lambda s: s.sample(epsilon=1), odd.append_column("span", span))
    refused(count, odd.append_column("place", span))
    objects = pd.DataFrame({"person": [1, 2], "place": ["gym", "gym"], "odd": [object(), 3]})
    assert counted(objects) == [2]
    with pytest.raises(errors.DataError, match="odd"):
        od.Session(
            objects.assign(m=False), unit="person", policy=P.sensitive("m"), budget=9
        ).sample(epsilon=1)


@pytest.mark.parametrize("kind", ["interval", "bit", "time with time zone", "union(a int)"])
def test_types_of_duckdb_in_which_values_that_differ_are_equal_are_refused(kind):
    value = {"interval": "'1 month'", "bit": "'101'", "time with time zone": "'10:00:00+01'"}
    with duckdb.connect() as connection:
        made = value.get(kind, "union_value(a := 1)")
        text = f"select 1 as person, 'gym' as place, cast({made} as {kind}) as odd, false as m"
        rows = connection.sql(text)
        refused(count, rows, unit="odd")
        refused(count, rows, by="odd")
        refused(lambda s: s.count(epsilon=1, where="odd IS NULL"), rows)
        assert counted(rows) == [1]


class Loud(pd.DataFrame):
    """A subclass that would tell another number of rows each time."""

    @property
    def _constructor(self):
        return Loud


def test_a_pandas_index_or_a_class_of_ones_own_changes_nothing():
    plain = pd.DataFrame({"person": [1, 2, 2], "place": WORDS})
    for frame in (
        Loud(plain),
        plain.set_index(pd.Index([7, 7, 7])),
        plain.set_index("person", drop=False),
    ):
        assert counted(frame) == [2]
    for columns in ([["a", "a"], ["x", "y"]],):
        refused(count, pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_arrays(columns)))
    refused(count, pd.DataFrame([[1, "gym"]], columns=["person", 3]))


def test_what_is_no_table_is_refused_by_name():
    reader = pa.table({"person": [1], "place": ["gym"]}).to_reader()
    for data in (reader, {"person": [1]}, [1], None, "visits.csv", np.zeros((1, 2)), pl.Series([1]),
                 pd.Series([1]), pa.array([1]), object(), pl.DataFrame, iter(())):  # fmt: skip
        refused(count, data)
