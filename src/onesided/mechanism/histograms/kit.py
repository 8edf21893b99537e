"""What checks and questions need of histograms that follow the data."""

from onesided.mechanism.histograms._agrid import GridPartition, coarse_cells, refine
from onesided.mechanism.histograms._dawa_tree import Prices, cheapest, least
from onesided.mechanism.histograms._interval_costs import deviations
from onesided.mechanism.histograms._tree_model import Edges
from onesided.mechanism.histograms._two_parts import Parts
from onesided.mechanism.histograms._two_phase import histogram_of

__all__ = [
    "Edges",
    "GridPartition",
    "Parts",
    "Prices",
    "cheapest",
    "coarse_cells",
    "deviations",
    "histogram_of",
    "least",
    "refine",
]
