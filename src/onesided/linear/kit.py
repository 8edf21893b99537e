"""What mechanisms and questions need of linear algebra beside the public names."""

from onesided.linear._choose import every_step
from onesided.linear._error import (
    Held,
    alike,
    cost,
    draws_for,
    factors,
    held_factors,
    holds_cells,
    sampled_factors,
    thinned,
    understated,
    weights,
)
from onesided.linear._graph import MarginModel, cells_of
from onesided.linear._margins import (
    Margins,
    best_weights,
    has_margins,
    kept_within,
    square_length,
    square_shifts,
    squared,
    tightened,
    whole_cells,
)
from onesided.linear._moves import MOST_PAIRS, Layout, listed_moves, notes_of, placed_moves
from onesided.linear._near import Cells, Listed, Sweep, Window
from onesided.linear._operator import Totals
from onesided.linear._solve import (
    FloatArray,
    best_branching,
    check_spans,
    consistent,
    influences,
    level_weights,
    nearest,
    non_negative_tree,
    tree_sums,
)
