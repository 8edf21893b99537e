"""Old copies, other batches, damaged rows, and what a reader of public heads can tell."""

import copy
import hashlib
import json
import os
import pickle
import shutil
import sqlite3
from contextlib import closing

import pytest

import onesided as od
from onesided import policy
from onesided.errors import DataError, LedgerError, LedgerFormatError, OnesidedError
from onesided.ledger._entry import canonical
from onesided.monitor._batch import Batch
from onesided.monitor._machine import plain_answer, step_keys
from onesided.monitor._publish import Folder, Look

PLACES = [f"p{i}" for i in range(40)]


def batch(number):
    people = range(number * 7)
    return {"person": list(people), "place": [PLACES[(p * number) % 40] for p in people]}


@pytest.fixture
def opened(make, tmp_path):
    def open_(**given):
        return make(keys=PLACES, published=tmp_path / "public", **given)

    (tmp_path / "public").mkdir()
    return open_


def publish(monitor, folder):
    out = Folder(path=folder, look=Look(title="t"), guarantees=monitor.guarantees())
    out.write(monitor.last, since=monitor.history(after=out.steps.last))
    return out


def answers(monitor):
    return [(r.number, r.status, r.values.tolist(), r.head) for r in monitor.history()]


def test_the_same_batches_get_the_same_answers_after_a_restored_copy(opened, tmp_path):
    monitor = opened()
    monitor.step(batch(1), id="1", time=1)
    shutil.copy(tmp_path / "state.db", tmp_path / "old.db")
    for number in (2, 3):
        monitor.step(batch(number), id=str(number), time=number)
    before = answers(monitor)
    monitor.close()
    shutil.copy(tmp_path / "old.db", tmp_path / "state.db")
    with opened() as again:
        for number in (2, 3):
            again.step(batch(number), id=str(number), time=number)
        assert answers(again) == before


def test_the_order_of_rows_is_no_fact_and_everything_else_is():
    key, rules = bytes(32), "rules"
    rows = ((0, 5, 1), (1, 6, 1))
    one = Batch("1", 1, rows)
    same = step_keys(key, one, rules=rules)
    others = [
        step_keys(key, Batch("2", 1, rows), rules=rules),
        step_keys(key, Batch("1", 2, rows), rules=rules),
        step_keys(key, Batch("1", 1, rows[:1]), rules=rules),
        step_keys(key, Batch("1", 1, ((0, "5", 1), (1, "6", 1))), rules=rules),
        step_keys(key, one, rules="other"),
        step_keys(same.following, one, rules=rules),
    ]
    keys = {same.noise, same.following} | {k for o in others for k in (o.noise, o.following)}
    assert len(keys) == 14
    assert "noise" not in repr(same)


def test_a_state_behind_the_public_head_replays_and_takes_nothing_else(opened, tmp_path):
    monitor = opened()
    monitor.step(batch(1), id="1", time=1)
    shutil.copy(tmp_path / "state.db", tmp_path / "old.db")
    for number in (2, 3):
        monitor.step(batch(number), id=str(number), time=number)
    before = answers(monitor)
    publish(monitor, tmp_path / "public")
    assert monitor.awaited == ()
    monitor.close()
    shutil.copy(tmp_path / "old.db", tmp_path / "state.db")
    again = opened()
    assert again.awaited == ("2", "3")
    with pytest.raises(DataError, match="behind what was published"):
        again.step(batch(3), id="3", time=3)
    with pytest.raises(DataError, match="published with another answer"):
        again.step(batch(9), id="2", time=2)
    with pytest.raises(DataError, match="published with another answer"):
        again.step(batch(2), id="2", time=3)
    for number in (2, 3):
        again.step(batch(number), id=str(number), time=number)
    assert answers(again) == before
    again.step(batch(4), id="4", time=4)


def test_the_folder_never_goes_back(opened, tmp_path):
    monitor, folder = opened(), tmp_path / "public"
    monitor.step(batch(1), id="1", time=1)
    first = monitor.last
    monitor.step(batch(2), id="2", time=2)
    out = publish(monitor, folder)
    late = Folder(path=folder, look=Look(title="t"), guarantees=monitor.guarantees())
    late.write(first, since=[first])
    assert json.loads((folder / "status.json").read_text())["step"] == 2
    assert out.steps.last == late.steps.last == 2


