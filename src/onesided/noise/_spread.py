"""One large task over several threads, that share nothing but the array they fill."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Thread

from onesided.noise._protocol import IntArray

# From so many draws on, a thread is worth its start.
FROM = 2**20
_MOST = 4


def cores() -> int:
    """How many cores this process may use, four at most."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), _MOST)
    return min(os.cpu_count() or 1, _MOST)


def spread(fill: Callable[[IntArray], None], out: IntArray, threads: int) -> None:
    """Have each of so many threads fill a stretch of ``out``; the caller's fills the first.

    All have ended when this returns, so none is there when the process forks later. What one
    raises is raised here.
    """
    if threads == 1 or len(out) < threads:
        return fill(out)
    step = -(-len(out) // threads)
    first, *others = (out[start : start + step] for start in range(0, len(out), step))
    failures: list[BaseException] = []

    def guarded(part: IntArray) -> None:
        try:
            fill(part)
        except BaseException as failure:  # noqa: BLE001 - raised below, by the caller's thread
            failures.append(failure)

    started = []
    for part in others:
        helper = Thread(target=guarded, args=(part,))
        try:
            helper.start()
        except RuntimeError:  # no thread can be had: at the end of the process, or too many
            guarded(part)
        else:
            started.append(helper)
    guarded(first)
    for helper in started:
        helper.join()
    if failures:
        raise failures[0]
    return None
