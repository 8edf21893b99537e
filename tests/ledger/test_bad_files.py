"""Files that are not ours, damaged, newer, read-only, moved, or on a full disk."""

import errno
import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import pytest

from onesided import errors
from onesided.ledger import Ledger

EDGE = "sensitive -> open"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def filled(path, open_account):
    """A closed ledger with three charges of 1/10."""
    with Ledger.open(path) as ledger:
        account = open_account(ledger)
        for turn in range(3):
            account.spend({EDGE: "1/10"}, label=f"count {turn}")
    return path


def unguarded(path):
    connection = sqlite3.connect(path)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
        connection.execute(f"DROP TRIGGER {name}")
    return connection


@pytest.mark.parametrize("content", [b"place,count\nA,1\n" * 100, b"x", b"SQLite format 3\x00" * 9])
def test_a_file_that_is_no_database(path, content):
    path.write_bytes(content)
    with pytest.raises(errors.LedgerFormatError, match="is not a ledger"):
        Ledger.open(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("where", ["", ":memory:", "sqlite:///", "sqlite:///:memory:"])
def test_a_ledger_that_would_be_forgotten_is_asked_for_by_none_alone(where):
    with pytest.raises(errors.ParameterError, match="no place for a ledger"):
        Ledger.open(where)


def test_an_empty_file_may_be_an_emptied_ledger(path):
    path.touch()
    with pytest.raises(errors.LedgerFormatError, match="empty file"):
        Ledger.open(path)


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_another_sqlite_database_is_left_alone(path, mode):
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(f"PRAGMA journal_mode = {mode}")
        other.execute("CREATE TABLE people (name TEXT)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(errors.LedgerFormatError, match="is not a ledger"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_a_ledger_without_a_table(filled):
    with unguarded(filled) as connection:
        connection.execute("DROP TABLE onesided_payloads")
    connection.close()
    with pytest.raises(errors.LedgerFormatError, match="onesided_payloads missing"):
        Ledger.open(filled)


def open_and_check(path, open_account):
    with Ledger.open(path) as ledger:
        open_account(ledger)
        ledger.check()


@pytest.mark.parametrize("pages", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("more", [1, 99, 2048, 4095])
def test_a_truncated_file(filled, open_account, pages, more):
    content = filled.read_bytes()
    left = content[: 4096 * pages + more]
    filled.write_bytes(left)
    if content.rstrip(b"\x00") == left.rstrip(b"\x00"):
        return  # only the unused end of the last page was cut off, which SQLite fills in
    with pytest.raises((errors.LedgerFormatError, errors.TamperedLedgerError)):
        open_and_check(filled, open_account)


def test_a_file_with_a_page_of_garbage(filled, open_account):
    content = bytearray(filled.read_bytes())
    for start in range(4096, len(content), 4096):
        content[start : start + 200] = os.urandom(200)
    filled.write_bytes(bytes(content))
    with pytest.raises(errors.LedgerFormatError), Ledger.open(filled) as ledger:
        open_account(ledger).spend({EDGE: "1/10"}, label="bad")


def test_a_newer_ledger_is_refused_unchanged(filled):
    with closing(sqlite3.connect(filled)) as connection, connection:
        connection.execute("INSERT INTO onesided_schema VALUES (2, 'later')")
    connection.close()
    before = filled.read_bytes()
    with pytest.raises(errors.LedgerFormatError, match=r"version 2; .* up to 1") as caught:
        Ledger.open(filled)
    assert caught.value.values == {"version": 2, "known": 1}
    assert filled.read_bytes() == before


def test_a_folder_in_place_of_a_file(tmp_path):
    with pytest.raises(errors.LedgerUnavailableError):
        Ledger.open(tmp_path)


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(errors.LedgerUnavailableError, match="does not exist"):
        Ledger.open(tmp_path / "nowhere" / "ledger.db")


def test_a_file_system_without_links(path, open_account, monkeypatch):
    def no_link(source, target):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_link)
    with Ledger.open(path) as ledger:
        open_account(ledger).spend({EDGE: "1/10"}, label="count")
        assert ledger.check().charges == 1
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_a_link_to_nowhere_and_an_odd_name(tmp_path, open_account):
    link, target = tmp_path / "link.db", tmp_path / "100% odd?name#é 'x'.db"
    link.symlink_to(target)
    for where in (link, target):
        with Ledger.open(where) as ledger:
            open_account(ledger)
            assert len(ledger.entries()) == 1
    assert sorted(tmp_path.iterdir()) == sorted([link, target])


def test_a_ledger_removed_while_open_does_not_come_back_empty(filled, open_ledger, open_account):
    account = open_account(open_ledger(filled))
    account._store.database._engine.dispose()
    filled.unlink()
    with pytest.raises(errors.LedgerUnavailableError, match="cannot be opened"):
        account.spend({EDGE: "1/10"}, label="after")
    assert not filled.exists()


READ_ONLY = """
import os, sys
from onesided import errors
from onesided.ledger import Ledger
with Ledger.open(sys.argv[1]) as ledger:
    ledger.check()  # loads all that the other user may not be able to read
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
with Ledger.open(sys.argv[1]) as ledger:
    account, = ledger.accounts()
    print(ledger.check().charges, account.remaining["sensitive -> open"])
    try:
        account.spend({"sensitive -> open": "1/10"}, label="count")
    except errors.LedgerUnavailableError as error:
        print(error.values["outcome"], "read-only" in error.reason)
try:
    Ledger.open(os.path.join(os.path.dirname(sys.argv[1]), "new.db"))
except errors.LedgerUnavailableError as error:
    print("cannot be" in error.reason)
"""


def test_a_read_only_ledger_is_read_and_not_written(filled):
    # Not below tmp_path, which only its owner may enter.
    folder = Path(tempfile.mkdtemp(prefix="onesided-"))
    try:
        copy = folder / "ledger.db"
        shutil.copy(filled, copy)
        copy.chmod(0o444)
        folder.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, copy], capture_output=True, text=True, check=False
        )
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)
    assert done.stdout.splitlines() == ["3 7/10", "none True", "True"], done.stderr


