"""Each family's moves, shifts, words and text, by listing tiny universes."""

import math

import pytest

import onesided
from onesided import errors
from onesided import policy as p
from onesided.policy import ABSENT, GroupCount, Record, Shift

PLACES = {"a": (0, 0), "b": (3, 4), "c": (10, 0)}
SINGLE = {
    "extended": p.extended_sensitive("minor"),
    "proposition": p.proposition("not ill"),
    "tiers": p.tiers({"strict": ("1/2", "vip"), "normal": (1, "local"), "rest": 2}),
    "tiers with open": p.tiers({"strict": (1, "vip"), "rest": onesided.INFINITE}),
    "attributes": p.attributes({"letter": ["a", "b"]}),
    "attributes, all": p.attributes({"letter": "*"}),
    "graph": p.graph([("a", "b"), ("b", "c", "1/2")]),
    "directed graph": p.graph([("a", "b"), ("b", "a", 3), ("c", ABSENT)], directed=True),
    "graph with lone value": p.graph([("a", "b")], values=["c"]),
    "local": p.local(["a", "b", "c"], sensitive=["a"]),
    "near": p.neighbourhood(radius=5, places=PLACES),
    "near with sources": p.neighbourhood(radius=5, sources=[(0, -1)], places=PLACES),
    "intersection": p.sensitive("minor") & p.sensitive("ill"),
    "mixed intersection": p.graph([("a", "b")]) & p.sensitive("minor") & p.bounded(),
}
MORE = {"many attributes": p.attributes({"x": ["1"], "y": "*", "z": []})}
ALL = {**SINGLE, **MORE}


def listed(policy, groups="abc", most=1):
    return policy.records(tuple(groups), max_groups=most)


def named(policy, **how):
    return {(r.kind, o.kind): e.weight for r, o, e in policy.moves(listed(policy, **how))}


@pytest.mark.parametrize("policy", ALL.values(), ids=ALL)
def test_toml_keeps_the_policy_and_its_identity(policy):
    again = p.from_toml(policy.to_toml())
    assert again == policy
    assert again.identity == policy.identity
    assert hash(again) == hash(policy)


def test_identities_differ():
    assert len({policy.identity for policy in ALL.values()}) == len(ALL)


@pytest.mark.parametrize("policy", ALL.values(), ids=ALL)
def test_explain_names_every_edge(policy):
    words = policy.explain(epsilon=1)
    for edge in policy.edges:
        assert edge.name in words
        assert f"{math.ceil(math.exp(edge.weight) * 100) / 100:.2f} times as likely" in words


@pytest.mark.parametrize("policy", SINGLE.values(), ids=SINGLE)
@pytest.mark.parametrize("kinds", [None, "each"])
def test_shifts_cover_every_move_and_no_more(policy, kinds):
    for kind in [None] if kinds is None else [k for k in policy.kinds if k != ABSENT]:
        query = GroupCount(max_groups=1, counted=None if kind is None else frozenset({kind}))
        limits, seen = policy.shifts(query), {}
        assert set(limits) == set(policy.edges)
        for real, other, edge in policy.moves(listed(policy)):
            here, there = (r.value if query.counts(r.kind) else frozenset() for r in (real, other))
            shift = Shift(rise=len(there - here), fall=len(here - there))
            assert any(shift.rise <= s.rise and shift.fall <= s.fall for s in limits[edge])
            seen.setdefault(edge, set()).add(shift)
        for edge, shifts in seen.items():
            assert set(limits[edge]) <= shifts


@pytest.mark.parametrize("policy", ALL.values(), ids=ALL)
def test_edges_are_the_ones_that_moves_use(policy):
    groups = ("x=1", "x=2", "y=1", "z=1", "z=2") if policy.name == "attributes" else "abc"
    groups = "abc" if policy in SINGLE.values() else groups
    used = {edge for _, _, edge in policy.moves(listed(policy, groups=groups, most=3))}
    assert used == set(policy.edges)
    assert all(set(policy.ends(edge)) <= set(policy.kinds) for edge in policy.edges)
    assert policy.default_kind in policy.kinds


def test_attributes_change_together_within_their_shift():
    policy = MORE["many attributes"]
    groups = ("x=1", "x=2", "y=1", "y=2", "z=1", "z=2")
    seen = set()
    for real, other, _ in policy.moves(listed(policy, groups=groups, most=3)):
        seen.add((len(other.value - real.value), len(real.value - other.value)))
        assert {g for g in real.value if g[0] == "z"} == {g for g in other.value if g[0] == "z"}
        assert not ("x=2" in real.value and "x=1" in other.value)
    (limit,) = policy.shifts(GroupCount(max_groups=3))[policy.edges[0]]
    assert max(seen) == (limit.rise, limit.fall) == (2, 2)
    with pytest.raises(errors.PolicyError, match="2 attributes"):
        policy.records(("x=1", "y=1"), max_groups=1)


