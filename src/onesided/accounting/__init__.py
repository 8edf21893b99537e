"""What promises imply and how they add up: conversions, composition, tight totals."""

from onesided.accounting._bound import Bound, along_path, reverse
from onesided.accounting._charges import (
    NOTE,
    SessionTotal,
    charge_loss,
    noise_note,
    several_note,
    total_of,
)
from onesided.accounting._compose import added, compose, compose_under, parallel
from onesided.accounting._convert import by_way_of_absence, extended_to_osdp, from_dp, two_sided
from onesided.accounting._guarantees import bounds_of, guarantee
from onesided.accounting._losses import (
    bound_loss,
    certain_loss,
    counts_loss,
    sample_loss,
    two_sided_loss,
    two_way_loss,
)
from onesided.accounting._pld import LossDistribution, worst_of
from onesided.accounting._subsample import (
    SampleAndNoise,
    amplify_addition,
    amplify_removal,
    amplify_replacement,
    sample_and_noise,
    sampling_addition,
    sampling_removal,
    two_sided_by_sampling,
)
from onesided.accounting._tight import tight_guarantee, total_loss

__all__ = [
    "NOTE",
    "Bound",
    "LossDistribution",
    "SampleAndNoise",
    "SessionTotal",
    "added",
    "along_path",
    "amplify_addition",
    "amplify_removal",
    "amplify_replacement",
    "bound_loss",
    "bounds_of",
    "by_way_of_absence",
    "certain_loss",
    "charge_loss",
    "compose",
    "compose_under",
    "counts_loss",
    "extended_to_osdp",
    "from_dp",
    "guarantee",
    "noise_note",
    "parallel",
    "reverse",
    "sample_and_noise",
    "sample_loss",
    "sampling_addition",
    "sampling_removal",
    "several_note",
    "tight_guarantee",
    "total_loss",
    "total_of",
    "two_sided",
    "two_sided_by_sampling",
    "two_sided_loss",
    "two_way_loss",
    "worst_of",
]
