"""Attacks on samples and on counts whose keys nobody listed."""

from __future__ import annotations

import math
import pickle

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import onesided as od
from onesided.errors import ConditionError, DataError, PolicyError, UnprotectableError
from onesided.policy import Predicate

# Older versions of DuckDB close a relation's connection when nobody else holds it.
CONNECTION = duckdb.connect()


def test_rows_of_kinds_that_no_rule_tells_apart_are_never_published() -> None:
    protected = od.policy.local(["no", "yes"], sensitive=["yes"])
    session = od.Session(pl.DataFrame({"v": ["yes", "no"]}), policy=protected, budget=50)
    with pytest.raises(UnprotectableError, match="tells its kinds"):
        session.sample(epsilon=40)
    assert session.remaining == {"yes -> no": 50}


def words(frame) -> bytes:
    """Everything that a frame carries, as bytes."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    return pickle.dumps(frame) if isinstance(frame, pl.DataFrame) else str(frame.types).encode()


@pytest.mark.parametrize("unit", ["person", None])
@pytest.mark.parametrize("kind", ["duckdb", "polars", "lazy"])
def test_lists_of_words_do_not_name_suppressed_rows(unit, kind) -> None:
    names = [f"name-{i:02}" for i in range(20)]
    columns = {"person": list(range(20)), "age": [3 if i == 7 else 30 for i in range(20)]}
    if kind == "duckdb":
        data = CONNECTION.from_df(pd.DataFrame({**columns, "name": pd.Categorical(names)}))
    else:
        data = pl.DataFrame({**columns, "name": pl.Series(names, dtype=pl.Enum(names))})
        data = data.lazy() if kind == "lazy" else data
    protected = od.policy.sensitive("age < 18 or name = 'name-07'")
    release = od.Session(data, unit=unit, policy=protected, budget=99).sample(epsilon=60)
    assert b"name-07" not in words(release.frame)
    assert release.total("age").estimate == pytest.approx(19 * 30)


def test_words_in_nested_lists_are_refused() -> None:
    data = pl.DataFrame({"a": [1], "n": [["x"]]}, schema_overrides={"n": pl.List(pl.Enum(["x"]))})
    nested = duckdb.sql("SELECT 1 AS a, ['x'::ENUM('x', 'y')] AS n")
    for made in (data, nested):
        with pytest.raises(DataError, match="'n' holds"):
            od.Session(made, policy=od.policy.sensitive("a < 0"), budget=9).sample(epsilon=1)


@pytest.mark.parametrize(
    "person", ["(i // 2)::INTEGER", "(i // 2 - 9)::BIGINT * 1000000000000", "'p' || (i // 2)"]
)
def test_the_order_of_rows_does_not_tell_how_many_were_left_out(person: str) -> None:
    # DuckDB's joins give stretches of 122,880 rows as threads come by them.
    con, rows = duckdb.connect(config={"threads": 4}), 300_000
    for left_out in (0, 1_000):
        con.execute(
            f"CREATE OR REPLACE TABLE t AS SELECT {person} AS person, i AS step, "
            f"CASE WHEN i < {left_out} THEN 3 ELSE 30 END AS age FROM range({rows}) r(i)"
        )
        for data in (con.table("t"), con.sql("SELECT * FROM t WHERE step <> 7 AND step % 1 = 0")):
            asked = od.Session(
                data, unit="person", policy=od.policy.sensitive("age < 18"), budget=99
            )
            found = asked.sample(epsilon=60).frame.fetchnumpy()["step"]
            assert rows - left_out - 2 <= found.size <= rows - left_out
            assert (np.diff(found) > 0).all()
            assert found[0] == left_out


@pytest.mark.parametrize("kind", ["TINYINT", "UBIGINT", "BIGINT"])
def test_units_at_the_ends_of_their_type_are_told_apart(kind: str) -> None:
    ends = {"TINYINT": (-128, 127), "UBIGINT": (0, 2**64 - 1), "BIGINT": (-(2**63), 2**63 - 1)}
    low, high = ends[kind]
    units = [low, low + 1, high - 1, high]
    for open_ones in ([low], [high], [low + 1, high - 1], [low, high], units, []):
        rows = ", ".join(f"(CAST({u} AS {kind}), {30 if u in open_ones else 3})" for u in units)
        data = CONNECTION.sql(f"SELECT * FROM (VALUES {rows}) t(person, age)")
        asked = od.Session(data, unit="person", policy=od.policy.sensitive("age < 18"), budget=99)
        assert [row[0] for row in asked.sample(epsilon=60).frame.fetchall()] == open_ones


def carried(frame) -> bytes:
    """What a frame carries, in memory too."""
    if isinstance(frame, pl.DataFrame):
        return pickle.dumps([column.flags for column in frame]) + pickle.dumps(frame)
    columns = [frame[name] for name in ("n", "t")]
    held = [pa.chunked_array(pa.array(c.array)) if hasattr(c, "array") else c for c in columns]
    masks = [part.buffers()[0] is None for column in held for part in column.chunks]
    return pickle.dumps((masks, [len(part) for column in held for part in column.chunks]))


@pytest.mark.parametrize("unit", ["person", None])
@pytest.mark.parametrize(
    "made",
    [
        pa.table,
        lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
        lambda columns: pd.DataFrame(columns).astype({"n": "Int64", "t": "string[pyarrow]"}),
        # As concat has it: said to be sorted if all of it is.
        lambda columns: pl.concat(
            [
                pl.DataFrame(columns)[at : at + 1].with_columns(pl.col("n").set_sorted())
                for at in range(9)
            ]
        ),
    ],
    ids=["pyarrow", "pandas-arrow", "pandas-string", "polars"],
)
def test_masks_and_marks_do_not_tell_of_rows_left_out(made, unit) -> None:
    """Tables of the same open rows, with others between: what is returned must not differ."""
    kept = {
        "person": [1, 2, 3, 4, 5, 6],
        "age": [30] * 6,
        "n": [1, 2, 3, 4, 5, 6],
        "t": list("abcdef"),
    }
    seen = set()
    for others in ({}, {"n": 9, "t": "x"}, {"n": None, "t": None}):
        columns = {name: list(values) for name, values in kept.items()}
        if others:
            for name, value in {"person": 9, "age": 3, **others}.items():
                columns[name].insert(2, value)
        asked = od.Session(
            made(columns), unit=unit, policy=od.policy.sensitive("age < 18"), budget=99
        )
        seen.add(carried(asked.sample(epsilon=60).frame))
    assert len(seen) == 1


def test_runs_are_read_as_their_values_and_written_anew() -> None:
    table = pa.table({"age": [30, 3], "r": pc.run_end_encode(pa.array(["a", "b"]))})
    for data in (table, table.to_pandas(types_mapper=pd.ArrowDtype)):
        asked = od.Session(data, policy=od.policy.sensitive("age < 18"), budget=99)
        frame = asked.sample(epsilon=60).frame
        assert list(map(str, frame["r"])) == ["a"]


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NFC", None])
def test_keys_are_told_apart_by_their_bytes_whatever_the_collation(collation) -> None:
    # By the caller's collation the engine would show the first spelling, and so somebody's own.
    con = duckdb.connect()
    if collation is None:
        con.execute("SET default_collation = 'nocase'")
    kind = f"VARCHAR COLLATE {collation}" if collation else "VARCHAR"
    con.execute(f"CREATE TABLE t (person INTEGER, k {kind}, day INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 'Abc', 1), (2, 'aBC', 1)")
    session = od.Session(
        con.table("t"), unit="person", policy=od.policy.sensitive("day < 0"), budget=99
    )
    assert session.discover(by="k", epsilon=60, max_groups=1).labels == ["Abc", "aBC"]
    found = session.ngrams(by="k", order="day", n=1, epsilon=30, max_groups=1)
    assert found.labels == ["Abc", "aBC"]


def test_a_row_is_not_counted_in_two_spellings_of_one_key() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t (k VARCHAR COLLATE NOCASE)")
    con.execute("INSERT INTO t VALUES ('Abc'), ('aBC'), ('abc')")
    session = od.Session(con.table("t"), policy=od.policy.unbounded(), budget=99)
    told = session.count(by="k", keys=["abc", "Abc"], epsilon=60)
    assert told.estimate.tolist() == [1, 1]


@pytest.mark.parametrize(
    "text",
    [
        """ "o'clock" > avg("o'clock") """,
        """ "a--b" > avg("a--b") """,
        """ "a/*b" > avg("a*/b") """,
        """ `o'clock` > avg(`o'clock`) """,
        """ n = E'a\\'' or age > avg(age) over () or n = '' """,
        """ n = e'a\\'' or age > avg(age) over () or n = '' """,
        """ n = U&'a' or age > 3 """,
        """ n = 'a or age > avg(age) """,
        """ '"' = n or age > avg(age) or n = '"' """,
        """ 'a' '--' = n or age > avg(age) """,
        """ '/*' = n or age > avg(age) or n = '*/' """,
    ],
)
def test_names_and_text_do_not_hide_functions_of_other_rows(text) -> None:
    with pytest.raises(ConditionError):
        od.policy.sensitive(text)


