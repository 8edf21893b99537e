import math
from fractions import Fraction

import narwhals as nw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onesided import errors
from onesided import policy as p
from onesided.policy import GroupCount, Record, Shift

ALL = [
    p.bounded(),
    p.unbounded(),
    p.addition_only(),
    p.removal_only(),
    p.sensitive("age < 18 or not opt_in"),
    p.presence(max_groups=3),
    p.custom(
        kinds=["strict", "relaxed", "absent"],
        edges=[("strict", "absent", "1/2"), ("relaxed", "strict", 2)],
        rules=[("strict", "tier = 'strict'")],
        default="relaxed",
    ),
]


def shifts(policy, **query):
    return {edge.name: many for edge, many in policy.shifts(GroupCount(**query)).items()}


@pytest.mark.parametrize("policy", ALL, ids=lambda q: q.name)
def test_toml_round_trip_keeps_the_identity(policy):
    again = p.from_toml(policy.to_toml())
    assert again == policy
    assert again.identity == policy.identity
    assert len({q.identity for q in ALL}) == len(ALL)


@pytest.mark.parametrize("policy", ALL, ids=lambda q: q.name)
def test_explain_names_every_edge_and_both_directions(policy):
    words = policy.explain(epsilon=1)
    for edge in policy.edges:
        assert edge.name in words
        assert f"{math.ceil(math.exp(edge.weight) * 100) / 100:.2f} times as likely" in words
    assert "observer" in words


def test_explain_warns_where_a_policy_invites_an_attack():
    assert "exclusion attack" in p.sensitive("x").explain()
    assert "in the clear" in p.removal_only().explain()
    assert "Not protected: that someone was NOT in a group" in p.presence(max_groups=1).explain()


def test_moves_go_in_one_direction_only():
    assert [e.name for e in p.addition_only().edges] == ["record -> absent"]
    assert [e.name for e in p.removal_only().edges] == ["absent -> record"]
    assert [e.name for e in p.sensitive("x").edges] == [
        "sensitive -> sensitive",
        "sensitive -> open",
    ]


def test_shifts_keep_rise_and_fall_apart():
    assert shifts(p.bounded()) == {"record -> record": (Shift(rise=1, fall=1),)}
    assert shifts(p.unbounded(), max_groups=3) == {
        "record -> absent": (Shift(rise=0, fall=3),),
        "absent -> record": (Shift(rise=3, fall=0),),
    }
    assert shifts(p.sensitive("x"), counted=frozenset({"open"})) == {
        "sensitive -> sensitive": (Shift(rise=0, fall=0),),
        "sensitive -> open": (Shift(rise=1, fall=0),),
    }
    assert shifts(p.presence(max_groups=3)) == {"present -> not present": (Shift(rise=0, fall=3),)}
    assert shifts(p.presence(max_groups=3), max_groups=1) == {
        "present -> not present": (Shift(rise=0, fall=1),)
    }


def test_truncation_makes_presence_two_sided():
    many = shifts(p.presence(max_groups=3), max_groups=2, truncated=True)
    assert many == {"present -> not present": (Shift(rise=2, fall=2),)}


@pytest.mark.parametrize("policy", ALL, ids=lambda q: q.name)
@given(groups=st.integers(1, 3), most=st.integers(1, 3))
def test_shifts_cover_every_move_of_a_tiny_universe(policy, groups, most):
    names = "abc"[:groups]
    records = policy.records(names, max_groups=min(most, groups))
    limits = policy.shifts(GroupCount(max_groups=most))
    for real, other, edge in policy.moves(records):
        fall = sum(g in real.value and g not in other.value for g in names)
        rise = sum(g in other.value and g not in real.value for g in names)
        assert any(fall <= s.fall and rise <= s.rise for s in limits[edge])


def test_presence_distance_is_directed():
    policy = p.presence(max_groups=1)
    both, one = Record("unit", frozenset("ab")), Record("unit", frozenset("a"))
    assert policy.distance(both, one) == 1
    assert policy.distance(one, both) > 10**9
    assert policy.distance(both, both) == 0
    assert policy.edge_between(both, Record("unit", frozenset())) is None


@pytest.mark.parametrize("given", [nw.col("age") < 18, None, 18, b"age", ["age"]], ids=str)
def test_predicates_are_text(given):
    with pytest.raises(errors.ConditionError, match="is a text"):
        p.sensitive(given)


def test_the_text_as_written_is_a_policys_identity():
    assert p.sensitive("age<18") != p.sensitive("age < 18")
    assert p.from_toml(p.sensitive("age<18").to_toml()) == p.sensitive("age<18")


