"""Promises added up, turned into other promises, and of samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from onesided._numbers import Infinite, Loss, Number, log_up, non_negative, positive
from onesided.accounting._losses import (
    NOTHING,
    Bound,
    along_path,
    bound_on,
    bounds_of,
    guarantee,
    worst,
)
from onesided.bounds.kit import exp_bounds, exp_neg, share_below_one, short_up
from onesided.errors import ParameterError, PolicyError
from onesided.policy import ABSENT, Guarantee, Policy

# Adding up what several releases cost, edge by edge.


def added(bounds: Iterable[Bound]) -> Bound:
    """Basic composition along one edge: ε and δ add up, however later questions were chosen.

    >>> added([Bound("1/4"), Bound("1/2", "1/1000")])
    Bound(epsilon=Fraction(3, 4), delta=Fraction(1, 1000))
    """
    epsilon, delta = Bound(0).epsilon, Fraction(0)
    for bound in bounds:
        epsilon, delta = epsilon + bound.epsilon, delta + bound.delta
    return Bound(epsilon, min(Fraction(1), delta))


def compose(guarantees: Sequence[Guarantee]) -> Guarantee:
    """Several releases about the same data under *one* policy: per edge, ε and δ add up.

    Never worse than adding headlines, and better where releases spend on different edges.
    Condition: all are about the same units, persons or rows; a guarantee does not say which.
    Source: OSDP Theorem 3.3, ADP-2021 Theorem 6, ADP-2022 Theorem VIII.6.
    Errors: PolicyError for different policies or edges (see :func:`compose_under`);
        ParameterError for none.

    >>> monday = Guarantee("presence", {"present -> not present": 1}, {})
    >>> compose([monday, monday]).epsilon["present -> not present"]
    Fraction(2, 1)
    """
    if not guarantees:
        raise ParameterError("There is nothing to compose.", hint="Give at least one guarantee.")
    first = next((one for one in guarantees if one.made_for), guarantees[0])
    for other in guarantees:
        if not first.same_policy(other) or set(other.epsilon) != set(first.epsilon):
            same = ", whose parameters differ" if other.policy == first.policy else ""
            raise PolicyError(
                f"The guarantees are about different policies: {first.policy!r} with "
                f"{', '.join(first.epsilon)}, and {other.policy!r} with "
                f"{', '.join(other.epsilon)}{same}.",
                hint="An edge's name means something else under another policy. State each "
                "release's loss on the edges of the intersection and use compose_under.",
            )
    tables = [bounds_of(one) for one in guarantees]
    return guarantee(
        first.made_for or first.policy,
        {edge: added(table[edge] for table in tables) for edge in first.epsilon},
    )


def compose_under(policy: Policy, losses: Sequence[Mapping[str, Bound]]) -> Guarantee:
    """Several releases, each made for its own policy, stated together for ``policy``.

    losses: one mapping per release, from the edges *of ``policy``* (by name) to what that release
        promises along them; an edge that a release says nothing of is INFINITE, for then that
        release may tell. Only a move that every release allows is promised anything, which is
        what the intersection of the policies says (OSDP's minimum relaxation, Theorem 3.3; the
        "sum of policies" of ADP-2022 Theorem VIII.6).
    Errors: PolicyError for an edge that ``policy`` does not have.

    >>> from onesided.policy import addition_only
    >>> losses = [{"record -> absent": Bound(1)}, {"record -> absent": Bound(2)}]
    >>> compose_under(addition_only(), losses).headline
    Fraction(3, 1)
    """
    names = [edge.name for edge in policy.edges]
    for table in losses:
        unknown = set(table) - set(names)
        if unknown:
            raise PolicyError(
                f"The policy {policy.name!r} has no edge {min(unknown)!r}.",
                hint=f"Its edges are {', '.join(names)}; state the loss on those.",
            )
    totals = {name: added(bound_on(table, name) for table in losses) for name in names}
    return guarantee(policy, totals)


def parallel(policy: Policy, parts: Sequence[Mapping[str, Bound]]) -> Guarantee:
    """Several releases, each about its own part of the records.

    parts: one mapping per part, from edges of ``policy`` to what the release on that part
        promises. Which part a record belongs to must depend on that record alone, by a rule
        that is public, and every record that a move leads from or to must lie in one of them.

    Records that no release is about are a part as well. A replacement may bring one of them into
    another part, which then gains a record: ``parallel(bounded(), [one])`` is right only if every
    record lies in that part. If not, add a part that loses nothing, with ``Bound(0)`` along every
    edge, ``source -> absent`` and ``absent -> target`` included.

    Along an edge from or to ``absent`` one part changes: the largest bound counts. Along a
    replacement the old record may lie in one part and the new one in another, and *two* parts
    change: one loses a record and one gains it, so those two losses add up -- INFINITE unless
    the parts' releases promise ``source -> absent`` and ``absent -> target`` as well. Source: OSDP
    Theorem 10.2 (extended OSDP, where no move replaces).
    Errors: ParameterError for no parts; PolicyError for a view.

    >>> from onesided.policy import addition_only
    >>> districts = [{"record -> absent": Bound(1)}, {"record -> absent": Bound(3)}]
    >>> parallel(addition_only(), districts).headline
    Fraction(3, 1)
    """
    if not parts:
        raise ParameterError("There are no parts.", hint="Give at least one.")
    if policy.view is not None:
        raise PolicyError(
            f"Under a view by {policy.view.over!r} one move may change records in many parts.",
            hint="Add the losses up with compose_under.",
        )
    known = [{**table} for table in parts]
    edges = {}
    for edge in policy.edges:
        found = [bound_on(table, edge.name) for table in known]
        if any(ABSENT not in way for way in policy.ways(edge)):
            found += [
                added(
                    (
                        bound_on(left, f"{edge.source} -> {ABSENT}"),
                        bound_on(entered, f"{ABSENT} -> {edge.target}"),
                    )
                )
                for left, entered in permutations(known, 2)
            ]
        edges[edge.name] = worst(found)
    return guarantee(policy, edges)


# From a promise under one policy to a promise under another. Proofs: docs/conversions.md.

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
    policy: Policy, *, replace: Bound | None = None, add_or_remove: Bound | None = None
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


# What sampling records first does to a promise, each direction by its own law.
#
# Each record is kept independently with probability ``p`` (Poisson sampling). With a record, the
# mechanism sees it with probability p; without it, never. Proofs: docs/conversions.md.
# Rounding: ε and δ up, by less than one part in 2^60.


def sampling_removal(p: Number) -> Bound:
    """Sampling alone, along ``absent -> record``: ``-ln(1 - p)``, δ = 0.

    Removal-only: a kept record is published as it is, so along ``record -> absent`` the loss is
    infinite (:func:`sampling_addition`). Source: one-sided note, Theorem 5; the same number is
    OSDP Algorithm 1 along ``sensitive -> open``.

    >>> round(float(sampling_removal("1/2").epsilon), 4), sampling_removal("1/2").delta
    (0.6931, Fraction(0, 1))
    """
    return Bound(log_up(1 / (1 - share_below_one(p, name="p")), bits=96))


def sampling_addition(p: Number) -> Bound:
    """Sampling alone, along ``record -> absent``: nothing but (0, p), the chance of being kept.

    >>> sampling_addition("1/100")
    Bound(epsilon=Fraction(0, 1), delta=Fraction(1, 100))
    """
    return Bound(0, share_below_one(p, name="p"))


def amplify_addition(bound: Bound, *, p: Number) -> Bound:
    """Along ``record -> absent``: (ε, δ) becomes (ln(1 + p (e^ε - 1)), p δ).

    Source: one-sided note, before Theorem 5.
    Errors: ParameterError for p outside [0, 1) or a negative ε.

    >>> round(float(amplify_addition(Bound(1), p="1/10").epsilon), 4)
    0.1586
    """
    share = share_below_one(p, name="p")
    epsilon = _size(bound)
    if isinstance(epsilon, Infinite):
        return Bound(0, share)
    grown = exp_bounds(epsilon)[1]
    if isinstance(grown, Infinite):
        return Bound(epsilon, share * bound.delta)
    return Bound(log_up(1 + share * (grown - 1), bits=96), share * bound.delta)


def amplify_removal(bound: Bound, *, p: Number) -> Bound:
    """Along ``absent -> record``: (ε, δ) becomes ``(-ln r, p e^-ε δ / r)``, ``r = 1 - p + p e^-ε``.

    Never above ``-ln(1 - p)``, the loss of sampling alone, even for a mechanism that promises
    nothing (ε = ∞); never above the addition law at the same ε. Tight for every ε, δ and p.
    Ours: the one-sided note states the case ε = ∞ (Theorem 5) only.
    Errors: ParameterError for p outside [0, 1) or a negative ε.

    >>> round(float(amplify_removal(NOTHING, p="1/2").epsilon), 4)
    0.6931
    """
    share = share_below_one(p, name="p")
    epsilon = _size(bound)
    if isinstance(epsilon, Infinite):
        return sampling_removal(share)
    low, high = exp_neg(epsilon)
    least = 1 - share + share * low
    return Bound(log_up(1 / least, bits=96), short_up(share * high * bound.delta / least))


def amplify_replacement(
    *, replace: Bound, addition: Loss | Number | None = None, p: Number
) -> Bound:
    """Along ``record -> record``: from the replacement promise *alone* sampling gains no ε at all.

    (ε, δ) becomes (ε, p δ), and no less: nothing says that the mechanism answers alike without
    the record. If it also keeps ``addition`` (pure, along ``record -> absent``) then, for δ = 0,
    ``ε' = ln((p + (1-p) e^-a) / (p e^-ε + (1-p) e^-a))``.
    Errors: ParameterError for p outside [0, 1), a negative ε, or a δ given together with addition.

    >>> amplify_replacement(replace=Bound(1, "1/1000"), p="1/10")
    Bound(epsilon=Fraction(1, 1), delta=Fraction(1, 10000))
    """
    share, epsilon = share_below_one(p, name="p"), _size(replace)
    if isinstance(epsilon, Infinite):
        return Bound(0, share)
    if addition is None or isinstance(addition, Infinite):
        return Bound(epsilon, share * replace.delta)
    if replace.delta:
        raise ParameterError(
            "A δ along the replacement cannot be amplified together with an addition promise.",
            hint="Leave addition out; the δ is then multiplied by p.",
            delta=replace.delta,
        )
    (low, high), (less, more) = exp_neg(epsilon), exp_neg(positive(addition, name="addition"))
    # Falls as either e^-ε or e^-a grows.
    del high, more
    return Bound(
        min(epsilon, log_up((share + (1 - share) * less) / (share * low + (1 - share) * less)))
    )


def two_sided_by_sampling(addition: Bound, *, p: Number) -> Guarantee:
    """Addition-only privacy after sampling is unbounded DP, edge by edge.

    ``record -> absent`` by :func:`amplify_addition`; ``absent -> record`` at -ln(1 - p) and δ = 0.
    The headline is max(-ln(1 - p), ln(1 + p (e^ε - 1))). Source: one-sided note, Theorem 6.

    >>> both = two_sided_by_sampling(Bound(1), p="1/2")
    >>> {edge: round(float(loss), 4) for edge, loss in both.epsilon.items()}
    {'record -> absent': 0.6201, 'absent -> record': 0.6931}
    """
    return two_sided(
        addition=amplify_addition(addition, p=p), removal=amplify_removal(NOTHING, p=p)
    )


@dataclass(frozen=True, slots=True)
class SampleAndNoise:
    """Keep each record with probability 1 - e^-keep_rate, then add noise at ``upper_rate``.

    >>> SampleAndNoise(Fraction(1), Fraction(2)).upper_rate
    Fraction(2, 1)
    """

    keep_rate: Fraction
    upper_rate: Fraction


def sample_and_noise(epsilon: Number) -> SampleAndNoise:
    """Two-sided ε-DP for counts from sampling and one-sided noise, balanced between directions.

    ``p = 1 - e^-ε`` (draw with ``bernoulli_exp``, exact) and rate ``ln(1 + e^ε)``, rounded *down*,
    which is more noise. Source: one-sided note, equation (3).

    >>> both = sample_and_noise("1/2")
    >>> both.keep_rate, round(float(both.upper_rate), 4)
    (Fraction(1, 2), 0.9741)
    """
    loss = positive(epsilon, name="epsilon")
    grown = exp_bounds(loss)[0]
    # log_up is above the logarithm by at most 2^-96.
    rate = log_up(1 + grown, bits=96) - Fraction(1, 2**96)
    return SampleAndNoise(loss, rate)


def _size(bound: Bound) -> Loss:
    """ε, refused where it is negative: the laws above need e^ε >= 1."""
    if isinstance(bound.epsilon, Infinite) or bound.epsilon >= 0:
        return bound.epsilon
    raise ParameterError(
        f"epsilon must be at least 0, got {bound.epsilon!r}.",
        hint="Read the promise the other way round first: accounting.reverse.",
        value=bound.epsilon,
    )
