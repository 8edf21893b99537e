"""A question reads its columns once, under names of ours, where no function of others is known."""

import datetime as dt
import fcntl
import math
import os
import random
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import onesided as od
from onesided.engine import Table
from onesided.engine.duckdb import _condition, _sources
from onesided.errors import DataError, UnknownColumnError

EXACT = 90
OPEN = od.policy.addition_only()


def relation(columns, connection=None):
    """A table of its own, in a database that the caller knows."""
    connection = connection or duckdb.connect()
    connection.register("source", pa.table(columns))
    connection.execute("CREATE OR REPLACE TABLE people AS SELECT * FROM source")
    return connection.table("people")


STARTS = {
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pandas": pd.DataFrame,
    "pyarrow": pa.table,
    "duckdb": relation,
}


def session(data, policy=OPEN, unit="person"):
    return od.Session(data, unit=unit, policy=policy, budget=10**6)


def column(frame, name):
    """A column of an answer's frame, whatever it is."""
    if hasattr(frame, "collect"):
        frame = frame.collect()
    if hasattr(frame, "fetchnumpy"):
        frame = frame.to_arrow_table()
    values = frame[name]
    return values.to_pylist() if hasattr(values, "to_pylist") else values.to_list()


# What a table computes anew at each reading is read once.


@pytest.mark.parametrize("name", ["size", 'size 6"', "size'", "size ["])
def test_a_question_asserts_of_the_rows_that_it_counts(name):
    """Checked in one reading and counted in another, a unit would be in two groups."""
    answered = 0
    for _ in range(30):
        rows = pl.LazyFrame({"person": [0, 0, 1, 1], name: ["a", "a", "b", "b"]})
        lazy = rows.with_columns(pl.col(name).shuffle().alias("new"))
        try:
            told = session(lazy).count(
                by="new", keys=["a", "b"], epsilon=EXACT, max_groups=1, on_excess="error"
            )
        except od.errors.ContributionError:
            continue
        answered += 1
        assert told.estimate.sum() == 2
    assert answered


@pytest.mark.parametrize("many", [False, True])
def test_a_lazy_table_is_collected_once_for_a_question_or_several(many):
    seen = []

    def watched(frame):
        seen.append(frame.columns)
        return frame

    rows = pl.LazyFrame({"person": [1, 2], "place": ["a", "b"], "age": [3, 40], "note": ["x", "y"]})
    made = session(rows.map_batches(watched), od.policy.sensitive("age < 18"))
    seen.clear()
    count = od.Count(by="place", keys=["a", "b"], max_groups=1, counted="open", epsilon=1)
    total = od.session.Sum("age", of="units", total_bounds=(0, 99), counted="open", epsilon=1)
    made.ask_all([count, total]) if many else made.ask(total)
    assert len(seen) == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT i, i + 1 AS j FROM t",
        "SELECT i, random() AS j FROM t",
        "SELECT i, upper(p) AS j FROM t WHERE i + 1 > 3",
        "FROM t LIMIT 3",
        "FROM t TABLESAMPLE 50%",
        "SELECT i, row_number() OVER () AS j FROM t",
    ],
)
def test_relations_are_what_was_handed_in(text):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range AS i, 'a' AS p FROM range(9)")
    told = session(connection.sql(text), unit="i").count(epsilon=EXACT)
    assert 0 <= told.value <= 9


def test_a_reader_that_can_be_read_once_answers_no_question():
    """It is read when the session is opened. What DuckDB says later depends on its version."""
    connection = duckdb.connect()
    rows = pa.RecordBatchReader.from_batches(
        pa.schema([("person", pa.int64())]), [pa.record_batch({"person": [1, 2, 3]})]
    )
    made = session(connection.from_arrow(rows))
    answers = []
    for _ in range(2):
        try:
            answers.append(made.count(epsilon=EXACT).value)
        except DataError:
            answers.append(None)
    assert answers in ([None, None], [0, 0])


