"""One table, every engine: whoever reads tables gets all the contract tests by one line here."""

import importlib.util
import os
import shutil
import sys
import warnings

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

# Older versions of DuckDB close a relation's connection when nobody else holds it.
CONNECTION = duckdb.connect()


def _duckdb(columns):
    return CONNECTION.from_arrow(pl.DataFrame(columns, strict=False).to_arrow())


ENGINES = {
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "polars-lazy": lambda columns: pl.LazyFrame(columns, strict=False),
    "pandas": pd.DataFrame,
    "pandas-arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "pyarrow": pa.table,
    "duckdb": _duckdb,
}
# One worker starts Java, and only if a test is there that needs it.
SPARK = pytest.param("spark", marks=pytest.mark.xdist_group("spark"))


@pytest.fixture(params=[*ENGINES, SPARK])
def engine(request):
    """Makes a table of one engine from columns."""
    if request.param == "spark":
        spark = request.getfixturevalue("spark")
        return lambda columns: spark_table(spark, columns)
    return ENGINES[request.param]


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


# Spark has no unsigned numbers.
SIGNED = {"uint8": pa.int16(), "uint16": pa.int32(), "uint32": pa.int64(), "uint64": pa.int64()}


def spark_table(spark, columns):
    from pyspark.sql.pandas.types import from_arrow_schema

    table = pl.DataFrame(columns, strict=False).to_arrow()
    fields = [
        pa.field(
            f.name, SIGNED.get(str(f.type), pa.string() if f.type == pa.large_string() else f.type)
        )
        for f in table.schema
    ]
    table = table.cast(pa.schema(fields))
    return spark.createDataFrame(table, from_arrow_schema(table.schema))
