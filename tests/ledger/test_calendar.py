"""Accounts by cohort in the ledger: cells against their definition, ages, bad input, edits."""

import datetime as dt
import json
import threading
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onesided import errors
from onesided._numbers import INFINITE
from onesided.ledger import Calendar, Cohorts, Ledger, _account, _calendar, _entry, _terms
from onesided.ledger._amounts import read_budget, read_charge
from onesided.ledger._calendar import Cells

TERMS = {"policy_id": "p", "policy_toml": "", "policy_name": "p"}
DATES = [dt.date(2026, 1, day) for day in range(1, 5)]
ELSE = dt.date(2031, 7, 1)
EVERY = [*DATES, ELSE, None]
TODAY = dt.date(2026, 1, 9)


def opened(calendar="day", *, where=None, budget=1, **more):
    calendar = Calendar(calendar) if isinstance(calendar, str) else calendar
    ledger = Ledger.open(where)
    return ledger.account(**TERMS, budget={"up": budget}, calendar=calendar, **more)


def dates(*some):
    """Charged: these dates, None for unknown ones."""
    return Cohorts(days=tuple((d, d) for d in some if d), unknown=None in some)


def meets(cohorts, date):
    return cohorts.unknown if date is None else cohorts.holds(date)


def sixths(most):
    return st.integers(0, most).map(lambda n: Fraction(n, 6))


@st.composite
def charges(draw):
    some = draw(st.lists(st.sampled_from(EVERY), min_size=1, max_size=4, unique=True))
    cohorts = draw(st.sampled_from([dates(*some), Cohorts.everything()]))
    price = draw(sixths(4))
    left = draw(st.sampled_from([None, price, price / 2]))
    if left is None:
        return cohorts, price
    told = {"up": left}
    return Cohorts(days=cohorts.days, unknown=cohorts.unknown, left=told, entered=told), price


def lost(taken, one, two):
    """The most that a move from a date to a date loses, charge by charge, by the definition."""
    total = Fraction(0)
    for cohorts, price in taken:
        here, there = meets(cohorts, one), meets(cohorts, two)
        ends = [price if end is None else end["up"] for end in (cohorts.left, cohorts.entered)]
        total += price if here and there else ends[0] if here else ends[1] if there else 0
    return total


def amounts(price, told=None):
    budget = read_budget({"up": 1}, None)
    return read_charge({"up": price}, None, budget=budget, divergences=told)


@pytest.mark.parametrize("may_move", [False, True])
@settings(deadline=None, max_examples=40)
@given(asked=st.lists(charges(), max_size=8))
def test_no_move_loses_more_than_the_budget_of_its_date(may_move, asked):
    cells = Cells(read_budget({"up": 1}, None), Calendar("day", may_move=may_move))
    pairs, taken = [(a, b) for a in EVERY for b in EVERY if a == b or may_move], []
    for number, (cohorts, price) in enumerate(asked, 2):
        after = max(lost([*taken, (cohorts, price)], *pair) for pair in pairs)
        fits = cells.times(cohorts, amounts(price), TODAY)
        try:
            cells.require(cohorts, amounts(price), TODAY)
        except errors.BudgetExceededError:
            assert may_move or (after > 1 and fits == 0)
            continue
        cells.add(number, cohorts, amounts(price), TODAY)
        taken.append((cohorts, price))
        assert after <= 1
        assert may_move or fits != 0
    for one in cells.table(TODAY):
        for date in EVERY:
            if meets(one.dates, date):
                here = max(lost(taken, date, b) for b in (EVERY if may_move else [date]))
                assert one.spent["up"] >= here if may_move else one.spent["up"] == here
                assert one.remaining["up"] <= 1 - here


