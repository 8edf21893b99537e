"""The file is complete in itself, safe to open and replaced in one step."""

import html.parser
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from onesided.errors import MissingDependencyError, OutputError
from onesided.report import write
from onesided.report._render import TABLE_LIMIT, render
from onesided.report._template import as_script_json, resource


class Elements(html.parser.HTMLParser):
    """All elements with their attributes, and the text of scripts."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.lasttag == "script" and self.scripts:
            self.scripts[-1] += data
        self.words.append(data)


def data_of(text):
    return json.loads(Elements(text).scripts[0])


def test_no_element_loads_anything(make_page, hostile):
    found = Elements(render(make_page(names=hostile))).found
    assert {"table", "script", "style"} <= {tag for tag, _ in found}
    for tag, attributes in found:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "a"}
        assert not {"src", "href", "srcset", "data", "action"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]


def test_style_and_script_of_ours_name_no_address():
    for name in ("look.css", "report.css", "report.js", "report.html"):
        text = resource(name)
        assert "http://" not in text
        assert "https://" not in text
        assert "url(" not in text
        assert "@import" not in text


def test_the_page_may_run_only_its_own_two_scripts(make_page):
    (policy,) = [
        attributes["content"]
        for tag, attributes in Elements(render(make_page())).found
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("sha256-") == 2
    scripts = policy.split("script-src")[1].split(";")[0]
    assert "unsafe" not in scripts


def test_hostile_names_stay_text_in_table_and_figure(make_page, hostile):
    text = render(make_page(names=hostile))
    elements = Elements(text)
    assert [tag for tag, _ in elements.found].count("script") == 3
    data = data_of(text)
    assert data["table"]["columns"][0]["values"] == list(hostile)
    assert "&lt;script&gt;" in data["figures"]["map"]["data"][0]["hovertext"][0]
    for name in hostile[:1]:
        assert name in "".join(elements.words)  # the table's cell holds it, as text
    assert "49" not in [word.strip() for word in elements.words]  # no template was run


def test_hostile_words_elsewhere_stay_text_too(make_page, hostile):
    bad = hostile[1]
    page = make_page(
        title=bad,
        question=bad,
        key_name=bad,
        confidence=bad,
        scope=bad,
        facts=((bad, bad),),
        sentences=(bad,),
        edges=((bad, bad, bad),),
        ledger=({bad: bad},),
        notes=(bad,),
    )
    assert [tag for tag, _ in Elements(render(page)).found].count("script") == 3


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "&lt;", "\u2028\u2029", "\ud800"])
def test_script_json_says_the_same_without_dangerous_characters(text):
    written = as_script_json({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert written.isascii()
    assert not set("<>&") & set(written)


def test_missing_bounds_become_null_and_a_dash(make_page):
    page = make_page(count=2, lower=np.array([1.0, -math.inf]), estimate=np.full(2, np.nan))
    text = render(page)
    kinds = {c["kind"]: c["values"] for c in data_of(text)["table"]["columns"]}
    assert kinds["lower"] == [1.0, None]
    assert "estimate" not in kinds
    assert '<td class="number">–</td>' in text


def test_certain_and_uncertain_sides_are_named(make_page):
    words = " ".join("".join(Elements(render(make_page())).words).split())
    assert "at most certain" in words
    assert "at least 95 %" in words
    assert "6 of 30 groups are certified" in words
    assert "This is certain about the data as they are." in words


def test_a_certificate_about_bounded_data_says_so(make_page):
    scope = "the bounded data (at most 3 places per person)"
    words = " ".join("".join(Elements(render(make_page(scope=scope))).words).split())
    assert f"This is certain about {scope}." in words
    assert f"The number in {scope} is never above this bound." in words
    assert "The true number" not in words


def test_a_long_release_shows_a_part_and_says_where_the_rest_is(make_page):
    text = render(make_page(count=TABLE_LIMIT + 7, latitude=None, longitude=None))
    assert len(data_of(text)["table"]["columns"][0]["values"]) == TABLE_LIMIT
    assert "first 20,000 of 20,007 groups" in text
    assert "release.parquet" in text


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold": None, "certified": None},
        {"latitude": None, "longitude": None},
        {"facts": (), "sentences": (), "edges": (), "ledger": (), "notes": ()},
        {"names": ()},
        {"count": 0},
        {"count": 1},
    ],
)
def test_every_part_may_be_absent(make_page, changes):
    assert "</html>" in render(make_page(**changes))


def test_writing_replaces_in_one_step_and_leaves_no_crumbs(make_page, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("older")
    write(make_page(), path)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]

    def fail(self, target):
        raise OSError("disk is full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    before = path.read_bytes()
    with pytest.raises(OutputError, match="disk is full"):
        write(make_page(title="newer"), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_that_is_not_there_is_a_clear_error(make_page, tmp_path):
    with pytest.raises(OutputError, match="cannot write the report"):
        write(make_page(), tmp_path / "absent" / "report.html")


@pytest.mark.parametrize("package", ["plotly.offline", "jinja2"])
def test_a_missing_package_is_named(make_page, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'onesided\[cli\]'"):
        write(make_page(), tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_importing_the_report_loads_no_plotting_library():
    code = "import sys, onesided.report; print({'plotly', 'jinja2'} & set(sys.modules))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "set()"
