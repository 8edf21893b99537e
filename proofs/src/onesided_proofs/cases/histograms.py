"""DAWA, hierarchies, zero sets, AHP, adaptive grids; and broken ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from onesided import policy as policies
from onesided.linear.kit import consistent, tree_sums
from onesided.mechanism import Counts
from onesided.mechanism.histograms import (
    AGrid,
    Ahp,
    Dawa,
    Hierarchical,
    Look,
    Partition,
    TwoPhase,
    UniformGrid,
    Zeroed,
    zeros,
)
from onesided.mechanism.histograms.kit import (
    GridPartition,
    Prices,
    cheapest,
    coarse_cells,
    deviations,
    least,
    refine,
)
from onesided.noise import BoolArray, IntArray, Noise
from onesided.numbers import INFINITE, Loss
from onesided.policy import ABSENT, Edge, GroupCount, Policy, Record, Shift
from onesided.verify import Data, Line, Universe, losses_of, program, shipped
from onesided_proofs._worlds import Wrong

_TWO = Universe(groups=("a", "b"), units=1, max_groups=1)
_FOUR = Universe(groups=("a", "b", "c", "d"), units=1, max_groups=1)
# Moving a record from the first cell to the third spoils both halves and helps the whole.
_TENSE = (5, 6, 2, 1)
# An error of measuring that makes buckets dear, so that the noise of phase 1 decides.
_DEAR = "1/3"
_ALL = GroupCount(max_groups=1)
_PRICES = "reached as buckets become dearer"
_PHASES = "each phase is reached by data of its own"


def cases() -> Iterator[Line]:
    """The sound first."""
    learner = Dawa(8, upper_rate=_DEAR, lower_rate=_DEAR)
    for policy in _policies()[:4]:
        learning = Learning(learner, _TENSE)
        yield _partial(learning, policy, "Dawa (phase 1)", _FOUR, loose=_PRICES, tail=1e-9)
    yield from _whole()
    yield from _looks()
    yield from _trees()
    yield from _zeros()
    yield from _broken_partitions()
    yield from _broken_zeros()
    # Two phases and trees that are learnt; the sound first.
    for row in _edges():
        yield from _two_phases(*row)
    # Two units at once along every edge that can be met among all of them.
    secret = policies.sensitive("private")
    crowd = Ahp.for_policy(secret, epsilon=14, share="1/2")
    yield _sound(crowd, secret, GroupCount(), _PAIR, epsilon=14)
    yield from _zeroed()
    yield from _broken_phases()


def _one_way() -> tuple[Policy, Policy]:
    return policies.addition_only(), policies.removal_only()


def _policies() -> tuple[Policy, ...]:
    both = policies.bounded(), policies.unbounded()
    return (*both, *_one_way(), policies.sensitive("minor"))


def _partial(made: Any, policy: Policy, name: str, world: Universe, **more: Any) -> Line:
    """Paths that are seldom taken are cut off."""
    about = {"universe": world, "loose": _PHASES, "tail": 1e-8, "unseen": 1e-3, **more}
    return shipped(made, policy, _ALL, name=name, **about)


def _dawa(policy: Policy, name: str, **options: Any) -> Line:
    about = {"tail": 1e-9} if name == "Dawa (ranges)" else {}
    made = Dawa.for_policy(policy, epsilon=18, **options)
    return _partial(made, policy, name, _TWO, epsilon=18, **about)


def _whole() -> Iterator[Line]:
    for policy in _policies()[1:]:
        yield _dawa(policy, "Dawa", look_share=None)
    for policy in _one_way():
        yield _dawa(policy, "Dawa (ranges)", look_share=None, workload="ranges")


def _looks() -> Iterator[Line]:
    far: dict[str, Any] = {"loose": "reached far from where the decision turns", "tail": 1e-9}
    for policy in _policies()[:4]:
        yield _partial(Looking(_looking(), _TENSE), policy, "Dawa (look)", _FOUR, **far)
    for policy in _one_way():
        yield _dawa(policy, "Dawa (look and all)", look_share="1/3")
    for policy in _one_way():
        yield _dawa(policy, "Dawa (look, ranges)", look_share="1/3", workload="ranges")


def _looking() -> Dawa:
    """Its decision turns near the counts of ``_TENSE``."""
    return Dawa(8, upper_rate=1, lower_rate=1, look=Look(2, upper_rate="3/4", lower_rate="3/4"))


def _trees() -> Iterator[Line]:
    three = Universe(groups=("a", "b", "c"), units=1, max_groups=1)
    # So few cells need no tree: shares are given, so that every level has noise.
    two, more = ("1/2", "1/2"), ("1/2", "1/4", "1/4")
    for policy, world, shares in (
        (policies.bounded(), _TWO, two),
        (policies.unbounded(), _TWO, two),
        (policies.addition_only(), three, more),
        (policies.removal_only(), _TWO, two),
        (policies.sensitive("minor"), _TWO, two),
    ):
        made = Hierarchical.for_policy(policy, epsilon=16, branching=2, shares=shares)
        tail = 1e-9 if policy.name in ("bounded", "sensitive") else 1e-11
        loose = "answers of one level hide in those of another"
        yield _partial(made, policy, "", world, epsilon=16, loose=loose, tail=tail)


def _zeros() -> Iterator[Line]:
    some, more = policies.sensitive("minor"), policies.extended_sensitive("minor")
    dawa, tree = zeros(Dawa, share="1/6"), zeros(Hierarchical, share="1/6")
    fit: Any = {"learn_share": "3/5", "look_share": None}
    for name, policy, mechanism, epsilon, tail in (
        ("DAWAz", some, dawa.for_policy(some, epsilon=21, **fit), 21, 1e-7),
        ("DAWAz", more, dawa.for_policy(more, epsilon=20, **fit), 20, 1e-8),
        ("Hierarchical, zeros", more, tree.for_policy(more, epsilon=15, branching=2), 15, 1e-9),
    ):
        yield _with_open(
            name,
            Released(mechanism),
            mechanism.losses(policy),
            policy,
            epsilon=epsilon,
            known=(1, 1),
            loose=_PHASES,
            universe=Universe(groups=("a", "b"), units=1, values=_records(policy)),
            tail=tail,
        )


def _records(policy: Policy) -> tuple[Record, ...]:
    """One record of each kind in each place, and the absent one."""
    return tuple(
        Record(kind, frozenset(place) if kind != ABSENT else frozenset())
        for kind in policy.kinds
        for place in ("a" if kind == ABSENT else "ab")
    )


def _broken_partitions() -> Iterator[Line]:
    right = Dawa(8, upper_rate=_DEAR, lower_rate=_DEAR)
    silent = Dawa(INFINITE, upper_rate=_DEAR, lower_rate=_DEAR)
    hasty = Dawa(16, upper_rate=_DEAR, lower_rate=_DEAR)
    flat = (0, 0, 0, 0)
    half = Learning(hasty, (5, 6, 0, 0))
    clipped = WrongLearning(partial(quiet_cells, rate=2, price=1), flat)
    units = WrongLearning(partial(look_in_units, rate=2), _TENSE)
    ties = WrongLearning(partial(ties_by_deviation, right=right), flat)
    dpbench = "DAWA as distributed with DPBench"
    look = "the noise of a look counts units of price for counts"
    for wrong, claim, flaw, seen in (
        (Learning(silent, _TENSE), 8, "partition learnt without noise", "plain histograms"),
        (half, 8, "only the bucket's own cost is thought to move", "noisy costs, half read"),
        (clipped, 2, "cells without noise, costs clipped at 0", dpbench),
        (units, 2, look, "sensitivities in another unit"),
        (ties, 8, "equal prices decided by true deviations", "sorts of sorted data"),
    ):
        yield _added("Dawa (phase 1)", wrong, claim, flaw, seen, universe=_FOUR)
    every = Wrong(partial(whole_rate_per_level, rate=4))
    yield _added("Hierarchical", every, 4, "every level at the whole rate", "trees", universe=_TWO)


def _added(name: str, wrong: Any, claim: int, flaw: str, seen: str, *, universe: Universe) -> Line:
    """A broken one under addition only, where a record that is added costs ``claim``."""
    about: dict[str, Any] = {"query": _ALL, "universe": universe, "tail": 1e-9}
    return program(name, wrong, policies.addition_only(), claim, flaw=flaw, seen=seen, **about)


def _broken_zeros() -> Iterator[Line]:
    policy = policies.sensitive("minor")
    right = Zeroed(Dawa(INFINITE, upper_rate=INFINITE, lower_rate=INFINITE), open_rate=3)
    claims: dict[Edge, Loss] = {
        edge: right.open_rate * (edge.target == "open") for edge in policy.edges
    }
    two = Universe(groups=("a", "b"), units=2, max_groups=1)
    small, certain = (partial(run, right=right) for run in (small_counts_dropped, certain_zeros))
    for run, flaw, seen in (
        (raw_zeros, "zero cells taken from the raw open counts", "open means public"),
        (small, "open counts clipped before noise", "small-cell suppression"),
        (certain, "noise above open counts that rise", "a symmetrised policy"),
    ):
        yield _with_open("Zeroed", run, claims, policy, flaw=flaw, seen=seen, universe=two)


def _with_open(
    name: str,
    run: Any,
    claims: Mapping[Edge, Loss],
    policy: Policy,
    *,
    known: tuple[int, ...] = (0, 0),
    tail: float = 1e-8,
    **options: Any,
) -> Line:
    publish = WithOpen(run, options["universe"], known)
    return Line(name, policy, publish, claims, tail=tail, unseen=1e-3, **options)


_PAIR: Final = Universe(units=2, max_groups=1)
_ONE: Final = Universe(units=1, max_groups=1)
_MAP: Final = Universe(groups=("a", "b", "c", "d"), units=1, max_groups=1)
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
_CUT: Final[dict[str, Any]] = {"tail": 3e-8, "unseen": 1e-2}
_LEARNT: Final = "of phase 1 only the buckets are seen"


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
    about: dict[str, Any] = {"universe": universe, "epsilon": epsilon, **_CUT}
    return shipped(mechanism, policy, query, loose=_LEARNT, **about)


def _zeroed() -> Iterator[Line]:
    """AGridz: the recipe for zeros over a grid, per edge."""
    secret = policies.sensitive("private")
    both = zeros(AGrid, share="1/4").for_policy(secret, epsilon=18, records=1, columns=2)
    one = replace(both, algorithm=replace(cast("AGrid", both.algorithm), side=1))
    about: dict[str, Any] = {"universe": _SEEN, "loose": _LEARNT, **_CUT, "tail": 1e-7}
    yield Line("AGridz", secret, partial(zeroed, one), one.losses(secret), epsilon=18, **about)


def _broken_phases() -> Iterator[Line]:
    both, free = policies.bounded(), policies.unbounded()
    clusters = Ahp.for_policy(both, epsilon=8, share="1/5")
    levels = Ahp.for_policy(free, epsilon=8, share="1/5")
    grid = replace(AGrid.for_policy(free, epsilon=8, records=1, columns=2), side=1)
    one_way = Ahp(Counts(4, INFINITE), Counts(4, INFINITE))
    raw_grid = RawGrid(1, grid.learning, grid.measuring, columns=2)
    raw_sums = RawReconciled(1, grid.learning, grid.measuring, columns=2)
    raw_clusters = RawClusters(clusters.learning, clusters.measuring)
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


_OPEN = GroupCount(counted=frozenset({"open"}))


@dataclass(frozen=True, slots=True)
class Learning:
    """Right: the first phase on its own, on the data's counts above some that everyone knows."""

    algorithm: TwoPhase
    known: tuple[int, ...]

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """The bucket of each cell."""
        return self.algorithm.learn(values + self.known, noise=noise).labels

    def loss(self, shift: Shift) -> Loss:
        """The algorithm's own for its first phase."""
        return self.algorithm.learn_loss(shift)


