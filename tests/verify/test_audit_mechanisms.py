"""Mechanisms whose promise once was smaller than their loss, held to laws worked out apart."""

import math
from fractions import Fraction
from itertools import product

import pytest

from onesided import policy as policies
from onesided.mechanism import Subsampled, TruncatedCounts
from onesided.mechanism.histograms import Dawa, Hierarchical, zeros
from onesided.policy import GroupCount, Shift


def _truncated(counts, rate, width):
    """The law of counts with truncated geometric noise, in floats."""
    weights = [math.exp(-rate * k) for k in range(width + 1)]
    law = {}
    for drawn in product(range(width + 1), repeat=len(counts)):
        chance = math.prod(weights[k] for k in drawn) / sum(weights) ** len(counts)
        law[tuple(x + k for x, k in zip(counts, drawn, strict=True))] = chance
    return law


def _sampled(share, without, within):
    outputs = without.keys() | within.keys()
    return {z: (1 - share) * without.get(z, 0) + share * within.get(z, 0) for z in outputs}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("keep_rate", [Fraction(1, 100), Fraction(1, 2), 3])
def test_a_sample_of_truncated_counts_keeps_its_delta(keep_rate, groups, whole):
    # A unit that leaves one group of two is covered by way of leaving both, at that delta.
    rate, width = Fraction(1, 2), 2
    sampled = Subsampled(
        TruncatedCounts(rate, width=width), keep_rate=keep_rate, max_groups=groups, whole=whole
    )
    share, nothing = -math.expm1(-float(keep_rate)), (0,) * groups
    units = list(product((0, 1), repeat=groups))
    without = _truncated(nothing, float(rate), width)
    laws = {x: _sampled(share, without, _truncated(x, float(rate), width)) for x in units}
    for x, y in product(units, repeat=2):
        if whole and nothing not in (x, y):
            continue
        steps = [b - a for a, b in zip(x, y, strict=True)]
        shift = Shift(rise=sum(s > 0 for s in steps), fall=sum(s < 0 for s in steps))
        odds = math.exp(float(sampled.loss(shift)))
        excess = sum(max(0, p - odds * laws[y].get(z, 0)) for z, p in laws[x].items())
        assert excess <= float(sampled.delta(shift)) + 1e-12


@pytest.mark.parametrize("algorithm", [Dawa, Hierarchical])
def test_zeros_are_priced_for_as_many_groups_as_the_algorithm(algorithm):
    # A sensitive unit that passes as an open one makes three open counts rise, not one.
    policy, query = policies.sensitive("minor"), GroupCount(max_groups=3)
    recipe = zeros(algorithm).for_policy(policy, epsilon=1, query=query)
    assert recipe.loss(Shift(rise=3, fall=3), Shift(rise=3, fall=0)) <= 1
    losses = recipe.losses(policy, query=query)
    assert max(losses.values()) <= 1
    assert losses[policy.edges[1]] == recipe.loss(Shift(rise=3, fall=3), Shift(rise=3, fall=0))
