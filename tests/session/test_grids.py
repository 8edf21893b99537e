"""A float names a place on a grid at its decimal value; equal bins hold both their bounds."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import Histogram, Quantile, Sum, question_from_json, question_to_json
from onesided.session._recall import identity_of

pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")

ENGINES = {
    "polars": lambda frame: frame,
    "lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "arrow": lambda frame: frame.to_arrow(),
    "duckdb": lambda frame: pytest.importorskip("duckdb").from_arrow(frame.to_arrow()),
}


def session(data, **more):
    given = {"unit": "id", "policy": od.policy.addition_only(), "budget": 10**6, **more}
    return od.Session(data, noise=NotPrivateSeededNoise(3), **given)


@pytest.mark.parametrize("step", [0.1, "0.1", np.float64(0.1), Fraction(1, 10), Decimal("0.1")])
def test_a_step_is_its_decimal_value(step):
    made = session(pl.DataFrame({"id": [1, 2], "x": [0.3, 0.25]}))
    told = made.sum("x", of="units", total_bounds=(0.1, 0.7), step=step, epsilon=1000)
    assert told.value == pytest.approx(0.6)
    assert made.plan(
        Sum("x", of="units", total_bounds=("0.1", "0.7"), step="1/10", epsilon=1)
    ).charge


def test_a_question_is_read_back_with_the_grid_it_has():
    asked = Sum("x", of="units", total_bounds=(0.1, 0.7), step=0.1, epsilon=0.1)
    assert asked.step == Fraction(1, 10)
    assert question_from_json(question_to_json(asked)) == asked
    candidates = Quantile("x", candidates=[0.1, 0.2], epsilon=1).candidates
    assert candidates == [Fraction(1, 10), Fraction(1, 5)]


def test_a_schema_takes_floats_at_their_decimal_value():
    known = od.column("number", bounds=(0.1, 0.7), step=0.1)
    assert (known.bounds, known.step) == ((Fraction(1, 10), Fraction(7, 10)), Fraction(1, 10))


@pytest.mark.parametrize("step", [float("nan"), float("inf"), 0.0, -0.1])
def test_a_step_that_is_none_is_refused(step):
    made = session(pl.DataFrame({"id": [1], "x": [0.3]}))
    with pytest.raises(errors.ParameterError, match="step"):
        made.sum("x", of="units", total_bounds=(0, 1), step=step, epsilon=1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [pl.Int64, pl.UInt8, pl.Float64])
def test_equal_bins_are_those_of_numpy(engine, kind):
    values = [0, 1, 2, 3, 4, 5, 5, 6]
    frame = pl.DataFrame({"id": range(8), "rating": pl.Series(values, dtype=kind)})
    release = session(ENGINES[engine](frame)).histogram(
        "rating", bins=4, bounds=(1, 5), epsilon=1000, max_groups=1, on_excess="error"
    )
    assert release.estimate.tolist() == np.histogram(values, bins=4, range=(1, 5))[0].tolist()


def test_bins_by_their_edges_do_not_hold_the_last_one():
    frame = pl.DataFrame({"id": range(3), "rating": [1, 4, 5]})
    release = session(frame).histogram("rating", bins=[1, 3, 5], epsilon=1000)
    assert release.estimate.tolist() == [1, 1]


def test_decimals_of_a_driver_are_numbers():
    values = [Decimal("1.50"), Decimal("2.25"), None, Decimal("NaN")]
    made = session(pd.DataFrame({"id": [1, 2, 3, 4], "v": values}))
    told = made.sum(
        "v", of="units", total_bounds=(0, 10), step="0.01", missing="drop", epsilon=5000
    )
    assert told.value == pytest.approx(3.75)
    assert made.count(where="v * v > 5", epsilon=1000).value == 1


@pytest.mark.parametrize(
    "other", ["x", 1.5, Decimal("0.1234567891"), Decimal("1e30"), Decimal("Infinity")]
)
def test_decimals_beside_anything_else_are_refused_by_name(other):
    made = session(pd.DataFrame({"id": [1, 2], "v": [Decimal(1), other]}))
    with pytest.raises(errors.DataError, match="'v' holds") as caught:
        made.sum("v", of="units", total_bounds=(0, 10), epsilon=1)
    assert "decimals as text" in caught.value.hint or "Decimal" in str(caught.value)


def test_an_answer_of_before_is_no_answer_of_closed_bins():
    """The last of equal bins once left out its end; the same words mean something else now."""
    frame = pl.DataFrame({"id": range(3), "rating": [1, 4, 5]})
    made = session(frame)
    context = made._context()

    def closed(question):
        return "closed" in str(identity_of(question, made._prepared(question, context), context))

    assert closed(Histogram("rating", bins=2, bounds=(1, 5), epsilon=1))
    assert not closed(Histogram("rating", bins=[1, 3, 5], epsilon=1))


@pytest.mark.parametrize("whole", [True, False])
def test_an_id_of_before_is_refused_with_what_changed(tmp_path, monkeypatch, whole):
    frame = pl.DataFrame({"id": range(3), "rating": [1, 4, 5]})
    asked = Histogram("rating", bins=2, bounds=(1, 5), epsilon=1)
    asked = asked if whole else od.session.Several([asked, od.Count(epsilon=1)])
    asked = replace(asked, id="monday")
    made = session(frame, ledger=tmp_path / "ledger.db")
    with monkeypatch.context() as before:
        before.setattr(Histogram, "meaning", {})
        made.ask(asked)
    for ask in (made.ask, made.answer):
        with pytest.raises(errors.ReleaseExistsError, match="another question") as caught:
            ask(replace(asked, again=True))
        assert "The last of equal bins holds the highest value now" in caught.value.hint
