"""What no mechanism can pass, and what the best one reaches: the papers' formulas, cited.

Those that only papers use come with ``onesided-experiments`` and are loaded when first asked for.
"""

from typing import Any, Final

from onesided._plugins import from_part
from onesided.bounds._correlated import Correlation, correlation_from_toml, household, walk
from onesided.bounds._limits import certified_share

__all__ = [
    "Correlation", "certified_share", "correlation_from_toml", "household", "walk",
]  # fmt: skip

_OF_PAPERS: Final = (
    "Enclosure", "NoiseAccuracy", "SampledNoise", "attainable_power", "delta_needed_dp",
    "epsilon_needed_adp", "epsilon_needed_dp", "exclusion_freedom", "exponential_noise",
    "geometric_matrix", "laplace_error", "laplace_noise", "post_processing", "power_bound",
    "sampling_crossing", "sampling_error", "sampling_loses", "suppress_freedom",
    "true_positive_adp", "true_positive_dp", "virtual_power",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """A bound that only papers use. Errors: MissingDependencyError, where it is not installed."""
    if name not in _OF_PAPERS:
        raise AttributeError(f"module 'onesided.bounds' has no attribute {name!r}")
    return from_part("onesided-experiments", name, module="bounds")
