"""Values and bounds at the ends of a column's type: each engine says the same, and none refuses."""

import datetime as dt
from itertools import product

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.covering import covering

import onesided as od
from onesided.errors import DataError

from .conftest import CONNECTION, _ibis

TABLES = {
    "polars": pl.from_arrow,
    "polars-lazy": lambda table: pl.from_arrow(table).lazy(),
    "pandas": lambda table: table.to_pandas(),
    "pandas-arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pyarrow": lambda table: table,
    "duckdb": CONNECTION.from_arrow,
    "ibis-duckdb": lambda table: _ibis(pl.from_arrow(table)),
}
ENDS = {
    pa.int8(): (-(2**7), 2**7 - 1),
    pa.int64(): (-(2**63), 2**63 - 1),
    pa.uint8(): (0, 2**8 - 1),
    pa.uint64(): (0, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1),
}
QUESTIONS = {
    "sum": lambda column, bounds, **more: od.session.Sum(
        column, of="units", total_bounds=bounds, **more
    ),
    "mean": od.session.Mean,
    "variance": od.session.Variance,
    "quantile": od.session.Quantile,
}
FAR = [((-(10**20), 10**20), 10**15), ((0, 10**20), 10**15), ((-9, 9), 1), ((300, 400), 1)]


@pytest.fixture(params=TABLES)
def made(request):
    return TABLES[request.param]


def session(rows):
    return od.Session(rows, unit="p", policy=od.policy.bounded(), budget=10**4)


def read(asked, question):
    return question.prepare(asked._context()).read()


def clipped(value, low, high, step):
    return (2 * min(max(value, low), high) + step) // (2 * step)


@pytest.mark.parametrize("kind", ENDS, ids=str)
def test_sums_take_bounds_and_values_beyond_each_other(made, kind):
    values = [5, *ENDS[kind]]
    table = pa.table({"p": list(range(len(values))), "v": pa.array(values, kind)})
    asked = session(made(table))
    for bounds, step in FAR:
        question = od.session.Sum("v", of="units", total_bounds=bounds, step=step, epsilon=1)
        expected = sum(clipped(value, *bounds, step) for value in values)
        assert read(asked, question).tolist() == [expected], (bounds, step)


@pytest.mark.parametrize("name", QUESTIONS)
def test_nothing_after_the_charge_depends_on_a_value_beyond_64_bits(made, name):
    for big in (5, 2**63 + 1):
        asked = session(made(pa.table({"p": [1, 2], "v": pa.array([5, big], pa.uint64())})))
        given = {"bounds": (0, 10**20), "step": 10**16, "missing": "drop", "id": "q"}
        question = QUESTIONS[name]("v", epsilon=1, **given)
        asked.charge(question)
        asked.answer(question)


def test_sums_of_128_bits():
    most, least = 2**127 - 1, -(2**127)
    text = " UNION ALL ".join(
        f"SELECT {i} AS p, '{v}'::HUGEINT AS v" for i, v in enumerate((5, most, least))
    )
    asked = session(duckdb.sql(text))
    for bounds, step in FAR:
        question = od.session.Sum("v", of="units", total_bounds=bounds, step=step, epsilon=1)
        expected = sum(clipped(value, *bounds, step) for value in (5, most, least))
        assert read(asked, question).tolist() == [expected], (bounds, step)


def test_short_floats_are_compared_with_the_edges_themselves(made):
    """0.3 in 32 bits is above 0.3."""
    values = pa.array([0.0, 0.1, 0.2, 0.3, 0.3], pa.float32())
    asked = session(made(pa.table({"p": list(range(5)), "v": values})))
    bins = od.session.Histogram("v", bins=3, bounds=(0, "0.3"), epsilon=1)
    assert read(asked, bins).tolist() == [1, 1, 1]
    points = {"candidates": ["0.1", "0.3"], "method": "cumulative", "epsilon": 1}
    assert np.ravel(read(asked, od.session.Quantile("v", "1/2", **points))).tolist() == [1, 2, 2]
    ranges = od.session.RangeQuery("v", "cells", bins=[0, "0.1", "0.3", 1], epsilon=1)
    assert read(asked, ranges).tolist() == [1, 2, 2]


