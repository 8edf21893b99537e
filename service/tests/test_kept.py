"""A list of questions that is kept, asked under one charge, and answers side by side."""

import re

import polars as pl
import pytest

import onesided as od

pytest.importorskip("jinja2")

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from onesided.errors import ParameterError
from onesided_service._kept import MOST, Kept
from onesided_service._kept_pages import joined
from onesided_service._pages import SHOWN_ROWS
from onesided_service._store import State

spec = spec_from_file_location("pages", Path(__file__).with_name("test_pages.py"))
pages = module_from_spec(spec)
spec.loader.exec_module(pages)

COUNT = {"how": "form", "kind": "count", "by": "place", "epsilon": "1", "do": "keep"}
LIST, ASK = "/datasets/visits/list", "/datasets/visits/ask"


@pytest.fixture
def browser(service):
    return pages.Browser(service).sign_in("ann")


def charges(service):
    return len(service.inner.datasets["visits"].session().ledger.entries(kind="spend"))


def as_shown(browser):
    """What the page's own form sends."""
    page = browser.get(LIST).text
    hidden = re.findall(r'<input type="hidden" name="(shown|once)" value="([^"]*)">', page)
    return {"do": "ask", **dict(hidden)}


def test_a_list_is_charged_as_it_was_shown_and_once(browser, service):
    """A press too many, and a tab that shows another list, cost nothing."""
    browser.post(ASK, {**COUNT, "epsilon": "1/100"})
    seen, before = as_shown(browser), charges(service)
    browser.post(ASK, {**COUNT, "epsilon": "1/2"})  # in another tab
    refused = browser.post(LIST, seen)
    assert refused.status_code == 409
    assert "not as it was when its price was shown" in refused.text
    assert "done before" not in refused.text
    for missing in ("shown", "once"):
        assert browser.post(LIST, {**as_shown(browser), missing: ""}).status_code == 409
    assert charges(service) == before
    seen = as_shown(browser)
    first, second = (browser.post(LIST, seen) for _ in range(2))
    browser.wait(first.headers["location"])
    third = browser.post(LIST, seen)
    assert len({one.headers["location"] for one in (first, second, third)}) == 1
    assert charges(service) == before + 1


def test_a_list_is_priced_and_asked_under_one_charge(browser, service):
    assert "Nothing is on it" in browser.get(LIST).text
    before = charges(service)
    for epsilon in ("1", "1/2"):
        kept = browser.post(ASK, {**COUNT, "epsilon": epsilon})
        assert (kept.status_code, kept.headers["location"]) == (303, LIST)
    sql = "SELECT COUNT(DISTINCT person) FROM visits WHERE age >= 30"
    browser.post(ASK, {"how": "sql", "sql": sql, "epsilon": "1/4", "do": "keep"})
    page = browser.get(LIST).text
    assert charges(service) == before
    assert page.count('name="remove"') == 3
    assert "<b>ε = 1.75</b>" in page
    gone = re.findall(r'name="remove" value="([0-9a-f]+)"', page)[1]
    browser.post(LIST, {"remove": gone})
    page = browser.get(LIST).text
    assert page.count('name="remove"') == 2
    assert "<b>ε = 1.25</b>" in page
    asked = browser.post(LIST, as_shown(browser))
    assert asked.status_code == 303, asked.text
    assert charges(service) == before + 1
    page = browser.wait(asked.headers["location"])
    assert page.count('class="card answer"') == 2
    assert browser.get(LIST).text.count('name="remove"') == 2  # they are asked again when wanted


def test_what_the_ask_would_refuse_is_not_kept_and_too_much_is_refused_as_a_whole(browser, service):
    wrong = browser.post(ASK, {**COUNT, "where": "age >= 18 AND plaec = 'gym'"})
    assert wrong.status_code == 422
    assert "line 1, column 15:" in wrong.text
    before = charges(service)
    assert browser.post(LIST, {"do": "ask"}).status_code == 422
    for _ in range(2):
        browser.post(ASK, {**COUNT, "epsilon": "30"})
    assert "More than is left." in browser.get(LIST).text
    refused = browser.post(LIST, as_shown(browser))
    assert refused.status_code == 403
    assert charges(service) == before


def test_a_list_is_its_person_s_own_and_no_longer_than_it_may_be(browser, service):
    browser.post(ASK, COUNT)
    other = pages.Browser(service).sign_in("bob")
    assert "Nothing is on it" in other.get(LIST).text
    own = re.search(r'name="remove" value="([0-9a-f]+)"', browser.get(LIST).text)[1]
    other.post(LIST, {"remove": own})
    assert own in browser.get(LIST).text
    assert pages.Browser(service).sign_in("stranger").get(LIST).status_code == 404
    assert browser.post(LIST, {"csrf": "no", "do": "ask"}).status_code == 403
    kept = Kept(State.open(None))
    for _ in range(MOST):
        kept.add("ann", "visits", "{}")
    with pytest.raises(ParameterError, match="Remove one"):
        kept.add("ann", "visits", "{}")
    kept.add("ann", "others", "{}")


