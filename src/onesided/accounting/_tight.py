"""The tight total of several releases, edge by edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onesided._numbers import Number, probability
from onesided.accounting._bound import Bound
from onesided.accounting._guarantees import guarantee
from onesided.accounting._losses import certain_loss
from onesided.accounting._pld import LossDistribution
from onesided.errors import PolicyError
from onesided.policy import Guarantee, Policy


def total_loss(releases: Sequence[LossDistribution]) -> LossDistribution:
    """All releases together along one direction; none at all lose nothing.

    Condition: how much noise each release gets was fixed before the first answer was seen (what
    is *asked* may depend on answers). Rates chosen from earlier answers are covered by
    adding up ε only.

    >>> total_loss([certain_loss(1), certain_loss(2)]).largest, total_loss([]).largest
    (Fraction(3, 1), Fraction(0, 1))
    """
    total = certain_loss(0)
    for release in releases:
        total = total + release
    return total


def tight_guarantee(
    policy: Policy, releases: Mapping[str, Sequence[LossDistribution]], *, delta: Number
) -> Guarantee:
    """(ε, δ) per edge of ``policy``, each edge in its own direction, never less than the truth.

    releases: edge names to the loss distributions of the releases along that edge.
    Errors: PolicyError for an edge that is missing or unknown.

    >>> from onesided.accounting import certain_loss
    >>> from onesided.policy import presence
    >>> losses = {"present -> not present": [certain_loss(1), certain_loss("1/2")]}
    >>> print(tight_guarantee(presence(max_groups=1), losses, delta=0))
    Under the policy 'presence' -- present -> not present: ε = 3/2 (pure, δ = 0).
    """
    allowed = probability(delta, name="delta")
    names = [edge.name for edge in policy.edges]
    if set(releases) != set(names):
        raise PolicyError(
            f"The losses must name each edge of {policy.name!r} once: {', '.join(names)}.",
            hint="An edge along which nothing is lost has an empty list.",
            given=tuple(releases),
        )
    totals = {name: total_loss(releases[name]) for name in names}
    return guarantee(
        policy, {name: Bound(each.epsilon(allowed), allowed) for name, each in totals.items()}
    )
