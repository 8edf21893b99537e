"""Who was where and when, as columns: in one order, digested, and packed for the store."""

from __future__ import annotations

import json
import struct
import zlib
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided.monitor._digest import LENGTH, Person, ordered_digest
from onesided.monitor._texts import named
from onesided.noise import IntArray

Row: TypeAlias = tuple[int, Person, int]
_MAGIC: Final = b"onr1"  # what was stored before is zlib's, and begins otherwise
_HEAD: Final = struct.Struct("<4sQ?")
_COLUMN: Final = struct.Struct("<qB")
_NONE: Final = np.zeros(0, dtype=np.int64)
NUMBERS: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, eq=False)
class Rows:
    """The latest visit of each person to each place, by place and person. Secret.

    place: positions among the keys. names: None if ``person`` holds whole numbers that are the
    persons themselves; otherwise the persons as :func:`onesided.monitor._digest.encoded`, each
    once and in order, and ``person`` holds positions among them. text: whether they are text.

    >>> rows = Rows.of([(1, "Bob", 1), (0, "Ann", 0), (0, "Ann", 1)])
    >>> len(rows), rows.digest() == Rows.unpacked(rows.packed()).digest()
    (2, True)
    """

    place: IntArray
    person: IntArray
    time: IntArray
    names: tuple[bytes, ...] | None = None
    text: bool = False

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Self:
        """From rows ``(position of the place, person, event time)`` in any order."""
        columns = list(zip(*rows, strict=True))
        if not columns:
            return cls(_NONE, _NONE, _NONE)
        place, person, time = columns
        if isinstance(person[0], int) and all(one in NUMBERS for one in person):
            persons: tuple[IntArray, tuple[bytes, ...] | None] = np.array(person, np.int64), None
        else:
            persons = named([person])
        text = isinstance(person[0], str)
        return cls.ordered(np.array(place, np.int64), *persons, np.array(time, np.int64), text=text)

    @classmethod
    def ordered(
        cls,
        place: IntArray,
        person: IntArray,
        names: tuple[bytes, ...] | None,
        time: IntArray,
        *,
        text: bool,
    ) -> Self:
        """From columns of all visits in any order."""
        if place.size > 1:
            place, person, time = _latest(place, person, time)
        return cls(place, person, time, names, text)

    def __len__(self) -> int:
        return self.place.size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and self.digest() == other.digest()

    def __hash__(self) -> int:
        return hash(self.digest())

    @property
    def person_type(self) -> str:
        """The persons' type, "int" or "str"; "" where there are no rows."""
        return ("str" if self.text else "int") if len(self) else ""

    def digest(self) -> bytes:
        """What :func:`onesided.monitor._digest.rows_digest` makes of the rows."""
        return self._digest

    @cached_property
    def _digest(self) -> bytes:  # a step needs it twice
        return ordered_digest(self.place, self.person, self.time, self.names, text=self.text)

    def packed(self) -> bytes:
        """The columns in as few bytes as their values need."""
        steps = np.diff(self.place, prepend=0)
        columns = map(_narrow, (steps, self.person, self.time))
        parts = [_HEAD.pack(_MAGIC, len(self), self.text), *columns]
        if self.names is not None:
            parts.append(zlib.compress(b"".join(self.names), 1))
        return b"".join(parts)

    @classmethod
    def unpacked(cls, content: bytes) -> Self:
        """What :meth:`packed` made, or an earlier version. Errors: ValueError for bytes of none."""
        try:
            if content[: len(_MAGIC)] != _MAGIC:
                rows = json.loads(zlib.decompress(content))
                return cls.of((place, person, at) for place, person, at in rows)
            return cls._read(content)
        except (zlib.error, struct.error, TypeError, RecursionError, OverflowError) as error:
            raise ValueError(*error.args) from error

    @classmethod
    def _read(cls, content: bytes) -> Self:
        _, count, text = _HEAD.unpack_from(content)
        at, columns = _HEAD.size, []
        for _ in range(3):
            column, at = _widened(content, at, count)
            columns.append(column)
        steps, person, time = columns
        names = None
        if at < len(content):
            names = tuple(_split(zlib.decompress(content[at:])))
            if count and not 0 <= person.min() <= person.max() < len(names):
                raise ValueError("a person has no name")
        return cls(np.cumsum(steps), person, time, names, text)


