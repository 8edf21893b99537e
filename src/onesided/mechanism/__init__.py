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
from onesided.mechanism._cumulative import Cumulative
from onesided.mechanism._decision import AtMost
from onesided.mechanism._record_sample import RecordSample
from onesided.mechanism._sparse_vector import Answer, SparseAnswers, SparseStream, SparseVector
from onesided.mechanism._sums import Sums
from onesided.mechanism._top_k import TopK, TopKAnswer
from onesided.mechanism._unknown_keys import UnknownKeys, mean_relative_error

__all__ = [
    "AGeo",
    "ALap",
    "AdaptiveGapAnswers",
    "AdaptiveGapSparseVector",
    "Answer",
    "AtMost",
    "Counts",
    "Cumulative",
    "DiscreteLaplace",
    "GapAnswers",
    "GapSparseVector",
    "GapTopK",
    "GapTopKAnswer",
    "Interval",
    "MeasuredTopK",
    "MeasuredTopKAnswer",
    "Mechanism",
    "RecordSample",
    "SparseAnswers",
    "SparseStream",
    "SparseVector",
    "Sums",
    "TopK",
    "TopKAnswer",
    "UnknownKeys",
    "VirtualOptimal",
    "combine_gaps",
    "combine_leads",
    "mean_relative_error",
]
