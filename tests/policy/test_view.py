"""Views: what their moves do to counts, by listing every data set of a few households."""

import itertools

import pytest

import onesided as od
from onesided import errors
from onesided import policy as p
from onesided.mechanism import AtMost, RecordSample, SparseVector, TopK, UnknownKeys
from onesided.policy import GroupCount, Record
from onesided.verify import Case, Households, Universe, exact, risk

HOMES = p.view("minor", over="home", members=2)
VIEWS = {
    "by rows": HOMES,
    "by another table": p.view("care", over="home", members=2, table="register"),
    "of one": p.view("minor", over="home", members=1),
    "of three": p.view("minor", over="home", members=3),
}
KINDS = [None, {"open"}, {"sensitive"}, {"open", "sensitive"}]


WORLDS = {
    "by rows": {"homes": ("a", "a", "b"), "groups": ("x", "y")},
    "by another table": {"homes": ("a", "a", "b", None), "groups": ("x", "y")},
    "two groups of each": {"homes": ("a", "a"), "groups": ("x", "y"), "max_groups": 2},
    "of one": {"homes": ("a", "b", "b", None), "groups": ("x",)},
    "of three": {"homes": ("a", "a", "a"), "groups": ("x",)},
}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("kinds", KINDS, ids=["all", "open", "sensitive", "both"])
def test_shifts_are_those_of_every_move_and_are_reached(name, kinds):
    policy, given = VIEWS.get(name, HOMES), WORLDS[name]
    world, most = Households(policy=policy, **given), given.get("max_groups", 1)
    counted = None if kinds is None else frozenset(kinds)
    query = GroupCount(max_groups=most, counted=counted, several_units=True)
    seen = {edge: set() for edge in policy.edges}
    for real, other, edge in world.moves(policy):
        change = world.count(other, query) - world.count(real, query)
        seen[edge].add((int(change[change > 0].sum()), int(-change[change < 0].sum())))
    for edge, (limit,) in policy.shifts(query).items():
        rises, falls = ({one[side] for one in seen[edge]} for side in (0, 1))
        assert (max(rises), max(falls)) == (limit.rise, limit.fall)


def test_a_group_of_one_is_priced_as_a_sensitive_record():
    one, record = p.view("minor", over="person", members=1), p.sensitive("minor")
    for kinds in KINDS:
        counted = None if kinds is None else frozenset(kinds)
        query = GroupCount(max_groups=3, counted=counted, several_units=True)
        assert one.shifts(query) == record.shifts(query)


@pytest.mark.parametrize("policy", VIEWS.values(), ids=VIEWS)
def test_text_keeps_a_view(policy):
    again = p.from_toml(policy.to_toml())
    assert again == policy
    assert (again.identity, hash(again)) == (policy.identity, hash(policy))
    assert p.from_toml(policy.to_toml(), on_record=True) == policy


def test_views_differ_by_all_they_say():
    told = [("minor", "home", 2, None), ("x", "home", 2, None), ("minor", "x", 2, None)]
    told += [("minor", "home", 3, None), ("minor", "home", 2, "t"), ("minor", "home", 2, "u")]
    views = [p.view(c, over=o, members=m, table=t) for c, o, m, t in told]
    assert len({view.identity for view in views}) == len(views)
    for one, two in itertools.permutations(views, 2):
        with pytest.raises(errors.PolicyError):
            one.relaxes(two)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"over": ""}, "over"),
        ({"over": 3}, "over"),
        ({"over": None}, "over"),
        ({"table": ""}, "table"),
        ({"table": 1}, "table"),
        ({"members": 0}, "members"),
        ({"members": -1}, "members"),
        ({"members": 1.5}, "members"),
        ({"members": None}, "members"),
        ({"members": True}, "members"),
        ({"predicate": "age <"}, "condition"),
        ({"predicate": None}, "condition"),
    ],
)
def test_what_is_no_view_is_refused(given, what):
    asked = {"predicate": "minor", "over": "home", "members": 2, **given}
    with pytest.raises(errors.OnesidedError, match=f"(?i){what}") as caught:
        p.view(asked.pop("predicate"), **asked)
    assert caught.value.hint


@pytest.mark.parametrize(
    "line", ['over = "home"', 'predicate = "m"\nover = "h"', "members = 2", "over = 1\nmembers=2"]
)
def test_half_a_view_in_a_file_is_refused(line):
    with pytest.raises(errors.PolicyError, match=r"[Ll]ine"):
        p.from_toml(f'onesided_policy = 1\nfamily = "view"\n[parameters]\n{line}')


