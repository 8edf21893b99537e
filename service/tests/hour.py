"""An hour of an analyst's work, written out: who sends what where, good requests and bad ones."""

import json
from dataclasses import dataclass, field
from fractions import Fraction

from onesided.session import (
    Above,
    AtMost,
    Count,
    Discover,
    Enclosed,
    Histogram,
    Mean,
    Quantile,
    RangeQuery,
    Sample,
    Several,
    Sum,
    TopK,
    Variance,
    question_to_json,
)

PLACES = ("gym", "bar", "inn", "pool", "zoo")
API = "/api/v1"
VISITS = f"{API}/datasets/visits"
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Sent:
    """One request. who: whose token it carries; None for none, or a token itself."""

    method: str
    path: str
    who: str | None = "ann"
    body: bytes = b""
    headers: dict = field(default_factory=dict)


def post(path, body, who="ann", **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Sent("POST", path, who, content, {**JSON, **headers})


def asked(rng, number):
    """A body of a question: well-formed in most cases, affordable in many."""
    epsilon = rng.choice([1, 1, "1/2", "1/10", 0.25, Fraction(1, 3), 90])
    by = rng.choice([{}, {"by": "place"}, {"by": "place", "keys": rng.sample(PLACES, 3)}])
    where = rng.choice([{}, {"where": "age >= 30"}, {"where": "age IS NULL OR place = 'gym'"}])
    named = rng.choice([{}, {"id": f"question {number % 40}"}])
    cut = {"max_groups": 2, "on_excess": "truncate"} if by else {}
    given = {"epsilon": epsilon, **by, **cut, **where, **named}
    grouped = {"epsilon": epsilon, "by": "place", **named, "max_groups": 2}
    grouped |= {"on_excess": "truncate"}
    makers = [
        lambda: Count(**given),
        lambda: Count(**grouped, others=True),
        lambda: Sum("age", of="rows", max_rows=3, **given),
        lambda: Mean("age", **given),
        lambda: Variance("age", epsilon=epsilon, **named),
        lambda: Quantile("age", Fraction(rng.randrange(1, 10), 10), epsilon=epsilon, **named),
        lambda: Histogram("age", bins=[0, 30, 60, 111], epsilon=epsilon, **named),
        lambda: TopK(rng.randrange(1, 4), **grouped),
        lambda: AtMost(rng.randrange(0, 9), **grouped),
        lambda: Above(rng.randrange(1, 9), max_answers=2, **grouped),
        lambda: Enclosed(**grouped),
        lambda: RangeQuery("age", [(0, 4)], bins=range(0, 111, 10), epsilon=epsilon, **named),
        lambda: Discover(by="place", epsilon=epsilon, delta="1/1000000", **named),
        lambda: Sample(epsilon=epsilon, **named),
        lambda: Several(
            [Count(epsilon=1), Sum("age", of="units", total_bounds=(0, 200), epsilon=1)],
            epsilon=epsilon,
            **named,
        ),
    ]
    try:
        question = rng.choice(makers)()
        return {"question": json.loads(question_to_json(question))}
    except (TypeError, ValueError):
        return {"question": {"version": 1, "question": "Count", "fields": {"epsilon": 1}}}


TEXTS = (
    "SELECT place, COUNT(DISTINCT person) FROM visits GROUP BY place",
    "SELECT COUNT(DISTINCT person) FROM visits WHERE age > 40",
    "SELECT place, SUM(age, contribution_bounds_per_group => (0, 200)) FROM visits GROUP BY place",
    "SELECT MEDIAN_PER_UNIT(age) FROM visits",
    "EXPLAIN SELECT COUNT(DISTINCT person) FROM visits",
    "SELECT * FROM visits",
    "SELECT person FROM visits",
    "SELECT COUNT(*) FROM visits; DROP TABLE visits",
    "SELECT COUNT(DISTINCT person) FROM visits WHERE 1 / 0 = 1",
    "SELECT COUNT(DISTINCT person) FROM visits WHERE shoe = 3",
    "SELECT COUNT(DISTINCT person), MEAN_PER_UNIT(age) FROM visits",
    "SELECT place, COUNT(DISTINCT person) FROM read_parquet('visits.parquet') GROUP BY place",
)
BAD = (
    b"",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"\xff\xfe",
    b'{"question": 3}',
    b'{"question": {}}',
    b'{"question": {"version": 3, "question": "Count", "fields": {"epsilon": 1}}}',
    b'{"question": {"version": 1, "question": "Count", "fields": {"epsilon": "nan"}}}',
    b'{"question": {"version": 1, "question": "Count", "fields": {"epsilon": 1, "x": 1}}}',
    b'{"question": {"version": 1, "question": "OwnMechanism", "fields": {}}}',
    b'{"sql": 3, "epsilon": 1}',
    b'{"sql": "SELECT", "epsilon": -1}',
    b'{"sql": "SELECT COUNT(*) FROM visits", "question": {}, "epsilon": 1}',
    b'{"a": 1, "a": 2}',
    b"[" * 2000,
    b'{"question": {"version": 1, "question": "Count", "fields": '
    b'{"epsilon": 1, "by": "place", "keys": "visits.parquet"}}}',
    b'{"question": {"version": 1, "question": "Count", "fields": '
    b'{"epsilon": 1, "by": "place", "on_excess": "error", "max_groups": 1}}}',
    b'{"question": {"version": 1, "question": "Sum", "fields": '
    b'{"column": "age", "epsilon": 1, "missing": "refuse"}}}',
    b'{"question": {"version": 1, "question": "Count", "fields": '
    b'{"epsilon": 1, "where": "person = (SELECT 1)"}}}',
)
PATHS = (
    "/healthz",
    f"{API}/me",
    f"{API}/datasets",
    VISITS,
    f"{VISITS}/asks",
    f"{VISITS}/notes",
    f"{VISITS}/ledger",
    f"{API}/datasets/wages",
    f"{API}/datasets/..%2f..%2fvisits.parquet",
    f"{API}/datasets/visits%00",
    f"{API}/asks/unknown",
    f"{API}/published",
    f"{API}/published/unknown",
    f"{API}/published/unknown.csv",
    f"{API}/monitors",
    f"{API}/monitors/city",
    f"{API}/openapi.json",
    "/",
    "/sign-in",
    "/datasets/visits",
    "/datasets/visits/ask",
    "/history",
    "/published",
    "/curator/visits",
    "/static/../onesided.toml",
    "/static/%2e%2e/%2e%2e/service.db",
    "/visits.parquet",
    "//etc/passwd",
)


def hour(rng, questions):
    """The requests, in order; ``{ask}`` in a path is the latest ask that was told its name."""
    for path in PATHS:
        for who in ("ann", None):
            yield Sent("GET", path, who)
        yield Sent("GET", path, rng.choice(["eve", "bob", "os1_00_00"]))
        yield Sent(rng.choice(["POST", "PUT", "DELETE", "PATCH"]), path)
    for number in range(questions):
        way = rng.choice(["plan", "plan", "ask", "ask", "ask", "ask", "preview"])
        who = rng.choice(["ann", "ann", "ann", "bob"])
        body = asked(rng, number)
        if rng.random() < 0.2:
            body = {"sql": rng.choice(TEXTS), "epsilon": rng.choice([1, "1/10", 90])}
        late = {"Prefer": "respond-async"} if rng.random() < 0.1 else {}
        yield post(f"{VISITS}/{way}", body, who, **late)
        yield from between(rng)
    for body in BAD:
        yield post(f"{VISITS}/{rng.choice(['plan', 'ask', 'preview'])}", body)
    yield post(f"{VISITS}/ask", b" " * 2_000_000)
    yield Sent("POST", f"{VISITS}/ask", body=b"x=1", headers={"Content-Type": "text/plain"})


def between(rng):
    """What is looked at between two questions."""
    if rng.random() < 0.3:
        yield Sent("GET", f"{API}/asks/{{ask}}", rng.choice(["ann", "bob", "eve", None]))
    if rng.random() < 0.1:
        yield Sent("GET", rng.choice([VISITS, f"{VISITS}/asks", f"{API}/published"]))
    if rng.random() < 0.1:
        who = rng.choice(["ann", "bob", "carol"])
        yield post(f"{API}/asks/{{ask}}/publish", {"title": "An answer"}, who)
    if rng.random() < 0.05:
        yield Sent("GET", f"{API}/published/{{published}}{rng.choice(['', '.csv', '.json'])}", None)
    if rng.random() < 0.05:
        yield Sent("GET", rng.choice(["/", "/history", "/asks/{ask}", "/published/{published}"]))
