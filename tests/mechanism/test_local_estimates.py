"""Estimates against published formulas and against the truth.

Statistical tests use fixed noise: with fresh noise each would fail a right randomiser with the
chance FALSE_ALARM.
"""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from onesided.mechanism import local
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import local as local_policy

FALSE_ALARM = 1e-6
LETTERS = ["a", "b", "c", "d", "e"]
SHARES = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
NEIGHBOURS = list(pairwise(LETTERS))
PATH = local_policy(
    LETTERS, edges=[*((x, y, 1) for x, y in NEIGHBOURS), *((y, x, 2) for x, y in NEIGHBOURS)]
)


def families():
    some = ["a", "b"]
    return {
        "k-ary": local.k_ary_response(LETTERS, epsilon=1),
        "uRR": local.utility_optimised_response(LETTERS, sensitive=some, epsilon=1),
        "RAPPOR": local.rappor(LETTERS, epsilon=1),
        "optimised unary": local.optimised_unary(LETTERS, epsilon=1),
        "uRAP": local.utility_optimised_rappor(LETTERS, sensitive=some, epsilon=1),
        "channel": local.context_aware(PATH, epsilon=1),
    }


FAMILIES = families()


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
def test_warner_and_mangat_have_their_published_variances(share, epsilon):
    people, told = 1000, math.exp(epsilon) / (1 + math.exp(epsilon))
    warner = local.warner(epsilon=epsilon).variance([share, 1 - share], people, sampled=True)[0]
    published = share * (1 - share) / people + told * (1 - told) / (people * (2 * told - 1) ** 2)
    assert warner == pytest.approx(published)
    kept = 1 - math.exp(-epsilon)
    mangat = local.mangat(epsilon=epsilon).variance([share, 1 - share], people, sampled=True)[0]
    published = share * (1 - share) / people + (1 - share) * (1 - kept) / (people * kept)
    assert mangat == pytest.approx(published)
    assert mangat < warner


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
def test_rare_letters_have_the_published_variances(epsilon):
    people, letters, grown = 1000, 5, math.exp(epsilon)
    rare = np.zeros(letters)
    rare[0] = 1
    for randomiser, published in (
        (local.k_ary_response(LETTERS, epsilon=epsilon), (letters - 2 + grown) / (grown - 1) ** 2),
        (local.rappor(LETTERS, epsilon=epsilon), math.sqrt(grown) / (math.sqrt(grown) - 1) ** 2),
        (local.optimised_unary(LETTERS, epsilon=epsilon), 4 * grown / (grown - 1) ** 2),
    ):
        assert randomiser.variance(rare, people)[1] * people == pytest.approx(published)


def test_what_open_letters_gain_is_what_the_page_says():
    page = (Path(__file__).parents[2] / "docs" / "local.md").read_text()
    letters = [f"letter {number}" for number in range(100)]
    some, even = letters[:10], np.full(100, 0.01)
    for epsilon in (1, 3):
        sums = [
            randomiser.variance(even, 1, sampled=True).sum()
            for randomiser in (
                local.k_ary_response(letters, epsilon=epsilon),
                local.rappor(letters, epsilon=epsilon),
                local.optimised_unary(letters, epsilon=epsilon),
                local.utility_optimised_response(letters, sensitive=some, epsilon=epsilon),
                local.utility_optimised_rappor(letters, sensitive=some, epsilon=epsilon),
            )
        ]
        (row,) = (line for line in page.splitlines() if line.startswith(f"| ε = {epsilon} |"))
        said = [float(cell) for cell in row.split("|")[2:-1]]
        assert said == pytest.approx([*sums, 0.99], rel=5e-3)