@dataclass(frozen=True, slots=True)
class Looking:
    """Right: the decision of a look on its own, on the data's counts above some that are known."""

    algorithm: Dawa
    known: tuple[int, ...]

    def release(self, values: IntArray, *, noise: Noise) -> bool:
        """Whether neighbours seem alike."""
        return self.algorithm.alike(values + self.known, noise=noise)

    def loss(self, shift: Shift) -> Loss:
        """The look's own."""
        asked = self.algorithm.look
        return INFINITE if asked is None else asked.ask_rate * (shift.rise + shift.fall)


@dataclass(frozen=True, slots=True)
class WithOpen:
    """A program on records: counts of all and of the open ones, and what ``run`` makes of them.

    known: open records that are in every data set.
    """

    run: Callable[[IntArray, IntArray, Noise], Any]
    world: Universe
    known: tuple[int, ...]

    def __call__(self, data: Data, noise: Noise) -> Any:
        """What it publishes."""
        counts = self.world.count(data, _ALL) + self.known
        return self.run(counts, self.world.count(data, _OPEN) + self.known, noise)


@dataclass(frozen=True, slots=True)
class Released:
    """Right: the recipe as shipped, as a function of both histograms."""

    mechanism: Zeroed

    def __call__(self, counts: IntArray, opened: IntArray, noise: Noise) -> Any:
        """Its estimates."""
        return self.mechanism.release(counts, opened, noise=noise)


