"""The rows of a table, for samples that are true records: what every engine must be able to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Final

import narwhals as nw
from numpy.typing import NDArray

from onesided.engine._protocol import KIND, Lazy, places_of
from onesided.engine._subject import Subject
from onesided.errors import DataError
from onesided.noise import BoolArray

# Rows in one step: few enough for a small memory, enough to keep an engine busy.
BATCH: Final = 2**20
# Per row of a batch, the place of its kind among those asked for, or -1; None if all are of one.
Kinds = NDArray[Any] | None


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
