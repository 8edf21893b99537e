"""Between guarantees, which speak of many edges, and bounds, which speak of one."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from onesided.accounting._bound import NOTHING, Bound
from onesided.policy import Guarantee, Policy


def guarantee(policy: Policy | str, bounds: Mapping[str, Bound]) -> Guarantee:
    """A guarantee from one bound per edge name; of a policy, or of any policy of that name.

    >>> print(guarantee("presence", {"present -> not present": Bound(1, "1/1000")}))
    Under the policy 'presence' -- present -> not present: ε = 1, δ = 0.001.
    """
    known = None if isinstance(policy, str) else policy
    return Guarantee(
        policy if isinstance(policy, str) else policy.name,
        {edge: bound.epsilon for edge, bound in bounds.items()},
        {edge: bound.delta for edge, bound in bounds.items() if bound.delta},
        made_for=known,
    )


def bounds_of(promise: Guarantee) -> dict[str, Bound]:
    """One bound per edge name.

    >>> bounds_of(Guarantee("presence", {"present -> not present": 1}, {}))
    {'present -> not present': Bound(epsilon=Fraction(1, 1), delta=Fraction(0, 1))}
    """
    return {
        edge: Bound(loss, promise.delta.get(edge, Fraction(0)))
        for edge, loss in promise.epsilon.items()
    }


def bound_on(promise: Mapping[str, Bound], edge: str) -> Bound:
    """What is promised on an edge; nothing at all where nothing is said."""
    return promise.get(edge, NOTHING)
