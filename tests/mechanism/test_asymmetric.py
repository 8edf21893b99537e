import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import errors, verify
from onesided.mechanism import AGeo, ALap, Counts
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift


@given(st.lists(st.decimals(-1000, 1000, places=2), max_size=20))
def test_values_and_steps_are_the_same_thing(values):
    laplace = ALap(1, od.INFINITE, grid="0.01")
    steps = laplace.steps(values)
    assert steps.dtype == np.int64
    assert laplace.values(steps) == tuple(Fraction(v) for v in values)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=20), st.integers(0, 2**32))
def test_one_sided_sums_are_bounds(steps, seed):
    truth = np.array(steps)
    noise = NotPrivateSeededNoise(seed)
    assert (ALap(1, od.INFINITE, grid="1/8").release(truth, noise=noise) >= truth).all()
    assert (ALap(od.INFINITE, 1, grid="1/8").release(truth, noise=noise) <= truth).all()


def test_a_finer_grid_changes_the_noise_little():
    # 100,000 draws of an exponential with mean 2; six standard errors: false alarm 2e-9.
    for grid in ("1/10", "1/1000"):
        laplace = ALap("1/2", od.INFINITE, grid=grid)
        noisy = laplace.release(np.zeros(100_000, dtype=int), noise=NotPrivateSeededNoise(1))
        mean = noisy.mean() * float(laplace.grid)
        expected = float(laplace.grid) / math.expm1(0.5 * float(laplace.grid))
        assert abs(mean - expected) < 6 * 2 / math.sqrt(100_000)
        # The same draws must reject a rate that is 10 % off.
        assert abs(mean - expected * 1.1) > 6 * 2 / math.sqrt(100_000)


def test_alap_is_counts_on_steps():
    laplace = ALap.for_policy(
        od.policy.presence(max_groups=2), epsilon=1, largest="2.5", grid="0.1"
    )
    assert laplace.upper_rate == Fraction(1, 5)
    assert laplace.lower_rate == od.INFINITE
    # One unit may lower two sums by 2.5 each: 50 steps in all.
    assert laplace.loss(Shift(rise=0, fall=50)) == 1
    assert laplace.loss(Shift(rise=1, fall=0)) == od.INFINITE
    both = ALap.for_policy(od.policy.unbounded(), epsilon=1, largest=4, grid=1)
    assert (both.upper_rate, both.lower_rate) == (Fraction(1, 4), Fraction(1, 4))


def test_values_off_the_grid_are_refused():
    laplace = ALap(1, 1, grid="0.05")
    with pytest.raises(errors.DataError, match="position 1"):
        laplace.steps(["0.10", "0.12"])
    with pytest.raises(errors.DataError, match="multiple"):
        laplace.steps([0.1])  # the float is not the decimal
    assert laplace.steps([Decimal("-0.10"), 2, Fraction(1, 20)]).tolist() == [-2, 40, 1]
    with pytest.raises(errors.DataError, match="62 steps"):
        laplace.steps([2**60])


def test_the_sign_of_the_papers_definition_is_the_other_way_round():
    """ADP-2022 (21) as printed puts the noise for a decreasing query below it: infinite loss."""
    added = od.policy.addition_only()
    world = verify.Universe(groups=("a",))
    assert verify.exact(Counts(od.INFINITE, 1), added, world).worst[1].impossible
    assert verify.exact(Counts(1, od.INFINITE), added, world).keeps(1)


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(0, 2**32))
def test_ageo_stays_in_its_range(counts, seed):
    truth = np.array(counts, dtype=np.int64)
    noise = NotPrivateSeededNoise(seed)
    for upper, lower in ((1, od.INFINITE), (od.INFINITE, 1), ("1/2", "1/3")):
        noisy = AGeo(upper, lower, most=9).release(truth, noise=noise)
        assert ((noisy >= 0) & (noisy <= 9)).all()
        if lower == od.INFINITE:
            assert (noisy >= truth).all()


def test_ageo_has_the_mass_of_a_clamped_geometric():
    """Erratum 11: the end point holds the whole tail."""
    found = {}
    for output, weight in verify.paths(
        lambda noise: int(AGeo(1, od.INFINITE, most=3).release([1], noise=noise)[0]), tail=1e-12
    ):
        found[output] = found.get(output, 0) + weight
    share = -math.expm1(-1)
    expected = {1: share, 2: share * math.exp(-1), 3: math.exp(-2)}
    assert found == pytest.approx(expected, abs=1e-9)


def test_ageo_has_the_least_error_of_all_that_are_certain(linprog):
    """ADP-2022 Theorem VIII.3 on 0..4: no upper-triangular matrix at the same loss does better."""
    n, rate = 4, 0.7
    size = (n + 1) ** 2
    cost = np.array([abs(i - j) for i in range(n + 1) for j in range(n + 1)], dtype=float)
    bounds = [(0, 1 if j >= i else 0) for i in range(n + 1) for j in range(n + 1)]
    sums = np.kron(np.eye(n + 1), np.ones(n + 1))
    rows = []
    for i in range(1, n + 1):
        for j in range(n + 1):
            row = np.zeros(size)
            row[i * (n + 1) + j], row[(i - 1) * (n + 1) + j] = 1, -math.exp(rate)
            rows.append(row)
    best = linprog(
        cost, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(n + 1), bounds=bounds
    )

    def error(count):
        share, ratio = -math.expm1(-rate), math.exp(-rate)
        inside = sum(k * share * ratio**k for k in range(n - count))
        return inside + (n - count) * ratio ** (n - count)

    assert best.fun == pytest.approx(sum(error(i) for i in range(n + 1)), abs=1e-9)


@pytest.fixture
def linprog():
    return pytest.importorskip("scipy.optimize").linprog


class NoDraw:
    def __getattr__(self, name):
        pytest.fail(f"{name} was drawn")


@pytest.mark.parametrize("bad", [[1.0], [math.nan], [[1]], ["a"], [2**62 + 1], [True]])
def test_bad_sums_are_refused_before_anything_is_drawn(bad):
    with pytest.raises(errors.DataError):
        ALap(1, 1, grid=1).release(bad, noise=NoDraw())


@pytest.mark.parametrize("bad", [[-1], [11], [1.0], [math.nan]])
def test_bad_counts_are_refused_before_anything_is_drawn(bad):
    with pytest.raises(errors.DataError):
        AGeo(1, 1, most=10).release(bad, noise=NoDraw())


@pytest.mark.parametrize("bad", [0, -1, "nan", math.nan, math.inf, 2**-60])
def test_bad_grids_and_rates_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        ALap(1, 1, grid=bad)
    with pytest.raises(errors.ParameterError):
        ALap(bad, 1, grid=1)
    with pytest.raises(errors.ParameterError):
        AGeo(1, bad, most=3)
    with pytest.raises(errors.ParameterError):
        AGeo(1, 1, most=-1)


def test_empty_input_gives_an_empty_answer():
    assert ALap(1, 1, grid=1).release([]).size == 0
    assert AGeo(1, 1, most=3).release([]).size == 0
