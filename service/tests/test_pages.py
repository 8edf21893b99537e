"""Pages: signing in, forms that cannot be forged, no inline script or style, names as text."""

import datetime as dt
import re
import secrets
import time
from html.parser import HTMLParser

import pytest

pytest.importorskip("jinja2")

HOSTILE = "<script>alert(1)</script>"
FORM = {"how": "form", "kind": "count", "by": "place", "epsilon": "1", "do": "ask"}


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


class Browser:
    """Keeps a cookie and fills in the mark of our own page, as a browser with our page does."""

    def __init__(self, told):
        self.told, self.cookie, self.csrf = told, "", ""

    def get(self, path, **headers):
        return self.told.client.get(path, headers={"Cookie": self.cookie, **headers})

    def post(self, path, fields, **headers):
        once = {"once": secrets.token_hex(8)} if path.startswith("/datasets/") else {}
        form = {"csrf": self.csrf, **once, **fields}
        return self.told.client.post(path, data=form, headers={"Cookie": self.cookie, **headers})

    def sign_in(self, who):
        answer = self.post("/sign-in", {"token": self.told.tokens[who], "next": "/history"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/history")
        kept = answer.headers["set-cookie"]
        assert "HttpOnly" in kept
        assert "SameSite=strict" in kept
        self.cookie = kept.partition(";")[0]
        self.csrf = re.search(r'name="csrf" value="([0-9a-f]+)"', self.get("/").text)[1]
        return self

    def answered(self, fields):
        """The page of the answer of a form that is asked."""
        asked = self.post("/datasets/visits/ask", fields)
        assert asked.status_code == 303, asked.text
        return asked.headers["location"], self.wait(asked.headers["location"])

    def wait(self, path):
        """The page of an answer, once it is there."""
        page = self.get(path)
        while 'id="due"' in page.text:
            time.sleep(0.05)  # a minute has so many requests
            page = self.get(path)
        return page.text


@pytest.fixture
def browser(service):
    return Browser(service)


def test_pages_send_who_is_not_signed_in_to_sign_in_and_back(browser):
    answer = browser.get("/datasets/visits/ask?how=sql")
    assert answer.headers["location"] == "/sign-in?next=/datasets/visits/ask%3Fhow%3Dsql"
    assert browser.get("/sign-in?next=//evil.example/").text.count('value="/"') == 1
    answer = browser.post("/sign-in", {"token": "os1_wrong_wrong", "next": "/"})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_a_question_is_priced_previewed_asked_and_downloaded(browser, service):
    browser.sign_in("ann")
    spent = service.get("/api/v1/datasets/visits").json()["spent"]
    assert "Predicted error" in browser.post("/datasets/visits/price", FORM).text
    preview = browser.post("/datasets/visits/ask", {**FORM, "do": "preview"}).text
    assert "Made-up data" in preview
    assert "COUNT(DISTINCT person)" in preview
    assert service.get("/api/v1/datasets/visits").json()["spent"] == spent
    address, page = browser.answered(FORM)
    assert service.get("/api/v1/datasets/visits").json()["spent"] != spent
    assert "Certificate" in page
    assert page.count("<svg xmlns=") == 2
    assert browser.get(f"{address}.csv").text.startswith("place,estimate,lower,upper")
    assert '"release"' in browser.get(f"{address}.json").text
    assert address in browser.get("/history").text


def test_nobody_reads_anothers_answer(browser, service):
    address, _ = browser.sign_in("ann").answered(FORM)
    other = Browser(service).sign_in("bob")
    for ending in ("", ".csv", ".json"):
        assert other.get(f"{address}{ending}").status_code == 404
    assert address not in other.get("/history").text
    for page in ("/datasets/visits", "/datasets/visits/ask", "/curator/visits"):
        assert Browser(service).sign_in("stranger").get(page).status_code == 404
    assert other.get("/curator/visits").status_code == 403


@pytest.mark.parametrize("path", ["/datasets/visits/ask", "/datasets/visits/price", "/sign-out"])
def test_forms_of_other_sites_are_refused(browser, path):
    browser.sign_in("ann")
    assert browser.post(path, {**FORM, "csrf": "0" * 64}).status_code == 403
    assert browser.post(path, FORM, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert Browser(browser.told).post(path, FORM).status_code in (303, 401)
    browser.cookie = "onesided=os1_wrong_wrong"
    assert browser.post(path, FORM).status_code == 401


OWN_FORMS = (
    *("/datasets/visits/ask", "/datasets/visits/price", "/sign-out"),
    *("/asks/0/publish", "/curator/visits/reopen"),
)


@pytest.mark.parametrize("path", OWN_FORMS)
def test_forms_without_the_mark_of_our_own_page_are_refused(browser, service, path):
    browser.sign_in("curator")
    spent = service.get("/api/v1/datasets/visits").json()["spent"]
    cookie = {"Cookie": browser.cookie}
    for form in (
        FORM,
        {**FORM, "csrf": ""},
        {**FORM, "csrf": "ä"},
        {**FORM, "token": browser.csrf},
    ):
        assert service.client.post(path, data=form, headers=cookie).status_code == 403
    other = Browser(service).sign_in("ann").csrf
    assert browser.post(path, {**FORM, "csrf": other}).status_code == 403
    assert service.get("/api/v1/datasets/visits").json()["spent"] == spent
    assert browser.get("/history").status_code == 200  # still signed in


def test_a_cookie_opens_nothing_of_the_api(browser, service):
    browser.sign_in("ann")
    asked = {"question": {"version": 1, "question": "Count", "fields": {"epsilon": 1}}}
    cookie = {"Cookie": browser.cookie}
    assert service.client.get("/api/v1/me", headers=cookie).status_code == 401
    answer = service.client.post("/api/v1/datasets/visits/ask", json=asked, headers=cookie)
    assert answer.status_code == 401


def test_signing_out_ends_the_cookie_everywhere(browser):
    browser.sign_in("ann")
    assert browser.post("/sign-out", {}).status_code == 303
    assert browser.get("/history").status_code == 303


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"epsilon": "99"}, 403, "Refused: this costs more than is left"),
        ({"epsilon": "1000"}, 422, "promises nothing"),
        ({"epsilon": "much"}, 422, "epsilon"),
        ({"kind": "sum"}, 422, "No column is chosen."),
        ({"kind": "top_k", "number": "x"}, 422, "The number is not filled in."),
        ({"kind": HOSTILE}, 422, "There is no such question."),
        ({"where": HOSTILE}, 422, "&lt;script&gt;"),
        ({"how": "sql", "sql": f"SELECT {HOSTILE}"}, 422, "&lt;script&gt;"),
        ({"name": "n" * 300}, 422, "An id is a text of 1 to 200 characters."),
    ],
)
def test_what_is_refused_says_so_beside_the_form(browser, fields, status, words):
    browser.sign_in("ann")
    answer = browser.post("/datasets/visits/ask", {**FORM, **fields})
    assert answer.status_code == status
    assert words in answer.text
    assert HOSTILE not in answer.text