@pytest.mark.parametrize("kept", [1, 2])
def test_truncated_attributes_exchange_no_more_than_they_change(kept):
    policy = p.attributes({"x": "*", "y": []})
    order = ["y=1", "x=2", "y=2", "x=1"]
    records = listed(policy, groups=order, most=2)

    def keep(record):
        return set(sorted(record.value, key=order.index)[:kept])

    ((limit,),) = policy.shifts(GroupCount(max_groups=kept, truncated=True)).values()
    for real, other, _ in policy.moves(records):
        assert len(keep(other) - keep(real)) <= limit.rise
        assert len(keep(real) - keep(other)) <= limit.fall


def test_tiers_weigh_by_their_own_epsilon():
    weights = named(SINGLE["tiers"])
    assert {source: weight for (source, _), weight in weights.items()} == {
        "strict": p.Edge("x", "y", "1/2").weight,
        "normal": 1,
        "rest": 2,
    }
    assert len(weights) == 9
    assert not any(source == "rest" for source, _ in named(SINGLE["tiers with open"]))


def test_two_tiers_are_osdp():
    two = p.tiers({"sensitive": (1, "minor"), "open": onesided.INFINITE})
    assert set(two.edges) == set(p.sensitive("minor").edges)
    assert two.rules == p.sensitive("minor").rules


BAD_TIERS = {
    "laxest first": {"lax": (2, "a"), "strict": 1},
    "no last": {"one": (1, "a"), "two": (2, "b")},
    "two last": {"one": 1, "two": 2},
    "only open": {"one": onesided.INFINITE},
    "none": {},
    "too many parts": {"one": (1, "a", "b"), "two": 2},
}


@pytest.mark.parametrize("given", BAD_TIERS.values(), ids=BAD_TIERS)
def test_tiers_must_make_sense(given):
    with pytest.raises(errors.PolicyError) as caught:
        p.tiers(given)
    assert caught.value.hint


@pytest.mark.parametrize("epsilon", ["nan", 0, -1, float("nan")])
def test_tiers_need_a_positive_epsilon(epsilon):
    with pytest.raises(errors.ParameterError):
        p.tiers({"one": (epsilon, "a"), "two": 9})


def test_a_proposition_is_protected_where_it_is_false_or_unknown():
    (rule,) = p.proposition("healthy").rules
    assert (rule.kind, rule.predicate.text) == ("protected", "NOT (healthy)")


@pytest.mark.parametrize(
    "stored",
    [
        'family = "sensitive"\n[parameters]\npredicate = "col(x)"\nsql = false',
        'family = "tiers"\n[parameters]\ntiers = [["a", "1", "x", "expression"], ["b", "2"]]',
        'family = "custom"\n[parameters]\nkinds = ["a", "b"]\nedges = [["a", "b"]]\n'
        'rules = [["a", "x", "expression"]]\ndefault = "b"',
    ],
)
def test_stored_expressions_are_not_read_as_conditions(stored):
    with pytest.raises(errors.PolicyError, match="expression"):
        p.from_toml(f"onesided_policy = 1\n{stored}\n")


def test_graphs_go_one_way_only_if_told():
    both = p.graph([("a", "b")])
    one = p.graph([("a", "b")], directed=True)
    a, b = Record("value", frozenset("a")), Record("value", frozenset("b"))
    assert both.distance(a, b) == both.distance(b, a) == one.distance(a, b) == 1
    assert one.distance(b, a) == onesided.INFINITE
    assert one.distance(a, Record("value", frozenset("z"))) == onesided.INFINITE


