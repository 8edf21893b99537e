"""The figures show the released numbers, and nothing that could ask the network."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onesided.report._figures import (
    SVG_LIMIT,
    bounds_figure,
    map_figure,
    next_round,
    plain,
)


def test_the_map_has_one_marker_per_located_place(make_page):
    page = make_page()
    page.latitude[:3] = math.nan
    (trace,) = map_figure(page)["data"]
    assert trace["type"] == "scatter"
    assert trace["customdata"] == list(range(3, 30))
    assert trace["marker"]["color"] == page.certified[3:].astype(int).tolist()
    shapes = dict(zip(trace["marker"]["color"], trace["marker"]["symbol"], strict=True))
    assert shapes == {0: "diamond", 1: "circle"}


def test_without_positions_there_is_no_map(make_page):
    assert map_figure(make_page(latitude=None, longitude=None)) is None
    assert map_figure(make_page(latitude=np.full(30, np.nan))) is None


def test_the_map_keeps_the_shape_of_the_land(make_page):
    scale = map_figure(make_page(latitude=np.linspace(59.9, 60.1, 30)))["layout"]["yaxis"]
    assert scale["scaleanchor"] == "x"
    assert scale["scaleratio"] == pytest.approx(2, rel=0.01)  # 1 / cos 60°


def test_many_markers_are_left_to_the_graphics_card(make_page):
    (trace,) = map_figure(make_page(count=SVG_LIMIT + 1))["data"]
    assert trace["type"] == "scattergl"


def test_one_place_and_two_places_in_one_spot_have_a_map(make_page):
    for count in (1, 2):
        page = make_page(count=count, latitude=np.full(count, 47.0), longitude=np.full(count, 8.0))
        low, high = map_figure(page)["layout"]["xaxis"]["range"]
        assert low < 8 < high


def test_names_in_the_map_are_text_for_plotly_too(make_page, hostile):
    (trace,) = map_figure(make_page(names=hostile))["data"]
    for text in trace["hovertext"]:
        inside = text.removeprefix("<b>").split("</b>")[0]
        assert "<" not in inside
        assert ">" not in inside


def test_without_a_threshold_the_map_is_coloured_by_value(make_page):
    page = make_page(threshold=None, certified=None)
    marker = map_figure(page)["data"][0]["marker"]
    assert marker["color"] == page.upper.tolist()
    assert marker["colorscale"] == "Cividis"


numbers = st.floats(-1e6, 1e6) | st.integers(-1000, 1000)


@given(st.lists(numbers, min_size=1, max_size=60), st.none() | st.integers(-5, 50))
def test_every_bound_is_in_one_bar_and_no_bar_straddles_the_threshold(values, threshold):
    from onesided.report import Page

    upper = np.array(values)
    page = Page(
        title="",
        question="",
        keys=("",) * upper.size,
        key_name="place",
        estimate=upper,
        lower=upper,
        upper=upper,
        lower_certain=False,
        upper_certain=True,
        threshold=threshold,
        certified=None if threshold is None else upper <= threshold,
    )
    figure = bounds_figure(page)
    json.dumps(figure, allow_nan=False)
    (bars,) = figure["data"]
    assert sum(bars["y"]) == upper.size
    if threshold is not None:
        heights = zip(bars["y"], bars["marker"]["color"], strict=True)
        blue = sum(height for height, colour in heights if colour == "var(--certified)")
        certified = int(page.certified.sum())
        # Never more blue than certified; and no less, unless the gathering bar holds both kinds.
        assert blue <= certified
        whole = (upper == np.round(upper)).all()
        if whole and np.quantile(upper, 0.98) > threshold:
            assert blue == certified


def test_bounds_that_are_missing_are_left_out(make_page):
    upper = np.array([3.0, math.inf, math.nan])
    page = make_page(count=3, upper=upper, certified=upper <= 5)
    assert sum(bounds_figure(page)["data"][0]["y"]) == 1
    assert bounds_figure(make_page(count=3, upper=np.full(3, np.inf), certified=None)) is None


@given(st.floats(1e-9, 1e12))
def test_a_round_number_is_close_above(value):
    assert value * (1 - 1e-6) <= next_round(value) <= value * 2.5 * (1 + 1e-6)


def test_numbers_are_written_for_people():
    assert [plain(v) for v in (1204.0, -3.0, 0.25, 1234567.0)] == [
        "1,204",
        "-3",
        "0.25",
        "1,234,567",
    ]
