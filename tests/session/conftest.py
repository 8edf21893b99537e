"""One table, every engine: whoever reads tables gets all the contract tests by one line here."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest


def _duckdb(columns):
    table = pl.DataFrame(columns, strict=False).to_arrow()
    return duckdb.connect().from_arrow(table)


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
