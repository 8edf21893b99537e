"""What differs from one warehouse to the next: how its SQL is written, and how it is run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from onesided.engine.ibis._condition import IbisTerms


class Warehouse(ABC):
    """One warehouse. refused: columns that may not be used, with what they hold."""

    refused: Mapping[str, str]

    def settled(self, native: Any) -> Any:
        """The table as questions read it, whatever is set later: names in full, NaN unknown."""
        return native

    @abstractmethod
    def written(self, table: Any) -> str:
        """The SQL that a table of Ibis stands for."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Within, every statement finds the same stored rows. Errors: DataError."""

    @abstractmethod
    def rows(self, table: Any) -> list[tuple[Any, ...]]:
        """The rows of a table of Ibis: aggregates, or groups, never anybody's own."""

    @abstractmethod
    def terms(self, table: Any) -> IbisTerms:
        """How conditions on the columns of ``table`` are written."""

    @abstractmethod
    def text(self, digits: Any) -> Any:
        """The text that hexadecimal digits of its UTF-8 stand for."""

    def hashed(self, parts: Sequence[Any]) -> Any:
        """A whole number of 64 bits that follows from these texts alone.

        Each text but the last comes after its length: no two lists of texts make one.
        """
        first, *others = parts
        for part in others:
            first = first.length().cast("string") + ":" + first + part
        return first.hash()

    def refuse_collated(self, table: Any, names: Sequence[str]) -> None:  # noqa: B027 - few have collations
        """Refuse columns of text in which different words count as equal. Errors: DataError."""
