"""One account, one unit; and an account is there with its first charge, not before."""

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from onesided import errors
from onesided.ledger import Ledger, Unit

DATA = Path(__file__).parent / "data"
EDGE = "sensitive -> open"
PERSON, ROW = Unit("person"), Unit(None)
PRESENCE = "present -> not present"


def test_a_column_called_each_row_is_not_the_row():
    assert Unit("each row") != ROW
    assert str(Unit("each row")) != str(ROW)
    for unit in (ROW, PERSON, Unit("each row"), Unit("row")):
        assert Unit.read(unit.written()) == unit
    for bad in (None, {}, {"row": False}, {"row": True, "column": "x"}, {"column": 1}, "row"):
        with pytest.raises(errors.ParameterError):
            Unit.read(bad)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ROW, PERSON),
        (PERSON, ROW),
        (ROW, Unit("each row")),
        (PERSON, Unit("place")),
        (PERSON, None),
    ],
)
def test_an_account_holds_one_unit(place, open_ledger, open_account, first, second):
    ledger = open_ledger(place)
    mine = open_account(ledger, record=False, unit=first)
    theirs = open_account(ledger, record=False, unit=second)
    mine.spend({EDGE: "1/10"}, label="mine")
    with pytest.raises(errors.PolicyMismatchError, match="their losses have no sum") as caught:
        theirs.spend({EDGE: "1/10"}, label="theirs")
    assert caught.value.values == {"held_unit": first, "asked_unit": second}
    with pytest.raises(errors.PolicyMismatchError, match="no sum"):
        open_account(ledger, unit=second)
    again = open_account(ledger, unit=first)
    again.spend({EDGE: "1/10"}, label="again")
    assert again.releases == 2
    assert [account.unit for account in ledger.accounts()] == [first]
    assert {entry.unit for entry in ledger.entries()} == {first}
    assert ledger.check().charges == 2


def test_opening_leaves_nothing(tmp_path, open_account):
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        account = open_account(ledger, record=False, budget={EDGE: "1/10"})
        assert account.remaining == {EDGE: Fraction(1, 10)}
        assert (account.releases, account.opened, ledger.exists) == (0, False, False)
        assert account.recall("x") is None
        for charge in ({EDGE: 1}, {"other": 1}, {EDGE: -1}):
            with pytest.raises(errors.OnesidedError):
                account.spend(charge, label="refused")
        assert (ledger.entries(), ledger.accounts(), ledger.balances()) == ((), (), ())
        assert ledger.check().entries == 0
    assert not list(tmp_path.iterdir())
    with Ledger.open(path) as ledger:
        open_account(ledger, record=False, budget={EDGE: 10}).spend({EDGE: 1}, label="fits")
        assert [entry.kind for entry in ledger.entries()] == ["open", "spend"]


def test_a_refusal_leaves_no_tables_in_postgres(postgres_place, open_account):
    with Ledger.open(postgres_place) as ledger:
        account = open_account(ledger, record=False)
        with pytest.raises(errors.BudgetExceededError):
            account.spend({EDGE: 10**6}, label="refused")
        assert not ledger.exists
        account.spend({EDGE: "1/2"}, label="fits")
        assert ledger.exists
        assert ledger.check().charges == 1


def test_two_who_open_an_account_at_once(shared_place, open_ledger, open_account):
    mine, theirs, others = (
        open_account(open_ledger(shared_place), record=False, **terms)
        for terms in ({}, {}, {"budget": {EDGE: 5}})
    )
    mine.spend({EDGE: "1/2"}, label="mine")
    theirs.spend({EDGE: "1/4"}, label="theirs")
    with pytest.raises(errors.PolicyMismatchError, match="never changed"):
        others.spend({EDGE: "1/4"}, label="another budget")
    assert mine.remaining[EDGE] == theirs.remaining[EDGE] == Fraction(1, 4)


def test_require_asks_what_was_last_seen(shared_place, open_ledger, open_account):
    mine, theirs = (open_account(open_ledger(shared_place)) for _ in range(2))
    theirs.spend({EDGE: "3/4"}, label="theirs")
    mine.require({EDGE: "1/2"})
    with pytest.raises(errors.BudgetExceededError):
        mine.spend({EDGE: "1/2"}, label="spend looks at the ledger")
    with pytest.raises(errors.BudgetExceededError):
        mine.require({EDGE: "1/2"})