def numbering(names: Iterable[Hashable] = ()) -> defaultdict[Hashable, int]:
    """Gives every new name the next number."""
    met: defaultdict[Hashable, int] = defaultdict()
    met.default_factory = met.__len__
    for name in names:
        met[name]
    return met


def whole_person(name: bytes) -> int:
    """The whole number that was encoded."""
    return int(name[LENGTH:])


def as_numbers(persons: IntArray, names: Iterable[bytes]) -> IntArray | None:
    r"""The persons that are whole numbers of 64 bits, as themselves; None if one is not.

    So a person is the same whatever column the number came in.

    >>> as_numbers(np.array([1, 0]), [b"\x00\x00\x00\x015", b"\x00\x00\x00\x017"]).tolist()
    [7, 5]
    """
    whole = [whole_person(name) for name in names]
    if not all(one in NUMBERS for one in whole):
        return None
    return np.array(whole, dtype=np.int64)[persons]


def _split(words: bytes) -> Iterable[bytes]:
    at = 0
    while at < len(words):
        end = at + LENGTH + int.from_bytes(words[at : at + LENGTH])
        yield words[at:end]
        at = end


def _latest(
    place: IntArray, person: IntArray, time: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """The latest visit of each pair, in order; a negative person comes after all others."""
    unsigned = person.view(np.uint64)
    low = [int(column.min()) for column in (place, unsigned, time)]
    high = [int(column.max()) for column in (place, unsigned, time)]
    span = [most - least + 1 for most, least in zip(high, low, strict=True)]
    if span[0] * span[1] >= 2**63:
        order = np.lexsort((time, unsigned, place))
        place, person, time = place[order], person[order], time[order]
        last = _ends((place[1:] != place[:-1]) | (person[1:] != person[:-1]))
        return place[last], person[last], time[last]
    # One number for each row, in the order of rows: sorted far faster than columns.
    code = (place - low[0]) * span[1]
    code += (unsigned - np.uint64(low[1])).view(np.int64)
    if span[0] * span[1] * span[2] < 2**63:
        code *= span[2]
        code += time - low[2]
        code.sort()
        code, since = np.divmod(code, span[2])
        last = _ends(code[1:] != code[:-1])
        code, time = code[last], since[last] + low[2]
    else:
        order = np.argsort(code)
        code = code[order]
        last = _ends(code[1:] != code[:-1])
        starts = np.concatenate([[0], last[:-1] + 1])
        code, time = code[last], np.maximum.reduceat(time[order], starts)
    places, persons = np.divmod(code, span[1])
    persons = (persons.view(np.uint64) + np.uint64(low[1])).view(np.int64)
    return places + low[0], persons, time


def _ends(differs: NDArray[np.bool_]) -> IntArray:
    """The last row of each stretch of equal rows, from whether a row differs from the next."""
    return np.append(np.flatnonzero(differs), differs.size)


def _narrow(column: IntArray) -> bytes:
    """The least value, the bytes of each, and how far above the least each one is."""
    if not column.size:
        return _COLUMN.pack(0, 0)
    low = int(column.min())
    span = int(column.max()) - low
    width = next(width for width in (0, 1, 2, 4, 8) if span < 256**width)
    above = (column - low).astype(f"<u{width}").tobytes() if width else b""
    return _COLUMN.pack(low, width) + above


def _widened(content: bytes, at: int, count: int) -> tuple[IntArray, int]:
    """A column of ``count`` values that begins at ``at``, and where it ends."""
    low, width = _COLUMN.unpack_from(content, at)
    at += _COLUMN.size
    end = at + width * count
    if end > len(content) or width not in (0, 1, 2, 4, 8):
        raise ValueError("the columns end too early")
    column = np.full(count, low, dtype=np.int64)
    if width:
        column += np.frombuffer(content, f"<u{width}", count, at).astype(np.int64)
    return column, end
