"""What mechanisms and questions need of linear algebra beside the public names."""

from onesided.linear._error import cost, factors
from onesided.linear._moves import Layout, listed_moves, notes_of, placed_moves
from onesided.linear._near_factors import draws_for, holds_cells, sampled_factors, understated
from onesided.linear._sensitivity import MOST_PAIRS
from onesided.linear._solve import check_spans
from onesided.linear._sweeps import Cells, Listed, Sweep, Window
from onesided.linear._tree import FloatArray, consistent, tree_sums
from onesided.linear._tree_fit import non_negative_tree
from onesided.linear._tree_shares import best_branching, level_weights
from onesided.linear._workload import thinned

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
