"""Tables of Ibis: what only a warehouse can do wrong. Answers: tests/session/test_contract.py."""

import os

import ibis
import narwhals as nw
import psycopg
import pytest

import onesided as od
from onesided import errors
from onesided.engine import Table
from onesided.engine.ibis._engine import written

EXACT = 100
HOSTILE = [
    "'; DROP TABLE visits; --",
    "\\'",
    "a\\",
    '"',
    "%s",
    "$1",
    "é",
    "e\u0301",
    "",
    "N",
    ";,:",
]


def session(data, policy=None, **more):
    policy = policy or od.policy.addition_only()
    return od.Session(data, **{"unit": "person", "policy": policy, "budget": 10**6, **more})


@pytest.fixture
def visits(postgres_table):
    return postgres_table({"person": [1, 1, 2, 3], "place": ["a", "b", "a", "c"]})


def test_words_of_keys_and_conditions_are_words_and_nothing_else(postgres_table):
    data = postgres_table({"person": list(range(len(HOSTILE))), "place": HOSTILE})
    asked = session(data)
    given = [*HOSTILE, "a\0b"]
    release = asked.count(by="place", keys=given, epsilon=EXACT, max_groups=1)
    assert release.estimate.tolist() == [1] * len(HOSTILE) + [0]
    for word in HOSTILE:
        where = "place = '" + word.replace("'", "''") + "'"
        assert asked.count(epsilon=EXACT, where=where).estimate.tolist() == [1]


def test_no_word_of_a_key_is_in_the_sql(postgres_table):
    table = Table(postgres_table({"place": ["a"]}))
    keys = od.engine.public_keys({"c0": ["o'Brien"]}, ("c0",))
    with table.take(["place"]) as held:
        text = written(held.join_keys(held.frame, keys).to_native())
    assert "Brien" not in text
    assert b"o'Brien".hex() in text


def test_parts_that_ibis_shares_are_written_for_themselves(postgres_table):
    """The writer of SQL changes what it divides, wherever else it stands."""
    data = postgres_table({"a": [7, -7, 2**62 + 1], "b": [2, 2, 1]})
    made = data.select(
        one=data.a // data.b, two=(data.a / data.b) * 2, three=data.a % data.b, four=data.a
    )
    warehouse = Table(data).engine.warehouse
    rows = warehouse.rows(warehouse.settled(made))
    assert [row[0] for row in rows] == [3, -4, 2**62 + 1]
    assert [row[1] for row in rows][:2] == [7, -7]
    assert [row[3] for row in rows] == [7, -7, 2**62 + 1]


def test_an_answer_without_rows_has_the_types_of_one_with_rows(postgres_table):
    """At ε = 50 a key of three people is found for certain, and a key of none is not."""
    visits = postgres_table({"person": [1, 2, 3], "place": ["a", "a", "a"]})
    session = od.Session(visits, unit="person", policy=od.policy.removal_only(), budget=200)
    found = session.discover(by="place", max_groups=1, epsilon=50).frame
    none = session.discover(by="place", max_groups=1, where="place = 'b'", epsilon=50).frame
    assert (found.to_pyarrow().num_rows, none.to_pyarrow().num_rows) == (1, 0)
    assert none.schema() == found.schema()


def test_sums_beyond_floats_stay_whole(postgres_table):
    large = 2**51 - 1
    data = postgres_table({"person": [1, 1, 1], "x": [large, large, large - 1]})
    table = Table(data)
    with table.take(["x"]) as held:
        assert held.fetch(held.frame.select(nw.col("c0").sum()), ["c0"]) == [(3 * large - 1,)]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("char(3)", "character"),
        ("name", "name"),
        ("timetz", "time with time zone"),
        ("mood", "mood"),
    ],
)
def test_a_type_in_which_different_values_are_equal_is_refused(warehouse, kind, told):
    connection = warehouse.con
    connection.execute("DROP TABLE IF EXISTS odd; DROP TYPE IF EXISTS mood")
    connection.execute("CREATE TYPE mood AS ENUM ('glad', 'sad')")
    connection.execute(f"CREATE TABLE odd (person int, x {kind})")
    asked = session(warehouse.table("odd"))
    with pytest.raises(errors.DataError, match=told):
        asked.count(by="x", keys=["a"], epsilon=1, max_groups=1)
    assert asked.count(epsilon=EXACT).estimate.tolist() == [0]


