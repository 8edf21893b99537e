"""Path distance: directed, a quasi-metric, and right for whole data sets."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onesided import policy as p
from onesided._numbers import INFINITE
from onesided.policy import Record


def cells(*names):
    return [Record("value", frozenset({name})) for name in names]


def length(policy, one, two, records, **how):
    found = p.path(policy, one, two, records=records, **how)
    return INFINITE if found is None else found.length


arrows = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda pair: pair[0] != pair[1]),
    st.fractions("1/4", 4, max_denominator=4),
    min_size=1,
)


@settings(max_examples=40)
@given(arrows)
def test_paths_are_a_quasi_metric_and_agree_with_floyd_and_warshall(weights):
    policy = p.graph([(*pair, w) for pair, w in weights.items()], directed=True, values=range(5))
    records = cells(*range(5))
    known = {
        (a, b): Fraction(0) if a == b else weights.get((a, b), INFINITE)
        for a, b in product(range(5), repeat=2)
    }
    for via, a, b in product(range(5), repeat=3):
        known[a, b] = min(known[a, b], known[a, via] + known[via, b])
    for a, b in product(range(5), repeat=2):
        found = length(policy, records[a], records[b], records)
        assert found == known[a, b]
        assert found <= policy.distance(records[a], records[b])
    for a, b, c in product(range(5), repeat=3):
        assert known[a, c] <= known[a, b] + known[b, c]


def test_the_way_is_named_and_the_way_back_may_not_exist():
    policy = p.graph([("a", "b"), ("b", "c", 2), ("a", "c", 5)], directed=True)
    a, b, c = records = cells("a", "b", "c")
    way = p.path(policy, a, c, records=records)
    assert (way.steps, way.length, way.moves) == ((a, b, c), 3, 2)
    assert p.path(policy, a, c, records=records, weighted=False).moves == 1
    assert p.path(policy, c, a, records=records) is None
    assert set(p.paths_from(policy, b, records=records)) == {b, c}


def test_extended_osdp_reaches_open_records_in_two_moves():
    policy = p.extended_sensitive("x")
    records = policy.records(("a",), max_groups=1)
    secret = Record("sensitive", frozenset("a"))
    shown = Record("open", frozenset("a"))
    assert p.path(policy, secret, shown, records=records).moves == 2
    assert p.path(policy, shown, secret, records=records) is None
    assert p.data_distance(policy, [secret], [shown], records=records) == 2
    assert p.data_distance(policy, [], [shown], records=records) == 1


def by_search(policy, start, records, *, weighted):
    """Distances between data sets by trying every move of every record (Bellman-Ford)."""
    best = {start: Fraction(0)}
    todo = [start]
    while todo:
        here = todo.pop()
        present = list(Counter(dict(here)).elements())
        for real, other, edge in policy.moves(records):
            if real.kind == "absent":
                there = [*present, other]
            elif real in present:
                there = present.copy()
                there.remove(real)
                there += [] if other.kind == "absent" else [other]
            else:
                continue
            if len(there) > 3:
                continue
            key = tuple(sorted(Counter(there).items(), key=repr))
            cost = best[here] + (edge.weight if weighted else 1)
            if cost < best.get(key, INFINITE):
                best[key] = cost
                todo.append(key)
    return best


CASES = {
    "presence": p.presence(max_groups=1),
    "bounded": p.bounded(),
    "sensitive": p.sensitive("x"),
    "extended": p.extended_sensitive("x"),
    "unbounded": p.unbounded(),
    "graph": p.graph([("a", "b", 2), ("b", "absent", 3), ("absent", "a", 1)], directed=True),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("policy", CASES.values(), ids=CASES)
def test_data_sets_are_as_far_apart_as_the_shortest_chain_of_neighbours(policy, weighted):
    records = policy.records(("a", "b"), max_groups=2 if policy.name == "presence" else 1)
    present = [record for record in records if record.kind != "absent"]
    sets = [s for n in (1, 2) for s in combinations_with_replacement(present, n)]
    for real in sets:
        start = tuple(sorted(Counter(real).items(), key=repr))
        known = by_search(policy, start, records, weighted=weighted)
        for other in sets:
            key = tuple(sorted(Counter(other).items(), key=repr))
            found = p.data_distance(policy, real, other, records=records, weighted=weighted)
            assert found == known.get(key, INFINITE)


def test_assignments_may_have_to_be_rearranged():
    policy = p.graph([("a", "c"), ("a", "d"), ("b", "c")], directed=True)
    a, b, c, d = records = cells("a", "b", "c", "d")
    assert p.data_distance(policy, [a, b], [c, d], records=records) == 2
    assert p.data_distance(policy, [a, b], [d, d], records=records) == INFINITE
    assert p.data_distance(policy, [a], [c, d], records=records) == INFINITE
