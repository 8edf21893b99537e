"""A chart as SVG is XML of a closed list of elements, escapes names and holds every number."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from onesided.show import Bars, Chart, Dots, Heat, Lines, Places, Side, svg_text

HOSTILE = "<script>alert(1)</script>\"'&\u202e"
ELEMENTS = {"svg", "line", "circle", "rect", "text", "title", "polyline"}


def side(values, certain):
    return Side(values=np.array(values, dtype=float), certain=np.array(certain), confidence="95 %")


SHAPES = {
    "dots": Dots(
        labels=["gym", HOSTILE, "x" * 200],
        estimate=np.array([3.0, -1.5, np.nan]),
        lower=side([1, -4, 0], [False, False, False]),
        upper=side([4, np.inf, 9], [True, False, True]),
    ),
    "no dots": Dots(labels=[], estimate=np.array([])),
    "bars": Bars(
        left=np.array([0.0, 18.0]),
        right=np.array([18.0, 65.0]),
        estimate=np.array([3.0, 9.0]),
        upper=side([5, 12], [True, False]),
    ),
    "heat": Heat(
        across=["Mo", HOSTILE],
        down=["gym", "bar"],
        values=np.array([[3.0, np.nan], [0.0, 7.0]]),
        across_name="day",
        down_name="place",
    ),
    "heat of nothing": Heat(
        across=["Mo"],
        down=["gym"],
        values=np.array([[np.nan]]),
        across_name="day",
        down_name="place",
    ),
    "places": Places(
        labels=["gym", HOSTILE],
        latitude=np.array([47.0, 47.1]),
        longitude=np.array([8.0, 8.2]),
        values=np.array([3.0, np.nan]),
    ),
    "one place": Places(
        labels=["gym"], latitude=np.array([47.0]), longitude=np.array([8.0]), values=np.array([3.0])
    ),
    "lines": Lines(x=["Mo", HOSTILE], y={HOSTILE: np.array([3.0, np.nan])}, x_name="day"),
    "powers": Lines(
        x=[0.1, 1, 10], y={"error": np.array([40.0, 4.0, 0.4])}, x_name="ε", logarithmic=True
    ),
}


def elements(drawn):
    return ET.fromstring(drawn)  # noqa: S314 - our own text


@pytest.mark.parametrize("width", [340, 720])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_picture_is_plain_svg_within_its_frame(shape, width):
    drawn = svg_text(Chart(title=HOSTILE, shape=shape, value_name="people & co"), width=width)
    root = elements(drawn)
    found = list(root.iter())
    assert {one.tag.rpartition("}")[2] for one in found} <= ELEMENTS
    for one in found:
        assert "style" not in one.attrib
        assert not [name for name in one.attrib if name.startswith("on") or "href" in name]
    assert "nan" not in re.sub(r"<title>.*?</title>|<text.*?</text>", "", drawn)
    height = float(root.get("height"))
    for one in found:
        for name in ("x", "x1", "x2", "cx"):
            assert -1 <= float(one.get(name, 0)) <= width + 1
        for name in ("y", "y1", "y2", "cy"):
            assert -1 <= float(one.get(name, 0)) <= height + 1


def test_certain_and_unsure_bounds_do_not_look_alike():
    drawn = svg_text(Chart(title="Counts", shape=SHAPES["dots"], value_name="people"))
    assert drawn.count('fill="none" stroke="var(--unsure') == 3  # rings: 3 lower; no infinite upper
    assert drawn.count('stroke="var(--certain') == 4  # a line and a cap for each of two


def test_longer_bars_are_larger_numbers():
    root = elements(svg_text(Chart(title="Ages", shape=SHAPES["bars"], value_name="people")))
    small, large = (float(one.get("height")) for one in root.iter() if one.tag.endswith("rect"))
    assert large == pytest.approx(3 * small, abs=0.2)
