"""Several policies on one ledger: each with its own budget, all in one chain."""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction

import pytest

from onesided import errors
from onesided.ledger import Ledger, _entry

EDGE = "sensitive -> open"
OTHER = {"policy_id": "0f" * 32, "policy_name": "minors", "budget": {"minor -> adult": "1/2"}}


@pytest.fixture
def ledger(place, open_ledger):
    return open_ledger(place)


def test_a_further_account_needs_the_word(ledger, open_account):
    open_account(ledger)
    with pytest.raises(errors.PolicyMismatchError) as caught:
        open_account(ledger, **OTHER)
    assert "further=True" in caught.value.hint
    assert "intersection" in caught.value.hint
    assert len(ledger.entries()) == 1
    further = open_account(ledger, **OTHER, further=True)
    assert further.budget == {"minor -> adult": Fraction(1, 2)}
    assert [account.policy_name for account in ledger.accounts()] == ["presence", "minors"]


@pytest.mark.parametrize("charge", [{EDGE: 0}, {EDGE: 0, "sensitive -> sensitive": "0.0"}])
def test_what_loses_nothing_is_an_entry_and_opens_its_account(ledger, open_account, charge):
    account = open_account(ledger, record=False)
    receipt = account.spend(charge, label="free")
    account.store(receipt, b"42", "text/plain")
    assert [entry.kind for entry in ledger.entries()][:2] == ["open", "spend"]
    assert set(account.spent.values()) == {0}
    assert account.recall(receipt.release_id).payload == b"42"


def test_the_word_is_harmless_for_the_first_account_and_for_one_that_is_there(ledger, open_account):
    open_account(ledger, further=True)
    open_account(ledger, further=True)
    open_account(ledger, **OTHER, further=True)
    # An account on record is opened without the word: nothing new is allowed by it.
    for given in ({}, OTHER, {"further": True}, OTHER | {"further": True}):
        open_account(ledger, **given)
    assert [entry.kind for entry in ledger.entries()] == ["open", "open"]


def test_the_word_never_changes_a_budget(ledger, open_account):
    open_account(ledger)
    open_account(ledger, **OTHER, further=True)
    changed = OTHER | {"budget": {"minor -> adult": 3}}
    with pytest.raises(errors.PolicyMismatchError) as caught:
        open_account(ledger, **changed, further=True)
    assert "holds policy 'minors' (0f0f0f0f0f0f)" in caught.value.reason
    assert "and accounts of 'presence'" in caught.value.reason
    assert "further" not in caught.value.hint
    assert caught.value.values["held_budget"] == {"minor -> adult": Fraction(1, 2)}
    assert caught.value.values["held_policy_ids"] == ("5e" * 32, "0f" * 32)


def test_each_account_has_its_own_budget_and_names(ledger, open_account):
    first = open_account(ledger)
    second = open_account(ledger, **OTHER, further=True)
    a = first.spend({EDGE: "3/4"}, label="one", release_id="weekly")
    b = second.spend({"minor -> adult": "1/2"}, label="two", release_id="weekly")
    first.store(a, b"first", "text/plain")
    second.store(b, b"second", "text/plain")
    assert (first.recall("weekly").payload, second.recall("weekly").payload) == (
        b"first",
        b"second",
    )
    assert (first.spent[EDGE], first.releases) == (Fraction(3, 4), 1)
    assert second.remaining == {"minor -> adult": 0}
    with pytest.raises(errors.BudgetExceededError):
        second.spend({"minor -> adult": "1/9"}, label="too much")
    with pytest.raises(errors.ParameterError, match="unknown edge"):
        second.spend({EDGE: "1/9"}, label="an edge of the other policy")
    with pytest.raises(errors.ParameterError, match="another account"):
        second.store(a, b"x", "text/plain")
    first.spend({EDGE: "1/4"}, label="the rest")
    report = ledger.check()
    assert (report.charges, report.stored, report.unanswered) == (3, 2, (7,))


def test_accounts_opened_at_once_are_opened_once(shared_place, open_account):
    def opening(number):
        with Ledger.open(shared_place) as ledger:
            who = {"policy_id": f"{number % 2}" * 64, "policy_name": str(number % 2)}
            open_account(ledger, **who, further=True).spend({EDGE: "1/10"}, label="x")

    with Ledger.open(shared_place), ThreadPoolExecutor(4) as pool:
        list(pool.map(opening, range(8)))
    with Ledger.open(shared_place) as ledger:
        assert sorted(account.spent[EDGE] for account in ledger.accounts()) == [Fraction(2, 5)] * 2
        assert ledger.check().charges == 8


