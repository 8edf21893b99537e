"""The client against a made-up server: requests that get lost, refusals, addresses, tokens."""

import inspect
import json

import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.remote import RemoteSession, _session
from onesided.session import question_from_json, release_to_json

httpx = pytest.importorskip("httpx")

TOKEN = "of-an-analyst"  # noqa: S105 - made up
ROWS = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
ASK = {"by": "place", "keys": ["a", "b"], "epsilon": 90}


class Made:
    """A server in memory that can lose requests and answers."""

    def __init__(self):
        policy = od.policy.presence(max_groups=2)
        self.session = od.Session(ROWS, unit="person", policy=policy, budget=1000)
        self.seen, self.faults, self.asked = [], [], []

    def __call__(self, request):
        self.seen.append(request)
        fault = self.faults.pop(0) if self.faults else None
        if fault == "lost request":
            raise httpx.ConnectError("no route", request=request)
        response = self.answer(request)
        if fault == "lost answer":
            raise httpx.ReadTimeout("nothing came", request=request)
        return fault if isinstance(fault, httpx.Response) else response

    def answer(self, request):
        path = request.url.path.removeprefix("/api/v1")
        if path == "/datasets":
            return httpx.Response(200, json=[{"name": "visits", "title": "Visits", "open": True}])
        if path == "/datasets/visits":
            return httpx.Response(200, json=self.facts())
        if path == "/datasets/visits/ask":
            return self.told(request)
        return httpx.Response(404, json=refusal("NotFound", "There is nothing here."))

    def facts(self):
        return {
            "name": "visits",
            "policy": {"name": "presence", "toml": self.session.policy.to_toml(), "words": ""},
            "unit": "person",
            "schema": {"columns": {"person": {}, "place": {}}},
            "open": True,
            "allowance_left": {edge: str(left) for edge, left in self.session.remaining.items()},
            "spent": {edge: str(some) for edge, some in self.session.spent.items()},
        }

    def told(self, request):
        question = question_from_json(json.dumps(json.loads(request.content)["question"]))
        self.asked.append(question)
        try:
            release = self.session.ask(question)
        except errors.OnesidedError as error:
            values = {name: str(value) for name, value in error.values.items()}
            told = refusal(type(error).__name__, error.reason, error.hint, values)
            return httpx.Response(409, json=told)
        return httpx.Response(
            200, json={"ask": "1", "release": json.loads(release_to_json(release))}
        )


def refusal(kind, message, hint="", values=None):
    return {"error": {"type": kind, "message": message, "hint": hint, "values": values or {}}}


@pytest.fixture
def made():
    return Made()


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """Nothing waits in these tests; how long it would have is written down."""
    found = []
    monkeypatch.setattr(_session, "sleep", found.append)  # the client's own, no other thread's
    return found


def connected(made, **more):
    given = {"token": TOKEN, "transport": httpx.MockTransport(made), **more}
    return od.connect("http://localhost:8000/", **given)


def test_a_question_is_answered_as_a_session_does(made):
    session = connected(made, tables=pl.DataFrame)
    release = session.count(**ASK)
    assert release.frame["estimate"].to_list() == [1, 3]
    assert release.at_most(1) == ["a"]
    assert release.guarantee.headline == 90
    assert session.remaining == made.session.remaining
    assert session.spent == made.session.spent
    assert session.policy.identity == made.session.policy.identity
    assert made.seen[-1].headers["Authorization"] == f"Bearer {TOKEN}"


def test_a_total_and_several_answers_keep_their_form(made):
    session = connected(made)
    assert session.count(epsilon=90).at_most(3) == [()]
    first, second = session.ask_all([od.Count(**ASK | {"epsilon": 50}), od.Count(epsilon=50)])
    assert (first.labels, second.value) == (["a", "b"], 3.0)
    assert first.entry == second.entry


