"""Linear queries whose noise is wrong in one way each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from onesided import policy as policies
from onesided.linear import (
    EdgeCounts,
    Grid,
    Prefix,
    Suffix,
    moves_of,
    row_prefix,
    sensitivity,
    strategy_shifts,
)
from onesided.mechanism import Linear
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE, Loss
from onesided.policy import Neighbourhood, Shift


@dataclass(frozen=True, slots=True)
class Measured:
    """Right: the noisy answers of a strategy, from which all else follows."""

    mechanism: Linear

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """What the mechanism measures."""
        return self.mechanism.noisy(values, noise=noise)

    def loss(self, shift: Shift) -> Loss:
        """The mechanism's own."""
        return self.mechanism.loss(shift)


def rows_only(shape: tuple[int, int], epsilon: int) -> Linear:
    """Prefix sums of each row, whose noise knows of steps along a row, not of steps down."""
    line = moves_of(policies.neighbourhood(radius=1), Grid(shape[1]))
    along = sensitivity(strategy_shifts(Prefix(shape[1]), line))
    strategy, rate = row_prefix(shape), Fraction(epsilon, along)
    return Linear(strategy, strategy, rate, rate)


def no_sources(n: int, epsilon: int) -> Linear:
    """The wrong way round for its source: sums of all cells after, where people enter last."""
    still = policies.neighbourhood(radius=1)
    return Linear.for_policy(
        still, strategy=Suffix(n), workload=Suffix(n), epsilon=epsilon, cells=Grid(n)
    )


def wide_radius(policy: Neighbourhood, n: int, epsilon: int) -> Linear:
    """A radius of r is read as a disc r across, half as far as it reaches."""
    narrow = policies.neighbourhood(radius=policy.radius / 2, sources=policy.sources)
    return Linear.for_policy(
        narrow, strategy=Suffix(n), workload=Suffix(n), epsilon=epsilon, cells=Grid(n)
    )


def one_way(tree: EdgeCounts, epsilon: int) -> Linear:
    """Noise above the truth alone, on a tree whose moves go up and down."""
    return Linear(tree, tree, epsilon, INFINITE)