def test_a_ledger_moved_away_while_open(filled, open_ledger, open_account, tmp_path):
    account = open_account(open_ledger(filled))
    account.spend({EDGE: "1/10"}, label="before")
    filled.rename(tmp_path / "elsewhere.db")
    with pytest.raises(errors.LedgerUnavailableError, match="moved or removed"):
        account.spend({EDGE: "1/10"}, label="after")


def test_an_older_copy_put_back_while_open(filled, open_ledger, open_account):
    older = filled.read_bytes()
    account = open_account(open_ledger(filled))
    account.spend({EDGE: "6/10"}, label="before")
    filled.write_bytes(older)
    with pytest.raises(errors.TamperedLedgerError) as caught:
        account.spend({EDGE: "1/10"}, label="after")
    assert caught.value.values["number"] == 5


def test_a_change_to_wal_is_undone(filled, open_ledger, open_account):
    connection = sqlite3.connect(filled)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    open_account(open_ledger(filled)).spend({EDGE: "1/10"}, label="count")
    assert [item.name for item in filled.parent.iterdir()] == [filled.name]


def test_a_ledger_in_use_is_waited_for_only_so_long(filled, open_ledger, open_account):
    account = open_account(open_ledger(filled, timeout="0.05"))
    other = sqlite3.connect(filled, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(errors.LedgerUnavailableError, match="in use") as caught:
        account.spend({EDGE: "1/10"}, label="count")
    assert caught.value.values["outcome"] == "none"
    other.execute("ROLLBACK")
    other.close()
    assert account.spend({EDGE: "1/10"}, label="count").number == 5


def test_a_reader_waits_for_a_commit_only_so_long(filled, open_ledger):
    ledger = open_ledger(filled, timeout="0.05")
    other = sqlite3.connect(filled, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(errors.LedgerUnavailableError, match="in use: others held it") as caught:
        ledger.head()
    assert "locked" not in str(caught.value)
    with pytest.raises(errors.LedgerUnavailableError, match="in use"):
        open_ledger(filled, timeout="0.05")
    other.close()
    assert ledger.check().entries == 4


def test_a_commit_waits_for_readers_and_is_not_lost(filled, open_ledger, open_account):
    account = open_account(open_ledger(filled, timeout="0.05"))
    other = sqlite3.connect(filled, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM onesided_entries").fetchone()
    with pytest.raises(errors.LedgerUnavailableError, match="in use") as caught:
        account.spend({EDGE: "1/10"}, label="count")
    assert caught.value.values["outcome"] == "none"
    reader = threading.Timer(0.3, other.close)
    patient = open_account(open_ledger(filled), record=False)
    reader.start()
    assert patient.spend({EDGE: "1/10"}, label="count").number == 5
    reader.join()


def test_a_writer_steps_back_for_those_who_wait(filled, open_ledger, open_account, monkeypatch):
    account = open_account(open_ledger(filled))
    slept = []
    monkeypatch.setattr("onesided.store.sqlite.time.sleep", slept.append)
    account.spend({EDGE: "1/10"}, label="count")
    assert slept == []
    folder = os.open(filled.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_SH)
    account.spend({EDGE: "1/10"}, label="count")
    os.close(folder)  # as when a process that waits is killed
    account.spend({EDGE: "1/10"}, label="count")
    assert slept == [0.02]


FULL = """
import resource, sys
from onesided import errors
from onesided.ledger import Ledger
with Ledger.open(sys.argv[1]) as ledger:
    account, = ledger.accounts()
    size = __import__("os").path.getsize(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    acknowledged = []
    try:
        while True:
            receipt = account.spend({"sensitive -> open": "1/100000"}, label="x" * 500)
            acknowledged.append(receipt.number)
    except errors.LedgerUnavailableError as error:
        print(error.values["outcome"], error.hint.endswith("nothing was recorded."))
    print(acknowledged[-1], len(ledger.entries()), ledger.check().entries)
"""


def test_a_disk_that_fills_up_while_recording(filled):
    done = subprocess.run(
        [sys.executable, "-c", FULL, filled], capture_output=True, text=True, check=True
    )
    said, counts = done.stdout.splitlines()
    last, entries, checked = map(int, counts.split())
    assert said == "none True"
    assert last == entries == checked > 4


def test_a_database_at_its_page_limit(filled, open_ledger, open_account):
    ledger = open_ledger(filled)
    account = open_account(ledger)
    with ledger._store.database._engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")  # held at the present size
    acknowledged = []
    with pytest.raises(errors.LedgerUnavailableError, match="no space is left") as caught:
        spend_until_refused(account, acknowledged)
    assert caught.value.values["outcome"] == "none"
    entries = ledger.entries()
    assert ledger.check().entries == len(entries) == 4 + len(acknowledged)
    assert [entry.number for entry in entries[4:]] == acknowledged


def spend_until_refused(account, acknowledged):
    while True:
        acknowledged.append(account.spend({EDGE: "1/10000"}, label="x" * 500).number)
