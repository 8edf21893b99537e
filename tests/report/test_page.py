"""A page refuses columns that do not fit and certificates without a bound."""

import dataclasses

import numpy as np
import pytest

from onesided.errors import ParameterError


def test_a_page_is_frozen(make_page):
    with pytest.raises(dataclasses.FrozenInstanceError):
        make_page().title = "other"


@pytest.mark.parametrize("name", ["estimate", "lower", "upper", "certified", "latitude"])
def test_every_column_is_as_long_as_the_keys(make_page, name):
    with pytest.raises(ParameterError, match=rf"{name} has shape \(2,\), but there are 30 keys"):
        make_page(**{name: np.zeros(2, bool)})


def test_a_latitude_needs_a_longitude(make_page):
    with pytest.raises(ParameterError, match="only one of latitude and longitude"):
        make_page(longitude=None)


@pytest.mark.parametrize("changes", [{"threshold": None}, {"upper_certain": False}])
def test_a_certificate_needs_a_threshold_and_a_certain_bound(make_page, changes):
    with pytest.raises(ParameterError, match="needs a threshold and a certain upper bound"):
        make_page(**changes)


def test_a_wrong_certificate_is_never_printed(make_page):
    with pytest.raises(
        ParameterError, match=r"'Place 0' is certified to have at most 5, but .* 29"
    ):
        make_page(certified=np.ones(30, bool))


def test_a_bound_that_is_not_a_number_certifies_nothing(make_page):
    upper = np.full(30, np.nan)
    with pytest.raises(ParameterError, match="its upper bound is nan"):
        make_page(upper=upper, certified=np.arange(30) == 4)


@pytest.mark.parametrize(
    ("upper", "lower", "side"),
    [
        (True, True, "upper"),
        (True, False, "upper"),
        (False, True, "lower"),
        (False, False, "estimate"),
    ],
)
def test_the_side_worth_drawing_is_a_certain_one(make_page, upper, lower, side):
    page = make_page(upper_certain=upper, lower_certain=lower, certified=None)
    assert page.main_side == side