BAD = {
    "graph without edges": lambda: p.graph([]),
    "loop": lambda: p.graph([("a", "a")]),
    "two weights": lambda: p.graph([("a", "b", 1), ("b", "a", 2)]),
    "not a pair": lambda: p.graph(["ab"]),
    "float value": lambda: p.graph([(1.5, 2)]),
    "true as a value": lambda: p.graph([(True, 2)]),
    "letter outside": lambda: p.local(["a"], edges=[("a", "b")]),
    "letter twice": lambda: p.local(["a", "a", "b"]),
    "edges and sensitive": lambda: p.local(["a", "b"], edges=[("a", "b")], sensitive=["a"]),
    "arrow in a letter": lambda: p.local(["a->b", "c"]),
    "names that collide": lambda: p.custom(
        kinds=["a", "a -> b", "b -> c", "c"], edges=[("a", "b -> c"), ("a -> b", "c")]
    ),
    "combinations that collide": lambda: (
        p.custom(kinds=["a & b", "a"], edges=[("a", "a & b"), ("a & b", "a")])
        & p.custom(kinds=["c", "b & c"], edges=[("c", "b & c"), ("b & c", "c")])
    ),
    "letters run together": lambda: p.local("yes"),
    "no letters": lambda: p.local(None),
    "empty letter": lambda: p.local(["", "b"]),
    "one letter": lambda: p.local(["a"]),
    "nothing sensitive": lambda: p.attributes({"x": []}),
    "attribute with =": lambda: p.attributes({"x=y": ["1"]}),
    "unknown metric": lambda: p.neighbourhood(radius=1, metric="taxi"),
    "point that is none": lambda: p.neighbourhood(radius=1, sources=[3]),
    "no such latitude": lambda: p.neighbourhood(radius=1, sources=[(91, 0)], metric="haversine"),
    "no such time": lambda: p.neighbourhood(radius=1, sources=["soon"], metric="time"),
    "empty extended": lambda: p.extended_sensitive(" "),
    "empty proposition": lambda: p.proposition(""),
    "nothing in common": lambda: p.addition_only() & p.removal_only(),
    "unknown place": lambda: p.neighbourhood(radius=1).records(("a",), max_groups=1),
    "several values": lambda: p.graph([("a", "b")]).shifts(GroupCount(max_groups=2)),
    "unknown kind": lambda: p.graph([("a", "b")]).shifts(GroupCount(counted=frozenset("q"))),
    "mixed dimensions": lambda: p.neighbourhood(radius=1).edge_between(
        Record("point", (0, 0)), Record("point", (0,))
    ),
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD)
def test_malformed_policies_are_refused_with_a_hint(make):
    with pytest.raises(errors.PolicyError) as caught:
        make()
    assert caught.value.hint


@pytest.mark.parametrize("edges", [{("a", "b"): "1/2"}, [{"a", "b"}], "ab", None, [None]])
def test_no_weight_and_no_direction_of_an_edge_is_lost(edges):
    """A mapping was read without its weights, a set of two values in no particular order."""
    with pytest.raises(errors.PolicyError, match="source, target") as caught:
        p.graph(edges, directed=True)
    assert repr(edges) in caught.value.reason or repr(edges[0]) in caught.value.reason
    if edges is not None:
        with pytest.raises(errors.PolicyError, match="source, target"):
            p.local(["a", "b"], edges=edges)


@pytest.mark.parametrize("radius", [0, -1, "nan", float("inf"), "far"])
@pytest.mark.parametrize("metric", ["euclidean", "grid", "haversine", "time"])
def test_radii_must_be_positive(radius, metric):
    with pytest.raises(errors.ParameterError):
        p.neighbourhood(radius=radius, metric=metric)


WARNED = {
    "extended",
    "tiers with open",
    "graph with lone value",
    "local",
    "attributes",
    "attributes, all",
    "many attributes",
}


@pytest.mark.parametrize("name", ALL)
def test_who_could_publish_open_records_is_warned_of_exclusion(name):
    assert ("exclusion attack" in ALL[name].explain()) == (name in WARNED)


def test_words_tell_what_cannot_pass_as_what():
    words = p.proposition("healthy").explain()
    assert "Not protected: that a record is open and not protected" in words
    assert "4 of the edges" not in SINGLE["graph"].explain()
    assert "one way only" in SINGLE["directed graph"].explain()
    assert "metres" in p.neighbourhood(radius=5, metric="haversine").explain()


@pytest.mark.parametrize("word", ["no", 0, None])
def test_graphs_ask_for_a_plain_yes_or_no(word):
    with pytest.raises(errors.PolicyError, match="directed is"):
        p.graph([("a", "b")], directed=word)


@pytest.mark.parametrize("policy", ALL.values(), ids=ALL)
def test_pictures_are_valid_and_show_every_arrow(policy):
    from xml.etree import ElementTree as ET

    picture = ET.fromstring(policy.to_svg())  # noqa: S314 - our own text
    paths = picture.findall(".//{*}path[@marker-end]")
    assert len(paths) == len(policy.drawn()[1])
    assert {"protected"} <= {text.text for text in picture.iter() if text.text}


def test_pictures_escape_names_and_stay_small():
    assert "&lt;b&gt;" in p.local(["<b>", "c"]).to_svg()
    large = p.graph([(i, i + 1) for i in range(500)]).to_svg()
    assert len(large) < 5000


def test_a_value_alone_is_refused_among_several_attributes():
    """It was one of whichever attribute came first, so that policies saw different records."""
    one, two = p.attributes({"x": ["a"]}), p.attributes({"w": ["c"], "x": ["a"]})
    assert one.relaxes(two)
    named = [p.Record("record", frozenset({f"x={value}"})) for value in "ab"]
    assert one.distance(*named) == two.distance(*named) == 1
    alone = [p.Record("record", frozenset({value})) for value in "ab"]
    assert one.distance(*alone) == 1
    with pytest.raises(errors.PolicyError, match="any of 2 attributes"):
        two.distance(*alone)
    with pytest.raises(errors.PolicyError, match="any of 2 attributes"):
        two.records(["a"], max_groups=1)
