"""Relations that may give other rows when they are read again are refused, whatever hides it."""

import datetime as dt

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import onesided as od
from onesided.engine import Table
from onesided.errors import DataError

REFUSED = [
    "select i, random() as p from t",
    "select i, (random() * 10)::int::varchar as p from t",
    "select i, p from (select i, uuid()::varchar as p from t)",
    "select i, case when random() < 0.5 then 'a' else 'b' end as p from t",
    "select i, noisy(i) as p from t",
    "select i, twice(i) as p from t",
    "from noisy_table(1)",
    "from noisy_view",
    "from view_of_view",
    "from computed",
    "select u as p from another",
    "from filtered",
    "from reader",
    "select i, now()::varchar as p from t",
    "select i, p from t where d < current_date",
    "select i, age(d) as p from t",
    "select i, current_localtimestamp() as p from t",
    "select i, getvariable('v')::varchar as p from t",
    "select i, python(i) as p from t",
    "select *, row_number() over () as n from t",
    "select i, sum(i) over (order by p rows between 1 preceding and current row) as p from t",
    "select distinct on (p) i, p from t",
    "select p, first(i) as i from t group by p",
    "select * from t limit 5",
    "select i, (select s.i from t s where s.p = t.p limit 1) as p from t",
    "select i, (select s.i from t s where s.p = t.p offset 8) as p from t",
    "select t.i, s.i as p from t asof join t s on t.p = s.p and t.d >= s.d",
    "select t.i, s.i as p from t asof left join t s using (p, d)",
    "select * from t using sample 5",
    "select i, p from t left join (select i, uuid()::varchar as z from t) using (i)",
]
TAKEN = [
    "from t",
    "select i, upper(p) as p, date_trunc('day', d) as d from t where i > 3 and p <> 'now()'",
    "from plain_view",
    'from "v AS select 1 --"',
    "select i, more(i) as p from t",
    "from table_of_arrow",
    "from registered",
    "with a as (from t) select i, p from a",
    "select i, nullif(p, 'a') as p, i + 1 as j, p like 'a%' as l from t",
    "select p, rank() over (order by i) as i, sum(i) over (partition by p) as s from t",
    "select p, count(*) as n, count(distinct i) as m, sum(i) as s from t group by p",
    "select a.i, b.p from t a join t b using (i) union all from t select i, p",
]


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as made:
        made.execute(
            "create table t as select range as i, 'a' as p, date '2020-01-01' as d from range(9);"
            "create macro noisy(x) as (x + random())::varchar; create macro more(x) as x + 1;"
            "create macro twice(x) as noisy(x) || 'b';"
            "create macro noisy_table(x) as table select x as i, uuid() as p;"
            "create view noisy_view as select i, random() as p from t;"
            "create view view_of_view as from noisy_view; create view plain_view as from t;"
            'create view "v AS select 1 --" (i, "q q") as select i, p from t;'
            "create table computed (i int, p double generated always as (random()))"
        )
        made.create_function("python", lambda x: x, ["BIGINT"], "BIGINT")
        made.register("registered", pa.table({"i": [1], "p": ["a"]}))
        yield made


def relation(connection, text):
    another = connection.sql("select uuid()::varchar as u, i from t")
    filtered = connection.sql("select * from t where d < now()")
    table_of_arrow = pa.table({"i": [1, 2], "p": ["a", "b"]})
    reader = table_of_arrow.to_reader()
    made = connection.sql(text)
    del another, filtered, reader, table_of_arrow
    return made


@pytest.mark.parametrize("text", REFUSED)
def test_what_may_differ_from_one_reading_to_the_next_is_refused(connection, text):
    with pytest.raises(DataError, match="can give other rows each time"):
        Table(relation(connection, text))


@pytest.mark.parametrize("text", TAKEN)
def test_what_goes_by_the_rows_alone_is_taken(connection, text):
    Table(relation(connection, text))


