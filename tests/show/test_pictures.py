"""Every picture: room for the data, words that touch no other, nothing hidden, nothing that runs.

How wide words are is estimated by the letters of common fonts; a browser was asked, too.
"""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from onesided.errors import OutputError, ParameterError
from onesided.show import (
    Bars,
    Chart,
    Dots,
    Heat,
    Limit,
    Lines,
    Panels,
    Picture,
    Places,
    Side,
    figure,
    outline_around,
    svg_text,
)
from onesided.show._svg import _ticks

HOSTILE = "<script>alert(1)</script>\"'&\u202e"
LONG = "a place with a very long name, the Sports Hall of the Municipality of Neustadt"
ELEMENTS = {"svg", "g", "line", "circle", "rect", "text", "title", "desc", "polyline", "path"}
WORDS = {
    "title": "Number of people with a positive test by place and all others, where week = 47",
    "value_name": "quantiles 1/4, 1/2, 3/4 of the time between visits (minutes)",
    "first": ("Rows without a value of 'place' are in no group.",),
    "caption": "Under the policy 'presence' -- present -> not present: ε = 1. About the data.",
}
SIZES, WIDTHS = (1, 5, 50, 5_000), (360, 700, 1_200)


def side(values, *, certain=False):
    certain = np.broadcast_to(np.array(certain, dtype=bool), np.shape(values)).copy()
    return Side(values=np.array(values, dtype=float), certain=certain, confidence="95 %")


def _dots(size, random):
    estimate = np.round(random.gamma(1.2, 300, size))
    return {
        "labels": [
            LONG if row == 1 else HOSTILE if row == 2 else f"place {row}" for row in range(size)
        ],
        "estimate": estimate,
        "lower": side(estimate - 40),
        "upper": side(estimate + random.integers(5, 60, size), certain=True),
    }


def _only_bounds(size, random):
    told = _dots(size, random)
    mixed = side(told["upper"].values, certain=random.random(size) < 0.5)
    words = {"label_name": "place · age", "limits": (Limit.of("at most", 300, size),)}
    return Dots(labels=told["labels"], estimate=np.full(size, np.nan), upper=mixed, **words)


def _far_from_zero(size, random):
    told = {**_dots(size, random), "estimate": 1950.25 + random.random(size)}
    bounds = {"lower": side(told["estimate"] - 0.3), "upper": side([np.inf] * size)}
    return Dots(**(told | bounds))


def _bars(size, random):
    told, edges = _dots(size, random), np.linspace(-3, 97.5, size + 1)
    del told["labels"]
    return Bars(left=edges[:-1], right=edges[1:], x_name="age (years)", **told)


