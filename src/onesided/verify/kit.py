"""What catalogues of checks need beside the public names: certificates, and types of arguments."""

from onesided.verify._aligned import Alignment
from onesided.verify._certificates import (
    Certificate,
    Said,
    geometric_power,
    of_interval,
    of_statement,
)
from onesided.verify._households import Homes

__all__ = [
    "Alignment",
    "Certificate",
    "Homes",
    "Said",
    "geometric_power",
    "of_interval",
    "of_statement",
]
