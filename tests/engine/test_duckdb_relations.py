"""Relations: keys reach them, whatever a connection finds, and no more is read than is asked."""

import polars as pl
import pytest

import onesided as od
from onesided.engine import Table
from onesided.errors import DataError

duckdb = pytest.importorskip("duckdb")
KEYS = [["gym", "bar"], pl.Series(["gym", "bar"]), pl.DataFrame({"place": ["gym", "bar"]})]


@pytest.mark.parametrize("found", ["true", "false"])
@pytest.mark.parametrize("keys", KEYS, ids=lambda keys: type(keys).__name__)
def test_keys_are_found(found, keys):
    with duckdb.connect(config={"python_enable_replacements": found}) as connection:
        connection.execute("CREATE TABLE v (person INT, place TEXT, hour INT)")
        connection.execute("INSERT INTO v VALUES (1, 'gym', 8), (2, 'bar', 8), (2, 'gym', 9)")
        policy = od.policy.presence(max_groups=2)
        session = od.Session(connection.table("v"), unit="person", policy=policy, budget=200)
        told = session.count(by="place", keys=keys, epsilon=80)
        assert told.columns()["estimate"] == [2, 1]
        pairs = pl.DataFrame({"place": ["gym", "bar"], "hour": [9, 8]})
        told = session.count(by=["place", "hour"], keys=pairs, epsilon=80)
        assert told.columns()["estimate"] == [1, 1]


def test_no_column_is_read_where_the_number_of_rows_is_asked():
    relation = duckdb.sql(
        "SELECT CASE WHEN i = 2 THEN error('read')::INT END AS x FROM range(3) AS t(i)"
    )
    with Table(relation).take(()) as rows:
        assert rows.height() == 3
    with pytest.raises(DataError, match="read"), Table(relation).take(["x"]):
        pass
