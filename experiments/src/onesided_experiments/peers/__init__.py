"""Mechanisms of other libraries as black boxes, for ``onesided.verify.audit``.

Neither library is imported here: what is given is run as it is.
"""

from onesided_experiments.peers._stated import (
    Each,
    Measured,
    Randomised,
    Stated,
    audited,
    both_ways,
)

__all__ = ["Each", "Measured", "Randomised", "Stated", "audited", "both_ways"]
