"""Pairs of whole numbers that are numbered as they come, and found again by a hash."""

from __future__ import annotations

import secrets
from typing import Final

import numpy as np

from onesided.monitor._time import NEVER
from onesided.noise import IntArray

_LEAST: Final = 64
_PART: Final = 1 << 17  # pairs that are looked for at a time
_FREE: Final = -1
# One for each process: nobody can choose pairs that all look for the same slot.
_KEY: Final = tuple(np.uint64(secrets.randbits(64) | 1) for _ in range(3))
_NONE: Final = np.zeros(0, dtype=np.int64)


class Pairs:
    """An index in columns: each pair has a number from 0, and a value that starts at NEVER.

    Open addressing with linear probing, at most half full, many pairs at a time. What decides is
    equality of both numbers; the hash, whose key nobody knows, only says where to look first.

    >>> pairs = Pairs()
    >>> pairs.find(np.array([1, 1]), np.array([7, 8])).tolist()
    [0, 1]
    >>> pairs.find(np.array([1, 2]), np.array([8, 8])).tolist(), pairs.size
    ([1, 2], 3)
    """

    def __init__(self) -> None:
        self.size = 0
        self.left, self.right = np.empty((2, _LEAST), dtype=np.int64)
        self.value: IntArray = np.full(_LEAST, NEVER, dtype=np.int64)
        self._slots: IntArray = np.full(2 * _LEAST, _FREE, dtype=np.int64)

    def find(self, left: IntArray, right: IntArray) -> IntArray:
        """The number of each pair, new ones in their order. No pair may be given twice."""
        self._reserve(self.size + left.size)
        parts = [slice(start, start + _PART) for start in range(0, left.size, _PART)]
        return np.concatenate([_NONE, *(self._find(left[part], right[part]) for part in parts)])

    def keep(self, numbers: IntArray) -> None:
        """Forget all pairs but these, which are numbered anew in the order given."""
        left, right, value = (one[numbers] for one in (self.left, self.right, self.value))
        self.size = 0
        self._resize(left.size)
        self.left[: left.size], self.right[: left.size] = left, right
        self.value[: left.size] = value
        self._settle(left.size)

    def _find(self, left: IntArray, right: IntArray) -> IntArray:
        given = np.arange(self.size, self.size + left.size)
        self.left[given], self.right[given] = left, right
        found, slots = self._claim(given)
        new = np.flatnonzero(found == given)
        numbers = given[: new.size]
        found[new] = self._slots[slots[new]] = numbers
        self.left[numbers], self.right[numbers] = left[new], right[new]
        self.size += new.size
        return found

    def _claim(self, numbers: IntArray) -> tuple[IntArray, IntArray]:
        """For each pair that stands at one of ``numbers``: who holds its slot now, and the slot.

        It takes the first slot that is free, or that an equal pair holds.
        """
        slots = self._hash(self.left[numbers], self.right[numbers])
        found = numbers.copy()
        open_ = np.arange(numbers.size)
        while open_.size:
            at, own = slots[open_], numbers[open_]
            held = self._slots[at]
            free = np.flatnonzero(held == _FREE)
            self._slots[at[free]] = own[free]
            held[free] = self._slots[at[free]]  # of several that wanted it, one has it
            same = (self.left[held] == self.left[own]) & (self.right[held] == self.right[own])
            found[open_[same]] = held[same]
            open_ = open_[~same]
            slots[open_] = (slots[open_] + 1) & (self._slots.size - 1)
        return found, slots

    def _hash(self, left: IntArray, right: IntArray) -> IntArray:
        one, two, three = _KEY
        mixed = left.view(np.uint64) * one + right.view(np.uint64)
        mixed ^= mixed >> np.uint64(32)
        mixed *= two
        mixed ^= mixed >> np.uint64(29)
        mixed *= three
        mixed >>= np.uint64(65 - self._slots.size.bit_length())
        return mixed.view(np.int64)

    def _reserve(self, size: int) -> None:
        """Room for so many pairs."""
        if size <= self.value.size:
            return
        held, count = (self.left, self.right, self.value), self.size
        self._resize(size + count // 2)
        self.left[:count], self.right[:count], self.value[:count] = (one[:count] for one in held)
        self._settle(count)

    def _resize(self, size: int) -> None:
        """New empty columns of at least that size, and slots of at least twice as many."""
        size = max(size, _LEAST)
        self.left, self.right = np.empty((2, size), dtype=np.int64)
        self.value = np.full(size, NEVER, dtype=np.int64)
        self._slots = np.full(1 << (2 * size - 1).bit_length(), _FREE, dtype=np.int64)

    def _settle(self, count: int) -> None:
        """Give a slot to each of the first ``count`` pairs."""
        for start in range(0, count, _PART):
            self._claim(np.arange(start, min(start + _PART, count)))
        self.size = count