def test_kinds_are_refused_to_mechanisms_that_know_one_unit_alone():
    opened = {"epsilon": 1, "counted": ["open"]}
    for ask in (
        lambda: RecordSample.for_policy(HOMES, epsilon=1),
        lambda: UnknownKeys.for_policy(HOMES, **opened),
        lambda: TopK.for_policy(HOMES, k=1, **opened),
        lambda: SparseVector.for_policy(HOMES, thresholds=1, max_answers=1, **opened),
        lambda: od.mechanism.SplitHistogram.for_policy(HOMES, epsilon=1),
        lambda: od.mechanism.histograms.OpenShape.for_policy(HOMES, epsilon=1),
        lambda: od.mechanism.Staircase.for_policy(HOMES, largest=1, **opened),
        lambda: od.mechanism.TruncatedCounts.for_policy(HOMES, delta="1/9", **opened),
        lambda: od.mechanism.CubeCounts.for_policy(HOMES, **opened),
        lambda: od.mechanism.Subsampled.for_policy(HOMES, **opened),
    ):
        with pytest.raises(errors.PolicyError, match="units change kind"):
            ask()
    for ask in (
        lambda: AtMost.for_policy(HOMES, threshold=1, **opened),
        lambda: SparseVector.for_policy(HOMES, thresholds=1, **opened),
    ):
        with pytest.raises(errors.UnprotectableError):
            ask()
    made = SparseVector.for_policy(HOMES, thresholds=1, below=True, **opened)
    assert made.lower_rate * 2 == 1


def test_records_do_not_say_what_a_view_lets_pass():
    one, two = Record("sensitive", frozenset()), Record("open", frozenset())
    pairs = [(Record("record", frozenset()), one), (Record("record", frozenset("a")), two)]
    for ask in (
        lambda: HOMES.records(("a",), max_groups=1),
        lambda: HOMES.edge_between(one, two),
        lambda: HOMES.distance(one, two),
        lambda: p.joint_records(HOMES, p.bounded(), groups=["a"]),
        lambda: p.bounded().relaxes(HOMES, records=pairs),
        lambda: exact(print, HOMES, Universe()),
        lambda: risk(od.mechanism.Counts(1, 1), HOMES),
    ):
        with pytest.raises(errors.OnesidedError):
            ask()


def test_a_view_combines_with_itself_alone():
    assert HOMES & HOMES == HOMES
    for other in (p.bounded(), p.sensitive("minor"), VIEWS["of one"]):
        for ask in (lambda o=other: HOMES & o, lambda o=other: o & HOMES):
            with pytest.raises(errors.PolicyError, match="view"):
                ask()


def test_theorems_about_one_record_are_refused():
    some = {edge.name: od.accounting.Bound(1) for edge in HOMES.edges}
    for ask in (
        lambda: od.accounting.parallel(HOMES, [some, some]),
        lambda: od.bounds.exclusion_freedom(HOMES, {edge.name: 1 for edge in HOMES.edges}),
        lambda: p.Intersection((HOMES, p.bounded())),
    ):
        with pytest.raises(errors.PolicyError, match="view"):
            ask()


def test_differential_privacy_is_enough_for_a_view_and_less_is_not():
    assert HOMES.relaxes(p.bounded())
    assert HOMES.relaxes(HOMES)
    assert not HOMES.relaxes(p.addition_only())
    for other in (p.sensitive("minor"), p.presence(max_groups=2)):
        with pytest.raises(errors.PolicyError):
            HOMES.relaxes(other)
        with pytest.raises(errors.PolicyError):
            other.relaxes(HOMES)


def test_it_says_what_is_told_of_everybody():
    words = HOMES.explain()
    for some in ("which home a unit is in", "of more than 2 units", "open home", "two moves"):
        assert some in words
    assert "the table 'register'" in VIEWS["by another table"].explain()


def test_a_mechanism_of_your_own_is_checked_among_households():
    world = Households(policy=HOMES, groups=("x", "y"))
    right = od.mechanism.Counts("1/2", "1/2")
    case = Case(right, HOMES, 1, universe=world, query=GroupCount(max_groups=1))
    assert case.run().passed
    wrong = Case(
        lambda data, noise: (noise, [world.sensitive(data, at) for at in range(3)])[1],
        HOMES,
        20,
        universe=world,
    )
    assert not wrong.verdict().accepted
    with pytest.raises(errors.PolicyError, match="another policy"):
        exact(right, VIEWS["of one"], world)
    with pytest.raises(errors.ParameterError, match="data sets"):
        Households(policy=HOMES, homes=tuple("aabbccdd"))
