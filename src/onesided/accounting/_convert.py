"""From a promise under one policy to a promise under another. Proofs: docs/conversions.md."""

from __future__ import annotations

from onesided._numbers import Infinite, Number, non_negative
from onesided.accounting._bound import NOTHING, Bound, along_path, worst
from onesided.accounting._guarantees import guarantee
from onesided.errors import ParameterError
from onesided.policy import ABSENT, Guarantee, Policy

PRESENT = "record"
_ADD, _REMOVE = f"{PRESENT} -> {ABSENT}", f"{ABSENT} -> {PRESENT}"


def by_way_of_absence(leave: Bound, arrive: Bound) -> Bound:
    """Replacing a record, when what is promised is ``source -> absent`` and ``absent -> target``.

    ε adds up. For δ either order of the two moves will do, removing first or adding first; the
    smaller is given. Source: the proof of OSDP Theorem 10.1.

    >>> by_way_of_absence(leave=Bound(1), arrive=Bound("1/2")).epsilon
    Fraction(3, 2)
    """
    first, second = along_path((leave, arrive)), along_path((arrive, leave))
    return first if first.delta <= second.delta else second


def extended_to_osdp(
    epsilon: Number, *, delta: Number = 0, sensitive: str = "sensitive", open_: str = "open"
) -> Guarantee:
    """Extended one-sided privacy at (ε, δ) gives one-sided privacy at (2ε, (1 + e^ε) δ).

    The inverse does not hold. Source: OSDP Theorem 10.1; for unequal losses per edge see
    :func:`by_way_of_absence`.

    >>> from onesided.accounting import extended_to_osdp
    >>> extended_to_osdp(1).headline
    Fraction(2, 1)
    """
    bound = Bound(non_negative(epsilon, name="epsilon"), delta)
    both = by_way_of_absence(bound, bound)
    edges = {f"{sensitive} -> {target}": both for target in (sensitive, open_)}
    return guarantee("sensitive", edges)


def from_dp(
    policy: Policy,
    *,
    replace: Bound | None = None,
    add_or_remove: Bound | None = None,
) -> Guarantee:
    """What differential privacy promises under any policy: its loss on every edge, not scaled.

    replace: the promise of bounded DP, along ``record -> record`` either way.
    add_or_remove: the promise of unbounded DP, along ``record -> absent`` and back; it gives
        replacement too, at twice ε.
    An edge along which somebody may come or leave needs ``add_or_remove`` and is INFINITE without
    it: bounded DP may tell how many records there are. That is every edge from or to ``absent``,
    and presence, where whoever drops her last group leaves; there the worse promise counts. Along
    a view by another table several records of that table change, and nothing is promised.
    Source: OSDP Lemma 3.1, ADP-2021 Theorem 5 (2). Proof: docs/proofs/absence.md.
    Errors: ParameterError if neither is given, or for a negative ε.

    >>> from onesided.policy import addition_only, bounded, presence
    >>> from_dp(bounded(), add_or_remove=Bound(1)).headline
    Fraction(2, 1)
    >>> from_dp(addition_only(), replace=Bound(1)).headline
    INFINITE
    >>> from_dp(presence(max_groups=1), replace=Bound(1)).headline
    INFINITE
    """
    given = [bound for bound in (replace, add_or_remove) if bound is not None]
    if not given:
        raise ParameterError(
            "Say which differential privacy is promised: replace, add_or_remove or both.",
            hint="For example replace=Bound(1).",
        )
    for bound in given:
        if not isinstance(bound.epsilon, Infinite):
            non_negative(bound.epsilon, name="epsilon")
    exchange, come_or_go = _cheapest(replace, add_or_remove), add_or_remove or NOTHING
    elsewhere = policy.view is not None and policy.view.table is not None
    edges = {
        edge.name: NOTHING
        if elsewhere
        else worst(come_or_go if ABSENT in way else exchange for way in policy.ways(edge))
        for edge in policy.edges
    }
    return guarantee(policy, edges)


def _cheapest(replace: Bound | None, add_or_remove: Bound | None) -> Bound:
    """The better promise for a replacement; the direct one unless both its numbers are worse."""
    if add_or_remove is None:
        return replace or NOTHING
    way = by_way_of_absence(add_or_remove, add_or_remove)
    if replace is None or (way.epsilon <= replace.epsilon and way.delta <= replace.delta):
        return way
    return replace


def two_sided(*, addition: Bound, removal: Bound) -> Guarantee:
    """Addition-only and removal-only promises together are unbounded DP, edge by edge.

    addition: along ``record -> absent``. removal: along ``absent -> record``. The two stay apart;
    the headline is their maximum. Source: one-sided note, remarks after Proposition 4.

    >>> print(two_sided(addition=Bound(1), removal=Bound("1/2")))
    Under the policy 'unbounded' -- record -> absent: ε = 1, absent -> record: ε = 1/2 (pure, δ =
    0).
    """
    return guarantee("unbounded", {_ADD: addition, _REMOVE: removal})
