"""What the authors of ADP-2021 ran, against what its noise must do."""

import numpy as np
import pytest

from onesided_experiments._model import COLOURS, Curve, Look, Panel
from onesided_experiments.adp_2021 import _as_run

# Far apart, so that everybody selects the same and errors are those of the noise alone.
APART = np.arange(40, dtype=np.int64) * 10**7
K, EPSILON = 10, 0.5
UNIT = (K / EPSILON) ** 2


@pytest.fixture
def random():
    return np.random.default_rng(7)


def test_top_k_errs_by_its_exponential_noise(random):
    found = _as_run.top_k_errors(APART, K, EPSILON, 4000, random)
    assert (found.precision == 1).all()
    # 40,000 draws each; four standard errors of E^2 and (E - 1)^2 are 0.09 and 0.06.
    assert found.squared["none"].mean() / UNIT == pytest.approx(2, abs=0.09)
    assert found.squared["mean"].mean() / UNIT == pytest.approx(1, abs=0.06)


def test_free_gap_has_twice_the_scale_twice_and_is_eight_times_raw(random):
    found = _as_run.free_gap_errors(APART, K, EPSILON, 4000, random)
    theory = 16 * (K + 1) / K
    assert found.squared["combined"].mean() / UNIT == pytest.approx(theory, rel=0.05)
    assert (found.precision == 1).all()


def test_the_adaptive_one_answers_2k_far_above_at_half_the_rate(random):
    """Of 40 counts all but the last few are far above: each answer costs a half."""
    rules = _as_run.Rules.asymmetric(K, EPSILON)
    found = _as_run.sparse_errors(APART, rules, 2000, random)
    assert np.nanmean(found.squared["mean"]) == pytest.approx((2 * rules.fine) ** 2, rel=0.1)
    # Every one of the top k is asked before the purse is empty in at least half of the orders.
    assert 0.5 < np.nanmean(found.recall) <= 1


def test_free_gap_combines_a_gap_at_half_the_rate_with_a_measurement(random):
    """By the authors' weights; far above, where a choice takes nothing out of the noise."""
    rules = _as_run.Rules.free_gap(K, EPSILON)
    found = _as_run.sparse_errors(APART, rules, 2000, random)
    measured = 2 * (4 * K / EPSILON) ** 2
    gap = 2 * (2 * rules.fine) ** 2 + 2 * rules.hidden**2
    rate = K / rules.fine
    one, two = 1 / measured, rate**2 / (8 * (1 + K ** (2 / 3)) ** 3)
    theory = (one**2 * measured + two**2 * gap) / (one + two) ** 2
    assert np.nanmean(found.squared["mean"]) == pytest.approx(theory, rel=0.1)


def test_a_bar_on_a_logarithmic_axis_is_refused():
    look = Look("a", next(iter(COLOURS)))
    curves = [Curve(look=look, x=[1], y=[1], kind="bar")]
    with pytest.raises(ValueError, match="draw dots"):
        Panel(title="", x_label="", y_label="", curves=curves, log_y=True)
