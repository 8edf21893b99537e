"""What everybody may read: the gallery, files, feed and frames; and pages of declared origins."""

import io
import xml.etree.ElementTree as ET
import zipfile
from dataclasses import replace
from html.parser import HTMLParser

import pytest

pytest.importorskip("fastapi")

from sqlalchemy import update

from onesided_service._store import published as published_table

VISITS = "/api/v1/datasets/visits"
COUNT = {"version": 1, "question": "Count", "fields": {"epsilon": 1, "by": "place"}}
HOSTILE = "<script>alert(1)</script> & \"'"
NEWS = {"Origin": "https://news.example"}


def parsed(text):
    return ET.fromstring(text)  # noqa: S314 - of our own making


def published(service, title="Visits"):
    ask = service.ask(COUNT).json()["ask"]
    told = service.post(f"{VISITS}/publish", {"ask": ask, "title": title}, "curator")
    return told.json()["published"]


@pytest.fixture
def folder(folder):
    config = folder / "onesided.toml"
    given = '[service]\norigins = ["https://news.example"]\npublic_url = "https://stats.example"'
    config.write_text(config.read_text().replace("[service]", given))
    return folder


def test_the_gallery_shows_each_with_sentence_picture_and_files(service):
    name = published(service, HOSTILE)
    page = service.get("/published", None).text
    assert "Number of units (person) by place." in page
    first = "Rows without a value of &#39;place&#39; are in no group. A certain upper bound"
    assert page.index(first) < page.index("<svg")  # before any number
    assert first.replace("&#39;", "'") in service.get("/published.atom", None).text
    assert page.count("<svg xmlns=") == 2
    assert HOSTILE not in page
    for kind in ("csv", "json", "xlsx"):
        assert f'href="/api/v1/published/{name}.{kind}"' in page
        assert service.get(f"/api/v1/published/{name}.{kind}", None).status_code == 200
    one = service.get(f"/published/{name}", None).text
    assert f"https://stats.example/published/{name}/embed" in one
    assert service.get("/published?number=2", None).status_code == 404
    assert service.get("/published?number=x", None).status_code == 422


def test_pages_of_the_gallery_hold_ten_each(service):
    from onesided_service._public_pages import EACH

    names = [published(service, f"Visits {number}") for number in range(EACH + 1)]
    first, second = (service.get(f"/published?number={n}", None).text for n in (1, 2))
    assert names[-1] in first
    assert names[0] not in first
    assert names[0] in second


def test_the_sheet_says_what_it_is_about_and_the_picture_has_no_script(service):
    name = published(service)
    sheet = service.get(f"/api/v1/published/{name}.xlsx", None)
    texts = zipfile.ZipFile(io.BytesIO(sheet.content)).read("xl/sharedStrings.xml").decode()
    assert "by place" in texts
    drawn = service.get(f"/api/v1/published/{name}.svg", None)
    assert drawn.headers["content-type"] == "image/svg+xml"
    tags = {element.tag.rpartition("}")[2] for element in parsed(drawn.text).iter()}
    assert not tags & {"script", "foreignObject", "image", "a", "use"}
    for ending in ("svg", "xlsx", "csv"):
        assert service.get(f"/api/v1/published/{name}.{ending}?part=2", None).status_code == 404
        assert service.get(f"/api/v1/published/none.{ending}", None).status_code == 404


TITLES = [HOSTILE, "</code>&lt;img src=x>", '" onload="alert(1)', "&quot;&#34;", "'>"]


class Tags(HTMLParser):
    """The elements of a page, and the text of each code element."""

    def __init__(self, text):
        super().__init__()
        self.found, self.codes, self._in = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._in = tag == "code"
        if self._in:
            self.codes.append("")

    def handle_endtag(self, tag):
        self._in = self._in and tag != "code"

    def handle_data(self, data):
        if self._in:
            self.codes[-1] += data


@pytest.mark.parametrize("title", TITLES)
def test_what_is_copied_into_other_pages_holds_the_title_as_text_alone(service, title):
    page = Tags(service.get(f"/published/{published(service, title)}", None).text)
    copied = [Tags(code).found for code in page.codes if "<" in code]
    assert [[tag for tag, _ in found] for found in copied] == [["iframe"]]
    own = copied[0][0][1]
    assert set(own) == {"src", "title", "width", "height"}
    assert own["title"] == title


