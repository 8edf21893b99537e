"""Adding up per edge, policies apart, and parts side by side."""

import math
from fractions import Fraction
from itertools import permutations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import accounting as acc
from onesided import errors
from onesided.accounting import Bound
from onesided.mechanism import Counts
from onesided.policy import GroupCount, Guarantee
from onesided.verify import Universe, exact

INF = od.INFINITE
OSDP = od.policy.sensitive("x")
S_S, S_O = "sensitive -> sensitive", "sensitive -> open"


def made(epsilon, delta=None, policy="sensitive"):
    return Guarantee(policy, epsilon, delta or {})


def test_losses_add_per_edge_which_is_better_than_adding_headlines():
    one = made({S_S: Fraction(1), S_O: Fraction(0)}, {S_S: Fraction(1, 100)})
    two = made({S_S: Fraction(0), S_O: Fraction(1)}, {S_S: Fraction(1, 100)})
    total = acc.compose([one, two])
    assert total.epsilon == {S_S: 1, S_O: 1}
    assert total.delta == {S_S: Fraction(2, 100)}
    assert total.headline == 1 < one.headline + two.headline


@given(st.permutations(range(4)))
def test_the_order_of_releases_does_not_matter(order):
    many = [made({S_S: Fraction(i), S_O: INF if i == 3 else Fraction(1, 7)}) for i in range(4)]
    assert acc.compose([many[i] for i in order]) == acc.compose(many)
    assert acc.compose(many).epsilon == {S_S: 6, S_O: INF}


def test_edge_names_of_different_policies_are_never_mixed():
    with pytest.raises(errors.PolicyError, match="compose_under"):
        acc.compose([made({S_S: Fraction(1)}), made({S_S: Fraction(1)}, policy="other")])
    with pytest.raises(errors.PolicyError):
        acc.compose([made({S_S: Fraction(1)}), made({S_O: Fraction(1)})])
    with pytest.raises(errors.ParameterError):
        acc.compose([])


def test_policies_that_share_a_name_and_edges_are_not_added_up():
    """Once the sum was promised under 'presence', though along a move of three groups it is 4."""
    one, three = (od.policy.presence(max_groups=k) for k in (1, 3))
    (edge,) = (edge.name for edge in one.edges)
    made_for_one, made_for_three, unknown = (
        Guarantee("presence", {edge: Fraction(1)}, {}, made_for=policy)
        for policy in (one, three, None)
    )
    for mixed in permutations([unknown, made_for_one, made_for_three]):
        with pytest.raises(errors.PolicyError, match="parameters differ"):
            acc.compose(mixed)
    assert not made_for_three.implies(made_for_one)
    again = Guarantee(
        "presence", {edge: Fraction(1)}, {}, made_for=od.policy.presence(max_groups=1)
    )
    total = acc.compose([unknown, made_for_one, again])
    assert total.epsilon == {edge: 3}
    assert total.made_for is one


def test_guarantees_of_sessions_and_of_rules_know_their_policy():
    frame = pl.DataFrame({"person": [1, 2], "minor": [True, False]})
    told = [
        od.Session(frame, unit="person", policy=policy, budget=1).count(epsilon=1)
        for policy in (od.policy.sensitive("minor"), od.policy.sensitive("not minor"))
    ]
    with pytest.raises(errors.PolicyError, match="parameters differ"):
        acc.compose([one.guarantee for one in told])
    under = acc.compose_under(OSDP, [{S_S: Bound(1), S_O: Bound(2)}])
    assert under.made_for is OSDP
    with pytest.raises(errors.PolicyError, match="parameters differ"):
        acc.compose([under, told[0].guarantee])


def test_releases_under_different_policies_are_stated_for_what_both_protect():
    total = acc.compose_under(OSDP, [{S_S: Bound(1), S_O: Bound(2)}, {S_S: Bound("1/2", "1/100")}])
    assert total.epsilon == {S_S: Fraction(3, 2), S_O: INF}
    assert total.delta == {S_S: Fraction(1, 100), S_O: 1}
    with pytest.raises(errors.PolicyError, match="no edge"):
        acc.compose_under(OSDP, [{"record -> absent": Bound(1)}])


