"""Every conversion, on every finite mechanism that hypothesis can think of, exactly."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import accounting as acc
from onesided import errors
from onesided._numbers import Infinite, log_up, round_up
from onesided.accounting import Bound
from onesided.bounds._limits import exp_bounds
from onesided.mechanism import Counts
from onesided.policy import GroupCount
from onesided.verify import Universe, exact

INF = od.INFINITE


class Law:
    """Exact arithmetic on finite distributions: lists of fractions over the same outputs."""

    losses = st.fractions(0, 3, max_denominator=20)
    shares = st.integers(0, 19).map(lambda k: Fraction(k, 20))

    @staticmethod
    def distributions(outputs=3, least=0):
        weights = st.lists(st.integers(least, 6), min_size=outputs, max_size=outputs).filter(any)
        return weights.map(lambda ws: [Fraction(w, sum(ws)) for w in ws])

    @staticmethod
    def least_delta(real, other, epsilon):
        """Not above the exact δ(ε) from ``real`` to ``other``, by a part in 2^90."""
        if isinstance(epsilon, Infinite):
            return Fraction(0)
        high = exp_bounds(epsilon)[1]
        return sum(max(Fraction(0), x - high * y) for x, y in zip(real, other, strict=True))

    @staticmethod
    def enough_delta(real, other, epsilon):
        """Not below the exact δ(ε)."""
        low = exp_bounds(epsilon)[0]
        return sum(max(Fraction(0), x - low * y) for x, y in zip(real, other, strict=True))

    @classmethod
    def keeps(cls, real, other, bound):
        """Whether ``bound`` holds from ``real`` to ``other``."""
        return cls.least_delta(real, other, bound.epsilon) <= bound.delta

    @staticmethod
    def mix(p, one, two):
        return [p * x + (1 - p) * y for x, y in zip(one, two, strict=True)]

    @staticmethod
    def both(one, two):
        return [x * y for x in one for y in two]


LAW = Law.distributions()
FULL = Law.distributions(least=1)
SLACK = Fraction(1, 2**60)


def truth(real, other, epsilon):
    return Bound(epsilon, min(1, Law.enough_delta(real, other, epsilon)))


@given(LAW, LAW, LAW, Law.losses, Law.losses)
def test_bounds_add_along_a_path(x, y, z, first, second):
    assert Law.keeps(x, z, acc.along_path([truth(x, y, first), truth(y, z, second)]))


def test_along_a_path_delta_grows_and_infinity_promises_nothing():
    assert acc.along_path([]) == Bound(0)
    two = acc.along_path([Bound(1, "1/100"), Bound(1, "1/100")])
    assert two.epsilon == 2
    assert float(two.delta) == pytest.approx((1 + math.e) / 100)
    assert acc.along_path([Bound(1), Bound(INF)]) == Bound(INF, 1)
    assert acc.along_path([Bound(5000), Bound(1, "1/9")]) == Bound(5001, 1)


@given(LAW, LAW, st.fractions(-3, 3, max_denominator=20))
def test_removal_is_addition_read_backwards_and_twice_is_once(x, y, epsilon):
    bound = truth(x, y, epsilon)
    back = acc.reverse(bound)
    assert back.epsilon == -epsilon
    assert Law.keeps(y, x, back)
    again = acc.reverse(back)
    assert again.epsilon == epsilon
    assert bound.delta <= again.delta <= bound.delta + SLACK


def test_reversing_is_tight_and_turns_nothing_into_nothing():
    # Pr[x] <= e^1 Pr[y] is all that is known: y may miss 1 - e^-1 of x.
    assert float(acc.reverse(Bound(1)).delta) == pytest.approx(1 - math.exp(-1))
    assert acc.reverse(Bound(INF, 1)) == Bound(0, 1)
    assert acc.reverse(Bound(0)) == Bound(0)


@given(LAW, LAW, LAW, Law.losses)
def test_extended_one_sided_privacy_gives_one_sided_privacy(with_x, with_y, without, epsilon):
    """with_x must pass as without, without as with_y: so with_x as with_y, at twice ε."""
    delta = max(
        Law.enough_delta(with_x, without, epsilon), Law.enough_delta(without, with_y, epsilon)
    )
    promise = acc.extended_to_osdp(epsilon, delta=min(1, delta))
    edge = acc.bounds_of(promise)["sensitive -> open"]
    assert edge.epsilon == 2 * epsilon
    assert Law.keeps(with_x, with_y, edge)


@pytest.mark.parametrize("first_is_cheap", [True, False])
def test_a_replacement_may_go_by_way_of_absence_in_either_order(first_is_cheap):
    cheap, dear = Bound(0, "1/10"), Bound(2, "1/100")
    leave, arrive = (cheap, dear) if first_is_cheap else (dear, cheap)
    found = acc.by_way_of_absence(leave, arrive)
    assert found == Bound(2, "11/100")


def test_rounding_is_upward_and_by_less_than_stated():
    """Against 60 digits of e: 1 - 1/e, 1/100 (1 + e) and ln(1 + (e - 1) / 3)."""
    with localcontext() as context:
        context.prec = 60
        e = Decimal(1).exp()
        exact = [1 - 1 / e, (1 + e) / 100, (1 + (e - 1) / 3).ln(), -(1 - (1 - 1 / e) / 3).ln()]
    found = [
        acc.reverse(Bound(1)).delta,
        acc.along_path([Bound(1, "1/100")] * 2).delta,
        acc.amplify_addition(Bound(1), p="1/3").epsilon,
        acc.amplify_removal(Bound(1), p="1/3").epsilon,
    ]
    for one, true in zip(found, map(Fraction, exact), strict=True):
        assert true - Fraction(1, 10**55) <= one <= true + Fraction(1, 2**60)


def test_theorem_10_1_on_shipped_code_is_tight():
    """A histogram at ε per added or removed record loses 2ε when one replaces another."""
    counts = Counts(1, 1)
    world, query = Universe(max_groups=1), GroupCount(max_groups=1)
    extended = exact(counts, od.policy.extended_sensitive("x"), world, query=query)
    assert extended.keeps(1)
    replaced = exact(counts, od.policy.sensitive("x"), world, query=query)
    assert replaced.loss == pytest.approx(2, abs=1e-6)
    assert acc.extended_to_osdp(1).headline == 2


def test_the_inverse_of_theorem_10_1_does_not_hold():
    """How many records there are costs nothing under OSDP, and everything under extended OSDP."""

    def size(data, noise):
        return sum(record.kind != "absent" for record in data)

    world = Universe(max_groups=1)
    assert exact(size, od.policy.sensitive("x"), world).keeps("1/100")
    extended = exact(size, od.policy.extended_sensitive("x"), world)
    assert extended.loss == math.inf


POLICIES = [
    od.policy.bounded(),
    od.policy.sensitive("x"),
    od.policy.presence(max_groups=2),
    od.policy.addition_only(),
    od.policy.unbounded(),
    od.policy.extended_sensitive("x"),
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.name)
def test_differential_privacy_gives_every_policy(policy):
    """Noise made for plain DP, checked by enumeration under each policy."""
    world = Universe(units=1, max_groups=2)
    query = GroupCount(max_groups=2)
    for made_for, given_as in ((od.policy.bounded(), "replace"), (od.policy.unbounded(), "both")):
        counts = Counts.for_policy(made_for, epsilon=1, max_groups=2)
        known = {"replace": {"replace": Bound(1)}, "both": {"add_or_remove": Bound(1)}}[given_as]
        promise = acc.from_dp(policy, **known)
        report = exact(counts, policy, world, query=query, tail=1e-6)
        for edge, finding in report.findings.items():
            assert finding.loss <= round_up(promise.epsilon[edge.name]) + 1e-6


def test_bounded_dp_promises_nothing_about_absence():
    promise = acc.from_dp(od.policy.addition_only(), replace=Bound(1))
    assert promise.epsilon == {"record -> absent": INF}
    assert acc.from_dp(od.policy.bounded(), add_or_remove=Bound(1)).headline == 2
    both = acc.from_dp(od.policy.bounded(), replace=Bound(1), add_or_remove=Bound(1))
    assert both.headline == 1
    with pytest.raises(errors.ParameterError, match="replace"):
        acc.from_dp(od.policy.bounded())
    with pytest.raises(errors.ParameterError, match="at least 0"):
        acc.from_dp(od.policy.bounded(), replace=Bound(-1))


def test_addition_and_removal_together_are_two_sided():
    up, down = Counts(1, INF), Counts(INF, 2)

    def both(data, noise):
        count = sum(record.kind != "absent" for record in data)
        return int(up.noisy([count], noise=noise)[0]), int(down.noisy([count], noise=noise)[0])

    alone = acc.two_sided(addition=Bound(1), removal=Bound(2))
    assert alone.policy == "unbounded"
    assert alone.headline == 2
    # Publishing both is not what the remark means: each tells what the other hides.
    report = exact(both, od.policy.unbounded(), Universe(units=1, max_groups=0))
    assert report.worst[1].impossible
    one = GroupCount(max_groups=1)
    joined = exact(Counts(1, 2), od.policy.unbounded(), Universe(max_groups=1), query=one)
    found = {edge.name: finding.loss for edge, finding in joined.findings.items()}
    assert found == pytest.approx({"record -> absent": 1, "absent -> record": 2}, abs=1e-6)


@settings(max_examples=60)
@given(LAW, LAW, Law.losses, Law.shares)
def test_sampling_amplifies_each_direction_by_its_own_law(with_it, without, epsilon, p):
    sampled = Law.mix(p, with_it, without)
    addition = acc.amplify_addition(truth(with_it, without, epsilon), p=p)
    assert Law.keeps(sampled, without, addition)
    removal = acc.amplify_removal(truth(without, with_it, epsilon), p=p)
    assert Law.keeps(without, sampled, removal)
    assert removal.epsilon <= acc.sampling_removal(p).epsilon + SLACK
    assert removal.epsilon <= addition.epsilon + SLACK
    assert Law.keeps(without, sampled, acc.sampling_removal(p))
    assert Law.keeps(sampled, without, acc.sampling_addition(p))


@given(LAW, LAW, LAW, Law.losses, Law.shares)
def test_sampling_and_replacement(with_x, with_y, without, epsilon, p):
    one, two = Law.mix(p, with_x, without), Law.mix(p, with_y, without)
    alone = acc.amplify_replacement(replace=truth(with_x, with_y, epsilon), p=p)
    assert Law.keeps(one, two, alone)


@given(
    Law.distributions(least=1), Law.distributions(least=1), Law.distributions(least=1), Law.shares
)
def test_sampling_replacement_and_addition(with_x, with_y, without, p):
    one, two = Law.mix(p, with_x, without), Law.mix(p, with_y, without)
    replace, addition = pure_loss(with_x, with_y), pure_loss(with_x, without)
    if addition:
        together = acc.amplify_replacement(replace=Bound(replace), addition=addition, p=p)
        assert Law.keeps(one, two, together)
        assert together.epsilon <= replace


def pure_loss(real, other):
    return log_up(max(Fraction(1), *(x / y for x, y in zip(real, other, strict=True))), bits=96)


@pytest.mark.parametrize("p", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10)])
def test_the_sampling_laws_are_tight(p, delta):
    """Two outputs that meet the premise with equality meet the conclusion with equality."""
    ratio = Fraction(3)  # e^ε
    epsilon = Fraction(math.log(3))
    high = Fraction(1, 3) + delta if delta else Fraction(3, 4)
    low = (high - delta) / ratio
    real, other = [high, 1 - high], [low, 1 - low]
    mixed = Law.mix(p, real, other)
    law = acc.amplify_addition(Bound(epsilon, delta), p=p)
    gap = mixed[0] - (1 + p * (ratio - 1)) * other[0]
    assert float(gap) == pytest.approx(float(law.delta), abs=1e-12)
    assert math.exp(law.epsilon) == pytest.approx(float(1 + p * (ratio - 1)))
    # Removal: "real" is now the data without the record.
    mixed = Law.mix(p, other, real)
    law = acc.amplify_removal(Bound(epsilon, delta), p=p)
    grown = 1 / (1 - p + p / ratio)
    assert math.exp(law.epsilon) == pytest.approx(float(grown))
    assert float(real[0] - grown * mixed[0]) == pytest.approx(float(law.delta), abs=1e-12)


def test_replacement_alone_is_not_amplified_by_sampling():
    """Without the record the answer is always "c"; with x or y it is "a" or mostly "b"."""
    with_x, with_y, without = [1, 0, 0], [Fraction(1, 2), Fraction(1, 2), 0], [0, 0, 1]
    p = Fraction(1, 100)
    one, two = Law.mix(p, with_x, without), Law.mix(p, with_y, without)
    assert one[0] == 2 * two[0]
    assert acc.amplify_replacement(replace=Bound(1), p=p).epsilon == 1
    assert acc.amplify_replacement(replace=Bound(1), addition=1, p=p).epsilon < Fraction(2, 100)


def test_theorem_6_on_shipped_code():
    """Sampling, then noise above the truth: two-sided, edge by edge, and tight."""
    p, base = Fraction(1, 3), Counts(1, INF)

    def program(data, noise):
        count = sum(record.kind != "absent" for record in data)
        kept = int(noise.bernoulli(p, count).sum()) if count else 0
        return int(base.noisy([kept], noise=noise)[0])

    report = exact(program, od.policy.unbounded(), Universe(max_groups=0))
    promise = acc.two_sided_by_sampling(Bound(1), p=p)
    found = {edge.name: finding.loss for edge, finding in report.findings.items()}
    claimed = {edge: float(loss) for edge, loss in promise.epsilon.items()}
    assert found == pytest.approx(claimed, abs=1e-6)
    assert claimed["absent -> record"] == pytest.approx(-math.log(2 / 3))
    assert claimed["record -> absent"] == pytest.approx(math.log(1 + (math.e - 1) / 3))


@pytest.mark.parametrize("epsilon", ["1/10", 1, 3])
def test_equation_3_balances_both_directions(epsilon):
    made = acc.sample_and_noise(epsilon)
    e = float(Fraction(epsilon))
    p = 1 - math.exp(-e)
    assert float(made.upper_rate) == pytest.approx(math.log1p(math.exp(e)))
    assert math.log(1 + p * math.expm1(float(made.upper_rate))) == pytest.approx(e)
    assert made.keep_rate == Fraction(epsilon)


def test_sampling_in_the_clear_hides_absence_and_not_presence():
    p = Fraction(1, 4)

    def sample(data, noise):
        count = sum(record.kind != "absent" for record in data)
        return int(noise.bernoulli(p, count).sum()) if count else 0

    report = exact(sample, od.policy.unbounded(), Universe(units=1, max_groups=0))
    found = {edge.name: finding.loss for edge, finding in report.findings.items()}
    assert found["record -> absent"] == math.inf
    assert found["absent -> record"] == pytest.approx(float(acc.sampling_removal(p).epsilon))


@pytest.mark.parametrize("bad", [math.nan, -1, 1, "1.5", None, math.inf])
def test_bad_sampling_shares_are_refused(bad):
    for call in (
        lambda: acc.sampling_removal(bad),
        lambda: acc.sampling_addition(bad),
        lambda: acc.amplify_addition(Bound(1), p=bad),
        lambda: acc.amplify_removal(Bound(1), p=bad),
        lambda: acc.amplify_replacement(replace=Bound(1), p=bad),
        lambda: acc.sample_loss(bad, removal=True),
    ):
        with pytest.raises(errors.ParameterError):
            call()


def test_bad_bounds_are_refused():
    for parts in ((math.nan,), (math.inf,), ("x",), (1, -1), (1, math.nan), (1, 2), (None,)):
        with pytest.raises(errors.ParameterError):
            Bound(*parts)
    with pytest.raises(errors.ParameterError, match="reverse"):
        acc.amplify_addition(Bound(-1), p="1/2")
    with pytest.raises(errors.ParameterError):
        acc.amplify_removal(Bound(-1), p="1/2")
    with pytest.raises(errors.ParameterError, match="δ"):
        acc.amplify_replacement(replace=Bound(1, "1/9"), addition=1, p="1/2")
    with pytest.raises(errors.ParameterError):
        acc.extended_to_osdp(-1)
    with pytest.raises(errors.ParameterError):
        acc.sample_and_noise(0)


def test_promises_of_nothing_stay_promises_of_nothing():
    nothing = Bound(INF, 1)
    assert acc.amplify_addition(nothing, p="1/3") == Bound(0, "1/3")
    assert acc.amplify_removal(nothing, p="1/3") == acc.sampling_removal("1/3")
    assert acc.amplify_replacement(replace=nothing, p="1/3") == Bound(0, "1/3")
    assert acc.amplify_addition(Bound(5000), p="1/3") == Bound(5000)