def test_a_collation_in_which_words_that_differ_are_equal_is_refused(warehouse):
    connection = warehouse.con
    connection.execute("DROP TABLE IF EXISTS loose")
    connection.execute("DROP COLLATION IF EXISTS capitals")
    connection.execute(
        "CREATE COLLATION capitals (provider = icu, locale = 'und-u-ks-level2', "
        "deterministic = false)"
    )
    connection.execute(
        "CREATE TABLE loose (person text COLLATE capitals, place text COLLATE capitals)"
    )
    connection.execute("INSERT INTO loose VALUES ('x', 'a'), ('X', 'A')")
    data = warehouse.table("loose")
    for act in (
        lambda: session(data).count(epsilon=1),
        lambda: session(data, unit=None).count(by="place", keys=["a"], epsilon=1),
        lambda: session(data, od.policy.sensitive("place = 'a'"), unit=None).count(epsilon=1),
    ):
        with pytest.raises(errors.DataError, match="collation"):
            act()


def test_text_is_in_the_order_of_its_bytes(warehouse):
    connection = warehouse.con
    connection.execute("DROP TABLE IF EXISTS words")
    connection.execute('CREATE TABLE words (person int, place text COLLATE "en-x-icu")')
    connection.execute("INSERT INTO words VALUES (1, 'a'), (2, 'B'), (3, 'é'), (4, 'f')")
    asked = session(warehouse.table("words"))
    for where, wanted in (("place < 'a'", 1), ("place > 'f'", 1), ("place <= 'B'", 1)):
        assert asked.count(epsilon=EXACT, where=where).estimate.tolist() == [wanted]
    table = Table(warehouse.table("words"))
    with table.take(["place"]) as held:
        groups = held.frame.group_by("c0").agg(nw.len().alias("n")).sort("c0")
        assert table.engine.groups(groups)["c0"].to_list() == ["B", "a", "f", "é"]


ODD = {
    "a limit": lambda t: t.limit(2),
    "a join with the nearest": lambda t: t.asof_join(t.view(), "person")[["person"]],
    "a sample": lambda t: t.sample(0.5),
    "a random number": lambda t: t.mutate(x=ibis.random()),
    "the time": lambda t: t.mutate(x=ibis.now()),
    "a row's number": lambda t: t.mutate(x=ibis.row_number()),
    "whichever comes first": lambda t: t.group_by("person").agg(place=t.place.arbitrary()),
    "SQL": lambda t: t.get_backend().sql(
        f"SELECT * FROM {t.get_name()} LIMIT 2", schema={"person": "int64", "place": "string"}
    ),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_may_give_other_rows_the_next_time_is_refused(visits, kind):
    with pytest.raises(errors.DataError, match="computed by"):
        session(ODD[kind](visits))


def test_a_view_is_refused_and_what_it_is_made_of_is_not(warehouse, visits):
    connection, name = warehouse.con, visits.get_name()
    connection.execute(f"CREATE OR REPLACE VIEW drawn AS SELECT * FROM {name} WHERE random() < 0.5")
    with pytest.raises(errors.DataError, match="no stored table"):
        session(warehouse.table("drawn"))
    part = visits.filter(visits.place != "c").select("person", "place")
    assert session(part).count(epsilon=EXACT).estimate.tolist() == [2]


def test_a_table_of_another_warehouse_is_refused_by_name():
    backend = ibis.sqlite.connect()
    backend.con.execute("CREATE TABLE t (person INTEGER)")
    with pytest.raises(errors.DataError, match="sqlite"):
        session(backend.table("t"))
    backend.disconnect()


def test_rows_are_not_sampled_where_they_would_have_to_leave(visits):
    asked = session(visits, od.policy.sensitive("place = 'c'"))
    with pytest.raises(errors.DataError, match="have to leave"):
        asked.sample(epsilon=1)
    assert set(asked.spent.values()) == {0}


def test_text_is_no_other_type_there(visits):
    with pytest.raises(errors.SchemaError, match="warehouse holds text"):
        session(visits, schema=od.Schema(columns={"place": od.column("integer")}))


def test_what_the_server_cannot_compute_exactly_is_refused_before_the_charge(postgres_table):
    asked = session(postgres_table({"person": [1], "x": [1.5]}))
    with pytest.raises(errors.ConditionError, match="PostgreSQL"):
        asked.count(epsilon=1, where="x * 2.5 > 1")
    assert set(asked.spent.values()) == {0}


def test_infinite_days_and_long_decimals_stop_nothing(warehouse):
    connection = warehouse.con
    connection.execute("DROP TABLE IF EXISTS ends")
    connection.execute("CREATE TABLE ends (person int, d date, t timestamptz, n numeric)")
    connection.execute(
        "INSERT INTO ends VALUES (1, 'infinity', 'infinity', 'NaN'), "
        "(2, '-infinity', '-infinity', '1e400'), (3, '20000-01-01', '20000-01-01', '1e-400'), "
        "(4, '2020-02-03', '2020-02-03 01:00:00+09', '1.5'), (5, '4713-01-01 BC', null, '1e308')"
    )
    asked = session(warehouse.table("ends"))
    for where, wanted in (
        ("EXTRACT(YEAR FROM d) IS NULL", 4),
        ("d + INTERVAL '3000000' DAY IS NULL", 5),
        ("d + INTERVAL '1' DAY = DATE '2020-02-04'", 1),
        ("t + INTERVAL '36' HOUR IS NULL", 4),
        ("EXTRACT(DAY FROM t) = 2 AND EXTRACT(HOUR FROM t) = 16", 1),
        ("n IS NULL", 2),
        ("n < 1", 1),
        ("n > 1", 2),
    ):
        assert asked.count(epsilon=EXACT, where=where).estimate.tolist() == [wanted], where


def ended(warehouse_url, connection):
    """The server ends a connection, as where a warehouse goes down."""
    with psycopg.connect(warehouse_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])


