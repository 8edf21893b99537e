"""Freedom from exclusion attacks, and when a sample loses to noise: against enumeration."""

import math
from fractions import Fraction

import pytest

import onesided as od
from onesided import bounds, errors
from onesided.mechanism import Counts
from onesided.verify import paths

POLICY = od.policy.sensitive("private")


def distribution(program):
    table = {}
    for output, weight in paths(program, tail=1e-12):
        table[output] = table.get(output, 0.0) + weight
    return table


def worst(one, two):
    return max(math.log(w / two[o]) if o in two else math.inf for o, w in one.items() if w > 1e-9)


def suppress(records, threshold, noise):
    """Records are (what they ask for, value); those asking for less than τ are left out."""
    kept = [value for asked, value in records if asked >= threshold]
    return int(Counts(threshold, threshold).noisy([len(kept)], noise=noise)[0])


def test_phi_is_the_largest_loss_out_of_the_protected_kind():
    losses = {"sensitive -> sensitive": Fraction(1, 4), "sensitive -> open": Fraction(1)}
    assert bounds.exclusion_freedom(POLICY, losses) == 1
    assert bounds.exclusion_freedom(POLICY, {"sensitive -> open": Fraction(1)}) == od.INFINITE
    assert bounds.exclusion_freedom(POLICY, losses, protected=["open"]) == od.INFINITE
    with pytest.raises(errors.PolicyError, match="children"):
        bounds.exclusion_freedom(POLICY, losses, protected=["children"])
    with pytest.raises(errors.PolicyError):
        bounds.exclusion_freedom(POLICY, losses, protected=[])


def test_phi_is_met_by_enumeration_for_a_one_sided_mechanism():
    mechanism = Counts.for_policy(POLICY, epsilon=1, counted=["open"])
    tables = [
        distribution(lambda noise, c=count: int(mechanism.noisy([c], noise=noise)[0]))
        for count in (0, 1)
    ]
    assert worst(tables[0], tables[1]) == pytest.approx(1)


@pytest.mark.parametrize("threshold", [1, 3])
def test_suppress_is_free_of_exclusion_only_up_to_its_threshold(threshold):
    """However little ε the protected record asked for, its odds move by τ."""
    private, public = (Fraction(1, 100), "ward"), (od.INFINITE, "shop")
    tables = [
        distribution(lambda noise, r=record: suppress([r], threshold, noise))
        for record in (private, public)
    ]
    assert worst(tables[0], tables[1]) == pytest.approx(threshold)
    assert bounds.suppress_freedom(threshold) == threshold
    assert bounds.suppress_freedom(od.INFINITE) == od.INFINITE


def test_suppress_needs_a_computation_that_hides_how_many_there_are():
    """Under replacement, publishing the number of records loses nothing; here it tells all."""
    told = [
        sum(asked >= 1 for asked, _ in data)
        for data in ([(Fraction(1, 9), "x")], [(Fraction(9), "y")])
    ]
    assert told == [0, 1]


def test_a_protected_record_that_asks_for_more_than_tau_is_not_suppressed():
    """Then replacing it costs adding and removing: twice τ for a histogram of two bins."""
    rate = 1
    tables = [
        distribution(lambda n, c=counts: tuple(Counts(rate, rate).noisy(list(c), noise=n).tolist()))
        for counts in ((1, 0), (0, 1))
    ]
    assert worst(tables[0], tables[1]) == pytest.approx(2 * rate)


@pytest.mark.parametrize("bad", [math.nan, -1, math.inf, "x"])
def test_bad_thresholds_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        bounds.suppress_freedom(bad)
