"""Every promise of the monitor by enumeration, and every broken variant caught."""

import math
from dataclasses import replace

import polars as pl
import pytest

from onesided import Ledger, Monitor, Session
from onesided import policy as policies
from onesided.errors import PolicyMismatchError
from onesided.ledger import Unit
from onesided.monitor import rules_for
from onesided.verify import Universe, exact, paths
from onesided_proofs.cases.monitor import Stream, _cells, _rules


@pytest.mark.parametrize("length", [2, 3, 4])
def test_certified_answers_are_free_however_often_a_record_is_in_them(length):
    """A window as long as the stream: one visit is in every answer, and still loses ε once."""
    stream = Stream(rules=_rules("a", window=9), times=tuple(range(1, length + 1)))
    report = exact(
        stream, policies.presence(max_groups=1), Universe(groups=("a@1",), units=1), tail=1e-11
    )
    assert report.loss == pytest.approx(2.0, abs=1e-6)
    assert report.delta(2) < 1e-6


def test_only_the_direction_of_the_policy_is_free():
    """The way back (having been nowhere passing as a visit) loses without bound: not protected."""
    stream = Stream(rules=_rules("a", window=9), times=(1, 2, 3))
    back = policies.removal_only()
    universe = Universe(groups=("a@1",), units=1)
    report = exact(stream, back, universe, tail=1e-9)
    assert report.worst[1].impossible


def test_the_resting_schedule_follows_from_what_was_published_alone():
    """Equal answers so far, equal rests now: on every data set, over every noise."""
    rules = _rules("ab", window=2, covered=2, epsilon=4)
    stream = Stream(rules=rules, times=(1, 2, 3))
    policy = policies.presence(max_groups=2)
    rests = {}
    for record in policy.records(("a@1", "b@1", "a@2"), max_groups=3):
        for output, _ in paths(lambda noise, data=(record,): stream(data, noise), tail=1e-8):
            for step in range(len(output)):
                before, (certified, positions, _) = output[:step], output[step]
                asked = tuple(c or i in positions for i, c in enumerate(certified))
                assert rests.setdefault(before, asked) == asked
    assert len(rests) > 100


def test_a_person_who_comes_back_is_charged_again_every_window():
    """Per person for ever: unbounded. Three windows, three charges."""
    stream = Stream(rules=_rules("a", window=1), times=(1, 2, 3))
    policy = policies.presence(max_groups=3)
    universe = Universe(groups=_cells("a", 1, 2, 3), units=1)
    report = exact(stream, policy, universe, tail=1e-12)
    assert report.loss == pytest.approx(6.0, abs=1e-3)


def test_two_people_in_the_data_change_nothing():
    stream = Stream(rules=_rules("a", window=2), times=(1, 2, 3))
    universe = Universe(groups=_cells("a", 1, 2), units=2)
    report = exact(stream, policies.presence(max_groups=1), universe, tail=1e-11)
    assert report.loss == pytest.approx(2.0, abs=1e-6)


def test_a_place_is_certified_as_often_as_the_bound_allows():
    """Pr[certified] = 1 - e^(-a (t + 1 - f)), summed over all paths."""
    stream = Stream(rules=_rules("a", window=2), times=(1,))
    (empty, *_) = policies.presence(max_groups=1).records(("a@1",), max_groups=1)
    certified = sum(
        weight
        for output, weight in paths(lambda noise: stream((empty,), noise), tail=1e-13)
        if output[0][0][0]
    )
    assert certified == pytest.approx(1 - math.exp(-2), abs=1e-9)


def test_a_crash_does_not_change_what_is_published():
    whole = Stream(rules=_rules("a", window=2), times=(1, 2))
    (_, person) = policies.presence(max_groups=1).records(("a@1",), max_groups=1)

    def law(stream):
        found = {}
        for output, weight in paths(lambda noise: stream((person,), noise), tail=1e-10):
            found[output] = found.get(output, 0) + weight
        return found

    plain, crashed = law(whole), law(replace(whole, crash=1))
    # A path that dies before the commit draws once more, so it is cut a little earlier.
    for output, weight in plain.items():
        if weight > 1e-6:
            assert crashed[output] == pytest.approx(weight, rel=1e-3)


def _at_once(policy, **changed):
    """Two places at one designated time, ε = 2."""
    made = rules_for(
        ["a", "b"],
        place="place",
        at_most=0,
        window=None,
        epsilon=2,
        policy=policy,
        charges=1,
        max_answers=None,
    )
    return Stream(rules=replace(made, **changed), times=(1,))


def test_a_move_of_two_policies_takes_as_many_visits_as_presence_takes():
    """Whole records of the other policy have any number of visits; noise for one loses twice ε."""
    policy = policies.presence(max_groups=2) & policies.bounded()
    world = Universe(groups=("a@1", "b@1"), units=1)
    report = exact(_at_once(policy), policy, world, tail=1e-9)
    assert report.keeps(2)
    assert report.loss == pytest.approx(2.0, abs=1e-5)
    broken = exact(_at_once(policy, rate=2, fall=1), policy, world, tail=1e-9)
    assert broken.loss == pytest.approx(4.0, abs=1e-5)


def test_where_a_record_is_a_visit_the_ledger_is_told_of_rows_and_not_of_persons():
    """Somebody at two places loses twice ε, so a ledger about persons takes no such charge."""
    policy = policies.addition_only()
    asked = {"at_most": 0, "window": None, "epsilon": 2, "policy": policy, "budget": 9}
    somebody = exact(
        _at_once(policy),
        policies.presence(max_groups=2),
        Universe(groups=("a@1", "b@1"), units=1),
        tail=1e-9,
    )
    assert somebody.loss == pytest.approx(4.0, abs=1e-5)
    visits = pl.DataFrame({"person": [1, 1], "place": ["a", "b"]})
    with Ledger.open() as persons, Ledger.open() as rows:
        Session(visits, unit="person", policy=policy, budget=9, ledger=persons).count(epsilon=1)
        with pytest.raises(PolicyMismatchError, match="each row"):
            Monitor(["a", "b"], ledger=persons, **asked)
        Session(visits, policy=policy, budget=9, ledger=rows).count(epsilon=1)
        Monitor(["a", "b"], ledger=rows, **asked).close()
        assert [one.units for one in rows.balances()] == [{Unit(None)}]
        assert rows.balances()[0].spent["record -> absent"] == 3
