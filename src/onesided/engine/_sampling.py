"""Which units are kept, and their rows: decided once, cut out once.

What is returned is held in memory: a lazy answer evaluated again gives the same rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine._protocol import KIND, Lazy, places_of
from onesided.engine._reading import AFTER, reading
from onesided.errors import DataError
from onesided.mechanism import RecordSample
from onesided.noise import BoolArray, Noise
from onesided.policy import Policy, Predicate

if TYPE_CHECKING:
    from onesided.engine._snapshot import Snapshot

Samples: TypeAlias = Mapping[str, RecordSample]
# Rows in one step: few enough for a small memory, enough to keep an engine busy.
BATCH: Final = 2**20
# Per row of a batch, the place of its kind among those asked for, or -1; None if all are of one.
Kinds = NDArray[Any] | None


class Subject(Protocol):
    """A snapshot with a unit and a policy."""

    @property
    def table(self) -> Snapshot:
        """The rows. Secret."""

    @property
    def unit(self) -> str | None:
        """The column that says whose row it is, as it is called there; None if each row is one."""

    @property
    def policy(self) -> Policy:
        """What tells kinds of units apart."""

    def rows(
        self,
        columns: Sequence[str],
        *,
        where: Predicate | None,
        counted: frozenset[str] | None,
    ) -> Lazy:
        """The rows to look at, reduced to the unit and ``columns``. Secret."""


class Rows(ABC):
    """The rows of one snapshot of all columns. names: what people call them.

    What :meth:`finish` returns is made of the kept rows alone. A data frame holds more than rows.
    Left as they are, an index, chunks or stored metadata would tell where rows are missing, lists
    of categories would name values of suppressed rows, and shared buffers of text would hold them
    in full.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject, names = subject, list(subject.table.names)
        self.native: Any = nw.to_native(subject.table.frame)
        self.names = dict(zip(places_of(len(names)), names, strict=True))

    @abstractmethod
    def batches(self, kinds: Sequence[str]) -> Iterator[tuple[Any, int, Kinds]]:
        """Every row of these kinds once, as (batch, its height, kinds); others may come along."""

    @abstractmethod
    def keep(self, batch: Any, mask: BoolArray) -> Any:
        """The rows of a batch where ``mask`` is true."""

    @abstractmethod
    def of_units(self, unit: str, chosen: nw.Series[Any]) -> Any:
        """All rows of the chosen units."""

    @abstractmethod
    def finish(self, parts: Sequence[Any]) -> Any:
        """The parts as one table of the caller's own type, in memory."""

    def coded(self, frame: Lazy, kinds: Sequence[str]) -> Lazy:
        """Rows with the place of their kind in ``kinds`` beside them, below 0 for others."""
        table, policy = self.subject.table, self.subject.policy
        codes = {kind: place for place, kind in enumerate(kinds)}
        return table.with_kind(frame, None, policy.rules, policy.default_kind, codes=codes)

    def of_kinds(self, kinds: Sequence[str]) -> Lazy:
        """Rows of these kinds as they are; their kind beside them if there are several."""
        table, policy = self.subject.table, self.subject.policy
        if not policy.rules:
            return table.frame
        frame = self.coded(table.frame, kinds).filter(nw.col(KIND) >= 0)
        return frame.select(*self.names, *([KIND] if len(kinds) > 1 else []))


def unclean(column: str, kind: str, other: str) -> DataError:
    return DataError(
        f"Column {column!r} holds {kind}, out of which rows cannot be cut cleanly.",
        hint=f"Cast it to {other}. Nothing was drawn and nothing was recorded.",
        column=column,
    )


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
