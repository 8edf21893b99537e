"""What mechanisms and questions need of linear algebra beside the public names."""

from onesided.linear._error import cost, factors
from onesided.linear._moves import Layout, listed_moves, notes_of, placed_moves
from onesided.linear._solve import check_spans
from onesided.linear._sweeps import Cells, Listed, Sweep, Window
from onesided.linear._tree import FloatArray, best_branching, consistent, level_weights, tree_sums
from onesided.linear._workload import thinned

__all__ = [
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
    "factors",
    "level_weights",
    "listed_moves",
    "notes_of",
    "placed_moves",
    "thinned",
    "tree_sums",
]
