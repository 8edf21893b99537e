"""One value, one reading: files of four writers, with statistics that lie, against plain Python.

The same odd rows are written by PyArrow, Polars, DuckDB and Spark, with the statistics that the
writer gives, with none, and with false ones. Every engine reads each file, on connections whose
macros are called like builtins and whose settings are odd. Counts, conditions, kinds, sums,
samples, keys and units must be what Python finds in the rows themselves.
"""

import datetime as dt
import decimal
import math
import random
import re
import struct

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import onesided as od

EXACT = 90
OPEN = od.policy.addition_only()
PEOPLE = 8
ROWS_EACH = 3
DAY = dt.date(1970, 1, 1)
MOMENT = dt.datetime(2024, 3, 31, 1, 30, tzinfo=dt.UTC)
ID = 1_234_567_890_123_456_789  # ids that one float stands for
# fmt: off
TEXTS = ["a", "A", " a", "é", "e\u0301", "７", "7", "07", "NaN", "null", "\u2028", "\U0010ffff",
         "%", None]
# A person's ids, by four types; and values, of each of which there is a row.
UNITS = {
    "u": (pa.int64(), [ID, ID + 1, ID - 1, -(2**63), 2**63 - 1, 2**63 - 2, 0, -1]),
    "t": (pa.string(), ["7", "07", "7.0", "７", " 7", "é", "e\u0301", "\u2028"]),
    "d": (pa.decimal128(30, 2), [decimal.Decimal(10**25 + n) / 100 for n in range(PEOPLE)]),
    "n": (pa.timestamp("ns"), [ID + n for n in range(PEOPLE)]),
}
VALUES = {
    "f": (pa.float64(), [math.nan, None, 0.0, -0.0, math.inf, -math.inf, 17.5, 18.0, 90.0, 5e-324]),
    "g": (pa.float32(), [math.nan, None, -0.0, 0.5, 16777216.0, -3.25]),
    "i": (pa.int64(), [None, -(2**63), 2**63 - 1, ID, ID + 1, 0, 1, -7]),
    "w": (pa.uint64(), [None, 2**64 - 1, 2**63, 2**63 - 1, 0, 3]),
    "c": (pa.decimal128(12, 2), [None, *map(decimal.Decimal, ("1.50", "-0.05", "9999.99"))]),
    "s": (pa.string(), TEXTS),
    "b": (pa.bool_(), [True, False, None]),
    "z": (pa.timestamp("us", "UTC"), [None, MOMENT, MOMENT - dt.timedelta(microseconds=1)]),
    "y": (pa.date32(), [None, DAY, dt.date(1582, 10, 10), dt.date(9999, 12, 31)]),
}
# fmt: on


def some_rows(rng):
    """Each person's rows, in any order, as lists by column."""
    size = PEOPLE * ROWS_EACH
    made = {}
    for name, (_, values) in VALUES.items():
        column = (values * size)[:size]
        rng.shuffle(column)
        made[name] = column
    people = [place % PEOPLE for place in range(size)]
    rng.shuffle(people)
    made |= {name: [values[one] for one in people] for name, (_, values) in UNITS.items()}
    return made


def arrow(columns):
    held = {**UNITS, **VALUES}
    return pa.table({name: pa.array(column, held[name][0]) for name, column in columns.items()})


# Writers, and what becomes of the statistics in the footer.


WRITERS = {
    "pyarrow": lambda table, path, told: pq.write_table(table, path, write_statistics=told),
    "polars": lambda table, path, told: pl.from_arrow(table).write_parquet(path, statistics=told),
    "duckdb": lambda table, path, _: duckdb.from_arrow(table).write_parquet(path),
}
STATISTICS = ("narrow", "absent", "wrong")


def written(table, folder, writer, statistics):
    path = folder / f"{writer}-{statistics}.parquet"
    WRITERS[writer](table, str(path), statistics != "absent")
    if statistics == "wrong":
        lie(path)
    return path


