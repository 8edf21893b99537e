import numpy as np
import pytest

from onesided.errors import DataError
from onesided.mechanism import Counts, histograms
from onesided.mechanism.histograms import Partition
from onesided.noise import NotPrivateSeededNoise
from onesided_experiments._model import Setup
from onesided_experiments.osdp import _fig6_9, _grid2d, _regret, _rescaling, _sampling, _tables
from onesided_experiments.osdp._rescaling import per_step, real

COUNTS = np.random.default_rng(5).integers(0, 40, 500) * (np.arange(500) % 3 > 0)


@pytest.mark.parametrize("generator", _sampling.GENERATORS)
@pytest.mark.parametrize("ratio", _sampling.RATIOS)
def test_open_records_are_a_part_of_all_of_the_size_asked_for(generator, ratio):
    taken = _sampling.GENERATORS[generator](COUNTS, ratio, np.random.default_rng(1))
    assert taken.dtype == np.int64
    assert (taken >= 0).all()
    assert (taken <= COUNTS).all()
    assert taken.sum() == round(ratio * COUNTS.sum())


@pytest.mark.parametrize("generator", ["Close", "Close, leaning"])
def test_close_samples_keep_the_mean_and_deviation_within_a_tenth(generator):
    for seed in range(5):
        taken = _sampling.GENERATORS[generator](COUNTS, 0.1, np.random.default_rng(seed))
        assert _sampling.near(COUNTS, taken)
        own, all_ = _sampling.moments(taken), _sampling.moments(COUNTS)
        assert own == pytest.approx(all_, rel=_sampling.THETA)


def test_leaning_samples_lean():
    off = [
        _sampling.moments(_sampling.leaning(COUNTS, 0.25, np.random.default_rng(seed)))[0]
        / _sampling.moments(COUNTS)[0]
        for seed in range(6)
    ]
    assert all(0.05 < abs(one - 1) <= 0.1 for one in off)


def test_far_samples_take_high_records_five_times_as_often():
    flat = np.full(1000, 1000, dtype=np.int64)
    taken = _sampling.far(flat, 0.01, np.random.default_rng(3))
    high = _sampling._weights(1000, np.random.default_rng(3)) == _sampling.GAMMA
    assert 0.4 <= high.mean() <= 0.802
    # A small sample hardly empties any bin, so that the two levels are 5 to 1.
    assert taken[high].mean() / taken[~high].mean() == pytest.approx(5, rel=0.15)


def test_far_by_bins_empties_small_bins_first():
    counts = np.where(np.arange(400) % 2 == 0, 2, 200)
    taken = _sampling.far_by_bins(counts, 0.5, np.random.default_rng(3))
    assert (taken[::2] == 2).mean() > 0.95


def test_a_weighted_draw_without_replacement_has_the_right_law():
    # Two records, weights 5 and 1, one is taken: the heavy one in 5 of 6 runs.
    random, counts = np.random.default_rng(2), np.array([1, 1])
    heavy = sum(
        int(_sampling._race(counts, np.array([5.0, 1.0]), 1, random)[0]) for _ in range(6000)
    )
    # Four standard deviations: a false alarm once in 15,000 seeds.
    assert abs(heavy - 5000) < 4 * np.sqrt(6000 * 5 / 36)


def test_no_sample_is_an_error_that_says_so():
    counts = np.zeros(1000, dtype=np.int64)
    counts[[0, 999]] = 1
    with pytest.raises(DataError, match="mean and deviation"):
        _sampling.close(counts, 0.5, np.random.default_rng(1))


def rows():
    base = {"dataset": "d", "generator": "Close", "ratio": 0.5, "epsilon": "1"}
    return [
        base | {"method": "DAWA", "mre": 6.0, "rel95": 1.0},
        base | {"method": "DAWAz", "mre": 2.0, "rel95": 0.0},
        base | {"method": "OpenShape", "mre": 1.0, "rel95": 0.0},
    ]


def test_regret_is_the_error_over_the_least_of_the_pool():
    ours = _regret.with_regrets(rows())
    assert [row["regret_mre"] for row in ours] == [6, 2, 1]
    assert all(np.isnan(row["regret_rel95"]) for row in ours)
    papers = _regret.with_regrets(rows(), _regret.PAPER_POOLS["totals stay"])
    assert [row["regret_mre"] for row in papers] == [3, 1, 0.5]
    assert _regret.average(ours, "mre", method="DAWA") == 6
    assert np.isnan(_regret.average(ours, "rel95"))


@pytest.mark.parametrize("name", ["Ahp", "Dawa"])
def test_line_9_in_three_readings_of_the_same_noise(name):
    """Where all cells show open records none are zeros, and the three are one."""
    counts, opened = np.full(64, 500), np.full(64, 400)
    options = {"look_share": None} if name == "Dawa" else {}
    recipe = histograms.zeros(getattr(histograms, name)).for_policy(
        _regret.POLICY, epsilon=1, **options
    )
    made = [
        _rescaling.released(recipe, counts, opened, noise=NotPrivateSeededNoise(4), rescaling=one)
        for one in _rescaling.RESCALINGS
    ]
    for one in made[1:]:
        np.testing.assert_allclose(one, made[0])


