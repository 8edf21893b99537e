"""Histograms whose noise follows the data: learn a partition, then measure its buckets."""

from onesided.mechanism.histograms._agrid import AGrid, UniformGrid
from onesided.mechanism.histograms._ahp import Ahp
from onesided.mechanism.histograms._dawa import Dawa, Look
from onesided.mechanism.histograms._hierarchical import Hierarchical
from onesided.mechanism.histograms._marginals import Marginals
from onesided.mechanism.histograms._open_shape import OpenShape, OpenShapeCounts
from onesided.mechanism.histograms._split import SplitCounts, SplitHistogram
from onesided.mechanism.histograms._tree_model import TreeModel
from onesided.mechanism.histograms._two_phase import Partition, TwoPhase
from onesided.mechanism.histograms._zeros import Zeroed, Zeros, zeros

__all__ = [
    "AGrid",
    "Ahp",
    "Dawa",
    "Hierarchical",
    "Look",
    "Marginals",
    "OpenShape",
    "OpenShapeCounts",
    "Partition",
    "SplitCounts",
    "SplitHistogram",
    "TreeModel",
    "TwoPhase",
    "UniformGrid",
    "Zeroed",
    "Zeros",
    "zeros",
]
