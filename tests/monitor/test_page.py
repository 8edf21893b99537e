"""The public folder: in a real browser without a network, and quick for many places."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import time

import numpy as np
import pytest

from onesided.monitor._publish import Folder, Look

NAMES = [
    "plain",
    "</script><script>document.documentElement.dataset.owned = 'yes'</script>",
    '"><img src=http://evil.example/x onerror=document.documentElement.dataset.owned="yes">',
    "Café & {{ 7 * 7 }} \u2028",
]

# Goes back in time, picks a status and a place as a reader would, and leaves what it saw.
PROBE = """
const rows = () => [...document.querySelectorAll('#table tbody tr')].map(
  (tr) => [...tr.cells].map((td) => td.textContent));
const text = (id) => document.getElementById(id).textContent;
const seen = {loaded: performance.getEntriesByType('resource').map((e) => e.name)};
seen.last = [text('n-c'), text('n-u'), text('n-r'), rows()];
document.getElementById('earlier').click();
seen.before = [text('n-c'), text('n-u'), text('n-r'), rows(), text('when')];
const slider = document.getElementById('slider');
slider.value = 1; slider.dispatchEvent(new Event('input'));
const only = document.getElementById('only');
only.value = 'r'; only.dispatchEvent(new Event('change'));
seen.resting = rows();
document.body.dataset.seen = btoa(unescape(encodeURIComponent(JSON.stringify(seen))));
"""


def folder_of(monitor, path, size):
    look = Look(
        title="Test <b>",
        window="9",
        latitude=35 + np.arange(size) / 100,
        longitude=139 + np.arange(size) / 50,
    )
    return Folder(path=path, look=look, guarantees=monitor.guarantees())


@pytest.fixture
def page(make, tmp_path):
    monitor = make(keys=NAMES, epsilon=1000, at_most=1, window=9, state=None)
    folder = folder_of(monitor, tmp_path / "public", len(NAMES))
    rows = {"person": [1, 2], "place": [NAMES[0]] * 2}
    folder.add([monitor.step(rows, id="<one>", time=1), monitor.step(None, id="two", time=2)])
    folder.write(monitor.last, since=monitor.history())
    return tmp_path / "public" / "index.html"


def test_the_page_shows_each_step_and_runs_no_name(page, tmp_path):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("skipped: chromium not found")
    name = base64.b64encode(hashlib.sha256(PROBE.encode()).digest()).decode()
    text = page.read_text().replace("script-src ", f"script-src 'sha256-{name}' ", 1)
    page.write_text(text.replace("</body>", f"<script>{PROBE}</script></body>"))
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
        "--no-first-run", "--disable-background-networking", "--disable-component-update",
        f"--user-data-dir={tmp_path / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND",
        "--virtual-time-budget=5000", "--enable-logging=stderr", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    body = re.sub(r"<script.*?</script>", "", done.stdout, flags=re.DOTALL)
    assert 'data-ready="yes"' in body
    assert "data-owned" not in body
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    seen = json.loads(base64.b64decode(re.search(r'data-seen="([^"]+)"', body)[1]))
    assert seen["loaded"] == []
    certified = [[name, "certified", "1"] for name in NAMES[1:]]
    assert seen["last"] == ["3", "0", "1", [["plain", "resting", "–"], *certified]]
    assert seen["before"] == ["3", "1", "0", [["plain", "unknown", "2"], *certified], "1"]
    assert seen["resting"] == [["plain", "resting", "–"]]


def test_many_places_are_written_in_seconds(make, tmp_path):
    size = 20_000
    monitor = make(keys=list(range(size)), state=None)
    folder = folder_of(monitor, tmp_path / "public", size)
    folder.add([monitor.step(None, id=str(step), time=step) for step in range(20)])
    began = time.perf_counter()
    folder.write(monitor.last, since=monitor.history())
    assert time.perf_counter() - began < 15
    shapes = json.loads((tmp_path / "public" / "status.geojson").read_text())
    assert len(shapes["features"]) == size


def test_the_page_keeps_a_bounded_number_of_steps(make, tmp_path):
    monitor = make(state=None)
    folder = folder_of(monitor, tmp_path / "public", 3)
    for step in range(600):
        folder.add([monitor.step(None, id=str(step), time=step)])
    assert len(folder.frames) == 500