def test_no_page_has_inline_script_or_style_or_an_address_elsewhere(browser):
    browser.sign_in("curator")
    address, _ = browser.answered(FORM)
    pages = ["/", "/sign-in", "/datasets/visits", "/datasets/visits/ask", "/history", address]
    for path in [*pages, "/datasets/visits/ask?how=sql", "/curator/visits", "/nothing/here"]:
        answer = browser.get(path, Accept="text/html")
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "script-src 'self'" in policy
        for tag, attributes in Elements(answer.text).found:
            assert tag != "style"
            assert tag != "script" or set(attributes) == {"src", "defer"}
            assert "style" not in attributes
            assert not [name for name in attributes if name.startswith("on")]
            for name in ("src", "href", "action"):
                assert attributes.get(name, "/")[0] in "/?#"


def test_the_curator_sees_charges_and_reopens(browser, service):
    browser.sign_in("curator")
    browser.answered(FORM)
    assert "Table of charges" in browser.get("/curator/visits").text
    service.inner.datasets["visits"].close("the reason is for the curator")
    assert "the reason is for the curator" in browser.get("/curator/visits").text
    analyst = Browser(service).sign_in("ann")
    assert "the reason" not in analyst.get("/datasets/visits").text
    assert browser.post("/curator/visits/reopen", {}).status_code == 303
    assert "Open to questions." in browser.get("/curator/visits").text


def test_a_published_answer_needs_no_account_and_an_analyst_may_not_publish(browser, service):
    address, page = browser.sign_in("ann").answered(FORM)
    assert "Publish" not in page.replace("Published", "")
    assert browser.post(f"{address}/publish", {"title": "Mine"}).status_code == 403
    curator = Browser(service).sign_in("curator")
    address, page = curator.answered(FORM)
    assert "Publish for everybody" in page
    public = curator.post(f"{address}/publish", {"title": HOSTILE}).headers["location"]
    assert public in curator.get(address).text
    reader = Browser(service)
    assert public in reader.get("/published").text
    assert public in reader.get("/").text
    text = reader.get(public).text
    assert "Certificate" in text
    assert HOSTILE not in text
    for kind in ("csv", "json"):
        assert reader.get(f"/api/v1{public}.{kind}").status_code == 200


def test_a_name_is_answered_once(browser, service):
    browser.sign_in("ann")
    named = {**FORM, "name": "monday"}
    address, _ = browser.answered(named)
    spent = service.get("/api/v1/datasets/visits").json()["spent"]
    assert browser.answered(named)[0] == address
    assert service.get("/api/v1/datasets/visits").json()["spent"] == spent
    other = browser.post("/datasets/visits/ask", {**named, "epsilon": "2"})
    assert other.status_code == 409


