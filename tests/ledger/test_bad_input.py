"""Charges and budgets that cannot be meant: refused, and nothing is recorded."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from onesided import INFINITE, errors
from onesided.ledger import Ledger

EDGE = "sensitive -> open"


@pytest.fixture
def account(open_ledger, open_account):
    ledger = open_ledger()
    yield open_account(ledger)
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize(
    "value", [math.nan, -1, "-0.5", math.inf, "nan", None, True, "much", 1j, Decimal("NaN"), "1/0"]
)
def test_an_amount_that_is_no_amount(account, value):
    with pytest.raises(errors.ParameterError):
        account.spend({EDGE: value}, label="bad")
    with pytest.raises(errors.ParameterError):
        account.spend({EDGE: 1}, delta={EDGE: value}, label="bad")


def test_an_infinite_loss_is_always_refused(account):
    with pytest.raises(errors.BudgetExceededError, match="infinite loss on edge") as caught:
        account.spend({EDGE: INFINITE}, label="no noise")
    assert caught.value.values["asked"] == INFINITE
    with pytest.raises(errors.BudgetExceededError):
        account.require({EDGE: INFINITE})


def test_a_delta_above_one(account):
    with pytest.raises(errors.ParameterError):
        account.spend({EDGE: 1}, delta={EDGE: "1.5"}, label="bad")


def test_a_charge_of_no_edge(account):
    with pytest.raises(errors.ParameterError, match="name some edge"):
        account.spend({}, label="free")


def test_an_unknown_edge(account):
    with pytest.raises(errors.ParameterError, match="unknown edge 'open -> sensitive'") as caught:
        account.spend({EDGE: "1/2", "open -> sensitive": "1/2"}, label="bad")
    assert "'sensitive -> open', 'sensitive -> sensitive'" in caught.value.hint


@pytest.mark.parametrize("charge", [1, None, "1/2", [("a", 1)]])
def test_a_charge_that_is_no_table(account, charge):
    with pytest.raises(errors.ParameterError, match="must map edges to numbers"):
        account.spend(charge, label="bad")


@pytest.mark.parametrize("label", [None, 3, "a\x00b", "\ud800"])
def test_a_label_that_not_every_store_could_keep(account, label):
    with pytest.raises(errors.ParameterError, match="label"):
        account.spend({EDGE: 1}, label=label)


@pytest.mark.parametrize(
    "detail", [{"x": math.nan}, {"x": object()}, {1: "x"}, {"x": "\udc00"}, "text", {"a": 1, 2: 3}]
)
def test_detail_that_is_not_json(account, detail):
    with pytest.raises(errors.ParameterError, match="detail"):
        account.spend({EDGE: 1}, label="bad", detail=detail)


def test_an_empty_release_id(account):
    with pytest.raises(errors.ParameterError, match="release_id"):
        account.spend({EDGE: 1}, label="bad", release_id="")


def test_charges_whose_exact_sum_would_not_fit_a_row(account):
    with pytest.raises(errors.ParameterError, match="more than 1000 digits"):
        account.spend({EDGE: Fraction(1, 3**2200)}, label="bad")


def test_a_payload_that_is_not_bytes(open_ledger, open_account):
    account = open_account(open_ledger())
    receipt = account.spend({EDGE: 1}, label="count")
    with pytest.raises(errors.ParameterError, match="must be bytes"):
        account.store(receipt, "text", "text/plain")
    account.store(receipt, b"text", "text/plain")


@pytest.mark.parametrize(
    "budget",
    [{}, {EDGE: 0}, {EDGE: -1}, {EDGE: math.nan}, {EDGE: INFINITE}, {"": 1}, {3: 1}, 1, None],
)
def test_a_budget_that_is_no_budget(open_ledger, open_account, budget):
    ledger = open_ledger()
    with pytest.raises(errors.ParameterError):
        open_account(ledger, budget=budget)
    assert ledger.entries() == ()


@pytest.mark.parametrize("delta", [{"nowhere": "1e-6"}, {EDGE: -1}, {EDGE: INFINITE}])
def test_a_delta_budget_that_is_none(open_ledger, open_account, delta):
    with pytest.raises(errors.ParameterError):
        open_account(open_ledger(), delta_budget=delta)


@pytest.mark.parametrize(
    "where", ["mysql://host/x", "://", "sqlite:///a.db?mode=ro", 3, "nonsense://"]
)
def test_a_place_where_no_ledger_can_be(where):
    with pytest.raises(errors.ParameterError):
        Ledger.open(where)


def test_a_password_is_not_shown():
    with pytest.raises(errors.ParameterError) as caught:
        Ledger.open("mysql://user:hunter2@host/x")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("timeout", [0, -1, math.nan, "soon"])
def test_a_timeout_that_is_none(timeout):
    with pytest.raises(errors.ParameterError):
        Ledger.open(timeout=timeout)


def test_a_server_that_is_not_there():
    pytest.importorskip("psycopg")
    with pytest.raises(errors.LedgerUnavailableError, match="cannot be reached") as caught:
        Ledger.open("postgresql://user:hunter2@127.0.0.1:1/x", timeout=2)
    assert "hunter2" not in str(caught.value)
