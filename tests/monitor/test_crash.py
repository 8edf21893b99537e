"""Killed at any instant: the same published history, no mark lost, nothing charged twice."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import onesided as od
from onesided.ledger import Account
from onesided.monitor._sql import SqlJournal

ONE = {"person": [1], "place": ["a"]}


@pytest.mark.heavy
def test_killed_at_random_the_history_stays_what_was_published(tmp_path, long_form):
    # 500 kills in the long form, 15 here; the random instants have a fixed seed.
    kills = 500 if long_form else 15
    command = [sys.executable, str(Path(__file__).with_name("crash.py")), tmp_path, kills, 4]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["killed"] == kills
    assert told["steps"] > kills / 3
    sys.stdout.write(done.stdout)


class Killed(BaseException):
    """The process ends here."""


class Mortal(SqlJournal):
    """Dies just before or after its ``fatal``-th commit."""

    fatal, when = 0, ""

    @contextmanager
    def write(self):
        self.fatal -= 1
        with super().write() as view:
            yield view
            if self.fatal == 0 and self.when == "before":
                raise Killed
        if self.fatal == 0:
            raise Killed


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("fatal", range(1, 7))
def test_killed_at_every_commit(make, fatal, when):
    """Commits: the header, the payment, then one for each step."""
    ledger, journal, published = od.Ledger.open(), Mortal.open(None), {}
    journal.fatal, journal.when = fatal, when
    for _ in range(2):
        try:
            monitor = make(state=journal, ledger=ledger, epsilon=1000, at_most=0, window=3)
            for time in range(1, 6):
                release = monitor.step(ONE, id=str(time), time=time)
                seen = published.setdefault(release.batch, release.columns())
                assert seen == release.columns()
        except Killed:
            continue
    assert [r.status[0] for r in monitor.history()] == [
        "unknown",
        "resting",
        "resting",
        "unknown",
        "resting",
    ]
    assert ledger.check().charges == 1


def test_killed_between_the_charge_and_the_record_of_it(make, monkeypatch):
    """The charge is there, the state does not know it yet: resumed, and not charged again."""
    ledger, journal = od.Ledger.open(), SqlJournal.open(None)
    spend = Account.spend

    def die_after(self, *args, **named):
        spend(self, *args, **named)
        raise Killed

    monkeypatch.setattr(Account, "spend", die_after)
    with pytest.raises(Killed):
        make(state=journal, ledger=ledger)
    monkeypatch.setattr(Account, "spend", spend)
    assert make(state=journal, ledger=ledger).step(ONE, id="1", time=1).number == 1
    assert ledger.check().charges == 1
