"""What promises imply and how they add up: conversions, composition, tight totals."""

from onesided.accounting._charges import (
    NOTE,
    Charged,
    SessionTotal,
    charge_loss,
    less,
    noise_note,
    several_note,
    steps_note,
    tight_guarantee,
    total_loss,
    total_of,
)
from onesided.accounting._compose import (
    SampleAndNoise,
    added,
    amplify_addition,
    amplify_removal,
    amplify_replacement,
    by_way_of_absence,
    compose,
    compose_under,
    extended_to_osdp,
    from_dp,
    parallel,
    sample_and_noise,
    sampling_addition,
    sampling_removal,
    two_sided,
    two_sided_by_sampling,
)
from onesided.accounting._losses import (
    Bound,
    LossDistribution,
    along_path,
    bound_loss,
    bounds_of,
    certain_loss,
    counts_loss,
    guarantee,
    reverse,
    sample_loss,
    two_sided_loss,
    two_way_loss,
    worst_of,
)
from onesided.accounting._renyi import Repeated, charge_divergences, divergences, repeated

__all__ = [
    "NOTE", "Bound", "Charged", "LossDistribution", "Repeated", "SampleAndNoise", "SessionTotal",
    "added", "along_path", "amplify_addition", "amplify_removal", "amplify_replacement",
    "bound_loss", "bounds_of", "by_way_of_absence", "certain_loss", "charge_divergences",
    "charge_loss", "compose", "compose_under", "counts_loss", "divergences", "extended_to_osdp",
    "from_dp", "guarantee", "less", "noise_note", "parallel", "repeated", "reverse",
    "sample_and_noise", "sample_loss", "sampling_addition", "sampling_removal", "several_note",
    "steps_note", "tight_guarantee", "total_loss", "total_of", "two_sided", "two_sided_by_sampling",
    "two_sided_loss", "two_way_loss", "worst_of",
]  # fmt: skip
