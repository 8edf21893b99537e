"""What checks and questions need of histograms that follow the data."""

from onesided.mechanism.histograms._dawa import Prices, cheapest, deviations, least
from onesided.mechanism.histograms._grids import GridPartition, coarse_cells, refine
from onesided.mechanism.histograms._pooled import pooled
from onesided.mechanism.histograms._split import Parts
from onesided.mechanism.histograms._two_phase import histogram_of, together, z_order

__all__ = [
    "GridPartition", "Parts", "Prices", "cheapest", "coarse_cells", "deviations", "histogram_of",
    "least", "pooled", "refine", "together", "z_order",
]  # fmt: skip