def test_a_subquery_that_takes_any_of_several_rows_is_refused():
    text = "select i, (select s.i from t s where s.p = t.p) as p from t"
    with duckdb.connect() as connection:
        connection.execute("create table t as select range as i, range::varchar as p from range(9)")
        Table(connection.sql(text))
        connection.execute("set scalar_subquery_error_on_multiple_rows = false")
        with pytest.raises(DataError, match="a subquery of several rows"):
            Table(connection.sql(text))


def test_steps_of_python_are_read_like_text(connection):
    rows = connection.table("t")
    Table(rows.filter("i > 2").project("i, p").distinct())
    with pytest.raises(DataError, match=r"uuid\(\)"):
        Table(rows.project("i, uuid() as p").filter("i > 2"))


UTC, EAST = dt.UTC, dt.timezone(dt.timedelta(hours=2))
KEYS = {
    "p": ["p1", 'it\'s "q" \\n é', "a\0b"],
    "b": [True, False],
    "d": [dt.date(2020, 1, 1), dt.date(2020, 1, 3)],
    "m": [dt.datetime(2020, 1, 1, 1), dt.datetime(2020, 1, 1, 2)],  # noqa: DTZ001
    "z": [dt.datetime(2020, 1, 1, 1, tzinfo=UTC), dt.datetime(2020, 1, 1, 4, tzinfo=EAST)],
    "h": [2**64, 1],
    "u": np.array([1, 2], dtype=np.uint8),
}


def typed(connection):
    connection.execute(
        "create table typed as select range as i, "
        "['p1', 'it''s \"q\" \\n é', 'a' || chr(0) || 'b', 'x'][1 + range % 4] as p, "
        "range % 2 = 0 as b, date '2020-01-01' + (range % 3)::int as d, "
        "timestamp '2020-01-01' + to_hours((range % 4)::int) as m, "
        "timestamptz '2020-01-01 00:00:00+00' + to_hours((range % 4)::int) as z, "
        "(range % 2)::hugeint * 18446744073709551616 as h, (range % 3)::utinyint as u "
        "from range(12)"
    )
    return connection.table("typed")


@pytest.mark.parametrize(
    ("by", "wanted"),
    [("p", [3, 3, 3]), ("b", [6, 6]), ("d", [4, 4]), ("m", [3, 3]), ("z", [3, 3]), ("h", [6, 0]),
     ("u", [4, 4])],
)  # fmt: skip
def test_keys_need_nothing_of_a_callers_connection(by, wanted):
    with duckdb.connect(config={"python_enable_replacements": "false"}) as connection:
        rows = typed(connection)
        connection.execute("create table onesided_small as select 'p1' as p, 7 as onesided_order")
        session = od.Session(rows, unit="i", policy=od.policy.unbounded(), budget=99)
        release = session.count(by=by, keys=KEYS[by], epsilon=60, max_groups=1)
        assert [int(value) for value in release.estimate] == wanted
        assert release.frame.columns[0] == by


@pytest.mark.parametrize("unit", ["i", None])
def test_a_connection_that_finds_no_tables_of_pythons_gives_no_sample_and_is_not_charged(unit):
    with duckdb.connect(config={"python_enable_replacements": "false"}) as connection:
        policy = od.policy.sensitive("b")
        session = od.Session(typed(connection), unit=unit, policy=policy, budget=9)
        with pytest.raises(DataError, match="nothing was recorded"):
            session.sample(epsilon=1)
        assert not any(session.spent.values())


def test_a_table_of_the_callers_never_takes_the_place_of_a_sample():
    with duckdb.connect() as connection:
        rows = typed(connection)
        connection.execute("create table onesided_small as select * from typed")
        session = od.Session(rows, unit="i", policy=od.policy.sensitive("b"), budget=9)
        with pytest.raises(DataError, match="onesided_small"):
            session.sample(epsilon=1)
        assert not any(session.spent.values())