@pytest.mark.parametrize("kind", ENDS, ids=str)
def test_edges_beyond_the_type(made, kind):
    values = [5, *ENDS[kind]]
    asked = session(made(pa.table({"p": list(range(len(values))), "v": pa.array(values, kind)})))
    question = od.session.Histogram("v", bins=[-300, 0, 300, 2**63 - 1], epsilon=1)
    expected = [sum(a <= v < b for v in values) for a, b in ((-300, 0), (0, 300), (300, 2**63 - 1))]
    assert read(asked, question).tolist() == expected


FAR_MOMENTS = (
    "DATE 'infinity'",
    "DATE '-infinity'",
    "DATE '20000-01-01'",
    "DATE '0044-03-15 (BC)'",
    "TIMESTAMP 'infinity'",
    "TIMESTAMP '-infinity'",
    "TIMESTAMP_S '20000-01-01'",
    "TIMESTAMPTZ '20000-01-01'",
)


@pytest.mark.parametrize("kind", ["duckdb", "polars", "pyarrow", "pandas-arrow"])
@pytest.mark.parametrize("far", FAR_MOMENTS)
def test_samples_with_moments_that_python_has_not_are_shown(kind, far, tmp_path):
    near = far.split()[0] + " '2024-02-29'"
    rows = duckdb.sql(
        f"SELECT i AS p, false AS minor, CASE i WHEN 0 THEN {far} WHEN 1 THEN {near} END AS d "
        "FROM range(3) t(i)"
    )
    table = rows if kind == "duckdb" else TABLES[kind](rows.to_arrow_table())
    policy = od.policy.sensitive("minor")
    noise = od.noise.NotPrivateSeededNoise(7)
    told = od.Session(table, unit="p", policy=policy, budget=10**4, noise=noise).sample(epsilon=900)
    first, second, third = told.columns()["d"]
    assert isinstance(first, str)
    assert (str(second)[:10], third) == ("2024-02-29", None)
    assert "2024-02-29" in str(told)
    assert told.shape() is not None
    told.write(tmp_path / "out", formats=["csv", "json", "parquet", "xlsx", "html"])
    assert pq.read_table(tmp_path / "out" / "release.parquet")["d"].to_pylist()[0] == first


def test_the_ends_of_a_type_are_told():
    ends = pl.Series("d", [-(2**63), 2**63 - 1])
    frame = pl.DataFrame({"d": ends.cast(pl.Datetime("us")), "s": ends.cast(pl.Duration("ms"))})
    noise = od.noise.NotPrivateSeededNoise(7)
    asked = od.Session(frame, policy=od.policy.removal_only(), budget=10**4, noise=noise)
    told = asked.sample(epsilon=900).columns()
    assert told["d"] == ["-290308-12-21 19:59:05.224192", "294247-01-10 04:00:54.775807"]
    assert told["s"] == ["-9223372036854775808 ms", "9223372036854775807 ms"]


NESTED = {
    "[{far}, {near}, NULL]": lambda far: [far, "2024-02-29", None],
    "[{far}]::{type}[1]": lambda far: [far],
    "{{'a': {far}, 'b': {near}}}": lambda far: {"a": far, "b": "2024-02-29"},
    "{{'a': [{{'b': {far}}}, NULL]}}": lambda far: {"a": [{"b": far}, None]},
    "MAP {{{near}: {far}}}": lambda far: [("2024-02-29", far)],
}


