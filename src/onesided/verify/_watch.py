"""Notice a program that does not end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, Self

from onesided.errors import ParameterError

PATIENCE: Final = 60.0


class Watch:
    """While open, raise ParameterError if ``progress()`` stands still for ``patience`` seconds.

    Works in the main thread of systems that have interval timers; elsewhere nothing is watched.
    """

    def __init__(self, progress: Callable[[], int], *, patience: float) -> None:
        self._progress, self._patience = progress, patience
        self._seen = -1
        self._before: Any = None
        self._works = (
            hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        )

    def __enter__(self) -> Self:
        if self._works:
            self._before = signal.signal(signal.SIGALRM, self._tick)
            signal.setitimer(signal.ITIMER_REAL, self._patience, self._patience)
        return self

    def __exit__(self, *_: object) -> None:
        if self._works:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    def _tick(self, _signal: int, _frame: FrameType | None) -> None:
        now = self._progress()
        if now == self._seen:
            raise ParameterError(
                f"One run of the program took more than {self._patience:g} seconds.",
                hint="A program that may not end cannot be checked. Bound its loops, or raise "
                "patience= if it is only slow.",
            )
        self._seen = now
