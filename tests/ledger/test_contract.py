"""What every store must do, whatever keeps the rows."""

import dataclasses
import pickle
import threading
from fractions import Fraction

import pytest

from onesided import errors
from onesided.ledger import Ledger, _entry

OPEN_EDGE = "sensitive -> open"
OTHER_EDGE = "sensitive -> sensitive"


def test_ten_tenths_fill_a_budget_of_one_exactly(account):
    for _ in range(10):
        account.spend({OPEN_EDGE: "0.1"}, label="tenth")
    assert account.remaining == {OPEN_EDGE: 0, OTHER_EDGE: 2}
    with pytest.raises(errors.BudgetExceededError):
        account.spend({OPEN_EDGE: Fraction(1, 10**30)}, label="a hair too much")
    assert account.spent[OPEN_EDGE] == 1


def test_a_refusal_says_what_is_left_and_records_nothing(account, place, open_ledger):
    for asked in ("1/2", "1/10", "1/10", "1/10"):
        account.spend({OPEN_EDGE: asked}, label="count")
    with pytest.raises(errors.BudgetExceededError) as caught:
        account.spend({OPEN_EDGE: "1/2"}, label="too much")
    assert str(caught.value) == (
        "asked 1/2, 1/5 left of 1 on edge 'sensitive -> open' (4 releases so far).\n"
        "Hint: ask for at most 1/5. Nothing was drawn and nothing was recorded."
    )
    assert caught.value.values == {
        "edge": OPEN_EDGE,
        "unit": "epsilon",
        "asked": Fraction(1, 2),
        "left": Fraction(1, 5),
        "budget": Fraction(1),
        "releases": 4,
        "share": Fraction(2, 5),
    }
    assert account.releases == 4
    assert account.remaining[OPEN_EDGE] == Fraction(1, 5)
    account.spend({OPEN_EDGE: "1/5"}, label="the rest")


def test_each_edge_is_a_filter_of_its_own(account):
    account.spend({OPEN_EDGE: 1, OTHER_EDGE: "1/3"}, label="both")
    account.spend({OPEN_EDGE: 0, OTHER_EDGE: "5/3"}, label="the other edge only")
    with pytest.raises(errors.BudgetExceededError) as caught:
        account.spend({OPEN_EDGE: "1/7", OTHER_EDGE: "1/9"}, label="neither")
    assert "asked 1/7, 0 left of 1 on edge 'sensitive -> open'" in caught.value.reason
    assert "asked 1/9, 0 left of 2 on edge 'sensitive -> sensitive'" in caught.value.reason
    assert account.spent == account.budget


def test_one_edge_over_budget_refuses_the_whole_charge(account):
    with pytest.raises(errors.BudgetExceededError):
        account.spend({OPEN_EDGE: "1/2", OTHER_EDGE: 3}, label="half fits")
    assert account.spent == {OPEN_EDGE: 0, OTHER_EDGE: 0}


def test_require_asks_and_records_nothing(account):
    account.require({OPEN_EDGE: 1})
    assert account.releases == 0
    with pytest.raises(errors.BudgetExceededError):
        account.require({OPEN_EDGE: "1.0001"})


def test_delta_has_its_own_budget(place, open_ledger, open_account):
    account = open_account(open_ledger(place), delta_budget={OPEN_EDGE: "1e-6"})
    account.spend({OPEN_EDGE: "1/10"}, delta={OPEN_EDGE: "9e-7"}, label="a")
    assert account.delta_spent == {OPEN_EDGE: Fraction(9, 10**7), OTHER_EDGE: 0}
    assert account.delta_remaining[OPEN_EDGE] == Fraction(1, 10**7)
    with pytest.raises(
        errors.BudgetExceededError, match="asked δ = 2e-7, 1e-7 left of 1e-6"
    ) as caught:
        account.spend({OPEN_EDGE: "1/10"}, delta={OPEN_EDGE: "2e-7"}, label="b")
    assert caught.value.values["unit"] == "delta"
    with pytest.raises(errors.BudgetExceededError):
        account.spend({}, delta={OTHER_EDGE: "1e-30"}, label="no budget for delta here")
    assert account.spent[OPEN_EDGE] == Fraction(1, 10)


def test_a_receipt_names_its_entry(account):
    receipt = account.spend({OPEN_EDGE: "1/2"}, label="count by place")
    assert receipt.number == 2
    assert len(receipt.hash) == 64
    assert receipt.release_id
    with pytest.raises(dataclasses.FrozenInstanceError):
        receipt.number = 3
    assert pickle.loads(pickle.dumps(receipt)) == receipt


