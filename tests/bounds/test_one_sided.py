"""Power bounds against chains of data sets: the best decision, found by linear programme."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import onesided as od
from onesided import bounds, errors
from onesided.bounds._limits import exp_bounds, short_up
from onesided.mechanism import AtMost
from onesided_experiments.bounds import _growth as growth

INF = od.INFINITE
losses = st.fractions(Fraction(1, 50), 3, max_denominator=50)
shares = st.fractions(0, Fraction(99, 100), max_denominator=100)
paths = st.integers(1, 6)


def best_power(alpha, epsilon, delta, length, *, forth, back):
    """The largest Pr[yes] at one end of a chain whose other end says yes with at most alpha.

    Data set 0 is where q is False, ``length`` is X. ``forth``: i must pass as i - 1, towards
    False; ``back``: i - 1 must pass as i. Both events, "yes" and "no", are constrained.
    """
    e, rows, limits = math.exp(epsilon), [], []

    def row(**terms):
        found = [0.0] * (length + 1)
        for key, value in terms.items():
            found[int(key[1:])] = value
        return found

    for i in range(1, length + 1):
        for real, other, wanted in ((i, i - 1, forth), (i - 1, i, back)):
            if wanted:
                rows += [row(**{f"b{real}": 1, f"b{other}": -e})]
                rows += [row(**{f"b{real}": -1, f"b{other}": e})]
                limits += [delta, e - 1 + delta]
    rows.append(row(b0=1))
    limits.append(alpha)
    objective = row(**{f"b{length}": -1})
    return -linprog(objective, A_ub=rows, b_ub=limits, bounds=(0, 1)).fun


@settings(max_examples=60)
@given(losses, shares, st.fractions(0, Fraction(1, 5), max_denominator=100), paths)
def test_no_decision_beats_the_bounds_and_the_attainable_one_is_attained(eps, alpha, delta, k):
    f = [float(x) for x in (alpha, eps, delta)]
    two_way = best_power(*f, k, forth=True, back=True)
    to_false = bounds.power_bound(alpha, epsilon=eps, delta=delta, to_false=k)
    from_false = bounds.power_bound(alpha, epsilon=eps, delta=delta, from_false=k)
    assert best_power(*f, k, forth=True, back=False) == pytest.approx(float(to_false), abs=1e-8)
    assert best_power(*f, k, forth=False, back=True) == pytest.approx(float(from_false), abs=1e-8)
    attained = bounds.attainable_power(alpha, epsilon=eps, delta=delta, to_false=k)
    assert two_way == pytest.approx(float(attained), abs=1e-8)
    assert attained <= to_false + Fraction(1, 2**60)


@settings(max_examples=40)
@given(losses, shares, shares, paths)
def test_a_need_is_where_the_bound_is_met(eps, alpha, beta, k):
    need = bounds.epsilon_needed_dp(alpha, beta, to_false=k)
    if alpha and beta > alpha:
        assert bounds.power_bound(alpha, epsilon=need, to_false=k) >= beta
        less = need - Fraction(1, 2**50)
        assert bounds.power_bound(alpha, epsilon=less, to_false=k) < beta
    need = bounds.epsilon_needed_adp(alpha, beta, from_false=k)
    assert bounds.power_bound(alpha, epsilon=need, from_false=k) >= beta
    if beta > alpha:
        less = need - Fraction(1, 2**50)
        assert bounds.power_bound(alpha, epsilon=less, from_false=k) < beta
    need = bounds.delta_needed_dp(alpha, beta, epsilon=eps, to_false=k)
    assert bounds.power_bound(alpha, epsilon=eps, delta=min(1, need), to_false=k) >= beta


def test_the_numbers_printed_in_the_papers():
    assert float(bounds.epsilon_needed_dp("1e-4", "1/2", to_false=1)) == pytest.approx(
        8.517, abs=1e-3
    )
    assert bounds.epsilon_needed_dp(0, "1/2", to_false=1) == INF
    # ADP-2022 III-B says "> 0.12" for k = 3: it is 0.045 (and 0.134 for k = 2).
    three = bounds.delta_needed_dp(0, "1/2", epsilon=1, to_false=3)
    assert float(three) == pytest.approx(0.5 / (1 + math.e + math.e**2))
    assert float(three) == pytest.approx(0.0450, abs=1e-4)
    two = bounds.delta_needed_dp(0, "1/2", epsilon=1, to_false=2)
    assert float(two) == pytest.approx(0.134, abs=1e-3)


@pytest.mark.parametrize("rate", ["1/10", 1, 3])
def test_the_shipped_decision_meets_the_asymmetric_bound(rate):
    decision = AtMost(4, upper_rate=rate)
    for count in range(5):
        most = bounds.true_positive_adp(epsilon=rate, from_false=5 - count)
        assert decision.power(count) <= most
        assert decision.power(count) == pytest.approx(float(most), abs=1e-15)


@pytest.mark.parametrize("count", [0, 1])
def test_the_path_is_the_distance_from_the_nearest_data_where_the_answer_is_false(count):
    """Presence, two people, "at most 1 was here": k = t + 1 - f, and no path the other way."""
    policy, threshold = od.policy.presence(max_groups=1), 1
    records = policy.records(["here"], max_groups=1)
    away, here = records
    data = {n: [here] * n + [away] * (2 - n) for n in range(3)}
    back = od.policy.data_distance(policy, data[2], data[count], records=records)
    assert back == threshold + 1 - count
    assert od.policy.data_distance(policy, data[count], data[2], records=records) == INF
    most = bounds.true_positive_adp(epsilon=1, from_false=int(back))
    shipped = AtMost(threshold, upper_rate=1).power(count)
    assert shipped == pytest.approx(float(most), abs=1e-15)


def test_nothing_is_certain_under_pure_symmetric_privacy():
    assert bounds.true_positive_dp(epsilon=1, delta=0, to_false=9) == 0
    assert bounds.true_positive_dp(epsilon=1, delta="1e-4", to_false=20) == 1
    assert bounds.true_positive_dp(epsilon=5000, delta="1e-4", to_false=9) == 1
    assert bounds.true_positive_dp(epsilon=0, delta="0.01", to_false=9) == Fraction(9, 100)


def test_no_path_is_no_limit():
    assert bounds.power_bound(0, epsilon=1) == 1
    assert bounds.attainable_power(0, epsilon=1, delta=0, to_false=INF) == 1
    assert bounds.epsilon_needed_dp(0, 1, to_false=INF) == 0
    assert bounds.epsilon_needed_adp(0, 1, from_false=INF) == 0
    assert bounds.epsilon_needed_adp(0, 1, from_false=1) == INF
    assert bounds.delta_needed_dp(0, 1, epsilon=1, to_false=INF) == 0


def test_the_attainable_power_is_below_the_bound_on_long_paths():
    at = {"epsilon": 1, "delta": "1e-2", "to_false": 5}
    assert bounds.power_bound(0, **at) > Fraction(4, 5)
    assert bounds.attainable_power(0, **at) < bounds.power_bound(0, **at) - Fraction(1, 100)


@given(st.fractions(-30, 30), st.integers(1, 40))
def test_rounding_encloses_the_exact_value_closely(x, count):
    low, high = exp_bounds(x)
    with localcontext() as context:
        context.prec = 80
        value = (Decimal(x.numerator) / Decimal(x.denominator)).exp()
        slack = value * Decimal(10) ** -70
        assert low <= Fraction(value + slack)
        assert Fraction(value - slack) <= high
    assert (high - low) / high < Fraction(1, 2**90)
    if x > 0:
        low, high = growth(x, count)
        terms = [exp_bounds(x * i) for i in range(count)]
        assert low <= sum(t[1] for t in terms)
        assert high >= sum(t[0] for t in terms)
        assert (high - low) / high < Fraction(1, 2**60)


@given(st.fractions(-2, 2))
def test_short_fractions_are_never_below(x):
    assert x <= short_up(x) <= x + abs(x) / 2**90
    assert growth(Fraction(1, 10**900), 3)[0] == 3
    assert 3 <= growth(Fraction(1, 10**900), 3)[1] < Fraction(3001, 1000)


BAD = [
    ("alpha", {"alpha": math.nan}),
    ("alpha", {"alpha": "-0.1"}),
    ("alpha", {"alpha": 2}),
    ("epsilon", {"epsilon": math.nan}),
    ("epsilon", {"epsilon": -1}),
    ("epsilon", {"epsilon": math.inf}),
    ("delta", {"delta": math.nan}),
    ("delta", {"delta": "1.1"}),
    ("to_false", {"to_false": 0}),
    ("to_false", {"to_false": -1}),
    ("to_false", {"to_false": "1.5"}),
    ("to_false", {"to_false": math.nan}),
]


@pytest.mark.parametrize(("name", "change"), BAD, ids=str)
@pytest.mark.parametrize("function", [bounds.power_bound, bounds.attainable_power])
def test_bad_input_is_refused(function, name, change):
    given = {"alpha": 0, "epsilon": 1, "delta": 0, "to_false": 1} | change
    with pytest.raises(errors.ParameterError, match=name):
        function(given.pop("alpha"), **given)


@pytest.mark.parametrize("bad", [math.nan, -1, 2, "x", None, True])
def test_bad_shares_are_refused_by_the_needs(bad):
    for call in (
        lambda: bounds.epsilon_needed_dp(bad, "1/2", to_false=1),
        lambda: bounds.epsilon_needed_dp(0, bad, to_false=1),
        lambda: bounds.epsilon_needed_adp(bad, "1/2", from_false=1),
        lambda: bounds.epsilon_needed_adp(0, bad, from_false=1),
        lambda: bounds.delta_needed_dp(bad, "1/2", epsilon=1, to_false=1),
        lambda: bounds.delta_needed_dp(0, bad, epsilon=1, to_false=1),
    ):
        with pytest.raises(errors.ParameterError):
            call()
    with pytest.raises(errors.ParameterError, match="below 1"):
        bounds.epsilon_needed_adp(1, 1, from_false=1)