def test_files_of_the_look_are_kept_and_others_are_not_there(browser):
    page = browser.get("/").text
    for address in re.findall(r'(?:href|src)="(/static/[^"]+)"', page):
        answer = browser.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert "url(" not in answer.text
    for name in ("nothing.css", "..%2f_app.py", "../_app.py", "templates/base.html"):
        assert browser.get(f"/static/{name}").status_code == 404


def test_a_browser_is_signed_in_no_longer_than_its_token_holds(service):
    from sqlalchemy import select

    from onesided_service._store import tokens

    people = service.inner.people
    soon = (dt.datetime.now(dt.UTC) + dt.timedelta(minutes=5)).isoformat(timespec="microseconds")
    people.expire("bob", at=soon)
    _, cookie = people.sign_in(service.tokens["bob"])
    row = service.inner.state.one(select(tokens).where(tokens.c.id == cookie.split("_")[1]))
    assert row["expires"] == soon
    people.rotate("bob", days=1)
    assert people.sign_in(service.tokens["bob"]) is None


def test_tokens_cannot_be_tried_on_the_page_without_end(service, browser):
    from onesided_service._turns import Limits

    service.inner.limits = Limits(3, workers=1)
    wrong = {"token": "os1_wrong_wrong", "next": "/"}
    told = [browser.post("/sign-in", wrong).status_code for _ in range(5)]
    assert told[-1] == 429
    right = {"token": service.tokens["ann"], "next": "/"}
    assert browser.post("/sign-in", right).status_code == 303  # others at its address can


def test_the_one_edge_of_a_policy_has_no_name_on_its_page(service):
    page = Browser(service).sign_in("ann").get("/datasets/visits").text
    assert "<li>Protected: " in page


def test_numbers_and_nouns_suit_each_other(browser, service):
    """One answer is no answers; a list costs what its questions do together."""
    browser.sign_in("ann")
    for kept in ({**FORM, "kind": "at_least", "number": "1"}, {**FORM, "epsilon": "1/4"}):
        assert browser.post("/datasets/visits/ask", {**kept, "do": "keep"}).status_code == 303
    page = browser.get("/datasets/visits/list").text
    assert "At least 1 unit (person) by place" in page
    assert "How many units there are" in browser.get("/datasets/visits/ask").text
    hidden = re.findall(r'name="(shown|once)" value="([^"]*)">', page)
    asked = browser.post("/datasets/visits/list", {"do": "ask", **dict(hidden)})
    gone = re.search(r'name="remove" value="([0-9a-f]+)"', page)[1]
    browser.post("/datasets/visits/list", {"remove": gone})
    hidden = re.findall(
        r'name="(shown|once)" value="([^"]*)">', browser.get("/datasets/visits/list").text
    )
    assert browser.post("/datasets/visits/list", {"do": "ask", **dict(hidden)}).status_code == 303
    browser.wait(asked.headers["location"])
    page = browser.get("/history").text
    assert "1 answer: " in page
    assert re.search(r'2 answers: .*<td class="number">1.25</td>', page)
    assert "1 answers" not in page
    assert "None" not in page


def test_a_form_that_is_sent_twice_is_charged_once(browser, service):
    browser.sign_in("ann")

    def charges():
        return len(service.inner.datasets["visits"].session().ledger.entries(kind="spend"))

    def once(how):
        page = browser.get(f"/datasets/visits/ask?how={how}").text
        return re.search(r'name="once" value="([0-9a-f]+)"', page)[1]

    sql = {"how": "sql", "sql": "SELECT COUNT(*) FROM visits", "epsilon": "1", "max_rows": "2"}
    for fields in (FORM, {**sql, "do": "ask"}, {**FORM, "within": "9", "epsilon": ""}):
        page, before = once(fields["how"]), charges()
        pressed = [browser.post("/datasets/visits/ask", {**fields, "once": page}) for _ in range(2)]
        address = pressed[0].headers["location"]
        browser.wait(address)
        pressed.append(browser.post("/datasets/visits/ask", {**fields, "once": page}))
        assert {one.headers["location"] for one in pressed} == {address}
        assert charges() == before + 1
        assert once(fields["how"]) != page
    other = browser.post("/datasets/visits/ask", {**FORM, "epsilon": "3/7", "once": page})
    assert other.headers["location"] != address  # back, and changed
    again = browser.post("/datasets/visits/ask", {**FORM, "once": once("form")})
    assert again.status_code == 303
    assert charges() == before + 3
    assert browser.post("/datasets/visits/ask", {**FORM, "once": ""}).status_code == 409
    assert charges() == before + 3
    assert "once " not in browser.get("/history").text
