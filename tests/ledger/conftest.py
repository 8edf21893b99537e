"""The stores that the contract suite runs on, and helpers for one account."""

from fractions import Fraction

import pytest

from onesided.ledger import Ledger

EDGES = {"sensitive -> open": Fraction(1), "sensitive -> sensitive": Fraction(2)}


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def place(request, tmp_path):
    """Where the ledger under test is kept: None, a path or a URL."""
    if request.param == "memory":
        return None
    if request.param == "sqlite":
        return tmp_path / "ledger.db"
    return request.getfixturevalue("postgres_place")


@pytest.fixture(params=["sqlite", "postgres"])
def shared_place(request, tmp_path):
    """As ``place``, but only stores that several processes can share."""
    if request.param == "sqlite":
        return tmp_path / "ledger.db"
    return request.getfixturevalue("postgres_place")


@pytest.fixture
def open_ledger():
    """``Ledger.open`` whose ledgers are closed at the end of the test."""
    opened = []

    def opening(where=None, **options):
        opened.append(Ledger.open(where, **options))
        return opened[-1]

    yield opening
    for ledger in opened:
        ledger.close()


@pytest.fixture
def open_account():
    """The account of one policy on record, with defaults for all that a test does not speak of."""

    def opening(ledger, *, record=True, **changes):
        given = {
            "policy_id": "5e" * 32,
            "policy_toml": 'kinds = ["sensitive", "open"]',
            "policy_name": "presence",
            "budget": EDGES,
        }
        account = ledger.account(**(given | changes))
        if record:
            account.open()
        return account

    return opening


@pytest.fixture
def account(place, open_ledger, open_account):
    return open_account(open_ledger(place))
