"""What several accounts promise together, stated and enumerated."""

import itertools
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import INFINITE, errors, verify
from onesided.ledger import Unit
from onesided.policy import Record
from onesided.session import Count
from onesided.session._total import total_guarantee
from onesided.verify import Universe

FRAME = pl.DataFrame(
    {"minor": [True, False, True], "patient": [True, True, False], "ward": ["a", "b", "b"]}
)
MINORS = od.policy.sensitive("minor")
PATIENTS = od.policy.sensitive("patient")
# Protects minors and patients, as two kinds: whoever MINORS protects, this does too.
WARD = od.policy.custom(
    kinds=["minor", "patient", "other"],
    edges=[(a, b) for a in ("minor", "patient") for b in ("minor", "patient", "other")],
    rules=[("minor", "minor"), ("patient", "patient")],
    default="other",
)


@pytest.fixture
def ledger():
    with od.Ledger.open() as opened:
        yield opened


def account(ledger, policy, *, budget=4, delta=0):
    """One of several accounts, on record."""
    opened = ledger.account(
        policy_id=policy.identity,
        policy_toml=policy.to_toml(),
        policy_name=policy.name,
        budget={edge.name: budget * edge.weight for edge in policy.edges},
        delta_budget={edge.name: delta for edge in policy.edges},
        unit=Unit(None),
        further=True,
    )
    opened.open()
    return opened


def session(ledger, policy):
    account(ledger, policy)
    return od.Session(FRAME, policy=policy, budget=4, ledger=ledger)


def test_two_counts_under_two_policies_lose_what_is_stated(ledger):
    """Every noise of both counts, on every move of the joint policy: it holds, and is tight."""
    adults = Count(by="ward", keys=["a", "b"], epsilon=3, counted="open")
    sick = Count(by="ward", keys=["a", "b"], epsilon=4, counted="sensitive")
    mechanisms = []
    for policy, question in ((MINORS, adults), (PATIENTS, sick)):
        one = session(ledger, policy)
        mechanisms.append(one.plan(question).mechanism)
        one.ask(question)
    stated = total_guarantee(ledger)
    joint = MINORS & PATIENTS

    def both(data, noise):
        views = [dict(zip(joint.parts, joint.views(record), strict=True)) for record in data]
        told = []
        for mechanism, policy, kind in zip(
            mechanisms, (MINORS, PATIENTS), ("open", "sensitive"), strict=True
        ):
            there = [view[policy].value for view in views if view[policy].kind == kind]
            counts = np.array([sum(ward in value for value in there) for ward in "ab"])
            told.append(mechanism.noisy(counts, noise=noise).tolist())
        return told

    world = Universe(groups=("a", "b"), max_groups=1, units=1)
    report = verify.exact(both, joint, world, tail=1e-9)
    found = {edge.name: finding.loss for edge, finding in report.findings.items()}
    assert set(found) == set(stated.epsilon)
    assert len(set(stated.epsilon.values())) > 1
    promised = {edge: stated.epsilon[edge.name] for edge in report.findings}
    assert report.keeps_losses(promised)
    assert report.delta(promised) < 1e-3
    # Tight: on every edge the enumeration comes as near as its tail allows.
    assert found == pytest.approx(
        {edge: float(loss) for edge, loss in stated.epsilon.items()}, abs=0.01
    )


def test_the_exact_sum_is_charged_edge_by_edge(ledger):
    session(ledger, MINORS).count(epsilon=1, counted="open")
    session(ledger, PATIENTS).count(epsilon="1/2", counted="sensitive")
    losses = {policy.identity: spent(ledger, policy) for policy in (MINORS, PATIENTS)}
    joint = MINORS & PATIENTS
    stated = total_guarantee(ledger).epsilon
    for edge, steps in joint.joins.items():
        parts = zip(joint.parts, steps, strict=True)
        assert stated[edge.name] == sum(losses[p.identity][step.name] for p, step in parts)


def spent(ledger, policy):
    (found,) = (b.spent for b in ledger.balances() if b.policy_id == policy.identity)
    return found


def test_a_policy_with_fewer_moves_is_told_its_own_edges(ledger):
    session(ledger, MINORS).count(epsilon=1, counted="open")
    charge = {"minor -> minor": 1, "minor -> other": "1/4", "minor -> patient": "1/2"}
    account(ledger, WARD).spend(charge, label="x")
    assert MINORS.relaxes(MINORS & WARD)
    asked = total_guarantee(ledger, MINORS)
    # A minor may pass as an open record that is a patient's, or one of nobody special.
    assert asked.epsilon == {"sensitive -> sensitive": 1, "sensitive -> open": Fraction(3, 2)}
    assert asked.policy == "sensitive"


