"""Which process this is: what must exist once may not go on in two of them."""

from __future__ import annotations

import os


class _Forks:
    """How many forks lie between this process and its first ancestor that loaded this module.

    The only mutable state of the module: forking is a property of the process.
    """

    def __init__(self) -> None:
        self.count = 0
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._add)

    def _add(self) -> None:
        self.count += 1


_FORKS = _Forks()


def this_process() -> tuple[int, int]:
    """A mark that differs between a process and its forks.

    The count sees forks whose process id was used before; the id sees forks made in C.
    """
    return os.getpid(), _FORKS.count
