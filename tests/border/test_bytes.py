"""Samples are functions of the open rows: with all protected content changed, no byte changes."""

import datetime as dt
import io
import pickle
import random

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import onesided as od

CONNECTION = duckdb.connect()
KINDS = ("polars", "polars-lazy", "pandas", "pandas-arrow", "pyarrow", "duckdb")


def made(kind, table):
    """One table in each engine's form; words are coded in the order in which rows have them."""
    if kind in ("polars", "polars-lazy"):
        frame = pl.from_arrow(table).with_columns(pl.col("word").cast(pl.Categorical))
        frame = frame.with_columns(pl.col("order").set_sorted())
        return frame.lazy() if kind == "polars-lazy" else frame
    coded = table.set_column(2, "word", table["word"].combine_chunks().dictionary_encode())
    if kind == "pandas":
        frame = coded.drop_columns("list").to_pandas()  # objects that are no text are refused
        kinds = {"flag": "boolean", "day": "date32[pyarrow]"}
        return frame.astype({name: kind for name, kind in kinds.items() if name in frame})
    if kind == "pandas-arrow":
        return table.to_pandas(types_mapper=pd.ArrowDtype)
    return coded if kind == "pyarrow" else CONNECTION.from_arrow(coded)


def everything(frame):
    """What anybody could write of it: IPC, Parquet, CSV and pickle."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    out = []
    if isinstance(frame, pl.DataFrame):
        for write in (frame.write_ipc, frame.write_parquet, frame.drop("list").write_csv):
            store = io.BytesIO()
            write(store)
            out.append(store.getvalue())
        return [*out, pickle.dumps(frame)]
    if isinstance(frame, pd.DataFrame):
        return [frame.to_csv().encode(), pickle.dumps(frame), repr(frame.dtypes).encode()]
    table = frame if isinstance(frame, pa.Table) else frame.to_arrow_table()
    stream, store = pa.BufferOutputStream(), pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    pq.write_table(table, store)
    out = [stream.getvalue().to_pybytes(), store.getvalue().to_pybytes()]
    # What lies under nulls and beyond the end is not pickled, but it is handed over.
    parts = [chunk for column in table.columns for chunk in column.chunks]
    buffers = [b.to_pybytes() for part in parts for b in part.buffers() if b is not None]
    return [*out, pickle.dumps(table), b"".join(buffers)]


OPEN = [
    {"person": 1, "minor": False, "word": "b", "flag": True, "x": 1.5, "day": dt.date(2024, 1, 2)},
    {"person": 2, "minor": False, "word": None, "flag": None, "x": None, "day": None},
    {"person": 3, "minor": False, "word": "a", "flag": False, "x": 2.5, "day": dt.date(2020, 1, 2)},
]
SCHEMA = pa.schema(
    {
        "person": pa.int64(),
        "minor": pa.bool_(),
        "word": pa.string(),
        "flag": pa.bool_(),
        "x": pa.float64(),
        "day": pa.date32(),
        "list": pa.list_(pa.string()),
        "order": pa.int64(),
    }
)
FLOATS = (None, 0.0, -0.0, 5e-324, -1.5, 1 / 3, 1e308, float("inf"), float("-inf"))


def hidden(rng):
    """What a protected row may hold."""
    return {
        "word": rng.choice((None, "", "a", "b", "secret", "z" * 40)),
        "flag": rng.choice((None, True, False)),
        "x": rng.choice((*FLOATS, rng.uniform(-9, 9))),
        "day": rng.choice((None, dt.date(1970, 1, 1) + dt.timedelta(rng.randrange(47_000)))),
        "list": rng.choice((None, rng.choices((None, "q", "secret"), k=rng.randrange(4)))),
    }


def table_of(protected):
    """Open rows with protected ones between them, as many in all."""
    rows = []
    for place, row in enumerate(protected):
        if place < len(OPEN):
            rows.append({**OPEN[place], "list": ["v", None]})
        rows.append({"person": 10 + place, "minor": True, **row})
    for place, row in enumerate(rows):
        row["order"] = place
    return pa.Table.from_pylist(rows, schema=SCHEMA)


PLAIN = [{"word": "a", "flag": True, "x": 0.0, "day": None, "list": []}] * 4


@pytest.mark.parametrize("unit", ["person", None])
@pytest.mark.parametrize("kind", KINDS)
def test_no_byte_of_a_sample_depends_on_protected_rows(kind, unit, rounds):
    for seed in rounds(5):
        rng, written = random.Random(seed), []
        for rows in ([hidden(rng) for _ in PLAIN], PLAIN):
            policy = od.policy.sensitive("minor")
            session = od.Session(made(kind, table_of(rows)), unit=unit, policy=policy, budget=99)
            written.append(everything(session.sample(epsilon=80).frame))
        assert written[0] == written[1], seed
        rounds.cases += 1


def test_a_plain_cut_would_tell():
    """The negative control: lists of words of all rows stay with the rows that are kept."""

    def kept(word):
        coded = pa.table({"word": pa.array([word, "a", "b"]).dictionary_encode()})
        return everything(coded.slice(1))

    assert kept("b") != kept("a")
