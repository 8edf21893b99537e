"""AHP, adaptive grids and trees of marginals along every kind of edge; and broken ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

from onesided import policy as policies
from onesided._numbers import INFINITE
from onesided.mechanism import Counts
from onesided.mechanism.histograms import AGrid, Ahp, Marginals, UniformGrid, zeros
from onesided.policy import GroupCount, Policy, Record
from onesided.verify._line import Line, losses_of, program, shipped
from onesided.verify._universe import Universe
from onesided.verify.zoo import histograms_more as zoo

_PAIR: Final = Universe(units=2, max_groups=1)
_ONE: Final = Universe(units=1, max_groups=1)
_MAP: Final = Universe(groups=("a", "b", "c", "d"), units=1, max_groups=1)
# Three attributes of two values each; enough cells for the trees to differ.
_CELLS: Final = tuple(f"{cell:03b}" for cell in range(8))
_CUBE: Final = Universe(
    groups=_CELLS,
    units=2,
    values=(
        *(Record("record", frozenset({cell})) for cell in ("000", "011", "110")),
        Record("absent"),
    ),
)
# An open record beside the one that moves, so that not every cell is taken for empty.
_SEEN: Final = Universe(
    units=2,
    values=(
        Record("sensitive", frozenset("a")),
        Record("sensitive", frozenset("b")),
        Record("open", frozenset("a")),
        Record("open", frozenset("b")),
    ),
)
_LEARNT: Final = "of phase 1 only the buckets are seen"


def cases() -> Iterator[Line]:
    """The sound first."""
    for row in _edges():
        yield from _two_phases(*row)
    # Two units at once along every edge that can be met among all of them.
    secret = policies.sensitive("private")
    crowd = Ahp.for_policy(secret, epsilon=14, share="1/2")
    yield _sound(crowd, secret, GroupCount(), _PAIR, epsilon=14)
    yield from _zeroed()
    yield from _marginals()
    yield from _broken_phases()
    yield from _broken_marginals()


def _edges() -> tuple[tuple[Policy, GroupCount, int, int], ...]:
    """Policies, what they count, ε, and units: two-sided noise has far more paths."""
    secret, opened = policies.sensitive("private"), GroupCount(counted=frozenset({"open"}))
    return (
        (policies.bounded(), GroupCount(), 12, 1),
        (policies.unbounded(), GroupCount(), 10, 1),
        (policies.addition_only(), GroupCount(), 8, 2),
        (policies.removal_only(), GroupCount(), 8, 2),
        (secret, opened, 8, 2),
    )


def _two_phases(policy: Policy, query: GroupCount, epsilon: int, units: int) -> Iterator[Line]:
    """Each algorithm on two cells, and the grid on a map of four."""
    asked: dict[str, Any] = {"epsilon": epsilon, "counted": query.counted}
    pair = Universe(units=units, max_groups=1)
    clusters = Ahp.for_policy(policy, share="1/2", **asked)
    yield _sound(clusters, policy, query, pair, epsilon=epsilon)
    grid = AGrid.for_policy(policy, records=1, columns=2, **asked)
    yield _sound(replace(grid, side=1), policy, query, pair, epsilon=epsilon)
    if policy.name != "bounded":  # there the paths are too many for a second
        yield _sound(replace(grid, side=1), policy, query, _MAP, epsilon=epsilon)
    yield _sound(grid, policy, query, pair, epsilon=epsilon)
    even = UniformGrid.for_policy(policy, records=10**6, columns=2, **asked)
    yield _sound(even, policy, query, pair, epsilon=epsilon)


def _sound(
    mechanism: Any, policy: Policy, query: GroupCount, universe: Universe, *, epsilon: int
) -> Line:
    return shipped(
        mechanism,
        policy,
        query,
        universe=universe,
        tail=3e-8,
        unseen=1e-2,
        loose=_LEARNT,
        epsilon=epsilon,
    )


def _zeroed() -> Iterator[Line]:
    """AGridz: the recipe for zeros over a grid, per edge."""
    secret = policies.sensitive("private")
    both = zeros(AGrid, share="1/4").for_policy(secret, epsilon=18, records=1, columns=2)
    one = replace(both, algorithm=replace(cast("AGrid", both.algorithm), side=1))
    yield Line(
        "AGridz",
        secret,
        partial(zoo.zeroed, one),
        one.losses(secret),
        epsilon=18,
        universe=_SEEN,
        tail=1e-7,
        unseen=1e-2,
        loose=_LEARNT,
    )


def _marginals() -> Iterator[Line]:
    """Both phases where there is one pair; then each phase where there are three."""
    for policy, query, epsilon, _ in _edges():
        asked: dict[str, Any] = {"epsilon": epsilon, "counted": query.counted}
        pair = Marginals.for_policy(policy, sizes=(2, 1), **asked)
        only = "there is one tree, so phase 1 tells nothing"
        yield replace(_sound(pair, policy, query, _ONE, epsilon=epsilon), loose=only)
    added = policies.addition_only()
    trio = Marginals.for_policy(added, sizes=(2, 2, 2), epsilon=18, share="2/3")
    for name, run, claim in (
        ("Marginals (the tree)", partial(zoo.tree_of, trio), 12),
        ("Marginals (its tables)", partial(zoo.tables_of, trio), 6),
    ):
        yield program(
            name,
            run,
            added,
            claim,
            universe=_CUBE,
            tail=1e-7,
            unseen=1e-2,
            loose="short of it by what was cut" if claim == 6 else _LEARNT,
        )


def _broken_marginals() -> Iterator[Line]:
    added = policies.addition_only()
    trio = Marginals.for_policy(added, sizes=(2, 2, 2), epsilon=18, share="2/3")
    bare = replace(trio, pairing=Counts(INFINITE, INFINITE))
    once = replace(trio, measuring=Counts(6, INFINITE))
    for run, claim, flaw, seen in (
        (partial(zoo.tree_of, bare), 12, "the tree of the true pairs", "Chow and Liu as it is"),
        (partial(zoo.tables_of, once), 6, "each table at the price of all", "one record, one cell"),
    ):
        yield program(
            "Marginals",
            run,
            added,
            claim,
            universe=_CUBE,
            flaw=flaw,
            seen=seen,
            tail=1e-7,
            unseen=1e-2,
        )


def _broken_phases() -> Iterator[Line]:
    both, free = policies.bounded(), policies.unbounded()
    clusters = Ahp.for_policy(both, epsilon=8, share="1/5")
    levels = Ahp.for_policy(free, epsilon=8, share="1/5")
    grid = replace(AGrid.for_policy(free, epsilon=8, records=1, columns=2), side=1)
    one_way = Ahp(Counts(4, INFINITE), Counts(4, INFINITE))
    raw_grid = zoo.RawGrid(1, grid.learning, grid.measuring, columns=2)
    raw_sums = zoo.RawReconciled(1, grid.learning, grid.measuring, columns=2)
    raw_clusters = zoo.RawClusters(clusters.learning, clusters.measuring)
    mesh, sums, swap = "adaptive meshes", "totals held invariant", "a swap taken for one change"
    for right, wrong, policy, flaw, seen in (
        (clusters, raw_clusters, both, "clusters of the true counts", "sorted before the noise"),
        (grid, raw_grid, free, "fine cells by the true coarse counts", mesh),
        (grid, raw_sums, free, "reconciled with the true coarse counts", sums),
        (levels, _half(levels), free, "half noise in phase 2", swap),
        (grid, _half(grid), free, "half noise in phase 2", swap),
        (one_way, one_way, free, "a symmetrised policy", "noise above the truth only"),
    ):
        claimed = Ahp.for_policy(free, epsilon=8) if right is wrong else right
        yield Line(
            type(right).__name__,
            policy,
            wrong,
            losses_of(claimed, policy, GroupCount()),
            universe=_ONE,
            flaw=flaw,
            seen=seen,
            tail=1e-7,
            unseen=1e-3,
        )


def _half(right: Ahp | AGrid) -> Ahp | AGrid:
    """The same with half the noise in phase 2."""
    rates = right.measuring
    return replace(right, measuring=Counts(2 * rates.upper_rate, 2 * rates.lower_rate))
