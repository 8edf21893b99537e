"""Split histograms and the open records' shape, per edge; and broken ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided.mechanism import Counts
from onesided.mechanism.histograms import OpenShape, SplitHistogram
from onesided.mechanism.histograms.kit import Parts
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE
from onesided.policy import GroupCount, Policy, Record
from onesided.verify import Data, Line, Universe, shipped

_SENSITIVE: Final = policies.sensitive("hidden")
_TIERS: Final = policies.tiers({"strict": (1, "strict"), "mild": (2, "mild"), "open": INFINITE})
_PAIR: Final = Universe(units=1, max_groups=1)
_TWO: Final = Universe(units=2, max_groups=1)
_ONE_CELL: Final = Universe(groups=("a",), units=2, max_groups=1)
_PATHS: Final = "an upper bound over what may be chosen"


def cases() -> Iterator[Line]:
    """The sound first."""
    for policy in (_SENSITIVE, policies.extended_sensitive("hidden"), _TIERS):
        mechanism = SplitHistogram.for_policy(policy, epsilon=8)
        yield _sound(mechanism, policy, _PAIR, epsilon=8)
        yield _sound(mechanism, policy, _ONE_CELL, epsilon=8)
    # Above and below apart: every term of the loss is seen.
    yield _sound(SplitHistogram(3, 5, open_rate=4), _SENSITIVE, _PAIR)
    yield from _by_value()
    one = OpenShape((4, 4), ((4, 6, 5),), block=2)
    yield _shape(one, _SENSITIVE, _PAIR, tail=1e-11)
    two = OpenShape((4, 4), ((3, 4, 7), (5, 5, 5)), block=1)
    yield _shape(two, _SENSITIVE, _ONE_CELL)
    yield _shape(two, policies.extended_sensitive("hidden"), _ONE_CELL)
    # Who leaves a cell for no other pays for the number of records what another cell would cost.
    whole = OpenShape((3, 3), ((3, 4, 4),), block=1, records=((7, 6),))
    yield _shape(whole, _SENSITIVE, _ONE_CELL, tail=1e-11)
    # No sensitive record passes as another sensitive one: nothing below the sensitive totals.
    leave = policies.custom(kinds=("sensitive", "open"), edges=[("sensitive", "open")])
    falls = OpenShape((4, INFINITE), ((3, INFINITE, 7), (6, INFINITE, 4)), block=2)
    yield _shape(falls, leave, _PAIR, tail=1e-11)
    yield from _open_counts()
    yield from _broken_splits()
    yield from _broken_shapes()


def _by_value() -> Iterator[Line]:
    """A policy by value: cell a holds sensitive records only, b open ones only, c both."""
    records = tuple(
        Record(kind, frozenset(group))
        for kind, group in (("sensitive", "a"), ("sensitive", "c"), ("open", "b"), ("open", "c"))
    )
    world = Universe(groups=("a", "b", "c"), units=1, values=records)
    mechanism = SplitHistogram.for_policy(
        _SENSITIVE, epsilon=8, holds=("sensitive", "open", "mixed")
    )
    yield _sound(mechanism, _SENSITIVE, world, name="SplitHistogram (hybrid by cells)", epsilon=8)


def _open_counts() -> Iterator[Line]:
    query = GroupCount(counted=frozenset({"open"}))
    mechanism = Counts.for_policy(
        _SENSITIVE, epsilon=3, counted=["open"], correction="median", clip=True
    )
    yield shipped(
        mechanism, _SENSITIVE, query, name="Counts (OSDP Algorithm 2)", universe=_TWO, epsilon=3
    )


def _broken_splits() -> Iterator[Line]:
    right = SplitHistogram.for_policy(_SENSITIVE, epsilon=6)
    for run, flaw, seen in (
        (zeros_kept, "sensitive zeros stay zero", "the recipe on the wrong part"),
        (clipped_first, "open counts clipped before the noise", "by who is near"),
        (noise_above_open, "noise above open counts", "the presence policy's side"),
    ):
        yield _broken(right, partial(run, right=right), flaw, seen)
    forgot = SplitHistogram(3, 6, open_rate=3)
    flaw = "sensitive counts charged without their rise"
    yield _broken(right, Measured(forgot), flaw, "a budget for open records only")


def _broken_shapes() -> Iterator[Line]:
    right = OpenShape((2, 2), ((2, 2, 5), (4, 4, 4)), block=2)
    cells = '"sensitive keeps their number", but not in the cells'
    for run, flaw, seen in (
        (raw_partition, "partition from the true open counts", "DAWA on open data"),
        (raw_shape, "spread by the true open shape", "a public prior that is not"),
        (raw_choice, "rates chosen by the true counts", "tuning on the data"),
        (exact_number, "the number of all records as it is", cells),
        (second_look, "the second look is charged as the rest", "refining an answer"),
    ):
        yield _broken(right, partial(run, right=right), flaw, seen)


def _sound(mechanism: Any, policy: Policy, world: Universe, **options: Any) -> Line:
    """Everything that is drawn for is checked, not only what is made of it."""
    name = options.pop("name", type(mechanism).__name__)
    program = TwoParts(Measured(mechanism), policy, world)
    options.setdefault("tail", 1e-13)
    return Line(name, policy, program, mechanism.losses(policy), universe=world, **options)


def _shape(mechanism: OpenShape, policy: Policy, world: Universe, tail: float = 1e-9) -> Line:
    return _sound(mechanism, policy, world, loose=_PATHS, tail=tail, unseen=1e-3)


def _broken(right: Any, run: Run, flaw: str, seen: str) -> Line:
    program, claims = TwoParts(run, _SENSITIVE, _TWO), right.losses(_SENSITIVE)
    about: dict[str, Any] = {"flaw": flaw, "seen": seen, "tail": 1e-8, "unseen": 1e-2}
    return Line(type(right).__name__, _SENSITIVE, program, claims, universe=_TWO, **about)


Run = Callable[[IntArray, IntArray, Noise], Any]


@dataclass(frozen=True, slots=True)
class TwoParts:
    """A function of both histograms and noise, as a program on records."""

    run: Run
    policy: Policy
    world: Universe = field(default_factory=Universe)

    def __call__(self, data: Data, noise: Noise) -> Any:
        """Count the records of each part, and run."""
        parts = Parts.of(self.policy)
        hidden = self.world.count(data, GroupCount(counted=parts.sensitive))
        free = self.world.count(data, GroupCount(counted=parts.open))
        return self.run(hidden, free, noise)


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that a shipped mechanism draws noise for, not only what is made of it."""

    mechanism: OpenShape | SplitHistogram

    def __call__(self, hidden: IntArray, free: IntArray, noise: Noise) -> Any:
        """Both parts measured."""
        if isinstance(self.mechanism, OpenShape):
            return self.mechanism.measure(hidden, free, noise=noise)
        return self.mechanism.release(hidden, free, noise=noise)


