"""The noise that each family asks for keeps it, exactly and with nothing to spare."""

import pytest

import onesided
from onesided import policy as p
from onesided._numbers import INFINITE
from onesided.mechanism import Counts
from onesided.policy import GroupCount
from onesided.verify import Universe, exact

PLACES = {"a": (0, 0), "b": (3, 4)}
FAMILIES = {
    "extended": (p.extended_sensitive("minor"), None),
    "extended, open only": (p.extended_sensitive("minor"), "open"),
    "extended, sensitive only": (p.extended_sensitive("minor"), "sensitive"),
    "proposition": (p.proposition("well"), None),
    "proposition, open only": (p.proposition("well"), "open"),
    "tiers": (p.tiers({"strict": ("1/2", "vip"), "rest": 1}), None),
    "tiers, strict only": (p.tiers({"strict": ("1/2", "vip"), "rest": INFINITE}), "strict"),
    "tiers, open only": (p.tiers({"strict": ("1/2", "vip"), "rest": INFINITE}), "rest"),
    "attributes": (p.attributes({"letter": ["a"]}), None),
    "graph": (p.graph([("a", "b")]), None),
    "directed, to absent": (p.graph([("a", "absent"), ("b", "a")], directed=True), None),
    "only to absent": (p.graph([("a", "absent")], directed=True, values=["b"]), None),
    "local": (p.local(["a", "b"], sensitive=["a"]), None),
    "near": (p.neighbourhood(radius=5, sources=[(0, -1)], places=PLACES), None),
    "intersection": (p.sensitive("x") & p.sensitive("y"), None),
    "graph and kinds": (p.graph([("a", "b")]) & p.sensitive("x"), "value & open"),
}


@pytest.mark.parametrize(("policy", "kind"), FAMILIES.values(), ids=FAMILIES)
def test_the_least_noise_keeps_the_policy_and_less_does_not(policy, kind):
    if kind is not None and kind not in policy.kinds:
        kind = " & ".join(reversed(kind.split(" & ")))
    query = GroupCount(max_groups=1, counted=None if kind is None else frozenset({kind}))
    mechanism = Counts.for_policy(policy, epsilon=1, max_groups=1, counted=query.counted)
    world = Universe(units=1, max_groups=1)
    assert exact(mechanism, policy, world, query=query, tail=1e-6).keeps(1)
    louder = Counts(
        *(r if r == INFINITE else r * 2 for r in (mechanism.upper_rate, mechanism.lower_rate))
    )
    assert not exact(louder, policy, world, query=query, tail=1e-6).keeps(1)


ONE_SIDED = {
    "extended, sensitive gone": ("only to absent", "upper"),
    "open only": ("tiers, open only", "lower"),
    "protected only": ("tiers, strict only", "neither"),
}


@pytest.mark.parametrize(("name", "side"), ONE_SIDED.values(), ids=ONE_SIDED)
def test_a_direction_without_moves_needs_no_noise(name, side):
    policy, kind = FAMILIES[name]
    counted = None if kind is None else [kind]
    mechanism = Counts.for_policy(policy, epsilon=1, max_groups=1, counted=counted)
    assert (mechanism.lower_rate == INFINITE) == (side == "upper")
    assert (mechanism.upper_rate == INFINITE) == (side == "lower")


TABLE = {
    "person": [1, 2, 3, 4, 5],
    "place": ["a", "a", "b", "b", "b"],
    "minor": [True, False, None, False, True],
}


@pytest.mark.parametrize(
    "policy",
    [
        p.extended_sensitive("minor"),
        p.proposition("not minor"),
        p.tiers({"strict": ("1/2", "minor"), "rest": 1}),
        p.attributes({"place": ["a"]}),
        p.graph([("a", "b")]),
        p.local(["a", "b"]),
        p.neighbourhood(radius=5, places=PLACES),
        p.sensitive("minor") & p.bounded(),
    ],
    ids=lambda policy: policy.name,
)
@pytest.mark.parametrize("unit", [None, "person"])
def test_sessions_count_under_every_family(policy, unit):
    polars = pytest.importorskip("polars")
    session = onesided.Session(polars.DataFrame(TABLE), policy=policy, budget=9, unit=unit)
    bound = {} if unit is None else {"max_groups": 1, "on_excess": "error"}
    release = session.count(by="place", keys=["a", "b"], epsilon=1, **bound)
    assert set(release.guarantee.epsilon) == {edge.name for edge in policy.edges}
    for edge in policy.edges:
        assert release.guarantee.epsilon[edge.name] <= edge.weight


def test_a_null_puts_a_unit_into_the_strictest_tier_and_hides_a_proposition():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(TABLE)
    for policy, kind, people in (
        (p.tiers({"strict": ("1/2", "minor"), "rest": 1}), "strict", 3),
        (p.proposition("not minor"), "protected", 3),
        (p.extended_sensitive("minor"), "sensitive", 3),
    ):
        session = onesided.Session(frame, policy=policy, budget=10**3, unit="person")
        release = session.count(epsilon=100, counted=kind)
        assert abs(int(release.frame["estimate"][0]) - people) <= 1
