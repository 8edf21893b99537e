"""Connections lost at the worst moment: the outcome is found out, or counted as spent."""

import os

import pytest
from sqlalchemy import create_engine, event, text
from sqlalchemy.exc import OperationalError

from onesided import errors

EDGE = "sensitive -> open"


@pytest.fixture
def ledger(place, open_ledger):
    return open_ledger(place)


@pytest.fixture
def account(ledger, open_account):
    return open_account(ledger)


@pytest.fixture
def break_commit(ledger, monkeypatch):
    """Make commits fail: ``break_commit(times, lands=...)``, before or after they took effect."""
    dialect = ledger._store.database._engine.dialect
    honest = dialect.do_commit
    lost = dialect.loaded_dbapi.OperationalError

    def breaking(times, *, lands):
        left = [times]

        def commit(connection):
            if left[0] and lands:
                honest(connection)
            if left[0]:
                left[0] -= 1
                raise lost("server closed the connection unexpectedly")
            honest(connection)

        monkeypatch.setattr(dialect, "do_commit", commit)

    return breaking


@pytest.fixture
def break_look(ledger, monkeypatch):
    """Make the second lock from now on fail: that of the look at what became of a commit."""
    database = ledger._store.database
    honest = database.lock

    def breaking():
        locked = []

        def lock(connection):
            locked.append(connection)
            if len(locked) == 2:
                raise OperationalError("lock", None, Exception("the server is gone"))
            honest(connection)

        monkeypatch.setattr(database, "lock", lock)

    return breaking


def test_a_commit_that_landed_is_acknowledged(account, ledger, break_commit):
    break_commit(1, lands=True)
    receipt = account.spend({EDGE: "1/2"}, label="count")
    assert ledger.entries()[-1].hash == receipt.hash
    assert account.releases == 1


def test_a_commit_that_did_not_land_is_not(account, ledger, break_commit):
    break_commit(1, lands=False)
    with pytest.raises(errors.LedgerUnavailableError) as caught:
        account.spend({EDGE: "1/2"}, label="count")
    assert caught.value.values["outcome"] == "none"
    assert "nothing was recorded" in caught.value.hint
    assert len(ledger.entries()) == 1
    assert account.spend({EDGE: 1}, label="count").number == 2


@pytest.mark.parametrize("lands", [True, False])
def test_an_outcome_that_cannot_be_found_out_counts_as_spent(
    account, ledger, break_commit, break_look, lands
):
    break_commit(1, lands=lands)
    break_look()
    with pytest.raises(errors.LedgerUnavailableError, match="unknown") as caught:
        account.spend({EDGE: "1/2"}, label="count", release_id="weekly")
    assert caught.value.values == {"outcome": "unknown", "number": 2, "release_id": "weekly"}
    assert "so it counts as spent" in caught.value.reason
    assert len(ledger.entries()) == 1 + lands
    assert ledger.check().charges == lands


@pytest.mark.parametrize("lands", [True, False])
def test_what_was_seen_under_the_lock_is_final(account, ledger, break_commit, lands):
    """Letting go of the lock may fail as well."""
    break_commit(2, lands=lands)
    if lands:
        assert account.spend({EDGE: "1/2"}, label="count").number == 2
    else:
        with pytest.raises(errors.LedgerUnavailableError) as caught:
            account.spend({EDGE: "1/2"}, label="count")
        assert caught.value.values["outcome"] == "none"
    assert ledger.check().charges == lands


def test_an_answer_is_settled_the_same_way(account, break_commit):
    receipt = account.spend({EDGE: "1/2"}, label="count", release_id="weekly")
    break_commit(1, lands=True)
    account.store(receipt, b"answer", "text/plain")
    assert account.recall("weekly").payload == b"answer"


def test_an_answer_that_could_not_be_stored_can_be_stored_again(account, break_commit, break_look):
    receipt = account.spend({EDGE: "1/2"}, label="count", release_id="weekly")
    break_commit(1, lands=False)
    with pytest.raises(errors.LedgerUnavailableError) as caught:
        account.store(receipt, b"answer", "text/plain")
    assert "store it again before publishing" in caught.value.hint
    assert "Nothing was drawn" not in caught.value.hint
    break_commit(1, lands=False)
    break_look()
    with pytest.raises(errors.LedgerUnavailableError, match="whether the answer was stored"):
        account.store(receipt, b"answer", "text/plain")
    account.store(receipt, b"answer", "text/plain")
    assert account.recall("weekly").payload == b"answer"


@pytest.fixture
def server(postgres_place):
    engine = create_engine(postgres_place, isolation_level="AUTOCOMMIT")
    yield engine
    engine.dispose()


def terminate(server, pid):
    with server.connect() as other:
        other.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid})


@pytest.mark.skipif(
    not os.environ.get("ONESIDED_POSTGRES_URL"), reason="ONESIDED_POSTGRES_URL not set"
)
@pytest.mark.parametrize("moment", ["before the insertion", "at the commit"])
def test_a_server_that_drops_the_connection(
    postgres_place, server, open_ledger, open_account, moment
):
    ledger = open_ledger(postgres_place)
    account = open_account(ledger)
    engine, done = ledger._store.database._engine, []

    def drop(connection):
        if not done and connection.get_execution_options().get("onesided_mode") == "write":
            done.append(moment)
            terminate(server, connection.connection.dbapi_connection.info.backend_pid)

    def drop_at_insertion(connection, cursor, statement, *rest):
        if statement.startswith("INSERT"):
            drop(connection)

    if moment == "at the commit":
        event.listen(engine, "commit", drop)
    else:
        event.listen(engine, "before_cursor_execute", drop_at_insertion)
    with pytest.raises(errors.LedgerUnavailableError) as caught:
        account.spend({EDGE: "1/2"}, label="count")
    assert caught.value.values["outcome"] == "none"
    assert done == [moment]
    assert account.spend({EDGE: 1}, label="count").number == 2
    assert ledger.check().charges == 1


def test_a_connection_that_died_while_idle_is_replaced(
    postgres_place, server, open_ledger, open_account
):
    ledger = open_ledger(postgres_place)
    account = open_account(ledger)
    with ledger._store.database._engine.connect() as connection:
        pid = connection.connection.dbapi_connection.info.backend_pid
    terminate(server, pid)
    assert account.spend({EDGE: 1}, label="count").number == 2
