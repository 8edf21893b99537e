"""Local randomisers: one person's answer is hidden before it is sent; nobody need be trusted."""

from onesided.mechanism.local._channel import Channel, context_aware, for_policy
from onesided.mechanism.local._randomiser import Estimate, Randomiser, Report, Tally
from onesided.mechanism.local._response import (
    RandomisedResponse,
    UnaryResponse,
    k_ary_response,
    mangat,
    optimised_unary,
    rappor,
    utility_optimised_rappor,
    utility_optimised_response,
    warner,
)
from onesided.mechanism.local._shuffled import ShuffledCounts

__all__ = [
    "Channel", "Estimate", "RandomisedResponse", "Randomiser", "Report", "ShuffledCounts", "Tally",
    "UnaryResponse", "context_aware", "for_policy", "k_ary_response", "mangat", "optimised_unary",
    "rappor", "utility_optimised_rappor", "utility_optimised_response", "warner",
]  # fmt: skip
