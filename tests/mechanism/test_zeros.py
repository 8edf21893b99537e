import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import errors
from onesided.mechanism.histograms import (
    AGrid,
    Ahp,
    Dawa,
    Hierarchical,
    Partition,
    TwoPhase,
    Zeroed,
    zeros,
)
from onesided.mechanism.histograms._two_phase import spread_over
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

SENSITIVE = od.policy.sensitive("minor")
SILENT = Dawa(od.INFINITE, upper_rate=od.INFINITE, lower_rate=od.INFINITE)


def by_the_printed_factor(partition, totals, kept):
    """OSDP Algorithm 3 as printed: zeros first, then ``|B| / |Z and B|`` on the rest."""
    cells = np.where(kept, (totals / partition.sizes)[partition.labels], 0.0)
    gone = np.bincount(partition.labels[~kept], minlength=partition.buckets)
    with np.errstate(divide="ignore", invalid="ignore"):
        return cells * (partition.sizes / gone)[partition.labels]


def test_the_printed_factor_loses_a_buckets_total():
    # Three cells of four are left; their total 12 must stay 12. The print makes it 36.
    partition, totals = Partition([0, 0, 0, 0]), np.array([12])
    kept = np.array([True, True, True, False])
    ours = spread_over(partition, totals, kept, clip=False)
    assert ours.tolist() == [4, 4, 4, 0]
    assert by_the_printed_factor(partition, totals, kept).tolist() == [12, 12, 12, 0]
    # And a bucket without a zero would be divided by 0.
    whole = np.ones(4, dtype=bool)
    assert not np.isfinite(by_the_printed_factor(partition, totals, whole)).any()
    assert spread_over(partition, totals, whole, clip=False).tolist() == [3, 3, 3, 3]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30), st.data())
def test_a_bucket_keeps_its_total_unless_no_cell_is_left(cells, data):
    raw = np.array([label for label, _ in cells])
    partition = Partition(np.unique(raw, return_inverse=True)[1])
    kept = np.array([k for _, k in cells])
    totals = np.array(
        data.draw(
            st.lists(
                st.integers(-50, 10**6), min_size=partition.buckets, max_size=partition.buckets
            )
        )
    )
    found = spread_over(partition, totals, kept, clip=False)
    assert (found[~kept] == 0).all()
    for bucket, total in enumerate(totals.tolist()):
        inside = partition.labels == bucket
        expected = total if (inside & kept).any() else 0
        assert found[inside].sum() == pytest.approx(expected, abs=1e-6)
    assert (spread_over(partition, totals, kept, clip=True) >= 0).all()


def test_an_empty_bucket_keeps_zeros():
    found = Zeroed(SILENT, open_rate=od.INFINITE).release([5, 5, 9, 9], [0, 0, 9, 9])
    assert found.tolist() == [0, 0, 9, 9]


@pytest.mark.parametrize("algorithm", [Dawa, Ahp])
def test_cells_are_estimated_as_if_zeros_were_not_there(algorithm):
    opened, counts = np.array([9, 0, 0, 9, 9, 0]), np.array([9, 70, 80, 9, 11, 90])
    mechanism = zeros(algorithm).for_policy(SENSITIVE, epsilon=1)
    sure = Zeroed(mechanism.algorithm, open_rate=od.INFINITE)
    found = sure.release(counts, opened, noise=NotPrivateSeededNoise(3))
    noise = NotPrivateSeededNoise(3)
    assert not sure.empty(opened, noise=noise).all()  # the same draws as release's own
    alone = mechanism.algorithm.release(counts[[0, 3, 4]], noise=noise)
    assert found[[0, 3, 4]].tolist() == alone.tolist()
    assert found[[1, 2, 5]].tolist() == [0, 0, 0]


def test_cells_of_a_table_go_along_the_curve_and_back():
    counts = np.arange(1, 17).reshape(4, 4)
    opened = counts * (counts % 3 > 0)
    found = Zeroed(SILENT, open_rate=od.INFINITE).release(counts, opened)
    assert found.tolist() == opened.tolist()


class OneBucket(TwoPhase):
    """All cells in one bucket, exactly."""

    clip = False

    def learn(self, counts, *, noise):  # noqa: ARG002 - as its kind
        return Partition(np.zeros(counts.shape, dtype=int))

    def learn_loss(self, shift):  # noqa: ARG002 - as its kind
        return Fraction(0)

    def measure(self, counts, partition, *, noise):  # noqa: ARG002 - as its kind
        return partition.totals(counts)

    def measure_loss(self, shift):  # noqa: ARG002 - as its kind
        return od.INFINITE


class OneBucketOfCells(OneBucket):
    by_cells = True


def test_ranges_and_rectangles_keep_a_buckets_total():
    ranges = Dawa(1, upper_rate=1, lower_rate=1, workload="ranges")
    assert not ranges.by_cells
    assert not zeros(AGrid).for_policy(SENSITIVE, epsilon=1, records=9).algorithm.by_cells
    counts, opened = [6, 2, 4, 12], [6, 0, 4, 12]
    found = Zeroed(OneBucket(), open_rate=od.INFINITE).release(counts, opened)
    assert found.tolist() == [8, 0, 8, 8]
    cells = Zeroed(OneBucketOfCells(), open_rate=od.INFINITE).release(counts, opened)
    assert cells.tolist() == pytest.approx([22 / 3, 0, 22 / 3, 22 / 3])


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(0, 2**32))
def test_a_cell_without_open_records_is_always_zero(opened, seed):
    mechanism = zeros(Dawa).for_policy(SENSITIVE, epsilon=1)
    counts = np.array(opened) + 2
    found = mechanism.release(counts, opened, noise=NotPrivateSeededNoise(seed))
    assert (found[np.array(opened) == 0] == 0).all()


