"""Noise on all counts at once: its law, its limits, and when it is better."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from onesided import INFINITE, errors, policy
from onesided.bounds import certified_share
from onesided.mechanism import Counts, CubeCounts
from onesided.mechanism._cube import _flips, _rounded_up, eulerian
from onesided.noise import NotPrivateSeededNoise, SecureNoise, TwoSidedGeometric
from onesided.numbers import positive
from onesided.policy import Shift
from onesided.verify import agrees, paths, power

EPSILONS = ("1/2", 1, 3)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 20])
def test_worpitzkys_identity_holds(n):
    """What makes the level's law that of a cube: a shifted sum of geometrics."""
    row = eulerian(n)
    assert sum(row) == math.factorial(n)
    for level in range(2 * n):
        terms = (a * math.comb(level - k + n, n) for k, a in enumerate(row) if k <= level)
        assert sum(terms) == (level + 1) ** n


@pytest.mark.parametrize("epsilon", [Fraction(1, 2**40), Fraction(1, 3), Fraction(7), Fraction(99)])
def test_the_rate_is_rounded_towards_more_noise(epsilon):
    q = _rounded_up(epsilon)
    assert math.log(q.numerator) - math.log(q.denominator) == pytest.approx(-float(epsilon))
    assert q * q > 0
    chances = _flips(epsilon, 4)
    assert len(chances) == 3
    assert all(0 < chance < 1 for chance in chances)


@pytest.mark.parametrize("theta", [Fraction(1), Fraction(11, 10), Fraction(2)])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_rounding_up_never_makes_a_level_likelier_than_the_next_allows(n, theta):
    """The proof's h(L) never falls for θ >= 1; for θ < 1, rounding down, it does."""

    def h(level, theta):
        terms = (
            a * theta**k * math.comb(level - k + n, n)
            for k, a in enumerate(eulerian(n))
            if k <= level
        )
        return Fraction(sum(terms), (level + 1) ** n)

    heights = [h(level, theta) for level in range(40)]
    assert heights == sorted(heights)
    down = [h(level, 1 / theta) for level in range(40)]
    assert (down == sorted(down)) == (theta == 1)


def test_the_law_is_that_of_the_largest():
    found = {}
    for out, chance in paths(
        lambda noise: tuple(CubeCounts(2).release([0, 0], noise=noise).tolist()), tail=1e-9
    ):
        found[out] = found.get(out, 0.0) + chance
    norm = found[0, 0]
    for z in product(range(4), repeat=2):
        assert found[z] / norm == pytest.approx(math.exp(-2 * max(z)), rel=1e-3)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n", [2, 7])
def test_draws_follow_the_law(epsilon, n):
    """False alarm one in a million for each of six; a rate off by a tenth is seen."""
    pytest.importorskip("scipy")
    levels = np.arange(4000)

    def largest(rate):
        logs = -rate * levels + np.log((levels + 1.0) ** n - levels ** float(n))
        law = np.cumsum(np.exp(logs - logs.max()))
        return lambda k: float(law[min(k, 3999)] / law[-1]) if k >= 0 else 0.0

    mechanism, noise = CubeCounts(epsilon), NotPrivateSeededNoise(7)
    zeros, rate = np.zeros(n, dtype=np.int64), float(positive(epsilon, name="epsilon"))
    drawn = np.array([mechanism.release(zeros, noise=noise) for _ in range(6000)])
    found = agrees(drawn.max(axis=1), largest(rate))
    assert found.accepted, found
    if n == 7:
        assert power(largest(rate), largest(rate * 1.1), 6000) > 0.9
    below = (drawn < n).mean()
    assert below == pytest.approx(mechanism.share(n, room=n), abs=0.03)
    assert drawn.mean() == pytest.approx(mechanism.mean(n), rel=0.06)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 50])
@pytest.mark.parametrize("epsilon", ["1/10", 1, 4])
def test_it_is_better_where_it_says(n, epsilon):
    rate = positive(epsilon, name="epsilon")
    for groups in range(1, n + 1):
        alone = TwoSidedGeometric(rate / groups, INFINITE).mean()
        better = CubeCounts(rate).mean(n) < float(alone) - 1e-6
        assert CubeCounts.pays(n, max_groups=groups) == better or abs(n + 1 - 2 * groups) <= 1


@pytest.mark.parametrize("n", [2, 5, 20, 50])
def test_with_everybody_everywhere_more_is_certified_at_every_room(n):
    for room in range(1, 4 * n):
        alone = -math.expm1(-room / n)
        assert CubeCounts(1).share(n, room=room) >= alone - 1e-9


def test_one_count_is_as_ever():
    for room in (1, 3):
        assert CubeCounts("1/2").share(1, room=room) == pytest.approx(-math.expm1(-room / 2))


