"""Accounts of the kind renyi: one filter behind every door, kept, recomputed and never pure."""

import json
import math
import random
from fractions import Fraction

import pytest

from onesided import errors
from onesided._numbers import INFINITE, ORDERS
from onesided.accounting import charge_divergences, divergences, noise_note, two_way_loss
from onesided.ledger import Allowance, Ledger, _amounts, _entry
from onesided.mechanism import Counts
from onesided.policy import Shift

EDGE, OTHER = "sensitive -> open", "sensitive -> sensitive"
SMALL = Fraction(1, 100)
NOTE = noise_note(
    Counts(SMALL, SMALL), {EDGE: [Shift(rise=0, fall=1)], OTHER: [Shift(rise=0, fall=1)]}
)
CHARGE = {EDGE: SMALL, OTHER: SMALL}
NO_DELTA = dict.fromkeys(CHARGE, Fraction(0))
LAWS = charge_divergences({"noise": NOTE}, epsilon=CHARGE, delta=NO_DELTA)
KIND = {
    "budget": {EDGE: 1, OTHER: 1},
    "delta_budget": {EDGE: "1/1000000", OTHER: "1/1000000"},
    "accounting": "renyi",
}


def spend(account, charge=CHARGE, **more):
    given = {"divergences": LAWS, "detail": {"noise": NOTE}, "label": "a count"} | more
    return account.spend(charge, **given)


@pytest.fixture
def account(place, open_ledger, open_account):
    return open_account(open_ledger(place), **KIND)


def test_a_budget_of_one_holds_350_answers_of_a_hundredth(open_ledger, open_account):
    account = open_account(open_ledger(), **KIND)
    assert account.times(CHARGE, divergences=LAWS) == 350
    for _ in range(7):
        spend(
            account,
            dict.fromkeys(CHARGE, 50 * SMALL),
            divergences={edge: [50 * one for one in some] for edge, some in LAWS.items()},
            detail=None,
        )
    assert account.times(CHARGE, divergences=LAWS) == 0
    with pytest.raises(errors.BudgetExceededError, match="asked 1/100"):
        spend(account)
    assert account.standing().spent[EDGE] < 1 < Fraction(7, 2)
    assert account.standing().delta_spent[EDGE] == Fraction(1, 10**6)


def test_the_shares_are_those_of_the_proof():
    budget = _amounts.read_budget({"e": 2}, {"e": "1/1000"}, accounting="renyi")
    for share, order in zip(budget.orders["e"], ORDERS, strict=True):
        due = 2 - math.log(1000) / (order - 1)
        assert share / 2**64 == pytest.approx(due)
        assert Fraction(share, 2**64) <= Fraction(due) + Fraction(1, 2**50)
    spent = sum(1 / o * (1 - 1 / o) ** (o - 1) for o in ORDERS)
    assert spent + 2 / 5 < 1


def test_what_has_no_law_adds_epsilon_and_is_never_worse_than_pure(account):
    for _ in range(4):
        account.spend({EDGE: "1/4"}, label="one-sided")
    assert account.remaining == {EDGE: 0, OTHER: 1}
    assert account.standing().delta_spent == NO_DELTA
    with pytest.raises(errors.BudgetExceededError):
        account.spend({EDGE: "1/1000"}, label="more")


def test_divergences_above_epsilon_below_zero_or_infinite(account):
    account.spend({EDGE: "1/2"}, divergences={EDGE: [INFINITE] * 11}, label="cut to its ε")
    account.spend({EDGE: "1/4"}, divergences={EDGE: [Fraction(9)] * 11}, label="cut to its ε")
    account.spend({EDGE: "1/4"}, divergences={EDGE: ()}, label="none told")
    assert account.remaining[EDGE] == 0


