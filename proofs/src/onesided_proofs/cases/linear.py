"""Linear queries: every strategy under graphs, neighbourhoods, whole domains; and broken ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onesided import policy as policies
from onesided.linear import (
    Bins,
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
    row_prefix,
    staggered,
    summed_area,
)
from onesided.mechanism import Linear
from onesided.policy import Policy, Record
from onesided.verify import Line, Universe
from onesided_proofs.zoo import linear as zoo

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
            row_prefix((2, 2)),
            summed_area((2, 2)),
            Quadtree((2, 2)),
            kron(Haar(2), Haar(2)),
            grid_blocks((2, 2), 2),
        ):
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
    for wrong, policy, names, flaw, seen in (
        (
            zoo.rows_only((2, 2), 6),
            policies.neighbourhood(radius=1, places=_SQUARE),
            _FOUR,
            "sensitivity over neighbours in a row only",
            "one-dimensional code run on a grid",
        ),
        (zoo.no_sources(3, 6), late, _LINE, "sources forgotten", "bounded code on open data"),
        (zoo.wide_radius(wide, 3, 6), wide, _LINE, "radius read as a diameter", "map widgets"),
        (
            zoo.uneven_tents(2, 6),
            policies.unbounded(),
            _LINE[:2],
            "tents priced by their middle, where cells add up to less",
            "weighted sums scaled to their largest",
        ),
        (zoo.one_way(edges, 6), tree, _LINE, "a tree's moves taken one way", "directed trees"),
        (
            zoo.open_total(policies.unbounded(), 2, 6),
            policies.unbounded(),
            _LINE[:2],
            "the total told though records come and go",
            "code for bounded DP on open data",
        ),
        (
            zoo.leaky_total(policies.graph([("0", "1"), ("1", "2")]), 3, 6),
            policies.graph([("0", "1"), ("1", "2")]),
            ("0", "1", "2"),
            "totals told of cells that a move joins",
            "published district totals",
        ),
    ):
        right = Linear.for_policy(
            policy, strategy=wrong.strategy, workload=wrong.workload, epsilon=6, cells=names
        )
        yield Line(
            "Linear",
            policy,
            wrong,
            right.losses,
            universe=Universe(groups=names, units=1, max_groups=1),
            flaw=flaw,
            seen=seen,
        )


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
        mechanism if whole else zoo.Measured(mechanism),
        mechanism.losses,
        epsilon=_EPSILON,
        universe=Universe(groups=names, units=1, max_groups=1),
        tail=_TAIL,
        unseen=_UNSEEN,
        loose=_FAR,
    )
