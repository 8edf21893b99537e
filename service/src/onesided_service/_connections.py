"""What an address may hold of the server: few connections, none of which sends or reads nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, ClassVar, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from onesided_service._turns import busy

HEAD_SECONDS: Final = 10  # from a head's first byte, or from connecting, to its last
EACH_ADDRESS: Final = 128  # connections to one worker
ALL: Final = 2048  # connections to it; each holds at most 64 KiB that it has not handed on
READ_SECONDS: Final = 10  # in which so much of a response is read, or all of it
READ_BYTES: Final = 2**14
HELD_BYTES: Final = 2**26  # of responses that one address has not read
ALL_BYTES: Final = 4 * HELD_BYTES  # that nobody has
BODIES: Final = 16  # of the largest size, that one address may have under way in a worker
ALL_BODIES: Final = 4 * BODIES


class Connection(H11Protocol):
    """One connection, which is closed where its head is late or its response is not read.

    So it is where its address or all have too many, or leave too much unread. most: how many an
    address may have; None behind a proxy, whose address all of them have.
    """

    _held: ClassVar[dict[str, set[Connection]]] = {}

    def __init__(self, *given: Any, most: int | None = EACH_ADDRESS, **more: Any) -> None:
        super().__init__(*given, **more)
        self._most, self._address = most, ""
        self._late: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count it, and begin to wait for its first head."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        transport.set_write_buffer_limits(high=0)  # to hear of all that is not read at once
        own = self._held.setdefault(self._address, set())
        own.add(self)
        number = sum(map(len, self._held.values()))
        if number > ALL or (self._most is not None and len(own) > self._most):
            transport.abort()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """It counts no more."""
        self._rest()
        if self._unread is not None:
            self._unread.cancel()
        own = self._held.get(self._address, set())
        own.discard(self)
        if not own:
            self._held.pop(self._address, None)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait until what was sent is read, unless its address leaves too much unread."""
        super().pause_writing()
        held = {name: sum(one.unread for one in own) for name, own in self._held.items()}
        own = 0 if self._most is None else held.get(self._address, 0)
        if own > HELD_BYTES or sum(held.values()) > ALL_BYTES:
            self.transport.abort()
        else:
            self._expect(self.unread)

    def resume_writing(self) -> None:
        """All of it was read."""
        if self._unread is not None:
            self._unread.cancel()
        super().resume_writing()

    @property
    def unread(self) -> int:
        """How many bytes of a response are held here."""
        return self.transport.get_write_buffer_size()

    def _expect(self, before: int) -> None:
        def look() -> None:
            now = self.unread
            if now > before - READ_BYTES:
                self.transport.abort()
            else:
                self._expect(now)

        self._unread = self.loop.call_later(READ_SECONDS, look)

    def data_received(self, data: bytes) -> None:
        """Wait for the head's end as long as no request of it is under way."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._rest()
        elif self._late is None:
            self._wait()

    def _wait(self) -> None:
        self._late = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _rest(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class Bodies:
    """Counts what bodies hold until their requests are over, also behind a proxy.

    each, most: bytes of one address, and of all; what is more is told 429, and let go.
    """

    def __init__(self, app: ASGIApp, *, each: int, most: int) -> None:
        self._app, self._each, self._most = app, each, most
        self._held: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Errors, where its body is read: ServiceError 429."""
        address, own = (scope.get("client") or ("",))[0], 0

        async def receiving() -> Message:
            nonlocal own
            message = await receive()
            size = len(message.get("body", b""))
            if self._held[address] + size > self._each:
                raise busy("Your requests under way hold too many bytes.")
            if self._held.total() + size > self._most:
                raise busy("The requests under way hold too many bytes.")
            self._held[address] += size
            own += size
            return message

        try:
            await self._app(scope, receiving, send)
        finally:
            self._held[address] -= own
            if not self._held[address]:
                del self._held[address]
