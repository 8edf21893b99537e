"""Append-only guards, and what loads when."""

import secrets
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from sqlalchemy import create_engine, make_url

from onesided import errors
from onesided.ledger import Ledger

EDGE = "sensitive -> open"

FORBIDDEN = [
    "UPDATE onesided_entries SET label = 'other'",
    "DELETE FROM onesided_entries",
    "UPDATE onesided_payloads SET content = content",
    "DELETE FROM onesided_payloads",
    "UPDATE onesided_schema SET version = 9",
    "DELETE FROM onesided_schema",
]

# These delete without firing DELETE triggers, unless the insertion is refused itself.
REPLACING = [
    "INSERT OR REPLACE INTO onesided_entries SELECT * FROM onesided_entries WHERE number = 2",
    "INSERT OR REPLACE INTO onesided_payloads VALUES (2, 'other')",
    "INSERT OR REPLACE INTO onesided_entries SELECT number + 2, format, time, kind, policy_id, "
    "release_id, label, detail, epsilon, delta, total_epsilon, total_delta, releases, nonce, "
    "previous, hash FROM onesided_entries WHERE number = 2",
    "INSERT INTO onesided_entries SELECT number + 7, format, time, kind, policy_id, 'new', label, "
    "detail, epsilon, delta, total_epsilon, total_delta, releases, nonce, previous, hash "
    "FROM onesided_entries WHERE number = 2",
]


@pytest.fixture
def filled(tmp_path, open_account):
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        account = open_account(ledger)
        account.store(account.spend({EDGE: "1/10"}, label="count"), b"answer", "text/plain")
    return path


@pytest.mark.parametrize("statement", FORBIDDEN + REPLACING)
def test_sqlite_refuses_to_change_rows(filled, statement):
    before = filled.read_bytes()
    connection = sqlite3.connect(filled)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()
    assert filled.read_bytes() == before


def test_postgres_refuses_to_change_rows(postgres_place, open_account):
    with Ledger.open(postgres_place) as ledger:
        account = open_account(ledger)
        account.store(account.spend({EDGE: "1/10"}, label="count"), b"answer", "text/plain")
        engine = create_engine(postgres_place)
        for statement in (*FORBIDDEN, "TRUNCATE onesided_entries CASCADE"):
            with engine.connect() as connection, pytest.raises(Exception, match="append-only"):
                connection.exec_driver_sql(statement)
        engine.dispose()
        assert ledger.check().stored == 1


def test_a_postgres_role_that_may_only_read_and_add_can_spend(postgres_place, open_account):
    role = f"spender_{secrets.token_hex(4)}"
    with Ledger.open(postgres_place) as ledger:
        ledger.make()
    engine = create_engine(postgres_place)
    with engine.begin() as connection:
        (schema,) = connection.exec_driver_sql("SELECT current_schema()").one()
        for statement in (
            f"CREATE ROLE {role} LOGIN",
            f"GRANT USAGE ON SCHEMA {schema} TO {role}",
            f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO {role}",
        ):
            connection.exec_driver_sql(statement)
    theirs = make_url(postgres_place).set(username=role).render_as_string(hide_password=False)
    with Ledger.open(theirs) as ledger:
        account = open_account(ledger)
        account.store(account.spend({EDGE: "1/10"}, label="count"), b"answer", "text/plain")
        assert ledger.check().stored == 1
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP OWNED BY {role}")
        connection.exec_driver_sql(f"DROP ROLE {role}")
    engine.dispose()


def test_missing_guards_are_reported(filled):
    connection = sqlite3.connect(filled)
    connection.execute("DROP TRIGGER onesided_entries_no_update")
    connection.close()
    with (
        Ledger.open(filled) as ledger,
        pytest.raises(errors.TamperedLedgerError, match="append-only triggers") as caught,
    ):
        ledger.check()
    assert caught.value.values["number"] is None


def test_missing_guards_are_reported_by_postgres(postgres_place):
    with Ledger.open(postgres_place) as ledger:
        ledger.make()
        ledger.check()
        engine = create_engine(postgres_place)
        with engine.begin() as connection:
            connection.exec_driver_sql("ALTER TABLE onesided_entries DISABLE TRIGGER ALL")
        engine.dispose()
        with pytest.raises(errors.TamperedLedgerError, match="append-only triggers"):
            ledger.check()


