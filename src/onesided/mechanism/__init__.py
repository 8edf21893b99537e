"""Mechanisms: one frozen value each; ``release`` is what it does, ``loss`` what it costs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from onesided.mechanism._adaptive import AdaptiveAnswers, AdaptiveSparseVector
from onesided.mechanism._asymmetric import AGeo, ALap
from onesided.mechanism._base import Mechanism
from onesided.mechanism._checked import CheckRecord
from onesided.mechanism._compounds import Compounds
from onesided.mechanism._counts import Counts, Interval
from onesided.mechanism._cube import CubeCounts
from onesided.mechanism._cube_answers import CubeEstimates, CubeThresholds
from onesided.mechanism._cumulative import Cumulative
from onesided.mechanism._decision import AtMost
from onesided.mechanism._isotonic import isotonic
from onesided.mechanism._noisy_max_quantile import NoisyMaxQuantile
from onesided.mechanism._noisy_max_rank import NoisyMaxRank
from onesided.mechanism._record_sample import RecordSample
from onesided.mechanism._several_quantiles import SeveralQuantiles
from onesided.mechanism._sparse_vector import (
    SparseAnswers,
    SparseStream,
    SparseVector,
    StreamAnswer,
)
from onesided.mechanism._stair_sums import StairSums
from onesided.mechanism._staircase import Staircase
from onesided.mechanism._subsampled import Subsampled
from onesided.mechanism._sums import Sums
from onesided.mechanism._top_k import TopK, TopKAnswer
from onesided.mechanism._truncated import TruncatedCounts
from onesided.mechanism._unknown_keys import UnknownKeys, mean_relative_error

if TYPE_CHECKING:
    from onesided.mechanism import local
    from onesided.mechanism._continual import ContinualAnswer, ContinualCount
    from onesided.mechanism._linear import Linear, LinearAnswers
    from onesided.mechanism.histograms import (
        AGrid,
        Ahp,
        Dawa,
        Hierarchical,
        Marginals,
        OpenShape,
        OpenShapeCounts,
        Partition,
        SplitCounts,
        SplitHistogram,
        TreeModel,
        TwoPhase,
        UniformGrid,
        Zeroed,
        Zeros,
        zeros,
    )

# Loaded when first asked for, so that importing the package stays light.
_LATER = {
    **dict.fromkeys(("Linear", "LinearAnswers"), "onesided.mechanism._linear"),
    **dict.fromkeys(
        (
            "AGrid",
            "Ahp",
            "Dawa",
            "Hierarchical",
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
        ),
        "onesided.mechanism.histograms",
    ),
    **dict.fromkeys(("ContinualAnswer", "ContinualCount"), "onesided.mechanism._continual"),
    "local": "",
}

__all__ = [
    "AGeo",
    "AGrid",
    "ALap",
    "AdaptiveAnswers",
    "AdaptiveSparseVector",
    "Ahp",
    "AtMost",
    "CheckRecord",
    "Compounds",
    "ContinualAnswer",
    "ContinualCount",
    "Counts",
    "CubeCounts",
    "CubeEstimates",
    "CubeThresholds",
    "Cumulative",
    "Dawa",
    "Hierarchical",
    "Interval",
    "Linear",
    "LinearAnswers",
    "Marginals",
    "Mechanism",
    "NoisyMaxQuantile",
    "NoisyMaxRank",
    "OpenShape",
    "OpenShapeCounts",
    "Partition",
    "RecordSample",
    "SeveralQuantiles",
    "SparseAnswers",
    "SparseStream",
    "SparseVector",
    "SplitCounts",
    "SplitHistogram",
    "StairSums",
    "Staircase",
    "StreamAnswer",
    "Subsampled",
    "Sums",
    "TopK",
    "TopKAnswer",
    "TreeModel",
    "TruncatedCounts",
    "TwoPhase",
    "UniformGrid",
    "UnknownKeys",
    "Zeroed",
    "Zeros",
    "isotonic",
    "local",
    "mean_relative_error",
    "zeros",
]


def __getattr__(name: str) -> Any:
    """Names that are loaded when first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'onesided.mechanism' has no attribute {name!r}")
    place = _LATER[name]
    found = getattr(import_module(place), name) if place else import_module(f"{__name__}.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