def test_a_channel_and_its_closed_form_agree_on_variance():
    known = FAMILIES["uRR"]
    channel = local.context_aware(local_policy(LETTERS, sensitive=["a", "b"]), epsilon=1)
    for sampled in (False, True):
        assert channel.variance(SHARES, 50, sampled=sampled) == pytest.approx(
            known.variance(SHARES, 50, sampled=sampled)
        )


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("sampled", [False, True])
def test_measured_errors_are_the_predicted_ones(name, sampled, long_form):
    """Mean by its normal law, variance by its chi-square law, both at FALSE_ALARM in all."""
    stats = pytest.importorskip("scipy.stats")
    randomiser, people, runs = FAMILIES[name], 400, 20_000 if long_form else 1_000
    noise, generator = NotPrivateSeededNoise(5), np.random.default_rng(6)
    fixed = np.repeat(np.arange(5), (SHARES * people).astype(int))
    chosen = (
        generator.choice(5, p=SHARES, size=(runs, people)) if sampled else np.tile(fixed, (runs, 1))
    )
    outputs = randomiser._draw(chosen.ravel().astype(np.int64), noise)
    pieces = outputs.reshape(runs, people, *outputs.shape[1:])
    found = [randomiser.estimate(piece, sampled=sampled) for piece in pieces]
    frequencies = np.array([estimate.frequencies for estimate in found])
    predicted = randomiser.variance(SHARES, people, sampled=sampled)
    z = (frequencies.mean(axis=0) - SHARES) / np.sqrt(predicted / runs)
    tests = 2 * len(LETTERS)
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / tests / 2)
    spread = frequencies.var(axis=0, ddof=1) * (runs - 1) / predicted
    low, high = stats.chi2.ppf([FALSE_ALARM / tests / 2, 1 - FALSE_ALARM / tests / 2], runs - 1)
    assert (spread > low).all()
    assert (spread < high).all()
    # Estimated variances are unbiased, but for the cut at 0, which is not reached here.
    variances = np.array([estimate.variances for estimate in found])
    error = variances.std(axis=0) / math.sqrt(runs) + 1e-12
    assert (np.abs(variances.mean(axis=0) - predicted) < 6 * error).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_draws_follow_the_chances_and_the_test_would_see_a_tenth_less_epsilon(name):
    stats = pytest.importorskip("scipy.stats")
    randomiser, draws = FAMILIES[name], 200_000
    noise = NotPrivateSeededNoise(7)
    outputs = randomiser._draw(np.zeros(draws, dtype=np.int64), noise)
    if outputs.ndim == 1:
        seen = np.bincount(outputs, minlength=5)
        expected = np.array(row_of(randomiser)) * draws
        wrong = np.array(row_of(weaker(name))) * draws
        seen, expected, wrong = (part[expected > 0] for part in (seen, expected, wrong))
        degrees = len(expected) - 1
    else:
        seen, degrees = outputs.sum(axis=0), 5
        right, other = (bits_of(r) for r in (randomiser, weaker(name)))
        able = right > 0
        seen, right, other = seen[able], right[able], other[able]
        statistic = ((seen - draws * right) ** 2 / (draws * right * (1 - right))).sum()
        assert stats.chi2.sf(statistic, able.sum()) > FALSE_ALARM
        statistic = ((seen - draws * other) ** 2 / (draws * other * (1 - other))).sum()
        assert stats.chi2.sf(statistic, able.sum()) < FALSE_ALARM
        return
    assert stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), degrees) > FALSE_ALARM
    assert stats.chi2.sf(((seen - wrong) ** 2 / wrong).sum(), degrees) < FALSE_ALARM


def weaker(name):
    some = ["a", "b"]
    return {
        "k-ary": lambda: local.k_ary_response(LETTERS, epsilon="0.9"),
        "uRR": lambda: local.utility_optimised_response(LETTERS, sensitive=some, epsilon="0.9"),
        "RAPPOR": lambda: local.rappor(LETTERS, epsilon="0.9"),
        "optimised unary": lambda: local.optimised_unary(LETTERS, epsilon="0.9"),
        "uRAP": lambda: local.utility_optimised_rappor(LETTERS, sensitive=some, epsilon="0.9"),
        "channel": lambda: local.context_aware(PATH, epsilon="0.9"),
    }[name]()