@pytest.mark.parametrize(
    ("divergences", "match"),
    [
        ({OTHER: [Fraction(-1)] * 11}, "at least 0"),
        ({OTHER: [Fraction(0)] * 10 + [math.nan]}, "finite"),
        ({OTHER: ["a hundredth"] * 11}, "finite"),
        ({OTHER: [None] * 11}, "finite"),
        ({OTHER: [Fraction(0)] * 3}, "one of 11"),
        ({OTHER: "0" * 11}, "one of 11"),
        ({OTHER: Fraction(1)}, "one of 11"),
        ({OTHER: None}, "one of 11"),
        ({"b -> a": [Fraction(0)] * 11}, "unknown edge 'b -> a'"),
        ([Fraction(0)] * 11, "must map edges"),
        ("none", "must map edges"),
    ],
)
def test_divergences_that_are_none(account, divergences, match):
    for refused in (account.spend, account.require, account.times):
        more = {"label": "x"} if refused == account.spend else {}
        with pytest.raises(errors.ParameterError, match=match):
            refused({OTHER: "1/4"}, divergences=divergences, **more)
    assert account.releases == 0


def test_a_charge_with_delta_adds_epsilon_and_takes_of_two_fifths(account):
    delta = {EDGE: "1/5000000"}
    account.spend({EDGE: "1/100"}, delta=delta, divergences=LAWS, label="truncated")
    assert account.delta_remaining[EDGE] == Fraction(1, 5_000_000)
    account.spend({EDGE: "1/100"}, delta=delta, label="truncated")
    with pytest.raises(errors.BudgetExceededError, match="δ"):
        account.spend({EDGE: 0}, delta={EDGE: "1/10000000000"}, label="truncated")
    (entry,) = Ledger.entries(_ledger_of(account), last=1)
    assert entry.divergences[EDGE] == (entry.divergences[EDGE][0],) * 11
    assert entry.divergences[EDGE][0] >= Fraction(1, 100)


def _ledger_of(account):
    return Ledger(account._store)


def test_the_kind_is_kept(place, open_ledger, open_account):
    ledger = open_ledger(place)
    first = open_account(ledger, **KIND)
    assert first.accounting == open_account(ledger, **KIND).accounting == "renyi"
    assert [one.accounting for one in ledger.accounts()] == ["renyi"]
    with pytest.raises(errors.PolicyMismatchError, match="accounting='renyi'; asked for") as caught:
        open_account(ledger, **(KIND | {"accounting": "pure"}))
    assert caught.value.values["held_accounting"] == "renyi"


def test_a_pure_account_stays_pure(place, open_ledger, open_account):
    ledger = open_ledger(place)
    account = open_account(ledger, **(KIND | {"accounting": "pure"}))
    spend(account)
    assert ledger.entries(last=1)[0].divergences == {}
    assert account.remaining[EDGE] == Fraction(99, 100)
    with pytest.raises(errors.PolicyMismatchError, match="accounting='renyi'"):
        open_account(ledger, **KIND)


@pytest.mark.parametrize("accounting", ["zcdp", "", None, 1])
def test_other_kinds_are_refused(open_ledger, open_account, accounting):
    with pytest.raises(errors.ParameterError, match="accounting="):
        open_account(open_ledger(), **(KIND | {"accounting": accounting}))


@pytest.mark.parametrize("delta", [{}, {EDGE: 0}, {EDGE: 1}, {EDGE: 2}])
def test_a_delta_is_needed(open_ledger, open_account, delta):
    with pytest.raises(errors.ParameterError, match="needs a delta_budget"):
        open_account(open_ledger(), **(KIND | {"delta_budget": delta}))


def test_an_edge_without_delta_is_pure(open_ledger, open_account):
    account = open_account(open_ledger(), **(KIND | {"delta_budget": {EDGE: "1/1000000"}}))
    assert account.times({EDGE: SMALL}, divergences=LAWS) == 350
    assert account.times({OTHER: SMALL}, divergences=LAWS) == 100


def test_reopened_checked_and_recomputed(shared_place, open_ledger, open_account):
    ledger = open_ledger(shared_place)
    account = open_account(ledger, **KIND)
    for turn in range(5):
        receipt = spend(account, release_id=f"{turn}")
        account.store(receipt, b"x", "text/plain")
    again = open_ledger(shared_place)
    assert again.check(laws=charge_divergences).charges == 5
    told = again.balances()[0]
    assert told.accounting == "renyi"
    assert told.remaining == account.remaining
    entry = again.entries(kind="spend")[4]
    assert entry.total_divergences[EDGE] == tuple(5 * one for one in LAWS[EDGE])
    assert "onesided.divergences" not in entry.detail
    assert told.left_after(entry)[0] == account.left_after(entry.number) == account.remaining


