"""What the command line and the checks need of the monitor."""

from onesided.monitor._answer import StepAnswer
from onesided.monitor._journal import MemoryJournal, Transaction
from onesided.monitor._opening import open_ledger
from onesided.monitor._publish import Folder, Look
from onesided.monitor._recorder import Recorder
from onesided.monitor._rules import Rules
from onesided.monitor._time import Scale, duration, read_window

__all__ = [
    "Folder",
    "Look",
    "MemoryJournal",
    "Recorder",
    "Rules",
    "Scale",
    "StepAnswer",
    "Transaction",
    "duration",
    "open_ledger",
    "read_window",
]
