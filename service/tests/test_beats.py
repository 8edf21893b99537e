"""Responses leave at beats that no request has a part in, and nobody knows."""

import asyncio
import time

import pytest

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

from onesided_service import ServiceConfig, create_app  # noqa: E402
from onesided_service import _app as application  # noqa: E402
from onesided_service._watched import Beats  # noqa: E402

EVERY = 100_000_000


def test_each_goes_on_after_a_part_of_a_beat_that_nobody_knows(monkeypatch):
    """Of one phase for all, who sends at the right instant would see more."""
    drawn, parts = [], iter([7_000, 20, 0, 3])
    monkeypatch.setattr("secrets.randbelow", lambda most: drawn.append(most) or next(parts))
    beats = Beats(EVERY)

    async def one(least):
        began = time.monotonic_ns()
        await beats.next()
        assert time.monotonic_ns() - began >= least * 10**6
        return least

    async def some():
        late, *soon = [asyncio.ensure_future(one(least)) for least in (7_000, 20, 0)]
        done = await asyncio.gather(*soon)
        assert not late.done()
        late.cancel()
        return done

    assert asyncio.run(some()) == [20, 0]
    assert asyncio.run(one(3)) == 3  # in a loop of its own
    assert drawn == [100] * 4
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
