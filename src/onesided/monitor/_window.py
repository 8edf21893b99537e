"""How many different people were at each place within the window."""

from __future__ import annotations

import numpy as np

from onesided.errors import DataError
from onesided.monitor._batch import Batch
from onesided.monitor._pairs import Pairs
from onesided.monitor._rows import NUMBERS, numbering, whole_person
from onesided.monitor._time import NEVER
from onesided.noise import IntArray

_SLACK = 64


class Window:
    """Counts different people per place, in columns.

    A person counts at a place while the latest of their visits there is in the window: each pair
    of place and person has the time of that visit, or NEVER when it has expired.

    >>> window = Window(2)
    >>> window.add(Batch("monday", 1, ((0, "Ann", 0), (0, "Ann", 1), (1, "Bob", 0))))
    >>> window.expire(0)
    >>> window.counts.tolist()
    [1, 0]
    """

    def __init__(self, size: int) -> None:
        self.counts: IntArray = np.zeros(size, dtype=np.int64)
        self._size, self._inside, self._type = size, 0, ""
        self._pairs = Pairs()
        # Persons that are no number of 64 bits have one here; their places are told apart by size.
        self._codes = numbering()

    def refuse_other_type(self, batch: Batch) -> None:
        """Refuse persons as text beside persons as numbers: nobody could tell who is who."""
        if self._inside and batch.person_type not in ("", self._type):
            raise DataError(
                f"Batch {batch.id!r} names persons by {batch.person_type}, the batches before it "
                f"by {self._type}.",
                hint="Cast the column to one type in every batch. Nothing was drawn or stored.",
            )

    def add(self, batch: Batch) -> None:
        """Take in the rows of a batch."""
        if not len(batch.rows):
            return
        self._type = batch.person_type
        place, person, time = batch.rows.place, batch.rows.person, batch.rows.time
        if batch.rows.names is None:
            numbers = self._pairs.find(place, person)
        else:
            codes, named = self._coded(batch.rows.names, text=batch.rows.text)
            numbers = self._pairs.find(place + self._size * named[person], codes[person])
        last = self._pairs.value[numbers]
        new = place[last == NEVER]
        np.add.at(self.counts, new, 1)
        self._inside += new.size
        self._pairs.value[numbers] = np.maximum(last, time)

    def expire(self, cutoff: int | None) -> None:
        """Let go of every visit that is not after ``cutoff``."""
        if cutoff is None or not self._inside:
            return
        latest = self._pairs.value[: self._pairs.size]
        gone = np.flatnonzero((latest <= cutoff) & (latest != NEVER))
        if not gone.size:
            return
        np.subtract.at(self.counts, self._pairs.left[gone] % self._size, 1)
        latest[gone] = NEVER
        self._inside -= gone.size
        if self._pairs.size > 2 * self._inside + _SLACK:
            self._keep(np.flatnonzero(latest != NEVER))

    def _coded(self, names: tuple[bytes, ...], *, text: bool) -> tuple[IntArray, IntArray]:
        """A number for each name, and 1 where it is a number given here.

        A whole number of 64 bits is its own number, whatever else is in its batch: a person has
        one number in all batches.
        """
        number = self._codes.__getitem__
        if text:
            codes = np.fromiter(map(number, names), np.int64, len(names))
            return codes, np.ones(len(names), dtype=np.int64)
        whole = [whole_person(name) for name in names]
        own = [one in NUMBERS for one in whole]
        told = zip(names, whole, own, strict=True)
        numbers = [one if keeps else number(name) for name, one, keeps in told]
        return np.array(numbers, dtype=np.int64), 1 - np.array(own, dtype=np.int64)

    def _keep(self, numbers: IntArray) -> None:
        """Forget all other pairs, and the names that no pair has any longer."""
        if self._codes:
            named = numbers[self._pairs.left[numbers] >= self._size]
            held, self._pairs.right[named] = np.unique(
                self._pairs.right[named], return_inverse=True
            )
            names = list(self._codes)
            self._codes = numbering([names[code] for code in held.tolist()])
        self._pairs.keep(numbers)
