"""The publications' definitions, written out again and compared with ours move by move.

``docs/publications.md`` names these tests row by row.
"""

import math
import re
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from onesided import policy as p
from onesided._numbers import INFINITE
from onesided.mechanism import Counts
from onesided.policy import ABSENT, GroupCount, Record, Shift
from onesided.verify import Universe, exact

PLACES = ("a", "b")
AGES = ("10", "20", "30")


def moves(policy, records):
    return {(real, other) for real, other, _ in policy.moves(records)}


def by_rule(records, rule):
    return {(x, y) for x, y in product(records, repeat=2) if x != y and rule(x, y)}


def placed(policy, groups, kind_of):
    """The records of a policy whose kinds are decided by the value."""
    return [
        r
        for r in policy.records(groups, max_groups=len(groups))
        if r.kind in (ABSENT, kind_of(r.value))
    ]


def minors(value):
    return "sensitive" if "10" in value else "open"


def data_sets(records, size):
    return list(product(records, repeat=size))


def one_differs(one, two):
    return [(x, y) for x, y in zip(one, two, strict=True) if x != y]


# --- differential privacy, both ways and one way ------------------------------------------------


def test_bounded_neighbours_differ_in_one_record():
    records = p.bounded().records(PLACES, max_groups=2)
    assert moves(p.bounded(), records) == by_rule(records, lambda *_: True)


def test_addition_only_goes_from_the_larger_data_to_the_smaller():
    records = p.addition_only().records(PLACES, max_groups=1)
    expected = by_rule(records, lambda _, y: y.kind == ABSENT)
    assert moves(p.addition_only(), records) == expected


def test_removal_only_goes_from_the_smaller_data_to_the_larger():
    records = p.removal_only().records(PLACES, max_groups=1)
    expected = by_rule(records, lambda x, _: x.kind == ABSENT)
    assert moves(p.removal_only(), records) == expected
    assert expected == {(y, x) for x, y in moves(p.addition_only(), records)}


# --- OSDP ------------------------------------------------------------------------------------


def test_osdp_neighbours_replace_one_sensitive_record_by_any():
    policy = p.sensitive("age < 18")
    records = placed(policy, AGES, minors)
    assert moves(policy, records) == by_rule(records, lambda x, _: "10" in x.value)
    for real, other in product(data_sets(records, 2), repeat=2):
        swaps = [other, other[::-1]]
        changed = [one_differs(real, data) for data in swaps]
        neighbours = any(len(pairs) == 1 and "10" in pairs[0][0].value for pairs in changed)
        distance = p.data_distance(policy, real, other, records=records)
        assert (distance == 1) == (neighbours and real not in swaps)


def test_a_policy_function_is_a_predicate_and_unknown_counts_as_sensitive():
    (rule,) = p.sensitive("age < 18 or not opt_in").rules
    assert (rule.kind, p.sensitive("x").default_kind) == ("sensitive", "open")


def test_osdp_inequality_holds_edge_by_edge_and_not_backwards():
    policy = p.sensitive("minor")
    query = GroupCount(max_groups=1, counted=frozenset({"open"}))
    mechanism = Counts.for_policy(policy, epsilon=1, counted=["open"])
    report = exact(mechanism, policy, Universe(max_groups=1), query=query)
    assert report.keeps(1)
    backwards = p.custom(kinds=["sensitive", "open"], edges=[("open", "sensitive")])
    assert not exact(mechanism, backwards, Universe(max_groups=1), query=query).keeps(10)


def relaxations(values):
    """Every policy function on ``values``: which of them are sensitive."""
    return [
        frozenset(v for v, bit in zip(values, bits, strict=True) if bit)
        for bits in product((False, True), repeat=len(values))
    ]


def see(value, secrets):
    return Record("sensitive" if value in secrets else "open", frozenset({value}))