def test_entries_show_charges_totals_and_the_chain(place, open_ledger, open_account):
    ledger = open_ledger(place)
    account = open_account(ledger)
    first = account.spend({OPEN_EDGE: "1/2"}, label="a", detail={"keys": "12"})
    second = account.spend({OTHER_EDGE: "1/3"}, label="b", release_id="weekly")
    account.store(second, b"\x00answer\xff", "application/octet-stream")
    opened, a, b, stored = ledger.entries()
    assert [entry.kind for entry in (opened, a, b, stored)] == ["open", "spend", "spend", "store"]
    assert opened.detail["policy_toml"] == account.policy_toml
    assert opened.previous == _entry.GENESIS
    assert a.detail == {"keys": "12"}
    assert (a.epsilon, a.number) == ({OPEN_EDGE: Fraction(1, 2), OTHER_EDGE: 0}, first.number)
    assert b.total_epsilon == {OPEN_EDGE: Fraction(1, 2), OTHER_EDGE: Fraction(1, 3)}
    assert b.release_id == stored.release_id == "weekly"
    assert stored.epsilon == {OPEN_EDGE: 0, OTHER_EDGE: 0}
    assert stored.total_epsilon == b.total_epsilon
    assert stored.releases == 2
    assert [entry.previous for entry in (a, b, stored)] == [opened.hash, a.hash, b.hash]
    assert ledger.head() == stored.hash
    with pytest.raises(dataclasses.FrozenInstanceError):
        a.label = "changed"
    with pytest.raises(TypeError):
        a.epsilon[OPEN_EDGE] = Fraction(0)


def test_an_answer_is_recalled_and_never_charged_again(account):
    assert account.recall("weekly") is None
    receipt = account.spend(
        {OPEN_EDGE: 1}, label="count", detail={"by": "place"}, release_id="weekly"
    )
    account.store(receipt, b"\x00\xffanswer", "text/csv")
    stored = account.recall("weekly")
    assert (stored.payload, stored.content_type) == (b"\x00\xffanswer", "text/csv")
    assert (stored.number, stored.label, stored.detail) == (2, "count", {"by": "place"})
    assert account.releases == 1


def test_an_empty_answer_is_an_answer(account):
    receipt = account.spend({OPEN_EDGE: 1}, label="nothing to tell", release_id="empty")
    account.store(receipt, b"", "text/plain")
    assert account.recall("empty").payload == b""


def test_an_answer_lost_in_a_crash_stays_spent(account):
    account.spend({OPEN_EDGE: "1/2"}, label="count", release_id="weekly")
    with pytest.raises(errors.LedgerError, match="no answer is stored") as caught:
        account.recall("weekly")
    assert "ask again under a new id" in caught.value.hint
    values = dict(caught.value.values)
    assert values.pop("drawn") == account._store.read(lambda view: view.at(2).time)
    assert values == {"release_id": "weekly", "number": 2, "state": "lost"}
    assert account.remaining[OPEN_EDGE] == Fraction(1, 2)


def test_a_release_id_is_charged_once(account):
    account.spend({OPEN_EDGE: "1/2"}, label="count", release_id="weekly")
    with pytest.raises(errors.LedgerError, match="already charged") as caught:
        account.spend({OPEN_EDGE: "1/2"}, label="count", release_id="weekly")
    assert caught.value.values["number"] == 2
    assert account.releases == 1


def test_a_charge_has_exactly_one_answer(account):
    receipt = account.spend({OPEN_EDGE: "1/2"}, label="count", release_id="weekly")
    account.store(receipt, b"first", "text/plain")
    with pytest.raises(errors.LedgerError, match="already has its stored answer"):
        account.store(receipt, b"second", "text/plain")
    assert account.recall("weekly").payload == b"first"


def test_a_receipt_of_another_ledger_is_refused(account, open_ledger, open_account):
    elsewhere = open_account(open_ledger(None))
    receipt = elsewhere.spend({OPEN_EDGE: "1/2"}, label="count")
    account.spend({OPEN_EDGE: "1/2"}, label="count")
    for wrong in (receipt, dataclasses.replace(receipt, number=1)):
        with pytest.raises(errors.ParameterError, match="not of a charge in this ledger"):
            account.store(wrong, b"answer", "text/plain")


def test_an_account_is_reopened_as_it_was(shared_place, open_ledger, open_account):
    with open_ledger(shared_place) as ledger:
        open_account(ledger).spend({OPEN_EDGE: "1/3"}, label="count")
    again = open_ledger(shared_place)
    account = open_account(again)
    assert account.spent[OPEN_EDGE] == Fraction(1, 3)
    assert len(again.entries()) == 2
    assert [held.policy_id for held in again.accounts()] == [account.policy_id]
    assert again.accounts()[0].budget == account.budget


