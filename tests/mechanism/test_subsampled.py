import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import accounting, errors, verify
from onesided.accounting import Bound
from onesided.mechanism import Counts
from onesided.mechanism import _sampling as module
from onesided.mechanism._certify import TruncatedCounts
from onesided.mechanism._sampling import Subsampled
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

BOTH = od.policy.unbounded()
LEAVES, ARRIVES = Shift(rise=0, fall=1), Shift(rise=1, fall=0)
epsilons = st.fractions(Fraction(1, 100), 8, max_denominator=100)


@given(epsilons)
@settings(max_examples=40)
def test_equation_3_spends_its_budget_in_both_directions_and_never_more(epsilon):
    mechanism = Subsampled.for_policy(BOTH, epsilon=epsilon)
    assert mechanism.keep_rate == mechanism.loss(ARRIVES) == epsilon
    assert epsilon - Fraction(1, 2**60) < mechanism.loss(LEAVES) <= epsilon
    known = accounting.sample_and_noise(epsilon)
    assert known.keep_rate == mechanism.keep_rate
    assert abs(known.upper_rate - mechanism.mechanism.upper_rate) < Fraction(1, 2**60)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2**40), Fraction(1, 10**6), 30, 1000])
def test_extreme_budgets_are_kept_too(epsilon):
    mechanism = Subsampled.for_policy(BOTH, epsilon=epsilon)
    assert mechanism.loss(LEAVES) <= epsilon
    assert mechanism.loss(LEAVES) > epsilon - Fraction(1, 2**60)


@given(epsilons, epsilons)
@settings(max_examples=40)
def test_losses_are_the_laws_of_sampling(rate, keep):
    p = 1 - math.exp(-float(keep))
    one = Subsampled(Counts(rate, od.INFINITE), keep_rate=keep)
    assert float(one.loss(LEAVES)) == pytest.approx(math.log1p(p * math.expm1(rate)), rel=1e-9)
    assert one.loss(ARRIVES) == keep
    assert one.loss(Shift(rise=1, fall=1)) == one.loss(LEAVES) + keep
    assert one.loss(Shift(rise=0, fall=2)) == one.loss(Shift(rise=2, fall=0)) == od.INFINITE
    both = Subsampled(Counts(rate, rate), keep_rate=keep)
    law = accounting.amplify_removal(Bound(rate), p=Fraction(p))
    assert float(both.loss(ARRIVES)) == pytest.approx(float(law.epsilon), rel=1e-9)
    assert both.loss(Shift(rise=1, fall=1)) <= 2 * rate


@given(epsilons, epsilons)
@settings(max_examples=40)
def test_losses_are_rounded_up_and_by_little(rate, keep):
    with localcontext() as context:
        context.prec = 90
        e, k = (Decimal(x.numerator) / Decimal(x.denominator) for x in (rate, keep))
        leaves = (1 + (1 - (-k).exp()) * (e.exp() - 1)).ln()
        arrives = -((-k).exp() + (1 - (-k).exp()) * (-e).exp()).ln()
    both = Subsampled(Counts(rate, rate), keep_rate=keep)
    for found, truth in ((both.loss(LEAVES), leaves), (both.loss(ARRIVES), arrives)):
        assert 0 <= found - Fraction(truth) < Fraction(1, 2**90)


@given(epsilons, epsilons, st.integers(1, 3))
@settings(max_examples=25)
def test_a_larger_shift_never_costs_less_and_sampling_never_adds(rate, keep, groups):
    many = Subsampled(Counts(rate, rate), keep_rate=keep, max_groups=groups)
    sizes = range(groups + 1)
    losses = {(r, f): many.loss(Shift(rise=r, fall=f)) for r in sizes for f in sizes}
    for (rise, fall), loss in losses.items():
        assert loss <= many.mechanism.loss(Shift(rise=rise, fall=fall))
        assert loss <= min(losses[r, f] for r in sizes for f in sizes if r >= rise and f >= fall)


def test_the_rate_epsilon_is_safe_and_merely_wasteful():
    """Taking ε for ln(1 + e^ε) is more noise: the loss is ln(e^ε - 1 + e^-ε), below ε."""
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(5)):
        careful = Subsampled(Counts(epsilon, od.INFINITE), keep_rate=epsilon)
        loss = float(careful.loss(LEAVES))
        assert loss == pytest.approx(math.log(math.expm1(epsilon) + math.exp(-epsilon)), rel=1e-9)
        assert loss < epsilon
        assert epsilon < Subsampled.for_policy(BOTH, epsilon=epsilon).mechanism.upper_rate