def test_answers_about_the_same_groups_stand_beside_each_other(browser, service):
    each = ("1/2", "1/4")
    paths = [browser.answered({**COUNT, "epsilon": one, "do": "ask"})[0] for one in each]
    names = [path.rpartition("/")[2] for path in paths]
    history = browser.get("/history").text
    assert all(f'name="ask" value="{name}"' in history for name in names)
    page = browser.get(f"/compare?ask={names[0]}&ask={names[1]}").text
    assert len(re.findall(r' id="answer[12]"', page)) == 2
    assert f"/asks/{names[1]}.csv?part=1" in re.findall(r"/asks/[^\"]*", page)
    assert "Group by group" in page
    assert all(f"by place, ε = {one}</th>" in page for one in each)
    assert page.count('class="card answer"') == 2
    assert page.count('<th scope="row">gym</th>') == 1
    other = pages.Browser(service).sign_in("bob")
    assert other.get(f"/compare?ask={names[0]}").status_code == 404
    whole = browser.answered({**COUNT, "do": "ask", "by": []})[0].rpartition("/")[2]
    assert "Group by group" not in browser.get(f"/compare?ask={names[0]}&ask={whole}").text
    assert "Choose answers" in browser.get("/compare").text


def counted(first, size):
    """A count by place, read back."""
    places = [f"place {n:03}" for n in range(first, first + size)]
    rows = pl.DataFrame({"person": range(size), "place": places})
    policy = od.policy.presence(max_groups=1)
    session = od.Session(rows, unit="person", policy=policy, budget=1)
    return session.ask(od.Count(by="place", keys=places, epsilon=1))


def test_answers_are_joined_before_they_are_cut():
    """What an answer says of a group stands beside the others', however long each one is."""
    pair = counted(0, SHOWN_ROWS + 50), counted(20, SHOWN_ROWS + 50)
    table = joined(pair)
    assert (len(table["rows"]), table["more"]) == (SHOWN_ROWS, 70)
    for (place,), sides in table["rows"]:
        for one, cells in zip(pair, sides, strict=True):
            assert (cells[0] == "–") == (place not in one.table.labels())
    assert joined([]) is None


def test_each_answer_of_a_list_has_files_of_its_own(browser, service):
    for kept in (COUNT, {**COUNT, "by": []}):
        browser.post(ASK, kept)
    path = browser.post(LIST, as_shown(browser)).headers["location"]
    page = browser.wait(path)
    read = {f"/api/v1{path}": service, path: browser}
    for kind in ("csv", "json", "xlsx"):
        files = []
        for part in (1, 2):
            assert f'href="{path}.{kind}?part={part}"' in page
            found = [one.get(f"{at}.{kind}?part={part}") for at, one in read.items()]
            files += [one.content for one in found]
            assert all(f'-{part}.{kind}"' in one.headers["content-disposition"] for one in found)
        assert len(set(files)) == 2 or kind == "xlsx"  # which holds when it was made
        for at, one in read.items():
            whole = one.get(f"{at}.{kind}")
            assert whole.status_code == (200 if kind == "json" else 422), whole.text
            assert one.get(f"{at}.{kind}?part=3").status_code == 404
            assert "no-store" in one.get(f"{at}.{kind}?part=1").headers.get("cache-control", "")
    address = browser.post(f"{path}/publish", {"title": "Two"}).headers.get("location")
    assert address is None  # analysts do not publish here
    name = service.post(
        "/api/v1/datasets/visits/publish", {"ask": path[6:], "title": "Two"}, "curator"
    ).json()["published"]
    public = browser.get(f"/published/{name}").text
    assert f'href="/api/v1/published/{name}.csv?part=2"' in public
    assert "All 2 answers" in browser.get("/published").text


def test_programs_keep_questions_too(browser, service):
    path = f"/api/v1{LIST}"
    count = {"version": 2, "question": "Count", "fields": {"by": "place", "epsilon": "1/2"}}
    name = service.post(path, {"question": count}).json()["id"]
    (one,) = service.get(path).json()
    assert (one["id"], one["epsilon"]) == (name, "1/2")
    assert one["question"]["fields"]["by"] == "place"
    assert f'value="{name}"' in browser.get(LIST).text
    wrong = {**count, "fields": {**count["fields"], "by": "nowhere"}}
    assert service.post(path, {"question": wrong}).status_code == 422
    assert service.get(path, "bob").json() == []

    def gone(who):
        headers = {"Authorization": f"Bearer {service.tokens[who]}"}
        request = service.client.inner.request("DELETE", f"{path}/{name}", headers=headers)
        return service.client.run(request).status_code

    assert [gone(who) for who in ("bob", "stranger", "ann", "ann")] == [404, 404, 200, 404]
    assert service.get(path).json() == []
