"""What no mechanism can pass, and what the best one reaches: the papers' formulas, cited.

``NoiseAccuracy``, ``laplace_noise`` and ``exponential_noise``, which only papers use, come with
``onesided-experiments`` and are loaded when they are first asked for.
"""

from typing import Any, Final

from onesided._plugins import from_part
from onesided.bounds._correlated import Correlation, correlation_from_toml, household, walk
from onesided.bounds._limits import (
    attainable_power,
    certified_share,
    delta_needed_dp,
    epsilon_needed_adp,
    epsilon_needed_dp,
    exclusion_freedom,
    geometric_matrix,
    laplace_error,
    post_processing,
    power_bound,
    sampling_crossing,
    sampling_error,
    sampling_loses,
    suppress_freedom,
    true_positive_adp,
    true_positive_dp,
    virtual_power,
)
from onesided.bounds._subsampled_noise import Enclosure, SampledNoise

__all__ = [
    "Correlation", "Enclosure", "SampledNoise", "attainable_power", "certified_share",
    "correlation_from_toml", "delta_needed_dp", "epsilon_needed_adp", "epsilon_needed_dp",
    "exclusion_freedom", "geometric_matrix", "household", "laplace_error", "post_processing",
    "power_bound", "sampling_crossing", "sampling_error", "sampling_loses", "suppress_freedom",
    "true_positive_adp", "true_positive_dp", "virtual_power", "walk",
]  # fmt: skip

_OF_PAPERS: Final = ("NoiseAccuracy", "exponential_noise", "laplace_noise")


def __getattr__(name: str) -> Any:
    """A bound that only papers use. Errors: MissingDependencyError, where it is not installed."""
    if name not in _OF_PAPERS:
        raise AttributeError(f"module 'onesided.bounds' has no attribute {name!r}")
    return from_part("onesided-experiments", name, module="bounds")
