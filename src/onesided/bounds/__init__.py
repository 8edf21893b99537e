"""What no mechanism can pass, and what the best one reaches: the papers' formulas, cited.

``NoiseAccuracy``, ``laplace_noise`` and ``exponential_noise``, which only papers use, come with
``onesided-experiments`` and are loaded when they are first asked for.
"""

from typing import Any, Final

from onesided._plugins import from_part
from onesided.bounds._correlated import Correlation, household, walk
from onesided.bounds._correlation_toml import correlation_from_toml
from onesided.bounds._exclusion import exclusion_freedom, suppress_freedom
from onesided.bounds._many_counts import certified_share
from onesided.bounds._one_sided import (
    delta_needed_dp,
    epsilon_needed_adp,
    epsilon_needed_dp,
    power_bound,
    true_positive_adp,
    true_positive_dp,
)
from onesided.bounds._optimal import geometric_matrix, post_processing
from onesided.bounds._sampling import (
    laplace_error,
    sampling_crossing,
    sampling_error,
    sampling_loses,
)
from onesided.bounds._subsampled_noise import Enclosure, SampledNoise
from onesided.bounds._virtual import attainable_power, virtual_power

__all__ = [
    "Correlation",
    "Enclosure",
    "SampledNoise",
    "attainable_power",
    "certified_share",
    "correlation_from_toml",
    "delta_needed_dp",
    "epsilon_needed_adp",
    "epsilon_needed_dp",
    "exclusion_freedom",
    "geometric_matrix",
    "household",
    "laplace_error",
    "post_processing",
    "power_bound",
    "sampling_crossing",
    "sampling_error",
    "sampling_loses",
    "suppress_freedom",
    "true_positive_adp",
    "true_positive_dp",
    "virtual_power",
    "walk",
]

_OF_PAPERS: Final = ("NoiseAccuracy", "exponential_noise", "laplace_noise")


def __getattr__(name: str) -> Any:
    """A bound that only papers use. Errors: MissingDependencyError, where it is not installed."""
    if name not in _OF_PAPERS:
        raise AttributeError(f"module 'onesided.bounds' has no attribute {name!r}")
    return from_part("onesided-experiments", name, module="bounds")
