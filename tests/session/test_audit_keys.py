"""Keys that engines once took for one another, and conditions that once looked at other rows."""

import datetime as dt
from decimal import Decimal

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import onesided as od
from onesided import errors

NEW_YEAR = dt.datetime(2024, 1, 1)  # noqa: DTZ001 - a column without a zone
CONNECTION = duckdb.connect()
TABLES = {
    "polars": pl.from_arrow,
    "polars-lazy": lambda table: pl.from_arrow(table).lazy(),
    "pandas": lambda table: table.to_pandas(),
    "pandas-arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pyarrow": lambda table: table,
    "duckdb": CONNECTION.from_arrow,
}


@pytest.fixture(params=TABLES)
def made(request):
    return TABLES[request.param]


def secret(data, question, policy=None, unit=None):
    session = od.Session(data, policy=policy or od.policy.addition_only(), unit=unit, budget=9)
    return question.prepare(session._context()).read().tolist()


def by_key(data, keys, **more):
    return secret(data, od.Count(by="p", keys=keys, epsilon=1), **more)


def where(data, condition):
    return secret(data, od.Count(epsilon=1, where=condition))[0]


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_keys_finer_than_their_column_never_become_one_key(made, unit):
    """Both were rounded to the same moment, and each row was counted twice at the price of once."""
    data = made(pa.table({"p": pa.array([NEW_YEAR], pa.timestamp(unit))}))
    with pytest.raises(errors.KeysError, match="could never match"):
        by_key(data, [NEW_YEAR, NEW_YEAR.replace(microsecond=1)])
    later = NEW_YEAR.replace(second=1)
    assert by_key(data, [NEW_YEAR, later]) == [1, 0]


def test_keys_of_nanoseconds_are_refused_for_python_has_none(made):
    data = made(pa.table({"p": pa.array([NEW_YEAR], pa.timestamp("ns"))}))
    with pytest.raises(errors.KeysError, match="could never match"):
        by_key(data, [pd.Timestamp(NEW_YEAR), pd.Timestamp(NEW_YEAR) + pd.Timedelta(1)])


def test_large_and_small_whole_numbers_stay_whole_beside_each_other(made):
    """As floats 2^63 and 2^63 + 1 are one number; PyArrow knew neither."""
    data = made(pa.table({"p": pa.array([2**63, 1], pa.uint64())}))
    assert by_key(data, [1, 2**63, 2**63 + 1]) == [1, 1, 0]


@pytest.mark.parametrize("keys", [[2**63, 2**63 + 1, -1], [2**64 - 1, 2**64 - 2, -1]], ids=str)
def test_the_widest_whole_numbers_stay_whole(keys):
    for data in (
        pl.DataFrame({"p": [2**63, 2**64]}, schema={"p": pl.Int128}),
        CONNECTION.sql(f"select * from (values ({2**63}::hugeint), ({2**64})) t(p)"),
    ):
        assert by_key(data, keys) == [int(2**63 in keys), 0, 0]


@pytest.mark.parametrize(("kind", "key"), [(pa.int64(), 2**63), (pa.uint64(), -1)], ids=str)
def test_keys_that_would_wrap_around_are_refused(made, kind, key):
    """pandas found the rows of -2^63 under the key 2^63."""
    data = made(pa.table({"p": pa.array([key % 2**63, 1], kind)}))
    with pytest.raises(errors.KeysError, match="could never match"):
        by_key(data, [key])


def test_objects_are_looked_at_beyond_the_first_hundred():
    """The text "1" and the number 1 were one group, and a person in both was counted twice."""
    data = pd.DataFrame({"u": 7, "p": pd.Series(["a"] * 100 + ["1", 1], dtype=object)})
    with pytest.raises(errors.DataError, match="no text"):
        by_key(data, ["1"], policy=od.policy.presence(max_groups=1), unit="u")
    categories = pd.DataFrame({"u": 7, "p": pd.Categorical(["1", 1])})
    with pytest.raises(errors.DataError, match="categories of"):
        by_key(categories, ["1"], policy=od.policy.presence(max_groups=1), unit="u")
    assert by_key(pd.DataFrame({"p": pd.Categorical([1, 2])}), [1, 3]) == [1, 0]


MOMENT = dt.datetime(2008, 6, 30, 13)  # noqa: DTZ001 - the clock of the place