@pytest.mark.parametrize("groups", [2, 5, 50])
@pytest.mark.parametrize(("epsilon", "room"), [("1/2", 1), (1, 3), (2, 1)])
def test_for_many_counts_nothing_is_better(groups, epsilon, room):
    rate = float(positive(epsilon, name="epsilon"))
    alone = -math.expm1(-rate * room / groups)
    limits = [
        certified_share(epsilon=epsilon, max_groups=groups, room=room, free=m, full=m)
        for m in (10 * groups, 100 * groups, 3000 * groups)
    ]
    assert limits == sorted(limits, reverse=True)
    assert all(alone < limit for limit in limits)
    assert limits[-1] < alone * 1.06
    # And the noise on all at once stays below the limit, too.
    for m in (groups, 10 * groups):
        if 2 * m <= 256:
            limit = certified_share(epsilon=epsilon, max_groups=groups, room=room, free=m, full=m)
            assert CubeCounts(epsilon).share(2 * m, room=room) <= limit


def test_the_limit_is_the_least_over_all_paths():
    """The halving against every k, for small numbers."""
    for groups, free, full, loss in ((1, 5, 9, 0.3), (2, 7, 20, 1.0), (3, 4, 30, 0.1)):
        total = 0.0
        for c in range(1, free + 1):
            tries = [
                math.exp(k * loss) * math.prod(1 - c / (free + j) for j in range(1, k * groups + 1))
                for k in range(full // groups + 1)
            ]
            total += min(1.0, *tries)
        found = certified_share(epsilon=loss, max_groups=groups, free=free, full=full)
        assert found == pytest.approx(total / free, abs=1e-8)


def test_no_mechanism_passes_the_limit_in_a_small_world():
    """Four counts that are 0 or 1, t = 0, ℓ0 = 2: the best symmetric law, by linear programme."""
    optimize = pytest.importorskip("scipy.optimize")
    n, groups, epsilon = 6, 2, 1.0
    index = {
        (m, c): i for i, (m, c) in enumerate((m, c) for m in range(n + 1) for c in range(m + 1))
    }
    rows, sums = [], []
    for (m, c), at in index.items():
        for more in range(1, groups + 1):
            if m + more <= n:
                row = np.zeros(len(index))
                row[at] = math.comb(m + more, c)
                row[index[m + more, c]] = -math.exp(epsilon) * math.comb(m, c)
                rows.append(row)
    for m in range(n + 1):
        row = np.zeros(len(index))
        row[[index[m, c] for c in range(m + 1)]] = 1
        sums.append(row)
    for m in (1, 2, 3, 4):
        aim = np.zeros(len(index))
        aim[[index[m, c] for c in range(m + 1)]] = [-c / m for c in range(m + 1)]
        best = optimize.linprog(
            aim, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(n + 1)
        )
        limit = certified_share(epsilon=1, max_groups=groups, free=m, full=n - m)
        assert -math.expm1(-epsilon / groups) <= -best.fun + 1e-9
        assert -best.fun <= limit + 1e-9


def test_bad_input_is_refused():
    mechanism = CubeCounts(1)
    with pytest.raises(errors.DataError, match="at most 256"):
        mechanism.release(np.zeros(257, dtype=int))
    with pytest.raises(errors.DataError):
        mechanism.release([-1])
    with pytest.raises(errors.DataError):
        mechanism.release([[1]])
    with pytest.raises(errors.ParameterError):
        CubeCounts(0)
    with pytest.raises(errors.ParameterError):
        CubeCounts(math.nan)
    with pytest.raises(errors.UnprotectableError, match="larger"):
        CubeCounts.for_policy(policy.unbounded(), epsilon=1)
    for wrong in ({"free": 0}, {"full": -1}, {"max_groups": 0}, {"room": 0}, {"free": 10**7}):
        asked = {"epsilon": 1, "max_groups": 2, "free": 5, "full": 5} | wrong
        with pytest.raises(errors.ParameterError):
            certified_share(**asked)


def test_without_noise_it_tells_the_counts():
    assert CubeCounts(INFINITE).release([3, 0]).tolist() == [3, 0]
    assert CubeCounts(INFINITE).mean(3) == 0
    assert CubeCounts(1).release([]).tolist() == []


def test_an_answer_is_never_below_its_count_and_certificates_are_never_wrong():
    counts = np.array([0, 5, 2**40, 3])
    for _ in range(50):
        noisy = CubeCounts("1/2").release(counts, noise=SecureNoise())
        assert (noisy >= counts).all()
        assert not CubeCounts(1).at_most(noisy, 2)[1:].any()


def test_the_loss_is_that_of_the_count_that_falls_most():
    assert CubeCounts(1).loss(Shift(rise=0, fall=9)) == 1
    assert CubeCounts(1, per_key=3).loss(Shift(rise=0, fall=2)) == 2
    assert CubeCounts(1).loss(Shift(rise=1, fall=0)) == INFINITE
    assert CubeCounts.for_policy(policy.presence(max_groups=7), epsilon=2).noise_rate == 2
    assert Counts.for_policy(policy.presence(max_groups=7), epsilon=2).upper_rate == Fraction(2, 7)
