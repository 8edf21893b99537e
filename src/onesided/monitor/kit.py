"""What the command line and the checks need of the monitor."""

from onesided.monitor._answer import StepAnswer
from onesided.monitor._batch import Columns
from onesided.monitor._columns import times_of
from onesided.monitor._digest import root_of as digest_of_places
from onesided.monitor._journal import MemoryJournal, Transaction
from onesided.monitor._live import bound_of, counted, first_rows, frame, places_of, said, titled
from onesided.monitor._names import time_in_name
from onesided.monitor._opening import open_ledger
from onesided.monitor._publish import Folder, Look
from onesided.monitor._published import Chain, PublishedStep
from onesided.monitor._recorder import Recorder
from onesided.monitor._rules import Rules
from onesided.monitor._supply import Visits
from onesided.monitor._time import LATEST, YEARS, Scale, duration, read_window

__all__ = [
    "LATEST",
    "YEARS",
    "Chain",
    "Columns",
    "Folder",
    "Look",
    "MemoryJournal",
    "PublishedStep",
    "Recorder",
    "Rules",
    "Scale",
    "StepAnswer",
    "Transaction",
    "Visits",
    "bound_of",
    "counted",
    "digest_of_places",
    "duration",
    "first_rows",
    "frame",
    "open_ledger",
    "places_of",
    "read_window",
    "said",
    "time_in_name",
    "times_of",
    "titled",
]
