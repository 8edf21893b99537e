"""Samples told month after month: one key, one coin for each unit, one charge."""

import shutil
import signal
import stat
import subprocess
import sys
import threading
from itertools import product

import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.mechanism.kit import KeyedCoins
from onesided.session import Sample
from onesided.session._stream_file import StreamFile

from .test_contract import read

PRIVATE = od.policy.sensitive("minor")
PEOPLE = 300


def month(minors, people=range(PEOPLE), **more):
    people = list(people)
    return {"person": people, "minor": [one in minors for one in people], **more}


def session(data, ledger="ledger.db", **more):
    given = {"unit": "person", "policy": PRIVATE, "budget": 9, "ledger": ledger}
    return od.Session(pl.DataFrame(data) if isinstance(data, dict) else data, **given | more)


def told(data, made=session, **asked):
    asked = {"epsilon": 1, "stream": "opt-in"} | asked
    return set(read(made(data).sample(**asked).frame)["person"])


def file_of(folder):
    (found,) = folder.glob("ledger.db.stream-*")
    return found


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_same_people_are_told_each_month_for_one_charge(here):
    first = session(month(range(100)))
    release = first.sample(epsilon=1, stream="opt-in", id="2026-01")
    kept = set(release.frame["person"])
    assert 80 < len(kept) < 170  # of 200, 126.4 ± 6.8
    assert min(kept) >= 100
    assert release.guarantee.epsilon["sensitive -> open"] == 1
    for _ in range(3):
        again = session(month(range(100)))
        assert not any(again.plan(Sample(epsilon=1, stream="opt-in")).charge.values())
        assert told(month(range(100))) == kept
    assert session(month(())).spent["sensitive -> open"] == 1
    assert od.Ledger.open("ledger.db").check().charges == 4
    assert stat.S_IMODE(file_of(here).stat().st_mode) == 0o600
    assert StreamFile.head_of(file_of(here)).key not in (here / "ledger.db").read_bytes()


def test_kinds_are_as_first_met_and_nobody_comes_back(here):
    kept = told(month(range(100)))
    assert told(month(())) == kept  # who was protected first never enters
    left = told(month(range(150)))
    assert left == {one for one in kept if one >= 150}
    assert told(month(())) == left
    newer = told(month((), range(PEOPLE + 200)))
    assert {one for one in newer if one < PEOPLE} == left
    assert 80 < len(newer - left) < 170  # whoever comes later enters by a coin


def test_attrition_lets_nobody_in_later_and_somebody_out_each_month(here):
    asked = {"attrition": "1/4"}
    before = told(month(range(50)), **asked)
    for _ in range(3):
        now = told(month((), range(PEOPLE + 99)), **asked)
        assert now < before
        before = now
    assert 25 < len(before) < 110  # (3/4)^3 of about 158, ± 6.2


@pytest.mark.parametrize("attrition", ["1/8", "1/2"])
def test_the_charge_is_the_larger_of_both(here, attrition):
    asked = session(month(()))
    plan = asked.plan(Sample(epsilon=1, stream="x", attrition=attrition))
    loss = plan.charge["sensitive -> open"]
    assert float(loss) == pytest.approx({"1/8": 2.0794415, "1/2": 1}[attrition], abs=1e-5)
    assert plan.charge["sensitive -> sensitive"] == 0
    assert not list(here.glob("*"))  # a plan makes no file


def test_every_engine_keeps_the_same_people(here, rows_engine, request):
    data = month(range(100))
    if "spark" in request.node.name:
        with pytest.raises(errors.DataError, match="not followed in Spark"):
            told(rows_engine(data))
        assert not list(here.glob("*stream*"))
        return
    kept = told(data)
    assert told(rows_engine(data)) == kept
    texts = {**data, "person": [f"é{one}" for one in data["person"]]}
    kept = told(texts, stream="texts")
    assert told(rows_engine(texts), stream="texts") == kept


# What ends a stream, and what continues it.


def test_a_lost_key_ends_a_stream_and_a_copy_of_it_continues_it(here):
    kept, data = told(month(range(100))), month(range(100))
    file = file_of(here)
    shutil.copy(file, "copy")
    file.unlink()
    with pytest.raises(errors.LedgerError, match="no key any more"):
        told(data)
    assert not file.exists()
    shutil.copy("copy", file)
    assert told(data) == kept


