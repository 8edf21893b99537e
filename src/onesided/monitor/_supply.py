"""The wall between an engine, which counts, and the machine, which answers.

An engine hands over batches, and a window that counts them. Of rows it tells the machine only how
many different people are at each place, as an array by the place's position among the keys, and a
digest of 32 bytes; so rows may stay wherever the engine has them.
"""

from __future__ import annotations

from typing import Any, Protocol

from onesided.noise import IntArray


class Visits(Protocol):
    """A batch as far as the machine and its store look.

    >>> from onesided.monitor import Batch
    >>> visits: Visits = Batch("monday", 1, ((0, "Ann", 1),))
    >>> visits.person_type, len(visits.digest())
    ('str', 32)
    """

    @property
    def id(self) -> str:
        """Public, accepted once."""
        ...

    @property
    def time(self) -> int:
        """Public; no row is later."""
        ...

    @property
    def person_type(self) -> str:
        """The persons' type, "int" or "str"; "" for a batch without rows."""
        ...

    def digest(self) -> bytes:
        """What :func:`onesided.monitor._digest.rows_digest` makes of the rows, on any engine."""
        ...

    def content(self) -> bytes:
        """What the store keeps while the batch is in the window: the rows, or where they are."""
        ...


class Counter(Protocol):
    """How many different people were at each place within the window.

    >>> from onesided.monitor._window import Window
    >>> window: Counter = Window(2)
    >>> window.counts.tolist()
    [0, 0]
    """

    @property
    def counts(self) -> IntArray:
        """One number for each place, 64 bits, in the order of the keys."""
        ...

    def refuse_other_type(self, batch: Any) -> None:
        """Errors: DataError for persons of another type than those in the window."""
        ...

    def add(self, batch: Any) -> None:
        """Take in a batch."""
        ...

    def expire(self, cutoff: int | None) -> None:
        """Let go of every visit that is not after ``cutoff``; None lets go of none."""
        ...