@dataclass(frozen=True, slots=True)
class WrongLearning:
    """A first phase that is wrong, in the shape of a mechanism; it states no loss."""

    run: Callable[[IntArray, Noise], BoolArray]
    known: tuple[int, ...]

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """The bucket of each cell."""
        return np.cumsum(self.run(values + self.known, noise)) - 1


def quiet_cells(counts: IntArray, noise: Noise, *, rate: int, price: int) -> BoolArray:
    """Cells as buckets cost their price and have no noise; other costs are clipped at 0."""
    noisy = (
        np.maximum(cost + noise.two_sided(rate, rate, cost.size), 0) for cost in deviations(counts)
    )
    return cheapest(np.zeros_like(counts), noisy, Prices(1, price, price))


def look_in_units(counts: IntArray, noise: Noise, *, rate: int) -> BoolArray:
    """A count moves the least price by 20 units, and its noise is as if that were 1."""
    price = least(counts.size, deviations(counts), Prices(20, 16, 16))
    alike = price + int(noise.two_sided(rate, rate, 1)[0]) < 58
    return np.array([True, *[alike] * (counts.size - 1)])


def ties_by_deviation(counts: IntArray, noise: Noise, *, right: Dawa) -> BoolArray:
    """Right noise, but the true deviation, not a rule, says which of two equal prices wins."""
    costs = list(deviations(counts))
    half = right.learn_rate * Fraction(1, 2)
    cells = -2 * noise.geometric(right.learn_rate, counts.size)
    noisy = [2 * (cost - noise.geometric(half, cost.size)) + np.minimum(cost, 1) for cost in costs]
    return cheapest(cells, noisy, Prices(1, 2, 2))