def test_a_copy_older_than_the_ledger_is_refused(here):
    told(month(range(100)))
    shutil.copy(file_of(here), "copy")
    told(month(range(200)))  # some leave, which the copy does not know
    shutil.copy("copy", file_of(here))
    with pytest.raises(errors.LedgerError, match="older than the ledger"):
        told(month(range(100)))


def test_another_streams_key_is_refused(here):
    told(month(()))
    own = file_of(here)
    own.rename("aside")
    told(month(()), stream="other")
    (other,) = here.glob("ledger.db.stream-*")
    keys = [StreamFile.head_of(one).key for one in (here / "aside", other)]
    assert keys[0] != keys[1]
    shutil.copy(other, own)
    with pytest.raises(errors.LedgerError, match="another stream's"):
        told(month(()))


@pytest.mark.parametrize(
    "change",
    [{"epsilon": 2}, {"attrition": "1/9"}, {"data": month((), more=[1] * PEOPLE)}],
    ids=str,
)
def test_one_key_serves_one_table_and_one_chance(here, change):
    told(month(()))
    asked = {"data": month(())} | change
    with pytest.raises(errors.ParameterError, match="opened for another"):
        told(**asked)


def test_two_policies_of_a_ledger_have_keys_of_their_own(here):
    told(month(()))
    other = od.policy.sensitive("minor or person < 5")
    told(month(()), lambda data: session(data, policy=other, further=True))
    keys = {StreamFile.head_of(one).key for one in here.glob("ledger.db.stream-*")}
    assert len(keys) == 2


# Killed between two steps: no coin falls twice.


@pytest.mark.parametrize(
    ("seam", "opened"),
    [("make", False), *product(["tell", "spend", "draw", "store"], [False, True])],
)
def test_a_kill_between_steps_draws_no_coin_anew(here, monkeypatch, seam, opened):
    if opened:
        told(month(range(100)))
    owner = StreamFile if seam in {"make", "tell"} else od.ledger.Account
    name = "spend" if seam == "draw" else seam

    class Killed(BaseException):
        pass

    def stopping(before):
        def call(*args, **kwargs):
            if seam in {"make", "tell", "draw"}:
                before(*args, **kwargs)
            raise Killed

        return call

    with monkeypatch.context() as patched:
        before = getattr(owner, name)
        patched.setattr(owner, name, stopping(before))
        with pytest.raises(Killed):
            told(month(range(200)))
    coins = KeyedCoins(StreamFile.head_of(file_of(here)).key)
    allowed = {one for one in range(PEOPLE) if coins.keeps(1, coins.mark(b"n%d" % one))}
    expected = {one for one in allowed if one >= (100 if seam == "make" else 200)}
    assert told(month(range(100))) == expected
    assert told(month(())) == expected


def test_a_month_told_by_two_at_once_is_told_to_one(here, monkeypatch):
    told(month(()))
    one, other = session(month(())), session(month(()))
    asked = Sample(epsilon=1, stream="opt-in")
    late = other._prepared(asked, other._context())
    one.ask(asked)
    with pytest.raises(errors.LedgerError, match="another process"):
        late.read()


def test_threads_that_open_one_stream_share_its_key(here):
    found, lost = [], []

    def ask():
        try:
            found.append(frozenset(told(month(range(100)))))
        except errors.LedgerError as error:
            lost.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(set(found)) == 1
    assert all("another process" in one for one in lost)


# Bad input: nothing drawn, nothing recorded, no file.


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"stream": ""}, "1 to 100"),
        ({"stream": "x" * 101}, "1 to 100"),
        ({"stream": "a\0b"}, "without NUL"),
        ({"stream": 7}, "must be text"),
        *(({"stream": "x", "attrition": bad}, "attrition") for bad in (0, 1, -1, "x", 2.5)),
        ({"stream": "x", "attrition": float("nan")}, "attrition"),
        ({"attrition": "1/9"}, "of a stream"),
    ],
    ids=str,
)
def test_what_is_no_stream_is_refused(here, asked, said):
    with pytest.raises(errors.ParameterError, match=said):
        session(month(())).sample(epsilon=1, **asked)
    assert not list(here.glob("*"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ledger": None}, "in none"),
        ({"unit": None}, "its own unit"),
        ({"unit": "born"}, "whole numbers or texts"),
    ],
    ids=str,
)
def test_where_there_can_be_no_stream_none_is_opened(here, given, said):
    born = pl.date_range(pl.date(1990, 1, 1), pl.date(1990, 1, 1) + pl.duration(days=PEOPLE - 1))
    data = pl.DataFrame(month(())).with_columns(pl.select(born.alias("born")).to_series())
    with pytest.raises(errors.ParameterError, match=said):
        session(data, **given).sample(epsilon=1, stream="x")
    assert not list(here.glob("*"))


