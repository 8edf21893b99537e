"""What a curator does: by API, page and command, for their own dataset alone, and on record."""

import importlib.util
import json
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
typer_testing = pytest.importorskip("typer.testing")

spec = importlib.util.spec_from_file_location("pages", Path(__file__).with_name("test_pages.py"))
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)

from sqlalchemy import delete, select  # noqa: E402

from onesided_service import _store as tables  # noqa: E402
from onesided_service._errors import ServiceError  # noqa: E402
from onesided_service._store import State  # noqa: E402

FORM, Browser = pages.FORM, pages.Browser

VISITS = "/api/v1/datasets/visits"
COUNT = {"version": 1, "question": "Count", "fields": {"epsilon": 1, "by": "place"}}
SENT = {
    "people/add": {"person": "dave", "role": "analyst"},
    "people/rotate": {"person": "bob"},
    "people/revoke": {"person": "bob"},
    "people/allowance": {"person": "bob", "epsilon": "1/2"},
    "close": {"reason": "the rows are being mended"},
    "reopen": {},
    "check": {},
    "publish": {"ask": "none", "title": "Visits"},
    "withdraw": {"release": "none"},
}


def act(service, path, body=None, who="curator"):
    return service.post(f"{VISITS}/{path}", SENT[path] if body is None else body, who)


def done(service):
    return [one["action"] for one in service.get(f"{VISITS}/log", "curator").json()]


def test_the_list_here_is_the_list_of_acts(service):
    from onesided_service._curation import ACTS

    assert set(SENT) == set(ACTS)
    described = service.client.app.openapi()["paths"]
    for path in SENT:
        assert "requestBody" in described[f"/api/v1/datasets/{{name}}/{path}"]["post"]


@pytest.mark.parametrize("path", SENT)
def test_nobody_but_the_datasets_curator_does_any_of_it(service, path):
    service.tokens["sam"] = service.inner.people.add("sam", {"visits": ["sender"]}, days=1)
    other = {"wages": ["curator"], "visits": ["analyst"]}
    service.tokens["wendy"] = service.inner.people.add("wendy", other, days=1)
    before = len(done(service)), service.inner.people.list()
    for who, status in (("ann", 403), ("wendy", 403), ("sam", 404), ("stranger", 404), (None, 401)):
        assert act(service, path, who=who).status_code == status, who
    for who in ("ann", "wendy", "stranger"):
        browser = Browser(service).sign_in(who)
        assert browser.post(f"/curator/visits/{path}", SENT[path]).status_code in (403, 404)
    curator = Browser(service).sign_in("curator")
    curator.csrf = "0" * 64
    assert curator.post(f"/curator/visits/{path}", SENT[path]).status_code == 403
    assert Browser(service).post(f"/curator/visits/{path}", SENT[path]).status_code == 401
    people = [(one["person"], one["roles"]) for one in service.inner.people.list()]
    assert (len(done(service)), people) == (
        before[0],
        [(one["person"], one["roles"]) for one in before[1]],
    )
    assert service.get(VISITS).json()["open"]
    assert service.get(f"{VISITS}/log").status_code == 403


def test_a_person_is_added_rotated_limited_and_revoked(service):
    told = act(service, "people/add").json()
    service.tokens["dave"] = told["token"]
    assert told["roles"] == ["analyst"]
    assert service.get(VISITS, "dave").status_code == 200
    again = act(service, "people/add").json()
    assert again["token"] is None
    anew = act(service, "people/rotate", {"person": "dave"}).json()["token"]
    assert service.get(VISITS, "dave").status_code == 401
    service.tokens["dave"] = anew
    act(service, "people/allowance", {"person": "dave", "epsilon": "1/2"})
    assert set(service.get(VISITS, "dave").json()["allowance_left"].values()) == {"1/2"}
    assert service.ask(COUNT, "dave").status_code == 403
    act(service, "people/allowance", {"person": "dave"})
    assert service.ask(COUNT, "dave").status_code == 200
    assert act(service, "people/revoke", {"person": "dave"}).json()["roles"] == []
    assert act(service, "people/revoke", {"person": "dave"}).status_code == 200
    assert service.get(VISITS, "dave").status_code == 401
    assert done(service)[:5] == ["revoke", "allowance", "allowance", "rotate", "add"]
    assert act(service, "people/add").status_code == 422  # the name asked here before


