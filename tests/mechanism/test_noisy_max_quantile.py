"""The noisy maximum of ranks: distances, spans, prices, and the law of what comes out."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import onesided as od
from onesided import INFINITE, errors
from onesided.mechanism import NoisyMaxQuantile
from onesided.mechanism._quantiles import runs_between, runs_of_each
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

FALSE_ALARM = 1e-6
SHARES = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50)


def distances(q, counts):
    """By the definition, candidate by candidate."""
    a, b = Fraction(q).as_integer_ratio()
    total, below, found = sum(counts), 0, []
    for at in counts:
        found.append(max(b * below - a * total, a * total - b * (below + at)))
        below += at
    return found


def in_full(mechanism, counts):
    """The mechanism's runs, every candidate listed."""
    places = np.flatnonzero(counts)
    firsts, sizes, far = mechanism.runs(places, np.array(counts)[places])
    found = [None] * mechanism.candidates
    for first, size, distance in zip(firsts, sizes, far, strict=True):
        for place in range(first, first + size):
            assert found[place] is None
            found[place] = int(distance)
    return found


@given(SHARES, st.lists(st.integers(0, 4), min_size=1, max_size=9))
def test_runs_are_all_candidates_at_their_distances(q, counts):
    mechanism = NoisyMaxQuantile(1, q=q, candidates=len(counts))
    assert in_full(mechanism, counts) == distances(q, counts)


@given(SHARES, st.lists(st.integers(0, 4), min_size=2, max_size=7), st.data())
def test_no_move_takes_two_distances_further_apart_than_its_span(q, counts, data):
    mechanism = NoisyMaxQuantile(1, q=q, candidates=len(counts))
    place = st.integers(0, len(counts) - 1)
    more = list(counts)
    more[data.draw(place)] += 1
    other = list(more)
    other[data.draw(place)] += 1
    back = data.draw(st.sampled_from([i for i, n in enumerate(other) if n]))
    other[back] -= 1
    for after, before, shift in (
        (more, counts, Shift(rise=1, fall=0)),
        (counts, more, Shift(rise=0, fall=1)),
        (other, more, Shift(rise=1, fall=1)),
    ):
        pairs = zip(distances(q, after), distances(q, before), strict=True)
        changes = [one - two for one, two in pairs]
        assert max(changes) - min(changes) <= mechanism.span(shift)


def test_the_nearest_holds_the_quantile():
    mechanism = NoisyMaxQuantile(od.INFINITE, q="1/4", candidates=2**40)
    places, counts = np.array([7, 8, 2**39]), np.array([2, 3, 7])
    assert mechanism.choose(places, counts, noise=NotPrivateSeededNoise(1)) == 8
    assert mechanism.rank_error() == 0


def test_without_values_every_candidate_is_as_good():
    mechanism = NoisyMaxQuantile(1, q="1/2", candidates=4)
    noise = NotPrivateSeededNoise(2)
    found = mechanism.release([0] * 4 * 2000, noise=noise)
    counts = np.bincount(found, minlength=4)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_a_place_comes_for_each_row_and_as_often_as_the_law_says():
    mechanism = NoisyMaxQuantile("1/4", q="1/2", candidates=3)
    found = mechanism.release([1, 0, 2] * 3000, noise=NotPrivateSeededNoise(3))
    assert found.shape == (3000,)
    far = np.array(distances("1/2", [1, 0, 2]))
    a, b, c = np.exp(-(far - far.min()) / 4)
    # u of 3: the mean over an arrival of what the two others leave.
    law = [
        one * (1 - (two + three) / 2 + two * three / 3)
        for one, two, three in ((a, b, c), (b, a, c), (c, a, b))
    ]
    assert stats.chisquare(np.bincount(found), np.array(law) * 3000).pvalue > FALSE_ALARM


def test_an_answer_misses_by_more_ranks_than_it_says_as_rarely_as_it_says():
    mechanism = NoisyMaxQuantile("1/100", q="1/2", candidates=1000)
    counts = np.full(1000, 3)
    found = mechanism.release(np.tile(counts, 300), noise=NotPrivateSeededNoise(4))
    most = mechanism.rank_error(confidence="0.8")
    missed = np.maximum(0, np.maximum(3 * found - 1500, 1500 - 3 * (found + 1)))
    # Binomial(300, 0.2) exceeds 95 with a chance below 1e-6.
    assert (missed > most).sum() <= 95


