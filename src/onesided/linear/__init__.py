"""Linear algebra without randomness: strategies, workloads, sensitivities, answers, errors.

A strategy is a matrix of whole numbers over cells that is never written out; what a policy's
moves change of its answers is worked out exactly. SciPy (extra ``linear``) is needed only for cells
of at least 0, by gradient descent, and where a large strategy may not determine every cell.
"""

from onesided.linear._choose import candidates, optimised
from onesided.linear._error import (
    LengthError,
    Ranges,
    all_ranges,
    by_length,
    error_factors,
    expected_error,
    laplace_variance,
    marginals,
    sampled_ranges,
)
from onesided.linear._moves import (
    Border,
    EdgeCounts,
    Moves,
    edge_counts,
    moves_of,
    sensitivity,
    strategy_shifts,
)
from onesided.linear._near import Grid
from onesided.linear._operator import (
    Dense,
    Kron,
    Meets,
    Operator,
    OperatorSum,
    Product,
    Relabelled,
    Stack,
    kron,
)
from onesided.linear._solve import conjugate_gradients, least_squares, likeliest, non_negative
from onesided.linear._strategies import (
    Bins,
    Blocks,
    Haar,
    Hierarchy,
    Identity,
    Prefix,
    Quadtree,
    Suffix,
    Tents,
    block_prefix,
    grid_blocks,
    row_prefix,
    staggered,
    summed_area,
)

__all__ = [
    "Bins", "Blocks", "Border", "Dense", "EdgeCounts", "Grid", "Haar",
    "Hierarchy", "Identity", "Kron", "LengthError", "Meets", "Moves", "Operator", "OperatorSum",
    "Prefix", "Product", "Quadtree", "Ranges", "Relabelled", "Stack", "Suffix", "Tents",
    "all_ranges", "block_prefix", "by_length", "candidates", "conjugate_gradients",
    "edge_counts", "error_factors", "expected_error", "grid_blocks",
    "kron", "laplace_variance", "least_squares", "likeliest", "marginals", "moves_of",
    "non_negative", "optimised", "row_prefix", "sampled_ranges", "sensitivity", "staggered",
    "strategy_shifts", "summed_area",
]  # fmt: skip
