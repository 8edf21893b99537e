"""The two-sided competitors that the papers compare with. Baselines, not recommendations.

All but :class:`ObjectivePerturbation` and :class:`DirectDawaz` are checked exactly by
``onesided verify``.
"""

from onesided_experiments.baselines._direct_dawaz import DirectDawaz
from onesided_experiments.baselines._discrete_laplace import DiscreteLaplace
from onesided_experiments.baselines._objective import ObjectivePerturbation
from onesided_experiments.baselines._sparse_vector import (
    AdaptiveGapAnswers,
    AdaptiveGapSparseVector,
    GapAnswers,
    GapSparseVector,
)
from onesided_experiments.baselines._suppress import ACCEPTED, Suppress
from onesided_experiments.baselines._top_k import (
    GapTopK,
    GapTopKAnswer,
    MeasuredTopK,
    MeasuredTopKAnswer,
    combine_gaps,
    combine_leads,
)

__all__ = [
    "ACCEPTED", "AdaptiveGapAnswers", "AdaptiveGapSparseVector", "DirectDawaz", "DiscreteLaplace",
    "GapAnswers", "GapSparseVector", "GapTopK", "GapTopKAnswer", "MeasuredTopK",
    "MeasuredTopKAnswer", "ObjectivePerturbation", "Suppress", "combine_gaps", "combine_leads",
]  # fmt: skip