@pytest.mark.parametrize("apart", [1, 9])
def test_places_of_one_name_are_near_only_where_the_account_has_them(ledger, apart):
    """Places far apart are counted exactly: nothing is promised where others have them near."""
    asked = od.policy.neighbourhood(radius=1, places={"a": (0,), "b": (1,)})
    own = od.policy.neighbourhood(radius=1, places={"a": (0,), "b": (apart,)})
    counted = session(ledger, own).linear([[1, 0], [0, 1]], by="ward", keys=["a", "b"], epsilon=1)
    told = total_guarantee(ledger, asked).headline
    world = Universe(groups=("a", "b"), units=2, max_groups=1)
    found = verify.exact(counted.mechanism, asked, world, tail=1e-10)
    if apart == 1:
        assert told == 1
        assert found.keeps(told)
    else:
        assert told is INFINITE
        assert found.worst[1].impossible


def test_where_an_account_protects_nothing_nothing_is_promised(ledger):
    session(ledger, MINORS).count(epsilon=1, counted="open")
    wide = total_guarantee(ledger, od.policy.bounded())
    assert list(wide.epsilon.values()) == [od.INFINITE]
    assert "Nothing is promised along" in wide.about
    wider = od.policy.custom(
        kinds=["sensitive", "open"],
        edges=[("sensitive", "open"), ("open", "sensitive")],
        rules=[("sensitive", "minor")],
        default="open",
    )
    told = total_guarantee(ledger, wider).epsilon
    assert told["open -> sensitive"] is od.INFINITE
    assert told["sensitive -> open"] == 1


def test_weights_say_how_to_charge_and_not_which_moves_there_are(ledger):
    session(ledger, MINORS).count(epsilon=1, counted="open")
    light = od.policy.custom(
        kinds=["sensitive", "open"],
        edges=[("sensitive", "open", "1/10")],
        rules=[("sensitive", "minor")],
        default="open",
    )
    assert not light.relaxes(MINORS)
    assert total_guarantee(ledger, light).epsilon == {"sensitive -> open": 1}


def test_an_account_that_lost_nothing_still_narrows_the_promise(ledger):
    """Counting kinds that no move touches is exact, and an entry of loss 0."""
    policy = od.policy.custom(
        kinds=["minor", "patient", "other"],
        edges=[("minor", "other")],
        rules=[("minor", "minor"), ("patient", "patient")],
        default="other",
    )
    told = session(ledger, policy).count(epsilon=1, counted="patient")
    assert told.frame["estimate"].to_list() == [1]
    assert [balance.releases for balance in ledger.balances()] == [1]
    assert total_guarantee(ledger).headline == 0
    assert total_guarantee(ledger, PATIENTS).epsilon["sensitive -> open"] is od.INFINITE


def test_accounts_without_a_common_move_protect_nobody_together(ledger):
    account(ledger, od.policy.addition_only())
    account(ledger, od.policy.removal_only())
    with pytest.raises(errors.PolicyError, match="protect nobody"):
        total_guarantee(ledger)


def test_an_account_of_an_intersection_is_counted_in_full(ledger):
    joint = MINORS & WARD
    for policy, epsilon in ((joint, 1), (MINORS, 10)):
        charge = {edge.name: epsilon for edge in policy.edges}
        account(ledger, policy, budget=20).spend(charge, label="x")
    assert set(total_guarantee(ledger).epsilon.values()) == {11}
    assert set(total_guarantee(ledger, MINORS).epsilon.values()) == {11}


def test_deltas_add_and_budgets_bound_all_that_may_come(ledger):
    edges = [edge.name for edge in MINORS.edges]
    for policy in (MINORS, PATIENTS):
        account(ledger, policy, delta="1e-6").spend(
            dict.fromkeys(edges, "1/3"), delta=dict.fromkeys(edges, "1e-7"), label="x"
        )
    now, ever = total_guarantee(ledger), total_guarantee(ledger, of="budget")
    assert set(now.epsilon.values()) == {Fraction(2, 3)}
    assert set(now.delta.values()) == {Fraction(2, 10**7)}
    assert set(ever.epsilon.values()) == {8}
    assert set(ever.delta.values()) == {Fraction(2, 10**6)}
    assert now.implies(ever)


def test_the_statement_reads_as_a_sentence(ledger):
    account(ledger, od.policy.presence(max_groups=2))
    assert str(total_guarantee(ledger)) == (
        "Under the policy 'presence' -- present -> not present: ε = 0 (pure, δ = 0). "
        "What was released under the policy 'presence'."
    )


def test_what_cannot_be_stated_is_refused_with_the_way_out(ledger):
    with pytest.raises(errors.PolicyError, match="no accounts"):
        total_guarantee(ledger)
    assert total_guarantee(ledger, MINORS).headline == 0
    with pytest.raises(errors.ParameterError, match="of must be"):
        total_guarantee(ledger, of="everything")
    with pytest.raises(errors.PolicyError, match="must be a Policy"):
        total_guarantee(ledger, "bounded")
    ledger.account(
        policy_id="5e" * 32, policy_toml=MINORS.to_toml(), policy_name="other", budget={"a": 1}
    ).open()
    with pytest.raises(errors.PolicyError, match="is not that of the policy"):
        total_guarantee(ledger)


