"""The ledger's tables are found in the schema that is named, by a role that may read and add."""

import secrets

import pytest
from sqlalchemy import create_engine, make_url

from onesided import errors
from onesided.ledger import Ledger

EDGE = "sensitive -> open"


@pytest.fixture
def server(postgres_place):
    """An engine of the owner, the name of an empty schema, and a URL without one."""
    engine = create_engine(postgres_place, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        schema = connection.exec_driver_sql("SELECT current_schema()").scalar()
    yield engine, schema, postgres_place.partition("?")[0]
    engine.dispose()


def run(engine, *statements):
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def test_a_search_path_does_not_lead_the_ledger_astray(server, open_account):
    """A schema that comes first on the role's path holds a ledger with more left to spend."""
    engine, schema, plain = server
    decoy, role = f"decoy_{secrets.token_hex(4)}", f"led_{secrets.token_hex(4)}"
    run(
        engine,
        f"CREATE SCHEMA {decoy}",
        f"CREATE ROLE {role} LOGIN SUPERUSER",
        f"ALTER ROLE {role} SET search_path = {decoy}",
    )
    url = make_url(plain).set(username=role).render_as_string(hide_password=False)
    try:
        with Ledger.open(f"{plain}?schema={decoy}") as ledger:
            open_account(ledger)
        with Ledger.open(f"{url}?schema={schema}") as ledger:
            open_account(ledger).spend({EDGE: 1}, label="all of it")
        with Ledger.open(f"{url}?schema={schema}", create=False) as ledger:
            assert len(ledger.entries()) == 2
            with pytest.raises(errors.BudgetExceededError):
                open_account(ledger).spend({EDGE: "1/10"}, label="more")
        with Ledger.open(f"{url}?schema={decoy}", create=False) as ledger:
            assert len(ledger.entries()) == 1
    finally:
        run(
            engine,
            f"DROP SCHEMA {decoy} CASCADE",
            f"DROP OWNED BY {role} CASCADE",
            f"DROP ROLE {role}",
        )


def test_an_unnamed_schema_does_not_start_a_second_ledger(server, open_account):
    _, schema, plain = server
    with Ledger.open(f"{plain}?schema={schema}") as ledger:
        open_account(ledger)
    for create in (True, False):
        with pytest.raises(errors.LedgerFormatError, match="schema 'public' holds no ledger") as at:
            Ledger.open(plain, create=create)
        assert "?schema=" in at.value.hint


def test_a_schema_that_is_not_there(server, open_account):
    *_, plain = server
    with Ledger.open(f"{plain}?schema=nowhere_{secrets.token_hex(4)}") as ledger:
        account = open_account(ledger, record=False)
        with pytest.raises(errors.LedgerUnavailableError, match="no such schema"):
            account.spend({EDGE: "1/2"}, label="x")


def test_a_schema_with_an_odd_name(server, open_account):
    engine, _, plain = server
    odd = f'Odd "name" {secrets.token_hex(4)}'
    quoted = '"' + odd.replace('"', '""') + '"'
    run(engine, f"CREATE SCHEMA {quoted}")
    try:
        url = make_url(plain).update_query_dict({"schema": odd})
        with Ledger.open(url.render_as_string(hide_password=False)) as ledger:
            open_account(ledger).spend({EDGE: "1/2"}, label="x")
            assert ledger.check().charges == 1
    finally:
        run(engine, f"DROP SCHEMA {quoted} CASCADE")


def test_the_least_privileged_role(server, open_account):
    """As docs/ledger.md says: it reads and adds; it makes, changes and removes nothing."""
    engine, schema, plain = server
    role = f"spender_{secrets.token_hex(4)}"
    with Ledger.open(f"{plain}?schema={schema}") as ledger:
        ledger.make()
    run(
        engine,
        f"CREATE ROLE {role} LOGIN",
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT SELECT, INSERT ON {schema}.onesided_entries, {schema}.onesided_payloads TO {role}",
        f"GRANT SELECT ON {schema}.onesided_schema TO {role}",
    )
    url = make_url(plain).set(username=role)
    theirs = create_engine(url, isolation_level="AUTOCOMMIT")
    try:
        with Ledger.open(f"{url.render_as_string(hide_password=False)}?schema={schema}") as ledger:
            account = open_account(ledger)
            account.store(account.spend({EDGE: "1/2"}, label="x"), b"answer", "text/plain")
            assert ledger.check().stored == 1
        for statement in (
            f"UPDATE {schema}.onesided_entries SET label = 'y'",
            f"DELETE FROM {schema}.onesided_payloads",
            f"TRUNCATE {schema}.onesided_entries CASCADE",
            f"DROP TABLE {schema}.onesided_payloads",
            f"ALTER TABLE {schema}.onesided_entries DISABLE TRIGGER ALL",
            f"INSERT INTO {schema}.onesided_schema VALUES (9, 'later')",
            f"CREATE TABLE {schema}.onesided_more (x int)",
        ):
            with pytest.raises(Exception, match=r"permission denied|must be owner"):
                run(theirs, statement)
    finally:
        theirs.dispose()
        run(engine, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_password_comes_from_a_file(server, tmp_path, monkeypatch, open_account):
    """libpq reads PGPASSFILE and PGPASSWORD; the URL needs none."""
    *_, plain = server
    monkeypatch.setenv("PGPASSWORD", "from the environment")
    with Ledger.open(f"{plain}?schema={server[1]}") as ledger:
        open_account(ledger)
        assert "environment" not in repr(ledger)
        assert "***" not in repr(ledger)