@pytest.fixture
def lost(warehouse, visits):
    """A table on a connection of its own, and what ends that."""
    url = os.environ["ONESIDED_POSTGRES_URL"].replace("+psycopg", "")
    schema = warehouse.con.execute("SELECT current_schema()").fetchone()[0]
    opened = []

    def connect():
        connection = psycopg.connect(url, autocommit=True)
        connection.execute(f"SET search_path TO {schema}")
        opened.append(connection)
        return ibis.postgres.from_connection(connection).table(visits.get_name())

    yield connect, lambda: ended(url, opened[-1])
    for connection in opened:
        connection.close()


def test_a_connection_lost_before_the_charge_costs_nothing(lost):
    connect, end = lost
    asked = session(connect())
    end()
    with pytest.raises(errors.DataError, match="could not be read") as refusal:
        asked.count(by="place", keys=["a"], epsilon=1, max_groups=2)
    assert "Nothing was drawn" in str(refusal.value)
    assert set(asked.spent.values()) == {0}


def test_a_connection_lost_after_the_charge_loses_no_answer(lost, monkeypatch):
    """All is read before the charge: what comes after needs no warehouse."""
    connect, end = lost
    asked = session(connect())
    charged = type(asked)._charged

    def then_lost(*args, **more):
        receipt = charged(*args, **more)
        end()
        return receipt

    monkeypatch.setattr(type(asked), "_charged", then_lost)
    question = od.Count(by="place", keys=["a", "b"], epsilon=EXACT, max_groups=2, id="monday")
    assert asked.ask(question).estimate.tolist() == [2, 1]
    assert set(asked.spent.values()) == {EXACT}
    with pytest.raises(errors.DataError, match="could not be read"):
        asked.count(epsilon=1)


def test_a_charge_whose_rows_cannot_be_read_stands_and_is_answered_later_once(lost, tmp_path):
    connect, end = lost
    account = {"ledger": f"sqlite:///{tmp_path}/l.db", "policy": od.policy.addition_only()}
    question = od.Count(by="place", keys=["a", "b"], epsilon="1/4", max_groups=2, id="monday")
    asked = session(connect(), **account)
    asked.charge(question)
    end()
    lost_too = session(connect(), **account)
    end()
    with pytest.raises(errors.DataError, match="stays charged"):
        lost_too.answer(question)
    again = session(connect(), **account)
    assert [float(spent) for spent in again.spent.values()] == [0.25]
    first, second = again.answer(question), again.answer(question)
    assert second.told_again
    assert first.estimate.tolist() == second.estimate.tolist()
    assert [float(spent) for spent in again.spent.values()] == [0.25]