def test_a_stream_is_asked_alone_and_never_charged_unread(here):
    asked = Sample(epsilon=1, stream="x", id="a")
    with pytest.raises(errors.ParameterError, match="one by one"):
        session(month(())).ask_all([Sample(epsilon=1, stream="x")])
    with pytest.raises(errors.ParameterError, match="after its charge"):
        session(month(())).charge(asked)
    with pytest.raises(errors.BudgetExceededError):
        session(month(())).sample(epsilon=99, stream="x")
    assert not list(here.glob("*"))


def test_totals_are_of_whom_the_stream_may_hold(here):
    for _ in range(3):
        release = session(month(range(100))).sample(epsilon=1, stream="x", attrition="1/5")
    total = release.total()
    assert total.estimate == pytest.approx(
        len(set(release.frame["person"])) / (0.6321 * 0.64), rel=1e-3
    )
    assert "each time that the stream met them" in str(total)
    assert "leaves for good with probability 1/5" in str(release.guarantee)
    assert "in the stream 'x'" in release.statement.title()


KILLED = """
import os, signal, sys
import polars as pl, onesided as od
from onesided.mechanism import PersistentSample
setattr(PersistentSample, sys.argv[1], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
data = pl.DataFrame({"person": range(300), "minor": [one < 100 for one in range(300)]})
session = od.Session(
    data, unit="person", policy=od.policy.sensitive("minor"), budget=9, ledger="ledger.db"
)
session.sample(epsilon=1, stream="opt-in")
"""


@pytest.mark.parametrize("where", ["step", "shown"])  # within the transaction, and after it
def test_a_process_that_is_killed_leaves_coins_that_fall_the_same_way(here, where):
    done = subprocess.run([sys.executable, "-c", KILLED, where], check=False, cwd=here)
    assert done.returncode == -signal.SIGKILL
    head = StreamFile.head_of(file_of(here))
    assert head.month == (0 if where == "step" else 1)
    assert not (here / "ledger.db").exists()  # nothing was charged
    coins = KeyedCoins(head.key)
    kept = {one for one in range(100, PEOPLE) if coins.keeps(1, coins.mark(b"n%d" % one))}
    assert told(month(range(100))) == kept


def test_units_of_another_type_are_another_table(here):
    told(month(range(100)))
    with pytest.raises(errors.ParameterError, match="opened for another table"):
        told(month(range(100), people=map(str, range(PEOPLE))))


def test_where_moves_take_units_out_of_the_table_nobody_enters_late(here):
    policy = od.policy.sensitive_presence("minor", max_groups=1)

    def made(data):
        return session(data, policy=policy)

    kept = told(month(range(100)), made)
    assert told(month(()), made) == kept
    assert not told(month((), people=range(PEOPLE, 2 * PEOPLE)), made)
    assert not told(month(()), made)


def test_a_file_that_is_gone_is_not_made_anew(here):
    told(month(()))
    place = file_of(here)
    place.unlink()
    with pytest.raises(errors.LedgerUnavailableError, match="is gone"):
        StreamFile.head_of(place)
    assert not place.exists()


def test_every_total_says_which_streams_hide_no_change_of_kind(here):
    """Who was told as open and left when protected is seen: no ε of an account is about that."""
    seen = "NOT protected by the stream 'x'"
    made = session(month(range(100)), budget=20)
    ledger = made.ledger
    made.sample(epsilon=1, stream="y", attrition="1/9")
    assert seen not in str(od.session.total_guarantee(ledger))
    made.sample(epsilon=1, stream="x")
    for told in (
        od.session.total_guarantee(ledger),
        od.session.total_guarantee(ledger, of="budget"),
        od.session.ledger_total(ledger, delta=0),
        made.total(delta=0),
        made.total(delta="1/1000").tight,
    ):
        assert seen in str(told)
        assert "'y'" not in str(told)
    assert "hides no change of kind" in ledger.entries(kind="spend")[-1].label