@settings(deadline=None, max_examples=50)
@given(days=st.lists(st.integers(0, 3), min_size=1, max_size=60))
def test_a_renyi_account_by_cohort_is_a_filter_for_each_date(days):
    """A charge about one date is taken exactly if an account of that date alone takes it."""
    budget = read_budget({"up": 1}, {"up": "1/1000000"}, accounting="renyi")
    law = {"up": tuple(Fraction(1 + 2**k, 2000) for k in range(11))}
    charge = read_charge({"up": "1/6"}, None, budget=budget, divergences=law)
    cells, alone = Cells(budget, Calendar("day")), {}
    for number, day in enumerate(days, 2):
        spent = alone.setdefault(day, budget.nothing())
        try:
            cells.require(dates(DATES[day]), charge, TODAY)
            cells.add(number, dates(DATES[day]), charge, TODAY)
        except errors.BudgetExceededError:
            assert budget.over(spent + charge)
        else:
            alone[day] = spent + charge
            assert not budget.over(alone[day])


RENYI = read_budget({"up": 1}, {"up": "1/1000000"}, accounting="renyi")
NORMAL = tuple(Fraction(1 + 2**k, 2000) for k in range(11))  # 1 of σ² = 1000


def keeps(taken, one, two):
    """Whether a move from a date to a date keeps within ε, or within some order's share of it."""
    sums = [Fraction(0)] * 11
    for cohorts, charge in taken:
        here, there = meets(cohorts, one), meets(cohorts, two)
        some = charge.orders["up"] if here or there else (0,) * 11
        sums = [mine + n for mine, n in zip(sums, some, strict=True)]
    plain = sum(
        (charge.epsilon["up"] for cohorts, charge in taken
         if meets(cohorts, one) or meets(cohorts, two)), Fraction(0)
    )  # fmt: skip
    shares = zip(sums, RENYI.orders["up"], strict=True)
    return plain <= 1 or any(used <= share for used, share in shares)


def endless(times):
    law = {"up": [one * times for one in NORMAL]}
    return read_charge({"up": INFINITE}, None, budget=RENYI, divergences=law)


@pytest.mark.parametrize("may_move", [False, True])
@settings(deadline=None, max_examples=40)
@given(asked=st.lists(st.tuples(charges(), st.sampled_from([0, 3, 12, 40])), max_size=12))
def test_what_keeps_no_epsilon_is_added_at_each_order_of_its_dates(may_move, asked):
    cells = Cells(RENYI, Calendar("day", may_move=may_move))
    pairs, taken = [(a, b) for a in EVERY for b in EVERY if a == b or may_move], []
    for number, ((cohorts, price), times) in enumerate(asked, 2):
        charge = endless(times) if times else read_charge({"up": price}, None, budget=RENYI)
        about = replace(cohorts, left=None, entered=None)  # what is told less by is tried above
        after = all(keeps([*taken, (about, charge)], *pair) for pair in pairs)
        fits = cells.times(about, charge, TODAY)
        try:
            cells.require(about, charge, TODAY)
        except errors.BudgetExceededError:
            assert may_move or (not after and fits == 0)
            continue
        cells.add(number, about, charge, TODAY)
        taken.append((about, charge))
        assert after
        assert may_move or fits != 0
    assert all(0 <= one.remaining["up"] <= 1 for one in cells.table(TODAY))


def test_leaving_a_date_for_nothing_is_found(monkeypatch):
    """The broken twin of the property above: what keeps no ε costs nothing to leave or to enter."""
    about = dates(DATES[0]), dates(DATES[1])
    charges = [(one, endless(12)) for one in about * 9]

    def taken():
        cells, found = Cells(RENYI, Calendar("day", may_move=True)), []
        for number, (cohorts, charge) in enumerate(charges, 2):
            try:
                cells.require(cohorts, charge, TODAY)
            except errors.BudgetExceededError:
                continue
            cells.add(number, cohorts, charge, TODAY)
            found.append((cohorts, charge))
        return found

    assert keeps(taken(), DATES[0], DATES[1])
    nothing = read_charge({"up": 0}, None, budget=RENYI)
    monkeypatch.setattr(_calendar, "_end", lambda *_: nothing)
    assert not keeps(taken(), DATES[0], DATES[1])