@pytest.mark.parametrize(
    "values",
    [
        [MOMENT, MOMENT.date()],
        [dt.time(1), dt.time(1, tzinfo=dt.UTC)],
        [pd.Timestamp(1), pd.Timestamp(2)],
        [Decimal("1.5"), "2"],
        [True, None],
        ["1", 1],
    ],
    ids=str,
)
def test_no_object_decides_how_another_is_read(values):
    """One date turned everybody's moments into days, and moments of a nanosecond were one."""
    rows = pd.DataFrame({"u": ["1", "2"], "x": pd.Series(values, dtype=object)})
    policy = od.policy.presence(max_groups=1)
    for more in ({"unit": "x"}, {"unit": "u", "policy": od.policy.sensitive("x IS NULL")}):
        with pytest.raises(errors.DataError, match="Python objects that are no text") as caught:
            od.Session(rows, **{"policy": policy, "budget": 1} | more)
    kinds = ("text", "datetime", "number")
    for kind in kinds:
        schema = od.Schema(columns={"x": od.column(kind)})
        with pytest.raises(errors.DataError, match=r"cannot be read as .*: row \d") as caught:
            od.Session(rows, unit="u", schema=schema, policy=policy, budget=1)
        assert 'astype("Int64")' in caught.value.hint
        schema = od.Schema(columns={"x": od.column(kind)}, unreadable="missing")
        session = od.Session(rows, unit="u", schema=schema, policy=policy, budget=999)
        told = session.count(where="x IS NULL", epsilon=100)
        read = sum(isinstance(one, str) and kind != "datetime" for one in values)
        assert told.estimate.tolist() == [2 - read]
        assert "count as missing" in str(told)


def test_a_column_without_a_name_of_text_is_refused():
    with pytest.raises(errors.DataError, match="no text"):
        od.Session(pd.DataFrame({0: [1]}), policy=od.policy.bounded(), budget=1)


@pytest.mark.parametrize("other", ["x", "9", 2.5, Decimal(9)], ids=repr)
def test_conditions_on_objects_that_are_no_text_are_refused(other):
    """Ten is above nine as a number and below it as text, and one row decided which it was."""
    for values in ([10], [10, other]):
        rows = pd.DataFrame({"x": pd.Series(values, dtype=object), "y": 1})
        for condition in ("x > '9'", "x > 9"):
            with pytest.raises(errors.DataError, match="x") as caught:
                where(rows, condition)
            assert "holds Python objects that are no text (int)" in caught.value.reason
        assert where(rows, "y = 1") == len(values)
    assert where(pd.DataFrame({"x": pd.Series(["10", "9"], dtype=object)}), "x > '9'") == 0


@pytest.mark.parametrize("condition", ["rowid < 1", '"rowid" < 1'])
@pytest.mark.filterwarnings("ignore")
def test_no_condition_sees_how_many_rows_come_before(condition):
    with duckdb.connect() as connection:
        connection.sql("create table numbers as select range as x from range(3)")
        with pytest.raises(errors.DataError):
            where(connection.table("numbers"), condition)


@pytest.mark.parametrize(
    "condition",
    ["x = any(y)", "x <> all (y)", "onesided_kind = 'open'", nw.col("onesided_kind") == "open"],
    ids=str,
)
def test_conditions_that_depend_on_other_rows_are_refused(condition):
    data = pl.DataFrame({"x": [1, 2], "y": [1, 2]})
    with pytest.raises((errors.ConditionError, errors.UnknownColumnError)):
        where(data, condition)


@pytest.mark.parametrize(
    "column",
    [pa.array([Decimal("1.5"), None]), pa.array(["a", None]).dictionary_encode()],
    ids=lambda column: str(column.type),
)
def test_columns_that_pandas_cannot_convert_stand_in_no_conditions_way(column):
    data = pa.table({"x": [1, 2], "other": column}).to_pandas(types_mapper=pd.ArrowDtype)
    assert where(data, "x > 1") == 1


@pytest.mark.parametrize("keys", [[["a"], [["b"]]], [{"a": 1}], [pl.Series(["a"])]], ids=str)
def test_keys_that_are_no_plain_values_are_refused(keys):
    with pytest.raises(errors.KeysError, match="no plain value"):
        by_key(pl.DataFrame({"p": ["a"]}), keys)


def test_arrays_of_rows_are_keys_of_several_columns():
    data = pl.DataFrame({"p": ["a", "b"], "q": ["x", "y"]})
    asked = od.Count(by=["p", "q"], keys=np.array([["a", "x"], ["a", "y"]]), epsilon=1)
    assert secret(data, asked) == [1, 0]
    with pytest.raises(errors.KeysError, match="2 parts"):
        by_key(data, np.array([["a", "b"]]))


@pytest.mark.parametrize("bins", [[-10, 0, 10], [-(2**70), 0, 2**70]], ids=["large", "larger"])
def test_edges_that_no_column_can_hold_are_compared_all_the_same(bins):
    data = pa.table({"p": pa.array([2**64 - 1, 5], pa.uint64())})
    session = od.Session(data, policy=od.policy.addition_only(), budget=1)
    counts = session.histogram("p", bins=bins, epsilon=1).frame["upper"].to_pylist()
    assert counts[-1] >= (2 if bins[-1] > 10 else 1)
