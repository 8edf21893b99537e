"""How a command ends: one table of exit codes, and signals that end it in 130 or 143."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Final, Self

from onesided.errors import BudgetExceededError, LedgerError, OnesidedError, OutputError

FAILED, MISTAKE = 1, 70
EXITS: Final = {
    0: "done",
    FAILED: "a check failed",
    2: "bad input, nothing was spent",
    3: "over budget, nothing was spent",
    4: "the ledger could not be used",
    5: "the output could not be written",
    MISTAKE: "a mistake in onesided itself",
    130: "interrupted (Ctrl-C)",
    143: "terminated",
}
EPILOG: Final = "Exit codes: " + "; ".join(f"{code} {end}" for code, end in EXITS.items()) + "."
"""The table as a sentence for the help."""
_ERRORS: Final = ((BudgetExceededError, 3), (LedgerError, 4), (OutputError, 5))


def exit_code(error: OnesidedError) -> int:
    """The exit code that stands for ``error``."""
    return next((code for kind, code in _ERRORS if isinstance(error, kind)), 2)


class Signals:
    """While it is open, Ctrl-C and a polite termination raise KeyboardInterrupt at any instant.

    code: what the command then ends with, also where a library swallowed the exception; else 0.
    Python drops what is raised while it cleans up an object: then it is raised again soon after.
    """

    def __init__(self) -> None:
        self.code = 0
        self._others = sys.unraisablehook

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        self._others, sys.unraisablehook = sys.unraisablehook, self._dropped
        return self

    def __exit__(self, *_: object) -> None:
        # From here on a signal ends the process as it ends any other.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        sys.unraisablehook = self._others

    def _stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the system's
        self.code = self.code or 128 + number
        raise KeyboardInterrupt

    def _dropped(self, lost: sys.UnraisableHookArgs) -> None:
        if not (self.code and isinstance(lost.exc_value, KeyboardInterrupt)):
            self._others(lost)
            return
        again = threading.Timer(0.01, os.kill, [os.getpid(), self.code - 128])
        again.daemon = True
        again.start()