@pytest.mark.parametrize("ours", [s for s in relaxations(AGES) if s])
@pytest.mark.parametrize("theirs", relaxations(AGES))
def test_osdp_relaxation_is_relaxation(ours, theirs):
    """P1 relaxes P2 iff P1(r) >= P2(r) everywhere: what P1 finds sensitive, P2 does too."""
    one, two = p.sensitive("one"), p.sensitive("two")
    records = [(see(age, ours), see(age, theirs)) for age in AGES]
    assert one.relaxes(two, records=records) == (ours <= theirs)


@pytest.mark.parametrize("ours", relaxations(AGES))
@pytest.mark.parametrize("theirs", relaxations(AGES))
def test_osdp_minimum_relaxation_is_the_intersection(ours, theirs):
    joint = p.sensitive("one") & p.sensitive("two")
    first = joint.parts.index(p.sensitive("one"))
    secrets = (ours, theirs) if first == 0 else (theirs, ours)
    names = {kinds: name for name, kinds in joint.combinations.items()}
    records = [
        Record(names[tuple(see(age, s).kind for s in secrets)], frozenset({age})) for age in AGES
    ]
    minimum = {Record("x", r.value): r.value <= (ours & theirs) for r in records}
    expected = by_rule(records, lambda x, _: minimum[Record("x", x.value)])
    assert moves(joint, records) == expected


def test_osdp_composition_adds_under_the_minimum_relaxation():
    one, two = p.sensitive("one"), p.sensitive("two")
    losses = [{edge.name: Fraction(eps) for edge in q.edges} for q, eps in ((one, 1), (two, 3))]
    total = p.together((one, losses[0]), (two, losses[1]))
    assert set(total.epsilon.values()) == {Fraction(4)}
    assert {edge.weight for edge in (one & two).edges} == {1}


def test_if_all_are_sensitive_osdp_is_differential_privacy():
    policy = p.sensitive("true")
    records = placed(policy, AGES, lambda _: "sensitive")
    values = [(r, Record("record", r.value)) for r in records]
    assert policy.relaxes(p.bounded(), records=values)
    assert p.bounded().relaxes(policy, records=[(two, one) for one, two in values])


@pytest.mark.parametrize("policy", [p.sensitive("x"), p.proposition("x"),
                                    p.attributes({"a": "*"}), p.graph([("a", "b")])])  # fmt: skip
def test_every_policy_without_absence_relaxes_differential_privacy(policy):
    assert policy.relaxes(p.bounded())


def test_presence_takes_units_out_of_the_table_and_some_of_their_groups_away():
    """The first is no move of bounded privacy, the second none of addition-only or unbounded."""
    policy = p.presence(max_groups=2)
    for other in (p.bounded(), p.addition_only(), p.unbounded(), p.sensitive("x")):
        assert not policy.relaxes(other)
    both = p.custom(kinds=["r", "absent"], edges=[("r", "r"), ("r", "absent")])
    assert policy.relaxes(both)
    late = p.custom(kinds=["r", "absent"], edges=[("r", "r"), ("r", "absent", 2)])
    assert not policy.relaxes(late)


def test_extended_osdp_adds_any_record_and_removes_sensitive_ones():
    policy = p.extended_sensitive("age < 18")
    records = placed(policy, AGES, minors)
    expected = by_rule(
        records, lambda x, y: x.kind == ABSENT or (y.kind == ABSENT and x.kind == "sensitive")
    )
    assert moves(policy, records) == expected


