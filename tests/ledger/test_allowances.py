"""An asker's allowance: held in the ledger's own transaction, whoever charges at once."""

import multiprocessing
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import onesided as od
from onesided.errors import BudgetExceededError, ParameterError
from onesided.ledger import Allowance, Ledger

TERMS = {"policy_id": "p", "policy_toml": "", "policy_name": "p"}
EDGES = ("rise", "fall")
BUDGET = {"rise": 6, "fall": 4}


def opened(where=None):
    return Ledger.open(where).account(**TERMS, budget=BUDGET, delta_budget={"rise": "1/10"})


amounts = st.fractions(min_value=0, max_value=2, max_denominator=8)
charges = st.lists(
    st.tuples(
        st.sampled_from(("ann", "bob", "cleo")),
        st.fixed_dictionaries(dict.fromkeys(EDGES, amounts)),
        st.fixed_dictionaries(dict.fromkeys(EDGES, amounts)),
    ),
    max_size=12,
)


def fits(charge, spent, limits):
    return all(not charge[edge] or charge[edge] + spent[edge] <= limits[edge] for edge in EDGES)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(asked=charges)
def test_charges_are_taken_exactly_where_budget_and_allowance_have_room(asked):
    accounts = [opened()]
    accounts.append(accounts[0])
    spent = dict.fromkeys(EDGES, Fraction(0))
    own = {who: dict.fromkeys(EDGES, Fraction(0)) for who in ("ann", "bob", "cleo")}
    for turn, (who, charge, limits) in enumerate(asked):
        if not any(charge.values()):
            continue
        account = accounts[turn % 2]
        allowance = Allowance(who=who, epsilon=limits)
        if fits(charge, spent, BUDGET) and fits(charge, own[who], limits):
            account.spend(charge, label="a count", allowance=allowance)
            for edge in EDGES:
                spent[edge] += charge[edge]
                own[who][edge] += charge[edge]
        else:
            with pytest.raises(BudgetExceededError):
                account.spend(charge, label="a count", allowance=allowance)
        standing = account.allowed(allowance)
        assert standing.spent == own[who]
        assert standing.remaining == {edge: limits[edge] - own[who][edge] for edge in EDGES}
        assert account.spent == spent


def test_the_refusal_says_whose_allowance_it_is():
    account = opened()
    ann = Allowance(who="ann", epsilon={"rise": 1, "fall": 1})
    account.spend({"rise": 1}, label="a count", allowance=ann)
    with pytest.raises(BudgetExceededError, match="allowance of 'ann'") as caught:
        account.spend({"rise": "1/2"}, label="a count", allowance=ann)
    assert caught.value.values["who"] == "ann"
    assert caught.value.values["left"] == 0
    account.spend({"rise": "1/2"}, label="a count", allowance=Allowance(who="ann"))
    account.spend({"rise": "1/2"}, label="a count", allowance=Allowance(who="bob"))


@pytest.mark.parametrize(("own", "left"), [(1, 1), (3, 2)])
def test_the_refusal_says_the_least_that_is_left(own, left):
    """Of an allowance and of the budget: whoever asks for the larger is refused again."""
    account = opened()
    edges = {"rise": account.budget["rise"] - 2}
    account.spend(edges, label="all but 2", allowance=Allowance(who="bob"))
    ann = Allowance(who="ann", epsilon={"rise": own})
    with pytest.raises(BudgetExceededError, match=f"{left} left of") as caught:
        account.spend({"rise": 100}, label="a count", allowance=ann)
    assert f"ask for at most {left}" in caught.value.hint
    account.spend({"rise": left}, label="a count", allowance=ann)


def test_an_edge_that_is_left_out_has_no_allowance():
    account = opened()
    with pytest.raises(BudgetExceededError, match="fall"):
        account.spend({"fall": 1}, label="x", allowance=Allowance(who="ann", epsilon={"rise": 9}))
    with pytest.raises(BudgetExceededError, match="δ"):
        account.spend(
            {"rise": 1},
            delta={"rise": "1/100"},
            label="x",
            allowance=Allowance(who="ann", epsilon={"rise": 9}),
        )


def test_an_allowance_refills_and_the_budget_does_not(monkeypatch):
    moment = ["2026-01-31T23:59:59.000000+00:00"]
    monkeypatch.setattr("onesided.ledger._entry.now", lambda: moment[0])
    account = opened()
    january = Allowance(who="ann", epsilon={"rise": 2}, since="2026-01-01T00:00:00+00:00")
    february = Allowance(who="ann", epsilon={"rise": 2}, since="2026-02-01T01:00:00+01:00")
    account.spend({"rise": 2}, label="x", allowance=january)
    with pytest.raises(BudgetExceededError, match="allowance"):
        account.spend({"rise": 1}, label="x", allowance=january)
    # This worker's clock is late, and yet the charge is February's.
    account.spend({"rise": 1}, label="x", allowance=february)
    assert account.allowed(february).spent["rise"] == 1
    moment[0] = "2026-02-02T00:00:00.000000+00:00"
    with pytest.raises(BudgetExceededError, match="allowance"):
        account.spend({"rise": 2}, label="x", allowance=february)
    account.spend({"rise": 1}, label="x", allowance=february)
    with pytest.raises(BudgetExceededError) as caught:
        account.spend({"rise": 3}, label="x", allowance=Allowance(who="bob"))
    assert "who" not in caught.value.values