@pytest.mark.parametrize(
    "text",
    [
        """ "o'clock" > 3 and n = 'it''s -- /* fine */ "really"' """,
        """ "a--b" > 3
        and n in ('a', 'b') """,
        """ date '2020-01-01' < day or DATE'2020-01-01' < day """,
        """ n <> 'x' or n like 'a%' """,
    ],
)
def test_plain_comparisons_may_hold_quotes_and_dashes(text) -> None:
    Predicate.of(text)


@pytest.mark.parametrize("text", ["s.x < 18", "l[1] < 18", "m['x'] < 18", "u.a < 18"])
def test_nan_within_a_nested_column_is_refused_for_it_would_count_as_open(text) -> None:
    data = duckdb.sql(
        "SELECT {'x': 'nan'::DOUBLE} AS s, ['nan'::DOUBLE] AS l, map {'x': 'nan'::DOUBLE} AS m, "
        "union_value(a := 'nan'::DOUBLE) AS u, 30 AS age"
    )
    with pytest.raises(PolicyError, match="not in the language"):
        od.policy.sensitive(text)
    with pytest.raises(DataError, match=f"looks into {text[0]}, which holds"):
        od.Session(data, policy=od.policy.sensitive(f"{text[0]} IS NULL"), budget=99)
    other = od.Session(data, policy=od.policy.sensitive("age < 18"), budget=99)
    assert other.count(epsilon=60).estimate.size == 1


