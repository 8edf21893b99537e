"""Charges of which no pure ε holds: by orders alone, kept, recomputed, and refused as pure."""

import json
from fractions import Fraction

import pytest

from onesided import errors
from onesided._numbers import INFINITE, ORDERS
from onesided.accounting import charge_divergences, noise_note
from onesided.ledger import Allowance, _entry
from onesided.mechanism import GaussianCounts
from onesided.policy import Shift

EDGE, OTHER = "record -> absent", "absent -> record"
NOTE = noise_note(
    GaussianCounts(2904, alike=True),
    {EDGE: [Shift(rise=0, fall=100)], OTHER: [Shift(rise=25, fall=0)]},
)
CHARGE = {EDGE: INFINITE, OTHER: INFINITE}
NO_DELTA = dict.fromkeys(CHARGE, Fraction(0))
LAWS = charge_divergences({"noise": NOTE}, epsilon=CHARGE, delta=NO_DELTA)
KIND = {
    "budget": {EDGE: 1, OTHER: 1},
    "delta_budget": {EDGE: "1/1000000", OTHER: "1/1000000"},
    "accounting": "renyi",
}


def spend(account, charge=CHARGE, **more):
    given = {"divergences": LAWS, "detail": {"noise": NOTE}, "label": "counts"} | more
    return account.spend(charge, **given)


@pytest.fixture
def account(place, open_ledger, open_account):
    return open_account(open_ledger(place), **KIND)


def test_its_divergences_are_those_of_the_normal_law_in_each_direction():
    for edge, squares in ((EDGE, 100), (OTHER, 25)):
        for one, order in zip(LAWS[edge], ORDERS, strict=True):
            assert 0 <= one - Fraction(order * squares, 2 * 2904) <= Fraction(1, 2**64)


def test_one_fills_the_account_along_one_edge_and_a_quarter_of_it_along_the_other(account):
    assert account.times(CHARGE, divergences=LAWS) == 1
    parts = account.parts(CHARGE, divergences=LAWS)
    assert Fraction(99, 100) < parts[EDGE] < 1
    assert parts[OTHER] == pytest.approx(parts[EDGE] / 4)
    spend(account)
    assert 0 <= account.remaining[EDGE] < Fraction(1, 1000) < account.remaining[OTHER]
    assert account.spent[EDGE] + account.remaining[EDGE] == 1
    assert account.delta_spent == dict.fromkeys(CHARGE, Fraction(1, 10**6))
    with pytest.raises(
        errors.BudgetExceededError, match=r"asked D at order 33 = .* left"
    ) as caught:
        spend(account)
    assert caught.value.values["unit"] == "divergence"
    assert caught.value.values["edge"] == EDGE
    assert account.releases == 1


def test_what_keeps_an_epsilon_goes_by_orders_beside_it(account):
    spend(account, {OTHER: INFINITE}, divergences={OTHER: LAWS[OTHER]}, detail=None)
    assert account.times({OTHER: "1/10"}) == int(account.remaining[OTHER] * 10)
    assert account.times({EDGE: "1/10"}) == 10
    account.spend({OTHER: "1/10"}, label="one-sided")
    with pytest.raises(errors.BudgetExceededError, match="asked 1,"):
        account.spend({OTHER: 1}, label="one-sided")


def test_a_pure_account_refuses_it(open_ledger, open_account):
    account = open_account(open_ledger(), **(KIND | {"accounting": "pure"}))
    for refused in (spend, lambda one: one.require(CHARGE, divergences=LAWS)):
        with pytest.raises(errors.BudgetExceededError, match="infinite loss"):
            refused(account)
    assert account.releases == 0


@pytest.mark.parametrize(
    "more",
    [
        {"divergences": None},
        {"divergences": {EDGE: LAWS[EDGE]}},
        {"divergences": {EDGE: LAWS[EDGE], OTHER: ()}},
        {"divergences": {EDGE: LAWS[EDGE], OTHER: [*LAWS[OTHER][:10], INFINITE]}},
        {"delta": {EDGE: "1/10000000"}},
    ],
)
def test_without_divergences_or_with_a_delta_it_is_an_infinite_loss(account, more):
    with pytest.raises(errors.BudgetExceededError, match="infinite loss"):
        spend(account, **more)
    assert account.releases == 0


def test_an_edge_without_a_delta_has_no_room_for_it(open_ledger, open_account):
    account = open_account(open_ledger(), **(KIND | {"delta_budget": {EDGE: "1/1000000"}}))
    assert account.parts(CHARGE, divergences=LAWS)[OTHER] == INFINITE
    assert account.times(CHARGE, divergences=LAWS) == 0
    with pytest.raises(errors.BudgetExceededError, match=OTHER):
        spend(account)


def test_an_allowance_counts_epsilon_and_refuses_it(account):
    ann = Allowance(who="ann", epsilon={EDGE: 1, OTHER: 1})
    with pytest.raises(errors.BudgetExceededError, match="asked INFINITE") as caught:
        spend(account, allowance=ann)
    assert 'law="pure"' in caught.value.hint
    spend(account, allowance=Allowance(who="curator"))
    assert account.allowed(ann).remaining == {EDGE: 1, OTHER: 1}


def test_reopened_checked_and_recomputed(shared_place, open_ledger, open_account):
    account = open_account(open_ledger(shared_place), **KIND)
    account.store(spend(account, release_id="one"), b"x", "text/plain")
    again = open_ledger(shared_place)
    assert again.check(laws=charge_divergences).charges == 1
    (entry,) = again.entries(kind="spend")
    assert entry.epsilon == entry.total_epsilon == CHARGE
    assert again.balances()[0].left_after(entry)[0] == account.remaining
    assert account.left_after(entry.number) == account.remaining


@pytest.mark.parametrize(
    ("note", "divergences"),
    [
        (
            noise_note(
                GaussianCounts(1452, alike=True), {e: [Shift(rise=0, fall=100)] for e in CHARGE}
            ),
            LAWS,
        ),
        ({}, LAWS),
        ({**NOTE, "version": 2}, LAWS),
        (NOTE, {EDGE: LAWS[OTHER], OTHER: LAWS[OTHER]}),
    ],
)
def test_a_row_that_says_less_than_its_noise_is_found(open_ledger, open_account, note, divergences):
    ledger = open_ledger()
    spend(open_account(ledger, **KIND), detail={"noise": note}, divergences=divergences)
    with pytest.raises(errors.TamperedLedgerError, match="less than those of its noise"):
        ledger.check(laws=charge_divergences)


@pytest.mark.parametrize("column", ["epsilon", "total_epsilon", "delta"])
def test_a_pure_row_never_says_infinite(open_ledger, open_account, column):
    ledger = open_ledger()
    account = open_account(ledger, **(KIND | {"accounting": "pure"}))
    account.spend({EDGE: "1/4"}, label="x")
    row = ledger._store.read(lambda view: view.at(2))
    told = json.dumps({EDGE: "INFINITE", OTHER: "0"})
    forged = _entry.replace(row, **{column: told})
    with pytest.raises(errors.TamperedLedgerError, match="cannot be read"):
        _entry.amounts_of(forged)


def test_a_budget_is_never_infinite(open_ledger, open_account):
    with pytest.raises(errors.ParameterError):
        open_account(open_ledger(), **(KIND | {"budget": {EDGE: INFINITE, OTHER: 1}}))
