"""Lazy tables that may give other rows when they are read again are refused."""

import polars as pl
import pytest

from onesided.engine import Table
from onesided.errors import DataError

U, P, Q, X, L = map(pl.col, "upqxl")
ROWS = pl.LazyFrame({"u": [1, 1, 2], "p": ["a", "b", "c"], "x": [1, 2, 3], "l": [[1], [2], [3]]})
JOINED = ROWS.join(ROWS.select("u", q="p"), on="u")
BY_UNIT = ROWS.group_by("u")

# A join gives its rows in any order: what takes one by its place takes another each time.
REFUSED = {
    "the row at a place": JOINED.group_by("u").agg(Q.get(0)),
    "the first row": JOINED.group_by("u").agg(Q.first()),
    "the first rows": JOINED.group_by("u").agg(Q.head(1)),
    "the first of a list of rows": JOINED.group_by("u").agg("q").select("u", Q.list.get(0)),
    "a hash of a list of rows": JOINED.group_by("u").agg("q").select("u", Q.hash()),
    "a list of rows beside an aggregate": JOINED.group_by("u").agg(X.max(), Q + "!"),
    "parts of lists, as a list": ROWS.group_by("u").agg(L.list.max()),
    "parts of lists in a window": ROWS.with_columns(
        z=L.list.max().over("u", mapping_strategy="join").list.get(0)
    ),
    "rows as a list": ROWS.with_columns(P.implode().over("u").list.get(0)),
    "a window as a list": ROWS.with_columns(z=P.over("u", mapping_strategy="join").list.get(0)),
    "a window in its own order": ROWS.with_columns(P.over("u", mapping_strategy="explode")),
    "a place in a window": ROWS.with_columns(P.get(0).over("u")),
    "some rows of columns": BY_UNIT.agg(P.max()).select(U.slice(0, 2), P.slice(0, 2)),
    "columns turned around": BY_UNIT.agg(P.max()).with_columns(P.reverse()),
    "distinct values beside others": ROWS.select(U.unique(), X.sum().over("u").unique()),
    "tables side by side": pl.concat(
        [BY_UNIT.agg(X.sum()), BY_UNIT.agg(P.max()).select("p")], how="horizontal"
    ),
    "rows numbered": ROWS.with_row_index(),
    "a column set beside the rows": JOINED.with_columns(pl.Series("z", [1, 2, 3])),
    "a column added to another": ROWS.with_columns(z=X + pl.Series([1, 2, 3])),
    "a filter beside the rows": ROWS.filter(pl.Series([True, False, True])),
    "rows shuffled": ROWS.with_columns(P.shuffle()),
    "the first so many": ROWS.head(2),
}
TAKEN = {
    "joins": JOINED,
    "parts of one value": ROWS.with_columns(
        P.str.slice(0, 1), q=P.str.reverse(), y=L.list.get(0), z=P.str.split("a").list.first()
    ),
    "texts put together": ROWS.with_columns(
        q=pl.concat_str("p", "p"), y=pl.format("{}!", P), z=P.str.to_integer(strict=False)
    ),
    "constants": ROWS.with_columns(pl.lit("2024").alias("q"), y=pl.lit('say "hi"') + P),
    "lists put together": ROWS.with_columns(y=pl.concat_list("x", "x").list.len()),
    "whether any, or all": BY_UNIT.agg((X > 1).any().alias("y"), (X > 1).all().alias("z")),
    "rows as one value": BY_UNIT.agg(pl.struct("p", "x").n_unique().alias("n")),
    "aggregates": BY_UNIT.agg(X.sum(), pl.len(), m=X.median(), n=P.n_unique(), s=(X + 1).max()),
    "aggregates of several columns": BY_UNIT.agg(
        a=(X + U).sum() / pl.len(), b=X.cast(pl.Float64).mean().round(2), c=(X.max() - X.min()) * 2
    ),
    "a count of some rows": BY_UNIT.agg(n=pl.when(X > 1).then(X).count(), d=X.is_null().sum()),
    "whole windows": ROWS.with_columns(z=X - X.mean().over("u"), n=pl.len().over("u", "p")),
    "a quantile of a window": ROWS.with_columns(X.quantile(0.5).over("u")),
    "filters by a list": ROWS.filter(U.is_in([1, 2]) & U.is_in(pl.Series([1, 2]).implode())),
    "distinct rows, sorted": ROWS.drop("l").unique().sort("u"),
    "lists as rows": ROWS.explode("l"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_goes_by_the_place_of_rows_is_refused(name):
    with pytest.raises(DataError, match="not known to give the same rows"):
        Table(REFUSED[name])


@pytest.mark.parametrize("name", TAKEN)
def test_what_goes_by_rows_alone_is_taken(name):
    assert Table(TAKEN[name]).height() > 0
