"""Which units are kept, and their rows: decided once, cut out once.

What is returned is held in memory: a lazy answer evaluated again gives the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np

from onesided.engine._row_engines import rows_of
from onesided.engine._rows import Kinds
from onesided.engine._subject import Subject
from onesided.engine.spark import _sample as _spark_sample
from onesided.errors import DataError, OnesidedError, first_line
from onesided.mechanism import RecordSample
from onesided.noise import BoolArray, Noise

Samples: TypeAlias = Mapping[str, RecordSample]


@dataclass(frozen=True, slots=True)
class Cut:
    """The kept rows, in the caller's own frame type, and how many units of each kind."""

    frame: Any
    units: Mapping[str, int]


Draw: TypeAlias = Callable[[Noise | None], Cut]


def look(subject: Subject, samples: Samples) -> Draw:
    """Check the rows; what is returned flips the coins and cuts. Secret until then.

    Errors: DataError for rows of nobody, and for columns that cannot be cut cleanly.
    """
    subject.refuse_null_units()
    if subject.table.frame.implementation.is_pyspark():
        _spark_sample.check(subject)
        return lambda noise: _cut_spark(subject, samples, noise)
    rows_of(subject).check()
    if subject.unit is None:
        return lambda noise: _cut_rows(subject, samples, noise)
    unit = subject.unit
    with _reading("Nothing was drawn and nothing was recorded."):
        units = {kind: _open_units(subject, kind, unit) for kind in samples}
    return lambda noise: _cut_units(subject, samples, units, noise)


def _cut_spark(subject: Subject, samples: Samples, noise: Noise | None) -> Cut:
    """Coins flipped by the executors, from a secret of this one release."""
    with _reading("The charge stands, and nothing was published."):
        return Cut(*_spark_sample.cut(subject, samples, noise))


def _open_units(subject: Subject, kind: str, unit: str) -> nw.DataFrame[Any]:
    """The units of one open kind, once each."""
    counted = frozenset({kind}) if subject.policy.rules else None
    return subject.rows((), where=None, counted=counted).select(unit).unique().collect()


def _cut_units(
    subject: Subject, samples: Samples, units: Mapping[str, nw.DataFrame[Any]], noise: Noise | None
) -> Cut:
    """All rows of each unit whose coin says so."""
    chosen, kept, rows = [], {}, rows_of(subject)
    for kind, frame in units.items():
        coins = samples[kind].choose(len(frame), noise=noise)
        kept[kind] = int(coins.sum())
        chosen.append(frame.filter(nw.new_series("coin", coins, backend=frame.implementation)))
    wanted = nw.concat(chosen)
    with _reading("The charge stands, and nothing was published."):
        (name,) = wanted.columns
        return Cut(rows.finish([rows.of_units(name, wanted[name])]), kept)


def _cut_rows(subject: Subject, samples: Samples, noise: Noise | None) -> Cut:
    """Each row whose coin says so, where every row is a unit: one pass over the table."""
    kept, parts, rows = dict.fromkeys(samples, 0), [], rows_of(subject)
    with _reading("The charge stands, and nothing was published."):
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


@contextmanager
def _reading(state: str) -> Iterator[None]:
    """Errors of the engine as ours, with what became of the charge."""
    try:
        yield
    except OnesidedError:
        raise
    except Exception as error:
        if type(error).__name__ == "InterruptException":
            raise KeyboardInterrupt from error  # DuckDB's word for Ctrl-C
        raise DataError(
            f"The table could not be read: {first_line(error)}",
            hint=f"The file may be damaged, or may have changed. {state}",
        ) from error
