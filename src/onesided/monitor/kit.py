"""What the command line and the checks need of the monitor."""

from onesided.monitor._batch import Columns, opened_by, refuse_deciding, times_of
from onesided.monitor._machine import StepAnswer, Visits
from onesided.monitor._monitor import Recorder, open_ledger
from onesided.monitor._publish import (
    Chain,
    Documents,
    Folder,
    Look,
    Positions,
    PublishedStep,
    counted,
    first_rows,
    frame,
    located,
    places_of,
    said,
    shown,
    titled,
)
from onesided.monitor._rows import root_of as digest_of_places
from onesided.monitor._rules import (
    LATEST,
    YEARS,
    Rules,
    Scale,
    columns_of,
    duration,
    read_window,
    time_in_name,
)
