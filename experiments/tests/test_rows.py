"""Many repetitions at once must be the shipped mechanisms, repetition by repetition."""

import numpy as np
import pytest

from onesided.mechanism import SparseVector, TopK
from onesided.noise import NotPrivateSeededNoise
from onesided_experiments._repeat import chunks, mean_and_spread, repetitions
from onesided_experiments._visits import Places
from onesided_experiments.adp_2021 import _above, _selection
from onesided_experiments.adp_2021._designated import certified, false_positives, growing_counts
from onesided_experiments.adp_2022._answers import Method, right_answers
from onesided_experiments.adp_2022._as_run import day_counts
from onesided_experiments.adp_2022._as_run import right_answers as drawn_until_above
from onesided_experiments.baselines import GapSparseVector, GapTopK, combine_leads

COUNTS = np.array([9, 9, 9, 7, 7, 4, 3, 3, 3, 3, 1, 0, 0, 0], dtype=np.int64)
RATE = 1


class Given:
    """Noise that was drawn before; ``ranks`` follow the fractions of the items in reach."""

    def __init__(self, *drawn, fractions=None, noisy=None, cut=None, largest_first=True):
        self._drawn = list(drawn)
        self._fractions, self._noisy, self._cut = fractions, noisy, cut
        self._sign = -1 if largest_first else 1

    def geometric(self, _rate, _size):
        return self._drawn.pop(0)

    def two_sided(self, _upper, _lower, _size):
        return self._drawn.pop(0)

    def permutation(self, length):
        reach = np.flatnonzero(self._noisy >= np.sort(self._noisy)[-self._cut])
        return np.argsort(np.argsort(self._sign * self._fractions[reach]))[:length]


@pytest.fixture
def noise():
    return NotPrivateSeededNoise(3)


def fractions_of(noise, rows):
    return noise.uniform(1 << 20, rows * COUNTS.size).reshape(rows, COUNTS.size)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_top_k_by_rows_is_top_k_ties_included(noise, k):
    drawn = noise.geometric(RATE, 300 * COUNTS.size).reshape(300, COUNTS.size)
    fractions = fractions_of(noise, 300)
    found = _selection.largest_rows(COUNTS + drawn, fractions, k)
    for row in range(300):
        given = Given(drawn[row], fractions=fractions[row], noisy=COUNTS + drawn[row], cut=k)
        shipped = TopK(k, upper_rate=RATE).release(COUNTS, noise=given)
        assert set(shipped.indices) == set(found.indices[row])
        assert sorted(shipped.values) == sorted(found.values[row])


@pytest.mark.parametrize("k", [1, 3, 8])
def test_free_gap_by_rows_is_free_gap_ties_included(noise, k):
    drawn = noise.two_sided(RATE, RATE, 300 * COUNTS.size).reshape(300, COUNTS.size)
    fractions = fractions_of(noise, 300)
    found = _selection.largest_rows_with_leads(COUNTS + drawn, fractions, k)
    for row in range(300):
        given = Given(
            drawn[row],
            fractions=fractions[row],
            noisy=COUNTS + drawn[row],
            cut=k + 1,
            largest_first=False,
        )
        shipped = GapTopK(k, noise_rate=RATE).release(COUNTS, noise=given)
        leads = dict(zip(found.indices[row], found.leads[row], strict=True))
        assert leads == dict(zip(shipped.indices, shipped.leads, strict=True))


def test_combining_by_rows_is_combining(noise):
    measured = noise.uniform(50, 40).reshape(10, 4)
    leads = noise.uniform(20, 40).reshape(10, 4)
    rows = _selection.combine_rows(measured, leads, variance_ratio=0.7)
    for row in range(10):
        one = combine_leads(measured[row], leads[row], variance_ratio=0.7)
        np.testing.assert_allclose(rows[row], one)


@pytest.mark.parametrize("most", [1, 3, 20])
def test_sparse_vectors_by_rows_are_the_shipped_ones(noise, most):
    upper = noise.geometric(RATE, 200 * COUNTS.size).reshape(200, COUNTS.size)
    both = noise.two_sided(RATE, RATE, 200 * COUNTS.size).reshape(200, COUNTS.size)
    hidden = noise.two_sided(RATE, RATE, 200)[:, None]
    level = np.full((200, 1), 4)
    ours = _above.answered_rows(COUNTS + upper, level, most=most)
    gaps = _above.answered_rows(COUNTS + both - hidden, level, most=most)
    plain = SparseVector(4, upper_rate=RATE, max_answers=most)
    gap = GapSparseVector(4, threshold_rate=RATE, query_rate=RATE, max_answers=most)
    for row in range(200):
        shipped = plain.release(COUNTS, noise=Given(upper[row]))
        np.testing.assert_array_equal(ours[row], shipped.answered)
        other = gap.release(COUNTS, noise=Given(hidden[row], both[row]))
        np.testing.assert_array_equal(gaps[row], other.above)


