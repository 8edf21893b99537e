"""Sums of values of which few fill 64 bits: exact on every engine, and cut at 2^62."""

import math
import random

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import Mean, Quantile, Sum

FAR = 2**52
EPSILON = 2**10
WIDE = 2**46  # of which a mean has noise at a rate that can be drawn


def session(table, policy=None, **more):
    noise = NotPrivateSeededNoise(7)  # ε is beyond what production answers
    given = {"unit": "person", "budget": 2**60, "noise": noise, **more}
    return od.Session(table, policy=policy or od.policy.unbounded(), **given)


def read(asked, question):
    return asked._prepared(question, asked._context()).read()


def clipped(value, low, high):
    return max(low, min(high, value))


@pytest.mark.parametrize("bounds", [(0, WIDE), (-WIDE // 2, WIDE // 2), (-(2**31), 2**40), (0, 7)])
def test_sums_and_means_are_those_of_whole_numbers(engine, bounds):
    rng, (low, high) = random.Random(str(bounds)), bounds
    values = [rng.choice((low, high, rng.randint(low, high), 3 * high)) for _ in range(60)]
    rows = {"person": [place // 3 for place in range(60)], "v": values}
    asked = session(engine(rows))
    near = [clipped(value, min(low, 0), max(high, 0)) for value in values]
    each = [clipped(sum(near[i : i + 3]), low, high) for i in range(0, 60, 3)]
    assert read(asked, Sum("v", of="units", total_bounds=bounds, epsilon=EPSILON)).tolist() == [
        sum(each)
    ]
    inside = [clipped(value, low, high) for value in values]
    means = [(sum(inside[i : i + 3]) - 3 * low) // 3 + low for i in range(0, 60, 3)]
    found = read(asked, Mean("v", bounds=bounds, epsilon=EPSILON))
    centre = asked._prepared(Mean("v", bounds=bounds, epsilon=EPSILON), asked._context()).plan
    assert found.total.tolist() == [sum(means) - 20 * centre.mechanism.centre]
    rows = read(asked, Mean("v", bounds=bounds, of="rows", max_rows=3, epsilon=EPSILON))
    assert rows.count.tolist() == [60]
    ((_, counts),) = read(asked, Quantile("v", bounds=(0, 2**39), epsilon=1))
    assert sum(counts.tolist()) == 20


def test_a_sum_past_2_62_is_cut_and_its_certain_bound_says_nothing_more():
    """Cut sums move no further than sums: it is answered, and only where it was cut is it open."""
    for number, least in ((1000, 1000 * FAR), (5000, math.inf)):
        asked = session(
            pl.DataFrame({"person": range(number), "v": FAR}), od.policy.addition_only()
        )
        release = asked.sum("v", of="units", total_bounds=(0, FAR), epsilon=2**40)
        assert release.upper_certain
        assert release.upper[0] >= least
    table = pl.DataFrame({"person": range(5000), "v": -FAR})
    low = session(table, od.policy.removal_only()).sum(
        "v", of="units", total_bounds=(-FAR, 0), epsilon=2**40
    )
    assert low.upper_certain or low.lower[0] == -math.inf


def test_a_mean_of_sums_that_were_cut_stays_within_the_bounds():
    most = 4 * WIDE
    table = pl.DataFrame({"person": range(40_000), "v": most})
    release = session(table).mean("v", bounds=(0, most), epsilon=EPSILON)
    assert release.lower[0] <= most == release.upper[0]
    assert np.isfinite(release.estimate[0])


@pytest.mark.parametrize("step", ["1e-300", "1e300", 2**401])
def test_steps_whose_sums_are_no_floats_are_refused_by_public_facts(step):
    """A few rows were answered, and many overflowed a float after the charge."""
    ends = (0, step if isinstance(step, int) else str(step))
    with pytest.raises(errors.ParameterError, match=r"2\^400"):
        session(pl.DataFrame({"person": [1], "v": [1.0]})).sum(
            "v", of="units", total_bounds=ends, step=step, epsilon=1
        )


def test_a_question_that_asserts_something_of_rows_is_not_charged_unseen():
    asked = session(pl.DataFrame({"person": [1], "v": [None]}, schema_overrides={"v": pl.Int64}))
    for question in (
        Sum("v", of="units", total_bounds=(0, 1), epsilon=1, id="a"),
        od.Count(by="v", keys=[1], max_groups=1, on_excess="error", epsilon=1, id="b"),
    ):
        with pytest.raises(errors.ParameterError, match="asserts"):
            asked.charge(question)
        assert not any(asked.spent.values())
