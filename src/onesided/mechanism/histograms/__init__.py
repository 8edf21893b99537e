"""Histograms whose noise follows the data: learn a partition, then measure its buckets."""

from onesided.mechanism.histograms._dawa import Dawa, Hierarchical, Look
from onesided.mechanism.histograms._grids import AGrid, Ahp, UniformGrid
from onesided.mechanism.histograms._open_shape import OpenShape, OpenShapeCounts
from onesided.mechanism.histograms._split import SplitCounts, SplitHistogram
from onesided.mechanism.histograms._two_phase import Partition, TwoPhase, Zeroed, Zeros, zeros

__all__ = [
    "AGrid", "Ahp", "Dawa", "Hierarchical", "Look", "OpenShape", "OpenShapeCounts",
    "Partition", "SplitCounts", "SplitHistogram", "TwoPhase", "UniformGrid", "Zeroed",
    "Zeros", "zeros",
]  # fmt: skip
