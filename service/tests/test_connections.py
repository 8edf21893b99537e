"""Connections that never say what they want, or are too many from one address, are closed."""

import asyncio

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

import uvicorn
from uvicorn.server import ServerState

from onesided_service import _connections
from onesided_service._connections import Connection

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(_connections, "HEAD_SECONDS", 0.3)


async def slow_app(scope, receive, send):
    """Longer than a head may take: what is under way is not closed."""
    await asyncio.sleep(0.9)
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


def served(work, most=3):
    """What ``work`` says of a server of such connections, given how to connect to it."""

    async def all_of_it():
        config = uvicorn.Config(slow_app, log_config=None, timeout_keep_alive=60)
        config.load()
        state = ServerState()

        def made():
            return Connection(config=config, server_state=state, app_state={}, most=most)

        server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        opened = []

        async def connect(sent=b""):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            opened.append(writer)
            writer.write(sent)
            return reader, writer

        try:
            return await asyncio.wait_for(work(connect), 60)
        finally:
            for writer in opened:
                writer.close()
            server.close()

    return asyncio.run(all_of_it())


async def closed(reader):
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET", HEAD, HEAD + b"X-A:"])
def test_a_head_that_never_ends_is_closed(sent):
    async def work(connect):
        reader, _ = await connect(sent)
        return await reader.read()

    assert served(work) == b""


def test_dripping_letters_keep_nothing_open():
    async def work(connect):
        reader, writer = await connect(HEAD)
        for _ in range(50):
            if reader.at_eof():
                return True
            writer.write(b"X")
            await asyncio.sleep(0.05)
        return reader.at_eof()

    assert served(work)


def test_a_request_may_take_long_and_the_next_head_may_not():
    async def work(connect):
        reader, writer = await connect(HEAD + b"\r\n")
        first = await reader.readuntil(b"ok")
        writer.write(HEAD)
        return first, await reader.read()

    first, rest = served(work)
    assert first.startswith(b"HTTP/1.1 200")
    assert rest == b""


def test_an_address_has_so_many_connections_and_another_when_one_is_closed():
    async def work(connect):
        held = [await connect(HEAD + b"\r\n") for _ in range(3)]
        refused = await closed((await connect(HEAD + b"\r\n"))[0])
        answers = [await reader.readuntil(b"ok") for reader, _ in held]
        for _, writer in held:
            writer.close()
            await writer.wait_closed()
        await asyncio.sleep(0.1)
        later = await (await connect(HEAD + b"\r\n"))[0].readuntil(b"ok")
        return refused, answers, later

    refused, answers, later = served(work)
    assert refused
    assert all(one.endswith(b"ok") for one in (*answers, later))


def test_behind_a_proxy_all_have_one_address():
    async def work(connect):
        held = [await connect(HEAD + b"\r\n") for _ in range(6)]
        return [await reader.readuntil(b"ok") for reader, _ in held]

    assert len(served(work, most=None)) == 6


def test_what_is_held_is_counted_and_forgotten():
    async def work(connect):
        _, writer = await connect()
        await asyncio.sleep(0.05)
        counted = sum(Connection._held.values())
        writer.close()
        await writer.wait_closed()
        await asyncio.sleep(0.1)
        return counted, dict(Connection._held)

    assert served(work) == (1, {})
