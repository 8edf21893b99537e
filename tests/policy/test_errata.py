"""Errors in the publications' definitions, each with its smallest counterexample."""

import math
from fractions import Fraction
from itertools import product

import pytest

from onesided import INFINITE
from onesided import policy as p
from onesided.mechanism import Counts
from onesided.policy import GroupCount, Record
from onesided.verify import Universe, exact


class Placed(Universe):
    """A universe whose records' kinds follow from their values."""

    kind_of = staticmethod(lambda _: "open")

    def records(self, policy):
        return tuple(r for r in super().records(policy) if r.kind == self.kind_of(r.value))


def test_erratum_1_the_printed_relation_protects_nothing_that_is_protected():
    """ADP-2022, Definition IV.1: with "= False" only open -> protected moves would be hidden.

    One record. A mechanism that tells for certain that it is protected keeps the printed
    definition, and Proposition IV.4 (protected facts keep their odds) fails.
    """

    def tell(data, noise):
        told = data[0].kind == "protected" and not noise.bernoulli_exp(1, 1)[0]
        return "protected!" if told else "?"

    class Values(Placed):
        kind_of = staticmethod(lambda value: "protected" if value else "open")

    world = Values(groups=("a",), units=1)
    printed = p.custom(kinds=["protected", "open"], edges=[("open", "protected")])
    assert exact(tell, printed, world).keeps(1)
    report = exact(tell, p.proposition("p"), world)
    assert report.loss > 25 or math.isinf(report.loss)
    edge = next(e for e in p.proposition("p").edges if e.name == "protected -> open")
    assert report.findings[edge].impossible


class Visitors(Placed):
    """Open is who was not in both places: p = "not in a, or not in b"."""

    kind_of = staticmethod(lambda value: "protected" if value == {"a", "b"} else "open")


def test_erratum_2_a_disjunction_is_not_monotone_and_one_sided_noise_fails():
    """ADP-2022, section VI-A3: (1,0) may pass as (0,1), and the second count rises."""
    policy, world = p.proposition("not a or not b"), Visitors(units=1)
    here, there = (Record("open", frozenset(place)) for place in "ab")
    assert policy.edge_between(here, there) is not None
    upward = Counts(upper_rate=Fraction(1, 2), lower_rate=INFINITE)
    report = exact(upward, policy, world, query=GroupCount(max_groups=2))
    assert not report.keeps(20)
    edge = next(e for e in policy.edges if e.name == "open -> open")
    assert report.findings[edge].impossible
    # The policy that was meant, presence, is kept by the very same noise.
    presence = p.presence(max_groups=2)
    assert exact(upward, presence, Universe(units=1), query=GroupCount()).keeps(1)


def relation(values, holds):
    return {(x, y) for x, y in product(values, repeat=2) if x not in holds or y in holds}


@pytest.mark.parametrize("size", [2, 3, 4])
def test_erratum_3_two_propositions_together_are_no_proposition(size):
    """ADP-2022, section VIII-C: with two values, each open under one policy, none may pass as any.

    Under a single proposition, of any two values at least one may pass as the other.
    """
    values = tuple(range(size))
    joint = relation(values, {0}) & relation(values, {1})
    single = [
        relation(values, {v for v, bit in zip(values, bits, strict=True) if bit})
        for bits in product((False, True), repeat=size)
    ]
    assert (0, 1) not in joint
    assert (1, 0) not in joint
    assert joint not in single
    assert all((0, 1) in each or (1, 0) in each for each in single)


def test_erratum_3_the_intersection_of_the_places_is_presence():
    """Per place "not there" is open; together this is exactly: visits may only be dropped."""
    joint = p.proposition("not a") & p.proposition("not b")
    presence = p.presence(max_groups=2)
    places = ["a" if "not a" in part.rules[0].predicate.text else "b" for part in joint.parts]
    names = {kinds: name for name, kinds in joint.combinations.items()}
    pairs = []
    for unit in presence.records(("a", "b"), max_groups=2):
        kinds = tuple("protected" if place in unit.value else "open" for place in places)
        pairs.append((Record(names[kinds], unit.value), unit))
    assert joint.relaxes(presence, records=pairs)
    assert presence.relaxes(joint, records=[(two, one) for one, two in pairs])


def test_erratum_4_the_path_starts_where_the_answer_is_false():
    """ADP-2021, Definition 14 and ADP-2022, Proposition IV.7 count it the other way round.

    "At most 0 people": with one visitor the answer is False, and its data must be able to pass as
    the empty place, where it is True. The other way there is no path, and the bound would be void.
    """
    policy = p.presence(max_groups=1)
    records = policy.records(("a",), max_groups=1)
    there, away = Record("unit", frozenset("a")), Record("unit")
    assert p.data_distance(policy, [there], [away], records=records) == 1
    assert p.data_distance(policy, [away], [there], records=records) == INFINITE
    assert p.path(policy, away, there, records=records) is None
