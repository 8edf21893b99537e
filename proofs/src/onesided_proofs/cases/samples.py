"""True-record samples and unknown keys along every move; and broken ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Final

from onesided import policy as policies
from onesided.mechanism import RecordSample, UnknownKeys
from onesided.mechanism.kit import samples_for
from onesided.numbers import INFINITE
from onesided.policy import GroupCount, Policy
from onesided.verify import Line, Universe, losses_of, program, shipped
from onesided_proofs.zoo import samples as zoo

_OPEN = GroupCount(max_groups=1, counted=frozenset({"open"}))
_SINGLE = Universe(max_groups=1)
_ROWS = Universe(ordered=True)
_DELTA: Final = Fraction(2, 5)


def cases() -> Iterator[Line]:
    """The sound first."""
    # The sample of each policy's open records, as a histogram of what was kept.
    private = policies.sensitive("private")
    both = private & _tiers()
    for policy, counted in (
        (private, "open"),
        (policies.extended_sensitive("private"), "open"),
        (_tiers(), "open"),
        (policies.removal_only(), "record"),
        (both, "sensitive & open"),
        (both, "open"),
    ):
        mechanism = RecordSample.for_policy(policy, epsilon=1, counted=[counted])
        query = GroupCount(max_groups=1, counted=frozenset({counted}))
        yield shipped(mechanism, policy, query, universe=_SINGLE, epsilon=1)
    aside = policies.custom(kinds=("a", "open"), edges=[("a", "a")], default="a")
    whole = RecordSample.for_policy(aside, epsilon=1)
    yield shipped(whole, aside, _OPEN, universe=_SINGLE, epsilon=1)
    yield from _records()
    yield from _unknown_keys()
    yield from _broken_samples()
    yield from _broken_keys()


def _tiers() -> Policy:
    return policies.tiers({"minor": (1, "minor"), "ill": (2, "ill"), "open": INFINITE})


def _records() -> Iterator[Line]:
    """The rows themselves, in order, several kinds with coins of their own."""
    several = policies.custom(
        kinds=("vip", "staff", "guest"),
        edges=[("vip", "staff", 1), ("vip", "guest", "1/2")],
        default="guest",
    )
    for policy in (
        policies.sensitive("private"),
        policies.extended_sensitive("private"),
        policies.removal_only(),
        _tiers(),
        several,
    ):
        run = partial(zoo.kept_records, samples=samples_for(policy, epsilon=1))
        yield program("RecordSample (rows)", run, policy, 1, universe=_ROWS)


def _unknown_keys() -> Iterator[Line]:
    private, two = policies.sensitive("private"), Universe(groups=("a", "b"), units=2)
    for policy in (private, policies.extended_sensitive("private")):
        for most, threshold in ((1, 0), (2, 0), (1, 1)):
            query = GroupCount(max_groups=most, counted=frozenset({"open"}))
            mechanism = UnknownKeys.for_policy(
                policy, epsilon=2, max_groups=most, counted=["open"], threshold=threshold
            )
            world = Universe(max_groups=1) if most == 1 else two
            yield shipped(mechanism, policy, query, universe=world, epsilon=2)
    removal, once = policies.removal_only(), GroupCount(max_groups=1)
    counts = UnknownKeys.for_policy(removal, epsilon=1, max_groups=1)
    yield shipped(counts, removal, once, universe=_SINGLE, epsilon=1)
    for most in (1, 2):
        sparse = UnknownKeys.for_policy(private, epsilon=2, max_groups=most, counted=["open"])
        run = partial(zoo.found_keys, mechanism=sparse, most=most)
        yield program("UnknownKeys (drawn for keys that occur)", run, private, 2, universe=two)
    for falling, query, epsilon in _FALLING:
        yield _with_delta(falling, query, epsilon)


_TWO = GroupCount(max_groups=2)
_ENOUGH = 3
"""Units by which a key is told for certain, so that rises lose all they may."""
_MET = "δ is met exactly"
_BOUND = "δ bounds what a key that falls and one that rises lose together"
_FALLING: Final[Sequence[tuple[Policy, GroupCount, int]]] = (
    (policies.addition_only(), GroupCount(max_groups=1), 2),
    (policies.addition_only(), _TWO, 4),
    (policies.unbounded(), GroupCount(max_groups=1), 2),
    (policies.unbounded(), _TWO, 5),
    (policies.bounded(), GroupCount(max_groups=1), 4),
    (policies.presence(max_groups=2), GroupCount(), 4),
    (policies.presence(max_groups=1), GroupCount(max_groups=1, truncated=True), 4),
    (policies.sensitive("private"), GroupCount(max_groups=1), 4),
    (policies.proposition("private"), GroupCount(max_groups=1), 4),
    (policies.graph([("a", "b", 2), ("b", "a", 2)]), GroupCount(max_groups=1), 2),
)


def _with_delta(policy: Policy, query: GroupCount, epsilon: int) -> Line:
    """Drawn for keys that occur alone; δ is found again by enumeration of every path."""
    made = UnknownKeys.for_policy(policy, epsilon=epsilon, delta=_DELTA, query=query)
    kinds = query.counted or frozenset(policy.kinds)
    mixed = any(one.rise and one.fall for many in policy.shifts(query).values() for one in many)
    most = query.max_groups if query.truncated else None
    return Line(
        "UnknownKeys (at a δ)",
        policy,
        partial(zoo.found_keys, mechanism=made, most=most, counted=kinds),
        losses_of(made, policy, query),
        query=query,
        universe=Universe(units=_ENOUGH, max_groups=query.max_groups or 2),
        epsilon=epsilon,
        delta=_delta_of(made, policy, query),
        loose=_BOUND if mixed else _MET,
    )


def _delta_of(made: UnknownKeys, policy: Policy, query: GroupCount) -> float:
    return float(max(made.delta(one) for many in policy.shifts(query).values() for one in many))


def _broken_samples() -> Iterator[Line]:
    private = policies.sensitive("private")
    sample = RecordSample.for_policy(private, epsilon=1)
    for flaw, run in zoo.broken_samples(sample):
        yield program("RecordSample", run, private, 1, flaw=flaw, seen="OSDP Algorithm 1, misread")
    yield program(
        "RecordSample",
        partial(zoo.kept_records, samples={"open": RecordSample(INFINITE)}),
        private,
        1,
        flaw="every open record kept",
        seen="access control, and the exclusion attack on it (OSDP section 3.2)",
    )
    yield program(
        "RecordSample",
        partial(zoo.kept_records, samples={"open": RecordSample(2)}),
        _tiers(),
        1,
        flaw="the chance of another edge",
        seen="personalised budgets, of which the least counts",
        universe=Universe(units=1),
    )
    extended = policies.extended_sensitive("private")
    yield program(
        "RecordSample",
        partial(zoo.with_positions, sample=sample),
        extended,
        1,
        flaw="row numbers kept",
        seen="the index of a pandas frame",
        universe=_ROWS,
    )


def _broken_keys() -> Iterator[Line]:
    private = policies.sensitive("private")
    mechanism = UnknownKeys.for_policy(private, epsilon=1, max_groups=1, counted=["open"])
    for flaw, run in zoo.broken_keys(mechanism):
        # Three units in one group each show an order; two in several show a cut.
        world = Universe(units=3, max_groups=1) if "order" in flaw else Universe()
        seen = "lists of codes and n-grams"
        yield program("UnknownKeys", run, private, 1, flaw=flaw, seen=seen, universe=world)
    falls = policies.addition_only()
    yield Line(
        "UnknownKeys",
        falls,
        mechanism,
        {edge: edge.weight for edge in falls.edges},
        query=GroupCount(max_groups=1),
        universe=_SINGLE,
        flaw="a policy under which counts fall",
        seen="histograms published without public keys",
    )
    one, both, share = GroupCount(max_groups=1), policies.unbounded(), "1/10"
    right = UnknownKeys(2, upper_rate=2, key_delta=share)
    for wrong, query, flaw, seen in (
        (right, _TWO, "δ of one key, where a unit has two", "a formula for one partition each"),
        (
            UnknownKeys(INFINITE, upper_rate=2, key_delta=share),
            one,
            "what hides falls alone, where counts rise, too",
            "π(n) = e^ε π(n - 1) + δ taken for the optimum",
        ),
        (
            replace(right, key_delta="1/8"),
            one,
            "keys told from a count too small",
            "a threshold without its last step",
        ),
    ):
        run = partial(zoo.found_keys, mechanism=wrong, most=None, counted=frozenset(both.kinds))
        yield Line(
            "UnknownKeys",
            both,
            run,
            losses_of(right, both, query),
            query=query,
            universe=Universe(units=_ENOUGH, max_groups=query.max_groups or 1),
            flaw=flaw,
            seen=seen,
            delta=_delta_of(right, both, one),
        )