def test_rates_follow_from_the_policy():
    added = Subsampled.for_policy(od.policy.addition_only(), epsilon=1)
    assert (added.keep_rate, added.mechanism) == (od.INFINITE, Counts(1, od.INFINITE))
    removed = Subsampled.for_policy(od.policy.removal_only(), epsilon=1)
    assert (removed.keep_rate, removed.mechanism) == (1, Counts(od.INFINITE, od.INFINITE))
    bounded = Subsampled.for_policy(od.policy.bounded(), epsilon=2)
    assert bounded.loss(Shift(rise=1, fall=1)) <= 2
    three = Subsampled.for_policy(BOTH, epsilon=1, max_groups=3)
    assert three.whole
    assert three.loss(Shift(rise=0, fall=3)) <= 1
    assert three.loss(Shift(rise=3, fall=0)) == 1
    dropped = Subsampled.for_policy(od.policy.presence(max_groups=2), epsilon=1)
    assert dropped.keep_rate == od.INFINITE
    with pytest.raises(errors.UnprotectableError, match="gain one"):
        Subsampled.for_policy(od.policy.bounded(), epsilon=1, max_groups=2)


def test_a_delta_shrinks_with_the_sample():
    ends = TruncatedCounts(1, width=3)
    sampled = Subsampled(ends, keep_rate=1)
    assert float(sampled.delta(LEAVES)) == pytest.approx(
        (1 - math.exp(-1)) * float(ends.delta(LEAVES)), rel=1e-9
    )
    assert sampled.delta(Shift(rise=0, fall=0)) == 0
    assert Subsampled(Counts(1, 1), keep_rate=1).delta(LEAVES) == 0


def binomial(count, share):
    stats = pytest.importorskip("scipy.stats")
    return lambda k: float(stats.binom.cdf(k, count, share))


def test_a_histogram_is_thinned_binomially():
    # False alarm 1e-6; a share that is 10 % off is rejected with certainty but for 1e-6.
    mechanism = Subsampled(Counts(od.INFINITE, od.INFINITE), keep_rate=1)
    right, wrong = binomial(40, mechanism.share), binomial(40, 0.9 * mechanism.share)
    kept = mechanism.release(np.full(20_000, 40), noise=NotPrivateSeededNoise(7))
    assert verify.agrees(kept, right).accepted
    assert verify.power(right, wrong, 20_000) > 1 - 1e-6
    assert not verify.agrees(kept, wrong).accepted


def test_units_are_kept_whole():
    mechanism = Subsampled(Counts(od.INFINITE, od.INFINITE), keep_rate=1, max_groups=2)
    twins = np.ones((1, 2), dtype=int)
    noise = NotPrivateSeededNoise(1)
    kept = [tuple(mechanism.release(twins, noise=noise)) for _ in range(2000)]
    assert set(kept) == {(0, 0), (1, 1)}
    # Six standard errors: false alarm 2e-9.
    share = kept.count((1, 1)) / len(kept)
    assert abs(share - mechanism.share) < 6 * 0.5 / math.sqrt(len(kept))


def test_pieces_do_not_matter(monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 7)
    counts = np.array([0, 3, 0, 20, 1, 0, 6, 7, 0])
    everything = Subsampled(Counts(od.INFINITE, od.INFINITE), keep_rate=500)
    assert everything.release(counts).tolist() == counts.tolist()
    half = Subsampled(Counts(od.INFINITE, od.INFINITE), keep_rate="0.7")
    kept = half.release(counts)
    assert ((kept >= 0) & (kept <= counts)).all()


def z_scores(wrong_mean=None):
    """Of the mean error of equation (3), unbiased and scaled, at count 30."""
    mechanism = Subsampled.for_policy(BOTH, epsilon=1, correction="mean")
    answers = mechanism.release(np.full(20_000, 30), noise=NotPrivateSeededNoise(3))
    if wrong_mean is not None:
        right = mechanism.mechanism.distribution.mean()
        answers = answers + right - wrong_mean
    errors_ = mechanism.estimate(answers) - 30
    return errors_.mean() / (errors_.std() / math.sqrt(errors_.size)), errors_.var()