def row_of(randomiser):
    """The chances of all outputs for the first letter."""
    if isinstance(randomiser, local.Channel):
        return [float(p) for p in randomiser.chances[0]]
    own, other = randomiser._marks()
    return [float(own[0]), *(float(p) for p in other[1:])]


def bits_of(randomiser):
    return np.array([float(randomiser.own[0]), *(float(p) for p in randomiser.other[1:])])


@pytest.mark.parametrize("name", FAMILIES)
def test_intervals_cover_as_often_as_they_say(name):
    """The normal ones near their 95 %, the exact ones at least that often; FALSE_ALARM in all."""
    stats = pytest.importorskip("scipy.stats")
    randomiser, people, runs = FAMILIES[name], 2000, 400
    values = np.repeat(np.arange(5), (SHARES * people).astype(int))
    outputs = randomiser._draw(np.tile(values, runs), NotPrivateSeededNoise(8))
    covered = np.zeros((2, 5))
    for piece in outputs.reshape(runs, people, *outputs.shape[1:]):
        estimate = randomiser.estimate(piece)
        for way in range(2):
            lower, upper = estimate.interval(exact_coverage=bool(way))
            covered[way] += (lower - SHARES < 1e-12) & (upper - SHARES > -1e-12)
    normal, exact = covered
    # 0.94 leaves room for the normal approximation itself.
    assert normal.min() >= stats.binom.ppf(FALSE_ALARM / 10, runs, 0.94)
    assert exact.min() >= stats.binom.ppf(FALSE_ALARM / 10, runs, 0.95)


def test_tallies_add_up_and_texts_give_what_arrays_give():
    for randomiser in FAMILIES.values():
        outputs = randomiser.release(LETTERS * 20)
        whole = randomiser.estimate(outputs)
        texts = [report.to_json() for report in randomiser.reports(outputs)]
        parts = randomiser.tally(texts[:30]) + randomiser.tally(randomiser.reports(outputs[30:]))
        assert randomiser.estimate(parts).frequencies.tolist() == whole.frequencies.tolist()
        assert parts.people == whole.people == 100
        assert whole.counts == pytest.approx(whole.frequencies * 100)
        assert whole.share("c") == whole.frequencies[2]


@pytest.mark.parametrize("name", ["k-ary", "RAPPOR", "uRAP"])
def test_texts_are_read_alike_however_they_are_laid_out(name):
    randomiser = FAMILIES[name]
    outputs = randomiser.release(LETTERS * 14_000)
    texts = [report.to_json() for report in randomiser.reports(outputs)]
    assert len(texts) > 2**16
    loose = [json.dumps(json.loads(text), indent=1) for text in texts[:50]]
    whole = randomiser.tally(texts)
    assert whole.seen.tolist() == randomiser.tally(outputs).seen.tolist()
    mixed = randomiser.tally([*loose, *texts[50:]])
    assert (mixed.seen == whole.seen).all()
    assert mixed.people == whole.people


def test_the_coverage_of_rare_open_letters_is_what_the_page_says():
    """The normal interval misses a letter that nobody reported; the default one does not."""
    stats = pytest.importorskip("scipy.stats")
    mangat, people = local.mangat(epsilon=1), 1000
    told = float(1 - mangat._marks()[1][0])
    for holders, normal, exact in ((1, 0.632, 1), (10, 0.966, 1), (50, 0.953, 1)):
        covered = np.zeros(2)
        for seen, chance in enumerate(stats.binom.pmf(np.arange(holders + 1), holders, told)):
            outputs = np.repeat([1, 0], [seen, people - seen])
            estimate = mangat.estimate(outputs)
            for way, asked in enumerate(({"exact_coverage": False}, {})):
                lower, upper = (ends[1] for ends in estimate.interval(**asked))
                covered[way] += chance * (lower - 1e-12 <= holders / people <= upper + 1e-12)
        assert covered == pytest.approx([normal, exact], abs=1e-3)
