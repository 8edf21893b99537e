"""The most truthful channel of a policy, column by column, solved exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

from onesided._numbers import Number
from onesided.errors import ParameterError, PolicyError
from onesided.mechanism.local._channel import Channel
from onesided.mechanism.local._columns import Least, lifted, solve_ones
from onesided.mechanism.local._odds import finite, shrink
from onesided.mechanism.local._programme import programmed
from onesided.mechanism.local._response import RandomisedResponse
from onesided.policy import Local, Policy

MOST_LETTERS: Final = 64
MOST_PROGRAMMED: Final = 32


def context_aware(policy: Policy, *, epsilon: Number) -> Channel:
    """A channel for any local policy, with every edge's own weight (context-aware local privacy).

    Promise: along an edge x -> y of weight w the loss is at most ``ε w``, checked exactly before
    the channel is returned. A letter without edges is told as it is.
    If ``t(o, x)`` is e^-ε to the weight of the shortest path from o to x, the channel reports o
    with chance ``c(o) t(o, x)``: as seldom from others as the policy allows. ``c`` makes all rows
    add up to 1, in exact fractions. That gives Warner's, Mangat's, k-ary and utility-optimised
    response, and the truncated geometric on a path. Where no such ``c > 0`` exists, a linear
    programme chooses the channel (needs scipy), and is repaired to exact fractions.
    Errors: PolicyError unless the policy is local; ParameterError for ε, or more letters than 64
    (32 for the programme); MissingDependencyError.
    Source: context-aware local privacy, Acharya et al. (2020); directed, as in Murakami and
    Kawamoto (2019).

    >>> from onesided.policy import local
    >>> near = local(["low", "mid", "high"], edges=[("low", "mid"), ("mid", "low")])
    >>> channel = context_aware(near, epsilon=1)
    >>> channel.possible("high"), round(float(channel.loss("low", "mid")), 6)
    (('high',), 1.0)
    """
    letters, least = constraints(policy, finite(epsilon))
    count = len(letters)
    _refuse_large(count, MOST_LETTERS, "exact fractions")
    columns = [lifted({place: Fraction(1)}, count, least) for place in range(count)]
    shares = solve_ones([[columns[o][x] for o in range(count)] for x in range(count)])
    if shares is not None and min(shares) > 0:
        rows = [[shares[o] * columns[o][x] for o in range(count)] for x in range(count)]
    else:
        _refuse_large(count, MOST_PROGRAMMED, "the linear programme that this policy needs")
        rows = programmed(count, least)
    check(rows, letters, least)
    return Channel(letters, rows)


def for_policy(policy: Policy, *, epsilon: Number) -> RandomisedResponse | Channel:
    """The simplest randomiser that keeps ``(epsilon, policy)`` for a local policy.

    Utility-optimised response if every letter with edges passes as all others at one weight, else
    :func:`context_aware`. Errors: as there.

    >>> from onesided.policy import local
    >>> type(for_policy(local(["yes", "no"], sensitive=["yes"]), epsilon=1)).__name__
    'RandomisedResponse'
    """
    local = _local(policy)
    weights = {edge.weight for edge in local.edges}
    sources = {edge.source for edge in local.edges}
    if len(weights) == 1 and len(local.edges) == len(sources) * (len(local.kinds) - 1):
        inverse = shrink(finite(epsilon) * weights.pop())
        decoys = [letter for letter in local.kinds if letter in sources]
        truth = (1 - inverse) / (1 + (len(decoys) - 1) * inverse)
        return RandomisedResponse(local.kinds, decoys, truth)
    return context_aware(local, epsilon=epsilon)


def constraints(policy: Policy, epsilon: Fraction) -> tuple[tuple[str, ...], Least]:
    """The letters, and for each edge how small the target's chances may be."""
    local = _local(policy)
    places = {letter: place for place, letter in enumerate(local.kinds)}
    shrunk = {weight: shrink(epsilon * weight) for weight in {e.weight for e in local.edges}}
    least = {(places[e.source], places[e.target]): shrunk[e.weight] for e in local.edges}
    return local.kinds, least


def check(rows: Iterable[Sequence[Fraction]], letters: Sequence[str], least: Least) -> None:
    """Refuse a table that breaks a constraint. It cannot happen, and must not."""
    table = list(rows)
    for (x, y), share in least.items():
        if any(p * share > q for p, q in zip(table[x], table[y], strict=True)):
            raise ParameterError(
                f"No channel was found that hides {letters[x]!r} as {letters[y]!r}.",
                hint="Give a larger epsilon, or fewer edges of very different weights.",
            )


def _refuse_large(count: int, most: int, what: str) -> None:
    if count > most:
        raise ParameterError(
            f"A policy of {count} letters is too large for {what}; at most {most} are taken.",
            hint="Use utility_optimised_response or k_ary_response at epsilon times the least "
            "weight: they take any number of letters.",
            letters=count,
        )


def _local(policy: Policy) -> Local:
    if not isinstance(policy, Local):
        raise PolicyError(
            f"The policy {policy.name!r} is not local: it speaks of records in a table.",
            hint='Use onesided.policy.local(["yes", "no"], sensitive=["yes"]).',
        )
    return policy
