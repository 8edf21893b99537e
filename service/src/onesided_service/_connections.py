"""What one address may hold of the server: few connections, and none whose head never ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS: Final = 10  # from a head's first byte, or from connecting, to its last
EACH_ADDRESS: Final = 128  # connections to one worker


class Connection(H11Protocol):
    """One connection, which is closed where its head is late or its address has too many.

    most: how many an address may have; None behind a proxy, whose address all of them have.
    """

    _held: ClassVar[Counter[str]] = Counter()

    def __init__(self, *given: Any, most: int | None = EACH_ADDRESS, **more: Any) -> None:
        super().__init__(*given, **more)
        self._most, self._address = most, ""
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count it, and begin to wait for its first head."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        self._held[self._address] += 1
        if self._most is not None and self._held[self._address] > self._most:
            transport.abort()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """It counts no more."""
        self._rest()
        self._held[self._address] -= 1
        if not self._held[self._address]:
            del self._held[self._address]
        super().connection_lost(exc)

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
