"""What an engine is handed grows with the tree of a condition, whatever nests in what."""

import contextlib

import duckdb
import ibis
import polars as pl
import pytest

from onesided import errors
from onesided.conditions import Condition, Translator
from onesided.conditions._bind import work
from onesided.conditions._translate import _VALUES
from onesided.conditions._tree import nodes
from onesided.engine.duckdb._condition import DuckDBTerms
from onesided.engine.duckdb._condition import column_type as duckdb_type
from onesided.engine.ibis._engine import PostgresTerms, written, written_of
from onesided.engine.ibis._engine import column_type as ibis_type
from onesided.engine.polars._condition import PolarsTerms
from onesided.engine.polars._condition import column_type as polars_type

DEEPEST = 12
COLUMNS = {
    "s": ("VARCHAR", pl.String, "string", "string"),
    "i": ("BIGINT", pl.Int64, "int64", "bigint"),
    "j": ("BIGINT", pl.Int64, "int64", "bigint"),
    "f": ("DOUBLE", pl.Float64, "float64", "double"),
    "b": ("BOOLEAN", pl.Boolean, "boolean", "boolean"),
    "d": ("DATE", pl.Date, "date", "date"),
    "m": ("TIMESTAMP", pl.Datetime("us"), "timestamp(6)", "timestamp_ntz"),
    "z": ("TIMESTAMP WITH TIME ZONE", pl.Datetime("us", "UTC"), "timestamp('UTC', 6)", "timestamp"),
}
FINE = {"n": ("TIMESTAMP_NS", pl.Datetime("ns")), "h": ("HUGEINT", pl.Int128)}
# What nests: the innermost, a step around it that holds it once, and what makes it a condition.
STEPS = {
    "LOWER": ("s", "LOWER({})", "{} = 'a'"),
    "UPPER": ("s", "UPPER({})", "{} < s"),
    "both cases": ("s", "LOWER(UPPER({}))", "{} = 'a'"),
    "TRIM": ("s", "TRIM({})", "{} = 'a'"),
    "SUBSTRING": ("s", "SUBSTRING({}, 1, 3)", "{} IN ('a', 'b')"),
    "LIKE": ("s", "CASE WHEN {} LIKE 'a_%b' THEN s END", "{} IS NULL"),
    "LENGTH": ("s", "CASE WHEN LENGTH({}) > 1 THEN s END", "{} IS NULL"),
    "IN": ("s", "CASE WHEN {} IN ('a', 'b') THEN s END", "{} IS NULL"),
    "COALESCE": ("s", "COALESCE({}, TRIM(s))", "{} IS NULL"),
    "CASE": ("s", "CASE WHEN b THEN TRIM(s) WHEN NOT b THEN LOWER({}) END", "{} IS NULL"),
    "CASE of text": ("s", "CASE {} WHEN s THEN 'a' WHEN TRIM(s) THEN s END", "{} = 'a'"),
    "BETWEEN of text": ("s", "CASE WHEN {} BETWEEN 'a' AND s THEN TRIM(s) END", "{} = 'a'"),
    "+": ("i", "({} + j)", "{} > j"),
    "-": ("i", "- ({})", "{} = 3"),
    "*": ("i", "({} * j)", "{} > 3"),
    "/": ("i", "({} / j)", "{} > 3"),
    "divisor": ("i", "(j / {})", "{} > 3"),
    "%": ("i", "(j % {})", "{} <> j"),
    "much / and %": ("i", "((i * {}) / (j % i + i * j * j))", "{} > 3"),
    "ABS": ("i", "ABS({} - 1)", "{} > 3"),
    "CASE of numbers": ("i", "CASE {} WHEN 1 THEN i WHEN j THEN 2 ELSE i + j END", "{} = 3"),
    "BETWEEN": ("i", "CASE WHEN {} BETWEEN 1 AND 2.5 THEN j END", "{} > 3"),
    "BETWEEN its end": ("i", "CASE WHEN i * j BETWEEN i AND {} THEN j END", "{} > 3"),
    "integers beside numbers": ("i", "CASE WHEN {} < f THEN j * i END", "{} > 3"),
    "found in nothing": (
        "i",
        "CASE WHEN LENGTH(TRIM(s)) = 2.5 OR {} = 0.5 THEN i * j END",
        "{} > 3",
    ),
    "floats": ("f", "(f * {} + 1)", "{} > f"),
    "ABS of floats": ("f", "ABS({} - 1)", "{} IS NULL"),
    "comparisons of floats": ("f", "CASE WHEN ABS(f - {}) > 0.5 THEN f - 1 END", "{} = f"),
    "IN of floats": ("f", "CASE WHEN f + {} IN (0.0, 1.0, 2.5) THEN f - 1 END", "{} IN (0.5)"),
    "IN of integers": ("i", "CASE WHEN i + {} IN (1, 2, 300) THEN i * j END", "{} IN (1, 7)"),
    "IN of dates": (
        "d",
        "CASE WHEN {} + INTERVAL '1' DAY IN (DATE '2020-01-01', DATE '2021-01-01') THEN d END",
        "{} > d",
    ),
    "IN of texts": ("s", "CASE WHEN TRIM({}) IN ('a', 'bc', '') THEN s END", "{} IS NULL"),
    "BETWEEN of floats": ("f", "CASE WHEN f + {} BETWEEN f * f AND 3 THEN f - 1 END", "{} > 0"),
    "INTERVAL": ("d", "({} + INTERVAL '3' DAY)", "{} > d"),
    "parts of dates": ("d", "CASE WHEN YEAR({} + INTERVAL '1' DAY) = 2000 THEN d END", "{} > d"),
    "dates beside moments": ("d", "CASE WHEN COALESCE({}, d) < m THEN d END", "{} > d"),
    "moments": ("m", "({} - INTERVAL '3' HOUR)", "HOUR({}) = 3"),
    "instants": ("z", "({} - INTERVAL '3' HOUR)", "{} BETWEEN z AND TIMESTAMP '2020-01-01'"),
    "parts of instants": ("z", "CASE WHEN ISODOW({} + INTERVAL '1' HOUR) = 1 THEN z END", "{} > z"),
    "hours of instants": ("z", "CASE WHEN HOUR({}) = 1 THEN z END", "{} > z"),
    "NOT": ("b", "NOT ({})", "{}"),
    "AND": ("b", "(({}) AND i > j)", "{}"),
    "OR": ("b", "(s = 'a' OR ({}))", "{}"),
    "IS NULL": ("b", "(({}) IS NULL)", "{}"),
    "comparison": ("b", "(({}) <> b)", "{}"),
}
ALSO = {
    "finer moments": ("n", "(COALESCE({}, m + INTERVAL '1' HOUR) + INTERVAL '1' HOUR)", "{} > m"),
    "parts of finer moments": (
        "n",
        "CASE WHEN DAY({} - INTERVAL '1' HOUR) = 1 THEN n END",
        "{} > n",
    ),
    "wide numbers": ("h", "(h - {} * h)", "{} BETWEEN h AND i"),
}