def test_the_unbiased_form_is_unbiased_with_the_variance_of_the_formula():
    # Five standard errors: false alarm 6e-7. Variance q (f p + 1 + q) / p^2, within 5 %.
    score, variance = z_scores()
    q = math.exp(-1)
    assert abs(score) < 5
    assert variance == pytest.approx(q * (30 * (1 - q) + 1 + q) / (1 - q) ** 2, rel=0.05)


@pytest.mark.parametrize("rate", [1.3132617, 1.0])
def test_a_wrong_mean_is_noticed(rate):
    """1/rate is the exponential's mean; the geometric's is 1/(e^rate - 1)."""
    assert abs(z_scores(wrong_mean=1 / rate)[0]) > 5


def test_histograms_zero_stays_zero_below_and_does_not_above():
    """Propositions 3 and 4 on a sparse histogram: most counts are 0."""
    sparse = np.zeros(10_000, dtype=int)
    sparse[:10] = 50
    below = Counts.for_policy(od.policy.removal_only(), epsilon=1, clip=True).release(sparse)
    above = Counts.for_policy(od.policy.addition_only(), epsilon=1).release(sparse)
    assert (below[10:] == 0).all()
    assert (below <= sparse).all()
    assert (above >= sparse).all()
    assert (above[10:] > 0).sum() > 3000
    sampled = Subsampled(Counts(od.INFINITE, od.INFINITE), keep_rate=1).release(sparse)
    assert (sampled[10:] == 0).all()


class NoDraw:
    def __getattr__(self, name):
        pytest.fail(f"{name} was drawn")


ONE = Subsampled(Counts(1, od.INFINITE), keep_rate=1)
TWO = Subsampled(Counts(1, od.INFINITE), keep_rate=1, max_groups=2)


@pytest.mark.parametrize(
    ("mechanism", "bad"),
    [
        (ONE, [-1]),
        (ONE, [1.0]),
        (ONE, [math.nan]),
        (ONE, [2**40]),
        (ONE, [2**62] * 4),
        (ONE, [[0, 2]]),
        (ONE, [[0.0, 1.0]]),
        (ONE, [[1, 1]]),
        (TWO, [3, 1]),
        (TWO, [[1, 1, 1]]),
        (TWO, [[[1]]]),
    ],
)
def test_bad_data_are_refused_before_anything_is_drawn(mechanism, bad):
    with pytest.raises(errors.DataError) as caught:
        mechanism.release(bad, noise=NoDraw())
    assert caught.value.hint


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "x", None, 2**-60, 2000])
def test_bad_rates_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        Subsampled(Counts(1, 1), keep_rate=bad)
    with pytest.raises(errors.ParameterError):
        Subsampled(Counts(1, 1), keep_rate=1, max_groups=0)
    with pytest.raises(errors.ParameterError):
        Subsampled.for_policy(BOTH, epsilon=0)


def test_empty_input_gives_an_empty_answer():
    assert ONE.release([]).size == 0
    assert ONE.release(np.zeros((0, 2), dtype=int)).size == 2
    assert ONE.release(np.zeros(3, dtype=bool).reshape(1, 3)).size == 3


def test_removal_only_warns_wherever_it_is_offered():
    """A p-fraction in the clear satisfies it."""
    assert "records in the clear would satisfy it" in od.policy.removal_only().explain()
    assert "in the clear satisfies this" in od.policy.removal_only.__doc__
    assert "p-fraction in the clear satisfies it" in Subsampled.__doc__
    assert "in the clear" not in od.policy.addition_only().explain()


def test_a_query_that_falls_when_a_record_is_added_swaps_the_sides():
    def free_seats(mechanism):
        return lambda data, noise: mechanism.release(
            np.array([5 - sum(record.kind == "record" for record in data)]), noise=noise
        )

    added, world = od.policy.addition_only(), verify.Universe(groups=("a",))
    assert verify.exact(free_seats(Counts(od.INFINITE, 2)), added, world).keeps(2)
    assert verify.exact(free_seats(Counts(2, od.INFINITE)), added, world).worst[1].impossible
