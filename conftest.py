"""Options and fixtures shared by all tests."""

import gc
import importlib.util
import itertools
import os
import shutil
import sys
import time
import uuid
import warnings

# Collecting makes objects that all stay: looking for some to free takes a quarter of its time.
gc.disable()

import hypothesis  # noqa: E402
import pytest  # noqa: E402

# No time limits in tests, and the same examples on every run: a failure can be reproduced.
hypothesis.settings.register_profile("onesided", deadline=None, derandomize=True)
hypothesis.settings.load_profile("onesided")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the long forms of the slow tests")
    seconds = "for the long form of each file that has rounds"
    parser.addoption("--seconds", type=float, default=480.0, help=seconds)


@pytest.fixture(scope="session")
def long_form(request) -> bool:
    """True when the long statistical and crash tests were asked for."""
    return bool(request.config.getoption("--slow"))


class Rounds:
    """``rounds(short)``: so many seeds from 0; in the long form all that begin in time.

    cases: how many were tried, by whoever counts them.
    """

    def __init__(self, seconds):
        self.seconds, self.last, self.cases = seconds, -1, 0

    def __call__(self, short):
        end = None if self.seconds is None else time.monotonic() + self.seconds
        for self.last in range(short) if end is None else itertools.count():
            yield self.last
            if end is not None and time.monotonic() > end:
                return


@pytest.fixture
def rounds(request, long_form):
    """Each file's --seconds are shared by its tests that have rounds, and that were asked for."""
    beside = [one for one in request.session.items if one.path == request.path]
    sharing = sum("rounds" in one.fixturenames for one in beside)
    started = time.monotonic()
    made = Rounds(request.config.getoption("--seconds") / sharing if long_form else None)
    yield made
    if long_form:
        cases, took = made.cases or made.last + 1, time.monotonic() - started
        told = f"{cases} cases, seeds 0 to {made.last}, {took:.0f} s"
        request.node.user_properties.append(("rounds", told))


def pytest_terminal_summary(terminalreporter):
    """How far each long form came."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            told = dict(getattr(report, "user_properties", ())).get("rounds")
            if told and report.when == "teardown":
                terminalreporter.write_line(f"{told}: {report.nodeid}")


# What needs a browser, or a JVM (the group of tests that share one), is heavy by that alone.
_BROWSERS, _JVM = {"chromium", "browse"}, pytest.mark.xdist_group("spark").mark


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Start with what one worker has to do alone, so that the other never waits for it."""
    if not config.getoption("--slow"):
        long = [item for item in items if item.get_closest_marker("only_slow")]
        items[:] = [item for item in items if not item.get_closest_marker("only_slow")]
        config.hook.pytest_deselected(items=long)
    for item in items:
        if _BROWSERS & set(item.fixturenames) or _JVM in item.iter_markers():
            item.add_marker("heavy")
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(20_000)  # of the young, where Hypothesis measures each look
    gc.enable()


# Where everything is installed, what a test misses is a fault of the set-up. Real data and
# competitors are not ours to install.
_NO_SKIPS = os.environ.get("ONESIDED_NO_SKIPS") == "1"
_MAY_MISS = ("skipped: data not found", "skipped: competitor not found")


def _refuse_skip(report):
    if _NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if not any(missing in reason for missing in _MAY_MISS):
            report.outcome, report.longrepr = "failed", f"Nothing may be skipped here. {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return _refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return _refuse_skip((yield))


@pytest.fixture(scope="session")
def spark(long_form):
    """A small local Spark, started once."""
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("pyspark or java not found")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # it has not been tried with pandas 3
        import pyspark.sql.functions  # noqa: F401
        from pyspark.sql import SparkSession
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.log.level": "OFF",
        # Tests run in zones of their own, so that no test relies on the machine's.
        "spark.sql.session.timeZone": "Asia/Tokyo",
    }
    if not long_form:
        # A thousand queries on ten rows each: compiling Java for them would take a third longer.
        settings["spark.sql.codegen.wholeStage"] = "false"
        settings["spark.sql.codegen.factoryMode"] = "NO_CODEGEN"
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def _postgres_url():
    url = os.environ.get("ONESIDED_POSTGRES_URL")
    return url or pytest.skip("ONESIDED_POSTGRES_URL not set")


@pytest.fixture(scope="session")
def warehouse():
    """Ibis over the PostgreSQL at ONESIDED_POSTGRES_URL, in a schema of its own."""
    url = _postgres_url()
    import ibis
    import psycopg

    schema = f"onesided_{uuid.uuid4().hex[:12]}"
    connection = psycopg.connect(url.replace("+psycopg", ""), autocommit=True)
    with connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path TO {schema}")
        # Tests run in a zone of their own, so that no test relies on the server's.
        connection.execute("SET TimeZone TO 'Asia/Tokyo'")
        try:
            yield ibis.postgres.from_connection(connection)
        finally:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")
    connection.close()


@pytest.fixture
def postgres_place():
    """The URL of an empty schema of its own in the PostgreSQL at ONESIDED_POSTGRES_URL."""
    url = _postgres_url()
    import sqlalchemy

    schema = f"ledger_{uuid.uuid4().hex[:12]}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
    yield f"{url}?options=-csearch_path%3D{schema}"
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP SCHEMA {schema} CASCADE")
    engine.dispose()


@pytest.fixture(scope="session")
def postgres_table(warehouse):
    """Makes a table of Ibis in PostgreSQL from columns, or from an Arrow table."""
    return lambda columns: _stored(warehouse, columns)


# What the server calls the types of Arrow, of which it has no unsigned ones.
_STORED = {
    "bool": "boolean", "int8": "smallint", "uint8": "smallint", "int16": "smallint",
    "uint16": "integer", "int32": "integer", "uint32": "bigint", "int64": "bigint",
    "uint64": "bigint", "float": "real", "double": "double precision", "string": "text",
    "large_string": "text", "date32[day]": "date", "timestamp[us]": "timestamp",
    "timestamp[ns]": "timestamp", "timestamp[us, tz=UTC]": "timestamptz", "time64[ns]": "time",
    "time64[us]": "time", "null": "text",
}  # fmt: skip


def _stored(warehouse, columns):
    import polars as pl
    import pyarrow as pa

    table = columns
    if not isinstance(columns, pa.Table):
        table = pl.DataFrame(columns, strict=False).to_arrow()
    name = f"t_{uuid.uuid4().hex[:12]}"
    kinds = [
        _STORED.get(str(field.type), "bigint[]" if "list" in str(field.type) else None)
        for field in table.schema
    ]
    named = ", ".join(f'"{n}" {kind}' for n, kind in zip(table.column_names, kinds, strict=True))
    connection = warehouse.con
    connection.execute(f"CREATE TABLE {name} ({named})")
    with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            copy.write_row(row)
    return warehouse.table(name)
