"""Linear queries whose noise is wrong in one way each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from onesided import policy as policies
from onesided.linear import (
    Dense,
    EdgeCounts,
    Grid,
    Identity,
    Prefix,
    Stack,
    Suffix,
    Tents,
    moves_of,
    row_prefix,
    sensitivity,
    strategy_shifts,
)
from onesided.linear.kit import Totals
from onesided.mechanism import Linear
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE, Loss
from onesided.policy import Graph, Neighbourhood, Policy, Shift


@dataclass(frozen=True, slots=True)
class Measured:
    """Right: the noisy answers of a strategy, from which all else follows."""

    mechanism: Linear

    def release(self, values: IntArray, *, noise: Noise) -> tuple[IntArray, IntArray | None]:
        """What the mechanism measures, and the totals that it tells as they are."""
        return self.mechanism.noisy(values, noise=noise), self.mechanism.totals(values)

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
    made = Linear.for_policy(
        still, strategy=Suffix(n), workload=Suffix(n), epsilon=epsilon, cells=Grid(n)
    )
    return replace(made, public=None)


def wide_radius(policy: Neighbourhood, n: int, epsilon: int) -> Linear:
    """A radius of r is read as a disc r across, half as far as it reaches."""
    narrow = policies.neighbourhood(radius=policy.radius / 2, sources=policy.sources)
    return Linear.for_policy(
        narrow, strategy=Suffix(n), workload=Suffix(n), epsilon=epsilon, cells=Grid(n)
    )


def one_way(tree: EdgeCounts, epsilon: int) -> Linear:
    """Noise above the truth alone, on a tree whose moves go up and down."""
    return Linear(tree, tree, epsilon, INFINITE)


def uneven_tents(n: int, epsilon: int) -> Linear:
    """A tent that is higher at its first cell, whose own weight stays: priced by the last cell."""
    rows = Tents(n, 1).dense()
    rows[-1, 0] += 2
    rate = Fraction(epsilon, int(rows[:, -1].sum()))
    return Linear(Dense(rows), Identity(n), rate, rate)


def open_total(policy: Policy, n: int, epsilon: int) -> Linear:
    """The total of all cells is told, though records come and go."""
    priced = Linear.for_policy(policy, workload=Identity(n), epsilon=epsilon, strategy=Identity(n))
    return replace(priced, public=Totals([0] * n))


def leaky_total(policy: Graph, n: int, epsilon: int) -> Linear:
    """Two totals are told, of cells that one of the policy's moves joins."""
    return replace(
        Linear.for_policy(
            policy, workload=Identity(n), epsilon=epsilon, strategy=Identity(n), cells=Grid(n)
        ),
        public=Totals([0, *[1] * (n - 1)]),
    )


def counted_twice(table: Linear) -> Linear:
    """What is measured is measured twice, at the price of once."""
    return replace(table, strategy=Stack([table.strategy, table.strategy]))


def free_total(table: Linear, n: int) -> Linear:
    """The total of all cells is told beside them, and was never charged."""
    return replace(table, public=Totals([0] * n))