def lie(path):
    """Let the footer say of two columns that all values are one, and that none is missing."""
    data = path.read_bytes()
    (length,) = struct.unpack("<I", data[-8:-4])
    body, footer = data[: -8 - length], data[-8 - length : -8]
    held, lied = pq.ParquetFile(path).metadata.row_group(0), 0
    for place in range(held.num_columns):
        column = held.column(place)
        form = {"f": "<d", "i": "<q"}.get(column.path_in_schema)
        told = column.statistics
        if form is None or told is None or not told.has_min_max:  # some say nothing beside NaN
            continue
        one, lied = struct.pack(form, 20), lied + 1
        least, most = struct.pack(form, told.min), struct.pack(form, told.max)
        for end in (least, most):
            footer = footer.replace(end, one)
            for sign in (b"\x16", b"\x36"):  # the field after it: how many are null, in zigzag
                nulls = sign + bytes([2 * told.null_count])
                footer = footer.replace(one + nulls, one + sign + b"\0")
    path.write_bytes(body + footer + data[-8:])
    assert lied
    assert footer != data[-8 - length : -8]


# Callers' catalogues, and engines.

SETTINGS = """
SET TimeZone = 'Pacific/Chatham'; SET ieee_floating_point_ops = false; SET integer_division = true;
SET default_null_order = 'nulls_first'; SET default_order = 'desc'; SET old_implicit_casting = true;
SET default_collation = 'nocase'; SET preserve_insertion_order = false; SET threads = 1;
"""
OPERATORS = (
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "||",
    "~~",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "!~~",
    "^@",
)