def zeros_kept(hidden: IntArray, free: IntArray, noise: Noise, *, right: SplitHistogram) -> Any:
    """Sensitive counts of 0 get no noise: "no record, nothing to hide"."""
    released = right.release(hidden, free, noise=noise)
    return np.where(hidden == 0, 0, released.sensitive), released.open


def clipped_first(hidden: IntArray, free: IntArray, noise: Noise, *, right: SplitHistogram) -> Any:
    """Open counts are cut to 0 where anybody sensitive is, before the noise."""
    return right.release(hidden, np.where(hidden > 0, 0, free), noise=noise)


def noise_above_open(
    hidden: IntArray, free: IntArray, noise: Noise, *, right: SplitHistogram
) -> Any:
    """Open counts with noise above them, as presence has it: they rise along a move."""
    above = noise.geometric(right.open_rate, free.size)
    first = noise.two_sided(right.upper_rate, right.lower_rate, hidden.size)
    return hidden + first, free + above


def raw_partition(hidden: IntArray, free: IntArray, noise: Noise, *, right: OpenShape) -> Any:
    """The partition is taken where true open counts are: cells with any are measured alone."""
    option = right.options[0]
    lower = free - noise.geometric(option.open, free.size)
    labels = np.arange(free.size) if free.any() else np.zeros(free.size, dtype=np.int64)
    totals = np.bincount(labels, hidden).astype(np.int64)
    return lower, totals + noise.two_sided(option.upper, option.lower, totals.size)


def raw_shape(hidden: IntArray, free: IntArray, noise: Noise, *, right: OpenShape) -> Any:
    """A noisy total of all sensitive records, spread in the shape of the true open counts."""
    option = right.options[0]
    lower = free - noise.geometric(option.open, free.size)
    total = int(hidden.sum()) + int(noise.two_sided(option.upper, option.lower, 1)[0])
    return lower, total * free / max(int(free.sum()), 1)


def raw_choice(hidden: IntArray, free: IntArray, noise: Noise, *, right: OpenShape) -> Any:
    """The rates are chosen by the true number of sensitive records, and told."""
    number = int(hidden.sum() > 0)
    option = right.options[number]
    lower = free - noise.geometric(option.open, free.size)
    totals = hidden + noise.two_sided(option.upper, option.lower, hidden.size)
    return number, lower, totals


def second_look(hidden: IntArray, free: IntArray, noise: Noise, *, right: OpenShape) -> Any:
    """The second look at open counts has the whole open rate, not what is left of it."""
    option = right.options[0]
    first = free - noise.geometric(right.look.open, free.size)
    second = free - noise.geometric(option.open, free.size)
    totals = hidden + noise.two_sided(option.upper, option.lower, hidden.size)
    return np.maximum(first, second), totals


def exact_number(hidden: IntArray, free: IntArray, noise: Noise, *, right: OpenShape) -> Any:
    """The number of all records is told: none is added or removed, but some are in no cell."""
    option = right.options[0]
    lower = free - noise.geometric(option.open, free.size)
    totals = hidden + noise.two_sided(option.upper, option.lower, hidden.size)
    return int(hidden.sum()) + int(free.sum()), lower, totals