def test_composition_of_shipped_mechanisms_is_what_enumeration_finds():
    """A split histogram: what sensitive records add, and what open ones do, each with noise."""
    hidden, shown = Counts(1, 1), Counts(INF, "1/2")

    def both(data, noise):
        kinds = [record.kind for record in data]
        counts = [kinds.count("sensitive")], [kinds.count("open")]
        return tuple(
            int(m.noisy(c, noise=noise)[0]) for m, c in zip((hidden, shown), counts, strict=True)
        )

    total = acc.compose(
        [made({S_S: Fraction(0), S_O: Fraction(1)}), made({S_S: Fraction(0), S_O: Fraction(1, 2)})]
    )
    report = exact(both, OSDP, Universe(max_groups=0), tail=1e-9)
    found = {edge.name: finding.loss for edge, finding in report.findings.items()}
    assert found[S_O] == pytest.approx(float(total.epsilon[S_O]), abs=1e-4)


def histogram(data, noise):
    """Two releases, each about its own part: who is in a, and who is in b."""
    counts = [sum("a" in r.value for r in data), sum("b" in r.value for r in data)]
    return tuple(int(Counts(1, 1).noisy([c], noise=noise)[0]) for c in counts)


WORLD = Universe(units=1, max_groups=1)
ALONE = {"record -> absent": Bound(1), "absent -> record": Bound(1), "record -> record": Bound(1)}


def test_parts_compose_in_parallel_where_records_come_and_go():
    unbounded = od.policy.unbounded()
    part = {edge.name: ALONE[edge.name] for edge in unbounded.edges}
    promise = acc.parallel(unbounded, [part, part])
    assert promise.headline == 1
    assert exact(histogram, unbounded, WORLD).loss == pytest.approx(1, abs=1e-6)
    extended = od.policy.extended_sensitive("x")
    parts = [{edge.name: Bound(e) for edge in extended.edges} for e in (1, 1)]
    assert acc.parallel(extended, parts).headline == 1
    assert exact(histogram, extended, WORLD).loss == pytest.approx(1, abs=1e-6)


def test_a_replacement_touches_two_parts_so_the_largest_loss_is_not_enough():
    bounded = od.policy.bounded()
    found = exact(histogram, bounded, WORLD).loss
    assert found == pytest.approx(2, abs=1e-6)
    assert acc.parallel(bounded, [ALONE, ALONE]).headline == 2
    # What a part promises about replacement alone says nothing when a record changes parts.
    replace = {"record -> record": Bound(1)}
    assert acc.parallel(bounded, [replace, replace]).headline == INF
    assert acc.parallel(bounded, [replace]).headline == 1


def test_records_that_no_release_is_about_are_a_part_too():
    """A record from outside may be replaced by one inside; one part's own bound forgets that."""

    def size_of_one(data, noise):
        return sum("a" in record.value for record in data)

    def count_of_one(data, noise):
        return int(Counts(1, 1).noisy([size_of_one(data, noise)], noise=noise)[0])

    bounded, replace = od.policy.bounded(), {"record -> record": Bound(0)}
    # Within the part a replacement leaves its size alone; the size itself tells who is outside.
    assert acc.parallel(bounded, [replace]).headline == 0
    assert exact(size_of_one, bounded, WORLD).loss == math.inf
    outside = dict.fromkeys(ALONE, Bound(0))
    assert acc.parallel(bounded, [replace, outside]).headline == INF
    noisy = {**ALONE, "record -> record": Bound(0)}
    assert acc.parallel(bounded, [noisy, outside]).headline == 1
    assert exact(count_of_one, bounded, WORLD).loss == pytest.approx(1, abs=1e-6)


def test_parts_that_keep_bounded_privacy_each_may_tell_everything_together():
    def sizes(data, noise):
        return tuple(sum(g in r.value for r in data) for g in "ab")

    assert exact(sizes, od.policy.bounded(), WORLD).loss == math.inf


def test_parallel_takes_the_worst_delta_and_adds_both_for_a_replacement():
    part = {**ALONE, "record -> absent": Bound(2, "1/100"), "absent -> record": Bound(1, "1/50")}
    promise = acc.parallel(od.policy.bounded(), [part, part])
    assert promise.epsilon == {"record -> record": 3}
    assert promise.delta == {"record -> record": Fraction(3, 100)}
    with pytest.raises(errors.ParameterError):
        acc.parallel(od.policy.bounded(), [])


def test_query_of_one_group_is_what_the_parts_are():
    counts = exact(Counts(1, 1), od.policy.bounded(), WORLD, query=GroupCount(max_groups=1))
    assert counts.loss == pytest.approx(2, abs=1e-6)
