"""Mechanisms: one frozen value each; ``release`` is what it does, ``loss`` what it costs."""

from onesided.mechanism._asymmetric import AGeo, ALap
from onesided.mechanism._base import Mechanism
from onesided.mechanism._baselines import (
    DiscreteLaplace,
    VirtualOptimal,
    combine_gaps,
    combine_leads,
)
from onesided.mechanism._baselines_sparse_vector import (
    AdaptiveGapAnswers,
    AdaptiveGapSparseVector,
    GapAnswers,
    GapSparseVector,
)
from onesided.mechanism._baselines_top_k import (
    GapTopK,
    GapTopKAnswer,
    MeasuredTopK,
    MeasuredTopKAnswer,
)
from onesided.mechanism._counts import Counts, Interval
from onesided.mechanism._decision import AtMost
from onesided.mechanism._sparse_vector import Answer, SparseAnswers, SparseStream, SparseVector
from onesided.mechanism._top_k import TopK, TopKAnswer

__all__ = [
    "AGeo",
    "ALap",
    "AdaptiveGapAnswers",
    "AdaptiveGapSparseVector",
    "Answer",
    "AtMost",
    "Counts",
    "DiscreteLaplace",
    "GapAnswers",
    "GapSparseVector",
    "GapTopK",
    "GapTopKAnswer",
    "Interval",
    "MeasuredTopK",
    "MeasuredTopKAnswer",
    "Mechanism",
    "SparseAnswers",
    "SparseStream",
    "SparseVector",
    "TopK",
    "TopKAnswer",
    "VirtualOptimal",
    "combine_gaps",
    "combine_leads",
]
