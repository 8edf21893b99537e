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

from onesided.errors import DataError, OnesidedError, first_line
from onesided.mechanism import RecordSample
from onesided.noise import BoolArray, Noise
from onesided.session import _spark_sample
from onesided.session._desk import Desk
from onesided.session._row_engines import rows_of
from onesided.session._rows import Kinds

Samples: TypeAlias = Mapping[str, RecordSample]


@dataclass(frozen=True, slots=True)
class Cut:
    """The kept rows, in the caller's own frame type, and how many units of each kind."""

    frame: Any
    units: Mapping[str, int]


Draw: TypeAlias = Callable[[Noise | None], Cut]


def look(desk: Desk, samples: Samples) -> Draw:
    """Check the rows; what is returned flips the coins and cuts. Secret until then.

    Errors: DataError for rows of nobody, and for columns that cannot be cut cleanly.
    """
    desk.refuse_null_units()
    if desk.table.frame.implementation.is_pyspark():
        _spark_sample.check(desk)
        return lambda noise: _cut_spark(desk, samples, noise)
    rows_of(desk).check()
    if desk.unit is None:
        return lambda noise: _cut_rows(desk, samples, noise)
    unit = desk.unit
    with _reading("Nothing was drawn and nothing was recorded."):
        units = {kind: _open_units(desk, kind, unit) for kind in samples}
    return lambda noise: _cut_units(desk, samples, units, noise)


def _cut_spark(desk: Desk, samples: Samples, noise: Noise | None) -> Cut:
    """Coins flipped by the executors, from a secret of this one release."""
    with _reading("The charge stands, and nothing was published."):
        return Cut(*_spark_sample.cut(desk, samples, noise))


def _open_units(desk: Desk, kind: str, unit: str) -> nw.DataFrame[Any]:
    """The units of one open kind, once each."""
    counted = frozenset({kind}) if desk.policy.rules else None
    return desk.rows((), where=None, counted=counted).select(unit).unique().collect()


def _cut_units(
    desk: Desk, samples: Samples, units: Mapping[str, nw.DataFrame[Any]], noise: Noise | None
) -> Cut:
    """All rows of each unit whose coin says so."""
    chosen, kept, rows = [], {}, rows_of(desk)
    for kind, frame in units.items():
        coins = samples[kind].choose(len(frame), noise=noise)
        kept[kind] = int(coins.sum())
        chosen.append(frame.filter(nw.new_series("coin", coins, backend=frame.implementation)))
    wanted = nw.concat(chosen)
    with _reading("The charge stands, and nothing was published."):
        (name,) = wanted.columns
        return Cut(rows.finish([rows.of_units(name, wanted[name])]), kept)


def _cut_rows(desk: Desk, samples: Samples, noise: Noise | None) -> Cut:
    """Each row whose coin says so, where every row is a unit: one pass over the table."""
    kept, parts, rows = dict.fromkeys(samples, 0), [], rows_of(desk)
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