def test_sql_is_read_here_and_asked_there(made):
    session = connected(made)
    text = "SELECT place, COUNT(DISTINCT person) FROM visits GROUP BY place"
    assert session.sql(text, epsilon=90, keys=["a", "b"]).at_most(1) == ["a"]
    local = made.session.question(text, epsilon=90, keys=["a", "b"])
    assert session.question(text, epsilon=90, keys=["a", "b"]) == local
    with pytest.raises(errors.SqlError, match="shoe"):
        session.sql("SELECT shoe, COUNT(*) FROM visits GROUP BY shoe", epsilon=1)


@pytest.mark.parametrize("fault", ["lost request", "lost answer", httpx.Response(502)])
def test_what_gets_lost_is_sent_again_and_charged_once(made, pauses, fault):
    session = connected(made)
    made.faults = [fault, fault]
    release = session.count(**ASK)
    assert release.at_most(1) == ["a"]
    assert made.session.spent == {"present -> not present": 90}
    assert pauses == [0.5, 1.0]
    bodies = {request.content for request in made.seen if request.method == "POST"}
    assert len(bodies) == 1


def test_every_question_has_an_id_of_its_own(made):
    session = connected(made)
    session.count(**ASK)
    session.count(**ASK)
    assert made.session.spent == {"present -> not present": 180}
    assert len({question.id for question in made.asked}) == 2


def test_an_id_of_the_callers_is_sent_as_it_is(made):
    session = connected(made)
    session.count(**ASK, id="monday")
    assert (made.asked[-1].id, made.asked[-1].again) == ("monday", False)
    with pytest.raises(errors.ReleaseExistsError):
        session.count(**ASK, id="monday")
    assert session.count(**ASK, id="monday", again=True).told_again
    assert made.session.spent == {"present -> not present": 90}


def test_a_lost_answer_under_the_callers_id_is_not_told_as_new(made):
    session = connected(made)
    made.faults = ["lost answer"]
    with pytest.raises(errors.ReleaseExistsError) as caught:
        session.count(**ASK, id="monday")
    assert "again=True" in caught.value.hint
    assert session.count(**ASK, id="monday", again=True).at_most(1) == ["a"]
    assert made.session.spent == {"present -> not present": 90}


def test_who_gives_up_is_told_the_id(made):
    session = connected(made)
    made.faults = ["lost answer"] * _session.ATTEMPTS
    with pytest.raises(errors.ServiceError, match="cannot be reached") as caught:
        session.count(**ASK)
    assert caught.value.values["id"] in caught.value.hint
    again = session.count(**ASK, id=caught.value.values["id"], again=True)
    assert again.told_again
    assert made.session.spent == {"present -> not present": 90}


def test_the_server_says_when_to_come_back(made, pauses):
    session = connected(made)
    busy = httpx.Response(429, headers={"Retry-After": "7"}, json=refusal("X", "Too many."))
    made.faults = [busy]
    session.count(**ASK)
    assert pauses == [7.0]
    made.faults = [httpx.Response(429, headers={"Retry-After": "3600"}, json=refusal("X", "No."))]
    with pytest.raises(errors.ServiceError, match=r"No\."):
        session.count(**ASK)


@pytest.mark.parametrize(
    "kind",
    [
        one
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, errors.OnesidedError)
    ],
    ids=lambda one: one.__name__,
)
def test_errors_are_raised_by_their_type(made, kind):
    session = connected(made)
    told = refusal(kind.__name__, "It cannot be.", "Do that.", {"left": "1/2", "reason": "x"})
    made.faults = [httpx.Response(400, json=told)]
    with pytest.raises(kind) as caught:
        session.count(**ASK, id="x")
    assert type(caught.value) is kind
    assert caught.value.reason == "It cannot be."
    assert caught.value.hint.startswith("Do that.")
    assert caught.value.values["left"] == "1/2"


