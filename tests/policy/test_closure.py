"""No open fact may imply a protected one: what is added, why, and that it is the least."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided
from onesided import errors
from onesided import policy as p
from onesided.policy import Record

WARD = [("door", "hall"), ("hall", "ward"), ("ward", "icu"), ("icu", "ward"), ("hall", "shop")]


def test_a_room_behind_the_ward_implies_the_ward():
    implications = p.implied_places(WARD, entrances=["door"])
    assert ("icu", "ward") in implications
    assert ("ward", "icu") not in implications
    assert ("shop", "ward") not in implications
    assert {implied for place, implied in implications if place == "shop"} == {"door", "hall"}


def test_a_second_way_in_removes_the_implication():
    ways = [*WARD, ("hall", "icu")]
    assert ("icu", "ward") not in p.implied_places(ways, entrances=["door"])
    with pytest.raises(errors.PolicyError, match="cannot be reached"):
        p.implied_places([("a", "b"), ("c", "d")], entrances=["a"])
    with pytest.raises(errors.PolicyError, match="No entrances"):
        p.implied_places([], entrances=[])


plans = st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")), max_size=10)


@given(plans)
def test_implied_places_are_those_on_every_walk(ways):
    places = {end for way in ways for end in way} | {"a"}
    walks, todo = [], [("a",)]
    while todo:
        walk = todo.pop()
        walks.append(walk)
        todo += [(*walk, t) for s, t in ways if s == walk[-1] and t not in walk]
    if {place for walk in walks for place in walk} != places or not ways:
        return
    expected = {
        (place, passed)
        for place, passed in product(places, repeat=2)
        if place != passed and all(passed in walk for walk in walks if walk[-1] == place)
    }
    assert set(p.implied_places(ways, entrances=["a"])) == expected


def test_the_room_behind_the_ward_becomes_as_sensitive_as_the_ward():
    policy = p.graph([("ward", "shop"), ("ward", "hall", 2)], directed=True, values=["icu"])
    widened = policy.closed_under([("icu", "ward")])
    arrows = widened.policy.arrows.weights
    assert arrows["icu", "shop"] == 1
    assert arrows["icu", "hall"] == 2
    assert len(arrows) == 4
    (addition,) = widened.added
    assert addition.chain == ("icu", "ward")
    assert "'icu' implies 'ward'" in str(widened)
    assert "Smallest example: one record in 'icu', if published" in str(widened)


def test_chains_are_followed_and_the_shortest_is_told():
    policy = p.attributes({"place": ["ward"]})
    facts = [("icu", "ward"), ("lab", "icu"), ("lab", "hall"), ("vault", "lab"), ("vault", "ward")]
    widened = policy.closed_under(facts)
    assert widened.policy == p.attributes({"place": ["icu", "lab", "vault", "ward"]})
    assert {a.fact: a.chain for a in widened.added}["vault"] == ("vault", "ward")
    assert {a.fact: a.chain for a in widened.added}["lab"] == ("lab", "icu", "ward")


def test_attributes_of_another_name_can_give_a_value_away():
    policy = p.attributes({"diagnosis": ["hiv"]})
    widened = policy.closed_under([("drug=azt", "diagnosis=hiv"), ("drug=aspirin", "pain=yes")])
    assert widened.policy == p.attributes({"diagnosis": ["hiv"], "drug": ["azt"]})


def test_nothing_is_added_where_nothing_is_implied():
    policy = p.attributes({"place": ["ward"]})
    widened = policy.closed_under([("ward", "hall")])
    assert widened.policy is policy
    assert str(widened) == "Nothing had to be added."


def test_predicates_of_sensitive_policies_grow():
    policy = p.sensitive("ward")
    widened = policy.closed_under([("room = 7", "ward"), ("key = 7", "room = 7")])
    assert widened.policy == p.sensitive("(ward) OR (room = 7) OR (key = 7)")
    assert widened.policy.name == "sensitive"
    extended = p.extended_sensitive("ward").closed_under([("room = 7", "ward")]).policy
    assert extended.name == "extended_sensitive"
    tiers = p.tiers({"a": (1, "x"), "b": (2, "y"), "c": onesided.INFINITE})
    (first, second) = tiers.closed_under([("z", "y"), ("x", "y")]).policy.rules
    assert (first.predicate.text, second.predicate.text) == ("(x)", "(y) OR (z)")


def test_to_hide_a_visit_every_visit_that_implies_it_must_go():
    widened = p.presence(max_groups=1).closed_under([("icu", "ward"), ("lab", "icu")])
    assert widened.policy == p.presence(max_groups=3)
    assert p.presence(max_groups=3).closed_under([("icu", "ward")]).policy.max_groups == 4
    assert p.presence(max_groups=1).closed_under([]).policy.max_groups == 1


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), max_size=5),
    st.integers(1, 3),
)
def test_presence_hides_any_visits_from_those_who_know_the_implications(facts, most):
    """From every believable record, some believable one in a single move lacks the visits."""
    facts = [(fact, implied) for fact, implied in facts if fact != implied]
    policy = p.presence(max_groups=most).closed_under(facts).policy
    records = [
        r
        for r in policy.records(tuple("abcd"), max_groups=4)
        if all(implied in r.value for fact, implied in facts if fact in r.value)
    ]
    for real in records:
        for hidden in p.presence(max_groups=most).records(
            tuple(sorted(real.value)), max_groups=most
        ):
            if hidden.value and len(hidden.value) <= most:
                assert any(
                    policy.edge_between(real, other) and not hidden.value & other.value
                    for other in records
                )


def test_a_value_that_can_only_pass_as_what_implies_it_is_not_hidden():
    policy = p.graph([("ward", "icu")], directed=True)
    widened = policy.closed_under([("icu", "ward")])
    assert "stays known" in str(widened)


CLOSABLE = {
    "kinds": p.custom(kinds=["a", "b", "c"], edges=[("a", "b", 2), ("a", "a"), ("b", "c")]),
    "graph": p.graph([("a", "b"), ("b", "c", "1/2")], directed=True),
    "local": p.local(["a", "b", "c"], sensitive=["a"]),
    "attributes": p.attributes({"x": ["a"]}),
    "presence": p.presence(max_groups=1),
    "near": p.neighbourhood(radius=1, places={"a": (0,), "b": (1,), "c": (5,)}),
}
facts = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=4).map(
    lambda pairs: [pair for pair in pairs if pair[0] != pair[1]]
)


@pytest.mark.parametrize("policy", CLOSABLE.values(), ids=CLOSABLE)
@given(facts=facts)
def test_closing_widens_and_closing_again_adds_nothing(policy, facts):
    wider = policy.closed_under(facts).policy
    if policy.name == "neighbourhood":
        policy = policy.as_graph()
    assert policy.relaxes(wider)
    if policy.name != "presence":  # more visits at once may need still more; see above
        assert wider.closed_under(facts).policy.relaxes(wider)


@pytest.mark.parametrize("name", ["kinds", "graph", "local"])
@given(facts=facts)
def test_after_closing_open_facts_imply_no_protected_one(name, facts):
    policy = CLOSABLE[name].closed_under(facts).policy
    record = {v: Record(v if name != "graph" else "value", frozenset({v})) for v in "abc"}
    for (fact, implied), target in product(facts, "abc"):
        if target in (fact, implied):
            continue
        way = policy.edge_between(record[implied], record[target])
        assert way is None or policy.edge_between(record[fact], record[target]).weight <= way.weight


REFUSED = {
    "unknown value": lambda: p.graph([("a", "b")]).closed_under([("z", "a")]),
    "unknown kind": lambda: p.bounded().closed_under([("a", "b")]),
    "unknown predicate": lambda: p.sensitive("x").closed_under([("a", "b")]),
    "intersection": lambda: (p.sensitive("x") & p.sensitive("y")).closed_under([("a", "x")]),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_facts_that_a_policy_does_not_know_are_refused(make):
    with pytest.raises(errors.PolicyError) as caught:
        make()
    assert caught.value.hint
