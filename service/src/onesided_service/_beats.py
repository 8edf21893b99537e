"""Beats at which responses leave, so that nobody sees a little more or less work."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from typing import Any, Final

BEAT: Final = 50_000_000  # nanoseconds: long beside the work of a request


class Beats:
    """Instants of this process that no request, and no row, has a part in.

    What reading rows does to a machine (its caches, its memory, its other cores) makes any
    request take a little longer. A response that leaves at the first beat after it is made shows
    that only where it is made at another beat. A thread of its own waits for the beat, since the
    event loop's timers are set, and rounded, at the very instant that must not show.

    >>> beats = Beats()
    >>> asyncio.run(beats.next())
    >>> beats.stop()
    """

    def __init__(self, every: int = BEAT) -> None:
        self._every = every
        self._waiting: list[tuple[int, asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._some, self._mutex = threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None
        self._over = False

    async def next(self) -> None:
        """Wait for it."""
        loop = asyncio.get_running_loop()
        waits: asyncio.Future[None] = loop.create_future()
        with self._mutex:
            if self._thread is None:  # here, not where it was made: that process may have forked
                self._thread = threading.Thread(target=self._run, name="beats", daemon=True)
                self._thread.start()
            self._waiting.append((self._beat(), loop, waits))
        self._some.set()
        await waits

    def stop(self) -> None:
        """Let go of the thread, and of who waits."""
        self._over = True
        self._some.set()

    def _beat(self) -> int:
        return time.monotonic_ns() // self._every

    def _run(self) -> None:
        over = False
        while not over:
            self._some.wait()
            self._some.clear()
            over = self._over
            time.sleep(-time.monotonic_ns() % self._every / 10**9)
            with self._mutex:
                # The thread may wake late: who came since then waits for the next one.
                now = None if over else self._beat()
                waiting = [one for one in self._waiting if one[0] != now]
                self._waiting = [one for one in self._waiting if one[0] == now]
                if self._waiting:
                    self._some.set()
            for _, loop, waits in waiting:
                with suppress(RuntimeError):  # of a loop that ended
                    loop.call_soon_threadsafe(_go, waits)


def _go(waits: asyncio.Future[Any]) -> None:
    if not waits.done():
        waits.set_result(None)