def test_a_cell_is_spared_as_often_as_the_noise_says():
    # 50,000 cells with 2 open records at rate 1/2: zero iff G >= 2, e^-1. Six deviations: 1e-8.
    runs = 50_000
    mechanism = Zeroed(SILENT, open_rate="1/2")
    zero = int(mechanism.empty(np.full(runs, 2), noise=NotPrivateSeededNoise(6)).sum())

    def fits(rate):
        expected = math.exp(-2 * rate)
        return abs(zero - runs * expected) <= 6 * math.sqrt(runs * expected * (1 - expected))

    assert fits(0.5)
    assert not fits(0.55)


def test_what_each_edge_pays():
    mechanism = zeros(Dawa, share="1/4").for_policy(SENSITIVE, epsilon=2)
    paid = {edge.name: loss for edge, loss in mechanism.losses(SENSITIVE).items()}
    assert paid == {"sensitive -> sensitive": Fraction(3, 2), "sensitive -> open": 2}
    still, both = Shift(rise=0, fall=0), Shift(rise=1, fall=1)
    assert mechanism.loss(both, still) == Fraction(3, 2)
    assert mechanism.loss(still, Shift(rise=1, fall=0)) == Fraction(1, 2)
    assert mechanism.loss(still, Shift(rise=0, fall=1)) == od.INFINITE
    more = od.policy.extended_sensitive("minor")
    wider = zeros(Dawa).for_policy(more, epsilon=1)
    assert max(wider.losses(more).values()) == 1


def test_tiers_are_charged_by_their_weights():
    policy = od.policy.custom(
        kinds=["vip", "minor", "open"],
        edges=[("vip", "open", "1/4"), ("minor", "open"), ("vip", "minor", "1/4")],
    )
    mechanism = zeros(Hierarchical).for_policy(policy, epsilon=1)
    assert mechanism.open_rate == Fraction(1, 40)
    for edge, loss in mechanism.losses(policy).items():
        assert loss <= edge.weight


@pytest.mark.parametrize(
    "policy", [od.policy.bounded(), od.policy.unbounded()], ids=lambda p: p.name
)
def test_where_every_record_is_protected_there_is_no_open_one(policy):
    with pytest.raises(errors.PolicyError, match="open"):
        zeros(Dawa).for_policy(policy, epsilon=1)
    with pytest.raises(errors.UnprotectableError, match="lowers an open count"):
        zeros(Dawa).for_policy(policy, epsilon=1, open_kinds=["record"])


@pytest.mark.parametrize("algorithm", [Dawa, Ahp, Hierarchical, AGrid])
def test_the_recipe_takes_any_two_phase_algorithm(algorithm):
    shape = (8, 8) if algorithm is AGrid else (64,)
    counts = np.zeros(shape, dtype=int)
    counts.ravel()[::9] = 500
    known = {"records": int(counts.sum())} if algorithm is AGrid else {}
    mechanism = zeros(algorithm).for_policy(SENSITIVE, epsilon=1, **known)
    found = mechanism.release(counts, counts // 2, noise=NotPrivateSeededNoise(7))
    assert found.shape == shape
    assert (found[counts == 0] == 0).all()
    assert max(mechanism.losses(SENSITIVE).values()) == 1


def test_it_helps_where_most_records_are_open_and_most_cells_empty():
    # On average half the error in trials; that it is smaller at all is asked.
    draws = np.random.default_rng(8)
    counts = np.zeros(2048, dtype=int)
    counts[draws.choice(2048, 60, replace=False)] = draws.integers(50, 500, 60)
    opened = draws.binomial(counts, 0.9)
    noise = NotPrivateSeededNoise(9)
    plain, recipe = (
        Dawa.for_policy(SENSITIVE, epsilon=1),
        zeros(Dawa).for_policy(SENSITIVE, epsilon=1),
    )
    with_zeros = [
        np.abs(recipe.release(counts, opened, noise=noise) - counts).sum() for _ in range(10)
    ]
    without = [np.abs(plain.release(counts, noise=noise) - counts).sum() for _ in range(10)]
    assert np.mean(with_zeros) < 0.8 * np.mean(without)


def test_all_open_and_all_sensitive_data_are_allowed():
    mechanism = zeros(Dawa).for_policy(SENSITIVE, epsilon=1)
    counts = np.arange(32)
    assert mechanism.release(counts, counts).shape == (32,)
    assert mechanism.release(counts, np.zeros(32, dtype=int)).tolist() == [0] * 32


@pytest.mark.parametrize("bad", [0, 1, -0.1, 1.5, math.nan, math.inf, "x", None, True])
def test_shares_that_cannot_be_meant(bad):
    with pytest.raises(errors.ParameterError):
        zeros(Dawa, share=bad)


@pytest.mark.parametrize(
    ("counts", "opened"),
    [([1, 2], [1]), ([1, 2], [[1, 2]]), ([1, -2], [1, 1]), ([1, 2], [0.5, 1]), ([], [])],
    ids=str,
)
def test_histograms_that_do_not_fit_are_refused(counts, opened):
    with pytest.raises(errors.DataError):
        zeros(Dawa).for_policy(SENSITIVE, epsilon=1).release(counts, opened)
