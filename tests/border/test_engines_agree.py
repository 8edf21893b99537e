"""Every engine and plain Python say the same of every row: true, false or unknown."""

import importlib.util
import random
import sys
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onesided.conditions import Condition, Translator
from onesided.engine.duckdb import _condition as of_duckdb
from onesided.engine.duckdb._frames import mapped
from onesided.engine.polars import _condition as of_polars
from onesided.errors import ConditionError
from onesided.schema import FIRST_DAY, LAST_DAY

_SPEC = importlib.util.spec_from_file_location(
    "agreement", Path(__file__).with_name("agreement.py")
)
agreement = sys.modules["agreement"] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(agreement)

ROWS = 25
# Conditions whose meaning engines are known to disagree on, left to themselves.
KNOWN = [
    "NOT (f > 1)",
    "f <> 0.0",
    "f IN (0.0)",
    "f IN (-0.0, 1.5)",
    "f IS NULL",
    "i64 / -1 > 0",
    "i64 % -1 = 0",
    "i64 / i8 = i64",
    "ABS(i64) > 0",
    "ABS(i64 * j64) = ABS(i64) * ABS(j64) AND ABS(i64 * -1000 - 999 * i64 * j64) > 0",
    "i64 * i64 * i64 IS NULL",
    "i64 * j64 * i8 / j64 = i8",
    "- i64 > 9223372036854775807",
    "i64 > 9223372036854775807.5",
    "i8 < 300",
    "i8 IN (1, 300, 2.5)",
    "i64 = f",
    "LOWER(s) = 'ä' OR UPPER(s) = 'SS'",
    "LENGTH(s) > 3",
    "TRIM(s) = 'a'",
    "s LIKE 'a\\'",
    "s LIKE '_' AND s < 'é'",
    "s LIKE '' OR s LIKE '%%'",
    "d > TIMESTAMP '9999-12-31 23:59:59.999999'",
    "d + INTERVAL '3000000' DAY IS NULL",
    "EXTRACT(SECOND FROM z) = 59 AND EXTRACT(HOUR FROM z) = 23",
    "EXTRACT(ISODOW FROM d) = 7",
    "CASE WHEN f > 0 THEN f ELSE i64 END > 0",
    # What engines would write again and again has a name.
    "UPPER(LOWER(TRIM(s))) <> s",
    "(i64 + i8 * j64) / (j64 - i8 + 1) BETWEEN i8 - 1 AND j64 % (i64 * i8)",
    "CASE i64 % (j64 * i8 - 1) WHEN 0 THEN f * g WHEN i8 THEN 1.5 ELSE h - f END IN (0.0, 1.5)",
    "CASE TRIM(LOWER(s)) WHEN 'a' THEN TRUE WHEN TRIM(r) THEN FALSE END",
    "f * g - h BETWEEN f - 1 AND ABS(g * h)",
    "f * g - h > -1.5 AND NOT (f + g + h < 1e308)",
    "EXTRACT(DAY FROM COALESCE(d, e) + INTERVAL '1' DAY) = 1",
    "HOUR(COALESCE(z, z + INTERVAL '1' HOUR) - INTERVAL '1' HOUR) < 12",
    "COALESCE(d, e) < m",
]


def results(translator, tree):
    return (
        translator.three_valued(tree),
        translator.picked(tree),
        translator.not_false(tree),
        translator.kept([(tree, False)], default=True),
    )


def seen(row):
    """What a filter drops is dropped, be it false or null."""
    return *row[:-1], row[-1] is True


def on_duckdb(frame):
    connection = duckdb.connect()
    source, _ = mapped(frame.with_row_index("place").to_arrow())  # as the gate has it
    connection.register("source", source)
    connection.execute("create table t as select * from source")
    types = {row[0]: row[1] for row in connection.execute("describe t").fetchall()}

    def run(bound):
        made = ", ".join(results(Translator(of_duckdb.DuckDBTerms(types)), bound.tree))
        return connection.execute(f"select {made} from t order by place").fetchall()

    return {name: of_duckdb.column_type(types[name]) for name in frame.columns}, run


def on_polars(frame):
    terms = of_polars.PolarsTerms(dict(frame.schema))

    def run(bound):
        made = results(Translator(terms), bound.tree)
        named = {f"made_{place}": one for place, one in enumerate(made)}
        return frame.with_columns(**named).select(*named).rows()

    return {name: of_polars.column_type(dtype) for name, dtype in frame.schema.items()}, run


def on_spark(spark):
    from pyspark.sql.pandas.types import from_arrow_schema

    from onesided.engine.spark import _condition as of_spark

    def start(frame):
        table = frame.with_row_index("place").to_arrow()
        small = {"large_string": pa.string(), "uint32": pa.int64()}
        fields = [pa.field(f.name, small.get(str(f.type), f.type)) for f in table.schema]
        table = table.cast(pa.schema(fields))
        schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
        data = spark.createDataFrame(table, schema).orderBy("place").cache()
        types = {f.name: f.dataType.simpleString() for f in data.schema}
        terms = of_spark.SparkTerms(types)

        def run(bound):
            return [
                tuple(row) for row in data.select(*results(Translator(terms), bound.tree)).collect()
            ]

        return {name: of_spark.column_type(types[name]) for name in frame.columns}, run

    return start


