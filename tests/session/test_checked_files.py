"""Files that were checked once are not read again to be checked, while they stay as they are."""

import os

import duckdb
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.engine.duckdb._engine import DuckDBEngine
from onesided.engine.kit import OfFiles
from onesided.store import CheckedFiles, _paths

SCHEMA = od.Schema(
    unit="person", columns={"person": od.column("integer"), "age": od.column("integer")}
)
HOMES = od.policy.view("age < 18", over="home", members=2)


@pytest.fixture(autouse=True)
def later(monkeypatch):
    """Files were written long ago: a minute passes before each look."""
    real = _paths.time.time_ns
    monkeypatch.setattr(_paths.time, "time_ns", lambda: real() + 60 * 10**9)


@pytest.fixture
def looks(monkeypatch):
    """Which columns were looked at, with rows, and whether with the texts that were read."""
    found, real = [], DuckDBEngine.snapshot

    def snapshot(engine, columns, how):
        if how.rows:
            found.append((tuple(columns), how.texts))
        return real(engine, columns, how)

    monkeypatch.setattr(DuckDBEngine, "snapshot", snapshot)
    return found


class Visits:
    """A Parquet file, and sessions over it with one ledger beside it."""

    def __init__(self, folder):
        self.path, self.ledger = folder / "visits.parquet", folder / "ledger.db"
        self.write([1, 2, 2], [7, 40, 40], ["a", "b", "b"])

    def write(self, person, age, home):
        pl.DataFrame({"person": person, "age": age, "home": home}).write_parquet(self.path)

    def open(self, policy=None, *, schema=SCHEMA, beside=True):
        files = CheckedFiles([self.path], self.ledger if beside else None)
        data = OfFiles(duckdb.read_parquet(str(self.path)), files)
        policy = policy or od.policy.presence(max_groups=2)
        more = {"further": True, "budget": 10**3, "ledger": self.ledger}
        unit = None if schema else "person"
        return od.Session(data, unit=unit, schema=schema, policy=policy, **more), files

    def asked(self, *given, **more):
        """What a run of the command line does."""
        session, files = self.open(*given, **more)
        release = session.count(epsilon=90)
        files.save()
        return release.estimate.tolist()


@pytest.fixture
def visits(tmp_path):
    return Visits(tmp_path)


def test_the_second_opening_reads_nothing(visits, looks):
    assert visits.asked() == [2]
    assert looks == [(("person",), True), (("person",), False)]
    looks.clear()
    assert visits.asked() == [2]
    assert looks == [(("person",), False)]


def test_a_file_that_changed_is_checked_anew(visits, looks):
    visits.asked()
    visits.write([1, None], [7, 40], ["a", "b"])
    with pytest.raises(errors.DataError, match="no value in the unit column"):
        visits.open()
    visits.write([1, 2, 3], [7, 40, 50], ["a", "b", "c"])
    looks.clear()
    assert visits.asked() == [3]
    assert looks[0] == (("person",), True)


def test_a_change_between_opening_and_question_is_checked_before_the_charge(visits, looks):
    visits.asked()
    session, _ = visits.open()
    spent = dict(session.spent)
    visits.write([1, None], [7, 40], ["a", "b"])
    with pytest.raises(errors.DataError, match=r"unit column|could not be read"):
        session.count(epsilon=1)
    assert dict(session.spent) == spent


def test_a_change_while_it_is_read_costs_nothing(visits, monkeypatch):
    visits.asked()
    session, _ = visits.open()
    spent, real = dict(session.spent), DuckDBEngine.snapshot

    def snapshot(engine, columns, how):
        os.utime(visits.path)
        return real(engine, columns, how)

    monkeypatch.setattr(DuckDBEngine, "snapshot", snapshot)
    with pytest.raises(errors.DataError, match="changed while they were read"):
        session.count(epsilon=1)
    assert dict(session.spent) == spent


def test_another_schema_policy_or_version_is_checked_anew(visits, looks, monkeypatch):
    visits.asked()
    required = {**SCHEMA.columns, "age": od.column("integer", required=True)}
    stricter = od.Schema(unit="person", columns=required)
    for policy, schema in (
        (od.policy.presence(max_groups=1), SCHEMA),
        (HOMES, SCHEMA),
        (None, stricter),
        (None, None),
    ):
        looks.clear()
        visits.open(policy, schema=schema)
        assert looks, (policy, schema)
    looks.clear()
    monkeypatch.setattr("onesided.session._context._CHECKS", 2)
    visits.open()
    assert looks


def test_homes_are_held_to_once(visits, looks):
    visits.asked(HOMES)
    looks.clear()
    visits.open(HOMES)
    assert looks == []
    visits.write([1, 1], [7, 40], ["a", "b"])
    with pytest.raises(errors.DataError, match="more than one value in 'home'"):
        visits.open(HOMES)


def test_without_a_place_beside_a_ledger_each_opening_checks(visits, looks):
    for _ in range(2):
        looks.clear()
        visits.asked(beside=False)
        assert looks[0] == (("person",), True)


def test_what_was_refused_is_not_known(visits):
    visits.asked()
    visits.write([1, None], [7, 40], ["a", "b"])
    for _ in range(2):
        with pytest.raises(errors.DataError):
            visits.open()[1].save()