def test_a_frame_changed_after_the_session_began_changes_nothing():
    frame = pd.DataFrame({"person": [1, 2, 3], "age": [30.0, 40.0, 50.0]})
    made = session(frame, od.policy.sensitive("age < 18"))
    frame.loc[:, "age"] = 3.0
    frame.loc[0, "person"] = 2
    assert made.count(epsilon=EXACT, counted="open").value == 3
    eager = pl.DataFrame({"person": [1, 2, 3]})
    made = session(eager)
    eager[0, "person"] = 2
    eager.insert_column(0, pl.Series("new", [1, 1, 1]))
    assert made.count(epsilon=EXACT).value == 3


def of_arrow(columns):
    return pa.table({name: pa.array(column) for name, column in columns.items()})


SHARED = {
    "pyarrow": of_arrow,
    "polars": pl.DataFrame,
    "polars of pyarrow": lambda columns: pl.from_arrow(of_arrow(columns)),
    "pandas": lambda columns: pd.DataFrame(columns, copy=False),
    "pandas of pyarrow": lambda columns: pd.DataFrame(
        {n: pd.Series(pd.arrays.ArrowExtensionArray(pa.array(c))) for n, c in columns.items()}
    ),
}


@pytest.mark.parametrize("make", SHARED.values(), ids=SHARED)
def test_memory_that_changes_below_a_table_changes_nothing(make):
    """NumPy's, which libraries read where it lies."""
    columns = {"person": np.array([1, 2, 3, 4]), "place": np.array([1, 1, 2, 2])}
    made = session(make(columns), od.policy.unbounded())
    columns["person"][:] = [4, 4, 3, 3]
    columns["place"][:] = 1
    told = made.count(by="place", keys=[1, 2], max_groups=2, epsilon=EXACT, on_excess="truncate")
    assert told.estimate.tolist() == [2, 2]
    assert made.count(epsilon=EXACT).value == 4


def test_a_mapped_file_that_changes_below_a_table_changes_nothing(tmp_path):
    path = tmp_path / "people.arrow"
    table = of_arrow({"person": np.arange(1000)})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table)
    with pa.memory_map(str(path)) as file:
        mapped = pa.ipc.open_file(file).read_all()
        made = session(mapped)
        start = path.read_bytes().index(np.arange(1000).tobytes())
        with path.open("r+b") as changed:
            changed.seek(start)
            changed.write(bytes(8000))
        assert len(set(mapped["person"].to_pylist())) == 1
        assert made.count(epsilon=EXACT).value == 1000


# NaN is unknown, whatever a file says of it.


def written(folder, writer, ages):
    rows = {"person": list(range(len(ages))), "age": ages}
    path = str(folder / f"{writer}.parquet")
    if writer == "pyarrow":
        pq.write_table(pa.table(rows), path, row_group_size=50)
    elif writer == "polars":
        pl.DataFrame(rows).write_parquet(path, row_group_size=50)
    else:
        relation(rows).write_parquet(path)
    return path


@pytest.mark.parametrize("reader", ["duckdb", "polars"])
@pytest.mark.parametrize("writer", ["pyarrow", "polars", "duckdb"])
def test_statistics_of_files_do_not_fold_nan_away(tmp_path, writer, reader):
    ages = [float(random.Random(place).randint(18, 90)) for place in range(200)] + [math.nan] * 20
    path = written(tmp_path, writer, ages)
    data = pl.scan_parquet(path) if reader == "polars" else duckdb.sql(f"FROM '{path}'")
    policy = od.policy.sensitive("age < 18")
    told = column(session(data, policy).sample(epsilon=40).frame, "age")
    assert len(told) == 200
    assert not any(map(math.isnan, told))
    assert session(data, policy).count(epsilon=EXACT, counted="open").value == 200
    for where, wanted in {
        "age >= 18": 200,
        "NOT (age < 18)": 200,
        "age IS NULL": 20,
        "age IS NOT NULL": 200,
    }.items():
        assert session(data).count(epsilon=EXACT, where=where).value == wanted, where
    with pytest.raises(DataError, match="no value"):
        session(data).histogram("age", bins=[0, 111], epsilon=1, max_groups=1, on_excess="error")