def test_all_that_tells_of_an_account_agrees(place):
    account = opened(where=place)
    for cohorts in (dates(DATES[0]), dates(*DATES[:2]), Cohorts.everything(), dates(None)):
        account.spend({"up": "1/4"}, label="a count", cohorts=cohorts)
    ledger = Ledger(account._store)
    assert (ledger.check().charges, ledger.check().backwards) == (4, ())
    ledger.check()
    (balance,) = ledger.balances()
    assert balance.by_cohort() == account.by_cohort()
    assert balance.remaining == account.remaining == {"up": Fraction(1, 4)}
    assert balance.spent == {"up": 1}
    assert account.left_after(3) == {"up": Fraction(1, 2)}
    assert balance.left_after(ledger.entry(5))[0] == {"up": Fraction(1, 2)}


def at(monkeypatch, day):
    for module in (_account, _entry, _terms):
        monkeypatch.setattr(module, "now", lambda: f"{day.isoformat()}T12:00:00.000000+00:00")


def test_a_budget_grows_with_age_and_then_ends(monkeypatch, place):
    calendar = Calendar("day", schedule={0: "1/4", 10: "1/2", 30: 1}, ends=100)
    account, day = opened(calendar, where=place), DATES[0]

    def charge(amount):
        account.spend({"up": amount}, label="a count", cohorts=dates(day))

    for age, amount in ((0, "1/4"), (10, "1/4"), (30, "1/2")):
        if age:
            at(monkeypatch, day + dt.timedelta(days=age - 1))
            with pytest.raises(errors.BudgetExceededError, match="day 2026-01-01: asked"):
                charge(amount)
        at(monkeypatch, day + dt.timedelta(days=age))
        charge(amount)
    fresh = dates(dt.date(2026, 6, 1))
    assert account.times({"up": "1/4"}, cohorts=fresh) == 1  # what it will have at age 0
    with pytest.raises(errors.BudgetExceededError):  # whatever is older, dates to come have that
        account.spend({"up": "1/3"}, label="all", cohorts=Cohorts(days=((DATES[1], None),)))
    assert account.times({"up": "1/4"}, cohorts=dates(None)) == 1  # of age 0 for ever
    late = day + dt.timedelta(days=100)
    at(monkeypatch, late)
    account.confirm(late)
    for about in (dates(day), Cohorts.everything()):
        with pytest.raises(errors.BudgetExceededError, match="ended at age 100 days"):
            account.spend({"up": "1/9"}, label="late", cohorts=about)
    assert Ledger(account._store).check().charges == 3


@pytest.mark.parametrize("calendar", [
    Calendar("day", schedule={0: "1/4", 10: "1/2"}), Calendar("day", ends=100)
])  # fmt: skip
def test_no_charge_is_dated_before_an_earlier_row(monkeypatch, place, calendar):
    """Budgets that grow by date, seen by the process that charged and by another one."""
    about, one = dates(DATES[3]), {"up": "1/9"}
    first = opened(calendar, where=place, budget="1/2")
    at(monkeypatch, DATES[1])
    first.spend(one, label="a count", cohorts=about)
    again = first if place is None else opened(calendar, where=place, budget="1/2")
    at(monkeypatch, DATES[0])
    rows = first._store.read(lambda view: view.extent())
    for account in (first, again):
        with pytest.raises(errors.LedgerError, match="clock says 2026-01-01, and the ledger has a"):
            account.spend(one, label="a count", cohorts=about)
    with pytest.raises(errors.LedgerError, match="a row of 2026-01-02"):  # before any row is read
        first.require(one, cohorts=about)
    assert first._store.read(lambda view: view.extent()) == rows
    assert Ledger(first._store).check().backwards == ()
    at(monkeypatch, DATES[1])
    again.spend(one, label="a count", cohorts=about)
    # An account of another policy on this ledger may be dated as it likes; its row counts.
    at(monkeypatch, DATES[3])
    other = Ledger(first._store).account(
        **{**TERMS, "policy_id": "q"}, budget={"up": 1}, further=True
    )
    other.spend(one, label="later")
    at(monkeypatch, DATES[2])
    with pytest.raises(errors.LedgerError, match="a row of 2026-01-04"):
        first.spend(one, label="a count", cohorts=about)