def test_nobody_else_means_the_servers_own_functions(warehouse):
    """Whoever makes operators or functions on the caller's path, and tables before the table."""
    connection = warehouse.con
    (schema,) = connection.execute("SELECT current_schema()").fetchone()
    connection.execute("CREATE TABLE named (person varchar(9), place varchar(9), n numeric)")
    connection.execute("INSERT INTO named SELECT i, 'a', i FROM generate_series(1, 5) AS i")
    connection.execute(
        "CREATE FUNCTION no(varchar, varchar) RETURNS bool LANGUAGE sql AS 'SELECT false';"
        "CREATE OPERATOR = (leftarg = varchar, rightarg = varchar, function = no);"
        "CREATE FUNCTION translate(text, text, text) RETURNS text LANGUAGE sql AS 'SELECT ''b''';"
    )
    asked = session(warehouse.table("named"))
    connection.execute("CREATE TEMP TABLE named (person int)")
    try:
        for path in (schema, f"{schema}, pg_catalog"):
            connection.execute(f"SET search_path TO {path}")
            for where in ("place = 'a'", "LOWER(place) = 'a'"):
                assert asked.count(epsilon=EXACT, where=where).estimate.tolist() == [5]
        with connection.transaction(), pytest.raises(errors.DataError, match="read committed"):
            asked.count(epsilon=EXACT)
        with connection.transaction():  # the caller's own goes on as it was
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            assert asked.count(epsilon=EXACT).estimate.tolist() == [5]
            assert connection.execute("SHOW search_path").fetchone() == (f"{schema}, pg_catalog",)
            connection.execute("CREATE TABLE written (x int)")
    finally:
        connection.execute(f"SET search_path TO {schema}")
        connection.execute(
            "DROP TABLE pg_temp.named; DROP OPERATOR = (varchar, varchar);"
            f"DROP FUNCTION {schema}.translate(text, text, text)"
        )


def test_all_statements_of_a_question_find_the_same_rows(warehouse):
    import psycopg

    (schema,) = warehouse.con.execute("SELECT current_schema()").fetchone()
    warehouse.con.execute("CREATE TABLE growing AS SELECT 1 AS person")
    table = Table(warehouse.table("growing"))
    with psycopg.connect(warehouse.con.info.dsn, autocommit=True) as other:
        with table.take(["person"]) as held:
            assert held.height() == 1
            other.execute(f"INSERT INTO {schema}.growing VALUES (2)")
            assert held.height() == 1
        with table.take(["person"]) as held:
            assert held.height() == 2


def test_a_decimal_that_is_no_number_is_unknown(warehouse):
    warehouse.con.execute("CREATE TABLE odd_decimals (person int, n numeric)")
    warehouse.con.execute("INSERT INTO odd_decimals VALUES (1, 'NaN'), (2, 2), (3, 'Infinity')")
    asked = session(warehouse.table("odd_decimals"))
    with pytest.raises(errors.DataError, match="1 row has no value"):
        asked.sum("n", of="units", total_bounds=(0, 5), epsilon=1)
    assert asked.sum("n", of="units", total_bounds=(0, 5), epsilon=EXACT, missing="drop").value == 7


def test_tables_that_show_other_rows_than_they_hold_are_refused(warehouse, visits):
    connection, name = warehouse.con, visits.get_name()
    (schema,) = connection.execute("SELECT current_schema()").fetchone()
    connection.execute(
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
        f"CREATE POLICY half ON {name} USING (random() < 0.5);"
        f"CREATE ROLE {schema} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {schema};"
        f"GRANT SELECT ON {name} TO {schema}"
    )
    try:
        connection.execute(f"SET ROLE {schema}")
        with pytest.raises(errors.DataError, match="row security policy"):
            session(visits)
    finally:
        connection.execute("RESET ROLE")
        connection.execute(f"DROP OWNED BY {schema}; DROP ROLE {schema}")
    assert session(visits).count(epsilon=EXACT).estimate.tolist() == [3]  # whoever sees them all
    connection.execute(
        "CREATE EXTENSION IF NOT EXISTS postgres_fdw;"
        f"CREATE SERVER {schema} FOREIGN DATA WRAPPER postgres_fdw;"
        "CREATE TABLE parted (person int, place text) PARTITION BY LIST (place);"
        "CREATE TABLE part_here PARTITION OF parted FOR VALUES IN ('a');"
    )
    try:
        assert session(warehouse.table("parted")).count(epsilon=EXACT).estimate.tolist() == [0]
        connection.execute(
            f"CREATE FOREIGN TABLE there PARTITION OF parted FOR VALUES IN ('b') SERVER {schema}"
        )
        with pytest.raises(errors.DataError, match="no stored table"):
            session(warehouse.table("parted"))
    finally:
        connection.execute(f"DROP TABLE parted; DROP SERVER {schema}")
