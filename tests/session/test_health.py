"""The data's health before anything is spent."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import onesided as od
from onesided.session import health_of

ROWS = {
    "person": ["1", "01", "1.0", "NULL", "NULL", "NULL"],
    "place": ["a", "a", "z", "a", "b", None],
    "cost": ["1.234,5", "3,5", "7", "", "8", "9"],
    "day": ["16/04/2025", "02/04/2025", *["01/04/2025"] * 4],
}
COLUMNS = {
    "place": od.column("text", keys=["a", "b"]),
    "cost": od.column("number", bounds=(0, 8), missing=[""]),
    "day": od.column("date"),
}
SCHEMA = od.Schema(unit="person", columns=COLUMNS)
MAKE = {
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "pandas": pd.DataFrame,
    "duckdb": lambda columns: duckdb.connect().from_arrow(pa.table(columns)),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_a_table_that_would_be_refused_is_described(make):
    health = health_of(make(ROWS), SCHEMA, max_groups=1)
    place, cost, day, person = health.columns
    assert (health.rows, health.without_unit, health.ok) == (6, 0, False)
    assert health.largest[0] == ("NULL", 3)
    assert health.alike == (("01", "1", "1.0"),)
    assert (place.missing, place.outside_keys, place.most, place.over) == (1, 1, 2, 1)
    assert (cost.missing, cost.unreadable, cost.examples[0]) == (1, 2, "row 1 ('1.234,5')")
    assert cost.proposal == 'decimal = ","\nthousands = "."'
    assert cost.outside_bounds == 1
    assert (day.unreadable, day.proposal) == (6, 'date = "%d/%m/%Y"')
    assert person.type == "String"
    (why,) = health.refused
    assert "2 values of the column 'cost' cannot be read as number" in why
    told = str(health)
    assert told.startswith("For the curator alone, not for publication. Nothing was spent.")
    assert "'NULL' has 3 rows (50 %)" in told
    assert health.as_dict()["columns"][1]["unreadable"] == 2


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_units_that_a_number_would_make_one_are_unreadable(make):
    data = make({"person": ["7", "07", "7"]})
    schema = od.Schema(unit="person", columns={"person": od.column("integer")})
    health = health_of(data, schema)
    (person,) = health.columns
    assert (person.unreadable, person.proposal) == (1, "")
    assert "'07'). Units have one text each: 7, not 07 or +7." in health.refused[0]
    with pytest.raises(od.errors.DataError, match="Units have one text each"):
        od.Session(data, schema=schema, policy=od.policy.addition_only(), budget=1)


def test_what_is_proposed_is_read():
    text = SCHEMA.to_toml()
    for one in health_of(pl.DataFrame(ROWS), SCHEMA).columns:
        header = f"[columns.{one.name}]\n"
        text = text.replace(header, f"{header}{one.proposal}\n")
    mended = health_of(pl.DataFrame(ROWS), od.Schema.from_toml(text))
    assert mended.ok
    assert not any(one.unreadable for one in mended.columns)


@pytest.mark.parametrize(
    ("kind", "texts", "proposal"),
    [
        ("date", ["01/02/2024", "03/04/2024"], ""),  # two forms read it, and not alike
        ("date", ["13/02/2024", "03/04/2024"], 'date = "%d/%m/%Y"'),
        ("date", ["13/02/2024", "03.04.2024"], ""),
        ("date", ["02/02/2024"], ""),
        ("number", ["1,5", "2"], 'decimal = ","'),
        ("number", ["1,200", "3,400", "15"], ""),
        ("integer", ["1,200", "3,400", "15"], 'thousands = ","'),
        ("integer", ["1.200", "3.400", "15"], 'thousands = "."'),
        ("integer", ["31.0", "40.0"], ""),
        ("boolean", ["ja", "nein"], 'true = ["ja"]\nfalse = ["nein"]'),
        ("boolean", ["si", "no"], 'true = ["si"]\nfalse = ["no"]'),
        ("boolean", ["no"], ""),  # of two languages; what the other word is nobody knows
        ("boolean", ["ja", "vielleicht"], ""),
        ("integer", ["1", "n/a", "-"], 'missing = ["-", "n/a"]'),
        ("datetime", ["13.2.2024 7:30"], 'date = "%d.%m.%Y %H:%M"'),
    ],
)
def test_a_form_is_proposed_where_one_alone_reads_everything(kind, texts, proposal):
    schema = od.Schema(columns={"x": od.column(kind)})
    (column,) = health_of(pl.DataFrame({"x": texts}), schema).columns
    assert column.proposal == proposal


def test_a_session_tells_its_own_and_spends_nothing():
    schema = od.Schema(unit="person", columns=COLUMNS, unreadable="missing", missing_unit="drop")
    rows = {**ROWS, "person": ["", None, *ROWS["person"][2:]]}
    policy = od.policy.presence(max_groups=1)
    session = od.Session(pl.DataFrame(rows), schema=schema, policy=policy, budget=1)
    health = session.inspect()
    assert (health.ok, health.rows, health.without_unit) == (True, 6, 2)
    assert health.columns[0].over == 1
    assert not any(session.spent.values())
    assert not session.ledger.entries()


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        (np.array([1.0, 2.0]), "holds Float64"),
        (["1", None], "1 row has no value in the unit column"),
        (["1", ""], "1 row has an empty text in the unit column"),
    ],
    ids=str,
)
def test_units_that_would_be_refused_are_said(ids, why):
    health = health_of(pl.DataFrame({"person": ids}), None, unit="person")
    assert any(why in one for one in health.refused)


def test_objects_are_said_by_their_column():
    rows = pd.DataFrame({"person": ["1", "2"], "x": pd.Series(["1", 2], dtype=object)})
    (_, x) = health_of(rows, None, unit="person").columns
    assert "no text (int)" in x.type
    schema = od.Schema(unit="person", columns={"x": od.column("integer")})
    x, _ = health_of(rows, schema).columns
    assert (x.unreadable, x.examples, x.proposal) == (1, ("row 2 (2)",), "")
    with pytest.raises(od.errors.UnknownColumnError):
        health_of(rows, None, unit="nobody")
