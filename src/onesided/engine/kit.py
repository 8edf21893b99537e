"""What questions need of engines beside the public names."""

from onesided.engine._first_groups import LOWER, KeyCodes, first_groups
from onesided.engine._fit import (
    MOST_ROWS,
    examples,
    misfits,
    refuse_floats,
    require_fit,
    require_held,
)
from onesided.engine._key_files import key_file
from onesided.engine._keys import Beside, Key, beside, check_types, position_columns
from onesided.engine._per_unit import units_of
from onesided.engine._protocol import LENGTH, Column, Lazy, OfFiles, text_of
from onesided.engine._public_join import joined_with
from onesided.engine._reading import BEFORE, STANDS, reading
from onesided.engine._sampling import Cut, Draw, Samples, look
from onesided.engine._snapshot import Snapshot, is_wide, whole_of
from onesided.engine._sql import quoted
from onesided.engine._table import KIND, ORDER, Step
from onesided.engine._view import (
    of_kinds,
    other_table,
    require_households,
    require_view,
    rule_of,
)

__all__ = [
    "BEFORE",
    "KIND",
    "LENGTH",
    "LOWER",
    "MOST_ROWS",
    "ORDER",
    "STANDS",
    "Beside",
    "Column",
    "Cut",
    "Draw",
    "Key",
    "KeyCodes",
    "Lazy",
    "OfFiles",
    "Samples",
    "Snapshot",
    "Step",
    "beside",
    "check_types",
    "examples",
    "first_groups",
    "is_wide",
    "joined_with",
    "key_file",
    "look",
    "misfits",
    "of_kinds",
    "other_table",
    "position_columns",
    "quoted",
    "reading",
    "refuse_floats",
    "require_fit",
    "require_held",
    "require_households",
    "require_view",
    "rule_of",
    "text_of",
    "units_of",
    "whole_of",
]