def test_line_9_scales_a_bucket_by_its_zeros():
    """Two buckets of four; three cells of the first and none of the second are zeros."""

    class Fixed:
        def learn(self, _counts, **_noise):
            return Partition([0, 0, 0, 0, 1, 1, 1, 1])

        def measure(self, _counts, _partition, **_noise):
            return np.array([12.0, 20.0])

        def spread(self, partition, totals):
            return (totals / partition.sizes)[partition.labels]

    class Recipe:
        algorithm = Fixed()

        def empty(self, opened, **_noise):
            return opened == 0

    counts, opened = np.array([9, 1, 1, 1, 5, 5, 5, 5]), np.array([2, 0, 0, 0, 1, 1, 1, 1])
    found = {
        one: _rescaling.released(Recipe(), counts, opened, noise=None, rescaling=one).tolist()
        for one in _rescaling.RESCALINGS
    }
    assert found["left out"] == [3, 0, 0, 0, 5, 5, 5, 5]
    assert found["totals stay"] == [12, 0, 0, 0, 5, 5, 5, 5]
    assert found["as printed"] == [4, 0, 0, 0, 5, 5, 5, 5]  # 4/3; without zeros it stays


def test_errors_are_relative_and_count_empty_bins_as_one_record():
    truth, found = np.array([0, 1, 10, 100]), np.array([2.0, 1, 5, 100])
    mean, high = _regret.errors_of(truth, found)
    assert mean == pytest.approx((2 + 0 + 0.5 + 0) / 4)
    assert high == pytest.approx(np.quantile([2, 0, 0.5, 0], 0.95))


def test_noise_on_the_grid_is_laplace_noise():
    """200,000 draws at rate 5, where whole numbers are mostly 0: mean, share near 0, and tail.

    Six standard errors each: a false alarm in fewer than one of 10^8 seeds. Whole numbers fail.
    """
    zero, rate = np.zeros(200_000, dtype=np.int64), 5
    fine = Counts(rate * per_step("1"), rate * per_step("1"))
    for noisy, right in (
        (real(fine.release, zero, noise=NotPrivateSeededNoise(2)), True),
        (Counts(rate, rate).release(zero, noise=NotPrivateSeededNoise(2)), False),
    ):
        size = rate * np.abs(noisy)
        held = [
            abs((size > at).mean() - np.exp(-at)) < 6 * np.sqrt(np.exp(-at) / size.size)
            for at in (0.1, 1, 3)
        ]
        held.append(abs(size.mean() - 1) < 6 / np.sqrt(size.size))
        assert all(held) == right


def test_what_scales_on_the_grid_stays_the_same_in_counts():
    """Counts far apart, a rate without noise to speak of: clipping and partitions see counts."""
    counts = np.repeat([5, 900, 0, 40_000], 16)
    sure = histograms.Dawa.for_policy(
        _regret.POLICY, epsilon=per_step("90"), clip=True, look_share=None
    )
    found = real(sure.release, counts, noise=NotPrivateSeededNoise(1))
    np.testing.assert_allclose(found, counts, atol=0.5)


def test_every_algorithm_gives_one_estimate_for_each_bin():
    opened = _sampling.far(COUNTS, 0.5, np.random.default_rng(1))
    for epsilon in ("1", "0.01"):
        made = _regret.algorithms(epsilon)
        assert set(_regret.POOL) | set(_regret.SUPPRESS) == set(made)
        for algorithm in made.values():
            found = algorithm(COUNTS, opened, NotPrivateSeededNoise(1), np.random.default_rng(1))
            assert np.shape(found) == COUNTS.shape


def test_rectangles_are_summed_from_the_right_corners():
    truth = np.arange(16).reshape(4, 4)
    corners = np.array([[[0, 4], [1, 3]], [[0, 4], [2, 3]]])
    off = truth + 1
    # 16 cells over a total of 120, and 2 cells over 6 + 10.
    assert _grid2d._ranges(truth, off, corners) == pytest.approx((16 / 120 + 2 / 16) / 2)


@pytest.mark.parametrize("module", [_fig6_9, _tables, _grid2d])
def test_experiments_without_data_are_skipped(module, tmp_path):
    assert module.EXPERIMENT.jobs(Setup(data=tmp_path, quick=True)) == []


def test_the_quick_tables_hold(data):
    setup = Setup(data=data, quick=True)
    made = [row for job in _tables.jobs(setup) for row in job.function(**job.arguments)]
    result = _tables.result(made, setup)
    assert [claim.verdict for claim in list(result.claims())[:2]] == ["holds", "holds"]
    assert set(result.figures) == {"theorem-5-1"}


def test_open_shape_beats_dawaz_where_it_is_said_to(data):
    setup = Setup(data=data, quick=True)
    job = _fig6_9.jobs(setup)[0]
    made = job.function(**(dict(job.arguments) | {"epsilons": ("1",)}))
    result = _fig6_9.result(made, setup)
    assert {"fig6", "fig7", "fig8", "fig9", "fig10"} <= set(result.figures)
    regrets = _regret.with_regrets(made)
    assert _regret.average(regrets, "mre", method="OpenShape") <= 0.5 * _regret.average(
        regrets, "mre", method="DAWAz"
    )
