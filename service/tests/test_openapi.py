"""Requests that schemathesis makes up from the API's own description: it says what comes back."""

import random
import sys
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import hypothesis
import polars as pl
import pytest

from onesided import policy as policies

pytest.importorskip("fastapi")
pytest.importorskip("duckdb")
schemathesis = pytest.importorskip("schemathesis")


def beside(name):
    spec = spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hour, world = beside("hour"), beside("world")
TRACES = (b"Traceback", b'File "/', b"onesided_service", b"sqlalchemy", b"duckdb.")


def test_no_request_of_the_description_ends_in_a_mistake(monkeypatch, long_form):
    """10,000 in the long form: no undeclared status, no trace, closed by its curator alone."""
    number = 10_000 if long_form else 200
    with world.in_memory() as place:
        types = {"person": pl.Int64, "place": pl.String, "age": pl.Int64}
        frame = pl.DataFrame([(1, "gym", 30)], schema=types, orient="row")
        folder = world.written(Path(place) / "service", frame, policies.presence(max_groups=2))
        service = world.World(folder, monkeypatch, coupled=False)
        try:
            made = list(requests(service.app, number))
            found = service.responses([request for request, _ in made])
            is_open = service.inner.datasets["visits"].open
            notes = service.inner.datasets["visits"].notes()
        finally:
            service.close()
    assert len(found) >= number
    undeclared = Counter()
    for (request, operation), (status, _, body) in zip(made, found, strict=True):
        if str(status) not in operation.definition.raw["responses"]:
            undeclared[operation.method, operation.path, status, request.path] += 1
        assert status not in (500, 502, 504), request
        assert not any(trace in body for trace in TRACES), request
    assert not undeclared
    print(number, Counter(status for status, _, _ in found))  # noqa: T201 - a measurement
    closed = {one["note"] for one in notes if not one["note"].startswith("Closed by carol: ")}
    assert is_open or notes
    assert not closed


def requests(app, number):
    """What schemathesis would send, in turn to each address, and of which operation it is."""
    schema = schemathesis.openapi.from_dict(app.openapi())
    operations = [found.ok() for found in schema.get_all_operations()]
    each, chance = -(-number // len(operations)), random.Random(18)
    drawn = [cases(operation, each) for operation in operations]
    for place in range(each):
        for operation, some in zip(operations, drawn, strict=True):
            yield sent(some[place % len(some)], place, chance), operation


def cases(operation, number):
    """As many made-up requests to one address, the same on every run."""
    drawn = []

    @hypothesis.seed(18)
    @hypothesis.settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy())
    def draw(case):
        drawn.append(case)

    draw()
    return drawn


def sent(case, place, chance):
    """A case as a request; three of four are about what there is, one of four asks what it may."""
    told = case.as_transport_kwargs(base_url="http://service")
    body = told.get("json", told.get("data", b""))
    if place % 4 == 1 and isinstance(body, dict) and {"question", "sql"} & set(body):
        rest = {key: body[key] for key in body if key == "wanted"}
        body = {**hour.asked(chance, place), **rest}
    content = body if isinstance(body, bytes) else hour.json.dumps(body).encode()
    path = "/" + told["url"].split("/", 3)[3]
    if place % 4:
        which = "published" if "published" in case.path else "ask"
        path = case.path.replace("{name}", "visits").replace("{id}", f"{{{which}}}")
    headers = {
        name: value
        for name, value in (told.get("headers") or {}).items()
        if str(value).isascii() and name.lower() not in ("user-agent", "content-length")
    }
    who = ("ann", "carol", None)[place % 3]
    return hour.Sent(case.method, path, who, content, headers)
