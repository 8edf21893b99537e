"""In a real browser without a network, the page draws, sorts and finds; no name runs."""

import base64
import hashlib
import json
import re

import pytest

from onesided._english import one_line

# Clicks as a reader would, and leaves what it saw in the document.
PROBE = """
const rows = () => [...document.querySelectorAll('#all table tbody tr')].map(
  (tr) => [...tr.cells].map((td) => td.textContent));
const head = (k) => document.querySelectorAll('#all table thead th')[k];
const seen = {loaded: performance.getEntriesByType('resource').map((e) => e.name)};
seen.first = rows();
head(4).querySelector('button').click();
seen.up = rows(); seen.upMark = head(4).getAttribute('aria-sort');
head(4).querySelector('button').click();
seen.down = rows(); seen.downMark = head(4).getAttribute('aria-sort');
head(0).querySelector('button').click();
seen.marks = document.querySelectorAll('#all table [aria-sort]').length;
document.getElementById('next').click();
seen.second = rows(); seen.count = document.getElementById('count').textContent;
const only = document.getElementById('only');
only.value = 'certified'; only.dispatchEvent(new Event('change'));
seen.certified = rows();
only.value = ''; const find = document.getElementById('find');
find.value = 'place 1'; find.dispatchEvent(new Event('input'));
seen.found = rows();
find.value = 'nowhere'; find.dispatchEvent(new Event('input'));
seen.nothing = [rows().length, document.getElementById('count').textContent];
document.body.dataset.seen = btoa(unescape(encodeURIComponent(JSON.stringify(seen))));
"""


def probed(path):
    """Add the probe to the page and allow it, and it alone, by its hash."""
    text = path.read_text(encoding="utf-8")
    name = base64.b64encode(hashlib.sha256(PROBE.encode()).digest()).decode()
    text = text.replace("script-src ", f"script-src 'sha256-{name}' ", 1)
    path.write_text(text.replace("</body>", f"<script>{PROBE}</script></body>"), encoding="utf-8")
    return path


def outside_scripts(dom):
    return re.sub(r"<script.*?</script>", "", dom, flags=re.DOTALL)


@pytest.fixture
def page_file(make_page, hostile, tmp_path):
    names = (*hostile, *(f"Place {i}" for i in range(40)))
    path = tmp_path / "report.html"
    path.write_text(make_page(names=names).html(), encoding="utf-8")
    return path


def test_the_page_draws_and_its_table_works(browse, page_file, hostile):
    dom, complaints = browse(probed(page_file))
    body = outside_scripts(dom)
    assert 'data-ready="yes"' in body
    assert "data-owned" not in body
    assert complaints == []
    assert body.count("(certified)</title>") == 2 * 6  # in the wide picture and the narrow one
    seen = json.loads(base64.b64decode(re.search(r'data-seen="([^"]*)"', body)[1]))
    assert seen["loaded"] == []
    plain = [one_line(name) for name in hostile]
    assert [row[0] for row in seen["first"][: len(hostile)]] == plain
    assert [row[4] for row in seen["up"]] == [str(n) for n in range(20)]
    assert seen["upMark"] == "ascending"
    assert [row[4] for row in seen["down"]] == [str(45 - n) for n in range(20)]
    assert seen["downMark"] == "descending"
    assert seen["marks"] == 1
    assert len(seen["second"]) == 20
    assert seen["count"] == "21 to 40 of 46"
    assert {row[1] for row in seen["certified"]} == {"certified"}
    assert len(seen["certified"]) == 6
    assert [row[0] for row in seen["found"]] == ["Place 1", *(f"Place {n}" for n in range(10, 20))]
    assert seen["nothing"] == [0, "Nothing matches."]


def test_a_page_of_few_words_draws(browse, make_page, tmp_path):
    path = tmp_path / "report.html"
    page = make_page(charts=(), limit=None, facts=(), promise=(), edges=(), ledger=(), notes=())
    path.write_text(page.html(), encoding="utf-8")
    dom, complaints = browse(path)
    body = outside_scripts(dom)
    assert 'data-ready="yes"' in body
    assert "plot-area" not in body
    assert complaints == []
