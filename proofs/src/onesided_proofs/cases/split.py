"""Split histograms and the open records' shape, per edge; and broken ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from onesided import policy as policies
from onesided.mechanism import Counts
from onesided.mechanism.histograms import OpenShape, SplitHistogram
from onesided.numbers import INFINITE, Loss
from onesided.policy import Edge, GroupCount, Policy, Record
from onesided.verify import Line, Universe, shipped
from onesided_proofs.zoo import split as zoo

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
        (
            partial(zoo.zeros_kept, right=right),
            "sensitive zeros stay zero",
            "the recipe on the wrong part",
        ),
        (
            partial(zoo.clipped_first, right=right),
            "open counts clipped before the noise",
            "by who is near",
        ),
        (
            partial(zoo.noise_above_open, right=right),
            "noise above open counts",
            "the presence policy's side",
        ),
    ):
        yield _broken(right, run, _SENSITIVE, flaw, seen)
    forgot = SplitHistogram(3, 6, open_rate=3)
    yield _broken(
        right,
        zoo.Measured(forgot),
        _SENSITIVE,
        "sensitive counts charged without their rise",
        "a budget for open records only",
    )


def _broken_shapes() -> Iterator[Line]:
    right = OpenShape((2, 2), ((2, 2, 5), (4, 4, 4)), block=2)
    for run, flaw, seen in (
        (
            partial(zoo.raw_partition, right=right),
            "partition from the true open counts",
            "DAWA on open data",
        ),
        (
            partial(zoo.raw_shape, right=right),
            "spread by the true open shape",
            "a public prior that is not",
        ),
        (
            partial(zoo.raw_choice, right=right),
            "rates chosen by the true counts",
            "tuning on the data",
        ),
        (
            partial(zoo.exact_number, right=right),
            "the number of all records as it is",
            '"sensitive keeps their number", but not in the cells',
        ),
        (
            partial(zoo.second_look, right=right),
            "the second look is charged as the rest",
            "refining an answer",
        ),
    ):
        yield _broken(right, run, _SENSITIVE, flaw, seen)


def _sound(mechanism: Any, policy: Policy, world: Universe, **options: Any) -> Line:
    """Everything that is drawn for is checked, not only what is made of it."""
    name = options.pop("name", type(mechanism).__name__)
    program = zoo.TwoParts(zoo.Measured(mechanism), policy, world)
    options.setdefault("tail", 1e-13)
    return Line(name, policy, program, mechanism.losses(policy), universe=world, **options)


def _shape(mechanism: OpenShape, policy: Policy, world: Universe, tail: float = 1e-9) -> Line:
    return _sound(mechanism, policy, world, loose=_PATHS, tail=tail, unseen=1e-3)


def _broken(right: Any, run: zoo.Run, policy: Policy, flaw: str, seen: str) -> Line:
    claims: Mapping[Edge, Loss] = right.losses(policy)
    return Line(
        type(right).__name__,
        policy,
        zoo.TwoParts(run, policy, _TWO),
        claims,
        universe=_TWO,
        flaw=flaw,
        seen=seen,
        tail=1e-8,
        unseen=1e-2,
    )
