"""Directed divergences: never below full enumeration, hardly above it, each direction its own."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onesided import accounting as acc
from onesided import errors
from onesided._numbers import INFINITE, ORDERS
from onesided.ledger import Ledger
from onesided.mechanism import Counts
from onesided.policy import Shift

EDGE = "a -> b"
NONE = {EDGE: Fraction(0)}
rates = st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2)])


def enumerated(upper, lower, shifts):
    """D_α of counts moved by these shifts each, summed over all answers."""
    total, (a, b) = [0.0] * len(ORDERS), (float(upper), float(lower))
    far = int(60 / min(a, b))
    norm = math.log((1 - math.exp(-a)) * (1 - math.exp(-b)) / (1 - math.exp(-a - b)))

    def height(n):
        return -a * n if n >= 0 else b * n

    for shift in shifts:
        for k, order in enumerate(ORDERS):
            terms = [
                norm + height(n) + (order - 1) * (height(n) - height(n + shift))
                for n in range(-far, far + 1)
            ]
            top = max(terms)
            total[k] += (top + math.log(sum(math.exp(t - top) for t in terms))) / (order - 1)
    return total


@settings(max_examples=25, deadline=None)
@given(rates, rates, st.integers(0, 4), st.integers(0, 4))
def test_noise_on_counts_as_enumerated(upper, lower, rise, fall):
    counts, shift = Counts(upper, lower), Shift(rise=rise, fall=fall)
    epsilon = {EDGE: counts.loss(shift)}
    note = acc.noise_note(counts, {EDGE: [shift]})
    told = acc.charge_divergences({"noise": note}, epsilon=epsilon, delta=NONE)[EDGE]
    due = enumerated(upper, lower, [fall, -rise])
    for one, exact in zip(told, due, strict=True):
        assert -1e-9 <= float(one) - exact <= 1e-9
        assert one <= acc.divergences(acc.certain_loss(epsilon[EDGE]))[0]
        assert one.denominator <= 2**64


def test_a_direction_is_not_its_reverse():
    there = acc.divergences(acc.two_sided_loss(2, "1/8", fall=1))
    back = acc.divergences(acc.two_sided_loss("1/8", 2, fall=1))
    assert all(one > 2 * other for one, other in zip(there[3:], back[3:], strict=True))


def test_the_worst_of_several_shifts_counts_at_each_order():
    counts, shifts = Counts(1, "1/2"), [Shift(rise=2, fall=0), Shift(rise=0, fall=1)]
    note = acc.noise_note(counts, {EDGE: shifts})
    told = acc.charge_divergences({"noise": note}, epsilon={EDGE: Fraction(1)}, delta=NONE)[EDGE]
    each = [enumerated(1, Fraction(1, 2), [shift]) for shift in (-2, 1)]
    assert [float(one) for one in told] == pytest.approx(
        [max(at) for at in zip(*each, strict=True)]
    )


def test_supports_that_differ_are_infinite():
    assert acc.divergences(acc.sample_loss("1/2", removal=False)) == (INFINITE,) * len(ORDERS)
    assert acc.divergences(acc.bound_loss(acc.Bound(1, "1/9"))) == (INFINITE,) * len(ORDERS)


GOOD = acc.noise_note(Counts(1, 1), {EDGE: [Shift(rise=0, fall=1)]})


@pytest.mark.parametrize(
    ("detail", "epsilon", "delta"),
    [
        ({}, 1, 0),
        ({"noise": None}, 1, 0),
        ({"noise": {**GOOD, "version": 2}}, 1, 0),
        ({"noise": GOOD}, 2, 0),
        ({"noise": GOOD}, 1, Fraction(1, 9)),
        ({"noise": acc.noise_note(Counts(1, INFINITE), {EDGE: [Shift(rise=0, fall=1)]})}, 1, 0),
    ],
)
def test_what_has_no_law_enters_at_epsilon(detail, epsilon, delta):
    told = acc.charge_divergences(detail, epsilon={EDGE: Fraction(epsilon)}, delta={EDGE: delta})
    assert told[EDGE] == (Fraction(epsilon),) * len(ORDERS)


def test_several_answers_of_one_charge_add_up():
    one, more = {EDGE: Fraction(1)}, {EDGE: Fraction(2)}
    note = acc.several_note([(GOOD, one), (GOOD, one), ({}, more)])
    told = acc.charge_divergences({"noise": note}, epsilon={EDGE: Fraction(4)}, delta=NONE)[EDGE]
    alone = acc.charge_divergences({"noise": GOOD}, epsilon=one, delta=NONE)[EDGE]
    assert told == tuple(2 * one + 2 for one in alone)


@pytest.mark.parametrize("times", [1, 100, 365])
@pytest.mark.parametrize("shift", [Shift(rise=0, fall=1), Shift(rise=2, fall=1)], ids=str)
def test_an_account_of_what_is_told_holds_so_many_and_no_more(times, shift):
    counts = Counts("1/10", "1/20")
    epsilon = {EDGE: counts.loss(shift)}
    detail = {"noise": acc.noise_note(counts, {EDGE: [shift]})}
    told = acc.repeated(detail, epsilon=epsilon, times=times, delta="1/1000000")[EDGE]
    laws = acc.charge_divergences(detail, epsilon=epsilon, delta=NONE)
    account = Ledger.open(None).account(
        policy_id="p",
        policy_toml="",
        policy_name="p",
        budget={EDGE: told.filtered},
        delta_budget={EDGE: "1/1000000"},
        accounting="renyi",
    )
    assert account.times(epsilon, divergences=laws) == times
    assert told.planned <= told.filtered <= told.added == times * epsilon[EDGE]
    many = acc.charge_loss(detail["noise"], edge=EDGE, epsilon=epsilon[EDGE]).times(times)
    assert many.delta(told.planned) <= Fraction(1, 10**6)


def test_noise_on_one_side_is_told_as_added_up():
    told = acc.repeated({}, epsilon={EDGE: Fraction(1, 10)}, times=365, delta="1e-6")[EDGE]
    assert told.added == told.filtered == Fraction(73, 2)
    assert told.planned > Fraction(364, 10)


@pytest.mark.parametrize("wrong", [{"times": 0}, {"delta": 0}, {"delta": 1}, {"delta": "nan"}])
def test_no_number_of_times_and_no_delta(wrong):
    with pytest.raises(errors.ParameterError):
        acc.repeated({}, **({"epsilon": {EDGE: Fraction(1)}, "times": 2, "delta": "1e-6"} | wrong))
