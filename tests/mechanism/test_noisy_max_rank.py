"""Ranks from above: distances, spans, prices, and the law of what comes out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import onesided as od
from onesided import errors
from onesided.mechanism import NoisyMaxRank
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

COUNTS = st.lists(st.integers(0, 4), min_size=2, max_size=7)


def made(above, size, rate=1):
    return NoisyMaxRank(rate, above=above, candidates=size)


@given(st.integers(0, 6), COUNTS)
def test_distances_by_the_definition(above, counts):
    found = made(above, len(counts)).distances(np.array(counts))
    higher = [sum(counts[place + 1 :]) for place in range(len(counts))]
    assert found.tolist() == [
        max(r - above, above - r - at) for r, at in zip(higher, counts, strict=True)
    ]


@given(st.integers(0, 6), COUNTS, st.data())
def test_no_move_takes_two_distances_further_apart_than_its_span(above, counts, data):
    mechanism = made(above, len(counts))
    place = st.integers(0, len(counts) - 1)
    more = list(counts)
    more[data.draw(place)] += 1
    other = list(more)
    other[data.draw(place)] += 1
    other[data.draw(st.sampled_from([i for i, n in enumerate(other) if n]))] -= 1
    for after, before, shift in (
        (more, counts, Shift(rise=1, fall=0)),
        (counts, more, Shift(rise=0, fall=1)),
        (other, more, Shift(rise=1, fall=1)),
    ):
        changes = mechanism.distances(np.array(after)) - mechanism.distances(np.array(before))
        assert changes.max() - changes.min() <= mechanism.span(shift) == 2


def test_without_noise_it_is_the_candidate_that_so_many_exceed():
    counts = np.array([5, 5, 5, 5])
    found = [made(above, 4, od.INFINITE).release(counts) for above in (1, 6, 11, 16)]
    assert found == [3, 2, 1, 0]
    assert made(3, 4, od.INFINITE).rank_error() == 0


def test_places_come_as_often_as_the_law_says():
    """5,000 draws; false alarm 1e-6."""
    mechanism = made(1, 3, "1/2")
    counts = np.array([3, 0, 2])
    far = mechanism.distances(counts)
    p = np.exp(-0.5 * (far - far.min()))
    t, weights = np.polynomial.legendre.leggauss(60)
    t, weights = (t + 1) / 2, weights / 2
    each = 1 - p[:, None] * (1 - t)
    law = p * ((np.prod(each, axis=0) / each) @ weights)
    noise = NotPrivateSeededNoise(4)
    found = np.bincount([mechanism.release(counts, noise=noise) for _ in range(5_000)])
    assert stats.chisquare(found, law / law.sum() * found.sum()).pvalue > 1e-6


def test_most_answers_are_as_near_as_promised():
    mechanism = made(40, 64, "1/4")
    counts = np.full(64, 3)
    noise = NotPrivateSeededNoise(5)
    far = mechanism.distances(counts)
    missed = [far[mechanism.release(counts, noise=noise)] for _ in range(200)]
    assert np.mean(np.array(missed) > mechanism.rank_error(confidence="0.9")) < 0.1


@pytest.mark.parametrize("wrong", [(-1, 4, 1), (1, 0, 1), (1, 4, "NaN"), (1, 4, -1), ("x", 4, 1)])
def test_what_cannot_be_meant(wrong):
    with pytest.raises(errors.ParameterError):
        made(*wrong)


def test_counts_must_be_one_for_each_candidate():
    with pytest.raises(errors.DataError, match="3 counts for 4"):
        made(1, 4).release([1, 2, 3])
    with pytest.raises(errors.DataError):
        made(1, 4).release([1, 2, 3, -1])
