"""Rows that must rise: the nearest that do, and never farther from the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onesided import errors
from onesided.mechanism import isotonic

ROW = st.lists(st.integers(-20, 20), min_size=1, max_size=9)


def by_definition(values, weights):
    """The largest least mean of the stretches around each place (Barlow et al. 1972)."""
    many = len(values)

    def mean(start, end):
        part = slice(start, end + 1)
        return np.average(values[part], weights=weights[part])

    return [max(min(mean(a, b) for b in range(i, many)) for a in range(i + 1)) for i in range(many)]


@given(ROW, st.data())
@settings(deadline=None)
def test_it_is_the_nearest_row_that_never_falls(values, data):
    weights = data.draw(st.lists(st.integers(1, 5), min_size=len(values), max_size=len(values)))
    found = isotonic(values, weights)
    assert found.tolist() == pytest.approx(by_definition(values, weights))
    assert (np.diff(found) >= -1e-12).all()


@given(ROW, ROW)
def test_it_is_never_farther_from_what_rises(values, truth):
    many = min(len(values), len(truth))
    noisy, rising = np.array(values[:many]), np.sort(truth[:many])
    found = isotonic(noisy)
    assert ((found - rising) ** 2).sum() <= ((noisy - rising) ** 2).sum() + 1e-9


def test_rows_are_taken_by_themselves():
    table = isotonic([[2, 1, 5], [1, 2, 3]], [1, 1, 1])
    assert table.tolist() == [[1.5, 1.5, 5], [1, 2, 3]]
    assert isotonic([]).size == 0


@pytest.mark.parametrize(
    ("values", "weights"),
    [([1, float("nan")], None), ([[[1]]], None), ([1, 2], [1, 0]), ([1], [[1], [2]])],
)
def test_what_is_no_row_is_refused(values, weights):
    with pytest.raises(errors.DataError):
        isotonic(values, weights)
