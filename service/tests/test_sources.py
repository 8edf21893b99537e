"""Rows from every source: checked once, asked as they were then, refused when they are others."""

import os
import secrets
from pathlib import Path

import pytest
import sqlalchemy

import onesided as od
from onesided import errors, policy

pytest.importorskip("fastapi")
duckdb = pytest.importorskip("duckdb")

EXACT = 90  # the noise is zero in all but e^-90 of the draws
ROWS = (
    "SELECT i // 2 AS person, ['gym', 'bar', 'inn'][i % 3 + 1] AS place, 20 + i % 50 AS age, "
    "i / 4::DOUBLE AS hours, DATE '2026-01-01' + i::INT AS day FROM range({rows}) t(i)"
)
SCHEMA = od.Schema(
    unit="person",
    columns={
        "person": od.column("integer"),
        "place": od.column("text", keys=["gym", "bar", "inn"]),
        "age": od.column("integer", bounds=(0, 110)),
        "hours": od.column("number", bounds=(0, 24), step="1/4"),
        "day": od.column("date"),
    },
)
SPARK = pytest.param("spark", marks=pytest.mark.xdist_group("spark"))


class Files:
    """Parquet that DuckDB reads."""

    config = 'data = "visits.parquet"'

    def __init__(self, folder):
        self.folder = folder

    def write(self, rows=60):
        self._write(self.folder / "visits.parquet", ROWS.format(rows=rows))

    def _write(self, path, query):
        duckdb.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


class Folder(Files):
    """Parquet files of one folder, which Spark reads."""

    config = 'data = "visits"\nengine = "spark"\nseconds = 60'

    def write(self, rows=60):
        (self.folder / "visits").mkdir(exist_ok=True)
        (self.folder / "visits" / "_SUCCESS").touch()
        query = ROWS.format(rows=rows)
        for part in range(3):
            file = self.folder / "visits" / f"part-{part}.parquet"
            self._write(file, f"SELECT * FROM ({query}) WHERE age % 3 = {part}")


class Table:
    """A table of PostgreSQL, each worker's as it was at one instant."""

    def __init__(self, url):
        self.config = f'data = "{url}"\ntable = "visits"'
        self._engine = sqlalchemy.create_engine(
            url.partition("?")[0], poolclass=sqlalchemy.NullPool
        )
        self._schema = url.partition("?schema=")[2]

    def write(self, rows=60):
        place = f'"{self._schema}".visits'
        held = duckdb.sql(f"SELECT * FROM ({ROWS.format(rows=rows)}) ORDER BY random()").fetchall()
        with self._engine.begin() as connection:
            connection.execute(
                sqlalchemy.text(
                    f"CREATE TABLE IF NOT EXISTS {place} (person bigint, place text, age bigint, "
                    "hours double precision, day date, note text)"
                )
            )
            connection.execute(sqlalchemy.text(f"DELETE FROM {place}"))
            names = ("person", "place", "age", "hours", "day")
            connection.execute(
                sqlalchemy.text(
                    f"INSERT INTO {place} VALUES (:person, :place, :age, :hours, :day)"
                ),
                [dict(zip(names, row, strict=True)) for row in held],
            )

    def end_connections(self):
        """As when the server restarts: every transaction but ours is lost."""
        with self._engine.begin() as connection:
            connection.execute(
                sqlalchemy.text(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE pid <> pg_backend_pid() "
                    f"AND relation = '\"{self._schema}\".visits'::regclass"
                )
            )


@pytest.fixture(params=["files", SPARK, "postgres"])
def source(request, tmp_path):
    if request.param == "spark":
        request.getfixturevalue("spark")
    if request.param == "postgres":
        return request.getfixturevalue("table")
    return {"files": Files, "spark": Folder}[request.param](tmp_path)


@pytest.fixture
def table():
    url = os.environ.get("ONESIDED_POSTGRES_URL")
    if not url:
        pytest.skip("no PostgreSQL: set ONESIDED_POSTGRES_URL")
    pytest.importorskip("ibis")
    schema = f"rows_{secrets.token_hex(6)}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(f"CREATE SCHEMA {schema}"))
    yield Table(f"{url}?schema={schema}")
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(f"DROP SCHEMA {schema} CASCADE"))
    engine.dispose()


@pytest.fixture
def worker(source, tmp_path):
    from onesided_service._datasets import Dataset
    from onesided_service._store import State

    source.write()
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml())
    (tmp_path / "policy.toml").write_text(policy.presence(max_groups=2).to_toml())
    config = read(source.config, tmp_path)
    state, made = State.open(str(tmp_path / "service.db")), []

    def worker():
        made.append(Dataset(config.datasets["visits"], config, state, None))
        return made[-1]

    yield worker
    for one in made:
        one.finish()
    state.close()


@pytest.fixture
def dataset(worker):
    return worker()


def read(lines, folder):
    from onesided_service import ServiceConfig

    text = f'[datasets.visits]\n{lines}\nschema = "schema.toml"\npolicy = "policy.toml"\n'
    return ServiceConfig.from_toml(f"{text}budget = 10_000\n", folder=Path(folder))