def nested(step, depth):
    inner, around, whole = step
    for _ in range(depth):
        inner = around.replace("{}", inner)
    return whole.replace("{}", inner)


def on_duckdb(columns):
    held = {name: kinds[0] for name, kinds in columns.items()}
    connection = duckdb.connect()
    named = ", ".join(f'"{name}" {kind}' for name, kind in held.items())
    connection.execute(f"CREATE TABLE t ({named})")

    def sizes(tree):
        text = Translator(DuckDBTerms(held)).where(tree)
        asked = f"EXPLAIN (FORMAT json) SELECT count(*) FROM t WHERE {text}"
        return len(text), len(connection.execute(asked).fetchall()[0][1])

    return {name: duckdb_type(kind) for name, kind in held.items()}, sizes


def on_polars(columns):
    held = {name: kinds[1] for name, kinds in columns.items()}
    frame = pl.LazyFrame(schema=held)

    def sizes(tree):
        made = Translator(PolarsTerms(frame.collect_schema())).where(tree)
        return len(made.meta.serialize(format="json")), len(frame.filter(made).explain())

    return {n: polars_type(dtype) for n, dtype in frame.collect_schema().items()}, sizes


def on_postgres(columns, rows=None):
    table = ibis.table({name: kinds[2] for name, kinds in columns.items()}, name="t")

    def sizes(tree):
        made = written_of(table, Translator(PostgresTerms(table.schema())).where(tree))
        return (len(written(table.filter(made).count().as_table())),)

    return {name: ibis_type(kind) for name, kind in table.schema().items()}, sizes


