"""Outlines: coasts that come with the package, and GeoJSON of which only geometry is read."""

import json

import numpy as np
import pytest

from onesided import errors
from onesided.show import outline_around, read_outline

EUROPE = np.array([38.7, 59.9]), np.array([-9.1, 21.0])
LINE = {"type": "LineString", "coordinates": [[13.4, 52.5], [13.5, 52.6, 30.0]]}
RING = [[13.0, 52.0], [14.0, 52.0], [14.0, 53.0], [13.0, 52.0]]


def test_wide_maps_have_coasts_and_maps_of_a_city_do_not():
    lines = outline_around(*EUROPE)
    assert sum(len(latitude) for latitude, _ in lines) > 200
    assert outline_around(EUROPE[0] / 100, EUROPE[1] / 100) == ()
    assert outline_around(*EUROPE, given=False) == ()
    nowhere = np.array([np.nan])
    assert outline_around(nowhere, nowhere) == ()


def test_coasts_are_on_earth_and_near_the_places():
    for latitude, longitude in outline_around(*EUROPE):
        assert len(latitude) == len(longitude) >= 2
        assert max(map(abs, latitude)) <= 90
        assert max(map(abs, longitude)) <= 180


FORMS = {
    "line": (LINE, 1),
    "lines": ({"type": "MultiLineString", "coordinates": [RING, RING]}, 2),
    "area": ({"type": "Polygon", "coordinates": [RING]}, 1),
    "areas": ({"type": "MultiPolygon", "coordinates": [[RING], [RING, RING]]}, 3),
    "feature": ({"type": "Feature", "properties": {"type": "?"}, "geometry": LINE}, 1),
    "collection": ({"type": "GeometryCollection", "geometries": [LINE, LINE]}, 2),
    "features": (
        {
            "type": "FeatureCollection",
            "features": [
                {"type": "Feature", "geometry": None},
                {"type": "Feature", "geometry": LINE},
            ],
        },
        1,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read_from_mappings_and_files(form, tmp_path):
    given, lines = FORMS[form]
    path = tmp_path / "outline.geojson"
    path.write_text(json.dumps(given))
    assert len(read_outline(given)) == lines
    assert read_outline(path) == read_outline(str(path)) == read_outline(given)


def test_what_has_a_geo_interface_is_read():
    class Table:
        __geo_interface__ = LINE

    assert read_outline(Table()) == read_outline(LINE)


def deep(levels):
    found = LINE
    for _ in range(levels):
        found = {"type": "GeometryCollection", "geometries": [found]}
    return found


BAD = {
    "has no lines": {"type": "Point", "coordinates": [1, 2]},
    "'<script>' has no lines": {"type": "<script>"},
    "nowhere on Earth": {"type": "LineString", "coordinates": [[500000, 5_000_000], [0, 0]]},
    "is no position": {"type": "LineString", "coordinates": [["1", 2], [0, 0]]},
    "True, 2.* is no position": {"type": "LineString", "coordinates": [[True, 2], [0, 0]]},
    "where a list should": {"type": "Polygon", "coordinates": 7},
    "no line and no area": {"type": "FeatureCollection", "features": []},
    "too deep": deep(20),
    "more than 100,000": {"type": "LineString", "coordinates": [[0, 0]] * 100_001},
    "coordinates are of": {**LINE, "crs": {"properties": {"name": "EPSG:3857"}}},
    "It is of the type int": 7,
    "cannot be read": "nowhere.geojson",
}


@pytest.mark.parametrize("words", BAD)
def test_what_is_no_outline_is_refused_in_words(words):
    with pytest.raises(errors.ParameterError, match=words):
        read_outline(BAD[words])


@pytest.mark.parametrize("text", ["{", '{"a": NaN}', "[" * 100_000, "\ufeffx"])
def test_files_that_are_no_json_are_refused(text, tmp_path):
    path = tmp_path / "outline.geojson"
    path.write_text(text)
    with pytest.raises(errors.ParameterError, match="no JSON"):
        read_outline(path)


def test_large_files_are_not_read(tmp_path):
    path = tmp_path / "outline.geojson"
    with path.open("wb") as file:
        file.truncate(2**23 + 1)
    with pytest.raises(errors.ParameterError, match="8 MB"):
        read_outline(path)
