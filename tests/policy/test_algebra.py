"""Relaxation and intersection: laws by enumeration, decisions against listings."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.covering import each

from onesided import errors
from onesided import policy as p
from onesided._numbers import INFINITE
from onesided.mechanism import Counts
from onesided.policy import ABSENT, GroupCount, Record
from onesided.verify import Universe, exact

GROUPS = ("a", "b")
WEIGHTS = ("1/2", 1, 2)
CASES = {
    "bounded": p.bounded(),
    "unbounded": p.unbounded(),
    "addition": p.addition_only(),
    "removal": p.removal_only(),
    "minors": p.sensitive("minor"),
    "ill": p.sensitive("ill"),
    "minors or ill": p.tiers({"minor": (1, "minor"), "ill": (2, "ill"), "rest": INFINITE}),
    "extended": p.extended_sensitive("minor"),
    "proposition": p.proposition("well"),
    "presence": p.presence(max_groups=1),
    "wide presence": p.presence(max_groups=2),
    "attributes": p.attributes({"letter": ["a"]}),
    "more attributes": p.attributes({"letter": "*"}),
    "graph": p.graph([("a", "b")]),
    "directed": p.graph([("a", "b", 2)], directed=True),
    "local": p.local(["a", "b"]),
    "near": p.neighbourhood(radius=1, places={"a": (0,), "b": (1,)}),
    "nearer": p.neighbourhood(radius="1/2", places={"a": (0,), "b": (1,)}),
}
PAIRS = {f"{one}, {two}": (CASES[one], CASES[two]) for one, two in product(CASES, repeat=2)}


def decided(one, two):
    try:
        return one.relaxes(two)
    except errors.PolicyError as error:
        return None if "depends on which records" in error.reason else pytest.fail(error.reason)


def both(one, two):
    try:
        return one & two
    except errors.PolicyError as error:
        return None if "protect nobody" in error.reason else pytest.fail(error.reason)


@each(PAIRS)
def test_what_is_decided_holds_over_listed_records(one, two):
    if decided(one, two):
        assert one.relaxes(two, records=p.joint_records(one, two, groups=GROUPS))


@pytest.mark.parametrize("policy", CASES.values(), ids=CASES)
def test_relaxation_is_reflexive(policy):
    assert policy.relaxes(policy)
    same = [(r, r) for r in policy.records(GROUPS, max_groups=1)]
    assert policy.relaxes(policy, records=same)
    assert policy & policy == policy


@each(PAIRS)
def test_an_intersection_relaxes_both_and_has_exactly_their_common_moves(one, two):
    joint = both(one, two)
    if joint is None or joint in (one, two):
        return
    assert joint.relaxes(one)
    assert joint.relaxes(two)
    assert (two & one).identity == joint.identity
    parts = joint.parts
    for real, other in product(joint.records(GROUPS, max_groups=2), repeat=2):
        views = zip(parts, joint.views(real), joint.views(other), strict=True)
        steps = [part.edge_between(here, there) for part, here, there in views]
        edge = joint.edge_between(real, other)
        assert (edge is None) == (None in steps)
        assert edge is None or edge.weight == max(step.weight for step in steps)
        assert edge is None or edge in joint.edges


def test_relaxation_is_known_for_these():
    assert p.presence(max_groups=1).relaxes(p.presence(max_groups=2))
    assert not p.presence(max_groups=2).relaxes(p.presence(max_groups=1))
    assert p.addition_only().relaxes(p.unbounded())
    assert not p.unbounded().relaxes(p.addition_only())
    assert not p.unbounded().relaxes(p.bounded())
    assert not p.bounded().relaxes(p.sensitive("x"))
    assert p.graph([("a", "b", 2)], directed=True).relaxes(p.graph([("a", "b")]))
    assert not p.graph([("a", "b")]).relaxes(p.graph([("a", "b", 2)]))
    assert p.neighbourhood(radius=1).relaxes(p.neighbourhood(radius=2))
    assert not p.neighbourhood(radius=2).relaxes(p.neighbourhood(radius=1))
    assert not p.neighbourhood(radius=1, sources=[(0,)]).relaxes(p.neighbourhood(radius=1))
    assert not CASES["more attributes"].relaxes(CASES["attributes"])
    grid = [p.neighbourhood(radius=radius, metric="grid") for radius in ("1.5", 1)]
    assert decided(*grid) is None


def test_places_of_one_name_must_lie_where_they_lay():
    """Near under one policy, far apart or unknown under another: radii alone decide nothing."""
    near = p.neighbourhood(radius=1, places={"a": (0,), "b": (1,)})
    more = p.neighbourhood(radius=2, places={"a": (0,), "b": (1,), "c": (9,)})
    far = p.neighbourhood(radius=2, places={"a": (0,), "b": (9,)})
    fewer = p.neighbourhood(radius=2, places={"a": (0,)})
    plain = p.neighbourhood(radius=2)
    assert [decided(near, one) for one in (more, far, fewer, plain)] == [True, None, None, True]
    assert decided(p.neighbourhood(radius=1), far) is None
    same = [(one, one) for one in near.records(("a", "b"), max_groups=1)]
    assert near.relaxes(more, records=same)
    assert not near.relaxes(far, records=same)


def test_what_depends_on_the_records_is_said_and_settled_by_listing():
    minors, youths = p.sensitive("age < 18"), p.sensitive("age < 21")
    assert decided(minors, youths) is None

    def seen(age, limit):
        return Record("sensitive" if age < limit else "open", frozenset({str(age)}))

    ages = [(seen(age, 18), seen(age, 21)) for age in (10, 20, 30)]
    assert minors.relaxes(youths, records=ages)
    assert not youths.relaxes(minors, records=[(two, one) for one, two in ages])


@pytest.mark.parametrize("policy", CASES.values(), ids=CASES)
def test_ordinary_privacy_is_stricter_than_every_policy_without_absence(policy):
    """Presence is none of these: dropping the last group takes somebody out of the table."""
    lightest = min(edge.weight for edge in policy.edges)
    leaves = any(ABSENT in way for edge in policy.edges for way in policy.ways(edge))
    assert decided(policy, p.bounded()) == (False if leaves else True if lightest >= 1 else None)


kinds = ("a", "b", ABSENT)
pairs = [pair for pair in product(kinds, repeat=2) if pair != (ABSENT, ABSENT)]
kind_policies = st.dictionaries(st.sampled_from(pairs), st.sampled_from(WEIGHTS), min_size=1).map(
    lambda edges: p.custom(kinds=kinds, edges=[(*pair, w) for pair, w in edges.items()])
)


def table(policy):
    return {(edge.source, edge.target): edge.weight for edge in policy.edges}


@given(one=kind_policies, two=kind_policies)
def test_relaxation_of_kinds_is_comparison_of_edges(one, two):
    here, there = table(one), table(two)
    assert one.relaxes(two) == all(there.get(e, INFINITE) <= w for e, w in here.items())
    records = [(r, r) for r in one.records(GROUPS, max_groups=1)]
    assert one.relaxes(two) == one.relaxes(two, records=records)


@given(one=kind_policies, two=kind_policies, three=kind_policies)
def test_relaxation_is_transitive(one, two, three):
    if one.relaxes(two) and two.relaxes(three):
        assert one.relaxes(three)


@given(one=kind_policies, two=kind_policies, three=kind_policies)
def test_intersections_ignore_order_and_grouping(one, two, three):
    try:
        left = (one & two) & three
    except errors.PolicyError:
        return
    assert left.identity == (three & (two & one)).identity
    assert all(left.relaxes(part) for part in (one, two, three))


@given(one=kind_policies, two=kind_policies)
def test_the_intersection_is_the_strictest_common_relaxation(one, two):
    joint = both(one, two)
    here, there = table(one), table(two)
    common = {pair: max(w, there[pair]) for pair, w in here.items() if pair in there}
    assert common == ({} if joint is None else table(joint))


@settings(max_examples=50)
@given(one=kind_policies, other=kind_policies, epsilon=st.sampled_from(["1/3", 1, 2]))
def test_relaxing_never_raises_a_loss(one, other, epsilon):
    more = {**table(one), **table(other)}
    lighter = {pair: min(w, table(one).get(pair, w)) for pair, w in more.items()}
    two = p.custom(kinds=kinds, edges=[(*pair, w) for pair, w in lighter.items()])
    assert one.relaxes(two)
    query = GroupCount(max_groups=1)
    mechanism = Counts.for_policy(two, epsilon=epsilon)
    for edge, shifts in one.shifts(query).items():
        for shift in shifts:
            assert mechanism.loss(shift) <= Fraction(epsilon) * edge.weight


@each(PAIRS)
def test_losses_under_two_policies_add_along_each_common_edge(one, two):
    joint = both(one, two)
    if joint is None or one == two:
        return
    ours = {edge.name: edge.weight * Fraction(1, 3) for edge in one.edges}
    theirs = {edge.name: edge.weight * 2 for edge in two.edges}
    total = p.together((one, ours), (two, theirs), accept_unprotected=True)
    assert set(total.epsilon) == {edge.name for edge in joint.edges}
    for edge in joint.edges:
        assert total.epsilon[edge.name] <= Fraction(7, 3) * edge.weight
    swapped = p.together((two, theirs), (one, ours), accept_unprotected=True)
    assert dict(swapped.epsilon) == dict(total.epsilon)


def test_losses_under_one_policy_just_add():
    policy = p.unbounded()
    out, back = (edge.name for edge in policy.edges)
    total = p.together((policy, {out: Fraction(1)}), (policy, {out: Fraction(2), back: INFINITE}))
    assert dict(total.epsilon) == {out: 3, back: INFINITE}
    with pytest.raises(errors.PolicyError, match="no edge"):
        p.together((policy, {"x -> y": Fraction(1)}))
    with pytest.raises(errors.PolicyError, match="no releases"):
        p.together()


def test_the_sum_of_distances_would_not_be_right():
    """With distances added, ``A & A`` would not be A, and unequal ε would be misjudged."""
    heavy, light = (p.custom(kinds=["x"], edges=[("x", "x", w)]) for w in (3, 1))
    (edge,) = (heavy & light).edges
    assert edge.weight == 3
    total = p.together((heavy, {"x -> x": Fraction(3)}), (light, {"x -> x": Fraction(5)}))
    assert total.headline == 8 <= (1 + 5) * edge.weight


def test_units_get_the_kinds_of_both_policies():
    joint = p.sensitive("minor") & p.sensitive("ill")
    first, *others = joint.rules
    assert first.kind == "sensitive"
    assert [predicate.text for predicate in first.predicates] == ["ill", "minor"]
    with pytest.raises(errors.PolicyError, match="2 conditions"):
        _ = first.predicate
    assert [(rule.kind, rule.predicate.text) for rule in others] == [
        ("sensitive & open", "ill"),
        ("open & sensitive", "minor"),
    ]
    assert joint.default_kind == "open"
    tiered = p.tiers({"minor": (1, "minor"), "rest": 2}) & p.sensitive("minor")
    assert tiered.kinds == ("sensitive & minor", "open & rest")
    one_sided = p.bounded() & p.sensitive("minor")
    assert [rule.predicate.text for rule in one_sided.rules] == ["minor"]


def test_a_policy_only_combines_with_policies():
    with pytest.raises(TypeError):
        p.bounded() & 3


def test_presence_and_whole_records_together_move_as_many_groups_as_presence():
    """Unless a number is named, a record has all its groups; and none bounds what a kind takes."""
    covers, others = p.presence(max_groups=2), p.bounded()
    joint = covers & others
    (shift,) = joint.shifts(GroupCount())[joint.edges[0]]
    assert (shift.rise, shift.fall) == (0, 2)
    (cut,) = joint.shifts(GroupCount(max_groups=1))[joint.edges[0]]
    assert (cut.rise, cut.fall) == (0, 1)
    made = Counts.for_policy(joint, epsilon=1)
    world = Universe(groups=GROUPS, units=1)
    assert exact(made, joint, world).keeps(1)
    assert not exact(Counts(1, INFINITE), joint, world).keeps(1)
    kinds = covers & p.sensitive("minor")
    opened = frozenset({kind for kind in kinds.kinds if "open" in kind})
    with pytest.raises(errors.PolicyError, match="any number of groups"):
        kinds.shifts(GroupCount(counted=opened))
    assert kinds.shifts(GroupCount(max_groups=2, counted=opened))