@pytest.mark.parametrize(
    "told",
    [
        {"json": refusal("SystemExit", "Out.")},
        {"json": refusal("Callable", "Out.")},
        {"json": {"error": 3}},
        {"json": []},
        {"text": "<html>Bad gateway</html>"},
        {"text": "[" * 10**5},
    ],
)
def test_any_other_refusal_is_the_services(made, told):
    session = connected(made)
    made.faults = [httpx.Response(418, **told)]
    with pytest.raises(errors.ServiceError) as caught:
        session.count(**ASK)
    assert caught.value.values["status"] == 418


@pytest.mark.parametrize("told", [{"text": "hello"}, {"json": {"ask": 1}}, {"json": [1]}])
def test_a_success_of_another_form_is_refused(made, told):
    session = connected(made)
    made.faults = [httpx.Response(200, **told)]
    with pytest.raises(errors.ServiceError):
        session.count(**ASK)


def test_redirects_are_not_followed_with_the_token(made):
    session = connected(made)
    made.faults = [httpx.Response(307, headers={"Location": "http://localhost:9/"})]
    with pytest.raises(errors.ServiceError, match="307"):
        session.count(**ASK)
    assert made.seen[-1].url.port == 8000


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://example.org", "in the clear"),
        ("ftp://localhost", "begins with"),
        ("localhost:8000", "begins with"),
        ("https://me:pw@example.org", "no name, password"),
        ("https://example.org?token=x", "no name, password"),
        (3, "begins with"),
    ],
)
def test_addresses_that_give_something_away_are_refused(url, reason):
    with pytest.raises(errors.ParameterError, match=reason) as caught:
        od.connect(url, token=TOKEN, dataset="visits")
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("token", ["", " ", "a\nb", "ä"])
def test_what_is_no_token_is_refused(made, token):
    with pytest.raises(errors.ParameterError, match="token"):
        connected(made, token=token)


def test_the_token_is_never_shown(made, monkeypatch):
    monkeypatch.setenv("ONESIDED_TOKEN", TOKEN)
    session = connected(made, token=None)
    assert TOKEN not in repr(session) + repr(vars(session))
    assert made.seen[-1].headers["Authorization"] == f"Bearer {TOKEN}"
    made.faults = ["lost request"] * _session.ATTEMPTS
    with pytest.raises(errors.ServiceError) as caught:
        session.count(**ASK)
    assert TOKEN not in str(caught.value) + repr(caught.value.values)


def test_a_dataset_is_named_where_there_are_several(made):
    made.faults = [httpx.Response(200, json=[{"name": "visits"}, {"name": "wages"}])]
    with pytest.raises(errors.ParameterError, match="2 datasets") as caught:
        connected(made)
    assert "'wages'" in caught.value.hint
    with pytest.raises(errors.ServiceError, match="nothing here"):
        connected(made, dataset="../published")
    assert made.seen[-1].url.raw_path == b"/api/v1/datasets/..%2Fpublished"


# What a server has no use for: a mechanism is code, and notes are for the curator.
LOCAL = {
    "release",
    "join_public",
    "per_unit",
    "inspect",
    "total",
    "suggest",
    "free_sample",
    "by_cohort",
    "account",
    "detail",
    "charge",
    "answer",
}


def test_a_connected_session_has_the_methods_of_a_session():
    own = {name: getattr(od.Session, name) for name in dir(od.Session) if name[0] != "_"}
    assert set(own) - LOCAL <= set(dir(RemoteSession))
    # A plan is compared over public data where the data are, in a session of one's own.
    for name in set(own) - LOCAL - {"remaining", "spent", "plan"}:
        mine, theirs = inspect.signature(getattr(RemoteSession, name)), inspect.signature(own[name])
        assert list(mine.parameters) == list(theirs.parameters), name


def test_what_is_no_question_is_refused_before_it_is_sent(made):
    session = connected(made)
    sent = len(made.seen)
    for wrong in (od.Count, "count", None):
        with pytest.raises(errors.ParameterError, match="question"):
            session.ask(wrong)
    with pytest.raises(errors.ParameterError):
        session.count(epsilon=1, colour="red")
    assert len(made.seen) == sent