def test_a_curator_gets_no_token_that_opens_what_is_not_theirs(service):
    people = service.inner.people
    people.add("walt", {"wages": ["curator"]}, days=1)
    people.add("walt", {"visits": ["analyst"]}, days=1)  # by the operator, who may
    told = act(service, "people/add", {"person": "walt", "role": "sender"}).json()
    assert told == {"person": "walt", "token": None, "roles": ["analyst", "sender"]}
    assert act(service, "people/rotate", {"person": "walt"}).status_code == 403
    assert act(service, "people/rotate", {"person": "eve"}).status_code == 404
    people.add("all", {"*": ["curator"]}, days=1)
    assert act(service, "people/rotate", {"person": "all"}).status_code == 403
    assert act(service, "people/revoke", {"person": "all"}).status_code == 409
    assert act(service, "people/revoke", {"person": "walt"}).status_code == 200
    assert people.named("walt").told() == {"wages": ["curator"]}
    assert act(service, "people/revoke", {"person": "carol"}).status_code == 409


@pytest.mark.parametrize("role", ["analyst", "curator"])
def test_no_curator_lets_a_token_of_another_open_their_dataset(service, role):
    """Whoever adds a name first holds its token, whomever others mean by that name."""
    people, wages = service.inner.people, {"wages": ["curator"]}
    people.add("walt", wages, days=1)
    carol, walt = people.named("carol"), people.named("walt")
    token = people.add("dana", {"visits": [role]}, days=1, by=carol)
    with pytest.raises(ServiceError, match="more than you curate") as refused:
        people.add("dana", {"wages": [role]}, days=1, by=walt)
    assert (refused.value.status, "operator" in refused.value.hint) == (403, True)
    assert people.of_token(token).told() == {"visits": [role]}
    people.add("dora", {"wages": [role]}, days=1, by=walt)
    body = {"person": "dora", "role": role}
    told = act(service, "people/add", body)
    assert (told.status_code, told.json()["error"]["type"]) == (403, "Forbidden")
    page = Browser(service).sign_in("curator").post("/curator/visits/people/add", body)
    assert page.status_code == 403
    assert "Ask the operator" in page.text
    assert people.named("dora").told() == {"wages": [role]}
    assert act(service, "people/add", {"person": "eve", "role": role}).status_code == 403
    both = people.add("both", {"visits": ["curator"], **wages}, days=1)
    people.add("dana", {"wages": [role]}, days=1, by=people.of_token(both))


@pytest.mark.parametrize("way", ["people/add", "people/rotate", "people/allowance"])
@pytest.mark.parametrize("away", ["revoke", "remove"])
def test_who_is_taken_away_meanwhile_leaves_nothing_that_comes_alive(
    service, monkeypatch, way, away
):
    people, state, real = service.inner.people, service.inner.state, State.write
    given = {"revoke": ("bob", "visits"), "remove": ("bob",)}[away]

    def write(state):
        monkeypatch.setattr(State, "write", real)  # just before: after all that came earlier
        getattr(people, away)(*given)
        return real(state)

    people.allow("bob", "visits", "1/3")
    monkeypatch.setattr(State, "write", write)
    told = act(service, way, {**SENT[way], "person": "bob"})
    assert State.write is real
    assert (told.status_code == 200) is (way == "people/add"), told.text
    there = {row["person"] for row in state.all(select(tables.people))}
    for table in (tables.tokens, tables.roles, tables.allowances):
        assert {row["person"] for row in state.all(select(table))} <= there, table
    assert service.get(VISITS, "bob").status_code == 401
    assert people.allowed("bob", "visits") is None


def test_a_new_person_begins_with_nothing_of_an_earlier_one(service):
    """However it stayed behind: it is not asked who may have left it."""
    people, state = service.inner.people, service.inner.state
    left = people.add("dave", {"wages": ["curator"]}, days=1)
    people.allow("dave", "wages", "99")
    state.run(delete(tables.people).where(tables.people.c.person == "dave"))
    assert people.of_token(left) is None
    fresh = act(service, "people/add").json()["token"]
    assert people.of_token(left) is None
    assert people.of_token(fresh).told() == {"visits": ["analyst"]}
    assert people.allowed("dave", "wages") is None