@pytest.mark.parametrize(
    "stored",
    [
        'family = "sensitive"\n\n[parameters]\npredicate = "col(minor)"\nsql = false\n',
        'family = "sensitive"\n\n[parameters]\npredicate = "strlen(name) > 3"\nsql = true\n',
    ],
)
def test_a_condition_of_an_earlier_version_counts_and_is_asked_no_more(ledger, stored):
    text = f"onesided_policy = 1\n{stored}"
    with pytest.raises(errors.PolicyError):
        od.policy.from_toml(text)
    policy = od.policy.from_toml(text, on_record=True)
    assert policy.to_toml() == text
    with pytest.raises(errors.ConditionError, match="earlier version"):
        session(ledger, policy)


def test_no_edge_of_a_small_world_is_told_less_than_its_accounts_lose(ledger):
    """By listing: each move of the asked policy, against the edges that it is on."""
    pool = [MINORS, PATIENTS, WARD, od.policy.bounded(), MINORS & PATIENTS, MINORS & WARD]
    price = itertools.count(1)
    tables = {}
    for policy in (MINORS, WARD):
        charge = {edge.name: next(price) for edge in policy.edges}
        account(ledger, policy, budget=100).spend(charge, label="x")
        tables[policy] = charge
    facts = list(itertools.product((True, False), (0, 1), (True, False)))

    def seen(policy, fact):
        minor, value, patient = fact
        kinds = {
            MINORS: "sensitive" if minor else "open",
            PATIENTS: "sensitive" if patient else "open",
            WARD: "minor" if minor else "patient" if patient else "other",
        }
        return Record(kinds.get(policy, "record"), frozenset("a" * value))

    def edge_of(policy, real, other):
        if not isinstance(policy, od.policy.Intersection):
            return policy.edge_between(seen(policy, real), seen(policy, other))
        steps = tuple(edge_of(part, real, other) for part in policy.parts)
        return next((edge for edge, joint in policy.joins.items() if joint == steps), None)

    for asked in pool:
        told = total_guarantee(ledger, asked).epsilon
        for real, other in itertools.permutations(facts, 2):
            edge = edge_of(asked, real, other)
            if edge is None:
                continue
            steps = [edge_of(policy, real, other) for policy in tables]
            if None in steps:
                assert told[edge.name] is od.INFINITE
                continue
            lost = sum(tables[p][s.name] for p, s in zip(tables, steps, strict=True))
            assert lost <= told[edge.name]


def test_a_view_by_another_table_changes_more_than_one_record_of_that_table():
    """All rows of a household in the register may change at once, two people's here."""
    register = pl.DataFrame({"person": [1, 2], "household": ["h", "h"], "ill": ["yes", "yes"]})
    ledger = od.Ledger.open(None)
    asked = {"policy": od.policy.bounded(), "budget": 9, "ledger": ledger}
    session = od.Session(register, unit="person", **asked)
    session.count(by="ill", keys=["yes"], max_groups=1, epsilon=1)
    own = od.policy.view("ill = 'yes'", over="household", members=2)
    other = od.policy.view("ill = 'yes'", over="household", members=2, table="register")
    assert total_guarantee(ledger, own).headline == 1
    assert total_guarantee(ledger, other).headline == INFINITE
    assert own.relaxes(od.policy.bounded())
    assert not other.relaxes(od.policy.bounded())


def test_accounts_together_are_tight_where_all_protect_the_move_and_nothing_elsewhere(ledger):
    for policy in (od.policy.bounded(), MINORS):
        account(ledger, policy)
        asked = od.Session(FRAME, policy=policy, budget=4, ledger=ledger, further=True)
        for _ in range(20):
            asked.count(where="minor", epsilon="1/50")
    total = od.session.ledger_total(ledger, delta="1e-6")
    assert total.plain == total_guarantee(ledger)
    assert total.budget == total_guarantee(ledger, of="budget")
    assert (total.charges, total.fixed) == (40, False)
    assert 0 < total.tight.headline < Fraction(3, 4) * total.plain.headline
    for edge, loss in total.tight.epsilon.items():
        assert loss <= total.plain.epsilon[edge]
    asked = od.session.ledger_total(ledger, od.policy.unbounded(), delta="1e-6")
    assert asked.tight.headline == asked.plain.headline == INFINITE
    nothing = od.session.ledger_total(ledger, MINORS, delta=0)
    assert nothing.tight.epsilon == nothing.plain.epsilon


def test_a_total_that_promises_nothing_names_what_may_be_accepted(ledger):
    for policy in (od.policy.presence(max_groups=1), od.policy.bounded()):
        account(ledger, policy)
    assert "accept_unprotected=True" in total_guarantee(ledger).about
    assert "accept_unprotected" not in total_guarantee(ledger, accept_unprotected=True).about
