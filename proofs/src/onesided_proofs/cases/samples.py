"""True-record samples and unknown keys along every move; and broken ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided.mechanism import RecordSample, UnknownKeys
from onesided.mechanism.kit import samples_for
from onesided.noise import Noise
from onesided.numbers import INFINITE
from onesided.policy import GroupCount, Policy, Record
from onesided.verify import Data, Line, Universe, losses_of, program, shipped

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
        run = partial(kept_records, samples=samples_for(policy, epsilon=1))
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
        run = partial(found_keys, mechanism=sparse, most=most)
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
        partial(found_keys, mechanism=made, most=most, counted=kinds),
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
    for flaw, run in broken_samples(sample):
        yield program("RecordSample", run, private, 1, flaw=flaw, seen="OSDP Algorithm 1, misread")
    whole, double = (
        partial(kept_records, samples={"open": RecordSample(rate)}) for rate in (INFINITE, 2)
    )
    seen = "access control, and the exclusion attack on it (OSDP section 3.2)"
    yield _flawed(whole, private, "every open record kept", seen, Universe())
    seen = "personalised budgets, of which the least counts"
    yield _flawed(double, _tiers(), "the chance of another edge", seen, Universe(units=1))
    extended = policies.extended_sensitive("private")
    placed = partial(with_positions, sample=sample)
    yield _flawed(placed, extended, "row numbers kept", "the index of a pandas frame", _ROWS)


def _flawed(run: Any, policy: Policy, flaw: str, seen: str, world: Universe) -> Line:
    return program("RecordSample", run, policy, 1, universe=world, flaw=flaw, seen=seen)


def _broken_keys() -> Iterator[Line]:
    private = policies.sensitive("private")
    mechanism = UnknownKeys.for_policy(private, epsilon=1, max_groups=1, counted=["open"])
    for flaw, run in broken_keys(mechanism):
        # Three units in one group each show an order; two in several show a cut.
        world = Universe(units=3, max_groups=1) if "order" in flaw else Universe()
        seen = "lists of codes and n-grams"
        yield program("UnknownKeys", run, private, 1, flaw=flaw, seen=seen, universe=world)
    falls = policies.addition_only()
    about: dict[str, Any] = {"query": GroupCount(max_groups=1), "universe": _SINGLE}
    flaw, seen = "a policy under which counts fall", "histograms published without public keys"
    claims: dict[Any, Any] = {edge: edge.weight for edge in falls.edges}
    yield Line("UnknownKeys", falls, mechanism, claims, flaw=flaw, seen=seen, **about)
    one, both, share = GroupCount(max_groups=1), policies.unbounded(), "1/10"
    right = UnknownKeys(2, upper_rate=2, key_delta=share)
    falling = UnknownKeys(INFINITE, upper_rate=2, key_delta=share)
    early = replace(right, key_delta="1/8")
    optimum = "π(n) = e^ε π(n - 1) + δ taken for the optimum"
    for wrong, query, flaw, seen in (
        (right, _TWO, "δ of one key, where a unit has two", "a formula for one partition each"),
        (falling, one, "what hides falls alone, where counts rise, too", optimum),
        (early, one, "keys told from a count too small", "a threshold without its last step"),
    ):
        run = partial(found_keys, mechanism=wrong, most=None, counted=frozenset(both.kinds))
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


Rows = tuple[tuple[Any, ...], ...]
OPEN = "open"


def kept_records(data: Data, noise: Noise, *, samples: Mapping[str, RecordSample]) -> Rows:
    """Right: each record of an open kind by its own coin, in the order of the data."""
    kept: list[tuple[Any, ...]] = []
    for record in data:
        sample = samples.get(record.kind)
        if sample is not None and sample.choose(1, noise=noise)[0]:
            kept.append(row(record))
    return tuple(kept)


def per_row(data: Data, noise: Noise, *, sample: RecordSample) -> Rows:
    """Each row of an open unit has a coin, where the unit should have one."""
    rows = [(group, at) for at, r in enumerate(data) if r.kind == OPEN for group in groups(r)]
    coins = sample.choose(len(rows), noise=noise)
    return tuple(sorted((group,) for (group, _), coin in zip(rows, coins, strict=True) if coin))


def own_rows(data: Data, noise: Noise, *, sample: RecordSample) -> Rows:
    """Of a sensitive unit, the rows that are not themselves sensitive (not in "a") are kept."""
    parts = [sorted(set(groups(r)) - ({"a"} if r.kind != OPEN else set())) for r in data]
    coins = sample.choose(len(parts), noise=noise)
    return tuple(tuple(part) for part, coin in zip(parts, coins, strict=True) if coin and part)


def few_sensitive(data: Data, noise: Noise, *, sample: RecordSample) -> Rows:
    """Sensitive records slip through, one in a hundred."""
    kept = []
    for record in data:
        through = record.kind != OPEN and noise.bernoulli(Fraction(1, 100), 1)[0]
        if through or (record.kind == OPEN and sample.choose(1, noise=noise)[0]):
            kept.append(row(record))
    return tuple(sorted(kept))


def one_coin(data: Data, noise: Noise, *, sample: RecordSample) -> Rows:
    """All open records or none."""
    coin = sample.choose(1, noise=noise)[0]
    return tuple(row(record) for record in data if coin and record.kind == OPEN)


def whole_if_open(data: Data, noise: Noise, *, sample: RecordSample) -> Rows:
    """Where nobody is sensitive there is nothing to hide, so everything is published."""
    rate = sample if any(record.kind != OPEN for record in data) else RecordSample(INFINITE)
    return kept_records(data, noise, samples={OPEN: rate})


def with_positions(data: Data, noise: Noise, *, sample: RecordSample) -> Rows:
    """Kept records carry their row number, absent ones have none: a data frame's own index."""
    present = [record for record in data if record.kind != "absent"]
    rows = [(number, row(r)) for number, r in enumerate(present) if r.kind == OPEN]
    coins = sample.choose(len(rows), noise=noise)
    return tuple(found for found, coin in zip(rows, coins, strict=True) if coin)