def _heat(size, random):
    across = max(1, min(60, int(size**0.5)))
    down = -(-size // across)
    values = np.round(random.gamma(1.2, 300, (down, across)))
    values[0, 0] = np.nan
    names = {"across_name": "hour of the day", "down_name": HOSTILE}
    hours, places = [f"hour {n}" for n in range(across)], [f"{LONG} {n}" for n in range(down)]
    return Heat(across=hours, down=places, values=values, **names)


def _places(size, random, **more):
    where = {"latitude": 47 + random.normal(size=size), "longitude": 8 + random.normal(size=size)}
    told = _dots(size, random)
    outline = outline_around(where["latitude"], where["longitude"])
    values = {"labels": told["labels"], "values": told["estimate"], "outline": outline}
    return Places(**values, **where, **more)


def _lines(size, random):
    names = [f"2026-11-{n % 28 + 1:02} {n % 24:02}:00" for n in range(size)]
    curves = {"rows": random.gamma(1.2, 300, size), HOSTILE: random.gamma(1.2, 300, size)}
    curves["rows"][0] = np.nan
    return Lines(x=names, y=curves, x_name="day", steps=True)


def _panels(size, random):
    times, told = [f"2026-11-{n + 1:02}" for n in range(14)], _dots(14 * size, random)
    told["upper"].certain[::3] = False
    names = _dots(size, random)["labels"]
    apart = {"limits": (Limit.of("at most", 200, 14 * size),), "decided": told["upper"].certain}
    return Panels(labels=names, times=times, dots=Dots(**told, **apart))


KINDS = {
    "dots": lambda size, random: Dots(**_dots(size, random), label_name="place"),
    "bounds": _only_bounds,
    "far": _far_from_zero,
    "bars": _bars,
    "heat": _heat,
    "places": _places,
    "statuses": lambda size, random: _places(size, random, certified=random.random(size) < 0.5),
    "lines": _lines,
    "panels": _panels,
    "powers": lambda size, _: Lines(
        x=np.geomspace(0.01, 20, size).tolist(),
        y={"error": 4 / np.geomspace(0.01, 20, size)},
        x_name="ε",
        logarithmic=True,
    ),
}
NOTHING = {
    "no dots": Dots(labels=[], estimate=np.array([])),
    "nothing known": Dots(labels=["gym"], estimate=np.array([np.nan])),
    "no bars": Bars(left=np.array([]), right=np.array([]), estimate=np.array([])),
    "heat of nothing": Heat(
        across=["Mo"], down=["gym"], values=np.array([[np.nan]]), across_name="day", down_name=""
    ),
    "no places": Places(
        labels=[], latitude=np.array([]), longitude=np.array([]), values=np.array([])
    ),
    "no panels": Panels(labels=[], times=[], dots=Dots(labels=[], estimate=np.array([]))),
    "no lines": Lines(x=[], y={}, x_name="day"),
}


def drawn(shape, width=700, **words):
    return svg_text(Chart(shape=shape, **(WORDS | words)), width=width)


def root_of(text):
    return ET.fromstring(text)  # noqa: S314 - our own text


def name_of(one):
    return one.tag.rpartition("}")[2]


def texts(one, x=0.0, y=0.0):
    """Where each text stands: left, top, right, bottom, and what it says."""
    moved = re.fullmatch(r"translate\(([-\d.]+) ([-\d.]+)\)", one.get("transform", ""))
    x, y = (x + float(moved[1]), y + float(moved[2])) if moved else (x, y)
    if name_of(one) == "svg":
        x += float(one.get("x", 0))
    for child in one:
        if name_of(child) != "text":
            yield from texts(child, x, y)
            continue
        size = float(child.get("font-size", 13))
        wide = 0.56 * size * len(child.text)
        left = (
            x
            + float(child.get("x"))
            - wide * {"end": 1, "middle": 0.5}.get(child.get("text-anchor"), 0)
        )
        foot = y + float(child.get("y"))
        yield left, foot - 0.75 * size, left + wide, foot + 0.2 * size, child.text


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_data_have_room_and_no_word_touches_another(kind, size, width):
    text = drawn(KINDS[kind](size, np.random.default_rng(7)), width)
    assert len(text.encode()) <= 200_000
    root = root_of(text)
    (area,) = (one for one in root.iter() if one.get("class") == "plot-area")
    height, data = float(root.get("height")), float(area.get("height"))
    assert data >= max(120, 0.6 * height)
    boxes = list(texts(root))
    assert len(boxes) < 900
    for left, top, right, bottom, said in boxes:
        assert left >= -2
        assert right <= width + 2, said
        assert -2 <= top <= bottom <= height + 2, said
    for place, one in enumerate(boxes):
        for other in boxes[:place]:
            apart = (
                one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            )
            assert apart, (one, other)


@pytest.mark.parametrize("shape", NOTHING.values(), ids=NOTHING)
def test_a_picture_of_nothing_is_a_picture(shape):
    assert root_of(drawn(shape)) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_is_plain_svg_that_says_what_it_is(kind):
    for size in (5, 5_000):
        text = drawn(KINDS[kind](size, np.random.default_rng(7)), title=HOSTILE)
        root = root_of(text)
        assert {name_of(one) for one in root.iter()} <= ELEMENTS
        for one in root.iter():
            assert "style" not in one.attrib
            assert not [name for name in one.attrib if name.startswith("on") or "href" in name]
        assert [name_of(one) for one in root][:2] == ["title", "desc"]
        assert "The table has the same numbers." in root[1].text
        assert "nan" not in re.sub(r"<(title|text|desc)\b.*?</\1>", "", text)


def test_title_and_caption_are_left_to_a_page_that_has_them():
    chart = Chart(shape=KINDS["dots"](5, np.random.default_rng(7)), **WORDS)
    said = [box[4] for box in texts(root_of(svg_text(chart, words=False)))]
    assert not [line for line in said if "positive test" in line or "policy" in line]
    assert WORDS["value_name"] in said


def test_certain_and_unsure_bounds_differ_in_shape_and_colour():
    told = {"labels": ["gym", "bar"], "estimate": np.array([3.0, 5.0])}
    sure = drawn(Dots(**told, upper=side([4, 9], certain=True)))
    unsure = drawn(Dots(**told, upper=side([4, 9])))
    assert ("bound (certain)" in sure, "bound (95 %)" in unsure) == (True, True)
    assert "stroke-dasharray" not in sure
    assert unsure.count('stroke-dasharray="2 3"') == 3  # two, and the one in the legend
    assert "--unsure" not in sure
    assert "--certain," not in unsure


def test_many_groups_are_ranked_and_the_ends_are_named():
    size = 61
    shape = Dots(labels=[f"place {n}" for n in range(size)], estimate=np.arange(size, dtype=float))
    said = [box[4] for box in texts(root_of(drawn(shape)))]
    assert [one for one in said if one.startswith("place")] == [
        f"place {n}" for n in (*range(60, 50, -1), *range(9, -1, -1))
    ]
    assert "… 41 more" in said
    few = Dots(labels=shape.labels[:60], estimate=shape.estimate[:60])
    assert sum(box[4].startswith("place") for box in texts(root_of(drawn(few)))) == 60


def test_of_many_panels_the_largest_and_the_smallest_are_drawn():
    size = 30
    told = Dots(labels=["x"] * 2 * size, estimate=np.arange(2.0 * size))
    panels = Panels(labels=[f"place {n}" for n in range(size)], times=["1", "2"], dots=told)
    assert panels.drawn() == [*range(29, 17, -1), *range(11, -1, -1)]
    assert panels.group(3).estimate.tolist() == [3.0, 33.0]
    said = [box[4] for box in texts(root_of(drawn(panels))) if box[4].startswith("place")]
    assert said == [f"place {n}" for n in panels.drawn()]


def test_a_panel_tells_certain_bounds_from_likely_ones():
    values = {"labels": ["1", "2"], "estimate": np.array([3.0, 5.0])}
    for bound, look in ((side([4, 9], certain=True), "--certain,"), (side([4, 9]), "--unsure,")):
        text = drawn(Panels(labels=["gym"], times=["1", "2"], dots=Dots(**values, upper=bound)))
        assert [one in text for one in ("--certain,", "--unsure,")].count(True) == 1
        assert look in text
        assert ('stroke-dasharray="2 3"' in text) == ("unsure" in look)


def test_a_panel_tells_decided_times_from_open_ones():
    values = {"labels": ["1", "2", "3"], "estimate": np.array([3.0, 5.0, np.nan])}
    told = {"decided": np.array([True, False, True]), "upper": side([4, 9, 2], certain=True)}
    shape = Panels(labels=["gym"], times=["1", "2", "3"], dots=Dots(**values, **told))
    assert shape.group(0).decided.tolist() == [True, False, True]
    text = drawn(shape)
    assert text.count("l5.0 5.0l-5.0 5.0l-5.0 -5.0z") == 1
    assert ["certified" in text, "unknown" in text] == [True, True]


def test_what_is_cut_stands_whole_in_a_title():
    shape = Dots(labels=[LONG], estimate=np.array([3.0]))
    cut = [one for one in root_of(drawn(shape, 360)).iter() if one.text and one.text.endswith("…")]
    assert {one[0].text for one in cut} == {LONG, WORDS["value_name"]}


def test_of_names_of_several_parts_the_longest_is_cut():
    """Else rows that differ in their last part alone look alike."""
    shape = Dots(labels=[f"{LONG} · f", f"{LONG} · m"], estimate=np.array([3.0, 4.0]))
    names = [one.text for one in root_of(drawn(shape, 360)).iter() if "… · " in (one.text or "")]
    assert [name.rpartition("… · ")[2] for name in names] == ["f", "m"]


def test_a_row_of_bounds_alone_says_what_it_is_too():
    shape = Dots(labels=["gym"], estimate=np.array([np.nan]), upper=side([4], certain=True))
    assert "<title>gym: at most 4 (certain)</title>" in drawn(shape)


def test_a_bound_is_told_rounded_outwards_alone():
    shape = Dots(
        labels=["gym"], estimate=np.array([1.0]), upper=side([1.2345678901234567], certain=True)
    )
    assert "gym: 1, at most 1.23457 (certain)" in drawn(shape)


def test_longer_bars_are_larger_numbers():
    shape = Bars(
        left=np.array([0.0, 18.0]), right=np.array([18.0, 65.0]), estimate=np.array([3.0, 9.0])
    )
    found = [one for one in root_of(drawn(shape)).iter() if one.get("fill-opacity") == "0.55"]
    small, large = (float(one.get("height")) for one in found if name_of(one) == "rect")
    assert large == pytest.approx(3 * small, abs=0.2)


def test_a_step_holds_until_the_next_even_if_that_has_no_value():
    shape = Lines(x=[0, 1, 2, 3], y={"n": np.array([5, 7, np.nan, np.nan])}, x_name="", steps=True)
    (path,) = (one for one in root_of(drawn(shape)).iter() if name_of(one) == "polyline")
    x = [float(point.split(",")[0]) for point in path.get("points").split()]
    assert max(x) - min(x) == pytest.approx(2 * (x[1] - x[0]), abs=0.3)


def _luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    plain = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(part * share for part, share in zip(plain, (0.2126, 0.7152, 0.0722), strict=True))


def _contrast(one, other):
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_words_and_bounds_have_contrast_on_every_ground():
    shape = Heat(
        across=[str(n) for n in range(40)],
        down=["gym"],
        values=np.arange(40.0)[None],
        across_name="hour",
        down_name="place",
    )
    cells = [one for one in root_of(drawn(shape, 2_000)).iter() if one.get("fill", "")[:1] == "#"]
    fills = [one.get("fill") for one in cells if len(one) == 1]
    inks = [one.get("fill") for one in cells if name_of(one) == "text"]
    assert len(inks) == 40
    assert all(_contrast(*pair) >= 4.5 for pair in zip(fills, inks, strict=True))
    told = drawn(KINDS["dots"](5, np.random.default_rng(7)))
    for name in ("certified", "certain", "unsure", "muted", "ink"):
        (colour,) = set(re.findall(rf"var\(--{name}, (#\w+)\)", told))
        assert _contrast(colour, "#ffffff") >= 4.5


@pytest.mark.parametrize("backend", ["plotly", "matplotlib"])
@pytest.mark.parametrize("kind", KINDS)
def test_libraries_are_handed_the_same_data(kind, backend):
    made = figure(Chart(shape=KINDS[kind](5, np.random.default_rng(7)), **WORDS), backend)
    if backend == "plotly":
        assert made.data
        assert HOSTILE not in str(made.to_dict())
        assert made.layout.title.text == WORDS["title"]
    else:
        (axes, *_) = made.axes
        assert axes.get_title(loc="left") == WORDS["title"]
        made.canvas.draw()


def test_a_picture_is_kept_as_a_file(tmp_path):
    picture = Picture(Chart(shape=KINDS["dots"](5, np.random.default_rng(7)), **WORDS))
    assert picture.write(tmp_path / "a.svg").read_text() == str(picture) == picture._repr_svg_()
    assert "<!doctype html>" in picture.write(tmp_path / "a.html").read_text()
    with pytest.raises(ParameterError, match=r"'\.gif' cannot be drawn"):
        picture.write(tmp_path / "a.gif")
    assert picture.write(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(OutputError, match="could not be written"):
        picture.write(tmp_path / "absent" / "a.svg")


def test_another_library_is_refused():
    with pytest.raises(ParameterError, match="'ascii' draws no pictures"):
        figure(Chart(shape=NOTHING["no dots"], **WORDS), "ascii")


@pytest.mark.parametrize("ends", [(1394, 1396), (0, 1), (3, 3), (0, 13), (10**9, 10**9 + 3)])
def test_whole_numbers_have_whole_ticks(ends):
    ticks, _ = _ticks(np.array(ends, dtype=float), 600.0, zero=False)
    assert all(tick == int(tick) for tick in ticks)
    assert len(ticks) >= 2


@pytest.mark.parametrize("least", [5e-324, 1e-310, 1e-299])
def test_what_has_no_power_of_ten_has_ticks(least):
    """Of a mean near 0 a bound, rounded outwards, may be the least float there is."""
    assert len(_ticks(np.array([0.0, least]), 600.0, zero=False)[0]) >= 2
