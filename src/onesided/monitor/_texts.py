"""Texts in columns: their bytes one after the other, and where each ends. Told apart by equality.

A million texts as objects of Python cost seconds to number and to sort; as columns they cost a
few sorts of whole numbers, which say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.monitor._digest import LENGTH
from onesided.noise import IntArray

Bytes = NDArray[np.uint8]
_NONE: Final = np.zeros(0, dtype=np.int64)
_FEW: Final = 16  # times its length: so few texts are sorted faster by Python
_DENSE: Final = 4  # times as many numbers as rows: they are ranked by a table of them


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """UTF-8 without gaps, and where each text starts and ends.

    >>> positions, words = Texts.of([["bb", "é"], ["c", "bb"]]).distinct()
    >>> positions.tolist(), [word[4:].decode() for word in words]
    ([1, 2, 0, 1], ['c', 'bb', 'é'])
    """

    body: Bytes
    starts: IntArray
    ends: IntArray

    @classmethod
    def of(cls, parts: Iterable[Sequence[str]]) -> Self:
        """From texts of Python, some at a time."""
        bodies, lengths = [np.zeros(0, dtype=np.uint8)], [_NONE]
        for part in parts:
            characters = np.fromiter(map(len, part), np.int64, len(part))
            joined = "".join(part)
            body = np.frombuffer(joined.encode("utf-8", "surrogatepass"), dtype=np.uint8)
            if not joined.isascii():
                # Every byte but those that go on with a character begins one.
                begins = np.append(np.flatnonzero((body & 0xC0) != 0x80), body.size)
                characters = np.diff(begins[np.cumsum(characters)], prepend=0)
            bodies.append(body)
            lengths.append(characters)
        return cls._of_lengths(np.concatenate(bodies), np.concatenate(lengths))

    @classmethod
    def in_column(cls, column: nw.Series[Any]) -> Self | None:
        """The bytes where the column has them; None where PyArrow is missing, or a text is."""
        whole = _in_arrow(column)
        if whole is None:
            return None
        _, offsets, data = whole.buffers()
        ends = np.frombuffer(offsets, np.int64)[whole.offset : whole.offset + len(whole) + 1]
        body = np.frombuffer(data, np.uint8) if data else np.zeros(0, dtype=np.uint8)
        return cls(body, ends[:-1], ends[1:])

    @classmethod
    def _of_lengths(cls, body: Bytes, lengths: IntArray) -> Self:
        ends = np.cumsum(lengths)
        return cls(body, ends - lengths, ends)

    def __len__(self) -> int:
        return self.ends.size

    def distinct(self) -> tuple[IntArray, tuple[bytes, ...]]:
        """Each text's position among all of them; and these, as ``encoded``, in their order."""
        positions = np.empty(len(self), dtype=np.int64)
        words: list[bytes] = []
        for length, rows in self._by_length():
            few = rows.size < _FEW * length
            found, told = self._few(rows) if few else self._many(rows, length)
            positions[rows] = found + len(words)
            words += told
        return positions, tuple(words)

    def _by_length(self) -> Iterator[tuple[int, IntArray]]:
        """The rows of each length, which is what texts are ordered by first."""
        lengths = self.ends - self.starts
        order = np.argsort(lengths, kind="stable")
        cuts = np.flatnonzero(np.diff(lengths[order])) + 1
        for rows in np.split(order, cuts) if order.size else ():
            yield int(lengths[rows[0]]), rows

    def _few(self, rows: IntArray) -> tuple[IntArray, list[bytes]]:
        ends = zip(self.starts[rows].tolist(), self.ends[rows].tolist(), strict=True)
        texts = [self.body[start:end].tobytes() for start, end in ends]
        words = sorted(set(texts))
        number = {word: position for position, word in enumerate(words)}
        found = np.array([number[text] for text in texts], dtype=np.int64)
        return found, [len(word).to_bytes(LENGTH) + word for word in words]

    def _many(self, rows: IntArray, length: int) -> tuple[IntArray, list[bytes]]:
        """Texts of one length are equal, and in order, as their codes are."""
        starts = self.starts[rows]
        letters = np.empty((length, rows.size), dtype=np.uint8)
        for place in range(length):
            self.body[place:].take(starts, out=letters[place], mode="clip")
        found, one_of_each = _ranked(*_codes(letters))
        words = np.empty((one_of_each.size, LENGTH + length), dtype=np.uint8)
        words[:, :LENGTH] = np.frombuffer(length.to_bytes(LENGTH), dtype=np.uint8)
        words[:, LENGTH:] = letters[:, one_of_each].T
        told: list[bytes] = np.frombuffer(words.tobytes(), f"V{words.shape[1]}").tolist()
        return found, told


def moments_in_column(column: nw.Series[Any]) -> IntArray | None:
    """Microseconds since 1970 of texts of ISO 8601; None where one is none, or where it has a zone.

    Arrow reads fewer texts than ``datetime.fromisoformat``, and those alike; of year 0 alone it
    gives moments that are none, which lie below all others.
    """
    whole = _in_arrow(column)
    if whole is None:
        return None
    import pyarrow as pa  # noqa: PLC0415 - optional

    try:
        found: IntArray = whole.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return found


def _in_arrow(column: nw.Series[Any]) -> Any:
    """The texts as one array of Arrow; None where PyArrow is missing, or a text is."""
    if not isinstance(column.dtype, nw.String) or column.null_count():
        return None
    # A column of pandas' objects may hold anything after its first texts.
    if find_spec("pyarrow") is None or column.implementation.is_pandas_like():
        return None
    import pyarrow as pa  # noqa: PLC0415 - optional

    found = column.to_arrow()
    if column.implementation.is_pyarrow():
        found.validate(full=True)  # its bytes may be no text at all
    found = found.cast(pa.large_string())
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _ranked(codes: list[IntArray], room: int) -> tuple[IntArray, IntArray]:
    """Each row's rank among the different rows, from 0; and a row of each rank."""
    first, size = codes[0], codes[0].size
    if len(codes) == 1 and room <= _DENSE * size:
        row = np.full(room, -1, dtype=np.int64)
        row[first] = np.arange(size)
        met = row >= 0
        rank = np.cumsum(met) - 1
        return rank[first], row[met]
    order = np.argsort(first) if len(codes) == 1 else np.lexsort(codes[::-1])
    new = np.zeros(size, dtype=np.bool_)
    new[0] = True
    for code in codes:
        placed = code[order]
        new[1:] |= placed[1:] != placed[:-1]
    found = np.empty(size, dtype=np.int64)
    found[order] = np.cumsum(new) - 1
    return found, order[new]


def _codes(letters: Bytes) -> tuple[list[IntArray], int]:
    """Columns of whole numbers in the order of the letters, each as full as 63 bits allow.

    A place takes only as many numbers as its letters need: where all texts agree, none. With them
    how many numbers the last column may hold.
    """
    codes, room = [np.zeros(letters.shape[1], dtype=np.int64)], 1
    for column in letters:
        low = column.min()
        span = int(column.max()) - int(low) + 1
        if room * span > 2**63:
            codes.append(np.zeros(letters.shape[1], dtype=np.int64))
            room = 1
        if span > 1:
            codes[-1] *= span
            codes[-1] += column - low
            room *= span
    return codes, room


def named(parts: Iterable[Sequence[int | str]]) -> tuple[IntArray, tuple[bytes, ...]]:
    """Each person's position among all of them, and these: encoded, in the order of their bytes.

    >>> named([["bb", "c"], ["c", "bb"]])[0].tolist()
    [1, 0, 0, 1]
    """
    return Texts.of([str(one) for one in part] for part in parts).distinct()