@pytest.mark.parametrize(
    "change",
    [
        {"policy_id": "0f" * 32, "policy_name": "minors"},
        {"budget": {OPEN_EDGE: 1}},
        {"budget": {OPEN_EDGE: 1, OTHER_EDGE: "2.5"}},
        {"delta_budget": {OPEN_EDGE: "1e-9"}},
    ],
)
def test_another_policy_or_budget_is_refused(place, open_ledger, open_account, change):
    ledger = open_ledger(place)
    open_account(ledger)
    with pytest.raises(errors.PolicyMismatchError) as caught:
        open_account(ledger, **change)
    assert "the ledger holds policy 'presence' (5e5e5e5e5e5e)" in caught.value.reason
    assert f"asked for policy '{change.get('policy_name', 'presence')}'" in caught.value.reason
    assert caught.value.values["held_budget"] == {OPEN_EDGE: 1, OTHER_EDGE: 2}
    assert len(ledger.entries()) == 1


def test_the_order_of_edges_does_not_matter(place, open_ledger, open_account):
    ledger = open_ledger(place)
    open_account(ledger, budget={"a": 1, "b": 2})
    open_account(ledger, budget={"b": "2", "a": Fraction(1)})
    assert len(ledger.entries()) == 1


def test_odd_text_survives(account, place, open_ledger):
    label = "übergröße \U0001f512 'quoted' \"; DROP TABLE onesided_entries; --\n\t%s %(x)s :name"
    account.spend(
        {OPEN_EDGE: "1/2"}, label=label, detail={label: [label, 1, None]}, release_id=label
    )
    account.store(account.spend({OPEN_EDGE: "1/4"}, label="x", release_id="y"), b"z", label)
    assert account.recall("y").content_type == label
    with pytest.raises(errors.LedgerError) as caught:
        account.recall(label)
    assert caught.value.values["release_id"] == label


def test_a_clock_that_runs_backwards_changes_nothing(place, open_ledger, open_account, monkeypatch):
    ledger = open_ledger(place)
    account = open_account(ledger)
    for stamp in ("2030-01-01T00:00:00+00:00", "1970-01-01T00:00:00+00:00"):
        monkeypatch.setattr(_entry, "now", lambda stamp=stamp: stamp)
        account.spend({OPEN_EDGE: "1/2"}, label=stamp)
    assert [entry.time[:4] for entry in ledger.entries()[1:]] == ["2030", "1970"]
    assert ledger.check().charges == 2
    with pytest.raises(errors.BudgetExceededError):
        account.spend({OPEN_EDGE: "1/2"}, label="time gives nothing back")


def test_a_closed_ledger_says_so(place, open_ledger, open_account):
    ledger = open_ledger(place)
    account = open_account(ledger)
    ledger.close()
    ledger.close()
    with pytest.raises(errors.LedgerError, match="closed"):
        account.spend({OPEN_EDGE: 1}, label="late")
    with pytest.raises(errors.LedgerError, match="closed"):
        ledger.head()


def test_an_empty_ledger_holds(place, open_ledger):
    ledger = open_ledger(place)
    assert ledger.entries() == ()
    assert ledger.accounts() == ()
    assert ledger.head() == "0" * 64
    assert ledger.check(ledger.head()).entries == 0


def test_check_reports_what_it_saw(place, open_ledger, open_account):
    ledger = open_ledger(place)
    account = open_account(ledger)
    kept = ledger.head()
    account.store(account.spend({OPEN_EDGE: "1/2"}, label="a"), b"answer", "text/plain")
    lost = account.spend({OPEN_EDGE: "1/4"}, label="b")
    report = ledger.check(kept)
    assert (report.entries, report.charges, report.stored) == (4, 2, 1)
    assert report.unanswered == (lost.number,)
    assert report.head == ledger.head()


def test_threads_share_a_budget(account):
    told = []

    def spend():
        for _ in range(5):
            try:
                told.append(account.spend({OPEN_EDGE: "1/10"}, label="thread").number)
            except errors.BudgetExceededError:
                told.append(None)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    accepted = [number for number in told if number]
    assert sorted(accepted) == list(range(2, 12))
    assert len(told) == 20


def test_two_ledger_objects_see_each_other(shared_place, open_ledger, open_account):
    mine, theirs = (open_account(open_ledger(shared_place)) for _ in range(2))
    mine.spend({OPEN_EDGE: "3/4"}, label="mine")
    with pytest.raises(errors.BudgetExceededError, match="1/4 left"):
        theirs.spend({OPEN_EDGE: "1/2"}, label="theirs")
    theirs.spend({OPEN_EDGE: "1/4"}, label="theirs")
    assert mine.remaining[OPEN_EDGE] == 0


def test_ledger_opens_a_string_path_and_an_sqlite_url(tmp_path):
    for where in (str(tmp_path / "a.db"), f"sqlite:///{tmp_path}/b.db"):
        with Ledger.open(where) as ledger:
            assert ledger.entries() == ()
            ledger.make()
            assert ledger.entries() == ()
    assert {path.name for path in tmp_path.iterdir()} == {"a.db", "b.db"}