def found_keys(
    data: Data,
    noise: Noise,
    *,
    mechanism: UnknownKeys,
    most: int | None = 1,
    counted: AbstractSet[str] = frozenset({OPEN}),
) -> Rows:
    """Right: draws for keys that occur alone; the answer is ordered by itself."""
    true = occurring(data, most=most, counted=counted)
    noisy = mechanism.release(np.array(list(true.values()), dtype=np.int64), noise=noise)
    return _listed(true, noisy.tolist())


def all_that_occur(data: Data, noise: Noise, *, mechanism: UnknownKeys) -> Rows:
    """Keys whose noisy count is 0 are listed too."""
    true = occurring(data)
    noisy = mechanism.release(np.array(list(true.values()), dtype=np.int64), noise=noise)
    return tuple(sorted(zip(true, noisy.tolist(), strict=True)))


def two_sided(data: Data, noise: Noise, *, mechanism: UnknownKeys) -> Rows:
    """Noise on both sides, on the keys that occur only."""
    true, rate = occurring(data), mechanism.lower_rate
    counts = np.array(list(true.values()), dtype=np.int64)
    return _listed(true, (counts + noise.two_sided(rate, rate, counts.size)).tolist())


def small_first(data: Data, noise: Noise, *, mechanism: UnknownKeys) -> Rows:
    """Keys with a true count of 1 are left out before the noise."""
    true = {key: count for key, count in occurring(data).items() if count > 1}
    noisy = mechanism.release(np.array(list(true.values()), dtype=np.int64), noise=noise)
    return _listed(true, noisy.tolist())


def in_true_order(data: Data, noise: Noise, *, mechanism: UnknownKeys) -> Rows:
    """The keys come in the order of their true counts."""
    true = dict(Counter(occurring(data)).most_common())
    noisy = mechanism.release(np.array(list(true.values()), dtype=np.int64), noise=noise)
    return tuple((key, n) for key, n in zip(true, noisy.tolist(), strict=True) if n)


def by_popularity(data: Data, noise: Noise, *, mechanism: UnknownKeys) -> Rows:
    """Units in several groups are counted in the one that most units are in."""
    popular = Counter(group for r in data if r.kind == OPEN for group in groups(r))
    true = Counter(
        max(groups(r), key=lambda g: (popular[g], g)) for r in data if r.kind == OPEN and groups(r)
    )
    noisy = mechanism.release(np.array(list(true.values()), dtype=np.int64), noise=noise)
    return _listed(true, noisy.tolist())


def occurring(
    data: Data, *, most: int | None = 1, counted: AbstractSet[str] = frozenset({OPEN})
) -> dict[str, int]:
    """The counted units' groups as they turn up, each unit in its first ``most`` by name."""
    true: Counter[str] = Counter()
    for record in data:
        if record.kind in counted:
            true.update(groups(record)[:most])
    return dict(true)


def groups(record: Record) -> list[str]:
    """The groups that a record is in, by name."""
    value: Any = record.value
    return sorted(value)


def row(record: Record) -> tuple[Any, ...]:
    """A record as it would be published."""
    return (record.kind, *groups(record))


def _listed(true: Iterable[str], noisy: list[int]) -> Rows:
    return tuple(sorted((key, n) for key, n in zip(true, noisy, strict=True) if n > 0))


def broken_samples(sample: RecordSample) -> list[tuple[str, Any]]:
    """Each wrong sample by the flaw that it has."""
    return [
        ("decided per row where the unit is protected", partial(per_row, sample=sample)),
        ("open rows of sensitive units kept", partial(own_rows, sample=sample)),
        ("one sensitive record in a hundred kept", partial(few_sensitive, sample=sample)),
        ("one coin for all records", partial(one_coin, sample=sample)),
        ("the whole table if nobody is sensitive", partial(whole_if_open, sample=sample)),
    ]


def broken_keys(mechanism: UnknownKeys) -> list[tuple[str, Any]]:
    """Each wrong list of keys by the flaw that it has."""
    return [
        ("every key that occurs is listed", partial(all_that_occur, mechanism=mechanism)),
        ("noise on both sides of keys that occur", partial(two_sided, mechanism=mechanism)),
        ("small counts dropped before the noise", partial(small_first, mechanism=mechanism)),
        ("keys in the order of their true counts", partial(in_true_order, mechanism=mechanism)),
        ("units cut down to popular groups", partial(by_popularity, mechanism=mechanism)),
    ]
