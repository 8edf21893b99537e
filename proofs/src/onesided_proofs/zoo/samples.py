"""Samples of records and lists of unknown keys that are wrong in one way each; and right twins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from onesided.mechanism import RecordSample, UnknownKeys
from onesided.noise import Noise
from onesided.numbers import INFINITE
from onesided.policy import Record
from onesided.verify import Data

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
