"""What was left after an answer is a line on its card; the answer does not depend on it."""

import polars as pl

import onesided as od
from onesided.errors import LedgerError
from onesided.ledger import Account


def test_an_answer_that_was_charged_is_told_though_the_ledger_cannot_be_read_again(monkeypatch):
    def gone(self, number):
        raise LedgerError("The ledger is gone.", hint="Look for it.")

    rows = pl.DataFrame({"person": [1, 2], "place": ["a", "a"]})
    policy = od.policy.presence(max_groups=1)
    session = od.Session(rows, unit="person", policy=policy, budget=100)
    told = session.count(by="place", keys=["a"], epsilon=60)
    assert list(told.left.values()) == [40]
    monkeypatch.setattr(Account, "left_after", gone)
    again = session.count(by="place", keys=["a"], epsilon=30)
    assert (again.entry, dict(again.left)) == (told.entry + 2, {})
    assert list(session.spent.values()) == [90]
