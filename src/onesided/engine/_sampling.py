"""Which units are kept, and their rows: decided once, cut out once.

What is returned is held in memory: a lazy answer evaluated again gives the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np

from onesided.engine._reading import AFTER, reading
from onesided.engine._rows import Kinds, Rows
from onesided.engine._subject import Subject
from onesided.mechanism import RecordSample
from onesided.noise import BoolArray, Noise

Samples: TypeAlias = Mapping[str, RecordSample]


@dataclass(frozen=True, slots=True)
class Cut:
    """The kept rows, in the caller's own frame type, and how many units of each kind.

    >>> Cut({"age": [40]}, {"open": 1}).units
    {'open': 1}
    """

    frame: Any
    units: Mapping[str, int]


Draw: TypeAlias = Callable[[Noise | None], Cut]


def look(taking: AbstractContextManager[Subject], samples: Samples) -> Draw:
    """Check the rows; what is returned flips the coins and cuts. Secret until then.

    taking: takes all columns; they are held until the rows are cut, or nobody can cut them.
    Errors: DataError for columns that cannot be cut cleanly.

    >>> import polars as pl
    >>> from onesided.engine import Table
    >>> from onesided.policy import sensitive
    >>> from onesided.session._context import QueryContext
    >>> table, policy = Table(pl.DataFrame({"minor": [True, False]})), sensitive("minor")
    >>> context = QueryContext(policy=policy, unit=None, table=table, account=None)
    >>> draw = look(context.records(), {"open": RecordSample(1)})
    >>> draw(None).frame["minor"].sum()  # none that is sensitive
    0
    """
    held = ExitStack()
    try:
        subject = held.enter_context(taking)
        draw = subject.table.engine.sampler(subject, samples)
    except BaseException:
        held.close()
        raise

    def cut(noise: Noise | None) -> Cut:
        with held:
            return draw(noise)

    return cut


def sampler(rows: Rows, samples: Samples) -> Draw:
    """How rows that pass through this process are sampled; errors as :func:`look`."""
    subject = rows.subject
    if subject.unit is None:
        return lambda noise: _cut_rows(rows, samples, noise)
    unit = subject.unit
    with reading():
        units = {kind: _open_units(subject, kind, unit) for kind in samples}
    return lambda noise: _cut_units(rows, samples, units, noise)


def _open_units(subject: Subject, kind: str, unit: str) -> nw.DataFrame[Any]:
    """The units of one open kind, once each, in their own order: no engine's threads decide it."""
    counted = frozenset({kind}) if subject.policy.rules else None
    units = subject.rows((), where=None, counted=counted).select(unit)
    return units.unique().sort(unit).collect()


def _cut_units(
    rows: Rows, samples: Samples, units: Mapping[str, nw.DataFrame[Any]], noise: Noise | None
) -> Cut:
    """All rows of each unit whose coin says so."""
    chosen, kept = [], {}
    for kind, frame in units.items():
        coins = samples[kind].choose(len(frame), noise=noise)
        kept[kind] = int(coins.sum())
        chosen.append(frame.filter(nw.new_series("coin", coins, backend=frame.implementation)))
    wanted = nw.concat(chosen)
    with reading(AFTER):
        (name,) = wanted.columns
        return Cut(rows.finish([rows.of_units(name, wanted[name])]), kept)


def _cut_rows(rows: Rows, samples: Samples, noise: Noise | None) -> Cut:
    """Each row whose coin says so, where every row is a unit: one pass over the table."""
    kept, parts = dict.fromkeys(samples, 0), []
    with reading(AFTER):
        for batch, height, kinds in rows.batches(tuple(samples)):
            mask = np.zeros(height, dtype=np.bool_)
            for place, (kind, sample) in enumerate(samples.items()):
                kept[kind] += _flip(mask, kinds, place, sample, noise)
            parts.append(rows.keep(batch, mask))
        return Cut(rows.finish(parts), kept)


def _flip(
    mask: BoolArray, kinds: Kinds, place: int, sample: RecordSample, noise: Noise | None
) -> int:
    """A coin for each row of this kind, into ``mask``; how many are kept."""
    places = slice(None) if kinds is None else np.flatnonzero(kinds == place)
    coins = sample.choose(mask[places].size, noise=noise)
    mask[places] = coins
    return int(coins.sum())
