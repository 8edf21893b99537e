"""Which open units a table tells apart, and the sample of them that other charges leave free."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from onesided._numbers import Infinite, percent, text
from onesided.engine.kit import Samples
from onesided.errors import OnesidedError, UnprotectableError
from onesided.ledger import PURE
from onesided.mechanism import PersistentSample
from onesided.mechanism.kit import samples_for
from onesided.policy import ABSENT, Policy

# What one question may ask for.
_MOST: Final = 100
_LEAST: Final = Fraction(1, 2**40)


def tellable(samples: Samples, policy: Policy) -> Samples:
    """The open kinds that the rules of the policy find in a table; without rules none."""
    present = set(policy.kinds) - {ABSENT}
    if not policy.rules and len(present) > 1:
        raise UnprotectableError(
            f"No rule of the policy {policy.name!r} tells its kinds {', '.join(sorted(present))} "
            "apart in a table, so protected rows could be published.",
            hint="Say which rows are open: sensitive(...), tiers(...), or a policy with rules=.",
        )
    told = {rule.kind for rule in policy.rules} | {policy.default_kind}
    found = {kind: sample for kind, sample in samples.items() if kind in told}
    if not found:
        raise UnprotectableError(
            f"No rule of the policy {policy.name!r} makes a unit {' or '.join(samples)}, so every "
            "unit of a table is protected.",
            hint="Give the policy rules= or default= that name an open kind.",
        )
    return found


def free_sample(policy: Policy, spent: Mapping[str, Fraction]) -> Fraction:
    """The largest ε of a sample of open units that no edge's loss rises for above the largest.

    spent: per edge, what all other charges lose. The largest loss is per unit of an edge's weight,
    as budgets are, and losses add, so with the sample's own it is what it was. Exact; 0 where
    nothing is left over, or the policy has no open kind. A sample that is taken is spent: of what
    it leaves, nothing is free any more.
    Source: ours; the part of an edge that "sensitive -> sensitive" has in common with no other.

    >>> from onesided.policy import sensitive
    >>> free_sample(sensitive("minor"), {"sensitive -> sensitive": 1, "sensitive -> open": 0})
    Fraction(1, 1)
    """
    try:
        samples = tellable(samples_for(policy, epsilon=1), policy)
        losses = PersistentSample(samples).loss(policy)
    except OnesidedError:  # of this policy none can be told, or priced
        return Fraction(0)
    weights = {edge.name: edge.weight for edge in policy.edges}
    largest = max(spent[edge] / weights[edge] for edge in weights)
    each = {edge: one for edge, one in losses.items() if not isinstance(one, Infinite) and one}
    left = [(largest * weights[edge] - spent[edge]) / one for edge, one in each.items()]
    return Fraction(min(left, default=Fraction(0)))


def left_free(policy: Policy | None, accounting: str, spent: Mapping[str, Fraction]) -> Fraction:
    """:func:`free_sample`, in an account where losses add."""
    if policy is None or accounting != PURE:
        return Fraction(0)
    free = min(free_sample(policy, spent), Fraction(_MOST))
    return free if free >= _LEAST else Fraction(0)


def offered(epsilon: Fraction) -> str:
    """A line that offers a free sample; empty for 0.

    >>> offered(Fraction(0))
    ''
    """
    if not epsilon:
        return ""
    share = percent(math.floor(-1000 * math.expm1(-epsilon)) / 1000)
    return (
        f'A sample of {share} of the open units is free beside this: sample(epsilon="'
        f'{text(epsilon)}") leaves the largest loss of this account as it is.'
    )
