"""Attacks on samples and on counts whose keys nobody listed."""

from __future__ import annotations

import pickle

import duckdb
import pandas as pd
import polars as pl
import pytest

import onesided as od
from onesided.errors import DataError, PolicyError, UnprotectableError

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


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NFC", None])
def test_keys_are_not_found_where_words_that_differ_are_equal(collation) -> None:
    # The engine would show the first spelling, and so somebody's own.
    con = duckdb.connect()
    if collation is None:
        con.execute("SET default_collation = 'nocase'")
    kind = f"VARCHAR COLLATE {collation}" if collation else "VARCHAR"
    con.execute(f"CREATE TABLE t (person INTEGER, k {kind}, day INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 'Abc', 1), (2, 'aBC', 1)")
    session = od.Session(
        con.table("t"), unit="person", policy=od.policy.sensitive("day < 0"), budget=99
    )
    with pytest.raises(DataError, match="collation"):
        session.discover(by="k", epsilon=60, max_groups=1)
    with pytest.raises(DataError, match="collation"):
        session.ngrams(by="k", order="day", n=1, epsilon=1, max_groups=1)
    fixed = con.sql('SELECT person, k COLLATE "binary" AS k, day FROM t')
    session = od.Session(fixed, unit="person", policy=od.policy.sensitive("day < 0"), budget=99)
    assert len(session.discover(by="k", epsilon=60, max_groups=1)) == 2


def test_a_row_is_not_counted_in_two_spellings_of_one_key() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t (k VARCHAR COLLATE NOCASE)")
    con.execute("INSERT INTO t VALUES ('Abc'), ('aBC'), ('abc')")
    session = od.Session(con.table("t"), policy=od.policy.unbounded(), budget=99)
    with pytest.raises(DataError, match="collation"):
        session.count(by="k", keys=["abc", "Abc"], epsilon=60)


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
    data = pl.DataFrame({"age": [1, 2], "n": ["x", "y"], "o'clock": [1, 2], "a--b": [1, 2]})
    with pytest.raises(PolicyError, match="one row"):
        od.Session(data, policy=od.policy.sensitive(text), budget=9)


@pytest.mark.parametrize(
    "text",
    [
        """ "o'clock" > 3 and n = 'it''s -- /* fine */ "really"' """,
        """ "a--b" > 3
        and n in ('a', 'b') """,
        """ date '2020-01-01' < day or DATE'2020-01-01' < day """,
        """ n is distinct from 'x' or n like 'a%' """,
    ],
)
def test_plain_comparisons_may_hold_quotes_and_dashes(text) -> None:
    policy = od.policy.sensitive(text)
    asked = od.Session(pl.DataFrame({"n": ["x"]}), policy=policy, budget=9)
    assert asked.policy.rules[0].predicates[0].text.strip() == text.strip()


@pytest.mark.parametrize("text", ["s.x < 18", "l[1] < 18"])
def test_nan_within_a_nested_column_is_refused_for_it_would_count_as_open(text) -> None:
    data = duckdb.sql("SELECT {'x': 'nan'::DOUBLE} AS s, ['nan'::DOUBLE] AS l, 30 AS age")
    session = od.Session(data, policy=od.policy.sensitive(text), budget=99)
    with pytest.raises(DataError, match="NaN would count as known"):
        session.sample(epsilon=60)
    other = od.Session(data, policy=od.policy.sensitive("age < 18"), budget=99)
    assert other.count(epsilon=60).estimate.size == 1


def test_conditions_read_pandas_tables_with_moments_of_arrow() -> None:
    moments = pd.Series(pd.to_datetime(["2020-01-01"])).astype("timestamp[us][pyarrow]")
    data = pd.DataFrame({"at": moments, "age": [30]})
    asked = od.Session(data, policy=od.policy.sensitive("age < 18"), budget=99)
    assert asked.sample(epsilon=60).units == {"open": 1}