def days(value):
    """Moments by their day."""
    if isinstance(value, dict):
        return {name: days(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(days, value))
    return None if value is None else str(value).partition("T")[0].partition(" ")[0]


ALSO_FAR = (*FAR_MOMENTS, "TIMESTAMP_MS '290000-01-01'")
NESTS = [
    one
    for one in product(("duckdb", "polars", "pyarrow"), NESTED, ALSO_FAR)
    if one[0] != "polars" or "MAP" not in one[1]
]


@pytest.mark.parametrize(("kind", "form", "far"), covering(NESTS))
def test_samples_show_such_moments_within_lists_and_structs(kind, form, far):
    name = far.split()[0]
    value = form.format(far=far, near=f"{name} '2024-02-29'", type=name)
    rows = duckdb.sql(
        f"SELECT i AS p, false AS minor, CASE i WHEN 0 THEN {value} END AS d FROM range(2) t(i)"
    )
    table = rows if kind == "duckdb" else TABLES[kind](rows.to_arrow_table())
    noise = od.noise.NotPrivateSeededNoise(7)
    policy = od.policy.sensitive("minor")
    told = od.Session(table, unit="p", policy=policy, budget=10**4, noise=noise).sample(epsilon=900)
    first, second = told.columns()["d"]
    alone = duckdb.sql(f"SELECT 1 AS p, false AS minor, {far} AS d").to_arrow_table()
    alone = od.Session(alone, unit="p", policy=policy, budget=10**4, noise=noise)
    (single,) = alone.sample(epsilon=900).columns()["d"]
    assert days(first) == NESTED[form](days(single))
    assert second is None
    for shown in (str(told), repr(told), told._repr_html_()):
        assert days(single) in shown
    assert od.session.release_from_json(od.session.release_to_json(told)).columns()["d"] == [
        first,
        None,
    ]


def test_samples_refuse_python_objects_before_the_charge():
    rows = pl.DataFrame({"minor": [False] * 4, "x": pl.Series([object()] * 4, dtype=pl.Object)})
    for table in (rows, rows.lazy()):
        asked = od.Session(table, policy=od.policy.sensitive("minor"), budget=100)
        with pytest.raises(DataError, match="Python objects"):
            asked.sample(epsilon=9)
        assert not any(asked.spent.values())


SECONDS = pa.timestamp("s")
FINE = {
    "moment": (pa.array([2**60, 5], SECONDS), "36534630048-05-13 13:56:16"),
    "list": (pa.array([[2**60], [5]], pa.list_(SECONDS)), ["36534630048-05-13 13:56:16"]),
    "struct": (
        pa.array([{"a": 2**60}, {"a": 5}], pa.struct([("a", SECONDS)])),
        {"a": "36534630048-05-13 13:56:16"},
    ),
    "nanoseconds": (pa.array([1, 2000], pa.timestamp("ns")), "1970-01-01 00:00:00.000000001"),
    "zone": (
        pa.array([1, 2000], pa.timestamp("ns", "Europe/Zurich")),
        "1970-01-01 00:00:00.000000001+00:00",
    ),
    "time": (pa.array([86399999999999, 2000], pa.time64("ns")), "23:59:59.999999999"),
    "duration": (pa.array([1, 2000], pa.duration("ns")), "1 ns"),
    "far duration": (pa.array([2**60, 5], pa.duration("s")), "1152921504606846976 s"),
    "near duration": (pa.array([90_061, 5], pa.duration("s")), dt.timedelta(1, 3661)),
}


@pytest.mark.parametrize("name", FINE)
@pytest.mark.parametrize("kind", ["polars", "polars-lazy", "pyarrow", "pandas-arrow", "pandas"])
def test_samples_tell_moments_and_durations_exactly(kind, name, tmp_path):
    column, first = FINE[name]
    if kind.startswith("polars"):
        plain = name not in ("moment", "list", "struct", "far duration")  # Polars has no seconds
        table = pl.DataFrame({"d": pl.from_arrow(column)}) if plain else None
    else:
        table = pa.table({"d": column})
        if kind == "pandas":
            table = table.to_pandas() if isinstance(column, pa.TimestampArray) else None
        elif kind == "pandas-arrow":
            table = table.to_pandas(types_mapper=pd.ArrowDtype)
    if table is None:
        return
    table = table.lazy() if kind == "polars-lazy" else table
    noise = od.noise.NotPrivateSeededNoise(7)
    policy = od.policy.removal_only()
    session = od.Session(table, policy=policy, budget=10**4, noise=noise)
    if name in ("time", "zone") and not kind.startswith("polars"):
        with pytest.raises(DataError, match="Nothing was drawn"):
            session.sample(epsilon=900)
        return
    told = session.sample(epsilon=900)
    assert told.columns()["d"][0] == first
    text = str(first) if isinstance(first, str | dt.timedelta) else ""
    assert text in told.table.csv()
    assert str(told)
    assert told.shape() is not None
    told.write(tmp_path / "out", formats=["csv", "json", "parquet", "xlsx", "html"])


@pytest.mark.parametrize("kind", [pl.Struct([]), pl.List(pl.Struct([]))])
def test_what_cannot_be_made_anew_is_refused_before_the_charge(kind):
    rows = pl.DataFrame({"minor": [False], "x": pl.Series([None], dtype=kind)})
    for table in (rows, rows.lazy()):
        session = od.Session(table, policy=od.policy.sensitive("minor"), budget=100)
        with pytest.raises(DataError, match=r"'x' holds .*Struct.*\n?.*Nothing was drawn"):
            session.sample(epsilon=9)
        assert set(session.spent.values()) == {0}
