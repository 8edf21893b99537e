"""What is kept of files that were checked: told of the same files alone, to their owner alone."""

import json
import os
from pathlib import Path

import pytest

from onesided.store import CheckedFiles

FACTS = {"schema": "s", "version": [1]}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("person\n1\n")
    Path(tmp_path / "ledger.db").touch()
    return path


@pytest.fixture(autouse=True)
def later(monkeypatch):
    """Files were written long ago: a minute passes before each look."""
    from onesided.store import _paths

    real = _paths.time.time_ns
    monkeypatch.setattr(_paths.time, "time_ns", lambda: real() + 60 * 10**9)


def opened(table):
    return CheckedFiles([table], table.with_name("ledger.db"))


def kept(table):
    first = opened(table)
    first.learn(FACTS)
    first.save()
    return table.with_name("ledger.db.checked")


def test_what_was_found_is_known_of_the_same_files(table):
    place = kept(table)
    assert opened(table).knows(FACTS)
    assert place.stat().st_mode & 0o777 == 0o600
    for other in ({**FACTS, "schema": "t"}, {**FACTS, "version": [2]}, {}):
        assert not opened(table).knows(other)


def test_nothing_of_rows_is_kept(table):
    (entry,) = json.loads(kept(table).read_text())
    assert entry["facts"] == FACTS
    assert entry.keys() == {"files", "facts"}
    assert len(entry["files"]) == 64


@pytest.mark.parametrize("times", [False, True])
def test_a_changed_byte_is_seen_whatever_the_times_say(table, times):
    kept(table)
    held = table.stat()
    running = opened(table)
    assert running.same()
    table.write_text("person\n2\n")
    if times:
        os.utime(table, ns=(held.st_atime_ns, held.st_mtime_ns))
    assert not running.same()
    assert not opened(table).knows(FACTS)


def test_another_file_of_the_same_name_is_another(table):
    kept(table)
    other = table.with_name("other.csv")
    other.write_bytes(table.read_bytes())
    other.replace(table)
    assert not opened(table).knows(FACTS)


def test_a_link_that_points_elsewhere_is_seen(table):
    link, other = table.with_name("link.csv"), table.with_name("other.csv")
    other.write_bytes(table.read_bytes())
    link.symlink_to(table)
    running = opened(link)
    link.unlink()
    link.symlink_to(other)
    assert not running.same()


def test_a_file_that_was_just_written_is_not_known(table, monkeypatch):
    monkeypatch.undo()
    running = opened(table)
    assert not running.same()
    running.learn(FACTS)
    running.save()
    assert not table.with_name("ledger.db.checked").exists()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda place: place.write_text("{"),
        lambda place: place.write_text("[" * 10**5),
        lambda place: place.write_text('{"files": 1}'),
        lambda place: place.write_bytes(b"\xff"),
        lambda place: place.write_text(place.read_text().replace('"s"', '"r"')),
        lambda place: place.write_text(place.read_text() + " " * 2**21),
        lambda place: place.chmod(0o644),
        lambda place: place.chmod(0o620),
        lambda place: (place.rename(place.with_name("x")), place.symlink_to(place.with_name("x"))),
        lambda place: (place.unlink(), os.mkfifo(place, 0o600)),
        lambda place: (place.unlink(), place.mkdir()),
    ],
)
def test_what_cannot_be_trusted_is_as_nothing(table, spoil):
    spoil(kept(table))
    assert not opened(table).knows(FACTS)


def test_what_cannot_be_written_is_not_kept(table, monkeypatch):
    def refused(*_, **__):
        raise PermissionError

    from onesided.store import _paths

    monkeypatch.setattr(_paths, "replace_file", refused)
    kept(table)
    assert not opened(table).knows(FACTS)


def test_nothing_is_kept_without_a_ledger(table):
    table.with_name("ledger.db").unlink()
    assert not kept(table).exists()
    alone = CheckedFiles([table], None)
    alone.learn(FACTS)
    alone.save()
    assert not alone.knows(FACTS)


def test_as_many_as_a_person_has_are_kept(table):
    for number in range(120):
        running = opened(table)
        running.learn({"schema": number})
        running.save()
    assert len(json.loads(table.with_name("ledger.db.checked").read_text())) == 100
    assert opened(table).knows({"schema": 119})
    assert not opened(table).knows({"schema": 0})
