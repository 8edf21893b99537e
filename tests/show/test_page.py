"""A page is complete in itself and safe to open."""

import html.parser
import json
import subprocess
import sys

import pytest

from onesided.errors import MissingDependencyError
from onesided.show import resource
from onesided.show._page import as_script_json


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


def test_no_element_loads_anything(make_page, hostile):
    found = Elements(make_page(names=hostile).html()).found
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


def test_the_page_may_run_only_its_own_script(make_page):
    (policy,) = [
        attributes["content"]
        for tag, attributes in Elements(make_page().html()).found
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("sha256-") == 1
    scripts = policy.split("script-src")[1].split(";")[0]
    assert "unsafe" not in scripts


def test_hostile_names_stay_text_in_table_and_picture(make_page, hostile):
    elements = Elements(make_page(names=hostile).html())
    assert [tag for tag, _ in elements.found].count("script") == 2
    for name in hostile[:1]:
        assert "".join(elements.words).count(name) >= 3  # the table's cell, and two pictures
    assert "49" not in [word.strip() for word in elements.words]  # no template was run


def test_hostile_words_elsewhere_stay_text_too(make_page, hostile):
    bad = hostile[1]
    page = make_page(
        title=bad,
        asked=bad,
        noun=bad,
        scope=bad,
        first=(bad,),
        lines=(bad,),
        facts=((bad, bad),),
        promise=(bad,),
        edges=((bad, bad, bad),),
        ledger=({bad: bad},),
        notes=(bad,),
    )
    assert [tag for tag, _ in Elements(page.html()).found].count("script") == 2


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "&lt;", "\u2028\u2029", "\ud800"])
def test_script_json_says_the_same_without_dangerous_characters(text):
    written = as_script_json({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert written.isascii()
    assert not set("<>&") & set(written)


def test_certain_and_uncertain_sides_are_named(make_page):
    words = " ".join("".join(Elements(make_page().html()).words).split())
    assert "upper (certain)" in words
    assert "lower (95 %)" in words
    assert "6 of 30 groups are certified" in words
    assert "This is certain about the data as they are." in words


def test_a_certificate_about_bounded_data_says_so(make_page):
    scope = "the bounded data (at most 3 places per person)"
    words = " ".join("".join(Elements(make_page(scope=scope).html()).words).split())
    assert f"This is certain about {scope}." in words


def test_a_long_answer_shows_a_part_and_says_where_the_rest_is(make_page):
    text = make_page(rows=(30, 20_007)).html()
    assert "first 30 of 20,007 rows" in text
    assert "release.parquet" in text


@pytest.mark.parametrize(
    "changes",
    [
        {"limit": None},
        {"charts": ()},
        {"facts": (), "promise": (), "edges": (), "ledger": (), "notes": ()},
        {"names": ()},
        {"count": 0},
        {"count": 1},
    ],
)
def test_every_part_may_be_absent(make_page, changes):
    assert "</html>" in make_page(**changes).html()


def test_a_missing_package_is_named(make_page, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingDependencyError, match="needs jinja2"):
        make_page().html()


def test_importing_pages_loads_no_plotting_library():
    code = "import sys, onesided.show; print({'plotly', 'jinja2'} & set(sys.modules))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "set()"