def test_extended_osdp_as_printed_breaks_parallel_composition():
    """Definition 10.1 adds a record only if the data hold a sensitive one; Theorem 10.2 then fails.

    Two partitions. The real data hold one sensitive record, in the first. An open record may be
    added to the second, which holds no sensitive one, so its mechanism promises nothing there.
    """
    epsilon = 1.0

    def flag(part):
        """Says how many open records there are, if it is sure that none is sensitive."""
        if "s" in part:
            return {"?": 1.0}
        return {"?": math.exp(-epsilon), f"{len(part)} open": 1 - math.exp(-epsilon)}

    def loss(before, after):
        return max(
            math.log(weight / after[out]) if after.get(out) else math.inf
            for out, weight in before.items()
        )

    def printed(data):
        if "s" in data:
            yield from (data.replace("s", "", 1), data + "s", data + "o")

    worlds = ["".join(w) for n in range(4) for w in product("so", repeat=n)]
    assert all(
        loss(flag(data), flag(after)) <= epsilon + 1e-12
        for data in worlds
        for after in printed(data)
    )
    real, other = ("s", ""), ("s", "o")
    assert "".join(other) in set(printed("".join(real)))
    assert loss(flag(real[1]), flag(other[1])) == math.inf
    # Ours has no such clause, and so refuses the mechanism itself.
    absent, shown = Record(ABSENT), Record("open", frozenset({"a"}))
    assert p.extended_sensitive("x").edge_between(absent, shown) is not None


def test_personalised_tiers_generalise_osdp():
    two = p.tiers({"sensitive": (1, "minor"), "open": INFINITE})
    one = p.sensitive("minor")
    assert two.relaxes(one)
    assert one.relaxes(two)


# --- ADP, first version ----------------------------------------------------------------------


def vectors(width):
    return [
        (Record("record", frozenset(f"{i}={bit}" for i, bit in enumerate(bits))), bits)
        for bits in product("01", repeat=width)
    ]


@pytest.mark.parametrize("secret", list(product(("", "0", "1", "01"), repeat=2))[1:])
def test_adp_records_keep_every_value_that_is_not_sensitive(secret):
    policy = p.attributes({str(i): list(values) for i, values in enumerate(secret)})
    for (x, bits), (y, others) in product(vectors(2), repeat=2):
        kept = all(b == o for b, o, s in zip(bits, others, secret, strict=True) if b not in s)
        assert (policy.edge_between(x, y) is not None) == (kept and x != y)


def test_adp_of_places_visited_is_the_presence_policy():
    """Definitions 7 to 9 with 1 as the sensitive value: visits may be dropped, never gained."""
    policy = p.attributes({place: ["1"] for place in "012"})
    presence = p.presence(max_groups=3)
    pairs = [
        (x, Record("unit", frozenset(str(i) for i, bit in enumerate(bits) if bit == "1")))
        for x, bits in vectors(3)
    ]
    assert policy.relaxes(presence, records=pairs)
    assert presence.relaxes(policy, records=[(two, one) for one, two in pairs])


def test_if_all_values_are_sensitive_adp_is_differential_privacy():
    policy = p.attributes({"0": "*", "1": "*"})
    records = [x for x, _ in vectors(2)]
    assert moves(policy, records) == by_rule(records, lambda *_: True)


def test_sensitivity_under_a_policy_is_its_shift_and_monotone_if_one_sided():
    """The largest change over neighbours, falls and rises apart; only falls under presence."""
    policy, query = p.presence(max_groups=2), GroupCount()
    world = Universe(groups=("a", "b"), units=2)
    seen = set()
    for real, other, _ in world.moves(policy):
        change = world.count(other, query) - world.count(real, query)
        seen.add((int(change.clip(min=0).sum()), int((-change).clip(min=0).sum())))
    ((limit,),) = policy.shifts(query).values()
    assert limit == Shift(rise=0, fall=2)
    assert {rise for rise, _ in seen} == {0}
    assert max(fall for _, fall in seen) == 2


@pytest.mark.parametrize("policy", [p.bounded(), p.unbounded()])
def test_sensitivity_under_symmetric_policies_is_never_monotone(policy):
    shifts = [s for many in policy.shifts(GroupCount()).values() for s in many]
    assert any(s.rise for s in shifts)
    assert any(s.fall for s in shifts)