def test_a_row_says_who_was_charged_and_since_when(tmp_path):
    account = opened(tmp_path / "ledger.db")
    since = "2026-01-01T00:00:00+00:00"
    account.spend({"rise": 1}, label="x", allowance=Allowance(who="ann", since=since))
    account.spend({"rise": 1}, label="x")
    ledger = Ledger.open(tmp_path / "ledger.db")
    entries = ledger.entries(kind="spend")
    assert entries[0].who == "ann"
    assert entries[1].who != "ann"
    assert "onesided.since" not in entries[0].detail
    assert ledger.check().charges == 2
    with pytest.raises(ParameterError, match="reserved"):
        account.spend({"rise": 1}, label="x", detail={"onesided.since": since})


@pytest.mark.parametrize("since", ["yesterday", "2026-01-01T00:00:00", 5])
def test_an_instant_needs_a_zone(since):
    with pytest.raises(ParameterError, match="instant"):
        Allowance(who="ann", since=since)


@pytest.mark.parametrize("who", ["", 5, "a\x00b"])
def test_an_asker_has_a_name(who):
    with pytest.raises(ParameterError):
        Allowance(who=who)


def test_limits_are_checked():
    account = opened()
    for limits in ({"elsewhere": 1}, {"rise": -1}, 5):
        with pytest.raises(ParameterError):
            account.spend({"rise": 1}, label="x", allowance=Allowance(who="a", epsilon=limits))
    assert account.releases == 0


def colluding(where, worker, asks, results):
    """One worker's analysts: two names shared with all other workers, small charges in turn."""
    account = Ledger.open(where).account(**TERMS, budget={"rise": 60})
    told = []
    for turn in range(asks):
        who = ("ann", "bob", f"worker {worker}")[turn % 3]
        allowance = Allowance(who=who, epsilon={"rise": 20}, since="2020-01-01T00:00:00+00:00")
        try:
            receipt = account.spend({"rise": "1/2"}, label="x", allowance=allowance)
            told.append((who, receipt.number))
        except BudgetExceededError:
            pass
    results.put(told)


@pytest.mark.slow
def test_workers_at_once_never_pass_an_allowance_and_lose_no_charge(shared_place, long_form):
    where, workers, asks = str(shared_place), *((8, 500) if long_form else (3, 30))
    with Ledger.open(where) as ledger:
        ledger.account(**TERMS, budget={"rise": 60}).open()
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    crowd = [
        context.Process(target=colluding, args=(where, worker, asks, results))
        for worker in range(workers)
    ]
    for one in crowd:
        one.start()
    told = [pair for _ in crowd for pair in results.get(timeout=600)]
    for one in crowd:
        one.join()
    with Ledger.open(where) as ledger:
        ledger.check()
        charged = {(entry.who, entry.number) for entry in ledger.entries(kind="spend")}
        account = ledger.account(**TERMS, budget={"rise": 60})
        assert charged == set(told)
        assert account.spent["rise"] == Fraction(len(told), 2) <= 60
        for who in {name for name, _ in told}:
            own = sum(1 for name, _ in told if name == who)
            assert Fraction(own, 2) <= 20
            assert account.allowed(Allowance(who=who)).releases == own
        # What was refused had no room: nobody was refused for less.
        shared = {"ann": len(range(0, asks, 3)) * workers, "bob": len(range(1, asks, 3)) * workers}
        if account.spent["rise"] < 60:
            for who, wanted in shared.items():
                assert account.allowed(Allowance(who=who)).releases == min(wanted, 40)


def test_a_question_is_charged_without_a_look_at_rows_and_answered_once():
    import polars as pl

    people = pl.DataFrame({"place": ["a", "b", "b"]})
    session = od.Session(people, policy=od.policy.addition_only(), budget=9)
    asked = od.Count(by="place", keys=["a", "b"], epsilon=1, id="monday")
    empty = od.Session(
        people.clear(), policy=od.policy.addition_only(), budget=9, ledger=session.ledger
    )
    receipt = empty.charge(asked, allowance=Allowance(who="ann"))
    assert session.ledger.entry(receipt.number).who == "ann"
    first = session.answer(asked)
    assert not first.told_again
    assert session.answer(asked).estimate.tolist() == first.estimate.tolist()
    assert session.answer(asked).told_again
    with pytest.raises(od.errors.ReleaseExistsError):
        empty.charge(asked)
    with pytest.raises(od.errors.LedgerError, match="never charged"):
        session.answer(od.Count(by="place", keys=["a", "b"], epsilon=1, id="tuesday"))
    with pytest.raises(od.errors.ReleaseExistsError):
        session.answer(od.Count(by="place", keys=["a", "b"], epsilon=2, id="monday"))
    with pytest.raises(ParameterError, match="id"):
        session.charge(od.Count(epsilon=1))


def test_of_two_that_draw_at_once_both_tell_what_was_stored_first(monkeypatch):
    import polars as pl

    people = pl.DataFrame({"place": ["a", "b", "b"]})
    policy = od.policy.addition_only()
    session = od.Session(people, policy=policy, budget=9)
    other = od.Session(people, policy=policy, budget=9, ledger=session.ledger)
    asked = od.Count(by="place", keys=["a", "b"], epsilon="1/8", id="monday")
    session.charge(asked)
    account, told = session.account, []
    store = account.store

    def late(receipt, payload, content_type):
        if not told:
            told.append(other.answer(asked))
        return store(receipt, payload, content_type)

    monkeypatch.setattr(account, "store", late)
    found = session.answer(asked)
    assert found.told_again
    assert found.estimate.tolist() == told[0].estimate.tolist()
    assert session.ledger.check().stored == 1
