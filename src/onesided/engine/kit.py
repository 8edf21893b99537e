"""What questions need of engines beside the public names."""

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
from onesided.engine._protocol import (
    BEFORE,
    LENGTH,
    STANDS,
    Column,
    Lazy,
    OfFiles,
    reading,
    text_of,
)
from onesided.engine._snapshot import (
    LOWER,
    Cut,
    Draw,
    KeyCodes,
    Samples,
    Snapshot,
    first_groups,
    is_wide,
    look,
    whole_of,
)
from onesided.engine._sql import literal, quoted
from onesided.engine._table import (
    KIND,
    ORDER,
    Step,
    joined_with,
    of_kinds,
    other_table,
    require_households,
    require_view,
    rule_of,
    units_of,
)
