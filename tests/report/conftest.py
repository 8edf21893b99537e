"""Pages to draw, and a browser without a network."""

import shutil
import subprocess

import numpy as np
import pytest

from onesided.report import Page

HOSTILE = (
    "<script>document.documentElement.dataset.owned = 'yes'</script>",
    "</script><script>document.documentElement.dataset.owned = 'yes'</script>",
    '"><img src=http://evil.example/x onerror=document.documentElement.dataset.owned="yes">',
    "<!--<script>",
    "{{ 7 * 7 }}{% raw %}",
    "<a href='http://evil.example'>Café</a> & \u2028 'O''Brien'",
)


@pytest.fixture(scope="session")
def hostile():
    return HOSTILE


@pytest.fixture(scope="session")
def make_page():
    return _make_page


def _make_page(*, names=None, count=30, **changes):
    keys = tuple(names or (f"Place {i}" for i in range(count)))
    random = np.random.default_rng(3)
    upper = np.arange(len(keys))[::-1].copy()
    values = {
        "title": "Certified places",
        "question": "Which places had at most 5 people?",
        "keys": keys,
        "key_name": "place",
        "estimate": upper - 1,
        "lower": upper - 4,
        "upper": upper,
        "lower_certain": False,
        "upper_certain": True,
        "threshold": 5,
        "certified": upper <= 5,
        "latitude": 47.5 + random.normal(size=len(keys)) / 50,
        "longitude": 8.0 + random.normal(size=len(keys)) / 50,
        "facts": (("privacy loss ε", "1"),),
        "sentences": ("A visit can pass as no visit.",),
        "edges": (("visited → not visited", "1", "0"),),
        "ledger": ({"number": "1", "what": "count by place", "hash": "9f2c41"},),
        "notes": ("Unknown does not mean dangerous.",),
    }
    return Page(**(values | changes))


@pytest.fixture
def browse(tmp_path):
    """The document after scripts ran in a real browser that can reach no network."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("skipped: chromium not found")

    def browse(path):
        command = [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--window-size=1280,900",
            "--virtual-time-budget=5000",
            "--enable-logging=stderr",
            "--dump-dom",
            path.as_uri(),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
        complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return done.stdout, complaints

    return browse
