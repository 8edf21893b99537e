"""The public folder: its page in a real browser while a stream runs, its data, and its speed."""

import functools
import http.server
import json
import shutil
import threading
import time

import numpy as np
import pytest

from onesided.monitor._publish import Folder, Look

axe = pytest.importorskip("axe_core_python.sync_playwright")
playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
browsed = pytest.mark.skipif(CHROMIUM is None, reason="skipped: chromium not found")
SLOW = 600_000  # milliseconds; only against hanging: the machine of the tests may be busy
NAMES = [
    "plain",
    "</script><script>document.documentElement.dataset.owned = 'yes'</script>",
    '"><img src=http://evil.example/x onerror=document.documentElement.dataset.owned="yes">',
    "Café & {{ 7 * 7 }} \u2028",
]


def folder_of(monitor, path, size, **more):
    look = Look(
        title="Test <b>",
        window="9d",
        positions=(35 + np.arange(size) / 100, 139 + np.arange(size) / 50),
        **more,
    )
    return Folder(path=path, look=look, guarantees=monitor.guarantees())


class Stream:
    """A monitor and its folder; the first place gets two people on odd days."""

    def __init__(self, monitor, path, size, **more):
        self.monitor, self.path = monitor, path
        self.folder, self.day = folder_of(monitor, path, size, **more), 0

    def step(self):
        self.day += 1
        rows = {"person": [1, 2], "place": [NAMES[0]] * 2} if self.day % 2 else None
        release = self.monitor.step(rows, id=f"<{self.day}>", time=f"2026-01-{self.day:02}")
        self.folder.add([release])
        self.folder.write(release, since=self.monitor.history(after=self.folder.steps.last))

    def read(self, name):
        return json.loads((self.path / name).read_text())


@pytest.fixture
def stream(make, tmp_path):
    monitor = make(keys=NAMES, epsilon=1000, at_most=1, window="1d", state=None, ahead="99999d")
    made = Stream(monitor, tmp_path / "public", len(NAMES), outline=False)
    made.step()
    made.step()
    return made


class Quiet(http.server.SimpleHTTPRequestHandler):
    told: list

    def log_message(self, _text, *said):
        self.told.append(said[:2])