def test_corrections_are_those_of_counts():
    found = _selection.corrections(RATE)
    assert found["none"] == 0
    assert found["mean"] == pytest.approx(1 / np.expm1(1))
    assert found["median"] == 0


def test_errors_shrink_as_the_rate_grows(noise):
    counts = np.arange(0, 3000, 30, dtype=np.int64)
    worse = _selection.one_sided_errors(counts, 10, RATE, 200, noise)
    better = _selection.one_sided_errors(counts, 10, 5 * RATE, 200, noise)
    assert better.squared["mean"].mean() < worse.squared["mean"].mean()
    assert better.precision.mean() == 1


def test_a_place_once_above_says_no_more_and_never_lies(noise):
    class Two:
        latitude = np.zeros(2)
        place = np.array([0] * 700 + [1] * 3)

    counts = growing_counts(Two, np.arange(703))
    assert counts.tolist() == [[500, 0], [700, 3]]
    said = certified(counts, 10, "1", rows=2000, noise=noise)
    assert false_positives(said.fresh, counts, 10) == false_positives(said.marked, counts, 10) == 0
    assert not (said.marked[1] & ~said.marked[0]).any()
    assert not (said.marked & ~said.fresh).any()
    low = certified(counts, 4, "1", rows=2000, noise=noise)
    assert (low.fresh[1] & ~low.fresh[0]).any()
    assert not (low.marked[1] & ~low.marked[0]).any()
    assert said.marked[0, :, 1].mean() == pytest.approx(1 - np.exp(-10), abs=0.002)


@pytest.mark.parametrize(("limit", "most"), [(1, 14), (None, 14)])
def test_right_answers_are_certified_and_right(noise, limit, most):
    found = right_answers(COUNTS, 4, Method("m", limit, 1), 500, noise)
    assert found.wrong == 0
    assert (found.right <= found.asked_safe).all()
    assert found.right.max() <= most
    if limit is None:
        assert (found.asked_safe == (COUNTS <= 4).sum()).all()


def test_chunks_add_up_and_repetitions_are_bounded():
    assert sum(chunks(1234, 5000, least=50)) == 1234
    assert repetitions(10, quick=False) == 10_000
    assert 200 <= repetitions(40_000, quick=False) < 10_000
    assert repetitions(40_000, quick=True) == 10


def test_a_repetition_without_answers_does_not_count():
    assert mean_and_spread(np.array([1.0, np.nan, 3.0]))[0] == 2


def test_places_drawn_with_replacement_end_at_the_first_that_is_not_safe():
    counts = np.array([0, 0, 0, 9])
    found = drawn_until_above(
        counts, epsilon=30, threshold=5, repeats=20_000, random=np.random.default_rng(1)
    )
    # The three empty places are surely safe, the fourth never: N draws with 1/4 to stop at each.
    # The fourth counts as the authors count it, though it is the one that stopped them.
    assert found.max() == 4
    assert (found == 1).mean() == pytest.approx(1 / 4, abs=0.02)
    # At least one, then the same place again and again: 3/4 x (1/4) / (1 - 1/4).
    assert (found == 2).mean() == pytest.approx(1 / 4, abs=0.02)


def test_a_place_that_was_called_safe_before_it_stopped_them_counts_once():
    found = drawn_until_above(
        np.array([5]), epsilon=1, threshold=6, repeats=50, random=np.random.default_rng(1)
    )
    assert (found == 1).all()


@pytest.mark.parametrize(("reading", "total"), [("one place", 2), ("all places", 3)])
def test_a_person_counts_at_one_place_or_at_all(reading, total):
    places = Places(
        name="made", latitude=np.zeros(2), longitude=np.zeros(2), time=np.array([0, 0, 0, 1]),
        person=np.array([0, 0, 1, 1]), place=np.array([0, 1, 1, 0]), times=2, people=2,
    )  # fmt: skip
    counts = day_counts(places, 0, reading, np.random.default_rng(1))
    assert counts.sum() == total
    assert counts.max() <= 2
