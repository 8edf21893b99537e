"""When responses leave: some time after they are made, so that nobody sees a little more work."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import secrets
import threading
import time
from contextlib import suppress
from typing import Any, Final

BEAT: Final = 50_000_000  # nanoseconds: long beside the work of a request
_FINE: Final = 1_000_000  # instants at which the thread wakes


class Beats:
    """A beat of each response's own, whose phase nobody knows: the next is when it leaves.

    What reading rows does to a machine (its caches, its memory, its other cores) makes any
    request take a little longer. Beats that all share would hide that from most, and show it to
    whoever sends so that a response is made just about when one comes; of a fresh phase, no instant
    is near one. A thread of its own waits for them, since the event loop's timers are set, and
    rounded, at the very instant that must not show.

    >>> beats = Beats()
    >>> asyncio.run(beats.next())
    >>> beats.stop()
    """

    def __init__(self, every: int = BEAT) -> None:
        self._every = every
        self._waiting: list[tuple[int, int, asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._over = False

    async def next(self) -> None:
        """Wait for it."""
        loop = asyncio.get_running_loop()
        waits: asyncio.Future[None] = loop.create_future()
        fine = -(-time.monotonic_ns() // _FINE) * _FINE
        at = fine + secrets.randbelow(self._every // _FINE) * _FINE
        with self._changed:
            if self._thread is None:  # here, not where it was made: that process may have forked
                self._thread = threading.Thread(target=self._run, name="beats", daemon=True)
                self._thread.start()
            heapq.heappush(self._waiting, (at, next(self._numbers), loop, waits))
            self._changed.notify()
        await waits

    def stop(self) -> None:
        """Let go of the thread, and of who waits."""
        with self._changed:
            self._over = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._over and (left := self._left()) > 0:
                    self._changed.wait(None if left == float("inf") else left / 10**9)
                if not self._waiting:
                    return
                _, _, loop, waits = heapq.heappop(self._waiting)
            with suppress(RuntimeError):  # of a loop that ended
                loop.call_soon_threadsafe(_go, waits)

    def _left(self) -> float:
        """Nanoseconds until the next of those who wait goes on."""
        return self._waiting[0][0] - time.monotonic_ns() if self._waiting else float("inf")


def _go(waits: asyncio.Future[Any]) -> None:
    if not waits.done():
        waits.set_result(None)
