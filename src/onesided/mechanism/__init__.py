"""Mechanisms: one frozen value each; ``release`` is what it does, ``loss`` what it costs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from onesided._plugins import from_part
from onesided.mechanism._certify import (
    AdaptiveAnswers,
    AdaptiveSparseVector,
    AtMost,
    SparseAnswers,
    SparseStream,
    SparseVector,
    StreamAnswer,
    TruncatedCounts,
)
from onesided.mechanism._cube import (
    CubeCounts,
    CubeEstimates,
    CubeThresholds,
    GaussianCounts,
    GaussianSums,
)
from onesided.mechanism._fit import Compounds, Mechanism
from onesided.mechanism._persistent import PersistentSample
from onesided.mechanism._quantiles import (
    Cumulative,
    NoisyMaxQuantile,
    NoisyMaxRank,
    SeveralQuantiles,
)
from onesided.mechanism._sampling import RecordSample, Subsampled
from onesided.mechanism._selection import (
    NoisyTopK,
    PeeledTopK,
    TopK,
    TopKAnswer,
    UnknownKeys,
    isotonic,
)
from onesided.mechanism._source import CheckRecord
from onesided.mechanism.law import AGeo, ALap, Counts, Interval, Staircase, StairSums, Sums

if TYPE_CHECKING:
    from onesided.mechanism import local
    from onesided.mechanism._linear import Linear, LinearAnswers
    from onesided.mechanism.histograms import (
        AGrid,
        Ahp,
        Dawa,
        Hierarchical,
        OpenShape,
        OpenShapeCounts,
        Partition,
        SplitCounts,
        SplitHistogram,
        TwoPhase,
        UniformGrid,
        Zeroed,
        Zeros,
        zeros,
    )

__all__ = [
    "AGeo", "AGrid", "ALap", "AdaptiveAnswers", "AdaptiveSparseVector", "Ahp", "AtMost",
    "CheckRecord", "Compounds", "Counts", "CubeCounts",
    "CubeEstimates", "CubeThresholds", "Cumulative", "Dawa", "GaussianCounts", "GaussianSums",
    "Hierarchical", "Interval", "Linear", "LinearAnswers", "Mechanism",
    "NoisyMaxQuantile", "NoisyMaxRank", "NoisyTopK", "OpenShape", "OpenShapeCounts", "Partition",
    "PeeledTopK", "PersistentSample", "RecordSample", "SeveralQuantiles", "SparseAnswers",
    "SparseStream", "SparseVector", "SplitCounts", "SplitHistogram", "StairSums", "Staircase",
    "StreamAnswer", "Subsampled", "Sums", "TopK", "TopKAnswer", "TruncatedCounts",
    "TwoPhase", "UniformGrid", "UnknownKeys", "Zeroed", "Zeros", "isotonic", "local",
    "zeros",
]  # fmt: skip


# Which no question asks; they come with ``onesided-experiments``.
_OF_PAPERS = {
    "ContinualAnswer": "continual",
    "ContinualCount": "continual",
    "Marginals": "marginals",
    "TreeModel": "marginals",
}


def __getattr__(name: str) -> Any:
    """What is loaded when first asked for, so that importing the package stays light."""
    if name in _OF_PAPERS:
        return from_part("onesided-experiments", name, module=_OF_PAPERS[name])
    if name not in __all__:
        raise AttributeError(f"module 'onesided.mechanism' has no attribute {name!r}")
    if name == "local":
        found: Any = import_module(f"{__name__}.local")
    else:
        place = "_linear" if name.startswith("Linear") else "histograms"
        found = getattr(import_module(f"{__name__}.{place}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
