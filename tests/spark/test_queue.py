"""A PostgreSQL table as a queue, and PostgreSQL as the sink: with the real server."""

import os
import secrets
from pathlib import Path

import pytest

from onesided.errors import DataError, LedgerUnavailableError, ParameterError

pytestmark = pytest.mark.xdist_group("spark")
RULES = {"at_most": 1, "window": 5, "epsilon": 90}
PLACES = ["gym", "bar"]


@pytest.fixture
def database(tmp_path):
    """A schema of its own, with a queue of three batches, the last of which is open."""
    url = os.environ.get("ONESIDED_POSTGRES_URL")
    if not url:
        pytest.skip("skipped: ONESIDED_POSTGRES_URL not set")
    import sqlalchemy

    schema = f"queue_{secrets.token_hex(6)}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
        for command in (
            "CREATE TABLE batches (id text PRIMARY KEY, time bigint, closed boolean)",
            'CREATE TABLE "Visits" (batch text, person text, place text)',
            "CREATE TABLE visits (batch text, person text, place text)",
            "INSERT INTO batches VALUES ('two', 2, true), ('it''s one', 1, true), ('3', 3, false)",
            "INSERT INTO \"Visits\" VALUES ('it''s one', 'Ann', 'gym'), ('two', 'Bob', 'gym')",
        ):
            connection.exec_driver_sql(f"SET search_path TO {schema}")
            connection.exec_driver_sql(command)
    yield f"{url}?schema={schema}", schema, engine
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP SCHEMA {schema} CASCADE")
    engine.dispose()


def by_jdbc(url, spark):
    """How Spark's executors reach the server."""
    import sqlalchemy

    (jar,) = jars()
    spark.sql(f"ADD JAR '{jar}'")
    parts = sqlalchemy.make_url(url)
    jdbc = f"jdbc:postgresql://{parts.host or 'localhost'}:{parts.port or 5432}/{parts.database}"
    options = {"user": parts.username or "postgres"}
    return jdbc, options | ({"password": parts.password} if parts.password else {})


def test_moments_without_a_zone_are_of_utc(database, spark):
    import onesided as od

    url, schema, engine = database
    jdbc, options = by_jdbc(url, spark)
    columns = "batch text, plain timestamp, zoned timestamptz"
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE {schema}.moments ({columns})")
    moments = od.spark.queue(spark, url, jdbc=jdbc, options=options, visits="moments")
    kinds = dict(moments.read(od.spark.Announced("two", 2)).dtypes)
    assert kinds == {"plain": "timestamp_ntz", "zoned": "timestamp"}  # the first is taken for UTC


def test_a_queue_is_answered_in_order_once_and_published_in_postgres(database, spark, tmp_path):

    import onesided as od

    url, schema, engine = database
    jdbc, options = by_jdbc(url, spark)
    source = od.spark.queue(spark, url, jdbc=jdbc, options=options, visits="Visits")
    rules = RULES | {"policy": od.policy.presence(max_groups=1), "spark": spark}
    rules |= {"state": url, "rows": tmp_path / "rows", "sink": url}
    for _ in range(2):
        with od.spark.monitor(source, PLACES, **rules) as following:
            assert following.run() == 2
            batches = [release.batch for release in following.monitor.history()]
            assert batches == ["it's one", "two"]
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {schema}.batches SET closed = true")
    with od.spark.monitor(source, PLACES, **rules) as following:
        assert following.run() == 3
        assert following.monitor.ledger.check().charges == 1
        with pytest.raises(ParameterError, match="run"):
            following.start(tmp_path / "check")
        heads = [release.head for release in following.monitor.history()]
    with engine.begin() as connection:
        query = f"SELECT head FROM {schema}.onesided_published_steps ORDER BY step"
        assert list(connection.exec_driver_sql(query).scalars()) == heads
        query = f"SELECT step, place, status, at_most FROM {schema}.onesided_published_statuses"
        told = sorted(map(tuple, connection.exec_driver_sql(query)))
    assert len(told) == 6
    assert told[3] == (2, "gym", "unknown", 2)
    # Answers without noise: another monitor has the same ones, and publishes nothing twice.
    same = rules | {"state": tmp_path / "same.db", "rows": None}
    with od.spark.monitor(source, PLACES, **same) as same:
        assert same.run() == 3
    other = rules | {"state": tmp_path / "other.db", "rows": None, "at_most": 0}
    with (
        od.spark.monitor(source, PLACES, **other) as other,
        pytest.raises(DataError, match="published with another answer"),
    ):
        other.run()
    lost = od.spark.queue(spark, url, jdbc=jdbc, batches="no_such_table")
    with (
        od.spark.monitor(lost, PLACES, **rules) as following,
        pytest.raises(LedgerUnavailableError, match="no_such_table"),
    ):
        following.run()


def test_alarms_are_published_with_both_bounds(database, spark, tmp_path):
    import onesided as od
    from onesided.spark._sinks import ParquetSink, PostgresSink
    from onesided.store import DatabaseUrl

    url, schema, engine = database
    table = f"{schema}.onesided_published_statuses"
    visits = {"person": [1, 2, 3], "place": ["gym"] * 3, "agreed": [True] * 3}
    asked = od.policy.sensitive_presence("NOT agreed", max_groups=1)
    with od.Monitor(PLACES, **RULES | {"policy": asked, "at_least": 3}) as monitor:
        release = monitor.step(visits, id="one", time=1)
    for sink in (PostgresSink(DatabaseUrl.of(url)), ParquetSink(spark, str(tmp_path))):
        sink.write(release)
        sink.write(release)
    query = "SELECT step, place, status, at_most, open_at_least FROM "
    with engine.begin() as connection:
        held = sorted(map(tuple, connection.exec_driver_sql(query + table)))
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("published")
    assert held == sorted(map(tuple, spark.sql(query + "published").collect()))
    assert (1, "gym", "alarm", 3, 3) in held


def jars():
    """PostgreSQL's JDBC driver, where .ci/java installs it or Maven keeps it."""
    found = sorted(Path.home().glob(".m2/repository/org/postgresql/postgresql/*/postgresql-*.jar"))
    found += [one for one in [Path("/usr/share/java/postgresql.jar")] if one.exists()]
    return found[-1:] or pytest.skip("skipped: no JDBC driver of PostgreSQL; see .ci/java")
