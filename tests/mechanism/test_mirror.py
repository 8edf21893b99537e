"""At least, certified: the mirror of at most, under the same draws and by its law."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import errors, verify
from onesided.mechanism import AdaptiveSparseVector, Compounds, CubeThresholds, SparseVector
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import GroupCount, Shift

COUNTS = st.lists(st.integers(0, 50), min_size=1, max_size=20)
MOST = 50
PURSES = st.integers(1, 5)
OPEN = GroupCount(counted=frozenset({"open"}), max_groups=3)


def both(counts, threshold, seed, kind, **more):
    """Both answers under the same draws: of the counts, and of what they lack of 50."""
    upper = kind(threshold, upper_rate="1/2", **more)
    lower = kind(MOST - threshold, lower_rate="1/2", **more)
    turned = MOST - np.array(counts)
    first = upper.release(counts, noise=NotPrivateSeededNoise(seed))
    return first, lower.release(turned, noise=NotPrivateSeededNoise(seed))


@given(COUNTS, st.integers(0, 50), st.one_of(st.none(), PURSES), st.integers(0, 2**32))
def test_it_is_the_same_answer_with_signs_turned(counts, threshold, limit, seed):
    above, below = both(counts, threshold, seed, SparseVector, max_answers=limit)
    assert above.certified.tolist() == below.certified.tolist()
    assert above.answered.tolist() == below.answered.tolist()
    assert (MOST - above.values[above.answered]).tolist() == below.values[below.answered].tolist()


@given(COUNTS, st.integers(0, 50), PURSES, st.integers(0, 9), st.integers(0, 2**32))
def test_and_so_is_the_adaptive_one(counts, threshold, purse, margin, seed):
    more = {"max_answers": purse, "margin": margin}
    above, below = both(counts, threshold, seed, AdaptiveSparseVector, **more)
    for name in ("certified", "answered", "coarse"):
        assert getattr(above, name).tolist() == getattr(below, name).tolist()
    assert (MOST - above.values[above.answered]).tolist() == below.values[below.answered].tolist()


@given(COUNTS, st.integers(0, 50), st.integers(0, 2**32))
def test_and_so_is_noise_drawn_at_once(counts, threshold, seed):
    upper = CubeThresholds(threshold, noise_rate="1/2")
    lower = CubeThresholds(MOST - threshold, noise_rate="1/2", below=True)
    above = upper.release(counts, noise=NotPrivateSeededNoise(seed))
    below = lower.release(MOST - np.array(counts), noise=NotPrivateSeededNoise(seed))
    assert above.certified.tolist() == below.certified.tolist()
    assert upper.loss(Shift(rise=0, fall=3)) == lower.loss(Shift(rise=3, fall=0)) == Fraction(1, 2)
    assert lower.loss(Shift(rise=0, fall=1)) == od.INFINITE


@given(COUNTS, st.integers(1, 50), st.one_of(st.none(), PURSES), st.integers(0, 2**32))
def test_certificates_are_never_wrong_and_values_never_above(counts, threshold, limit, seed):
    vector = SparseVector(threshold, lower_rate="1/2", max_answers=limit)
    truth = np.array(counts)
    found = vector.release(truth, noise=NotPrivateSeededNoise(seed))
    assert (truth[found.certified] >= threshold).all()
    assert (found.values[found.answered] < threshold).all()
    assert (found.values[found.answered] <= truth[found.answered]).all()


def test_the_share_certified_is_the_best_possible():
    # 100,000 queries per count; six deviations: false alarm 2e-9 each, and a rate 10 % off fails.
    vector = SparseVector(5, lower_rate="1/2")
    for count in range(11):
        found = vector.release(np.full(100_000, count), noise=NotPrivateSeededNoise(count))
        share = found.certified.mean()

        def fits(rate, share=share, count=count):
            p = -math.expm1(-rate * (count - 4))
            return abs(share - p) <= 6 * math.sqrt(p * (1 - p) / 100_000) + 1e-9

        if count < 5:
            assert share == 0
        else:
            assert fits(0.5)
            assert not fits(0.55)


@given(st.integers(0, 30), st.one_of(st.none(), PURSES), st.integers(1, 4))
def test_each_answer_that_is_not_certified_costs(rise, limit, per_key):
    vector = SparseVector(5, lower_rate="1/3", max_answers=limit, per_key=per_key)
    paid = rise if limit is None else min(rise, limit * per_key)
    assert vector.loss(Shift(rise=rise, fall=0)) == Fraction(paid, 3)
    assert vector.loss(Shift(rise=rise, fall=1)) == od.INFINITE


def test_three_that_are_not_certified_cost_three_times_and_certified_ones_nothing():
    vector = SparseVector(1, lower_rate=2)

    def chances(counts, answer):
        return sum(
            weight
            for found, weight in verify.paths(
                lambda noise: tuple(vector.release(counts, noise=noise).certified.tolist()),
                tail=1e-9,
            )
            if found == answer
        )

    none = (False,) * 3
    assert chances([0, 0, 0], none) / chances([1, 1, 1], none) == pytest.approx(
        math.exp(6), rel=1e-4
    )
    every = (True,) * 3
    assert chances([1, 1, 1], every) < chances([2, 2, 2], every)


def test_rates_follow_from_the_policy():
    private = od.policy.sensitive("minor")

    def rate(c):
        asked = {"thresholds": 5, "epsilon": 1, "max_answers": c, "below": True}
        return SparseVector.for_policy(private, query=OPEN, **asked).lower_rate

    third = Fraction(1, 3)
    assert [rate(c) for c in (1, 2, 50, None)] == [1, Fraction(1, 2), third, third]
    one = Compounds([[0, 1, 2]])
    whole = SparseVector.for_policy(
        private, query=OPEN, thresholds=5, epsilon=1, below=True, compounds=one
    )
    assert whole.lower_rate == 1


@pytest.mark.parametrize("name", ["presence", "bounded"])
def test_falling_counts_are_refused(name):
    policy = od.policy.bounded() if name == "bounded" else od.policy.presence(max_groups=2)
    with pytest.raises(
        errors.UnprotectableError, match="a certified 'at least' with noise below"
    ) as caught:
        SparseVector.for_policy(policy, thresholds=5, epsilon=1, below=True)
    assert "counted='open'" in caught.value.hint


@pytest.mark.parametrize("rates", [{}, {"upper_rate": 1, "lower_rate": 1}, {"upper_rate": None}])
@pytest.mark.parametrize("kind", [SparseVector, AdaptiveSparseVector])
def test_exactly_one_side_has_noise(kind, rates):
    more = {"max_answers": 1} if kind is AdaptiveSparseVector else {}
    with pytest.raises(errors.ParameterError, match="either upper_rate or lower_rate"):
        kind(5, **rates, **more)


@pytest.mark.parametrize("bad", [1, "yes", None, math.nan])
def test_the_side_is_true_or_false(bad):
    with pytest.raises(errors.ParameterError, match="below"):
        SparseVector.for_policy(od.policy.bounded(), thresholds=5, epsilon=1, below=bad)
    with pytest.raises(errors.ParameterError, match="below"):
        CubeThresholds(5, noise_rate=1, below=bad)


@pytest.mark.parametrize("bad", [0, -1, "0", math.nan, math.inf, "x", True])
def test_bad_rates_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        SparseVector(5, lower_rate=bad)


def test_a_stream_stops_after_its_answers():
    stream = SparseVector(3, lower_rate=od.INFINITE, max_answers=1).stream()
    assert stream.ask(3) == (True, None)
    assert stream.ask(2, threshold=2).certified
    assert stream.ask(2) == (False, 2)
    with pytest.raises(errors.ParameterError, match="1 answer below"):
        stream.ask(9)
