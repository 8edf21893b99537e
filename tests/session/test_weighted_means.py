"""Means weighted by a column: exact without noise, priced once, within their intervals."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.covering import drawn

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import Mean, question_from_json, question_to_json

ROWS = {
    "person": [1, 1, 2, 3, 3, 4, 5],
    "place": ["a", "a", "a", "a", "b", "b", None],
    "age": [10, 20, 40, 60, 30, 99, 50],
    "w": [3, 4, 2, 0, 900, None, 1],
    "ok": [True, False, True, False, True, True, True],
}
ASKED = {"weight": "w", "weight_bounds": (0, 10)}


def session(data, policy=None, **more):
    noise = NotPrivateSeededNoise(7)  # ε is beyond what production answers
    chosen = od.policy.unbounded() if policy is None else policy
    return od.Session(
        data, **{"unit": "person", "policy": chosen, "budget": 10**6, "noise": noise, **more}
    )


def test_each_unit_counts_for_its_own_weight(engine):
    made = session(engine(ROWS))
    here = {"by": "place", "keys": ["a", "b"], "max_groups": 2}
    found = made.mean("age", bounds=(0, 99), epsilon=10**5, **ASKED, **here)
    # 1 has 15 by 3, of 3.5; 3 has no weight at a, and 10, of 900, at b; 4 has none at all.
    wanted = [(3 * 15 + 2 * 40) / 5, 30]
    assert found.estimate == pytest.approx(wanted, abs=1e-9)
    assert "Rows without a value of 'w' are left out" in found.cut
    assert "weighted by w" in str(found)
    alone = made.mean("age", bounds=(0, 99), epsilon=10**5, **ASKED)
    # 3 has 45 by 5, of 0 and 10; 5 has 50 by 1, without a place.
    assert alone.value == pytest.approx((3 * 15 + 2 * 40 + 5 * 45 + 50) / 11, abs=1e-9)


def test_rows_as_units_and_shares(engine):
    made = session(engine(ROWS), unit=None)
    found = made.mean("ok", epsilon=9000, **ASKED)
    assert found.value == pytest.approx((3 + 2 + 10 + 1) / 20, abs=1e-9)
    steps = made.mean("age", bounds=(0, 100), step=10, weight_step="1/2", epsilon=1, **ASKED)
    assert 0 <= steps.value <= 100


@pytest.mark.parametrize(
    ("policy", "most"),
    [
        (od.policy.addition_only(), 1),
        (od.policy.removal_only(), 1),
        (od.policy.unbounded(), 1),
        (od.policy.bounded(), 2),
        (od.policy.presence(max_groups=1), 2),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_the_largest_weight_times_one_span_is_the_price_of_both_sums(policy, most):
    plan = session(pl.DataFrame(ROWS), policy).plan(Mean("age", bounds=(0, 99), epsilon=1, **ASKED))
    assert set(plan.charge.values()) == {1}
    parts = plan.mechanism.all.values()
    rates = [
        one
        for part in parts
        for one in (part.mechanism.upper_rate, part.mechanism.lower_rate)
        if one != od.INFINITE
    ]
    assert set(rates) == {Fraction(1, 990 * most)}


def test_what_no_move_changes_is_told_exactly():
    policy = od.policy.custom(
        kinds=("vip", "staff", "guest"),
        edges=[("vip", "guest", 1)],
        rules=[("vip", "person > 3"), ("staff", "person < 3")],
        default="guest",
    )
    found = session(pl.DataFrame(ROWS), policy).mean(
        "age", bounds=(0, 99), epsilon=1, counted="staff", **ASKED
    )
    assert found.lower[0] <= (3 * 15 + 2 * 40) / 5 <= found.upper[0]
    assert (found.lower[0], found.upper[0]) == pytest.approx((25, 25), abs=1e-9)
    assert found.interval.lower_certain
    assert found.interval.upper_certain


def test_intervals_hold_as_often_as_they_say():
    # 500 means; 95 % of them hold at least: six deviations below is 445 (false alarm 1e-9).
    rng = np.random.default_rng(3)
    table = {"age": rng.integers(0, 100, 60), "w": rng.integers(0, 12, 60)}
    heavy = np.minimum(table["w"], 10)
    truth = float((heavy * table["age"]).sum() / heavy.sum())
    made = session(pl.DataFrame(table), od.policy.bounded(), unit=None)
    told = drawn(made, Mean("age", bounds=(0, 100), epsilon=1, **ASKED), 500)
    assert sum(one.lower[0] <= truth <= one.upper[0] for one in told) > 445
    assert all(0 <= one.value <= 100 for one in told)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"weight": "w"}, errors.ParameterError),
        ({"weight_bounds": (0, 1)}, errors.ParameterError),
        ({"weight_step": 1}, errors.ParameterError),
        ({**ASKED, "weight": "age"}, errors.ParameterError),
        ({**ASKED, "weight": "place"}, errors.DataError),
        ({**ASKED, "weight": "nope"}, errors.UnknownColumnError),
        ({**ASKED, "weight_bounds": (-1, 2)}, errors.ParameterError),
        ({**ASKED, "weight_bounds": (0, 0)}, errors.ParameterError),
        ({**ASKED, "weight_bounds": (0, 2**50)}, errors.ParameterError),
        ({**ASKED, "weight_step": "1/3", "weight_bounds": (0, "1/2")}, errors.ParameterError),
        ({**ASKED, "of": "rows", "max_rows": 2}, errors.ParameterError),
    ],
)
def test_weights_that_cannot_be_meant(given, error):
    made = session(pl.DataFrame(ROWS))
    with pytest.raises(error):
        made.mean("age", bounds=(0, 99), epsilon=1, **given)
    assert not any(made.spent.values())


def test_a_variance_has_no_weights():
    with pytest.raises(errors.ParameterError, match="variance"):
        session(pl.DataFrame(ROWS)).variance("age", bounds=(0, 99), epsilon=1, **ASKED)


def test_it_is_another_question_and_read_back_the_same():
    asked = Mean("age", bounds=(0, 99), epsilon=1, id="m", **ASKED)
    assert question_from_json(question_to_json(asked)) == asked
    made = session(pl.DataFrame(ROWS))
    first = made.ask(asked)
    assert made.mean("age", bounds=(0, 99), epsilon=1, id="m", again=True, **ASKED).told_again
    with pytest.raises(errors.ReleaseExistsError):
        made.mean("age", bounds=(0, 99), epsilon=1, id="m", again=True)
    assert first.entry
