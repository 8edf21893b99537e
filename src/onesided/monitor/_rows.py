"""Who was where and when, as columns: text told apart, rows in one order, digested and packed."""

from __future__ import annotations

import hashlib
import itertools
import struct
import zlib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Final, Self, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.noise import IntArray

# What stands for a batch's rows wherever keys and proofs are made of them: 32 bytes.
#
# A tree of SHA-256: one hash for each place that has rows, over their encodings in the order of
# their bytes, and one over those. So every engine can make it from what it has grouped by place
# anyway, in any order of rows, and only one hash for each place has to travel. It is not keyed, and
# need not be: two sets of rows with one digest are a collision of SHA-256. (A sum of hashes, the
# usual one for multisets, would need a key, and Spark writes what it computes with into its plans.)
#
# It is as secret as the rows: whoever has it can confirm a guess at all of them. It is kept
# nowhere; what is kept is keyed by a secret (:mod:`onesided.monitor._machine`).

Person = int | str
Leaf = tuple[int, bytes]
LENGTH: Final = 4  # bytes that say how long a person is
_LEAF: Final = b"onesided monitor rows, version 2\n"
_HASH: Final = 32
_FIRST: Final = np.zeros(1, dtype=np.int64)
_PADDED: Final = 4  # times its bytes: so far names are laid out in one width
_PART: Final = 1 << 14  # rows that are Python's values at a time


def root_of(leaves: Iterable[Leaf], *, kind: str) -> bytes:
    """The digest from the hash of each place's rows, in the order of places.

    kind: of the persons: "int", "str", "long" for whole numbers beyond 64 bits, "" without rows.
    """
    root = _started(kind)
    for place, leaf in leaves:
        root.update(place.to_bytes(8) + leaf)
    return root.digest()


def ordered_digest(
    places: IntArray,
    persons: IntArray,
    times: IntArray,
    names: Sequence[bytes] | None,
    *,
    text: bool,
) -> bytes:
    """The digest of latest visits in columns, in the order of places and persons.

    A row of whole numbers below 2^63 in size is person and time, 8 bytes each (big-endian, two's
    complement). Any other is the length of the person as UTF-8 (4 bytes), that, and the time.
    names: what ``persons`` are positions of, as :func:`encoded` and in the order of their bytes.

    >>> columns = np.array([0, 1]), np.array([7, 8]), np.array([1, 1])
    >>> len(ordered_digest(*columns, None, text=False))
    32
    """
    if not places.size:
        return root_of([], kind="")
    if names is None:
        wide = np.stack((persons, times), axis=1).astype(">i8").tobytes()
        return _root(_leaves(places, wide, np.arange(1, persons.size + 1) * 16), kind="int")
    body, ends = _named(persons, times, names)
    return _root(_leaves(places, body, ends), kind="str" if text else "long")


def _leaves(places: IntArray, body: bytes, ends: IntArray) -> Iterator[tuple[IntArray, bytes]]:
    """Places and the hashes of their rows, many at a time; ``ends``: of each row in ``body``."""
    last = np.flatnonzero(np.diff(places, append=-1))
    stops, rows, hashed = ends[last], memoryview(body), hashlib.sha256
    starts = np.concatenate((_FIRST, stops))[:-1]
    for start in range(0, last.size, _PART):
        part = slice(start, start + _PART)
        cuts = zip(starts[part].tolist(), stops[part].tolist(), strict=True)
        yield places[last[part]], b"".join([hashed(rows[cut:end]).digest() for cut, end in cuts])


def _root(leaves: Iterable[tuple[IntArray, bytes]], *, kind: str) -> bytes:
    """:func:`root_of` leaves that come many at a time."""
    root = _started(kind)
    for places, hashes in leaves:
        both = np.empty((places.size, 8 + _HASH), dtype=np.uint8)
        both[:, :8] = places.astype(">i8").view(np.uint8).reshape(-1, 8)
        both[:, 8:] = np.frombuffer(hashes, dtype=np.uint8).reshape(-1, _HASH)
        root.update(both.data)
    return root.digest()


def _started(kind: str) -> hashlib._Hash:
    return hashlib.sha256(_LEAF + kind.encode() + b"\n")


