"""A monitor's page before and after a batch, its short forms by conditional requests, its past."""

import gzip
import json
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("jinja2")

from onesided import policy as policies
from onesided.errors import OnesidedError, ParameterError
from onesided_service import ServiceConfig
from onesided_service._monitors import LiveMonitor

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


ALARMS = """
[monitors.crowds]
title = "Crowds"
keys = "places.csv"
policy = "open.policy.toml"
at_most = 2
at_least = 5
epsilon = 90
window = "1d"
"""


@pytest.fixture
def crowds(folder, request):
    made = policies.sensitive_presence("closed", max_groups=1)
    (folder / "open.policy.toml").write_text(made.to_toml())
    path = folder / "onesided.toml"
    path.write_text(path.read_text() + ALARMS)
    service = request.getfixturevalue("service")
    service.tokens["sender"] = service.inner.people.add("city", {"crowds": ["sender"]}, days=1)
    return service


def test_a_monitor_with_alarms_tells_four_states_and_both_bounds(crowds):
    """The numbers are the library's own bounds: what is certain, whatever was drawn."""
    visits = {"bar": (9, False), "gym": (9, True)}
    rows = [(place, n, closed) for place, (many, closed) in visits.items() for n in range(many)]
    columns = {
        "place": [place for place, _, _ in rows],
        "person": list(range(len(rows))),
        "closed": [closed for _, _, closed in rows],
    }
    assert "Safe places and alarms" in crowds.get("/monitors/crowds", who="").text
    for day, batch in (1, columns), (2, {name: [] for name in columns}):
        body = {"id": f"day {day}", "time": f"2026-01-0{day}T12:00:00", "columns": batch}
        told = crowds.post("/api/v1/monitors/crowds/batches", body, "sender")
        assert told.status_code == 200, told.text
        last = crowds.inner.monitors["crowds"].open().last
        for row, place in enumerate(told.json()["places"]):
            assert place["status"] == last.status[row] in ("safe", "alarm", "unknown", "resting")
            assert place["at_most"] == last.upper_bounds[row]
            assert place["open_at_least"] == last.lower_bounds[row]
            assert (place["at_most"] or 9) >= (day == 1 and visits.get(place["place"], (0,))[0])
            assert (place["open_at_least"] or 0) <= 9 * (place["place"] == "bar")
        points = crowds.get("/api/v1/monitors/crowds.geojson", who="").json()["features"]
        for point, place in zip(points, told.json()["places"], strict=True):
            assert {**place, **point["properties"]}.keys() - place.keys() == {"time"}
            assert point["properties"].items() >= {"open_at_least": place["open_at_least"]}.items()
    document = crowds.get("/api/v1/monitors/crowds", who="").json()
    assert (document["at_most"], document["at_least"]) == (2, 5)
    assert crowds.get("/monitors/crowds/places.json", who="").json()["alarms"] == 5
    assert crowds.get("/monitors/crowds/state.json", who="").json()["lower"] is not None
    assert "each with at least 5 people whose visit is open" in crowds.get("/", who="").text
    past = crowds.get("/monitors/crowds/places/1", who="").text
    assert "open, at least" in past
    assert "nor fewer open ones" in past


@pytest.mark.parametrize("wrong", ["at_least = 2", "at_least = 1", 'at_least = "many"'])
def test_an_alarm_that_could_be_safe_is_refused(folder, wrong):
    made = policies.sensitive_presence("closed", max_groups=1)
    (folder / "open.policy.toml").write_text(made.to_toml())
    text = ALARMS.replace("at_least = 5", wrong)
    with pytest.raises(ParameterError):
        LiveMonitor(
            ServiceConfig.from_toml(text, folder=folder).monitors["crowds"],
            ServiceConfig(folder=folder),
        )


@pytest.mark.parametrize(
    "policy",
    [policies.presence(max_groups=1), policies.sensitive_presence("place = 'bar'", max_groups=1)],
)
def test_what_a_monitor_cannot_promise_is_refused_at_the_start(folder, policy):
    """It broke the home page for everybody, who were told the curator's mistake."""
    (folder / "open.policy.toml").write_text(policy.to_toml())
    config = ServiceConfig.from_toml(ALARMS, folder=folder).monitors["crowds"]
    with pytest.raises(OnesidedError):
        LiveMonitor(config, ServiceConfig(folder=folder))
