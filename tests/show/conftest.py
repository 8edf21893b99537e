"""Pages to draw, and a browser without a network."""

import shutil
import subprocess

import numpy as np
import pytest

from onesided.show import Chart, Page, Places, RoleTable

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


def _make_page(*, names=None, count=30, limit=5, **changes):
    keys = list(names or (f"Place {i}" for i in range(count)))
    size, random = len(keys), np.random.default_rng(3)
    upper = np.arange(size)[::-1].astype(float)
    certified = upper <= 5
    table = {
        "place": keys,
        "status": np.where(certified, "certified", "unknown").tolist(),
        "estimate": (upper - 1).tolist(),
        "lower": [-np.inf, *(upper - 4)[1:].tolist()],
        "upper": upper.tolist(),
        "lower_certain": [False] * size,
        "upper_certain": [True] * size,
    }
    shape = Places(
        labels=keys,
        latitude=47.5 + random.normal(size=size) / 50,
        longitude=8.0 + random.normal(size=size) / 50,
        values=upper,
        certified=certified,
    )
    values = {
        "title": "Which places had at most 5 people?",
        "asked": "At most 5 people by place.",
        "charts": (Chart(title="Where they are", shape=shape, value_name="people"),),
        "table": RoleTable.of(table).html("95 %"),
        "rows": (size, size),
        "noun": "place",
        "threshold": limit,
        "certified": int(certified.sum()),
        "facts": (("privacy loss ε", "1"),),
        "promise": ("A visit can pass as no visit.",),
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
