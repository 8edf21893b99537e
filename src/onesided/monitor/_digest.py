"""What stands for a batch's rows wherever keys and proofs are made of them: 32 bytes.

A tree of SHA-256: one hash for each place that has rows, over their encodings in the order of
their bytes, and one over those. So every engine can make it from what it has grouped by place
anyway, in any order of rows, and only one hash for each place has to travel. It is not keyed, and
need not be: two sets of rows with one digest are a collision of SHA-256. (A sum of hashes, the
usual one for multisets, would need a key, and Spark writes what it computes with into its plans.)

It is as secret as the rows: whoever has it can confirm a guess at all of them. It is kept nowhere;
what is kept is keyed by a secret (:mod:`onesided.monitor._keys`).
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from onesided.noise import IntArray

Person = int | str
Leaf = tuple[int, bytes]
LENGTH: Final = 4  # bytes that say how long a person is
_LEAF: Final = b"onesided monitor rows, version 2\n"
_HASH: Final = 32
_INT64: Final = 2**63
_FIRST: Final = np.zeros(1, dtype=np.int64)
_PADDED: Final = 4  # times its bytes: so far names are laid out in one width
_PART: Final = 1 << 14  # rows that are Python's values at a time


def rows_digest(places: Sequence[int], persons: Sequence[Person], times: Sequence[int]) -> bytes:
    """The digest of rows: of each person's latest visit to each place, on which answers depend.

    A row of whole numbers below 2^63 in size is person and time, 8 bytes each (big-endian, two's
    complement). Any other is the length of the person as UTF-8 (4 bytes), that, and the time.

    >>> rows_digest([0, 1], [7, 8], [1, 1]) == rows_digest([1, 0, 0], [8, 7, 7], [1, 0, 1])
    True
    >>> rows_digest([0], [7], [1]) == rows_digest([0], ["7"], [1])
    False
    """
    if not len(persons):
        return root_of([], kind="")
    kind = "str" if isinstance(persons[0], str) else "int"
    if kind == "int" and all(-_INT64 <= int(person) < _INT64 for person in persons):
        arrays = [np.array(column, dtype=np.int64) for column in (places, persons, times)]
        return _root(_numbered(*arrays), kind=kind)
    return root_of(_texts(places, persons, times), kind="long" if kind == "int" else kind)


def root_of(leaves: Iterable[Leaf], *, kind: str) -> bytes:
    """The digest from the hash of each place's rows, in the order of places.

    kind: of the persons: "int", "str", "long" for whole numbers beyond 64 bits, "" without rows.

    >>> root_of([], kind="") == rows_digest([], [], [])
    True
    """
    root = _started(kind)
    for place, leaf in leaves:
        root.update(place.to_bytes(8) + leaf)
    return root.digest()


def _numbered(
    places: IntArray, persons: IntArray, times: IntArray
) -> Iterator[tuple[IntArray, bytes]]:
    """The leaves of all places, in their order."""
    order = np.lexsort((times, persons.view(np.uint64), places))
    places, persons, times = places[order], persons[order], times[order]
    last = np.ones(places.size, dtype=np.bool_)  # the latest visit of a person to a place
    last[:-1] = (places[1:] != places[:-1]) | (persons[1:] != persons[:-1])
    yield from _leaves(places[last], *_wide(persons[last], times[last]))


def ordered_digest(
    places: IntArray,
    persons: IntArray,
    times: IntArray,
    names: Sequence[bytes] | None,
    *,
    text: bool,
) -> bytes:
    """:func:`rows_digest` of latest visits in columns, in the order of places and persons.

    names: what ``persons`` are positions of, as :func:`encoded` and in the order of their bytes.

    >>> columns = np.array([0, 1]), np.array([7, 8]), np.array([1, 1])
    >>> ordered_digest(*columns, None, text=False) == rows_digest([0, 1], [7, 8], [1, 1])
    True
    """
    if not places.size:
        return root_of([], kind="")
    if names is None:
        return _root(_leaves(places, *_wide(persons, times)), kind="int")
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


def _wide(persons: IntArray, times: IntArray) -> tuple[bytes, IntArray]:
    body = np.stack((persons, times), axis=1).astype(">i8").tobytes()
    return body, np.arange(1, persons.size + 1) * 16


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


def _texts(
    places: Sequence[int], persons: Sequence[Person], times: Sequence[int]
) -> Iterator[Leaf]:
    latest: dict[tuple[int, Person], int] = {}
    for place, person, time in zip(places, persons, times, strict=True):
        key = place, person
        latest[key] = max(time, latest.get(key, time))
    rows = sorted((place, encoded(person), time) for (place, person), time in latest.items())
    for place, group in itertools.groupby(rows, key=lambda row: row[0]):
        body = b"".join(word + time.to_bytes(8, signed=True) for _, word, time in group)
        yield place, hashlib.sha256(body).digest()


def encoded(person: Person) -> bytes:
    """A person by text: its length in bytes of UTF-8 (4 bytes), then these.

    >>> encoded("Ann").hex(" "), encoded(2**64)[4:]
    ('00 00 00 03 41 6e 6e', b'18446744073709551616')
    """
    text = str(person).encode("utf-8", "surrogatepass")
    return len(text).to_bytes(LENGTH) + text
