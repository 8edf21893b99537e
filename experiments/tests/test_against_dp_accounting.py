"""A second opinion where Google's dp-accounting is right for one direction."""

from fractions import Fraction

import pytest
from dp_accounting.pld import privacy_loss_distribution as theirs

from onesided import accounting as acc

pytestmark = pytest.mark.filterwarnings("ignore")


def loss_of(scale, count):
    return theirs.from_discrete_laplace_mechanism(
        scale, sensitivity=count, value_discretization_interval=1e-4
    )


@pytest.mark.parametrize(("rate", "fall", "count"), [("1/10", 1, 50), ("1/2", 2, 8), (1, 3, 3)])
def test_symmetric_noise_agrees_and_ours_is_no_looser(rate, fall, count):
    """Symmetric noise is the same in both directions, so folding them together does no harm."""
    other = loss_of(float(Fraction(rate)), fall).self_compose(count)
    ours = acc.two_sided_loss(rate, rate, fall=fall).times(count)
    for eps in (0.0, 0.5, 1.0, 2.0):
        theirs = other.get_delta_for_epsilon(eps)
        assert float(ours.delta(eps)) <= theirs + 1e-12
        assert float(ours.delta(eps)) == pytest.approx(theirs, abs=2e-3)


def test_a_one_sided_release_is_folded_by_it_and_not_by_us():
    """A sample: δ leaks one way, ln 2 is lost the other way. Theirs is the larger of the two."""
    away, back = acc.sample_loss("1/2", removal=False), acc.sample_loss("1/2", removal=True)
    half = -0.6931471805599453
    other = theirs.from_two_probability_mass_functions({0: 0.0}, {0: half, 1: half})
    for eps in (0.0, 0.3, 1.0):
        folded = max(float(away.delta(eps)), float(back.delta(eps)))
        assert other.get_delta_for_epsilon(eps) == pytest.approx(folded, abs=1e-3)
    assert back.delta(1) == 0
    assert other.get_delta_for_epsilon(1.0) == pytest.approx(0.5, abs=1e-3)
