"""What several releases, each under a policy of its own, promise together."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from onesided._numbers import INFINITE, Loss
from onesided.errors import PolicyError
from onesided.policy._base import Policy
from onesided.policy._guarantee import Guarantee


def together(
    *releases: tuple[Policy, Mapping[str, Loss]], accept_unprotected: bool = False
) -> Guarantee:
    """What several pure releases, each with its loss per edge of its own policy, promise together.

    Stated for the intersection of their policies, as the exact sum along each of its edges. An
    edge that a release does not name is not promised at all: its loss is INFINITE.
    accept_unprotected: presence takes units out of the table along the edge by which it takes some
        of their groups away. Where another policy does not hide the one or the other, that edge is
        INFINITE, unless it is accepted that the sum is for the moves that both allow, and that
        somebody may be left with none (``explain()`` names such units).
    Errors: PolicyError for no release, an edge its policy does not have, or no move in common.

    >>> from onesided import policy
    >>> one, two = policy.addition_only(), policy.unbounded()
    >>> print(policy.together((one, {"record -> absent": 1}), (one, {"record -> absent": 2})))
    Under the policy 'addition_only' -- record -> absent: ε = 3 (pure, δ = 0).
    >>> both = policy.together((one, {"record -> absent": 1}), (two, {"record -> absent": 2}))
    >>> print(both.epsilon["record -> absent"])
    3
    """
    totals: dict[str, dict[str, Loss]] = {}
    joint: Policy | None = None
    for policy, losses in releases:
        _check_names(policy, losses)
        joint = policy if joint is None else joint & policy
        own = totals.setdefault(policy.identity, {})
        for name, loss in losses.items():
            own[name] = own.get(name, Fraction(0)) + loss
    if joint is None:
        raise PolicyError("There are no releases.", hint="Give (policy, {edge name: loss}) pairs.")
    sums = _sums(joint, totals, all_ways=not accept_unprotected)
    return Guarantee(joint.name, sums, {}, made_for=joint)


def _sums(
    joint: Policy, totals: Mapping[str, Mapping[str, Loss]], *, all_ways: bool
) -> dict[str, Loss]:
    result: dict[str, Loss] = {}
    for edge, chosen in joint.joins.items():
        total: Loss = Fraction(0)
        wider = joint.wider(edge) if all_ways else ()
        for part, one in zip(joint.parts, chosen, strict=True):
            hidden = not wider or part in wider
            loss = totals.get(part.identity, {}).get(one.name, INFINITE)
            total = total + (loss if hidden else INFINITE)
        result[edge.name] = total
    return result


def _check_names(policy: Policy, losses: Mapping[str, Loss]) -> None:
    unknown = set(losses) - {edge.name for edge in policy.edges}
    if unknown:
        raise PolicyError(
            f"The policy {policy.name!r} has no edge {min(unknown)!r}.",
            hint=f"Its edges are {', '.join(edge.name for edge in policy.edges)}.",
        )