def test_the_minimum_step_is_counted_from_the_real_data():
    policy = p.presence(max_groups=2)
    records = policy.records(PLACES, max_groups=2)
    full, none = Record("unit", frozenset(PLACES)), Record("unit")
    assert p.data_distance(policy, [full, full], [none, none], records=records) == 2
    assert p.data_distance(policy, [none, none], [full, full], records=records) == INFINITE


# --- ADP, later version ----------------------------------------------------------------------


@pytest.mark.parametrize("arrows", [[("a", "b"), ("b", "c")], [("a", "b"), ("c", "d")]])
def test_blowfish_neighbours_are_joined_by_an_edge(arrows):
    policy = p.graph(arrows)
    records = policy.records(tuple("abcd"), max_groups=1)
    joined = {*arrows, *(arrow[::-1] for arrow in arrows)}
    expected = by_rule(records, lambda x, y: (min(x.value), min(y.value)) in joined)
    assert moves(policy, records) == expected


@pytest.mark.parametrize("open_ones", relaxations(AGES))
def test_proposition_neighbours_are_where_p_implies_p(open_ones):
    policy = p.proposition("p")
    records = [
        Record("open" if age in open_ones else "protected", frozenset({age})) for age in AGES
    ]

    def holds(record):
        return record.value <= open_ones

    assert moves(policy, records) == by_rule(records, lambda x, y: not holds(x) or holds(y))


@pytest.mark.parametrize("one", relaxations(AGES))
@pytest.mark.parametrize("two", relaxations(AGES))
def test_adp_composition_is_under_the_intersection(one, two):
    joint = p.proposition("one") & p.proposition("two")
    order = [joint.parts.index(p.proposition(name)) for name in ("one", "two")]
    names = {kinds: name for name, kinds in joint.combinations.items()}
    records = []
    for age in AGES:
        kinds = ["open" if age in holds else "protected" for holds in (one, two)]
        records.append(Record(names[tuple(kinds[place] for place in order)], frozenset({age})))

    def implies(x, y):
        return all(not x.value <= holds or y.value <= holds for holds in (one, two))

    assert moves(joint, records) == by_rule(records, implies)


# --- delta-neighbourhood ---------------------------------------------------------------------


def test_delta_neighbours_are_within_delta_or_within_delta_of_a_source():
    """The paper's example: values 1/4 to 4/4, delta 1/4 and a source at 0."""
    places = {str(i): (Fraction(i, 4),) for i in range(1, 5)}
    policy = p.neighbourhood(radius="1/4", sources=[(0,)], places=places)
    records = policy.records(tuple(places), max_groups=1)

    def near(x, y):
        ends = [0 if r.kind == ABSENT else int(min(r.value)) for r in (x, y)]
        return abs(ends[0] - ends[1]) <= 1

    assert moves(policy, records) == by_rule(records, near)


# --- local policies --------------------------------------------------------------------------


def test_local_policies_are_directed_pairs_of_answers():
    policy = p.local(["yes", "no", "other"], sensitive=["yes"])
    assert {(e.source, e.target) for e in policy.edges} == {("yes", "no"), ("yes", "other")}
    symmetric = p.local(["yes", "no"])
    assert {(e.source, e.target) for e in symmetric.edges} == {("yes", "no"), ("no", "yes")}


def test_the_table_names_tests_that_exist():
    folder = Path(__file__).parent
    text = (folder.parents[1] / "docs" / "publications.md").read_text(encoding="utf-8")
    section = text.split("## Definitions")[1].split("\n## ")[0]
    known = {
        f"tests/policy/{file.name}::{name}"
        for file in folder.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    found = re.findall(r"`(?:(tests/policy/test_\w+\.py)::)?(test_\w+)`", section)
    assert len(found) > 30
    for file, name in found:
        home = "test_errata.py" if name.startswith("test_erratum") else "test_definitions.py"
        assert f"{file or f'tests/policy/{home}'}::{name}" in known