# The caller's catalogue is never called.


MACROS = (
    '"+"(a, b) AS 7',
    "sum(a) AS 1",
    "floor(a) AS 0",
    "abs(a) AS 0",
    "length(a) AS 0",
    "count(a) AS 5",
    "isnan(a) AS false",
    "count_star() AS 5",
    "hash(a) AS 1",
    "unnest(a) AS 1",
    "coalesce(a, b) AS 0",
)


@pytest.mark.parametrize("macro", MACROS)
def test_a_macro_of_the_callers_changes_no_answer(macro):
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT range AS id, 'ab' AS p, range::DOUBLE AS x FROM range(5)"
    )
    connection.execute(f"CREATE MACRO {macro}")
    made = session(connection.table("t"), unit="id")
    assert made.sum("x", of="units", total_bounds=(0, 10), epsilon=EXACT).value == 10
    assert made.count(epsilon=EXACT, where="abs(id) = 3").value == 1
    assert made.count(epsilon=EXACT, where="length(p) = 2").value == 5
    by = made.count(by="p", keys=["ab"], epsilon=EXACT, max_groups=1, on_excess="truncate")
    assert column(by.frame, "estimate") == [5]
    closed = session(connection.table("t"), od.policy.sensitive("length(p) = 2"), unit="id")
    assert column(closed.sample(epsilon=40).frame, "id") == []


# No engine sees a name of the caller's.


NAMES = ("^minor$", "a.b", "*", 'size 6"', "c1", "c0", "onesided_kind", "Person", "it's", "`x`")


# A relation takes names that differ by capitals for the same before we see it.
NAMED = [(e, n) for e in STARTS for n in NAMES if (e, n) != ("duckdb", "Person")]


@pytest.mark.parametrize(("engine", "name"), NAMED)
def test_a_name_is_a_name(engine, name):
    unit = "person"
    columns = {unit: [1, 2, 3], name: [3, 30, 40], "minor": [True] * 3, "age_c0": ["x", "y", "y"]}
    quoted = '"' + name.replace('"', '""') + '"'
    made = session(STARTS[engine](columns), od.policy.sensitive(f"{quoted} < 18"), unit=unit)
    told = made.count(by=name, keys=[3, 30], epsilon=EXACT, max_groups=1, counted="open")
    assert told.estimate.tolist() == [0, 1]
    assert column(told.frame, name) == [3, 30]
    assert (
        made.sum(name, of="units", total_bounds=(0, 99), epsilon=EXACT, counted="open").value == 70
    )
    bins = made.histogram(name, bins=[0, 35, 99], epsilon=EXACT, max_groups=1, counted="open")
    assert bins.estimate.tolist() == [1, 1]
    assert made.discover(by=name, epsilon=EXACT, max_groups=1).labels == [30, 40]
    found = made.ngrams(by="age_c0", order=name, n=1, epsilon=EXACT, max_groups=1)
    assert found.labels == ["y"]
    sample = made.sample(epsilon=40).frame
    assert column(sample, name) == [30, 40]
    assert column(sample, unit) == [2, 3]
    assert made.inspect(od.Count(epsilon=1)).rows == 3


def test_columns_of_the_same_name_are_refused():
    with pytest.raises(DataError, match="the name of another one"):
        Table(pa.table([[1], [2]], names=["a", "a"]))


# What a snapshot is.


@pytest.mark.parametrize("kind", _sources._EXTREMES)
def test_extreme_values_come_through_as_they_were(kind):
    assert _sources._is_kept(kind)


