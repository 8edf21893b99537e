"""A service over a small made-up table, with a clock that waits for the work and not the wall."""

import asyncio
import threading
from fractions import Fraction

import pytest

import onesided as od
from onesided import policy

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

TOML = """
[service]
state = "service.db"
tick = "1/10"
[datasets.visits]
title = "Visits of a made-up town"
data = "visits.parquet"
schema = "visits.schema.toml"
policy = "policy.toml"
budget = "100"
allowance = "40"
declared_rows = 1000
"""


class PatientClock:
    """A real clock, except that it waits for the work before it turns to the tick."""

    def __new__(cls, tick=Fraction(1, 10)):
        from onesided_service._clock import Clock

        class Patient(Clock):
            def before(self, due):  # noqa: ARG002 - however long the work takes
                return True

            async def until(self, due, work):
                if not isinstance(work, asyncio.Task) and not hasattr(work, "_state"):
                    return await super().until(due, work)
                await asyncio.wait({work}, timeout=600)
                return await super().until(due, work)

        return Patient(tick)


_REHEARSED = {}  # by what is told of a table: a question of each class was read over it


@pytest.fixture(autouse=True)
def rehearsed(request, monkeypatch):
    """Tables of one schema and policy are rehearsed once, and where that is what is tested."""
    if request.path.stem in ("test_check", "test_sources"):
        return
    from onesided_service import _datasets

    real = _datasets.rehearse_each

    def once(session, schema):
        key = schema.identity, session.policy.identity
        if key not in _REHEARSED:
            _REHEARSED[key] = real(session, schema)
        return _REHEARSED[key]

    monkeypatch.setattr(_datasets, "rehearse_each", once)


@pytest.fixture(scope="session")
def patient_clock():
    return PatientClock


@pytest.fixture
def folder(tmp_path):
    """A folder with data, a schema, a policy and a configuration."""
    duckdb = pytest.importorskip("duckdb")
    duckdb.execute(
        "COPY (SELECT i // 2 AS person, ['gym', 'bar', 'inn'][i % 3 + 1] AS place, "
        "20 + i % 50 AS age FROM range(60) t(i)) "
        f"TO '{tmp_path / 'visits.parquet'}' (FORMAT parquet)"
    )
    schema = od.Schema(
        unit="person",
        columns={
            "person": od.column("integer"),
            "place": od.column("text", keys=["gym", "bar", "inn"]),
            "age": od.column("integer", bounds=(0, 110)),
        },
    )
    (tmp_path / "visits.schema.toml").write_text(schema.to_toml())
    (tmp_path / "policy.toml").write_text(policy.presence(max_groups=2).to_toml())
    (tmp_path / "onesided.toml").write_text(TOML)
    return tmp_path


@pytest.fixture
def service(folder):
    """Configuration, tokens and a client of the application."""
    from onesided_service import ServiceConfig, create_app

    app = create_app(ServiceConfig.read(folder / "onesided.toml"), clock=PatientClock())
    inner = app.state.service
    inner.datasets["visits"].check()
    tokens = {
        "curator": inner.people.add("carol", {"visits": ["curator"]}, days=1),
        "ann": inner.people.add("ann", {"visits": ["analyst"]}, days=1),
        "bob": inner.people.add("bob", {"visits": ["analyst"]}, days=1),
        "stranger": inner.people.add("eve", {}, days=1),
    }
    client = Client(app)
    yield Told(client, tokens, inner)
    client.close()


class Client:
    """A client of an application, without a socket: its loop runs in a thread of its own."""

    def __init__(self, app):
        import httpx

        self.app, self.loop = app, asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self.inner = httpx.AsyncClient(transport=transport, base_url="http://service", timeout=600)

    def run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(900)

    def get(self, path, **more):
        return self.run(self.inner.get(path, **more))

    def post(self, path, **more):
        return self.run(self.inner.post(path, **more))

    def close(self):
        self.run(self.inner.aclose())
        self.run(self.app.state.service.finish())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class Told:
    """A client that speaks as somebody."""

    def __init__(self, client, tokens, inner):
        self.client, self.tokens, self.inner = client, tokens, inner

    def get(self, path, who="ann", **more):
        headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}
        return self.client.get(path, headers={**headers, **more.pop("headers", {})}, **more)

    def post(self, path, body, who="ann", **more):
        headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}
        headers |= more.pop("headers", {})
        return self.client.post(path, json=body, headers=headers, **more)

    def ask(self, question, who="ann", **more):
        return self.post("/api/v1/datasets/visits/ask", {"question": question}, who, **more)


COUNT = {"version": 1, "question": "Count", "fields": {"epsilon": 1, "by": "place"}}