def test_a_dataset_is_closed_for_a_reason_and_opened_by_a_check(service):
    assert act(service, "check").status_code == 409
    for _ in range(2):
        assert act(service, "close").json() == {"name": "visits", "open": False}
    assert service.ask(COUNT).status_code == 503
    note = service.get(f"{VISITS}/notes", "curator").json()[0]["note"]
    assert note == "Closed by carol: the rows are being mended"
    told = act(service, "check").json()
    assert (told["rows"], told["open"]) == (60, True)
    assert "60 rows were checked" in told["words"]
    assert service.ask(COUNT).status_code == 200
    act(service, "close")
    assert act(service, "reopen").json()["open"]
    assert done(service)[:4] == ["reopen", "close", "check", "close"]
    page = Browser(service).sign_in("curator").get("/curator/visits").text
    assert "60 rows were checked" in page


def test_a_check_waits_for_no_turn_whose_ask_is_answered(service):
    found, now = service.inner.datasets["visits"], Fraction(service.inner.clock.now())
    ask = service.ask(COUNT).json()["ask"]
    found.turns.take(ask, "ann", Fraction(300), now=now)
    act(service, "close")
    assert found.turns.free_from(now) > now
    assert act(service, "check").status_code == 200
    act(service, "close")
    found.turns.take("under way", "ann", Fraction(300), now=now)
    assert act(service, "check").status_code == 409


@pytest.mark.parametrize("way", ["check", "reopen"])
def test_one_check_at_a_time_and_none_beside_questions(service, monkeypatch, way):
    """Else an ask would wait for a check, and be late: a bit of rows that nobody paid for."""
    found, begun, go = service.inner.datasets["visits"], threading.Event(), threading.Event()
    real = type(found)._record

    def slow(*given, **more):
        begun.set()
        assert go.wait(60)
        real(*given, **more)

    act(service, "close")
    monkeypatch.setattr(type(found), "_record", slow)
    first = threading.Thread(target=act, args=(service, way))
    first.start()
    assert begun.wait(60)
    refused = [act(service, other).status_code for other in ("check", "reopen")]
    go.set()
    first.join()
    assert refused == [409, 409]
    assert found.open
    assert found.turns.free_from(Fraction(0)) == 0  # nobody waits for a check that is over
    act(service, "close")
    found.turns.take("under way", "ann", Fraction(300), now=Fraction(service.inner.clock.now()))
    assert act(service, way).status_code == 409


def test_what_a_curator_withdrew_a_curator_alone_publishes_again(service):
    found = service.inner.datasets["visits"]
    found.config = replace(found.config, analysts_publish=True)
    ask = service.ask(COUNT).json()["ask"]
    mine, browser = f"/api/v1/asks/{ask}/publish", Browser(service).sign_in("ann")
    release = service.post(mine, {"title": "Mine"}).json()["published"]
    assert service.post(mine, {"title": "Mine"}).json()["published"] == release
    act(service, "withdraw", {"release": release, "reason": "wrong"})
    for told in (
        service.post(mine, {"title": "Anew"}),
        browser.post(f"/asks/{ask}/publish", {"title": "Anew"}),
    ):
        assert told.status_code == 403
        assert "curator" in told.text
        assert service.get(f"/api/v1/published/{release}", None).status_code == 410
    assert act(service, "publish", {"ask": ask, "title": "Anew"}).status_code == 200
    assert service.get(f"/api/v1/published/{release}", None).status_code == 200


ODD = [
    "\x1b",
    "\x85",
    "\n",
    "\u061c",
    "\u202e",
    "\u2066",
    "\u2028",
    "\ufdd0",
    "\uffff",
    "\U0010fffe",
]


@pytest.mark.parametrize("sign", ODD, ids=ascii)
def test_no_sign_that_hides_or_turns_others_is_in_what_people_write(service, folder, sign):
    """By any way: each field of each act, the asker's own publishing, and commands."""
    from onesided_service._datasets_command import app as datasets
    from onesided_service._people_command import app as people

    before, name = done(service), f"a{sign}b"
    for path, sent in SENT.items():
        for field in (field for field in sent if field != "ask"):
            told = act(service, path, {**sent, field: name})
            assert told.status_code == 422, (path, field)
            assert told.json()["error"]["hint"]
    ask, end = (
        service.ask(COUNT, "curator").json()["ask"],
        ["--config", str(folder / "onesided.toml")],
    )
    for path in (f"/api/v1/asks/{ask}/publish", f"{VISITS}/publish"):
        assert service.post(path, {"ask": ask, "title": name}, "curator").status_code == 422
    for app, words in (
        (people, ["add", name, "--role", "visits:analyst"]),
        (datasets, ["publish", ask, "--title", name]),
        (datasets, ["close", "visits", "--reason", name]),
        (datasets, ["withdraw", "visits", "none", "--reason", name]),
    ):
        assert typer_testing.CliRunner().invoke(app, [*words, *end]).exit_code != 0, words
    assert done(service) == before
    assert (
        act(service, "people/add", {"person": "Zoë 👩‍🔬 می‌خواهم", "role": "analyst"}).status_code
        == 200
    )