@pytest.fixture
def served(stream):
    """The folder behind a plain web server: its address, and what was asked for."""
    told = []
    kind = type("Told", (Quiet,), {"told": told})
    handler = functools.partial(kind, directory=str(stream.path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", told
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """Open an address; at the end nothing was complained about, run, or asked of others."""
    made = []

    def start(address, *, width=1200, scheme="light"):
        size = {"width": width, "height": 900}
        context = chromium.new_context(viewport=size, color_scheme=scheme)
        page = context.new_page()
        page.set_default_timeout(SLOW)
        said, asked = [], []
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("console", lambda message: said.append(message.text))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        page.locator("html[data-ready=yes]").wait_for()
        made.append((context, page, address, said, asked))
        return page

    yield start
    for context, page, address, said, asked in made:
        assert said == []
        assert [url for url in asked if not url.startswith(address.split("index")[0][:17])] == []
        assert page.evaluate("document.documentElement.dataset.owned") is None
        context.close()


def rows(page, table="#table"):
    cells = "tr => [...tr.cells].map((td) => td.textContent)"
    return page.evaluate(f"[...document.querySelectorAll('{table} tbody tr')].map({cells})")


SMALL = """[...document.querySelectorAll('a, button, input, select')].filter((one) => {
  const box = one.getBoundingClientRect();
  return box.width && (box.width < 24 || box.height < 24);
}).map((one) => one.outerHTML)"""
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@browsed
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
@pytest.mark.parametrize("part", ["", "#place=0", "?embed"])
def test_the_page_is_for_everybody(served, visit, width, scheme, part):
    page = visit(served[0] + part, width=width, scheme=scheme)
    found = axe.Axe().run(page)["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
    assert page.evaluate(SMALL) == []
    assert page.evaluate(WIDE) <= 0
    assert page.locator("#embed").is_visible() is (part != "?embed")


@browsed
def test_the_page_follows_a_stream_and_asks_only_whether_it_changed(stream, served, visit):
    address, told = served
    page = visit(address)
    certified = [[name, "certified", "1"] for name in NAMES[1:]]
    assert rows(page)[1:] == certified
    assert "2 January 2026, 00:00 UTC" in page.locator("#fresh").text_content()
    stream.step()
    page.locator("#fresh", has_text="Step 3").wait_for()
    assert rows(page)[1:] == certified
    deadline = time.monotonic() + SLOW / 1000
    while not any(status == "304" for _, status in told) and time.monotonic() < deadline:
        page.wait_for_timeout(200)
    assert ("GET /state.json HTTP/1.1", "304") in told


@browsed
def test_the_past_is_kept_and_whoever_looks_at_it_stays_there(stream, served, visit):
    page = visit(served[0])
    page.locator("#earlier").press("Enter")
    page.locator("#fresh", has_text="Step 1,").wait_for()
    assert rows(page)[0] == ["plain", "unknown", "2"]
    assert "This is the past" in page.locator("#fresh").text_content()
    stream.step()
    page.wait_for_timeout(6000)
    assert "Step 1," in page.locator("#fresh").text_content()
    page.locator("#slider").press("End")
    page.locator("#fresh", has_text="Step 3,").wait_for()
    assert page.locator("#later").is_disabled()


@browsed
def test_each_place_has_its_past_as_a_picture_and_a_table(served, visit):
    page = visit(served[0])
    page.get_by_role("link", name="plain").press("Enter")
    page.locator("#past-of", has_text="What was said of plain").wait_for()
    assert page.evaluate("document.activeElement.id") == "past-of"
    first = rows(page, "#steps")[-1]
    assert first == ["1 January 2026, 00:00 UTC", "unknown", "2"]
    assert page.locator("#chart svg line").count() >= 3
    assert served[0] + "index.html?embed" in page.locator("#snippet").text_content()


@browsed
def test_few_places_are_shown_where_the_page_is_opened_as_a_file(stream, visit):
    page = visit((stream.path / "index.html").as_uri())
    assert len(rows(page)) == len(NAMES)
    assert page.locator("#time").is_hidden()


def test_the_data_beside_the_page_say_the_same(stream):
    state, status = stream.read("state.json"), stream.read("status.json")
    assert (state["number"], state["first"], status["step"]) == (2, 1, 2)
    assert [one["place"] for one in status["places"]] == NAMES
    assert stream.read("steps/1.json")["runs"] == "1u3c"
    words = {"c": "certified", "u": "unknown", "r": "resting"}
    assert words[state["runs"][1]] == status["places"][0]["status"]
    shapes = stream.read("status.geojson")
    assert [one["properties"]["place"] for one in shapes["features"]] == NAMES
    assert shapes["features"][0]["geometry"]["coordinates"] == [139.0, 35.0]
    assert shapes["features"][1]["properties"]["at_most"] == 1
    assert stream.read("places.json")["names"] == NAMES


def test_outlines_come_with_the_places(make, tmp_path):
    line = {"type": "LineString", "coordinates": [[138.99, 34.99], [139.1, 35.1]]}
    monitor = make(state=None)
    folder = folder_of(monitor, tmp_path / "public", 3, outline=line)
    folder.write(monitor.step(None, id="one", time=1), since=monitor.history())
    told = json.loads((tmp_path / "public" / "places.json").read_text())
    assert told["outline"] == [[[34.99, 35.1], [138.99, 139.1]]]


def test_steps_of_another_monitor_are_replaced(make, tmp_path):
    left = tmp_path / "public" / "steps"
    left.mkdir(parents=True)
    for number in (1, 7):
        (left / f"{number}.json").write_text("of another")
    monitor = make(state=None)
    folder = folder_of(monitor, tmp_path / "public", 3)
    folder.write(monitor.step(None, id="one", time=1), since=monitor.history())
    assert [file.name for file in left.iterdir()] == ["1.json"]
    assert json.loads((left / "1.json").read_text())["batch"] == "one"


def test_many_places_are_written_quickly_and_the_page_stays_small(make, tmp_path):
    size = 20_000
    monitor = make(keys=list(range(size)), state=None)
    folder = folder_of(monitor, tmp_path / "public", size)
    steps = [monitor.step(None, id=str(step), time=step) for step in range(20)]
    began = time.process_time()
    folder.add(steps)
    folder.write(monitor.last, since=monitor.history())
    whole = time.process_time() - began
    release = monitor.step(None, id="next", time=20)
    began = time.process_time()
    folder.add([release])
    folder.write(release, since=[release])
    assert time.process_time() - began < whole
    shapes = json.loads((tmp_path / "public" / "status.geojson").read_text())
    assert len(shapes["features"]) == size
    assert (tmp_path / "public" / "index.html").stat().st_size < 100_000


def test_a_bounded_number_of_steps_is_kept(make, tmp_path):
    monitor = make(state=None)
    folder = folder_of(monitor, tmp_path / "public", 3)
    for step in range(600):
        folder.add([monitor.step(None, id=str(step), time=step)])
    folder.write(monitor.last, since=monitor.history())
    assert len(folder.frames) == len(list((tmp_path / "public" / "steps").iterdir())) == 500
    assert json.loads((tmp_path / "public" / "state.json").read_text())["first"] == 101