def test_dates_that_go_backwards_are_told(monkeypatch):
    """Where no budget grows by them nothing is refused, and the check says which rows."""
    account = opened()
    for day in (DATES[2], DATES[0], DATES[1], DATES[3]):
        at(monkeypatch, day)
        account.spend({"up": "1/9"}, label="a count", cohorts=dates(day))
    assert Ledger(account._store).check().backwards == (3, 4)


def test_a_twin_that_forgets_what_it_saw_charges_twice(monkeypatch):
    """A clock that ran ahead and was set right: the budget of a later age, and then more."""
    calendar = Calendar("day", schedule={0: "1/4", 10: 1})
    account = opened(calendar)
    at(monkeypatch, DATES[0] + dt.timedelta(days=10))
    account.spend({"up": "1/2"}, label="early", cohorts=dates(DATES[0]))
    at(monkeypatch, DATES[0])
    fresh = dates(DATES[1])
    with pytest.raises(errors.LedgerError, match="a row of 2026-01-11"):
        account.spend({"up": "1/4"}, label="a count", cohorts=fresh)
    monkeypatch.setattr(Cells, "day", lambda _, time, *__: dt.date.fromisoformat(time[:10]))
    account.spend({"up": "1/4"}, label="a count", cohorts=fresh)
    assert Ledger(account._store).check().backwards == (3,)


@pytest.mark.parametrize("calendar", [
    Calendar("day", schedule={0: "1/4", 10: "1/2"}), Calendar("day", ends=200)
])  # fmt: skip
def test_a_clock_far_ahead_is_asked_about(monkeypatch, place, calendar):
    """41 days after the account's last charge, whoever else charged this ledger since."""
    about, one = dates(DATES[3]), {"up": "1/9"}
    account = opened(calendar, where=place, budget="1/2")
    for after in (0, 40):
        at(monkeypatch, DATES[0] + dt.timedelta(days=after))
        account.spend(one, label="a count", cohorts=about)
    late = DATES[0] + dt.timedelta(days=81)
    at(monkeypatch, late)
    other = Ledger(account._store).account(
        **{**TERMS, "policy_id": "q"}, budget={"up": 1}, further=True
    )
    other.spend(one, label="not by date")
    again = account if place is None else opened(calendar, where=place, budget="1/2")
    rows = account._store.read(lambda view: view.extent())
    for some in (account, again):
        with pytest.raises(errors.LedgerError, match="last row is of 2026-02-10: if the"):
            some.spend(one, label="a count", cohorts=about)
    for said, error in ((late + dt.timedelta(days=1), errors.LedgerError),
                        ("tomorrow", errors.ParameterError)):  # fmt: skip
        with pytest.raises(error):
            again.confirm(said)
    assert account._store.read(lambda view: view.extent()) == rows
    assert Ledger(account._store).check().ahead == ()
    again.confirm(str(late))
    again.spend(one, label="a count", cohorts=about)
    account.spend(one, label="a count", cohorts=about)  # which sees that another one was charged
    report = Ledger(account._store).check()
    assert (report.ahead, report.backwards) == ((6,), ())


def test_a_clock_of_another_day_is_not_what_was_confirmed(monkeypatch):
    account = opened(Calendar("day", schedule={0: "1/4", 10: 1}))
    at(monkeypatch, DATES[0])
    account.spend({"up": "1/9"}, label="a count", cohorts=dates(DATES[0]))
    for after, confirmed in ((50, True), (51, False)):
        day = DATES[0] + dt.timedelta(days=after)
        at(monkeypatch, day)
        if confirmed:
            account.confirm(day)
    with pytest.raises(errors.LedgerError, match="clock says 2026-02-21"):
        account.spend({"up": "1/9"}, label="a count", cohorts=dates(DATES[0]))


def test_where_no_budget_grows_a_clock_is_not_asked_about(monkeypatch):
    account = opened()
    for after in (0, 500):
        at(monkeypatch, DATES[0] + dt.timedelta(days=after))
        account.spend({"up": "1/9"}, label="a count", cohorts=dates(DATES[0]))
    assert Ledger(account._store).check().ahead == ()


