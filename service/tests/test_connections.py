"""Connections that never say what they want, or are too many from one address, are closed."""

import asyncio

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

import uvicorn
from uvicorn.server import ServerState

from onesided_service import _connections
from onesided_service._connections import Bodies, Connection
from onesided_service._errors import ServiceError

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(_connections, "HEAD_SECONDS", 0.3)


LONG = b"x" * 2**25  # more than sockets hold


async def long_app(scope, receive, send):
    headers = [(b"content-length", b"%d" % len(LONG))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": LONG})


async def slow_app(scope, receive, send):
    """Longer than a head may take: what is under way is not closed."""
    await asyncio.sleep(0.9)
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


def served(work, most=3, app=slow_app):
    """What ``work`` says of a server of such connections, given how to connect to it."""

    async def all_of_it():
        config = uvicorn.Config(app, log_config=None, timeout_keep_alive=60)
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


def test_all_addresses_together_have_so_many_connections_behind_a_proxy_too(monkeypatch):
    monkeypatch.setattr(_connections, "ALL", 3)

    async def work(connect):
        held = [await connect(HEAD + b"\r\n") for _ in range(3)]
        refused = await closed((await connect(HEAD + b"\r\n"))[0])
        return refused, [await reader.readuntil(b"ok") for reader, _ in held]

    refused, answers = served(work, most=None)
    assert refused
    assert len(answers) == 3


def test_bodies_that_drip_hold_so_much_of_one_address_and_of_all():
    """Whoever comes by a proxy has the address that it tells."""
    over, told = asyncio.Event(), []

    async def reading(scope, receive, send):
        try:
            for _ in range(3):
                await receive()
            await over.wait()
        except ServiceError as error:
            told.append((scope["client"][0], error.status, str(error)))

    async def dripping():
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def all_of_it():
        bodies = Bodies(reading, each=6, most=10)

        def sent(address):
            return asyncio.create_task(bodies({"client": (address, 1)}, dripping, None))

        held = [sent("a"), sent("a")]
        await asyncio.sleep(0.05)
        await sent("a")
        held.append(sent("b"))
        await asyncio.sleep(0.05)
        await sent("c")
        over.set()
        await asyncio.gather(*held)
        return dict(bodies._held)

    assert asyncio.run(all_of_it()) == {}
    own, every = "Your requests under way hold", "The requests under way hold"
    assert told == [("a", 429, f"{own} too many bytes."), ("c", 429, f"{every} too many bytes.")]


def test_what_is_held_is_counted_and_forgotten():
    async def work(connect):
        _, writer = await connect()
        await asyncio.sleep(0.05)
        counted = sum(map(len, Connection._held.values()))
        writer.close()
        await writer.wait_closed()
        await asyncio.sleep(0.1)
        return counted, dict(Connection._held)

    assert served(work) == (1, {})


def unread():
    return sum(one.unread for own in Connection._held.values() for one in own)


async def until(wanted):
    for _ in range(1_000):  # only against hanging
        if wanted():
            return
        await asyncio.sleep(0.05)
    raise TimeoutError


def test_a_response_that_nobody_reads_is_let_go(monkeypatch):
    monkeypatch.setattr(_connections, "READ_SECONDS", 1)

    async def work(connect):
        _, writer = await connect(HEAD + b"\r\n")
        writer.transport.pause_reading()
        await until(unread)
        held = unread()
        await until(lambda: not unread())
        monkeypatch.setattr(_connections, "READ_SECONDS", 600)
        reader, _ = await connect(HEAD + b"\r\n")
        return held, len(await reader.readexactly(2**25))

    held, read = served(work, app=long_app)
    assert 0 < held <= 2**25 + 2**10
    assert read == 2**25


@pytest.mark.parametrize(("name", "most"), [("HELD_BYTES", 9), ("ALL_BYTES", None)])
def test_an_address_and_all_leave_so_much_unread_and_no_more(monkeypatch, name, most):
    monkeypatch.setattr(_connections, name, 3 * 2**24)

    async def work(connect):
        held = []
        for _ in range(4):
            _, writer = await connect(HEAD + b"\r\n")
            writer.transport.pause_reading()
            await asyncio.sleep(0.3)
            held.append(unread())
        return held

    held = served(work, most=most, app=long_app)
    assert max(held) <= 3 * 2**24