@pytest.mark.parametrize("kind", ["DECIMAL(38,10)", "DECIMAL(4,4)", "DECIMAL(18,0)"])
def test_decimals_come_through_as_they_were(kind):
    assert _sources._is_kept(kind)


@pytest.mark.parametrize("value", ["1::UHUGEINT", "'10:00+01'::TIMETZ", "'101'::BIT"])
def test_types_that_would_not_come_through_are_refused_by_name(value):
    data = duckdb.sql(f"SELECT 1 AS person, {value} AS x")
    with pytest.raises(DataError, match="of which nothing can be asked"):
        session(data).count(by="x", keys=[1], epsilon=1, max_groups=1)
    with pytest.raises(DataError, match="cannot be cut cleanly"):
        session(data, od.policy.sensitive("person < 0")).sample(epsilon=1)


UTC, EAST = dt.UTC, dt.timezone(dt.timedelta(hours=2))
KEYS = {
    "p": ["p1", 'it\'s "q" \\n é', "a\0b"],
    "b": [True, False],
    "d": [dt.date(2020, 1, 1), dt.date(2020, 1, 3)],
    "m": [dt.datetime(2020, 1, 1, 1), dt.datetime(2020, 1, 1, 2)],  # noqa: DTZ001
    "z": [dt.datetime(2020, 1, 1, 1, tzinfo=UTC), dt.datetime(2020, 1, 1, 4, tzinfo=EAST)],
    "h": [2**64, 1],
    "u": np.array([1, 2], dtype=np.uint8),
}


def typed(connection):
    connection.execute(
        "create table typed as select range as i, "
        "['p1', 'it''s \"q\" \\n é', 'a' || chr(0) || 'b', 'x'][1 + range % 4] as p, "
        "range % 2 = 0 as b, date '2020-01-01' + (range % 3)::int as d, "
        "timestamp '2020-01-01' + to_hours((range % 4)::int) as m, "
        "timestamptz '2020-01-01 00:00:00+00' + to_hours((range % 4)::int) as z, "
        "(range % 2)::hugeint * 18446744073709551616 as h, (range % 3)::utinyint as u "
        "from range(12)"
    )
    return connection.table("typed")


@pytest.mark.parametrize("found", ["true", "false"])
@pytest.mark.parametrize(
    ("by", "wanted"),
    [("p", [3, 3, 3]), ("b", [6, 6]), ("d", [4, 4]), ("m", [3, 3]), ("z", [3, 3]), ("h", [6, 0]),
     ("u", [4, 4])],
)  # fmt: skip
def test_keys_need_nothing_of_a_callers_connection(by, wanted, found):
    with duckdb.connect(config={"python_enable_replacements": found}) as connection:
        rows = typed(connection)
        connection.execute("create table onesided_small as select 'p1' as p, 7 as onesided_order")
        made = session(rows, od.policy.unbounded(), unit="i")
        release = made.count(by=by, keys=KEYS[by], epsilon=60, max_groups=1)
        assert [int(value) for value in release.estimate] == wanted
        assert column(release.frame, "estimate") == wanted
        assert release.frame.columns[0] == by


@pytest.mark.parametrize("found", ["true", "false"])
@pytest.mark.parametrize("unit", ["i", None])
def test_a_sample_needs_nothing_of_a_callers_connection(unit, found):
    with duckdb.connect(config={"python_enable_replacements": found}) as connection:
        rows = typed(connection)
        connection.execute("create table onesided_small as select * from typed")
        sample = session(rows, od.policy.sensitive("b"), unit=unit).sample(epsilon=60).frame
        assert column(sample, "i") == [1, 3, 5, 7, 9, 11]
        assert sample.types == rows.types


