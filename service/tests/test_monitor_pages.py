"""A monitor's page before and after a batch, its short forms by conditional requests, its past."""

import gzip
import json
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("jinja2")

MONITOR = """
[monitors.live]
title = "Live <b>places</b>"
keys = "places.csv"
policy = "policy.toml"
at_most = 2
epsilon = 90
window = "1d"
"""


@pytest.fixture
def folder(folder):
    names = ["gym", "bar", "<script>alert(1)</script>"]
    rows = "\n".join(f"{name},{47 + n / 10},8.1" for n, name in enumerate(names))
    (folder / "places.csv").write_text(f"place,latitude,longitude\n{rows}\n")
    path = folder / "onesided.toml"
    path.write_text(path.read_text() + MONITOR)
    return folder


@pytest.fixture
def sender(service):
    service.tokens["sender"] = service.inner.people.add("city", {"live": ["sender"]}, days=1)

    def send(day, people):
        columns = {"person": list(range(people)), "place": ["bar"] * people}
        body = {"id": f"day {day}", "time": f"2026-01-0{day}T12:00:00", "columns": columns}
        answer = service.post("/api/v1/monitors/live/batches", body, "sender")
        assert answer.status_code == 200, answer.text

    return send


def test_the_page_says_what_holds_and_links_to_the_past(service, sender):
    assert "No batch has come in yet." in service.get("/monitors/live", who="").text
    sender(1, 5)
    sender(2, 0)
    page = service.get("/monitors/live", who="").text
    assert "Step 2, as of" in page
    assert "2 January 2026, 12:00 UTC" in page
    assert "within 1 day" in page
    assert "<script>alert" not in page
    assert "Live &lt;b&gt;places" in page
    past = service.get("/monitors/live/places/1", who="").text
    assert past.count("unknown") == 1
    assert "1 January 2026, 12:00 UTC" in past
    for row in ("3", "-1", "99999999999999999999"):
        assert service.get(f"/monitors/live/places/{row}", who="").status_code in (404, 422)
    assert service.get("/monitors/none", who="").status_code == 404


def test_short_forms_change_their_tag_with_a_step_alone(service, sender):
    sender(1, 5)
    first = service.get("/monitors/live/state.json", who="")
    assert first.json()["runs"] == "1c1u1c"
    tag = {"If-None-Match": first.headers["etag"]}
    same = service.get("/monitors/live/state.json", who="", headers=tag)
    assert (same.status_code, same.content) == (304, b"")
    sender(2, 1)
    later = service.get("/monitors/live/state.json", who="", headers=tag)
    assert later.status_code == 200
    assert later.json()["number"] == 2
    places = service.get("/monitors/live/places.json", who="")
    tag = {"If-None-Match": places.headers["etag"]}
    assert places.json()["rows"] == [0, 1, 2]
    assert service.get("/monitors/live/places.json", who="", headers=tag).status_code == 304


def test_only_the_monitor_may_stand_in_a_frame(service, sender):
    sender(1, 1)
    framed = service.get("/monitors/live/embed", who="")
    assert "frame-ancestors *" in framed.headers["content-security-policy"]
    assert "sign-in" not in framed.text
    others = ("/monitors/live", "/monitors/live/places/1", "/monitors/none/x/embed")
    for path in ("/", "/sign-in", "/published", *others):
        headers = service.get(path, who="").headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_a_short_form_is_compressed_for_who_takes_it():
    from onesided_service._monitor_pages import packed, written

    told = {"names": ["place"] * 1000}
    answer = packed(SimpleNamespace(headers={"accept-encoding": "gzip"}), *written(told))
    assert len(answer.body) == int(answer.headers["content-length"]) < 200
    assert json.loads(gzip.decompress(answer.body)) == told


def test_who_reads_never_waits_for_a_step(service, sender, monkeypatch):
    """How long one takes depends on visits; and whoever waited would keep others waiting."""
    sender(1, 1)
    monitor, stepping, go = service.inner.monitors["live"], threading.Event(), threading.Event()
    real = type(monitor.open()).step

    def slow(*given, **more):
        stepping.set()
        assert go.wait(60)
        return real(*given, **more)

    monkeypatch.setattr(type(monitor.open()), "step", slow)
    later = threading.Thread(target=sender, args=(2, 1))
    later.start()
    try:
        assert stepping.wait(60)
        assert service.get("/api/v1/monitors/live", who="", timeout=30).json()["batch"] == "day 1"
    finally:
        go.set()
        later.join()
    assert service.get("/api/v1/monitors/live", who="").json()["batch"] == "day 2"


def test_maps_of_others_read_the_latest_statuses_as_points(service, sender):
    path = "/api/v1/monitors/live.geojson"
    empty = service.get(path, who="").json()
    assert empty == {"type": "FeatureCollection", "step": 0, "features": []}
    sender(1, 5)
    told = service.get(path, who="")
    assert told.headers["content-type"] == "application/geo+json"
    kept = service.get(path, who="", headers={"If-None-Match": told.headers["etag"]})
    assert kept.status_code == 304
    places = service.get("/api/v1/monitors/live", who="").json()["places"]
    for point, place in zip(told.json()["features"], places, strict=True):
        own = [place.pop("longitude"), place.pop("latitude")]
        assert point["geometry"] == {"type": "Point", "coordinates": own}
        assert point["properties"] == {**place, "time": "2026-01-01T12:00:00Z"}
    assert path in service.get("/monitors/live", who="").text
