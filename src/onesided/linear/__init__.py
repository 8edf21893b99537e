"""Linear algebra without randomness: strategies, workloads, sensitivities, answers, errors.

A strategy is a matrix of whole numbers over cells that is never written out; what a policy's
moves change of its answers is worked out exactly. SciPy (extra ``linear``) is needed only for cells
of at least 0, by gradient descent, and where a large strategy may not determine every cell.
"""

from onesided.linear._choose import candidates
from onesided.linear._combine import Kron, Relabelled, Stack, kron
from onesided.linear._edges import EdgeCounts, edge_counts
from onesided.linear._error import (
    LengthError,
    by_length,
    error_factors,
    expected_error,
    laplace_variance,
)
from onesided.linear._grid import Grid
from onesided.linear._hierarchy import Hierarchy
from onesided.linear._likeliest import likeliest
from onesided.linear._line import Bins, Haar, Identity, Prefix, Suffix
from onesided.linear._moves import Border, Moves, moves_of
from onesided.linear._operator import Dense, Meets, Operator, OperatorSum, Product
from onesided.linear._plane import (
    Blocks,
    Quadtree,
    block_prefix,
    grid_blocks,
    row_prefix,
    summed_area,
)
from onesided.linear._search import (
    BinaryStrategy,
    best_repeated,
    every_binary_strategy,
    optimised,
)
from onesided.linear._sensitivity import sensitivity, strategy_shifts
from onesided.linear._solve import conjugate_gradients, least_squares, non_negative
from onesided.linear._staggered import staggered
from onesided.linear._workload import Ranges, all_ranges, marginals, sampled_ranges

__all__ = [
    "BinaryStrategy",
    "Bins",
    "Blocks",
    "Border",
    "Dense",
    "EdgeCounts",
    "Grid",
    "Haar",
    "Hierarchy",
    "Identity",
    "Kron",
    "LengthError",
    "Meets",
    "Moves",
    "Operator",
    "OperatorSum",
    "Prefix",
    "Product",
    "Quadtree",
    "Ranges",
    "Relabelled",
    "Stack",
    "Suffix",
    "all_ranges",
    "best_repeated",
    "block_prefix",
    "by_length",
    "candidates",
    "conjugate_gradients",
    "edge_counts",
    "error_factors",
    "every_binary_strategy",
    "expected_error",
    "grid_blocks",
    "kron",
    "laplace_variance",
    "least_squares",
    "likeliest",
    "marginals",
    "moves_of",
    "non_negative",
    "optimised",
    "row_prefix",
    "sampled_ranges",
    "sensitivity",
    "staggered",
    "strategy_shifts",
    "summed_area",
]