def hostile(*, but=()):
    """A connection on which every name of a function is a macro's."""
    connection = duckdb.connect()
    connection.execute(SETTINGS)
    found = connection.sql("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
    names = {name for (name,) in found} | set(OPERATORS) | {"coalesce", "try_cast", "cast", "try"}
    tables = duckdb.sql(
        "SELECT function_name FROM duckdb_functions() WHERE function_type IN ('table', 'pragma')"
    )
    for name in sorted(names - {name for (name,) in tables.fetchall()} - set(but)):
        quoted = '"' + name.replace('"', '""') + '"'
        connection.execute(f"CREATE MACRO {quoted}() AS 5, (a) AS 0, (a, b) AS 7, (a, b, c) AS 3")
    connection.execute("CREATE MACRO duckdb_settings() AS TABLE SELECT 'threads' AS n, '0' AS v")
    connection.execute("CREATE TABLE rows_0 AS SELECT 1 AS c0")
    connection.execute("CREATE VIEW onesided_rows AS SELECT 1 AS c0")
    return connection


class Readers:
    """Ways to read a Parquet file, each of which makes another table of it."""

    def __init__(self):
        import ibis

        self.connection, self.number = hostile(), 0
        self.backend = ibis.duckdb.from_connection(hostile(but={"list_value"}))  # its own way

    def stored(self, path):
        self.number += 1
        self.connection.execute(f"CREATE TABLE t_{self.number} AS FROM '{path}'")
        return self.connection.table(f"t_{self.number}")

    @property
    def table(self):
        return {
            "duckdb": lambda path: self.connection.sql(f"FROM '{path}'"),
            "duckdb-table": self.stored,
            "polars": pl.read_parquet,
            "polars-lazy": pl.scan_parquet,
            "pyarrow": pq.read_table,
            "pandas": lambda path: pd.read_parquet(path, dtype_backend="pyarrow"),
            "ibis": self.backend.read_parquet,
        }


# What is asked, and what is true. A test gets the values that its condition reads, none missing.

CONDITIONS = [
    ("f >= 18", "f", lambda f: f >= 18),
    ("NOT (f < 18)", "f", lambda f: not f < 18),
    ("f = 0.0", "f", lambda f: f == 0),
    ("f < 20.0 OR f > 20.0", "f", lambda f: f != 20),
    ("f IS NULL", "", lambda row: row["f"] is None),
    ("f IS NOT NULL", "", lambda row: row["f"] is not None),
    ("g = 0.0", "g", lambda g: g == 0),
    ("g > 16777215.5", "g", lambda g: g > 16777215.5),
    ("g IS NULL", "", lambda row: row["g"] is None),
    (f"i = {ID}", "i", lambda i: i == ID),
    ("i <> 20", "i", lambda i: i != 20),
    ("i + i > 9223372036854775807", "i", lambda i: i + i > 2**63 - 1),
    ("ABS(i) > 9223372036854775807", "i", lambda i: abs(i) > 2**63 - 1),
    ("i / 2 = -3", "i", lambda i: math.trunc(decimal.Decimal(i) / 2) == -3),
    ("i IS NULL", "", lambda row: row["i"] is None),
    ("w > 9223372036854775807", "w", lambda w: w > 2**63 - 1),
    ("w - 3 < 0", "w", lambda w: w - 3 < 0),
    ("c = 1.5", "c", lambda c: c == decimal.Decimal("1.5")),
    ("c < 0.0", "c", lambda c: c < 0),
    ("s = 'é'", "s", lambda s: s == "é"),
    ("s < 'a'", "s", lambda s: s < "a"),
    ("s LIKE '_'", "s", lambda s: len(s) == 1),
    ("LENGTH(s) = 2", "s", lambda s: len(s) == 2),
    ("UPPER(s) = 'A'", "s", lambda s: s in ("a", "A")),
    ("TRIM(s) = 'a'", "s", lambda s: s.strip(" ") == "a"),
    ("s IN ('7', '%', 'NaN')", "s", lambda s: s in ("7", "%", "NaN")),
    ("b", "b", lambda b: b),
    ("NOT b", "b", lambda b: not b),
    ("b IS NULL OR b", "", lambda row: row["b"] is not False),
    ("z >= TIMESTAMP '2024-03-31 01:30:00'", "z", lambda z: z >= MOMENT),
    ("EXTRACT(HOUR FROM z) = 1", "z", lambda z: z.hour == 1),
    ("y = DATE '1582-10-10'", "y", lambda y: y == dt.date(1582, 10, 10)),
    ("y + INTERVAL '1' DAY IS NULL AND y IS NOT NULL", "", lambda row: row["y"] == dt.date.max),
    (f"u = {ID}", "u", lambda u: u == ID),
    ("t = '7'", "t", lambda t: t == "7"),
]


def truth(test, needs, row):
    if not needs:
        return test(row)
    values = [row[name] for name in needs]
    return None if None in values else test(*values)


def read(columns):
    """The rows as conditions see them: what is no finite number is not known."""
    names = list(columns)
    return [
        {
            n: None if isinstance(v, float) and not math.isfinite(v) else v
            for n, v in zip(names, values, strict=True)
        }
        for values in zip(*columns.values(), strict=True)
    ]


class Still:
    """No noise: what a mechanism is given, as it is."""

    def two_sided(self, upper, lower, size):
        del upper, lower
        return np.zeros(size, dtype=np.int64)

    def geometric(self, rate, size):
        del rate
        return np.zeros(size, dtype=np.int64)


def session(data, policy=OPEN, unit="u", **more):
    return od.Session(data, unit=unit, policy=policy, budget=10**6, **more)


def counted(condition):
    text, needs, test = condition

    def ask(data):
        return int(session(data).count(where=text, epsilon=EXACT).noisy[0])

    def wanted(columns):
        return len({row["u"] for row in read(columns) if truth(test, needs, row)})

    return f"count where {text}", {*needs, *named(text)}, ask, wanted


def named(text):
    """The columns that a condition is about."""
    return {name for name in {**UNITS, **VALUES} if re.search(rf"\b{name}\b", text)}


def open_people(columns, needs, test):
    """Whose every row surely does not meet the condition."""
    rows = read(columns)
    return {row["u"] for row in rows} - {
        row["u"] for row in rows if truth(test, needs, row) is not False
    }


def of_kind(condition):
    text, needs, test = condition

    def ask(data):
        asked = session(data, od.policy.sensitive(text))
        return int(asked.count(counted="open", epsilon=EXACT).noisy[0])

    return (
        f"open people under {text}",
        {*needs, *named(text)},
        ask,
        lambda columns: len(open_people(columns, needs, test)),
    )


def sampled(condition):
    """Rows of open people, as they are."""
    text, needs, test = condition

    def ask(data):
        asked = session(data, od.policy.sensitive(text))
        return records(asked.sample(epsilon=80).frame)

    def wanted(columns):
        kept = open_people(columns, needs, test)
        rows = zip(columns["u"], columns["i"], columns["s"], columns["b"], strict=True)
        return sorted(map(repr, (row for row in rows if row[0] in kept)))

    return f"sample under {text}", {*needs, *named(text)}, ask, wanted


def records(frame):
    """Some columns of a sample, as Python's values."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    for way in ("to_arrow_table", "to_pyarrow", "to_arrow", "toArrow"):
        if hasattr(frame, way):
            frame = getattr(frame, way)()
    if isinstance(frame, pd.DataFrame):
        frame = pa.Table.from_pandas(frame, preserve_index=False)
    rows = frame.select(["u", "i", "s", "b"]).to_pylist()
    return sorted(repr(tuple(row.values())) for row in rows)


def summed(name, low, high):
    def ask(data):
        asked = session(data, od.policy.unbounded(), unit=None, noise=Still())
        return asked.sum(
            name, of="units", total_bounds=(low, high), missing="drop", epsilon=1
        ).columns()["estimate"][0]

    def wanted(columns):
        held = (v for v in columns[name] if v is not None and v == v)  # noqa: PLR0124 - NaN
        return float(
            sum(min(max(math.floor(v + 0.5) if abs(v) < 1e9 else v, low), high) for v in held)
        )

    return f"sum of {name}", {name}, ask, wanted


def keyed(name, values):
    keys = sorted({value for value in values if value is not None})

    def ask(data):
        asked = session(data).count(by=name, keys=keys, max_groups=ROWS_EACH, epsilon=EXACT)
        return asked.noisy.tolist()

    def wanted(columns):
        pairs = set(zip(columns["u"], columns[name], strict=True))
        return [sum(value == key for _, value in pairs) for key in keys]

    return f"count by {name}", {name}, ask, wanted


def people(unit):
    def ask(data):
        return int(session(data, unit=unit).count(epsilon=EXACT).noisy[0])

    return f"people by {unit}", {unit}, ask, lambda columns: len(set(columns[unit]))


CASES = [
    *map(counted, CONDITIONS),
    *map(of_kind, CONDITIONS),
    *map(sampled, CONDITIONS),
    summed("f", 0, 100),
    summed("g", -4, 100),
    summed("i", -100, 100),
    *(keyed(name, VALUES[name][1]) for name in ("s", "i", "w", "y")),
    *map(people, UNITS),
]


# Columns of types that an engine does not have, and the one thing that it does not do.
LACKS = {"spark": {"n", "w"}, "postgres": {"n", "w", "d", "c"}}
REFUSES = {"postgres": "sample"}


def disagreements(readers, files, columns, rng, *, most=None):
    """``(answers, differences)`` of every reader on every file, for ``most`` cases of each."""
    answered, found, held = 0, [], set(columns)
    truths = {name: wanted(columns) for name, needs, _, wanted in CASES if needs <= held}
    for label, path in files.items():
        for engine, start in readers.items():
            data, names = start(path), held - LACKS.get(engine, set())
            able = [(n, ask) for n, needs, ask, _ in CASES if needs <= names]
            able = [(n, ask) for n, ask in able if not n.startswith(REFUSES.get(engine, "-"))]
            for name, ask in rng.sample(able, most or len(able)):
                answered += 1
                try:
                    got = ask(data)
                except od.errors.OnesidedError as refusal:
                    got = str(refusal)
                if got != truths[name]:
                    found.append((label, engine, name, got, truths[name]))
    return answered, found


def all_written(columns, folder):
    table = arrow(columns)
    return {
        f"{writer}, {told}": written(table, folder, writer, told)
        for writer in WRITERS
        for told in STATISTICS
    }


@pytest.fixture(scope="module")
def readers():
    return Readers().table


@pytest.mark.slow
def test_every_engine_reads_every_file_alike(tmp_path, readers, rounds):
    for seed in rounds(1):
        columns = some_rows(rng := random.Random(seed))
        files = all_written(columns, tmp_path)
        answered, found = disagreements(readers, files, columns, rng, most=1)
        assert found[:9] == [], seed
        assert answered >= len(files) * len(readers)
        rounds.cases += answered


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_spark_reads_and_writes_alike(tmp_path, spark, readers, rounds):
    """On a session with odd settings, where functions are called like its own."""
    columns = some_rows(rng := random.Random(7))
    for name in LACKS["spark"]:
        del columns[name]
    odd = spark.newSession()
    odd.conf.set("spark.sql.caseSensitive", "true")
    odd.conf.set("spark.sql.ansi.enabled", "false")
    odd.conf.set("spark.sql.session.timeZone", "Pacific/Chatham")
    for name in ("isnan", "upper", "length", "abs"):
        odd.udf.register(name, lambda _: 7, "int")
    start = {"spark": lambda path: odd.read.parquet(str(path))}
    files = all_written(columns, tmp_path)
    turns = ["pyarrow, wrong", *(name for name in files if name != "pyarrow, wrong")]
    spark.createDataFrame(arrow(columns)).coalesce(1).write.parquet(str(tmp_path / "spark"))
    (part,) = (tmp_path / "spark").glob("*.parquet")
    for seed in rounds(1):
        label = turns[seed % len(turns)]
        answered, found = disagreements(start, {label: files[label]}, columns, rng, most=4)
        assert (found[:9], answered > 3) == ([], True), seed
        rounds.cases += answered
        answered, found = disagreements(readers, {"spark": part}, columns, rng, most=1)
        assert (found[:9], answered >= len(readers)) == ([], True), seed
        rounds.cases += answered


HOSTILE = """
CREATE SCHEMA evil;
CREATE FUNCTION evil.no(bigint, bigint) RETURNS bool LANGUAGE sql AS 'SELECT false';
CREATE FUNCTION evil.no(text, text) RETURNS bool LANGUAGE sql AS 'SELECT false';
CREATE FUNCTION evil.no(float8, float8) RETURNS bool LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR evil.= (leftarg = bigint, rightarg = bigint, function = evil.no);
CREATE OPERATOR evil.= (leftarg = text, rightarg = text, function = evil.no);
CREATE OPERATOR evil.>= (leftarg = float8, rightarg = float8, function = evil.no);
CREATE FUNCTION evil.translate(text, text, text) RETURNS text LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION evil.char_length(text) RETURNS int LANGUAGE sql AS 'SELECT 2';
CREATE FUNCTION evil.abs(numeric) RETURNS numeric LANGUAGE sql AS 'SELECT 0.0';
"""


@pytest.mark.slow
def test_postgres_reads_alike(tmp_path, warehouse, postgres_table, rounds):
    """Where the path of the caller's functions and operators comes before the server's own."""
    columns = some_rows(rng := random.Random(8))
    for name in LACKS["postgres"]:
        del columns[name]
    path = written(arrow(columns), tmp_path, "pyarrow", "wrong")
    data, connection = postgres_table(pq.read_table(path)), warehouse.con
    (schema,) = connection.execute("SELECT current_schema()").fetchone()
    connection.execute(f"{HOSTILE} SET search_path TO evil, {schema}, pg_catalog")
    try:
        start = {"postgres": lambda _: data}
        for seed in rounds(1):
            answered, found = disagreements(start, {"stored": path}, columns, rng, most=30)
            assert (found[:9], answered > 20) == ([], True), seed
            rounds.cases += answered
    finally:
        connection.execute(f"SET search_path TO {schema}; DROP SCHEMA evil CASCADE")


def test_the_comparison_sees_a_reader_that_believes_statistics(tmp_path):
    """Polars leaves out what a footer says is not there: here by a filter of the caller's own."""
    columns = some_rows(rng := random.Random(9))
    path = written(arrow(columns), tmp_path, "pyarrow", "wrong")
    misled = {"polars": lambda path: pl.scan_parquet(path).filter(pl.col("i") != 20)}
    _, found = disagreements(misled, {"wrong": path}, columns, rng, most=9)
    assert found != []
