"""The sample of open units that other charges leave free: exact, offered, and spent once taken."""

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import called

import onesided as od
from onesided import INFINITE
from onesided.mechanism.kit import samples_for
from onesided.session.kit import free_sample

PRIVATE = od.policy.sensitive("minor")
TIERS = od.policy.tiers({"minor": (1, "minor"), "ill": (2, "ill"), "open": INFINITE})
PEOPLE = pl.DataFrame(
    {"person": [1, 2, 3], "minor": [True, False, False], "at": ["a", "a", "b"], "home": [1, 1, 2]}
)
ASKED = od.Count(by="at", keys=["a", "b"], max_groups=1, counted="sensitive", epsilon=1)


def session(policy=PRIVATE, **more):
    return od.Session(PEOPLE, unit="person", **{"policy": policy, "budget": 1} | more)


def test_it_is_told_asked_for_and_leaves_the_largest_loss_as_it_is():
    asked = session()
    plan = asked.plan(ASKED)
    assert plan.free_sample == Fraction(1, 2)
    assert plan.as_dict()["free_sample"] == "1/2"
    assert "A sample of 39.3% of the open units is free beside this" in str(plan)
    assert "39.3%" in plan._repr_html_()
    assert asked.free_sample == 0
    asked.ask(ASKED)
    assert asked.free_sample == Fraction(1, 2)
    assert "free: sample(epsilon='1/2')" in repr(asked)
    assert "39.3%" in asked._repr_html_()
    asked.sample(epsilon=asked.free_sample)
    assert max(asked.spent.values()) == 1
    assert set(asked.remaining.values()) == {0}


def test_it_is_not_free_twice():
    asked = session(budget=5)
    asked.ask(ASKED)
    asked.sample(epsilon=asked.free_sample)
    assert asked.free_sample == 0
    assert "free" not in repr(asked)
    asked.ask(ASKED)
    assert asked.free_sample == Fraction(1, 2)


@pytest.mark.parametrize(
    ("policy", "more"),
    [
        (od.policy.bounded(), {}),
        (od.policy.addition_only(), {}),
        (od.policy.view("minor", over="home", members=2), {}),
        (PRIVATE, {"accounting": "renyi", "delta_budget": "1/1000000", "budget": 9}),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_where_no_sample_can_be_or_losses_do_not_add_none_is_offered(policy, more):
    asked = session(policy, **more)
    plan = asked.plan(od.Count(epsilon="1/2"))
    assert plan.free_sample == asked.free_sample == 0
    assert "A sample of" not in str(plan)


def test_a_plan_that_is_more_than_is_left_offers_nothing():
    assert session(budget="1/2").plan(ASKED).free_sample == 0


@pytest.mark.parametrize("policy", [PRIVATE, TIERS, od.policy.extended_sensitive("minor")])
@given(losses=st.lists(st.fractions(0, 9), min_size=9, max_size=9))
def test_no_edge_rises_above_the_largest_and_one_reaches_it(policy, losses):
    weights = {edge.name: edge.weight for edge in policy.edges}
    spent = dict(zip(weights, losses, strict=False))
    found = free_sample(policy, spent)
    largest = max(spent[edge] / weights[edge] for edge in weights)
    after = dict(spent)
    for kind, sample in (samples_for(policy, epsilon=found) if found > 2**-30 else {}).items():
        for edge in policy.edges:
            if policy.ends(edge)[1] == kind:
                after[edge.name] += sample.rate
    assert max(after[edge] / weights[edge] for edge in weights) == largest
    open_edges = [e.name for e in policy.edges if policy.ends(e)[1] == "open"]
    if found > 2**-30:
        assert any(after[edge] / weights[edge] == largest for edge in open_edges)


def test_the_ledgers_page_offers_it(tmp_path):
    asked = session(ledger=tmp_path / "ledger.db", budget=3)
    asked.ask(ASKED)
    done = called(["ledger", "show", "ledger.db"], cwd=tmp_path, env={"COLUMNS": "200"})
    assert "A sample of 39.3% of the open units is free beside this" in " ".join(
        done.stdout.split()
    )