# What drops every new row without an error.
IGNORING = "CREATE TRIGGER quiet BEFORE INSERT ON onesided_entries BEGIN SELECT RAISE(IGNORE); END"


def test_a_row_that_the_store_drops_is_no_charge(filled, open_account):
    """A receipt says that the charge is on record: so the row is looked at before it is told."""
    connection = sqlite3.connect(filled)
    connection.execute(IGNORING)
    connection.close()
    with Ledger.open(filled) as ledger:
        account = open_account(ledger)
        with pytest.raises(errors.TamperedLedgerError, match="did not keep it"):
            account.spend({EDGE: "1/10"}, label="count")
        with pytest.raises(errors.TamperedLedgerError, match="not its own"):
            ledger.check()


@pytest.mark.parametrize(
    "kept",
    ["SELECT RAISE(IGNORE)", "INSERT INTO onesided_payloads VALUES (NEW.charge, X'00')"],
    ids=["dropped", "changed"],
)
def test_an_answer_that_the_store_does_not_keep_is_not_told_as_stored(filled, open_account, kept):
    """A foreign trigger on the answers: what was charged stays charged, nothing is published."""
    with closing(sqlite3.connect(filled)) as connection:
        last = "; SELECT RAISE(IGNORE)" if kept.startswith("INSERT") else ""
        connection.execute(
            "CREATE TRIGGER quiet BEFORE INSERT ON onesided_payloads "
            f"WHEN length(NEW.content) > 1 BEGIN {kept}{last}; END"
        )
    with Ledger.open(filled) as ledger:
        account = open_account(ledger)
        receipt = account.spend({EDGE: "1/10"}, label="count", release_id="mine")
        with pytest.raises(errors.TamperedLedgerError, match="did not keep it"):
            account.store(receipt, b"the answer", "text/plain")
        with closing(sqlite3.connect(filled)) as connection:
            connection.execute("DROP TRIGGER quiet")
        account.store(receipt, b"the answer", "text/plain")
        assert account.recall("mine").payload == b"the answer"


def test_each_row_of_a_charge_is_looked_at(tmp_path, open_account):
    """The first charge opens the account: a store that drops that row alone keeps nothing."""
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        ledger.make()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TRIGGER quiet BEFORE INSERT ON onesided_entries WHEN NEW.number = 1 "
            "BEGIN SELECT RAISE(IGNORE); END"
        )
    with Ledger.open(path) as ledger, pytest.raises(errors.LedgerError):
        open_account(ledger).spend({EDGE: "1/10"}, label="count")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM onesided_entries").fetchone() == (0,)


@pytest.mark.parametrize(
    "statements",
    [
        (
            "CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RETURN NULL; END $$",
            "CREATE TRIGGER quiet BEFORE INSERT ON onesided_entries "
            "FOR EACH ROW EXECUTE FUNCTION quiet()",
        ),
        ("CREATE RULE quiet AS ON INSERT TO onesided_entries DO INSTEAD NOTHING",),
    ],
)
def test_a_row_that_postgres_drops_is_no_charge(postgres_place, open_account, statements):
    engine = create_engine(postgres_place)
    with Ledger.open(postgres_place) as ledger:
        account = open_account(ledger)
        account.spend({EDGE: "1/10"}, label="count")
        with engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
        engine.dispose()
        with pytest.raises(errors.TamperedLedgerError, match="did not keep it"):
            account.spend({EDGE: "1/10"}, label="count")
        with pytest.raises(errors.TamperedLedgerError, match="not its own"):
            ledger.check()


LIGHT = """
import sys
import onesided.ledger
loaded = [name for name in ("sqlalchemy", "sqlite3", "psycopg") if name in sys.modules]
print(loaded)
onesided.ledger.Ledger.open().close()
print("sqlalchemy" in sys.modules, "psycopg" in sys.modules)
"""


def test_importing_the_ledger_loads_no_database_library():
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "True False"]
