"""One table, every engine: whoever reads tables gets all the contract tests by one line here."""

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


@pytest.fixture(params=ENGINES)
def engine(request):
    """Makes a table of one engine from columns."""
    return ENGINES[request.param]