def test_an_answer_that_was_too_early_is_found(monkeypatch):
    account = opened(Calendar("day", schedule={0: "1/4", 10: 1}))
    at(monkeypatch, DATES[0] + dt.timedelta(days=10))
    account.spend({"up": 1}, label="a count", cohorts=dates(DATES[0]))
    ledger = Ledger(account._store)
    assert ledger.check().charges == 1
    old = _account.next_row
    monkeypatch.setattr(_account, "next_row", lambda *a, **k: old(*a, **{**k, "time": LATE}))
    account = opened(Calendar("day", schedule={0: "1/4", 10: 1}))
    account.spend({"up": 1}, label="a count", cohorts=dates(DATES[0]))
    with pytest.raises(errors.TamperedLedgerError, match="over budget"):
        Ledger(account._store).check()


LATE = "2026-01-05T12:00:00.000000+00:00"


def test_the_promise_says_ages_and_where_it_ends():
    said = Calendar("day", schedule={0: "1/4", 30: 1}, ends=365).promise
    assert "e^1/4 by age 29; e^1 by any later age" in said
    assert "by the clock of the machine that charges" in said
    assert "clock" not in Calendar("day").promise
    assert "Nothing is promised after the schedule ends, at age 365." in said


@pytest.mark.parametrize(
    "wrong",
    [
        {"schedule": {}},
        {"schedule": {1: 1}},
        {"schedule": {0: 1, 5: "1/2"}},
        {"schedule": {0: 0}},
        {"schedule": {0: float("nan")}},
        {"schedule": {-1: 1, 0: 1}},
        {"schedule": {"zero": 1}},
        {"schedule": [0, 1]},
        {"ends": 0},
        {"ends": 1.5},
        {"max_cohorts": 0},
        {"max_cohorts": "many"},
        {"times": 0},
        {"may_move": 1},
        {"may_move": True, "ends": 9},
        {"may_move": True, "schedule": {0: "1/2", 1: 1}},
    ],
)
def test_a_calendar_refuses_what_it_cannot_keep(wrong):
    with pytest.raises(errors.ParameterError):
        Calendar("day", **wrong)


def test_charges_name_dates_where_there_are_any():
    plain = Ledger.open(None).account(**TERMS, budget={"up": 1})
    with pytest.raises(errors.ParameterError, match="one budget for all dates"):
        plain.spend({"up": 1}, label="a count", cohorts=dates(DATES[0]))
    with pytest.raises(errors.ParameterError):
        plain.by_cohort()
    with pytest.raises(errors.ParameterError, match="no date"):
        Cohorts()
    with pytest.raises(errors.ParameterError):
        Calendar("")


def test_rows_say_what_they_are_about(tmp_path):
    place = tmp_path / "ledger.db"
    account = opened(where=place)
    account.spend({"up": "1/2"}, label="a count", cohorts=dates(DATES[0], None))
    with Ledger.open(place) as ledger:
        ledger_rows = ledger.entries()
        assert [entry.cohorts for entry in ledger_rows] == [None, dates(DATES[0], None)]
        assert ledger._store.read(lambda view: {row.format for row in view.rows()}) == {4}
        assert dict(ledger_rows[1].detail) == {}
        told = json.loads(json.dumps(ledger_rows[1].cohorts.written()))
        assert Cohorts.read(told) == ledger_rows[1].cohorts
        (again,) = ledger.accounts()
        assert again.calendar == Calendar("day")
        assert again.left_after(2) == {"up": Fraction(1, 2)}
    with Ledger.open(place) as ledger, pytest.raises(errors.PolicyMismatchError, match="by cohort"):
        ledger.account(**TERMS, budget={"up": 1})


def test_two_writers_never_overdraw_a_date(tmp_path):
    place, taken = tmp_path / "ledger.db", []

    def work():
        account = opened(where=place)
        for day in DATES * 3:
            try:
                account.spend({"up": "1/2"}, label="a count", cohorts=dates(day))
                taken.append(day)
            except errors.BudgetExceededError:
                pass

    threads = [threading.Thread(target=work) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(taken) == sorted(DATES * 2)
    with Ledger.open(place) as ledger:
        assert ledger.check().charges == 8