def test_a_row_that_says_less_than_its_noise_is_found(open_ledger, open_account):
    ledger = open_ledger()
    account = open_account(ledger, **KIND)
    account.spend(CHARGE, divergences={e: [Fraction(0)] * 11 for e in CHARGE}, label="a lie")
    with pytest.raises(errors.ParameterError, match="has a renyi account"):
        ledger.check()
    with pytest.raises(errors.TamperedLedgerError, match="less than those of its noise"):
        ledger.check(laws=charge_divergences)


def test_an_allowance_adds_epsilon(account):
    ann = Allowance(who="ann", epsilon={EDGE: "1/50", OTHER: "1/50"})
    spend(account, allowance=ann)
    spend(account, allowance=ann)
    with pytest.raises(errors.BudgetExceededError, match="ann"):
        spend(account, allowance=ann)
    spend(account, allowance=Allowance(who="curator"))
    assert account.allowed(ann).remaining == {EDGE: 0, OTHER: 0}
    assert account.releases == 3


def forged(row, **detail):
    held = json.loads(row.detail) | detail
    changed = _entry.Row(
        **{n: getattr(row, n) for n in _entry.COLUMNS} | {"detail": _entry.canonical(held)}
    )
    return _entry.replace(changed, hash=_entry.digest(changed))


@pytest.mark.parametrize(
    "orders",
    [
        None,
        {},
        {"charged": {}, "total": {EDGE: "1"}},
        {"charged": {}, "total": {EDGE: 1}},
        {"charged": {}, "total": {EDGE: " ".join(["-1"] * 11)}},
        {"charged": {}, "total": {EDGE: " ".join(["01"] * 11)}},
        {"charged": {}, "total": {"x": " ".join(["1"] * 11)}},
        {"charged": [], "total": {}},
    ],
)
def test_rows_whose_divergences_cannot_be_read(open_ledger, open_account, orders):
    ledger = open_ledger()
    spend(open_account(ledger, **KIND))
    row = ledger._store.read(lambda view: view.at(2))
    with pytest.raises(errors.TamperedLedgerError, match="cannot be read"):
        _entry.amounts_of(forged(row, **{"onesided.divergences": orders}))


def test_a_reserved_key_is_refused(account):
    with pytest.raises(errors.ParameterError, match="reserved"):
        spend(account, detail={"onesided.divergences": {}})


def offered(budget, forward, backward):
    """A charge of two losses: as the filter adds it, and each loss with its chance."""
    told = {"e": divergences(two_way_loss(forward, backward))}
    charge = _amounts.read_charge({"e": forward}, None, budget=budget, divergences=told)
    u, v = math.exp(-float(forward)), math.exp(-float(backward))
    up = (1 - v) / (1 - u * v)
    return charge, ((up, float(forward)), (1 - up, -float(backward)))


def reached(rng, offers, budget, epsilon, spent, *, loss=0.0, left=4):
    """δ of an asker who chooses by chance after every answer, and asks again where refused."""
    stop = max(0.0, 1 - math.exp(epsilon - loss))
    for _ in range(3 * bool(left)):
        charge, law = rng.choice(offers)
        total = spent + charge
        if not budget.over(total):
            more = {"left": left - 1}
            told = (
                p * reached(rng, offers, budget, epsilon, total, loss=loss + x, **more)
                for p, x in law
            )
            return max(stop, sum(told))
    return stop


@pytest.mark.parametrize(("epsilon", "delta"), [("6", "1/1000"), ("1", "1/10"), ("3", "1/50")])
def test_ten_thousand_askers_by_chance_never_pass_the_filter(epsilon, delta):
    rng = random.Random(epsilon)
    budget = _amounts.read_budget({"e": epsilon}, {"e": delta}, accounting="renyi")
    sizes = [Fraction(epsilon) * Fraction(n, 8) for n in range(1, 10)]
    offers = [offered(budget, size, size / back) for size in sizes for back in (1, 8, 64, 1024)]
    nothing, most = budget.nothing(), 0.0
    for _ in range(3_400):
        most = max(most, reached(rng, offers, budget, float(Fraction(epsilon)), nothing))
    assert 0 < most <= float(Fraction(delta)) + 1e-12
