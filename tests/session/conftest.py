"""One table, every engine: whoever reads tables gets all the contract tests by one line here."""

import datetime as dt
import uuid

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

# Older versions of DuckDB close a relation's connection when nobody else holds it.
CONNECTION = duckdb.connect()


def _duckdb(columns):
    return CONNECTION.from_arrow(pl.DataFrame(columns, strict=False).to_arrow())


def _ibis(columns):
    """A table of Ibis in DuckDB: its own way to make one depends on versions."""
    backend, name = ibis.duckdb.from_connection(CONNECTION.cursor()), f"t_{uuid.uuid4().hex}"
    _duckdb(columns).create(name)
    return backend.table(name)


def _pandas(columns):
    """A table of types: objects that are no text are refused."""
    frame = pd.DataFrame(columns)
    kinds = {bool: "boolean", dt.date: "date32[pyarrow]", int: "Int64"}
    for name, column in frame.items():
        held = {type(one) for one in column if not pd.isna(one)}
        if column.dtype == object and len(held) == 1 and held <= kinds.keys():
            frame[name] = column.astype(kinds[held.pop()])
    return frame


ENGINES = {
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "polars-lazy": lambda columns: pl.LazyFrame(columns, strict=False),
    "pandas": _pandas,
    "pandas-arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "pyarrow": pa.table,
    "duckdb": _duckdb,
    "ibis-duckdb": _ibis,
}
# One worker starts Java, and only if a test is there that needs it.
SPARK = pytest.param("spark", marks=pytest.mark.xdist_group("spark"))


@pytest.fixture(params=[*ENGINES, "ibis-postgres", SPARK])
def engine(request):
    """Makes a table of one engine from columns."""
    if request.param == "spark":
        spark = request.getfixturevalue("spark")
        return lambda columns: spark_table(spark, columns)
    if request.param == "ibis-postgres":
        return request.getfixturevalue("postgres_table")
    return ENGINES[request.param]


@pytest.fixture(params=[*ENGINES, SPARK])
def rows_engine(request):
    """As ``engine``, of those that give rows back: from a warehouse none leaves."""
    if request.param == "spark":
        spark = request.getfixturevalue("spark")
        return lambda columns: spark_table(spark, columns)
    return ENGINES[request.param]


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