def test_rates_for_policies():
    def rate(policy, q):
        made = NoisyMaxQuantile.for_policy(policy, q=q, candidates=9, epsilon=1)
        return made.noise_rate * made.q.denominator

    assert rate(od.policy.unbounded(), "1/2") == 1
    assert rate(od.policy.addition_only(), "1/2") == 1
    assert rate(od.policy.bounded(), "1/2") == rate(od.policy.bounded(), "9/10") == Fraction(1, 2)
    assert rate(od.policy.unbounded(), "9/10") == Fraction(5, 9)
    told = od.policy.sensitive("minor")
    open_only = NoisyMaxQuantile.for_policy(
        told, q="1/2", candidates=9, epsilon=1, counted=["open"]
    )
    assert open_only.noise_rate == Fraction(1, 2)


@pytest.mark.parametrize("q", [0, 1, -1, 2, float("nan"), None, "x"])
def test_shares_that_cannot_be_meant(q):
    with pytest.raises(errors.ParameterError):
        NoisyMaxQuantile(1, q=q, candidates=3)


@pytest.mark.parametrize("candidates", [0, -1, 1.5, 2**42, None])
def test_candidates_that_cannot_be_meant(candidates):
    with pytest.raises(errors.ParameterError):
        NoisyMaxQuantile(1, q="1/2", candidates=candidates)


def test_counts_that_cannot_be_meant():
    mechanism = NoisyMaxQuantile(1, q="1/2", candidates=3)
    for bad in ([1, 2], [1.0, 2.0, 3.0], [1, -1, 0]):
        with pytest.raises(errors.DataError):
            mechanism.release(bad)
    fine = NoisyMaxQuantile(1, q=Fraction(10**15 + 1, 2 * 10**15), candidates=2)
    with pytest.raises(errors.ParameterError, match="62 bits"):
        fine.choose(np.array([0]), np.array([10**6]))


def test_the_runs_of_many_rows_are_those_of_each():
    random = np.random.default_rng(31)
    for _ in range(200):
        number, q = int(random.integers(1, 30)), Fraction(int(random.integers(1, 9)), 10)
        rows = []
        for _ in range(int(random.integers(1, 6))):
            held = int(random.integers(0, number + 1))
            places = np.sort(random.choice(number, held, replace=False)).astype(np.int64)
            rows.append((places, random.integers(1, 9, held).astype(np.int64)))
        places, counts = (np.concatenate(part) for part in zip(*rows, strict=True))
        upto = np.cumsum([row[0].size for row in rows])
        *runs, ends = runs_of_each(number - 1, places, counts, upto, q)
        pieces = zip(*(np.split(part, ends[:-1]) for part in runs), strict=True)
        for row, found in zip(rows, pieces, strict=True):
            told = runs_between((0, number - 1), *row, q)
            assert sorted(zip(*found, strict=True)) == sorted(zip(*told, strict=True))


@pytest.mark.parametrize("rate", ["1/8", INFINITE])
def test_rows_drawn_side_by_side_follow_the_law_of_one(rate):
    mechanism = NoisyMaxQuantile(rate, q="1/2", candidates=6)
    places, counts, times = np.array([1, 3, 4]), np.array([2, 5, 1]), 4000
    one = [mechanism.choose(places, counts, noise=NotPrivateSeededNoise(n)) for n in range(times)]
    many = mechanism.choose_each([(places, counts)] * times, noise=NotPrivateSeededNoise(32))
    table = np.array([np.bincount(found, minlength=6) for found in (one, many)])
    if rate is INFINITE:
        assert (table == [[0, 0, 0, times, 0, 0]]).all()
    else:
        assert stats.chi2_contingency(table).pvalue > 1e-6


def test_rows_too_heavy_to_add_up_are_drawn_one_by_one():
    mechanism = NoisyMaxQuantile(50, q="1/2", candidates=9)
    heavy = (np.array([5]), np.array([2**60]))
    assert mechanism.choose_each([heavy] * 8, noise=NotPrivateSeededNoise(33)).tolist() == [5] * 8
