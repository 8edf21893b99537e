"""Responses leave at beats that no request has a part in."""

import asyncio
import time

import pytest

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

from onesided_service import ServiceConfig, create_app  # noqa: E402
from onesided_service import _app as application  # noqa: E402
from onesided_service._beats import Beats  # noqa: E402

EVERY = 100_000_000


def test_who_waits_goes_on_after_the_next_beat():
    beats = Beats(EVERY)

    async def one(seconds):
        await asyncio.sleep(seconds)
        began = time.monotonic_ns()
        await beats.next()
        return time.monotonic_ns() // EVERY - began // EVERY

    async def all_of_them():
        return await asyncio.gather(*(one(n / 70) for n in range(30)))

    for _ in range(2):  # each in a loop of its own
        assert min(asyncio.run(all_of_them())) >= 1
    beats.stop()
    beats._thread.join(60)
    assert not beats._thread.is_alive()


def test_each_response_waits_for_one_where_rows_are_read_apart(folder, monkeypatch):
    waited = []

    class Counted(Beats):
        async def next(self):
            waited.append(await super().next())

    monkeypatch.setattr(application, "Beats", Counted)
    made = create_app(ServiceConfig.read(folder / "onesided.toml"))

    async def read():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(made)) as client:
            for path in ("healthz", "", "nowhere", "api/v1/datasets/visits"):
                await client.get(f"http://service/{path}")
        await made.state.service.finish()

    asyncio.run(read())
    assert len(waited) == 4