@pytest.mark.parametrize("text", ["m['x'] < 18", "d < 18"])
@pytest.mark.parametrize("of_pandas", [False, True])
def test_nan_in_maps_and_dictionaries_of_arrow_is_not_known(text, of_pandas) -> None:
    maps = pa.array([[("x", math.nan)]], pa.map_(pa.string(), pa.float64()))
    data = pa.table({"m": maps, "d": pa.array([math.nan]).dictionary_encode()})
    held = data.to_pandas(types_mapper=pd.ArrowDtype) if of_pandas else data
    if text == "d < 18":  # decoded to its values, where NaN is unknown
        asked = od.Session(held, policy=od.policy.sensitive(text), budget=99)
        assert asked.count(epsilon=60, counted="open").interval.upper.tolist() == [0]
        return
    with pytest.raises(PolicyError, match="not in the language"):
        od.policy.sensitive(text)
    with pytest.raises(DataError, match="looks into m, which holds"):
        od.Session(held, policy=od.policy.sensitive("m IS NULL"), budget=99)


def test_conditions_read_pandas_tables_with_moments_of_arrow() -> None:
    moments = pd.Series(pd.to_datetime(["2020-01-01"])).astype("timestamp[us][pyarrow]")
    data = pd.DataFrame({"at": moments, "age": [30]})
    asked = od.Session(data, policy=od.policy.sensitive("age < 18"), budget=99)
    assert asked.sample(epsilon=60).units == {"open": 1}


@pytest.mark.parametrize("times", ["{}::TIMETZ", "[{}::TIMETZ]"])
def test_people_told_apart_by_a_time_zone_are_refused(times: str) -> None:
    # Arrow lost the zone, and rows of the protected 10:00+00 came with the open 10:00+01.
    hours = [times.format(f"'10:00:00+{zone}'") for zone in ("00", "01")]
    data = duckdb.sql(f"SELECT {hours[0]} AS t, 3 AS age UNION ALL SELECT {hours[1]}, 30")
    with pytest.raises(DataError, match="of which nothing can be asked"):
        od.Session(data, unit="t", policy=od.policy.sensitive("age < 18"), budget=99)
    asked = od.Session(data, policy=od.policy.sensitive("age < 18"), budget=99)
    with pytest.raises(DataError, match="TIME WITH TIME ZONE"):
        asked.sample(epsilon=60)
    assert asked.spent == dict.fromkeys(asked.spent, 0)
