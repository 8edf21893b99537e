"""What the command line and the checks need of the monitor."""

from onesided.monitor._answer import StepAnswer
from onesided.monitor._journal import MemoryJournal, Transaction
from onesided.monitor._live import bound_of, counted, first_rows, frame, places_of, said, titled
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
    "bound_of",
    "counted",
    "duration",
    "first_rows",
    "frame",
    "open_ledger",
    "places_of",
    "read_window",
    "said",
    "titled",
]
