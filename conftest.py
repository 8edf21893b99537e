"""Options and fixtures shared by all tests."""

import importlib.util
import os
import shutil
import sys
import warnings

import hypothesis
import pytest

# No time limits in tests, and the same examples on every run: a failure can be reproduced.
hypothesis.settings.register_profile("onesided", deadline=None, derandomize=True)
hypothesis.settings.load_profile("onesided")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the long forms of the slow tests")


@pytest.fixture(scope="session")
def long_form(request) -> bool:
    """True when the long statistical and crash tests were asked for."""
    return bool(request.config.getoption("--slow"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Start with what one worker has to do alone, so that the other never waits for it."""
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


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