def test_the_four_cases_of_an_id(account):
    assert account.recall("new", question="a", again=False) is None
    receipt = account.spend({EDGE: "1/10"}, label="x", release_id="told", question="a")
    states = {}
    for again in (False, True):
        for question in ("a", "b"):
            with pytest.raises(errors.ReleaseExistsError) as caught:
                account.recall("told", question=question, again=again)
            states[question, again] = caught.value.values["state"]
            assert caught.value.values["drawn"] == receipt.time
            assert receipt.time[:10] in str(caught.value)
    assert states == {
        ("a", False): "lost",
        ("a", True): "lost",
        ("b", False): "other",
        ("b", True): "other",
    }
    account.store(receipt, b"answer", "text/plain")
    stored = account.recall("told", question="a", again=True)
    assert (stored.payload, stored.question, stored.time) == (b"answer", "a", receipt.time)
    for question, again, state in (("a", False, "stored"), ("b", True, "other")):
        with pytest.raises(errors.ReleaseExistsError) as caught:
            account.recall("told", question=question, again=again)
        assert caught.value.values["state"] == state


@pytest.fixture
def old(tmp_path, open_ledger):
    """A ledger that onesided 0.1.0 wrote, by name, and its one account's terms."""

    def opened(name):
        path = tmp_path / f"{name}.db"
        shutil.copy(DATA / f"{name}-0.1.0.db", path)
        path.chmod(0o600)
        ledger = open_ledger(path)
        (held,) = ledger.accounts()
        terms = {name: getattr(held, name) for name in ("policy_id", "policy_toml", "policy_name")}
        terms |= {"budget": held.budget, "delta_budget": held.delta_budget}
        return ledger, held, terms

    return opened


def test_a_ledger_of_0_1_0_is_read_and_charged(old):
    ledger, held, terms = old("person")
    assert held.unit == PERSON
    assert ledger.check().charges == 4
    assert [balance.units for balance in ledger.balances()] == [{PERSON}]
    assert held.recall("weekly").payload.startswith(b'{"about":')
    with pytest.raises(errors.ReleaseExistsError, match="no answer is stored"):
        held.recall("lost")
    for unit in (ROW, None, Unit("place")):
        with pytest.raises(errors.PolicyMismatchError, match="protects each 'person'"):
            ledger.account(**terms, unit=unit)
    account = ledger.account(**terms, unit=PERSON)
    receipt = account.spend({PRESENCE: "1/10"}, label="new", detail={"unit": "person"})
    account.store(receipt, b"answer", "text/plain")
    assert ledger.check().charges == 5
    assert ledger.accounts()[0].unit == PERSON
    assert [entry.unit for entry in ledger.entries()][-3:] == [None, PERSON, PERSON]


def test_rows_of_0_1_0(old):
    ledger, held, terms = old("rows")
    assert held.unit == ROW
    with pytest.raises(errors.PolicyMismatchError, match="protects each row"):
        ledger.account(**terms, unit=Unit("each row"))
    ledger.account(**terms, unit=ROW).spend(dict.fromkeys(held.budget, "1/10"), label="new")
    assert ledger.check().charges == 2


@pytest.mark.parametrize("name", ["monitor", "mixed"])
def test_an_account_of_0_1_0_that_does_not_say_whom_it_protects(old, name):
    ledger, held, terms = old(name)
    assert held.unit is None
    assert None in ledger.balances()[0].units
    account = ledger.account(**terms, unit=PERSON)
    assert account.spent == held.spent
    assert account.recall("x") is None
    before = ledger.head()
    for unit in (PERSON, ROW, *((None,) if name == "mixed" else ())):
        asked = ledger.account(**terms, unit=unit)
        with pytest.raises(errors.PolicyMismatchError, match=r"made by onesided 0\.1\.0"):
            asked.spend({PRESENCE: "1/10"}, label="new")
    assert ledger.head() == before


def test_a_charge_for_another_unit_written_by_hand_is_found(open_account):
    with Ledger.open() as ledger:
        open_account(ledger, unit=PERSON).spend({EDGE: "1/10"}, label="persons")
        forged = open_account(ledger, record=False, unit=PERSON)
        object.__setattr__(forged.terms, "unit", ROW)
        forged._opening = ledger._store.read(lambda view: view.at(1))
        forged.spend({EDGE: "1/10"}, label="rows")
        with pytest.raises(errors.TamperedLedgerError, match="another unit") as caught:
            ledger.check()
        assert caught.value.values["number"] == 3


@pytest.mark.parametrize(
    "written",
    [
        {"column": "p", "read_as": 3},
        {"column": "p", "other": "x"},
        {"read_as": "integer"},
        {"row": True, "read_as": "integer"},
        {"row": True, "column": "p"},
        {},
        [],
    ],
)
def test_what_is_no_unit_is_refused(written):
    with pytest.raises(ValueError, match="a unit is"):
        Unit.read(written)


def test_a_unit_is_read_back():
    for unit in (Unit(None), Unit("p"), Unit("p", "integer"), Unit("each row")):
        assert Unit.read(unit.written()) == unit
    assert str(Unit("p", "integer")) == "each 'p' read as integer"
