"""A service in which nothing but the rows can differ: fixed clock, fixed names, coupled answers."""

import asyncio
import itertools
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import httpx

import onesided as od
from onesided import store
from onesided.noise import NotPrivateSeededNoise
from onesided_service import ServiceConfig, create_app
from onesided_service._clock import Clock

PLACES = ("gym", "bar", "inn", "pool", "zoo")
SCHEMA = od.Schema(
    unit="person",
    columns={
        "person": od.column("integer"),
        "place": od.column("text", keys=list(PLACES)),
        "age": od.column("integer", bounds=(0, 110)),
    },
)
TOML = """
[service]
state = "service.db"
requests_per_minute = 1_000_000_000
[datasets.visits]
title = "Visits of a made-up town"
data = "visits.parquet"
schema = "visits.schema.toml"
policy = "policy.toml"
budget = "4000"
delta_budget = "1/1000"
allowance = "80"
refills = "daily"
delta_allowance = "1/1000"
declared_rows = 1000
analysts_publish = true
"""
START = 1_790_000_000


def in_memory():
    """Where folders of tests stand whose charges need not outlive the machine."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there
    return tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)


def written(folder, frame, policy):
    """A folder with a table, its schema, its policy and the configuration."""
    folder.mkdir()
    frame.write_parquet(folder / "visits.parquet")
    (folder / "visits.schema.toml").write_text(SCHEMA.to_toml())
    (folder / "policy.toml").write_text(policy.to_toml())
    (folder / "onesided.toml").write_text(TOML)
    return folder


class World:
    """One service over one table, asked one request after the other."""

    def __init__(self, folder, patch, *, coupled=True):
        self.time, self.names = float(START), itertools.count()
        patch.setattr(store._text, "datetime", _Moments(self))
        for name in ("token_hex", "token_urlsafe"):
            patch.setattr(f"secrets.{name}", lambda size=32: f"{next(self.names):0{2 * size}x}")
        patch.setattr("secrets.token_bytes", lambda size=32: next(self.names).to_bytes(size))
        # Previews are about made-up rows; their noise is fixed, so that they can be compared.
        patch.setattr("onesided_service._made_up.Session", _with_fixed_noise)
        config = ServiceConfig.read(folder / "onesided.toml")
        self.app = create_app(config, clock=_frozen(self))
        self.inner = self.app.state.service
        self.inner.datasets["visits"].check()
        people, analyst = self.inner.people, {"visits": ["analyst"]}
        self.tokens = {
            "ann": people.add("ann", analyst, days=30),
            "bob": people.add("bob", analyst, days=30),
            "carol": people.add("carol", {"visits": ["curator"]}, days=30),
            "eve": people.add("eve", {}, days=1),
        }
        if coupled:
            real = od.Session.answer
            patch.setattr(od.Session, "answer", lambda back, q: self._coupled(real, back, q))

    def _coupled(self, real, back, question):
        """The double of all mechanisms: the rows are read, and the answer is that of no rows."""
        context, completed = back._context(), back._completed(question)
        back._prepared(completed, context).read()
        # Reading draws names, too, which are forgotten; what follows has names of its own.
        self.names = itertools.count(int(self.time) * 1000 + 500)
        front = self.inner.datasets["visits"].session()
        front._noise = NotPrivateSeededNoise(7)
        return real(front, question)

    def responses(self, requests):
        """What came back for each request: the status, the headers as they were sent, the body."""
        return asyncio.run(self._all(requests))

    async def _all(self, requests):
        # One thread: each opens tables of its own, and the engine draws names for them.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        found, latest = [], {"ask": "none", "published": "none"}
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            for sent in requests:
                self.time += 60
                # Each request has names of its own, however many the one before it took.
                self.names = itertools.count(int(self.time) * 1000)
                path = sent.path
                for name, value in latest.items():
                    path = path.replace(f"{{{name}}}", value)
                headers = dict(sent.headers)
                if sent.who is not None:
                    headers["Authorization"] = f"Bearer {self.tokens.get(sent.who, sent.who)}"
                response = await client.request(
                    sent.method, path, content=sent.body, headers=headers
                )
                found.append((response.status_code, response.headers.raw, response.content))
                latest |= _names(response)
                if self.inner._tasks:
                    # What nobody waits for would draw its names while the next request does.
                    await asyncio.wait(self.inner._tasks)
        if self.inner._tasks:
            await asyncio.wait(self.inner._tasks)
        return found

    def close(self):
        """Let go of the stores."""
        asyncio.run(self.inner.finish())


def _with_fixed_noise(*given, **more):
    return od.Session(*given, **{**more, "noise": NotPrivateSeededNoise(7)})


def unnumbered(told):
    """A response without the number that the log knows it by."""
    status, raw, body = told
    return status, [part for part in raw if part[0].lower() != b"x-request-id"], body


def _names(response):
    """The names that a response gives to an ask or to what was published."""
    try:
        told = response.json()
    except ValueError:
        return {}
    told = told if isinstance(told, dict) else {}
    return {name: str(told[name]) for name in ("ask", "published") if name in told}


def _frozen(world):
    class Frozen(Clock):
        """Stands still while a request is served, and waits for the work, not for the wall."""

        async def until(self, due, work):
            if asyncio.isfuture(work) and not work.done():
                await asyncio.wait({work}, timeout=600)
            world.time = max(world.time, float(due))
            return work.done()

    return Frozen(Fraction(1), lambda: world.time)


class _Moments:
    """The class ``datetime``, whose present is the world's."""

    def __init__(self, world):
        self._world = world

    def now(self, zone=None):
        return datetime.fromtimestamp(self._world.time, zone or UTC)

    def __getattr__(self, name):
        return getattr(datetime, name)


def lines_of(found):
    """Responses as text, for a difference that can be read."""
    return [
        json.dumps([status, [str(part) for part in headers], str(body)])
        for status, headers, body in found
    ]
