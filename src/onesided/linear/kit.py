"""What mechanisms and questions need of linear algebra beside the public names."""

from onesided.linear._error import (
    cost,
    draws_for,
    factors,
    holds_cells,
    sampled_factors,
    thinned,
    understated,
)
from onesided.linear._moves import MOST_PAIRS, Layout, listed_moves, notes_of, placed_moves
from onesided.linear._near import Cells, Listed, Sweep, Window
from onesided.linear._solve import check_spans
from onesided.linear._tree import (
    FloatArray,
    best_branching,
    consistent,
    level_weights,
    non_negative_tree,
    tree_sums,
)

__all__ = [
    "MOST_PAIRS",
    "Cells",
    "FloatArray",
    "Layout",
    "Listed",
    "Sweep",
    "Window",
    "best_branching",
    "check_spans",
    "consistent",
    "cost",
    "draws_for",
    "factors",
    "holds_cells",
    "level_weights",
    "listed_moves",
    "non_negative_tree",
    "notes_of",
    "placed_moves",
    "sampled_factors",
    "thinned",
    "tree_sums",
    "understated",
]
