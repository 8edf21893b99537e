"""Sessions with a schema: its unit, types, bounds and keys, and what a ledger keeps of it."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import onesided as od
from onesided.errors import (
    KeysError,
    ParameterError,
    ReleaseExistsError,
    SchemaError,
    UnknownColumnError,
)
from onesided.session import Count, Mean, Quantile, Sum

ROWS = pl.DataFrame(
    {
        "person": ["1", "2", "2", "3"],
        "place": ["a", "b", "a", "c"],
        "age": ["7", "12", "x", "150"],
        "day": ["2020-01-01", "2020-01-01", "2020-01-02", "03/01/2020"],
    }
)
COLUMNS = {
    "place": od.column("text", keys=["a", "b", "c"]),
    "age": od.column("integer", bounds=(0, 110)),
    "day": od.column("date", keys=["2020-01-01", "2020-01-02"]),
}
SCHEMA = od.Schema(unit="person", columns=COLUMNS, unreadable="missing")
PRESENCE = od.policy.presence(max_groups=2)
SURE = 100  # no noise to speak of


def relation(columns):
    return duckdb.connect().from_arrow(pa.table(columns))


def session(schema=SCHEMA, rows=ROWS, **more):
    given = {"policy": PRESENCE, "budget": 10**6} | more
    return od.Session(rows, schema=schema, **given)


def test_the_unit_is_the_schemas():
    assert session().unit == session(unit="person").unit == "person"
    assert session(od.Schema(columns=COLUMNS, unreadable="missing")).unit is None
    assert session().schema is SCHEMA
    with pytest.raises(ParameterError, match="is not the schema's unit"):
        session(unit="place")


def test_keys_come_from_the_schema():
    made = session()
    assert made.count(by="place", epsilon=SURE).estimate.tolist() == [2, 1, 1]
    crossed = made.count(by=["place", "day"], epsilon=SURE)
    assert (
        crossed.keys
        == od.session.Count(
            by=["place", "day"],
            epsilon=1,
            keys=od.cross(place=["a", "b", "c"], day=COLUMNS["day"].keys),
        )
        .groups(made._context())
        .keys
    )
    assert crossed.estimate.tolist() == [1, 1, 1, 0, 0, 0]
    assert made.count(by="place", keys=["c"], epsilon=SURE).estimate.tolist() == [1]
    with pytest.raises(KeysError, match="needs public keys"):
        made.count(by="age", epsilon=1)


def test_bounds_come_from_the_schema_and_clip():
    made = session(policy=od.policy.addition_only())
    ask = {"epsilon": SURE, "missing": "drop"}
    rows = made.sum("age", of="rows", max_rows=1, **ask)
    assert rows.value == pytest.approx(7 + 12 + 110, abs=1)
    assert made.sum("age", of="units", total_bounds=(0, 10), **ask).value == pytest.approx(
        27, abs=1
    )
    assert made.mean("age", **ask).value == pytest.approx(43, abs=1)
    assert made.median("age", max_groups=1, **ask).value == 12
    assert made.histogram("age", bins=[0, 10, 111], **ask).estimate.tolist() == [1, 1]
    # One bin for each value, the highest among them.
    assert made.histogram("age", **ask).estimate.size == 111
    assert made.histogram("age", bins=3, **ask).estimate.tolist() == [2, 0, 0]
    assert made.ranges("age", [(0, 37)], bins=3, **ask).estimate.tolist() == pytest.approx(
        [2], abs=1
    )


def test_questions_ask_for_what_no_schema_says():
    made = session(
        od.Schema(unit="person", columns={"age": od.column("integer", unreadable="missing")})
    )
    for question, says in [
        (Sum("age", of="rows", max_rows=1, epsilon=1), "Within which bounds"),
        (Sum("age", of="units", epsilon=1), "Within which bounds"),
        (Mean("age", epsilon=1), "Within which bounds"),
        (Quantile("age", epsilon=1), "Which candidates"),
    ]:
        with pytest.raises(ParameterError, match=says):
            made.plan(question)


def test_values_outside_declared_bounds_are_not_trusted_by_conditions():
    made = session(policy=od.policy.sensitive("age > 110"))
    # The one of 150, and the one whose age cannot be read, are protected.
    assert made.count(by="place", epsilon=SURE, counted="open", max_groups=2).estimate.tolist() == [
        1,
        0,
        0,
    ]


def test_unreadable_text_is_unknown_and_told_to_the_curator_alone():
    facts = session().inspect(Count(by="place", epsilon=1))
    assert facts.unreadable == {"age": 1, "day": 1}
    assert session(None).inspect(Count(by="place", keys=["a"], epsilon=1)).unreadable == {}
    with pytest.raises(od.errors.DataError, match="1 row has no value in 'age'"):
        session().sum("age", of="rows", max_rows=1, epsilon=1)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (
            COLUMNS,
            r"1 value of the column 'age' cannot be read as integer: row 3 \('x'\)\. "
            r"1 value of the column 'day' cannot be read as date: row 4 \('03/01/2020'\)\.",
        ),
        ({"place": od.column("boolean")}, r"4 values .* row 1 \('a'\), row 2 \('b'\), row 3"),
        ({"place": od.column("text", missing=["c"], required=True)}, "1 row has no value in .*'pl"),
        (
            {"age": od.column("integer", unreadable="missing", required=True)},
            "1 row has no value in the column 'age', which the schema requires",
        ),
    ],
)
def test_rows_that_are_not_as_declared_are_refused_before_any_ledger(columns, says, tmp_path):
    path = tmp_path / "ledger.db"
    with pytest.raises(od.errors.DataError, match=says) as caught:
        session(od.Schema(unit="person", columns=columns), ledger=path)
    assert caught.value.hint
    assert not path.exists()


def test_every_answer_says_what_counts_as_missing():
    columns = COLUMNS | {"day": od.column("date", missing=["03/01/2020"])}
    columns["age"] = od.column("integer", bounds=(0, 110), unreadable="missing")
    made = session(od.Schema(unit="person", columns=columns))
    caveat = "Values of 'age' that could not be read as declared count as missing."
    for release in (made.count(by="place", epsilon=1), made.mean("age", missing="drop", epsilon=1)):
        assert release.warnings[0].startswith(caveat)
        assert caveat in release.guarantee.about
        assert caveat in str(release)


IDS = {"person": ["1", "", None, "2"], "place": ["a", "a", "a", "b"]}


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame, pa.table, pd.DataFrame, relation])
def test_rows_of_nobody_are_refused_or_left_out(make, tmp_path):
    path, one = tmp_path / "ledger.db", {"person": IDS["person"][:2], "place": ["a", "b"]}
    for rows, says in ((IDS, "1 row has no value in the unit"), (one, "1 row has an empty text")):
        with pytest.raises(od.errors.DataError, match=says) as caught:
            session(None, make(rows), unit="person", ledger=path)
        assert 'missing_unit = "drop"' in caught.value.hint
    assert not path.exists()
    schema = od.Schema(unit="person", missing_unit="drop")
    release = session(schema, make(IDS)).count(by="place", keys=["a", "b"], epsilon=SURE)
    assert release.estimate.tolist() == [1, 1]
    assert release.warnings[:1] == (
        "Rows without a value of 'person' were left out. Rows without a value of 'place' are in no "
        "group. A certain upper bound is about rows with a value of 'place'.",
    )


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame, pa.table, pd.DataFrame, relation])
def test_rows_of_nobody_are_in_no_sample_and_no_table_made_of_theirs(make):
    schema = od.Schema(unit="c1", columns={"^c0$": od.column("text")}, missing_unit="drop")
    rows = make({"^c0$": ["a", "b", "a", "b"], "c1": ["1", "", None, "2"]})
    made = session(schema, rows, policy=od.policy.sensitive("\"^c0$\" = 'b'"))
    sampled = made.sample(epsilon=SURE)
    assert sampled.units.get("open", 0) == 1
    people = session(schema, rows, policy=od.policy.addition_only()).per_unit(visits="count")
    assert people.count(epsilon=SURE).value == 2


@pytest.mark.parametrize(("came", "says"), [("''", "an empty text"), ("NULL", "no value")])
def test_rows_of_nobody_that_came_since_are_refused_before_the_charge(came, says):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT '1' AS person, 'a' AS place")
    made = session(None, connection.table("t"), unit="person")
    ask = {"by": "place", "keys": ["a"], "epsilon": SURE}
    assert made.count(**ask).estimate.tolist() == [1]
    before = made.spent
    connection.execute(f"INSERT INTO t VALUES ({came}, 'a')")
    with pytest.raises(od.errors.DataError, match=f"1 row has {says} in the unit"):
        made.count(**ask)
    assert made.spent == before


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame, relation])
def test_words_for_no_value_hold_for_a_unit_that_is_not_declared(make):
    rows = make({"person": ["1", "NULL", "NULL", "2"], "place": ["a", "a", "b", "NULL"]})
    schema = od.Schema(unit="person", columns={"place": od.column("text")}, missing=["NULL"])
    with pytest.raises(od.errors.DataError, match="2 rows have no value in the unit"):
        session(schema, rows)
    schema = od.Schema(unit="person", columns=schema.columns, missing=["NULL"], missing_unit="drop")
    release = session(schema, rows).count(by="place", keys=["a", "NULL"], epsilon=SURE)
    assert release.estimate.tolist() == [1, 0]


def test_a_warehouse_is_held_to_a_schema_too(postgres_table):
    rows = postgres_table(
        {"person": ["1", "NA", "7", "07"], "place": ["a", "NA", "b", "b"], "age": [3, 4, None, 200]}
    )
    age = od.column("integer", bounds=(0, 110))
    columns = {"place": od.column("text", keys=["a", "b"]), "age": age}
    schema = od.Schema(unit="person", columns=columns, missing=["NA"], missing_unit="drop")
    made = session(schema, rows)
    assert made.count(by="place", epsilon=SURE).estimate.tolist() == [1, 2]
    health = made.inspect()
    assert (health.without_unit, health.alike) == (1, (("07", "7"),))
    assert (health.columns[0].missing, health.columns[1].outside_bounds) == (1, 1)
    for column, says in (("age", "1 row has no value"), ("place", "1 row has no value")):
        required = {column: od.column("integer" if column == "age" else "text", required=True)}
        with pytest.raises(od.errors.DataError, match=says):
            session(od.Schema(unit="person", columns=required, missing=["NA"]), rows)


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame, relation])
@pytest.mark.parametrize("value", [7.0, np.float32(7), float("nan")])
def test_floats_tell_nobody_apart(make, value, tmp_path):
    rows = make({"person": np.array([value, value]), "place": ["a", "b"]})
    with pytest.raises(od.errors.DataError, match=r"'person' holds Float.* rounded") as caught:
        session(None, rows, unit="person", ledger=tmp_path / "ledger.db")
    assert "integer or text" in caught.value.hint
    with pytest.raises(KeysError, match=r"'person' holds Float.*, which cannot be grouped by"):
        session(None, rows).count(by="person", keys=[7.0], epsilon=1)
    assert not (tmp_path / "ledger.db").exists()


def test_ids_are_told_apart_byte_by_byte():
    ids = ["7", "07", "7.0", "\uff17", "é", "e\u0301", " 7", "7 "]
    for make in (pl.DataFrame, pa.table, pd.DataFrame, relation):
        made = session(None, make({"person": ids, "place": ["a"] * len(ids)}), unit="person")
        assert made.count(epsilon=SURE).estimate.tolist() == [len(ids)]


def test_the_ledger_says_which_schema_it_was():
    made = session()
    entry = made.count(by="place", epsilon=1).entry
    assert made.ledger.entry(entry).detail["schema"] == SCHEMA.identity
    made = session(None, unit="person")
    entry = made.count(by="place", keys=["a"], epsilon=1).entry
    assert "schema" not in made.ledger.entry(entry).detail


def test_an_answer_is_told_again_under_its_own_schema_alone(tmp_path):
    path = tmp_path / "ledger.db"
    ask = {"by": "place", "epsilon": 1, "id": "monday"}
    first = session(ledger=path).count(**ask)
    age = od.column("integer", bounds=(0, 110), about="!")
    words = od.Schema(unit="person", columns=COLUMNS | {"age": age}, unreadable="missing")
    again = session(words, ledger=path).count(again=True, **ask)
    assert again.told_again
    assert again.noisy.tolist() == first.noisy.tolist()
    # Named by the caller, the same keys are the same question.
    assert session(ledger=path).count(again=True, keys=["a", "b", "c"], **ask).told_again
    other = od.Schema(
        unit="person", columns=COLUMNS | {"age": od.column("text")}, unreadable="missing"
    )
    with pytest.raises(ReleaseExistsError, match="another question"):
        session(other, ledger=path).count(again=True, **ask)
    with pytest.raises(ReleaseExistsError, match="another question"):
        session(None, unit="person", ledger=path).count(again=True, keys=["a", "b", "c"], **ask)


def test_a_step_of_1_and_none_are_the_same_question(tmp_path):
    path = tmp_path / "ledger.db"
    ask = {"epsilon": 1, "of": "units", "total_bounds": (0, 9), "id": "sum"}
    rows = pl.DataFrame({"person": [1], "age": [3]})
    policy = od.policy.addition_only()
    for step in ({}, {"step": 1}, {"step": "1"}):
        made = session(None, rows, unit="person", ledger=path, policy=policy)
        assert made.sum("age", again=True, **step, **ask).told_again == bool(step)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_keys_stand_in_a_file_beside_the_schema(kind, tmp_path, monkeypatch):
    keys = pl.DataFrame({"place": ["a", "c"], "latitude": [1.5, 2.5]})
    getattr(keys, f"write_{kind}")(tmp_path / f"places.{kind}")
    path = tmp_path / "v.schema.toml"
    path.write_text(f'[columns.place]\ntype = "text"\nkeys = "places.{kind}"\n')
    monkeypatch.chdir("/")
    made = session(path, unit="person")
    assert made.count(by="place", epsilon=SURE).estimate.tolist() == [2, 1]
    (tmp_path / f"places.{kind}").unlink()
    assert made.count(by="place", epsilon=SURE).estimate.tolist() == [2, 1]  # read once
    with pytest.raises(KeysError, match="There is no file of keys"):
        session(path, unit="person").count(by="place", epsilon=1)


@pytest.mark.parametrize(
    ("kind", "text", "error", "says"),
    [
        ("integer", "x\n7\n7.5\n", KeysError, "Line 3 .* no key of type integer"),
        ("integer", "x\n", KeysError, "empty"),
        ("date", "x\n2008-02-30\n", KeysError, "Line 2"),
        ("text", "y\na\n", UnknownColumnError, "no column 'x'"),
        ("text", "x,y\na\n", KeysError, "Line 2|line 2"),
        ("text", 'x\n"a\n', KeysError, "line"),
        ("text", "x\na\na\n", KeysError, "given twice"),
        ("text", "x\n\xe9\n", od.errors.DataError, "byte|Byte 0xE9"),
    ],
)
def test_a_file_of_keys_is_read_strictly(kind, text, error, says, tmp_path):
    (tmp_path / "k.csv").write_bytes(text.encode("latin-1"))
    schema = od.Schema(columns={"x": od.column(kind, keys="k.csv")}, folder=tmp_path)
    with pytest.raises(error, match=says) as caught:
        session(schema, pl.DataFrame({"x": [None]})).count(by="x", epsilon=1)
    assert caught.value.hint


def test_what_is_no_schema_is_refused():
    with pytest.raises(SchemaError, match="must be a Schema"):
        session(3)
    with pytest.raises(SchemaError, match="Cannot read the schema"):
        session("nowhere.toml")
    with pytest.raises(UnknownColumnError, match="which the table does not have"):
        session(rows=ROWS.drop("age"))


def test_lists_of_keys_for_several_columns_name_cross():
    with pytest.raises(KeysError) as caught:
        session().count(by=["place", "day"], keys={"place": ["a", "b"], "day": [1]}, epsilon=1)
    assert "onesided.cross(place=..., day=...)" in caught.value.hint


def test_an_account_protects_units_read_in_one_way(tmp_path):
    """As text 7 and 07 are two people, as numbers 07 is none: charges of both do not add up."""
    columns = COLUMNS | {"person": od.column("integer")}
    path, numbers = (
        tmp_path / "ledger.db",
        od.Schema(unit="person", columns=columns, unreadable="missing"),
    )
    session(numbers, ledger=path).count(by="place", epsilon=1)
    session(numbers, ledger=path).count(by="place", epsilon=1)
    with pytest.raises(od.errors.PolicyMismatchError, match="'person' read as integer"):
        session(ledger=path)
    typed = ROWS.with_columns(pl.col("person").cast(pl.Int64))
    # A schema beside a typed table reads nothing anew.
    other = tmp_path / "typed.db"
    session(None, typed, unit="person", ledger=other).count(by="place", keys=["a"], epsilon=1)
    session(numbers, typed, ledger=other).count(by="place", epsilon=1)


@pytest.mark.xdist_group("spark")
def test_spark_reads_by_a_schema_too(spark):
    rows = spark.createDataFrame(
        ROWS.rows(), "person string, place string, age string, day string"
    ).cache()
    numbers = od.Schema(
        unit="person", columns=COLUMNS | {"person": od.column("integer")}, unreadable="missing"
    )
    made = session(numbers, rows, policy=od.policy.sensitive("age > 110"))
    ask = {"by": "place", "epsilon": SURE, "max_groups": 2}
    assert made.inspect(Count(**ask)).unreadable == {"age": 1, "day": 1}
    late = made.count(where="day >= DATE '2020-01-01'", **ask)
    assert [row.estimate for row in late.frame.orderBy("place").collect()] == [2, 1, 0]
    assert [row.person for row in made.sample(epsilon=SURE).frame.collect()] == [1]