def whole_rate_per_level(counts: IntArray, noise: Noise, *, rate: int) -> Any:
    """A tree whose every level is measured as if it were the only one."""
    levels = [
        (sums + noise.two_sided(rate, rate, sums.size)).astype(np.float64)
        for sums in tree_sums(counts, 2)
    ]
    return consistent(levels, [1.0] * len(levels), 2)


def raw_zeros(_counts: IntArray, opened: IntArray, _noise: Noise) -> Any:
    """Cells without an open record are shown as such."""
    return opened == 0


def small_counts_dropped(
    _counts: IntArray, opened: IntArray, noise: Noise, *, right: Zeroed
) -> Any:
    """Open counts below 2 are clipped to 0 before noise: one record may move them by 2."""
    return right.empty(np.where(opened < 2, 0, opened), noise=noise)


def certain_zeros(_counts: IntArray, opened: IntArray, noise: Noise, *, right: Zeroed) -> Any:
    """Noise on both sides, so that an empty cell may show a count; zeros are taken at 0 exactly."""
    return opened + noise.two_sided(right.open_rate, INFINITE, opened.size) == 0


class RawClusters(Ahp):
    """AHP whose clusters come from the true counts: no noise in phase 1."""

    def learn(self, counts: IntArray, *, noise: Noise) -> Partition:  # noqa: ARG002 - the flaw
        """The clusters of the true counts."""
        return Partition(self.group(counts))


class RawGrid(AGrid):
    """AGrid whose fine cells follow the true coarse counts."""

    def learn(self, counts: IntArray, *, noise: Noise) -> GridPartition:
        """Noisy coarse counts beside a partition that was learnt without noise."""
        shape = (counts.size // (self.columns or 1), self.columns or 1)
        cells = coarse_cells(shape, self.side).ravel()
        true = Partition(cells).totals(counts)
        coarse = self.learning.noisy(true, noise=noise).astype(np.float64)
        labels, parents = refine(shape, self.side, self.parts(true.astype(np.float64)))
        return GridPartition(labels.ravel(), coarse, parents)


class RawReconciled(AGrid):
    """AGrid that makes its fine counts add up to the true coarse ones."""

    def measure(
        self, counts: IntArray, partition: Partition, *, noise: Noise
    ) -> NDArray[np.float64]:
        """Reconciled with what phase 1 did not publish."""
        shape = (counts.size // (self.columns or 1), self.columns or 1)
        cells = coarse_cells(shape, self.side).ravel()
        true = Partition(cells).totals(counts).astype(np.float64)
        parents = partition.parents if isinstance(partition, GridPartition) else cells
        told = GridPartition(partition.labels, true, parents)
        return AGrid.measure(self, counts, told, noise=noise)


def _value(record: Record) -> frozenset[str]:
    return record.value if isinstance(record.value, frozenset) else frozenset()


def zeroed(mechanism: Zeroed, data: Data, noise: Noise) -> NDArray[np.float64]:
    """Right: all records and the open ones, as the recipe takes them."""
    both = (data, tuple(record for record in data if record.kind == "open"))
    counts, opened = (
        np.array([sum(group in _value(r) for r in part) for group in ("a", "b")], dtype=np.int64)
        for part in both
    )
    return mechanism.release(counts, opened, noise=noise)
