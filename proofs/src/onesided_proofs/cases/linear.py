"""Linear queries: every strategy under graphs, neighbourhoods, whole domains; and broken ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from onesided import policy as policies
from onesided.linear import (
    Bins,
    Dense,
    EdgeCounts,
    Grid,
    Haar,
    Hierarchy,
    Identity,
    Operator,
    Prefix,
    Quadtree,
    Stack,
    Suffix,
    Tents,
    all_ranges,
    block_prefix,
    edge_counts,
    grid_blocks,
    kron,
    moves_of,
    row_prefix,
    sensitivity,
    staggered,
    strategy_shifts,
    summed_area,
)
from onesided.linear.kit import Totals
from onesided.mechanism import Linear
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE, Loss
from onesided.policy import Graph, Neighbourhood, Policy, Record, Shift
from onesided.verify import Line, Universe

_LINE = ("a", "b", "c")
_FOUR = ("a", "b", "c", "d")
_SQUARE = {"a": (0, 0), "b": (0, 1), "c": (1, 0), "d": (1, 1)}
_EPSILON = 12
_TAIL = 1e-11
_UNSEEN = 2e-4
_FAR = "reached as answers go far out"


def cases() -> Iterator[Line]:
    """The sound first."""
    for strategy in (Identity(3), Prefix(3), Suffix(3), block_prefix(3, 2), Hierarchy(3, 3)):
        for policy in _line():
            yield _case(strategy, policy, _LINE)
    pair = policies.graph([("a", "b"), ("absent", "b")])
    yield _case(Stack([Identity(2), Bins(2, 2)], [2, 1]), pair, ("a", "b"))
    yield _case(staggered(2), pair, ("a", "b"))
    yield _case(Tents(2), pair, ("a", "b"))
    places = {name: (k,) for k, name in enumerate(_FOUR)}
    for radius in (1, 2):
        policy = policies.neighbourhood(radius=radius, places=places)
        yield _case(Haar(4), policy, _FOUR)
        yield _case(Prefix(4), policy, _FOUR)
    yield from _on_a_square()
    yield from _on_trees()
    yield from _whole_domain()
    yield from _broken()


def _line() -> tuple[Policy, ...]:
    places = {name: (k,) for k, name in enumerate(_LINE)}
    return (
        policies.graph([("a", "b"), ("b", "c", 2)]),
        policies.graph([("a", "b"), ("c", "b"), ("absent", "a")], directed=True),
        policies.neighbourhood(radius=1, places=places, sources=[(-1,)]),
    )


def _on_a_square() -> Iterator[Line]:
    for radius in (1, "1.5"):
        policy = policies.neighbourhood(radius=radius, places=_SQUARE)
        for strategy in (
            row_prefix((2, 2)), summed_area((2, 2)), Quadtree((2, 2)), kron(Haar(2), Haar(2)),
            grid_blocks((2, 2), 2),
        ):  # fmt: skip
            yield _case(strategy, policy, _FOUR)


def _on_trees() -> Iterator[Line]:
    both = [("a", "b"), ("b", "c"), ("b", "d")]
    away = [("b", "a"), ("c", "b"), ("absent", "c")]
    for policy, names in (
        (policies.graph(both), _FOUR),
        (policies.graph(both, directed=True), _FOUR),
        (policies.graph(away, directed=True), _LINE),
        (policies.graph([*away, ("c", "absent")], directed=True), _LINE),
    ):
        yield _case(edge_counts(policy, names), policy, names)


def _whole_domain() -> Iterator[Line]:
    for policy in (policies.bounded(), policies.unbounded(), policies.addition_only()):
        for strategy in (Identity(2), Prefix(2), Hierarchy(2), Haar(2), Tents(2)):
            yield _case(strategy, policy, ("a", "b"), whole=True)
    # Every record in one cell: the total is public, and told.
    inside = tuple(Record("record", frozenset({name})) for name in _LINE)
    for strategy in (Identity(3), Hierarchy(3, 3)):
        yield replace(
            _case(strategy, policies.bounded(), _LINE, whole=True, partition=True),
            name=f"Linear ({type(strategy).__name__}), public total",
            universe=Universe(groups=_LINE, units=1, values=inside),
        )


def _broken() -> Iterator[Line]:
    line = {name: (k,) for k, name in enumerate(_LINE)}
    late = policies.neighbourhood(radius=1, places=line, sources=[(3,)])
    wide = policies.neighbourhood(radius=2, places=line)
    tree = policies.graph([("a", "b"), ("b", "c")])
    edges = edge_counts(tree, _LINE)
    square = policies.neighbourhood(radius=1, places=_SQUARE)
    joined, moving = policies.graph([("0", "1"), ("1", "2")]), policies.unbounded()
    pair, digits, heads = _LINE[:2], ("0", "1", "2"), "code for bounded DP on open data"
    along = "sensitivity over neighbours in a row only"
    slope = "tents priced by their middle, where cells add up to less"
    scaled = "weighted sums scaled to their largest"
    told = "the total told though records come and go"
    cells, printed = "totals told of cells that a move joins", "published district totals"
    for wrong, policy, names, flaw, seen in (
        (rows_only((2, 2), 6), square, _FOUR, along, "one-dimensional code run on a grid"),
        (no_sources(3, 6), late, _LINE, "sources forgotten", "bounded code on open data"),
        (wide_radius(wide, 3, 6), wide, _LINE, "radius read as a diameter", "map widgets"),
        (uneven_tents(2, 6), moving, pair, slope, scaled),
        (one_way(edges, 6), tree, _LINE, "a tree's moves taken one way", "directed trees"),
        (open_total(moving, 2, 6), moving, pair, told, heads),
        (leaky_total(joined, 3, 6), joined, digits, cells, printed),
    ):
        right = Linear.for_policy(
            policy, strategy=wrong.strategy, workload=wrong.workload, epsilon=6, cells=names
        )
        world = Universe(groups=names, units=1, max_groups=1)
        yield Line("Linear", policy, wrong, right.losses, universe=world, flaw=flaw, seen=seen)


def _case(
    strategy: Operator,
    policy: Policy,
    names: tuple[str, ...],
    *,
    whole: bool = False,
    partition: bool = False,
) -> Line:
    """One unit moves: others only shift all answers by whole numbers, noise and all.

    whole: run least squares too; otherwise what it is computed from.
    """
    cells = strategy.shape[1]
    mechanism = Linear.for_policy(
        policy,
        strategy=strategy,
        workload=all_ranges(cells),
        epsilon=_EPSILON,
        cells=names,
        partition=partition,
    )
    return Line(
        f"Linear ({type(strategy).__name__})",
        policy,
        mechanism if whole else Measured(mechanism),
        mechanism.losses,
        epsilon=_EPSILON,
        universe=Universe(groups=names, units=1, max_groups=1),
        tail=_TAIL,
        unseen=_UNSEEN,
        loose=_FAR,
    )


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
