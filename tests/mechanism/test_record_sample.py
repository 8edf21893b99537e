import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import errors
from onesided.mechanism import RecordSample
from onesided.mechanism._sampling import MOST_RECORDS, open_kinds, samples_for
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

TIERS = od.policy.tiers({"minor": (1, "minor"), "ill": (2, "ill"), "rest": od.INFINITE})


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(0, 2**32))
def test_a_sample_keeps_no_more_than_there_is(counts, seed):
    kept = RecordSample("1/2").release(
        np.array(counts, dtype=np.int64), noise=NotPrivateSeededNoise(seed)
    )
    assert kept.shape == (len(counts),)
    assert (kept >= 0).all()
    assert (kept <= counts).all()


@given(st.lists(st.integers(0, 50), max_size=30))
def test_an_infinite_rate_keeps_everything(counts):
    assert RecordSample(od.INFINITE).release(np.array(counts, dtype=np.int64)).tolist() == counts


def test_each_record_is_kept_with_the_right_chance_and_a_wrong_rate_is_seen():
    # 400,000 coins, six deviations: false alarm 2e-9. A rate wrong by 10% is 40 deviations off.
    many = 400_000
    kept = int(RecordSample(1).choose(many, noise=NotPrivateSeededNoise(5)).sum())

    def fits(rate):
        keep = -math.expm1(-rate)
        return abs(kept - many * keep) <= 6 * math.sqrt(many * keep * (1 - keep))

    assert fits(1)
    assert not fits(1.1)
    assert not fits(0.9)


def test_the_histogram_of_a_sample_is_binomial_and_bins_do_not_share_coins():
    # 20,000 runs of Binomial(3, 1 - 1/e); six deviations per cell: false alarm under 1e-7.
    keep, runs = -math.expm1(-1), 20_000
    kept = RecordSample(1).release([3] * runs, noise=NotPrivateSeededNoise(6))
    for value in range(4):
        chance = math.comb(3, value) * keep**value * (1 - keep) ** (3 - value)
        found = int((kept == value).sum())
        assert abs(found - runs * chance) <= 6 * math.sqrt(runs * chance * (1 - chance))
    assert abs(np.corrcoef(kept[:-1], kept[1:])[0, 1]) < 6 / math.sqrt(runs)


@given(st.integers(0, 9), st.integers(0, 3))
def test_loss_is_for_records_that_come_and_infinite_for_those_that_go(rise, fall):
    expected = Fraction(rise, 3) if fall == 0 else od.INFINITE
    assert RecordSample("1/3").loss(Shift(rise=rise, fall=fall)) == expected


def test_the_rate_is_the_least_of_the_edges_into_the_kind():
    def rates(policy):
        return {kind: sample.rate for kind, sample in samples_for(policy, epsilon=2).items()}

    assert rates(od.policy.sensitive("x")) == {"open": 2}
    assert rates(od.policy.extended_sensitive("x")) == {"open": 2}
    assert rates(od.policy.removal_only()) == {"record": 2}
    assert rates(TIERS) == {"rest": 2}
    several = od.policy.custom(
        kinds=("vip", "staff", "guest", "bot"),
        edges=[("vip", "staff", 3), ("vip", "guest", "1/2"), ("vip", "vip", 1)],
    )
    assert rates(several) == {"staff": 6, "guest": 1, "bot": od.INFINITE}
    together = RecordSample.for_policy(several, epsilon=2)
    assert together.rate == 1


@pytest.mark.parametrize(
    "policy",
    [
        od.policy.bounded(),
        od.policy.unbounded(),
        od.policy.addition_only(),
        od.policy.proposition("p"),
        od.policy.tiers({"a": (1, "x"), "b": 2}),
        od.policy.presence(max_groups=2),
        od.policy.graph([("a", "b")]),
        od.policy.neighbourhood(radius=1, places={"a": (0,), "b": (1,)}),
        od.policy.attributes({"ill": ["a"]}),
        od.policy.presence(max_groups=1) & od.policy.bounded(),
    ],
    ids=lambda policy: policy.name,
)
def test_policies_that_protect_every_record_are_refused(policy):
    assert open_kinds(policy) == ()
    with pytest.raises(errors.UnprotectableError, match="none can be published") as caught:
        samples_for(policy, epsilon=1)
    assert "counts" in caught.value.hint
    with pytest.raises(errors.UnprotectableError):
        RecordSample.for_policy(policy, epsilon=1)


def test_a_kind_that_a_move_starts_from_is_refused_by_name():
    with pytest.raises(errors.UnprotectableError, match="'sensitive'"):
        RecordSample.for_policy(od.policy.sensitive("x"), epsilon=1, counted=["sensitive"])
    with pytest.raises(errors.PolicyError, match="no kind 'other'"):
        RecordSample.for_policy(od.policy.sensitive("x"), epsilon=1, counted=["other"])


def test_the_chance_is_exact_in_text_and_close_as_a_float():
    assert RecordSample("1/2").keep_text == "1 - exp(-1/2)"
    assert RecordSample("1/2").keep == pytest.approx(1 - math.exp(-0.5), rel=1e-15)
    assert RecordSample(od.INFINITE).keep_text == "1"
    assert RecordSample(od.INFINITE).keep == 1


@pytest.mark.parametrize("rate", [0, -1, math.nan, math.inf, True, "x", 2**11, "1e-20", None])
def test_rates_that_cannot_be_meant(rate):
    with pytest.raises(errors.ParameterError):
        RecordSample(rate)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, True, "x", "1e-20"])
def test_epsilons_that_cannot_be_meant(epsilon):
    with pytest.raises(errors.ParameterError):
        samples_for(od.policy.sensitive("x"), epsilon=epsilon)


@pytest.mark.parametrize("counts", [[-1], [[1]], [0.5], [2**62, 2**62], [MOST_RECORDS, 1]])
def test_counts_that_cannot_be_sampled(counts):
    with pytest.raises(errors.DataError):
        RecordSample(1).release(counts)


def test_an_empty_histogram_is_empty():
    assert RecordSample(1).release([]).tolist() == []
    assert RecordSample(1).release([0, 0]).tolist() == [0, 0]


def test_an_edge_weight_of_zero_is_no_policy():
    with pytest.raises(errors.ParameterError, match="above 0"):
        od.policy.custom(kinds=("a", "b"), edges=[("a", "b", 0)])
