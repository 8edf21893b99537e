"""What draws step by step: its state must exist once, and move on whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import NoReturn

from onesided._process import this_process
from onesided.errors import ParameterError


class Once:
    """A stream of draws that cannot be copied, pickled or continued in a forked process.

    Two copies would answer twice for one charge, and the difference of their answers tells more
    than either. Safe for several threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._home = this_process()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One step at a time. Errors: ParameterError in another process than the stream's own.

        The process is asked first: a lock that was held while forking is never let go.
        """
        if this_process() != self._home:
            raise ParameterError(
                "A stream was used in a forked process, where it would answer a second time.",
                hint="Use it in the process that opened it, or open a new one, which is charged.",
            )
        with self._lock:
            yield

    def __reduce__(self) -> NoReturn:
        raise ParameterError(
            "A stream cannot be copied or pickled: two copies would answer twice.",
            hint="Open a new stream; it is charged as a release of its own.",
        )
