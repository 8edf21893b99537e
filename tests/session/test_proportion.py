"""The mean of a column of true and false is a proportion, on every engine."""

import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import Mean

ROWS = {
    "person": [1, 1, 1, 2, 3, 4],
    "place": ["a", "a", "b", "a", "b", "b"],
    "ill": [True, False, True, True, False, None],
    "n": [1, 0, 1, 1, 0, None],
}
BY = {"by": "place", "keys": ["a", "b"], "max_groups": 2, "on_excess": "error"}


def opened(data, unit="person", **more):
    given = {"policy": od.policy.addition_only(), "budget": 10**6, **more}
    return od.Session(data, unit=unit, noise=NotPrivateSeededNoise(1), **given)


def test_a_proportion_is_that_of_each_engine(engine):
    session = opened(engine(ROWS))
    # Of one the half of two rows, of the others all or none; who has no value is left out.
    told = session.mean("ill", missing="drop", epsilon=10**5, **BY)
    assert told.estimate.tolist() == pytest.approx([0.75, 0.5], abs=1e-3)
    rows = session.mean("ill", of="rows", max_rows=2, missing="drop", epsilon=500, **BY)
    assert rows.estimate.tolist() == pytest.approx([2 / 3, 1 / 2], abs=1e-3)
    with pytest.raises(errors.DataError, match="has no value in 'ill'"):
        session.mean("ill", epsilon=1, **BY)


def test_it_is_priced_as_the_mean_of_ones_and_zeros():
    session = opened(pl.DataFrame(ROWS), unit=None)
    asked = {"missing": "drop", "epsilon": 1, "by": "place", "keys": ["a", "b"]}
    told, plain = (
        session.plan(Mean(name, bounds=bounds, **asked))
        for name, bounds in (("ill", None), ("n", (0, 1)))
    )
    assert told.charge == plain.charge
    assert told.mechanism == plain.mechanism
    public = pl.DataFrame(ROWS)
    assert [one.name for one in session.plan(Mean("ill", **asked), like=public).options][:1] == [
        "Mean"
    ]
    spread = session.variance("ill", **(asked | {"epsilon": 900}))
    assert spread.estimate.tolist() == pytest.approx([2 / 9, 1 / 4], abs=1e-2)


def test_other_bounds_and_other_questions_are_refused():
    session = opened(pl.DataFrame(ROWS))
    with pytest.raises(errors.ParameterError, match="true and false"):
        session.mean("ill", bounds=(0, 2), missing="drop", epsilon=1)
    with pytest.raises(errors.DataError, match="not numbers"):
        session.sum("ill", of="units", total_bounds=(0, 1), epsilon=1)
    assert not any(session.spent.values())
