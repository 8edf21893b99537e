import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import errors, verify
from onesided.mechanism import Counts
from onesided.mechanism.law import Staircase
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

rates = st.fractions(Fraction(1, 20), 8, max_denominator=20)


def chances(rate, largest, first, turns):
    """The law, from its definition: level stairs, each e^-rate of the one before."""
    law = [1.0] * first
    for turn in range(1, turns):
        law += [math.exp(-rate * turn)] * largest
    return np.array(law) / (first + largest * math.exp(-rate) / -math.expm1(-rate))


@given(rates, st.integers(1, 12), st.integers(1, 12))
@settings(max_examples=60)
def test_mean_variance_and_every_ratio(rate, largest, first):
    first = min(first, largest)
    stairs = Staircase(rate, largest=largest, first=first)
    law = chances(float(rate), largest, first, turns=int(60 / rate) + 2)
    places = np.arange(law.size)
    mean = (law * places).sum()
    assert law.sum() == pytest.approx(1)
    assert stairs.mean() == pytest.approx(mean, rel=1e-9)
    assert stairs.variance() == pytest.approx((law * (places - mean) ** 2).sum(), rel=1e-9)
    for step in range(1, largest + 1):
        assert (law[:-step] / law[step:]).max() <= math.exp(rate) * (1 + 1e-9)


def test_draws_follow_the_law_and_a_rate_ten_percent_off_is_rejected():
    pytest.importorskip("scipy")
    # False alarm 1e-6.
    stairs = Staircase(1, largest=5, first=3)
    noisy = stairs.release(np.zeros(60_000, dtype=int), noise=NotPrivateSeededNoise(2))

    def law(rate):
        sums = np.cumsum(chances(rate, 5, 3, turns=60))
        return lambda k: 0.0 if k < 0 else float(sums[min(k, sums.size - 1)])

    assert verify.agrees(noisy, law(1.0)).accepted
    assert verify.power(law(1.0), law(1.1), 60_000) > 0.9999
    assert not verify.agrees(noisy, law(1.1)).accepted


@pytest.mark.parametrize(("largest", "rate"), [(2, 2), (3, 1), (3, 4), (5, 2)])
def test_no_noise_has_a_smaller_variance_nor_absolute_error(largest, rate):
    """Linear programmes over all noise on the whole numbers that is private for such sums."""
    best_variance = min(
        programme(rate, largest, lambda k, c=c: (k - c) ** 2)
        for c in np.linspace(0, 2.5 * largest, 101)
    )
    own = Staircase(rate, largest=largest).variance()
    # The centre is one of a grid, so the programme's variance is above the best by its step.
    assert best_variance <= own + (2.5 * largest / 200) ** 2
    assert best_variance >= own - 1e-6
    law = {
        first: chances(rate, largest, first, turns=60 // rate) for first in range(1, largest + 1)
    }
    absolute = min(
        (one * abs(np.arange(one.size) - c)).sum()
        for one in law.values()
        for c in range(2 * largest)
    )
    best = min(programme(rate, largest, lambda k, c=c: abs(k - c)) for c in range(2 * largest))
    assert absolute == pytest.approx(best, abs=1e-6)


def programme(rate, largest, cost):
    """The least expected cost of noise t with ``t[k] <= e^rate t[k + s]`` for s to ``largest``.

    Free from -largest to 4 largest, where the last turn repeats for ever, e^rate times less each.
    """
    linprog = pytest.importorskip("scipy.optimize").linprog
    size, q = 5 * largest, math.exp(-rate)
    turns = np.arange(60 // rate + 1)

    def row(k):
        """t[k] in terms of the free ones."""
        found = np.zeros(size)
        beyond = max(0, -(-(k - size + 1) // largest))
        found[k - beyond * largest] = q**beyond
        return found

    weights, costs = np.zeros(size), np.zeros(size)
    for k in range(size):
        tail = turns if k >= size - largest else turns[:1]
        weights[k] = (q**tail).sum()
        costs[k] = sum(q**j * cost(k - largest + j * largest) for j in tail)
    limits = [
        row(k) - math.exp(rate) * row(k + s) for k in range(size) for s in range(1, largest + 1)
    ]
    return linprog(
        costs, A_ub=limits, b_ub=np.zeros(len(limits)), A_eq=[weights], b_eq=[1], bounds=(0, None)
    ).fun


@given(rates, st.integers(1, 50))
@settings(max_examples=40)
def test_never_worse_than_the_geometric_at_the_same_loss(rate, largest):
    stairs = Staircase(rate, largest=largest)
    geometric = Counts(rate / largest, od.INFINITE)
    assert stairs.loss(Shift(rise=0, fall=largest)) == rate
    assert geometric.loss(Shift(rise=0, fall=largest)) == rate
    assert stairs.variance() <= geometric.distribution.variance() * (1 + 1e-9)


def test_losses_count_sums_and_stairs():
    stairs = Staircase(2, largest=10)
    falls = {1: 2, 10: 2, 11: 4, 20: 4, 21: 6}
    assert {fall: stairs.loss(Shift(rise=0, fall=fall)) for fall in falls} == falls
    assert stairs.loss(Shift(rise=1, fall=0)) == od.INFINITE
    assert stairs.loss(Shift(rise=0, fall=0)) == 0
    three = Staircase(2, largest=10, max_groups=3)
    # Of 31, split as 1, 1 and 29, the last takes three stairs.
    assert [three.loss(Shift(rise=0, fall=f)) for f in (2, 3, 30, 31)] == [4, 6, 6, 10]


def test_rates_follow_from_the_policy():
    added = Staircase.for_policy(od.policy.addition_only(), epsilon=3, largest=7, max_groups=2)
    assert (added.noise_rate, added.max_groups) == (Fraction(3, 2), 2)
    assert added.loss(Shift(rise=0, fall=14)) == 3
    with pytest.raises(errors.UnprotectableError):
        Staircase.for_policy(od.policy.unbounded(), epsilon=1, largest=2)
    nothing = Staircase.for_policy(
        od.policy.custom(kinds=["a", "b"], edges=[("a", "a")]), epsilon=1, largest=3, counted=["b"]
    )
    assert nothing.release([4, 0]).tolist() == [4, 0]
    assert (nothing.mean(), nothing.variance()) == (0, 0)


@given(st.lists(st.integers(0, 2**61), max_size=20), st.integers(1, 2**40), st.integers(0, 99))
@settings(max_examples=40)
def test_answers_are_never_below_the_truth(sums, largest, seed):
    truth = np.array(sums, dtype=np.int64)
    noise = NotPrivateSeededNoise(seed)
    assert (Staircase(1, largest=largest).release(truth, noise=noise) >= truth).all()


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "1.5", None, True, 2**41])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        Staircase(1, largest=bad)
    with pytest.raises(errors.ParameterError):
        Staircase(1, largest=3, first=0 if bad is None else bad)
    with pytest.raises(errors.ParameterError):
        Staircase(1, largest=3, first=4)
    with pytest.raises(errors.ParameterError, match="per step"):
        Staircase(Fraction(1, 2**20), largest=2**21)
    if bad != "1.5":
        with pytest.raises(errors.ParameterError):
            Staircase(bad, largest=3)


class NoDraw:
    def __getattr__(self, name):
        pytest.fail(f"{name} was drawn")


@pytest.mark.parametrize("bad", [[-1], [1.0], [math.nan], [[1]], ["a"]])
def test_bad_sums_are_refused_before_anything_is_drawn(bad):
    with pytest.raises(errors.DataError):
        Staircase(1, largest=3).release(bad, noise=NoDraw())