def on_postgres(postgres_table):
    """Days beyond the year 9999, and text with a NUL, are what Python or the server cannot hold."""
    from onesided.engine import Table
    from onesided.engine.ibis._engine import PostgresTerms, column_type, written_of

    def start(frame):
        data = postgres_table(frame.with_row_index("place").to_arrow())
        warehouse = Table(data).engine.warehouse
        data = warehouse.settled(data)
        translator = Translator(PostgresTerms(data.schema()))

        def run(bound):
            texts = enumerate(results(translator, bound.tree))
            made = {f"made_{n}": written_of(data, text) for n, text in texts}
            rows = warehouse.rows(data.select("place", **made).order_by("place"))
            return [row[1:] for row in rows]

        return {n: column_type(data.schema()[n]) for n in frame.columns}, run

    def fits(name, value):
        if isinstance(value, str):
            return "\0" not in value
        return value is None or name not in "de" or FIRST_DAY <= value <= LAST_DAY

    start.fits = fits
    return start


def disagreements(start, texts, *, seed, left_out=()):
    """The conditions, and rows, that an engine and plain Python tell apart."""
    found, tried = told_apart(start, texts, random.Random(seed), ROWS, left_out)
    assert tried > len(texts) // 2
    return found[:3]


def told_apart(start, texts, rng, size, left_out=()):
    values = agreement.columns(rng, size)
    values = {name: column for name, column in values.items() if name not in left_out}
    fits = getattr(start, "fits", lambda *_: True)
    values = {n: [v if fits(n, v) else None for v in column] for n, column in values.items()}
    types, run = start(agreement.frame(values))
    rows, found, tried = agreement.rows(values), [], 0
    for text in texts:
        try:
            bound = Condition.parse(text).bind(types)
        except ConditionError:  # too large a number for its place, or too much work
            continue
        truth = [bound.of(row) for row in rows]
        wanted = [(value, value is True, value is not False, value is False) for value in truth]
        try:
            told = run(bound)
        except ConditionError:  # what an engine refuses by name
            continue
        tried += 1
        found += [
            (text, got, want, {name: row[name] for name in bound.condition.columns})
            for got, want, row in zip(told, wanted, rows, strict=True)
            if seen(got) != want
        ]
    return found, tried


def written(seed, count, *, fine=True):
    writer = agreement.Writer(seed, fine=fine)
    return [writer.condition(writer.rng.randint(0, 3)) for _ in range(count)]


@pytest.mark.parametrize("start", [on_duckdb, on_polars])
def test_engines_agree_where_they_are_known_not_to(start):
    for seed in range(3):
        assert disagreements(start, KNOWN, seed=seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("start", [on_duckdb, on_polars])
def test_engines_agree_on_random_conditions(start, rounds):
    for seed in rounds(12):
        assert disagreements(start, written(seed, 20), seed=seed) == [], seed
        rounds.cases += 20


@pytest.mark.parametrize("start", [on_duckdb, on_polars])
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(rng=st.randoms(use_true_random=False))
def test_engines_agree_on_what_hypothesis_finds(start, rng):
    """As above, with fewer rows: hypothesis makes a disagreement as small as it can."""
    writer = agreement.Writer(0, fine=True)
    writer.rng = rng
    assert told_apart(start, [writer.condition(2) for _ in range(3)], rng, 3)[0] == []


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_spark_agrees(spark, rounds):
    left_out = ("u64", "n", "t")  # Spark has no such types
    start = on_spark(spark)
    known = [text for text in KNOWN if not set(left_out) & set(Condition.parse(text).columns)]
    assert disagreements(start, known, seed=0, left_out=left_out) == []
    for seed in rounds(1):
        texts = written(seed, 20, fine=False)
        assert disagreements(start, texts, seed=seed, left_out=left_out) == [], seed
        rounds.cases += 20


@pytest.mark.slow
def test_postgres_agrees(postgres_table, rounds):
    """Arithmetic of floats is refused there, and no type is finer than a microsecond."""
    left_out = ("u64", "n")
    start = on_postgres(postgres_table)
    known = [text for text in KNOWN if not set(left_out) & set(Condition.parse(text).columns)]
    assert disagreements(start, known, seed=0, left_out=left_out) == []
    for seed in rounds(2):
        texts = written(seed, 20, fine=False)
        assert disagreements(start, texts, seed=seed, left_out=left_out) == [], seed
        rounds.cases += 20


def test_the_comparison_sees_an_engine_that_is_wrong():
    """Left to itself, Polars takes NaN for larger than every number."""

    def wrong(frame):
        types, _ = on_polars(frame)
        test = pl.col("f") > 1
        return types, lambda _: frame.select(
            test, b=test.fill_null(value=False), c=test.fill_null(value=True), d=~test
        ).rows()

    assert disagreements(wrong, ["f > 1"], seed=0) != []
