"""Local randomisers: one person's answer is hidden before it is sent; nobody need be trusted."""

from onesided.mechanism.local._channel import Channel
from onesided.mechanism.local._estimate import Estimate
from onesided.mechanism.local._randomiser import Randomiser
from onesided.mechanism.local._report import Report
from onesided.mechanism.local._response import (
    RandomisedResponse,
    k_ary_response,
    mangat,
    utility_optimised_response,
    warner,
)
from onesided.mechanism.local._shuffled import ShuffledCounts
from onesided.mechanism.local._tally import Tally
from onesided.mechanism.local._tight import context_aware, for_policy
from onesided.mechanism.local._unary import (
    UnaryResponse,
    optimised_unary,
    rappor,
    utility_optimised_rappor,
)

__all__ = [
    "Channel",
    "Estimate",
    "RandomisedResponse",
    "Randomiser",
    "Report",
    "ShuffledCounts",
    "Tally",
    "UnaryResponse",
    "context_aware",
    "for_policy",
    "k_ary_response",
    "mangat",
    "optimised_unary",
    "rappor",
    "utility_optimised_rappor",
    "utility_optimised_response",
    "warner",
]
