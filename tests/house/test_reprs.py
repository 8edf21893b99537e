"""What people meet at a prompt says who it is in a line, whatever it holds."""

import onesided as od
from onesided.accounting import total_of
from onesided.verify import Line, losses_of

POLICY = od.policy.presence(max_groups=2)
COUNTS = od.mechanism.Counts.for_policy(POLICY, epsilon=1)
ROWS = {"person": [1, 2], "place": ["a", "b"]}


def things():
    import polars as pl

    session = od.Session(pl.DataFrame(ROWS), unit="person", policy=POLICY, budget=10)
    question = od.Count(by="place", keys=[f"place {i}" for i in range(5_000)], epsilon=1, id="x")
    yield session.plan(question)
    yield session.ask(question)
    yield session
    yield session.ledger
    yield from session.ledger.entries()
    yield from session.ledger.balances()
    yield session.ledger.check()
    account = session.ledger.accounts()[0]
    yield account
    yield account.recall("x")
    yield session.total(delta="1/1000")
    yield total_of(POLICY, [], delta=0)
    yield POLICY
    yield od.Guarantee(POLICY.name, {f"edge {i}": i for i in range(5_000)}, {})
    line = Line("Counts", POLICY, COUNTS, losses_of(COUNTS, POLICY, od.policy.GroupCount()))
    yield line
    yield line.run()
    yield line.run().report
    yield od.risk(COUNTS, POLICY, proposition=lambda record: record != ())


def test_each_says_who_it_is_in_few_words():
    for thing in things():
        said = repr(thing)
        assert len(said) <= 600, said
        assert len(said.splitlines()) <= 10, said
