"""Histograms whose noise follows the data: learn a partition, then measure its buckets."""

from onesided.mechanism.histograms._dawa import Dawa
from onesided.mechanism.histograms._two_phase import Partition, TwoPhase

__all__ = ["Dawa", "Partition", "TwoPhase"]