def test_balances_are_what_the_last_rows_state(ledger, open_account):
    first = open_account(ledger, delta_budget={EDGE: "1e-6"})
    second = open_account(ledger, **OTHER, further=True)
    for _ in range(3):
        first.spend({EDGE: "1/10"}, delta={EDGE: "1e-7"}, label="a")
        receipt = second.spend({"minor -> adult": "1/9"}, label="b")
    second.store(receipt, b"answer", "text/plain")
    one, two = ledger.balances()
    assert (one.opened, one.policy_name, one.releases) == (1, "presence", 3)
    assert one.spent == first.spent
    assert one.delta_spent == {EDGE: Fraction(3, 10**7), "sensitive -> sensitive": 0}
    assert one.remaining == first.remaining
    assert one.delta_remaining == first.delta_remaining
    assert two.spent == {"minor -> adult": Fraction(1, 3)}
    assert two.policy_toml == second.policy_toml
    assert ledger.check().charges == 6


@pytest.mark.parametrize("place", ["memory", "sqlite"], indirect=True)
def test_many_rows_of_one_account_do_not_slow_another(place, open_ledger, open_account):
    """By the plan, not the clock: the last row of an account is found through an index.

    PostgreSQL chooses its plan by the size of the table.
    """
    ledger = open_ledger(place)
    account = open_account(ledger)
    query = (
        "EXPLAIN QUERY PLAN SELECT * FROM onesided_entries WHERE policy_id = ? "
        "ORDER BY number DESC LIMIT 1"
    )
    with ledger._store.database._engine.connect() as connection:
        plan = str(connection.exec_driver_sql(query, (account.policy_id,)).all())
    assert "onesided_entries_latest" in plan
    assert "TEMP B-TREE" not in plan


def test_who_is_written_beside_each_row(place, open_ledger, open_account):
    ledger = open_ledger(place, who="Dr Who")
    account = open_account(ledger)
    receipt = account.spend({EDGE: "1/2"}, label="a", detail={"by": "place"}, release_id="r")
    account.store(receipt, b"answer", "text/plain")
    assert [entry.who for entry in ledger.entries()] == ["Dr Who"] * 3
    # It is not part of the question: somebody else's repetition is the same question.
    assert ledger.entries()[1].detail == {"by": "place"}
    assert account.recall("r").detail == {"by": "place"}
    assert ledger.check().charges == 1


def test_who_is_the_user_and_host_by_default_and_may_be_nobody(place, open_ledger, open_account):
    with open_ledger(None) as ledger:
        open_account(ledger)
        assert "@" in ledger.entries()[0].who
    ledger = open_ledger(place, who="")
    open_account(ledger)
    assert ledger.entries()[0].who == ""


def test_who_cannot_be_slipped_in_by_the_detail(ledger, open_account):
    account = open_account(ledger)
    with pytest.raises(errors.ParameterError, match="reserved"):
        account.spend({EDGE: "1/2"}, label="a", detail={_entry.WHO: "somebody else"})
    assert account.releases == 0


@pytest.mark.parametrize("who", [7, "a\x00b", "\ud800"])
def test_who_must_be_text(who, tmp_path):
    with pytest.raises(errors.ParameterError):
        Ledger.open(tmp_path / "ledger.db", who=who)
    assert not list(tmp_path.iterdir())


def test_a_user_without_a_name_can_spend(tmp_path):
    code = (
        "import getpass, sys\nfrom onesided.ledger import Ledger\n"
        "def fails(): raise KeyError('uid not found: 4711')\n"
        "getpass.getuser = fails\n"
        "with Ledger.open() as ledger:\n"
        "    account = ledger.account(policy_id='p', policy_toml='', policy_name='p', "
        "budget={'e': 1})\n"
        "    account.open()\n"
        "    print(ledger.entries()[0].who)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(("uid ", "unknown"))


def test_looking_makes_no_ledger(tmp_path, postgres_place):
    path = tmp_path / "ledger.db"
    for where in (path, f"sqlite:///{path}", postgres_place, postgres_place):
        with pytest.raises(errors.LedgerUnavailableError, match="there is no") as caught:
            Ledger.open(where, create=False)
        assert "first charge" in caught.value.hint
    assert not list(tmp_path.iterdir())
    with Ledger.open(postgres_place) as ledger:
        ledger.make()
    with Ledger.open(postgres_place, create=False) as ledger:
        assert ledger.entries() == ()


def test_a_store_from_before_the_index_still_works(tmp_path, open_account):
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        open_account(ledger).spend({EDGE: "1/10"}, label="a")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP INDEX onesided_entries_latest")
    with Ledger.open(path) as ledger:
        open_account(ledger, **OTHER, further=True)
        assert open_account(ledger).spend({EDGE: "1/10"}, label="b").number == 4
        assert ledger.check().charges == 2
