"""In real chromium: an analyst's work on the demo, wide and narrow, light and dark, by keyboard."""

import functools
import http.server
import json
import shutil
import subprocess
import sys
import threading

import pytest

pytest.importorskip("fastapi")
playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_core_python.sync_playwright")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="skipped: chromium not found")
# Each width once and each scheme once: no colour depends on the width.
WINDOWS = [(1280, 900, "light"), (390, 844, "dark")]
SLOW = 600_000  # milliseconds; only against hanging: the machine of the tests may be busy


@pytest.fixture(scope="module")
def demo():
    """The demo as a process of its own; what it printed."""
    command = [sys.executable, "-m", "onesided", "serve", "--demo", "--json", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(600)


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Walk:
    """A window that notes every complaint and every request to somebody else."""

    def __init__(self, browser, demo, width=1280, height=900, scheme="light"):
        self.demo, self.url = demo, demo["url"]
        size = {"width": width, "height": height}
        self.context = browser.new_context(viewport=size, color_scheme=scheme)
        self.page = self.context.new_page()
        self.page.set_default_timeout(SLOW)
        self.complaints, self.outside = [], []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._console)
        self.page.on("request", self._request)

    def _console(self, message):
        # A refusal is a page with its own status, which the browser notes; all else is a mistake.
        refused = message.text.startswith("Failed to load resource: the server responded with")
        if message.type in ("error", "warning") and not refused:
            self.complaints.append(message.text)

    def _request(self, request):
        if not request.url.startswith((f"{self.url}/", "data:", "blob:")):
            self.outside.append(request.url)

    def go(self, path):
        self.page.goto(self.url + path)

    def sign_in(self, token):
        self.go("/sign-in?next=/datasets/visits/ask")
        self.page.get_by_label("Your token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("heading", name="Ask a question").wait_for()

    def look(self):
        """Nothing to complain about: accessibility, width, console, network."""
        found = axe.Axe().run(self.page)["violations"]
        told = [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]
        assert told == [], self.page.url
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert self.page.evaluate(wide) <= 0, self.page.url
        assert self.complaints == []
        assert self.outside == []

    def shows(self, selector, words):
        self.page.locator(selector, has_text=words).first.wait_for()

    def close(self):
        self.context.close()


@pytest.fixture
def walk(chromium, demo):
    made = []

    def start(*window):
        made.append(Walk(chromium, demo, *window))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.mark.parametrize("window", WINDOWS, ids=lambda w: f"{w[0]}-{w[2]}")
def test_an_analyst_asks_by_form_downloads_and_publishes(walk, demo, window):
    one = walk(*window)
    page = one.page
    one.go("/")
    one.look()
    one.go("/sign-in")
    page.get_by_label("Your token").fill("os1_wrong_wrong")
    page.get_by_role("button", name="Sign in").click()
    one.shows("[role=alert]", "Not signed in")
    one.look()
    one.sign_in(demo["analysts"][0])
    one.go("/datasets/visits")
    one.shows("h2", "What is protected")
    one.look()
    one.go("/datasets/visits/ask")
    one.shows("#price", "± 20 people or less, 95 of 100 times")
    page.get_by_role("link", name="Number of people by category", exact=True).click()
    assert page.get_by_label("category").is_checked()
    one.shows("#price", "questions fit")
    one.look()
    page.get_by_label("Privacy loss ε").fill("1/5")
    one.shows("#price", "ε = 0.2")
    one.shows("#price", "±")
    one.look()
    page.get_by_role("button", name="Preview on made-up data").click()
    one.shows(".stamp", "Made-up data")
    one.look()
    page.get_by_role("button", name="Ask, and be charged").click()
    one.shows("h3", "Certificate")
    assert page.locator(".picture svg:visible path").count() > 8
    for name in ("Python", "SQL", "Shell"):
        one.shows("h3", name)
    one.look()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert "estimate" in download.value.path().read_text()
    page.get_by_label("Title").fill(f"Visits by category, {window[0]} {window[2]}")
    page.get_by_role("button", name="Publish for everybody").click()
    one.shows("h1", "Visits by category")
    one.look()


@pytest.mark.parametrize("window", WINDOWS, ids=lambda w: f"{w[0]}-{w[2]}")
def test_an_analyst_asks_in_sql_and_is_refused_for_want_of_budget(walk, demo, window):
    one = walk(*window)
    page = one.page
    one.sign_in(demo["analysts"][0])
    one.go("/datasets/visits/ask?how=sql")
    page.get_by_label("Query").fill("SELECT category, SUM(minutes) FROM visits GROUP BY nothing")
    page.get_by_label("Rows of one person").fill("3")
    one.shows("#price", "Not yet")
    one.look()
    page.get_by_label("Query").fill("SELECT category, SUM(minutes) FROM visits GROUP BY category")
    page.get_by_label("Privacy loss ε").fill("19")
    one.shows("#price", "More than is left")
    page.get_by_role("button", name="Ask, and be charged").click()
    one.shows("[role=alert]", "Refused: this costs more than is left")
    one.look()
    page.get_by_label("Privacy loss ε").fill("1/20")
    one.shows("#price", "ε = 0.05")
    page.get_by_role("button", name="Ask, and be charged").click()
    one.shows("h2", "Sum of minutes")
    one.look()
    one.go("/history")
    one.shows("td", "Sum of minutes, over rows by category")
    one.look()


@pytest.mark.parametrize("window", WINDOWS, ids=lambda w: f"{w[0]}-{w[2]}")
def test_an_analyst_asks_a_list_and_compares_the_answers(walk, demo, window):
    one = walk(*window)
    page = one.page
    one.sign_in(demo["analysts"][1])
    for epsilon in ("1/5", "1/10"):
        one.go("/datasets/visits/ask?kind=count&by=category&epsilon=" + epsilon)
        one.shows("#price", "ε =")
        page.get_by_role("button", name="Put on my list").click()
        one.shows("h1", "Your list of questions")
    one.shows(".cost", "ε = ")
    one.look()
    page.get_by_role("button", name="Ask all, and be charged").click()
    page.locator("h3", has_text="Certificate").nth(1).wait_for()
    one.go("/datasets/visits/list")
    for left in (1, 0):
        page.get_by_role("button", name="Remove question 1").click()
        page.wait_for_function(
            "n => document.querySelectorAll('[name=remove]').length === n", arg=left
        )
    one.shows("p", "Nothing is on it")
    one.look()
    one.go("/history")
    page.get_by_role("checkbox").first.check()
    one.look()
    page.get_by_role("button", name="Compare side by side").click()
    one.shows("h2", "Group by group")
    one.look()


@pytest.mark.parametrize("window", WINDOWS, ids=lambda w: f"{w[0]}-{w[2]}")
def test_the_public_watches_the_map_change_by_conditional_requests(walk, window):
    one = walk(*window)
    page, seen = one.page, []
    page.on("response", lambda r: "state.json" in r.url and seen.append(r.status))
    one.go("/monitors/places")
    page.locator("[data-ready=yes]").wait_for(state="attached")
    first = int(page.locator("#map").get_attribute("data-step"))
    one.look()
    page.locator(f"#map:not([data-step='{first}'])").wait_for()
    assert int(page.locator("#map").get_attribute("data-step")) > first
    drawn = "c => new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size"
    assert page.locator("#map").evaluate(drawn) > 20
    assert set(seen) <= {200, 304}
    page.get_by_role("searchbox").fill("bar")
    page.locator("#count").filter(has_not_text="of 250").wait_for()
    page.locator("#only").select_option("c")
    page.locator("#table tbody a").first.click()
    one.shows("h2", "What was said of it")
    one.look()
    one.go("/monitors/places/embed")
    page.locator("[data-ready=yes]").wait_for(state="attached")
    one.look()
    one.go("/published")
    one.look()
    one.go("/nothing/here")
    one.shows("h1", "Not found")
    one.look()


@pytest.mark.parametrize("window", WINDOWS, ids=lambda w: f"{w[0]}-{w[2]}")
def test_the_curator_adds_limits_and_revokes_and_closes(walk, demo, window):
    one = walk(*window)
    page, name = one.page, f"dora-{window[0]}"
    one.sign_in(demo["curator"])
    one.go("/curator/visits")
    one.shows("h2", "Charges")
    assert page.locator(".picture svg:visible").count() == 1
    one.look()
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Add", exact=True).click()
    one.shows("code", "os1_")
    one.look()
    page.get_by_label(f"Allowance of {name}").fill("1/2")
    page.get_by_role("button", name=f"Set the allowance of {name}").click()
    one.shows("td", "ε = 1/2")
    assert page.locator("code", has_text="os1_").count() == 0
    page.get_by_role("button", name=f"Revoke {name}").click()
    one.shows("td", "revoke")
    page.get_by_label("Reason to close it").fill("the rows are being mended")
    page.get_by_role("button", name="Close", exact=True).click()
    one.shows(".closed", "Closed.")
    one.look()
    page.get_by_role("button", name="Reopen with the same rows").click()
    one.shows("p", "Open to questions.")


@pytest.mark.parametrize("window", WINDOWS, ids=lambda w: f"{w[0]}-{w[2]}")
def test_everybody_reads_the_gallery_and_the_module_draws_it(walk, window):
    one = walk(*window)
    page = one.page
    one.go("/published")
    one.shows("h3", "Visitors by kind of place")
    one.look()
    page.get_by_role("link", name="How long they stayed", exact=True).click()
    one.shows("h3", "Permanent link")
    one.look()
    address = page.url
    one.go(address.removeprefix(one.url) + "/embed")
    one.look()
    one.go("/published")
    drawn = """async (id) => {
      const { draw, releases } = await import("/static/onesided.js");
      const told = await releases(), main = document.querySelector("main .heading");
      const place = document.createElement("section");
      main.prepend(place);
      await draw(place, id);
      const image = main.querySelector("img");
      await image.decode();
      return [told.length >= 2, image.naturalWidth, main.textContent];
    }"""
    several, width, words = page.evaluate(drawn, address.rpartition("/")[2])
    assert several
    assert width > 300
    assert "How long they stayed" in words
    assert "Number of people in bins of minutes (each without its upper end)." in words
    one.look()


def test_the_keyboard_alone_is_enough(walk, demo):
    one = walk(390, 844, "light")
    page = one.page
    one.go("/sign-in")

    def tab_to(test, most=40):
        for _ in range(most):
            page.keyboard.press("Tab")
            if page.evaluate(f"(() => {{ const e = document.activeElement; return {test}; }})()"):
                return
        pytest.fail(f"no Tab reaches {test}")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    tab_to("e.id === 'token'")
    page.keyboard.type(demo["analysts"][1])
    page.keyboard.press("Enter")
    one.shows("h3", "Visits in a made-up city")
    tab_to("e.textContent.startsWith('Ask a question')")
    page.keyboard.press("Enter")
    one.shows("#price", "95 of 100 times")
    tab_to("e.id === 'within'")
    tab_to("e.id === 'kind'")
    page.keyboard.press("ArrowDown")
    tab_to("e.id === 'number'")
    page.keyboard.type("100")
    tab_to("e.value === 'category'")
    page.keyboard.press("Space")
    one.shows("#price", "true count")
    tab_to("e.value === 'ask'")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("Enter")
    one.shows("h3", "Certificate")
    tab_to("e.className.startsWith('scroll rows')")
    tab_to("e.textContent.startsWith('CSV of ')")
    one.look()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *said):
        pass


@pytest.fixture
def elsewhere(tmp_path):
    """Another site: its folder and its address."""
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield tmp_path, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "there"), [("/monitors/places/embed", True), ("/sign-in", False), ("/", False)]
)
def test_the_map_stands_in_a_frame_of_another_site_and_nothing_else_does(
    walk, elsewhere, path, there
):
    one, (folder, address) = walk(), elsewhere
    (folder / "page.html").write_text(f'<iframe src="{one.url}{path}" title="inner"></iframe>')
    one.page.goto(f"{address}/page.html")
    inner = one.page.frame_locator("iframe")
    if there:
        inner.locator("#n-c").wait_for()
    else:
        one.page.wait_for_timeout(1000)
        assert inner.locator("#main").count() == 0