ENGINES = {"duckdb": on_duckdb, "polars": on_polars, "postgres": on_postgres}


def faults(steps, types, sizes):
    """The steps that an engine makes more of the deeper they nest; what it refuses is left out."""
    found = {}
    for name, step in steps.items():
        before, grown = None, []
        for depth in (4, 8, 12):  # the first steps make numbers wider
            try:
                tree = Condition.parse(nested(step, depth)).bind(types).tree
                now = sizes(tree)
            except errors.ConditionError:
                break
            if before is not None:
                grown.append([b - a for a, b in zip(before, now, strict=True)])
            before = now
            if len(grown) == 1 and max(grown[0]) > 40_000:
                break
        assert not grown or max(grown[0]) < 40_000, (name, grown)
        if len(grown) == 2 and any(b > 1.5 * a + 50 for a, b in zip(*grown, strict=True)):
            found[name] = grown
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_each_node_is_written_once(engine):
    columns = COLUMNS if engine == "postgres" else COLUMNS | FINE
    steps = STEPS if engine == "postgres" else STEPS | ALSO
    assert faults(steps, *ENGINES[engine](columns)) == {}


@pytest.mark.xdist_group("spark")
def test_each_node_is_written_once_for_spark(spark):
    from onesided.engine.spark._condition import SparkTerms, column_type

    held = {name: kinds[3] for name, kinds in COLUMNS.items()}
    frame = spark.createDataFrame([], ", ".join(f"{name} {kind}" for name, kind in held.items()))

    def sizes(tree):
        plan = frame.filter(Translator(SparkTerms(held)).where(tree))._jdf.queryExecution()
        return len(plan.logical().toString()), len(plan.optimizedPlan().toString())

    named = ("UPPER", "/", "%", "CASE of numbers", "IN of floats", "parts of instants")
    steps = {name: STEPS[name] for name in named}
    assert faults(steps, {name: column_type(kind) for name, kind in held.items()}, sizes) == {}


def test_every_kind_of_node_nests_here():
    types, _ = on_duckdb(COLUMNS | FINE)
    met = set()
    for step in (STEPS | ALSO).values():
        met |= {type(node) for node in nodes(Condition.parse(nested(step, 2)).bind(types).tree)}
    assert met == set(_VALUES)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_nests_is_no_more_work_than_the_same_in_a_row(engine):
    columns = COLUMNS if engine == "postgres" else COLUMNS | FINE
    types, sizes = ENGINES[engine](columns)
    for name, step in STEPS.items():
        try:
            deep, short = (Condition.parse(nested(step, depth)).bind(types) for depth in (12, 2))
            told = sizes(deep.tree), sizes(short.tree)
        except errors.ConditionError:  # refused by name in that engine
            continue
        for nests, lies in zip(*told, strict=True):
            assert nests < 12 * lies + 2_000, (name, told)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_is_handed_a_few_words_for_each_unit_of_work(engine):
    columns = COLUMNS if engine == "postgres" else COLUMNS | FINE
    types, sizes = ENGINES[engine](columns)
    most = {"duckdb": 600, "polars": 12_000, "postgres": 2_000}[engine]
    for name, step in STEPS.items():
        for depth in (2, 8):
            tree = Condition.parse(nested(step, depth)).bind(types).tree
            with contextlib.suppress(errors.ConditionError):
                assert sizes(tree)[0] < most * work(tree), name


def test_what_is_too_much_is_refused_before_an_engine_sees_it():
    inner = "i"
    for _ in range(20):
        inner = f"CASE {inner} WHEN 1 THEN i WHEN 2 THEN j END"
    with pytest.raises(errors.ConditionError, match="20,000 words"):
        Condition.parse(f"{inner} = 1")
    held = " OR ".join(["h = h"] * 4_999)
    with pytest.raises(errors.ConditionError, match="too many operations"):
        Condition.parse(held).bind(on_duckdb(FINE)[0])