BAD_POLICIES = {
    "no edges": lambda: p.custom(kinds=["a"], edges=[]),
    "unknown kind": lambda: p.custom(kinds=["a"], edges=[("a", "b")]),
    "no kinds": lambda: p.custom(kinds=[], edges=[("a", "b")]),
    "only absent": lambda: p.custom(kinds=["absent"], edges=[("absent", "absent")]),
    "twice": lambda: p.custom(kinds=["a"], edges=[("a", "a"), ("a", "a", 2)]),
    "not a pair": lambda: p.custom(kinds=["a"], edges=["aa"]),
    "edges in a mapping": lambda: p.custom(kinds=["a"], edges={("a", "a"): "1/2"}),
    "no list of edges": lambda: p.custom(kinds=["a"], edges=None),
    "a number for an edge": lambda: p.custom(kinds=["a"], edges=[1]),
    "rules in a mapping": lambda: p.custom(kinds=["a"], edges=[("a", "a")], rules={"a": "x"}),
    "rule of unknown kind": lambda: p.custom(kinds=["a"], edges=[("a", "a")], rules=[("b", "x")]),
    "empty predicate": lambda: p.sensitive("  "),
    "predicate of a wrong type": lambda: p.sensitive(3),
}


@pytest.mark.parametrize("make", BAD_POLICIES.values(), ids=BAD_POLICIES)
def test_malformed_policies_are_refused_with_a_hint(make):
    with pytest.raises(errors.PolicyError) as caught:
        make()
    assert caught.value.hint


def test_whoever_is_unknown_is_never_of_a_kind_that_nothing_protects():
    """A null counts as true, and one row decides: so a rule that makes units open comes last."""
    edges = [("private", "private"), ("private", "public")]
    kinds = ("private", "public", "known")
    for rules, default in (
        ([("public", "opted_in")], "private"),
        ([("known", "x"), ("private", "y")], "public"),
        ([("private", "y"), ("public", "x")], "private"),
    ):
        with pytest.raises(errors.PolicyError, match="nothing protects"):
            p.custom(kinds=kinds, edges=edges, rules=rules, default=default)
    rules = [("private", "not opted_in"), ("known", "x")]
    assert p.custom(kinds=kinds, edges=edges, rules=rules, default="public").rules


@pytest.mark.parametrize("weight", [0, -1, "nan", "x"])
def test_weights_must_be_positive(weight):
    with pytest.raises(errors.ParameterError):
        p.custom(kinds=["a"], edges=[("a", "a", weight)])


@pytest.mark.parametrize("bound", [0, -1, 1.5, "nan", "many"])
def test_presence_needs_a_whole_positive_bound(bound):
    with pytest.raises(errors.ParameterError):
        p.presence(max_groups=bound)


BAD_TOML = {
    "not toml": "[",
    "no version": 'family = "bounded"',
    "newer": 'onesided_policy = 2\nfamily = "bounded"',
    "unknown family": 'onesided_policy = 1\nfamily = "magic"',
    "no family": "onesided_policy = 1",
    "unknown field": 'onesided_policy = 1\nfamily = "bounded"\ncolour = 1',
    "unknown parameter": 'onesided_policy = 1\nfamily = "bounded"\n[parameters]\nx = 1',
    "missing parameter": 'onesided_policy = 1\nfamily = "presence"',
    "bad parameter": 'onesided_policy = 1\nfamily = "presence"\n[parameters]\nmax_groups = 0',
    "parameters no table": 'onesided_policy = 1\nfamily = "bounded"\nparameters = 3',
}


@pytest.mark.parametrize("text", BAD_TOML.values(), ids=BAD_TOML)
def test_bad_toml_is_refused_with_a_hint(text):
    with pytest.raises(errors.PolicyError) as caught:
        p.from_toml(text)
    assert caught.value.hint


def test_guarantees_compare_edge_by_edge():
    small = p.Guarantee("x", {"a": Fraction(1), "b": Fraction(2)}, {})
    large = p.Guarantee("x", {"a": Fraction(2), "b": Fraction(2)}, {})
    other = p.Guarantee("x", {"a": Fraction(0), "b": Fraction(3)}, {})
    assert small.implies(large)
    assert not large.implies(small)
    assert not small.implies(other)
    assert not other.implies(small)
    assert not p.Guarantee("x", {"a": Fraction(1)}, {}).implies(small)
    assert small.headline == 2
    assert "a: ε = 1, b: ε = 2 (pure, δ = 0)" in str(small)


def test_a_delta_is_told_as_a_decimal_that_is_never_too_small():
    def told(delta):
        return p.Guarantee("x", {"a": Fraction(1)}, {"a": delta})

    assert "a: ε = 1, δ = 1.056e-5." in str(told(Fraction(33, 3125000)))
    assert "δ ≤ 2.868e-10." in str(told(Fraction(1, 3**20)))
    (edge,) = told(Fraction(1, 3**20)).as_dict()["edges"].values()
    assert edge["delta"] == f"1/{3**20}"
    assert Fraction(edge["delta_decimal"]) >= Fraction(1, 3**20)