@pytest.mark.parametrize("most", [0, 2**28])
def test_what_is_too_large_to_be_left_where_it_came_is_copied(monkeypatch, most):
    """The same rows either way, and of what was read before the limit none twice or never."""
    monkeypatch.setattr(_sources, "_MOST", most)
    held = list(range(300_000))
    table = Table(relation({"person": held, "text": [str(one) for one in held]}))
    with table.take(["text", "person"]) as rows:
        assert rows.height() == 300_000
        found = rows.columns(["c1"])["c1"]
        assert sorted(found.to_list()) == held
        assert rows.rows_where(nw.col("c0") == "299999") == 1


def test_a_snapshot_is_gone_when_the_question_has_been_read():
    table = Table(relation({"person": [1, 2]}))
    with table.take(["person"]) as rows:
        frame = rows.frame
        assert rows.height() == 2
    with pytest.raises(Exception, match="does not exist"):
        frame.collect()


def test_a_column_that_was_not_taken_is_missed_aloud():
    made = session(pl.DataFrame({"person": [1], "age": [3]}))
    with made._context().taken(("person",)) as taken, pytest.raises(UnknownColumnError):
        taken.at(["age"])
    table = Table(pl.DataFrame({"person": [1], "age": [3]}))
    with table.take(["age"]) as rows:
        assert list(rows.frame.collect_schema()) == ["c0"]


def test_rows_that_do_not_fit_lie_in_a_folder_of_ours_and_leave_with_the_process(tmp_path):
    code = (
        "from onesided.engine.duckdb._condition import connected\n"
        "(folder,), = connected().sql(\"SELECT current_setting('temp_directory')\").fetchall()\n"
        "import os; print(folder, oct(os.stat(folder).st_mode & 0o777))"
    )
    left, kept = tmp_path / "onesided-rows-left", tmp_path / "onesided-rows-kept"
    for one in (left, kept):
        one.mkdir()
        (one / "lock").touch()
    with (kept / "lock").open() as lock:  # as a process does that still runs
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
    folder, mode = done.stdout.split()
    assert mode == "0o700"
    assert not Path(folder).exists()
    assert not left.exists()
    assert kept.exists()
    assert stat.S_IMODE(_condition._folder(os.getpid()).stat().st_mode) == 0o700


def test_a_connection_of_ours_takes_no_more_than_the_callers_may():
    connection = duckdb.connect(config={"threads": 1, "memory_limit": "1GiB"})
    told = _condition.connected(connection.sql("SELECT 1 AS i")).sql(
        "SELECT current_setting('threads'), current_setting('memory_limit')"
    )
    assert told.fetchall() == [(1, "1.0 GiB")]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_forked_child_refuses_at_once(engine, tmp_path):
    """What reads the table are threads, of which a child has none."""
    made = od.Session(
        STARTS[engine]({"person": [1, 2]}), policy=OPEN, budget=9, ledger=str(tmp_path / "l.db")
    )
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        try:
            made.count(epsilon=1)
        except DataError as error:
            os.write(tell, str(error).encode())
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(child, 0)
    assert b"opened before this process was forked" in os.read(told, 1000)
    assert made.spent["record -> absent"] == 0


def test_a_condition_is_checked_once_on_the_columns_that_it_names(monkeypatch):
    table, taken, take = Table(relation({"a": [1], "b": ["x"]})), [], Table.take
    monkeypatch.setattr(Table, "take", lambda *a, **k: taken.append(a[1]) or take(*a, **k))
    wanted = od.policy.Predicate.of("a > 0")
    table.require_conditions([wanted])
    table.require_conditions([od.policy.Predicate.of("a > 0")])
    assert taken == [["a"]]
    for wrong in ("c > 0", "a > 0 and c > 0", "b > 0"):
        for _ in range(2):  # what was refused is refused again
            with pytest.raises(od.errors.OnesidedError):
                table.require_conditions([wanted, od.policy.Predicate.of(wrong)])
    assert taken[1:] == [["a", "b"]] * 4 + [["b"]] * 2
    table.of_somebody("a").require_conditions([wanted])
    assert len(taken) == 8