def test_the_feed_is_well_formed_whatever_statements_and_titles_hold(service):
    """Those on record, too: a reader of feeds reads all of it or nothing."""
    every = "".join(map(chr, [*range(1, 0x20), 0x7F, 0x85, 0xD7FF, 0xE000, 0xFFFD, 0xFFFE, 0xFFFF]))
    fields = {"epsilon": 1, "where": f"place = '{every}'"}
    ask = service.ask({**COUNT, "fields": fields}).json()["ask"]
    sent = {"ask": ask, "title": "Visits"}
    assert service.post(f"{VISITS}/publish", sent, "curator").status_code == 200
    service.inner.config = replace(service.inner.config, title=every)
    service.inner.state.run(update(published_table).values(title=every))
    atom = "{http://www.w3.org/2005/Atom}"
    feed = parsed(service.get("/published.atom", None).text)
    for found in (feed, feed.find(f"{atom}entry")):
        assert found.find(f"{atom}title").text == "\t\n\n\x7f\x85\ud7ff\ue000\ufffd"


def test_the_feed_is_well_formed_and_lists_what_can_be_read(service):
    name = published(service, HOSTILE)
    atom = "{http://www.w3.org/2005/Atom}"
    told = service.get("/published.atom", None)
    entry = parsed(told.text).find(f"{atom}entry")
    assert entry.find(f"{atom}title").text == HOSTILE
    assert entry.find(f"{atom}id").text == f"https://stats.example/published/{name}"
    again = service.get("/published.atom", None, headers={"If-None-Match": told.headers["etag"]})
    assert again.status_code == 304
    service.post(f"{VISITS}/withdraw", {"release": name}, "curator")
    assert parsed(service.get("/published.atom", None).text).find(f"{atom}entry") is None
    assert service.get(f"/published/{name}", None).status_code == 410


def test_the_frame_has_neither_links_nor_forms_and_other_pages_are_not_framed(service):
    name = published(service)
    framed = service.get(f"/published/{name}/embed", None)
    assert "frame-ancestors *" in framed.headers["content-security-policy"]
    assert "x-frame-options" not in framed.headers
    assert "<a " not in framed.text
    assert "<form" not in framed.text
    assert service.get(f"/published/{name}", None).headers["x-frame-options"] == "DENY"


def test_declared_origins_ask_before_they_read_and_others_do_not(service):
    name = published(service)
    before = {**NEWS, "Access-Control-Request-Method": "GET"}
    before["Access-Control-Request-Headers"] = "if-none-match"

    def asked(path, headers):
        return service.client.run(service.client.inner.options(path, headers=headers))

    for path in (f"/api/v1/published/{name}", "/api/v1/published", "/static/onesided.js"):
        told = asked(path, before)
        assert told.status_code == 204, path
        assert told.headers["access-control-allow-origin"] == NEWS["Origin"]
        assert told.headers["access-control-allow-headers"] == "If-None-Match"
    for path, headers in (
        ("/api/v1/published", {**before, "Origin": "https://evil.example"}),
        ("/api/v1/published", {**before, "Access-Control-Request-Method": "POST"}),
        (f"{VISITS}/ask", before),
    ):
        refused = asked(path, headers)
        assert refused.status_code == 405, path
        assert "access-control-allow-origin" not in refused.headers or path.endswith("published")


def test_the_module_is_served_and_is_not_kept_for_ever(service):
    told = service.get("/static/onesided.js", None, headers=NEWS)
    assert told.headers["content-type"].startswith("text/javascript")
    assert told.headers["access-control-allow-origin"] == NEWS["Origin"]
    assert "must-revalidate" in told.headers["cache-control"]
    for words in ("innerHTML", "eval(", "document.write"):
        assert words not in told.text


def test_an_error_page_says_nobody_is_signed_out(service):
    html = {"Accept": "text/html", "Cookie": "onesided=os1_some_thing"}
    page = service.client.get("/nothing/here", headers=html)
    assert page.status_code == 404
    assert "Sign in</a>" not in page.text
    assert "Sign in</a>" in service.client.get("/nothing", headers={"Accept": "text/html"}).text