def test_a_line_that_a_crash_cut_is_written_again(opened, tmp_path):
    monitor, folder = opened(), tmp_path / "public"
    monitor.step(batch(1), id="1", time=1)
    publish(monitor, folder)
    with (folder / "steps.jsonl").open("ab") as file:
        file.write(b'{"step": 2, "bat')
    monitor.step(batch(2), id="2", time=2)
    publish(monitor, folder)
    lines = (folder / "steps.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2]


@pytest.mark.parametrize(
    "text",
    ["[]\n", "{}\n", "[" * 5000 + "\n", '{"step": 2, "batch": "b", "time": "t", "head": "h"}\n'],
)
def test_a_chain_that_is_none_is_refused(opened, tmp_path, text):
    (tmp_path / "public" / "steps.jsonl").write_text(text)
    with pytest.raises(LedgerFormatError, match="not the chain"):
        opened()


def test_the_folder_of_another_monitor_is_refused(opened, make, tmp_path):
    with opened() as monitor:
        monitor.step(batch(1), id="1", time=1)
        publish(monitor, tmp_path / "public")
    with make(keys=PLACES, state=tmp_path / "b.db") as other:
        other.step(batch(3), id="1", time=1)
        other.step(batch(4), id="2", time=2)  # further on than what was published there
    with pytest.raises(LedgerFormatError, match="another monitor"):
        opened(state=tmp_path / "b.db")


def test_heads_follow_from_public_facts_alone(make, tmp_path):
    """Whoever reads what is published can compute every head; so no head tells of a row."""
    monitor = make()
    for number in range(1, 4):
        monitor.step(
            {"person": list(range(number)), "place": ["a"] * number}, id=str(number), time=number
        )
    head = monitor.rules.genesis
    for release in monitor.history():
        facts = [release.number, release.batch, release.number, int(release.time)]
        answer = hashlib.sha256(plain_answer(release.answer.encode())).digest()
        head = hashlib.sha256(f"{head}\n{canonical(facts)}\n".encode() + answer).hexdigest()
        assert release.head == head


def test_nothing_in_the_state_outlives_the_rows(make, tmp_path):
    monitor = make(window=2)
    monitor.step(batch(1) | {"place": ["a"] * 7}, id="1", time=1)
    with closing(sqlite3.connect(tmp_path / "state.db")) as raw, raw:
        secret, proof, key = raw.execute(
            "select secret, proof, (select key from onesided_monitor_key) "
            "from onesided_monitor_contents"
        ).fetchone()
    assert len({secret, proof, key}) == 3
    assert min(map(len, (secret, proof, key))) == 32
    monitor.step(None, id="2", time=5)
    monitor.close()
    held = (tmp_path / "state.db").read_bytes()
    assert not any(part in held for part in (secret, proof, key))


@pytest.mark.parametrize(
    "damage",
    [
        "delete from onesided_monitor_contents where number = 1",
        "update onesided_monitor_contents set content = (select content from "
        "onesided_monitor_contents where number = 2) where number = 1",
        "update onesided_monitor_contents set content = x'00'",
        "update onesided_monitor_contents set content = 'text'",
        "update onesided_monitor_contents set time = time + 1",
        "update onesided_monitor_contents set secret = x''",
        "delete from onesided_monitor_key",
        "update onesided_monitor_steps set answer = 'text' where number = 1",
        "update onesided_monitor_steps set clock = 'text' where number = 2",
    ],
)
def test_a_changed_or_deleted_row_is_found_on_load(make, tmp_path, damage):
    monitor = make(at_most=0, epsilon=100)
    for number in (1, 2):
        monitor.step(
            {"person": list(range(number)), "place": ["a"] * number}, id=str(number), time=number
        )
    monitor.close()
    with closing(sqlite3.connect(tmp_path / "state.db")) as raw, raw:
        raw.execute(damage)
    with pytest.raises(OnesidedError):
        make(at_most=0, epsilon=100).step(None, id="3", time=3)
    if "key" not in damage:
        with pytest.raises(OnesidedError):
            make(at_most=0, epsilon=100).check()


def test_a_monitor_has_no_twin():
    monitor = od.Monitor(
        ["a"], at_most=1, window=2, epsilon=1, policy=policy.presence(max_groups=1)
    )
    for travel in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(LedgerError, match="would answer"):
            travel(monitor)
    child = os.fork()
    if child == 0:
        try:
            monitor.step(None, id="1", time=1)
        except LedgerError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize("places", [["1"], [1.0], [True], [b"1"], ["1", 1]])
def test_places_of_another_type_are_refused(make, places):
    monitor = make(keys=[1, 2], on_unknown="ignore")
    assert monitor.step({"person": [1], "place": [1]}, id="0", time=1).number == 1
    with pytest.raises(DataError, match="of type int"):
        monitor.step({"person": list(range(len(places))), "place": places}, id="1", time=1)


def test_told_again_says_so(make):
    monitor = make()
    first = monitor.step(None, id="1", time=1)
    again = monitor.step(None, id="1", time=1)
    assert (first.told_again, again.told_again) == (False, True)
    assert first.head == again.head