def ask(dataset, question):
    from dataclasses import replace

    session = dataset.session()
    charged = replace(question, id=f"asked {session.account.standing().spent}")
    session.charge(charged, elsewhere=True)
    return dataset.answer(charged)


def test_answers_are_those_of_the_rows(dataset):
    assert dataset.check()["rows"] == 60
    dataset.warm()
    assert ask(dataset, od.Count(epsilon=EXACT)).value == 30
    by_place = ask(dataset, od.Count(by="place", epsilon=EXACT))
    assert list(by_place.estimate) == [20, 20, 20]
    late = od.Count(where="day >= DATE '2026-02-01' and hours < 12.5", epsilon=EXACT)
    assert ask(dataset, late).value == 10
    assert abs(ask(dataset, od.session.Mean("age", missing="drop", epsilon=EXACT)).value - 41.2) < 1
    assert (
        ask(
            dataset, od.session.Sum("hours", of="rows", max_rows=2, missing="drop", epsilon=EXACT)
        ).value
        > 0
    )


def test_other_rows_are_never_asked_until_they_are_checked(dataset, worker, source):
    dataset.check()
    assert ask(dataset, od.Count(epsilon=EXACT)).value == 30
    source.write(rows=80)
    for one in (dataset, worker()):
        if one is dataset and isinstance(source, Table):
            assert ask(one, od.Count(epsilon=EXACT)).value == 30  # as they were at its instant
            continue
        with pytest.raises(errors.DataError, match="not the one"):
            ask(one, od.Count(epsilon=EXACT))
    with pytest.raises(errors.DataError, match="have changed since they were checked"):
        dataset.reopen()
    assert dataset.check()["rows"] == 80
    assert ask(dataset, od.Count(epsilon=EXACT)).value == 40


def test_the_same_rows_written_again_are_opened_again(dataset, worker, source):
    dataset.check()
    source.write()
    if not isinstance(source, Table):  # which tells rows by what they hold
        with pytest.raises(errors.DataError):
            ask(dataset, od.Count(epsilon=EXACT))
    dataset.reopen()
    assert ask(dataset, od.Count(epsilon=EXACT)).value == 30
    assert ask(worker(), od.Count(epsilon=EXACT)).value == 30


@pytest.mark.parametrize("source", ["postgres"], indirect=True)
def test_a_lost_connection_is_made_anew_to_the_same_rows_alone(dataset, source):
    dataset.check()
    assert ask(dataset, od.Count(epsilon=EXACT)).value == 30
    source.end_connections()
    assert ask(dataset, od.Count(epsilon=EXACT)).value == 30
    source.end_connections()
    source.write(rows=62)
    with pytest.raises(errors.DataError, match="not the one"):
        ask(dataset, od.Count(epsilon=EXACT))


@pytest.mark.parametrize("source", ["postgres"], indirect=True)
def test_errors_of_a_table_tell_no_password(tmp_path, source):
    from onesided_service._datasets import Dataset
    from onesided_service._store import State

    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml())
    (tmp_path / "policy.toml").write_text(policy.addition_only().to_toml())
    lines = 'data = "postgresql://ann:secret@127.0.0.1:9/none"\ntable = "visits"'
    found = read(lines, tmp_path)
    state = State.open(str(tmp_path / "service.db"))
    with pytest.raises(errors.DataError, match="Cannot read the table") as error:
        Dataset(found.datasets["visits"], found, state, None).check()
    assert "secret" not in str(error.value)
    state.close()


def test_a_check_of_rows_without_a_unit_opens_nothing(dataset, source, monkeypatch):
    nobody = ROWS.replace("i // 2 AS person", "nullif(i // 2, 3) AS person")
    monkeypatch.setitem(globals(), "ROWS", nobody)
    source.write()
    with pytest.raises(errors.DataError, match="no value in the unit column"):
        dataset.check()
    assert not dataset.open


@pytest.mark.parametrize(
    ("config", "wrong"),
    [
        ('data = "none.parquet"', "No such file"),
        ('data = "v*.parquet"', "No such file"),
        ('data = "none"\nengine = "spark"', "is no .parquet file"),
        ('data = "schema.toml"', "is no .parquet file"),
        ('data = "."\nengine = "spark"', "is no .parquet file"),
    ],
)
def test_what_is_no_source_is_refused(config, wrong, tmp_path):
    from onesided_service._datasets import Dataset
    from onesided_service._store import State

    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml())
    (tmp_path / "policy.toml").write_text(policy.addition_only().to_toml())
    found = read(config, tmp_path)
    state = State.open(str(tmp_path / "service.db"))
    with pytest.raises(errors.OnesidedError, match=wrong):
        Dataset(found.datasets["visits"], found, state, None).check()
    state.close()


def test_an_unknown_engine_is_refused(tmp_path):
    with pytest.raises(errors.ParameterError, match="One of duckdb, spark"):
        read('data = "v"\nengine = "pandas"', tmp_path)
