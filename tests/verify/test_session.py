"""A real session, end to end on every path: a table, a ledger, two counts, the second adaptive."""

from fractions import Fraction

import pytest

import onesided as od
from onesided import verify
from onesided.policy import Record
from onesided.verify import Universe

pl = pytest.importorskip("polars")

PLACES = ("p", "q")


def rows(data):
    """One row per unit and place; a unit that is nowhere has no row."""
    found = [
        (unit, record.kind, place)
        for unit, record in enumerate(data)
        for place in sorted(record.value)
    ]
    return pl.DataFrame(
        {
            "person": [unit for unit, _, _ in found],
            "kind": [kind for _, kind, _ in found],
            "place": [place for _, _, place in found],
        },
        schema={"person": pl.Int64, "kind": pl.String, "place": pl.String},
    )


def answers(release):
    return tuple(release.frame["estimate"].to_list())


def two_counts(data, noise, *, policy, first, second):
    """Ask about p; if it looks empty ask about q as well, else about p again."""
    session = od.Session(
        rows(data), policy=policy, unit="person", budget=first + second, noise=noise
    )
    seen = answers(session.count(by="place", keys=["p"], epsilon=first, max_groups=1))
    then = PLACES if sum(seen) == 0 else ("p",)
    more = answers(session.count(by="place", keys=list(then), epsilon=second, max_groups=1))
    if any(left != 0 for left in session.remaining.values()):
        raise RuntimeError(session.remaining)  # both were charged, on every edge
    return seen, more


def check(policy, values, *, first, second, tail):
    world = Universe(groups=PLACES, units=1, values=values)

    def program(data, noise):
        return two_counts(data, noise, policy=policy, first=first, second=second)

    return verify.exact(program, policy, world, tail=tail, sealed=False)


@pytest.mark.heavy
def test_two_counts_of_a_session_lose_what_the_ledger_charged():
    policy = od.policy.presence(max_groups=1)
    values = tuple(Record("unit", frozenset(v)) for v in ((), "p", "q"))
    report = check(policy, values, first=Fraction(2), second=Fraction(1), tail=1e-6)
    assert report.keeps(3)
    # The certain bound comes within a hundredth of everything that was charged.
    assert report.loss > 2.95
    assert report.outside < 1e-4
    assert report.delta(3) < 1e-3


@pytest.mark.heavy
def test_a_session_that_forgot_a_charge_would_be_seen():
    """The same two counts against the price of the first alone."""
    policy = od.policy.presence(max_groups=1)
    values = tuple(Record("unit", frozenset(v)) for v in ((), "p"))
    report = check(policy, values, first=Fraction(2), second=Fraction(2), tail=1e-5)
    assert not report.keeps(2)
    assert not report.keeps("3.9")
    assert report.keeps(4)


@pytest.mark.heavy
def test_a_session_under_one_sided_differential_privacy(long_form):
    """Noise on both sides for the protected, whatever the open ones are."""
    policy = od.policy.sensitive("kind = 'sensitive'")
    values = (
        Record("sensitive", frozenset("p")),
        Record("sensitive", frozenset("q")),
        Record("open", frozenset("q")),
    )
    tail = 1e-6 if long_form else 1e-4
    report = check(policy, values, first=Fraction(4), second=Fraction(4), tail=tail)
    assert report.keeps(8, unseen=0.05)
    assert report.loss > 5
