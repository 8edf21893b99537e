"""Freedom from exclusion attacks: how far leaving somebody out can give them away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onesided._numbers import INFINITE, Infinite, Loss, Number, non_negative
from onesided.errors import PolicyError
from onesided.policy import ABSENT, Policy


def exclusion_freedom(
    policy: Policy, losses: Mapping[str, Loss], *, protected: Sequence[str] = ("sensitive",)
) -> Loss:
    """φ: an observer's odds that a protected record is one value rather than another grow by e^φ.

    The largest loss over the edges from protected kinds to *every* kind of record, as given by
    name (a pure ``Guarantee.epsilon``); INFINITE if the policy has no such edge or no loss is
    given for it. ε for a mechanism that keeps (ε, P)-OSDP.
    Direction: only from the protected record; the observer's prior must treat records as
    independent. Source: OSDP Definition 3.4, Theorem 3.1.
    Errors: PolicyError for a kind that the policy does not have, and for a view.

    >>> from onesided.policy import sensitive
    >>> policy = sensitive("minor")
    >>> exclusion_freedom(policy, {edge.name: 1 for edge in policy.edges})
    1
    """
    unknown = set(protected) - set(policy.kinds)
    if unknown or not protected:
        raise PolicyError(
            f"The policy {policy.name!r} has no kind {min(unknown, default='')!r}.",
            hint=f"Its kinds are {', '.join(policy.kinds)}.",
        )
    if policy.view is not None:
        raise PolicyError(
            f"Under a view a record stays in its {policy.view.over}, so it cannot pass as one of "
            "another, and φ is infinite.",
            hint=f"Take unit={policy.view.over!r} and sensitive(...).",
        )
    present = [kind for kind in policy.kinds if kind != ABSENT]
    known = {(edge.source, edge.target): edge.name for edge in policy.edges}
    found = [
        losses.get(known.get((source, target), ""), INFINITE)
        for source in protected
        for target in present
    ]
    return max(found)


def suppress_freedom(threshold: Loss | Number) -> Loss:
    """φ = τ for the Suppress algorithm of personalised privacy; INFINITE for τ = ∞.

    Suppress drops every record that asks for less than τ and runs a τ-private computation on the
    rest. Leaving the protected record out is what an observer may notice, at e^τ, however
    small an ε the record asked for.
    Two conditions that the paper leaves unsaid (tests/bounds/test_exclusion.py): the
    protected record does ask for less than τ, and the computation is τ-private for *adding and
    removing* records; with replacement only, its size may tell and φ is infinite.
    Source: OSDP Theorem 3.4.

    >>> from onesided.bounds import suppress_freedom
    >>> suppress_freedom(2)
    Fraction(2, 1)
    """
    if isinstance(threshold, Infinite):
        return threshold
    return non_negative(threshold, name="threshold")