def _named(persons: IntArray, times: IntArray, names: Sequence[bytes]) -> tuple[bytes, IntArray]:
    """For each row its person's name and 8 bytes of its time, without gaps."""
    lengths = np.fromiter(map(len, names), np.int64, len(names))
    widest, moments = int(lengths.max()), times.astype(">i8").tobytes()
    if widest * lengths.size > _PADDED * int(lengths.sum()):
        stamps = np.frombuffer(moments, "V8").tolist()
        words = zip([names[one] for one in persons.tolist()], stamps, strict=True)
        body = b"".join(itertools.chain.from_iterable(words))
        return body, np.cumsum(lengths[persons] + 8)
    padded, at = np.zeros((lengths.size, widest), dtype=np.uint8), np.arange(widest)
    padded[at < lengths[:, None]] = np.frombuffer(b"".join(names), dtype=np.uint8)
    whole, stamps = padded.view(f"V{widest}")[:, 0], np.frombuffer(moments, "V8")
    parts = []
    for start in range(0, persons.size, _PART):
        part = slice(start, start + _PART)
        rows = np.empty((persons[part].size, widest + 8), dtype=np.uint8)
        kept = np.ones(rows.shape, dtype=np.bool_)
        rows[:, :widest] = whole[persons[part]].view(np.uint8).reshape(-1, widest)
        rows[:, widest:] = stamps[part].view(np.uint8).reshape(-1, 8)
        np.less(at, lengths[persons[part], None], out=kept[:, :widest])
        parts.append(rows[kept].tobytes())
    return b"".join(parts), np.cumsum(lengths[persons] + 8)


def encoded(person: Person) -> bytes:
    """A person by text: its length in bytes of UTF-8 (4 bytes), then these.

    >>> encoded("Ann").hex(" "), encoded(2**64)[4:]
    ('00 00 00 03 41 6e 6e', b'18446744073709551616')
    """
    text = str(person).encode("utf-8", "surrogatepass")
    return len(text).to_bytes(LENGTH) + text


# Texts in columns: their bytes one after the other, and where each ends. Told apart by equality.
#
# A million texts as objects of Python cost seconds to number and to sort; as columns they cost a
# few sorts of whole numbers, which say the same.

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
        sizes = np.concatenate(lengths)
        ends = np.cumsum(sizes)
        return cls(np.concatenate(bodies), ends - sizes, ends)

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
        # Columns of whole numbers in the order of the letters, each as full as 63 bits allow. A
        # place takes only as many numbers as its letters need: where all texts agree, none. With
        # them how many numbers the last column may hold.
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
        found, one_of_each = _ranked(*(codes, room))
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


def named(parts: Iterable[Sequence[int | str]]) -> tuple[IntArray, tuple[bytes, ...]]:
    """Each person's position among all of them, and these: encoded, in the order of their bytes."""
    return Texts.of([str(one) for one in part] for part in parts).distinct()


# Who was where and when, as columns: in one order, digested, and packed for the store.

Row: TypeAlias = tuple[int, Person, int]
_MAGIC: Final = b"onr1"
_HEAD: Final = struct.Struct("<4sQ?")
_COLUMN: Final = struct.Struct("<qB")
NUMBERS: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, eq=False)
class Rows:
    """The latest visit of each person to each place, by place and person. Secret.

    place: positions among the keys. names: None if ``person`` holds whole numbers that are the
    persons themselves; otherwise the persons as :func:`onesided.monitor._rows.encoded`, each
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
        """What :func:`onesided.monitor._rows.ordered_digest` makes of the rows."""
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
        """What :meth:`packed` made. Errors: ValueError for bytes that are none of it."""
        try:
            magic, count, text = _HEAD.unpack_from(content)
            if magic != _MAGIC:
                raise ValueError("these are no rows")
            at, columns = _HEAD.size, []
            for _ in range(3):
                column, at = _widened(content, at, count)
                columns.append(column)
            packed = zlib.decompress(content[at:]) if at < len(content) else None
        except (zlib.error, struct.error, OverflowError) as error:
            raise ValueError(*error.args) from error
        steps, person, time = columns
        names = None
        if packed is not None:
            names = tuple(_split(packed))
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