def test_a_release_is_published_withdrawn_and_published_again(service):
    ask = service.ask(COUNT).json()["ask"]
    told = act(service, "publish", {"ask": ask, "title": "Visits"}).json()["published"]
    path = f"/api/v1/published/{told}"
    assert service.get(path, None).status_code == 200
    for _ in range(2):
        body = {"release": told, "reason": "An age was read wrongly."}
        assert act(service, "withdraw", body).status_code == 200
    gone = service.get(path, None)
    assert gone.status_code == 410
    assert "An age was read wrongly." in gone.text
    page = service.get(f"/published/{told}", None)
    assert page.status_code == 410
    assert "<h1>This release was withdrawn</h1>" in page.text
    assert "lost" not in page.text
    assert service.get("/api/v1/published", None).json() == []
    for ending in (".csv", ".json"):
        assert service.get(path + ending, None).status_code == 410
    assert act(service, "publish", {"ask": ask, "title": "Anew"}).json()["published"] == told
    assert service.get(path, None).json()["title"] == "Anew"
    assert done(service)[:3] == ["publish", "withdraw", "publish"]


def test_the_page_acts_and_shows_a_token_once(service):
    browser = Browser(service).sign_in("curator")
    browser.answered(FORM)
    browser.answered(FORM)
    page = browser.post("/curator/visits/people/add", SENT["people/add"])
    assert page.status_code == 200
    assert page.text.count("os1_") == 1
    assert page.headers["cache-control"] == "no-store"
    shown = browser.get("/curator/visits").text
    assert "os1_" not in shown
    for words in ("Table of actions", "Table of charges", "dave", "Publish for everybody"):
        assert words in shown
    assert shown.count("<svg xmlns=") == 2  # for wide windows and for narrow ones
    refused = browser.post("/curator/visits/people/add", {"person": "x", "role": "king"})
    assert refused.status_code == 422
    assert "no role" in refused.text
    assert browser.post("/curator/visits/nothing", {}).status_code == 404


def test_commands_do_the_same_and_stand_in_the_same_log(service, folder):
    from onesided_service._datasets_command import app as datasets
    from onesided_service._people_command import app as people

    ask = service.ask(COUNT).json()["ask"]
    config = ["--config", str(folder / "onesided.toml")]

    def run(app, *words):
        found = typer_testing.CliRunner().invoke(app, [*words, *config])
        assert found.exit_code == 0, found.output
        return found.output

    run(people, "add", "dora", "--role", "visits:analyst")
    run(people, "allowance", "dora", "1/2", "--dataset", "visits")
    run(people, "rotate", "dora")
    run(people, "revoke", "dora", "--dataset", "visits")
    release = run(datasets, "publish", ask, "--title", "Visits").split()[-1].rpartition("/")[2]
    run(datasets, "withdraw", "visits", release)
    run(datasets, "close", "visits", "--reason", "mending")
    assert not service.get(VISITS).json()["open"]
    run(datasets, "reopen", "visits")
    told = json.loads(run(datasets, "log", "visits", "--json"))
    words = ["reopen", "close", "withdraw", "publish", "revoke", "rotate", "allowance", "add"]
    assert [one["action"] for one in told[:8]] == words
    assert {one["by"] for one in told[:8]} == {""}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("people/add", {"person": "x"}),
        ("people/add", {"person": "x", "role": "king"}),
        ("people/add", {"person": "x", "role": "analyst", "days": "0"}),
        ("people/add", {"person": "x", "role": "analyst", "more": "y"}),
        ("people/add", [1]),
        ("people/add", {"person": {"a": 1}, "role": "analyst"}),
        ("people/allowance", {"person": "bob", "epsilon": "-1"}),
        ("people/allowance", {"person": "bob", "epsilon": "nan"}),
        ("people/allowance", {"person": "bob", "epsilon": "1/" + "7" * 400}),
        ("close", {}),
        ("close", {"reason": " "}),
        ("publish", {"ask": "x", "title": ""}),
    ],
)
def test_what_is_not_well_filled_in_is_refused(service, path, body):
    before = done(service)
    assert act(service, path, body).status_code == 422
    assert done(service) == before
