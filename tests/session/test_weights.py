"""Weighted counts: what is added up, on every engine, and what is said of it."""

import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import Count, Sum

ROWS = {
    "person": [1, 1, 2, 3, 4, 5],
    "place": ["a", "a", "a", "b", "b", "b"],
    "w": [2.5, 2.5, 1.0, 12.0, -3.0, None],
    "x": [1, 2, 3, 4, 5, 6],
}
BY = {"by": "place", "keys": ["a", "b"]}
WEIGHTS = {"weight": "w", "weight_bounds": (0, 10), "weight_step": "1/2"}


def opened(data, unit="person", policy=None, **more):
    policy = policy or od.policy.addition_only()
    noise = NotPrivateSeededNoise(1)
    return od.Session(data, unit=unit, policy=policy, budget=10**6, noise=noise, **more)


def test_each_unit_counts_for_its_own_clipped_weight(engine):
    session = opened(engine(ROWS))
    told = session.count(**WEIGHTS, **BY, max_groups=1, epsilon=10**4)
    assert told.estimate.tolist() == [3.5, 10]
    assert told.interval.upper_certain
    assert "clipped to 0 .. 10" in told.cut
    assert "Each 'person' counts once, with their own mean" in told.cut
    assert "Rows without a value of 'w' are left out" in told.cut
    assert told.title == "Number of units (person), weighted by w by place"
    rows = opened(engine(ROWS), unit=None).count(**WEIGHTS, **BY, epsilon=10**4)
    assert rows.estimate.tolist() == [6, 10]


def test_the_charge_is_that_of_a_sum_within_these_bounds():
    for policy in (od.policy.addition_only(), od.policy.bounded(), od.policy.unbounded()):
        session = opened(pl.DataFrame(ROWS), unit=None, policy=policy)
        plan, total = (
            session.plan(one)
            for one in (
                Count(**WEIGHTS, epsilon=1),
                Sum("w", bounds=(0, 10), step="1/2", missing="drop", epsilon=1),
            )
        )
        assert plan.charge == total.charge
        assert plan.mechanism == total.mechanism
    # Who drops one of two rows may weigh more: noise on both sides where a total has it on one.
    presence = opened(pl.DataFrame(ROWS), policy=od.policy.presence(max_groups=1))
    assert presence.plan(Count(**WEIGHTS, **BY, epsilon=1)).certain == ()


def test_one_with_other_weights_is_another_question():
    session = opened(pl.DataFrame(ROWS))
    asked = {**BY, "max_groups": 1, "epsilon": 1, "id": "weighted"}
    first = session.count(**WEIGHTS, **asked)
    assert session.count(**WEIGHTS, **asked, again=True).columns() == first.columns()
    for other in ({}, {**WEIGHTS, "weight": "x"}, {**WEIGHTS, "weight_bounds": (0, 9)}):
        with pytest.raises(errors.ReleaseExistsError):
            session.count(**other, **asked, again=True)
    read = od.session.question_from_json(od.session.question_to_json(Count(**WEIGHTS, epsilon=1)))
    assert read.weight == "w"
    assert session.plan(read).charge == session.plan(Count(**WEIGHTS, epsilon=1)).charge


def test_a_ratio_to_weights_takes_no_unit_for_a_whole_one():
    """A weight may be less than 1, and so may what is divided by."""
    few = pl.DataFrame({"w": [0.5], "x": [4]})
    session = opened(few, unit=None, policy=od.policy.bounded())
    asked = {"epsilon": 40}
    told = session.ratio(Sum("x", bounds=(0, 9), **asked), Count(**WEIGHTS, **asked))
    assert told.upper[0] >= 8


def test_a_look_at_the_rows_says_how_many_weights_lie_outside():
    told = opened(pl.DataFrame(ROWS)).inspect(Count(**WEIGHTS, **BY, max_groups=1, epsilon=1))
    assert (told.values_outside_bounds, told.values_missing) == (2, 1)


def test_plans_try_it_on_a_public_table():
    session = opened(pl.DataFrame(ROWS))
    plan = session.plan(Count(**WEIGHTS, **BY, max_groups=1, epsilon=1), like=pl.DataFrame(ROWS))
    assert plan.options[0].error > 0


def test_a_histogram_has_no_weights():
    session = opened(pl.DataFrame(ROWS))
    with pytest.raises(errors.ParameterError, match="not for histograms"):
        session.histogram("x", bins=[0, 3, 9], epsilon=1, max_groups=1, **WEIGHTS)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"weight_bounds": None}, "do not go together"),
        ({"weight": None}, "do not go together"),
        ({"correction": "none"}, "do not go together"),
        ({"weight_bounds": (-1, 4)}, "never negative"),
        ({"weight_bounds": (4, 1)}, "not below the highest"),
        ({"weight_bounds": (0, float("nan"))}, "finite"),
        ({"weight_step": 0}, "step"),
        ({"weight": "place"}, "not numbers"),
        ({"weight": "town"}, "no column"),
    ],
)
def test_what_is_no_weight_is_refused_before_the_charge(change, says):
    session = opened(pl.DataFrame(ROWS))
    with pytest.raises(errors.OnesidedError, match=says):
        session.count(**{**WEIGHTS, **change}, epsilon=1)
    assert not any(session.spent.values())
