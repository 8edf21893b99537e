"""What a room must be able to do.

A question reads the columns that it uses once, as a snapshot, in which they are called c0, c1 and
so on: no expression of ours ever holds a name of the caller's, nor calls what his catalogue holds.
All else is relational algebra on snapshots, which narwhals spells alike for every engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

import narwhals as nw
from numpy.typing import NDArray

from onesided.conditions import Terms
from onesided.engine._reading import reading
from onesided.schema import Reading, Type
from onesided.store import CheckedFiles

if TYPE_CHECKING:
    from onesided.engine._sampling import Draw, Samples, Subject
    from onesided.noise import IntArray

Lazy: TypeAlias = nw.LazyFrame[Any]
Column: TypeAlias = NDArray[Any] | nw.Series[Any] | Sequence[Any]

KeyTypes: TypeAlias = Mapping[str, nw.dtypes.DType]

# Columns of our own beside the caller's.
KIND: Final = "onesided_kind"
LENGTH: Final = "onesided_length"
ORDER: Final = "onesided_order"
ROW: Final = "onesided_row"
_RANK: Final = "onesided_rank"


@dataclass(frozen=True, slots=True)
class Objects:
    """What a column of Python objects holds that is no text: how many, and some after their rows.

    >>> Objects("Python objects that are no text (int)", 1, ((1, "7"),)).count
    1
    """

    kind: str
    count: int
    some: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What one engine says of a snapshot, and how it takes what a translator wrote.

    held, types: by column, its own type and what conditions see in it. terms: how it writes.
    """

    held: Mapping[str, str]
    types: Mapping[str, Type | None]
    terms: Terms[Any]
    add: Callable[[Any, str], Any]
    keep: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class OfFiles:
    """A table, and the files that it was made of, which tell whether its rows are the same still.

    >>> OfFiles([1, 2], None).table
    [1, 2]
    """

    table: Any
    files: CheckedFiles | None


@dataclass(frozen=True, slots=True)
class Taking:
    """How a snapshot is taken.

    rows: False takes none, so that types can be asked of. records: columns that ride along in
    samples may be among them, and NaN stays. texts: each column of text that is read as another
    type has two beside it: in :func:`text_of` its place what it held, null for no value, and in
    :func:`unread_of` its place whether that could not be read.
    """

    rows: bool = True
    records: bool = False
    texts: bool = False


class Engine(ABC):
    """One table in its engine.

    types: of every column, as snapshots hold it. refused: columns that may not be used, with what
    they hold. readings: how columns of text are read. odd: columns of objects that are not all
    text; these are refused until a schema says what they are read as. packs: whether whole numbers
    packed into one are faster than columns of them. fixed: whether the rows are for good those that
    it was opened with. files: those that the rows are read from, where they are known.
    """

    packs: ClassVar[bool] = True
    fixed: bool = False
    files: CheckedFiles | None = None
    reader: ClassVar[Any]  # the module of a room that writes how text is read

    types: Mapping[str, nw.dtypes.DType]
    refused: Mapping[str, str]
    readings: Mapping[str, Reading] = MappingProxyType({})
    odd: Mapping[str, Objects] = MappingProxyType({})

    @property
    def same(self) -> bool:
        """Whether what was found of the rows when they were opened is true of them still."""
        return self.fixed or (self.files is not None and self.files.same())

    @abstractmethod
    def snapshot(self, columns: Sequence[str], how: Taking) -> AbstractContextManager[Lazy]:
        """These columns as they are now, called ``c0``, ``c1`` ...; nothing changes them any more.

        Within, every reading finds the same rows; afterwards there are none. Values are of types
        of the gate's list: enums and categories are text, NaN is null, text is read as declared.
        Without columns there is one, ``c0``, that holds nothing of the rows but their number.
        """

    def steps(self, columns: Sequence[str], how: Taking) -> list[dict[str, Any]]:
        """What is read of columns called c0, c1 ...: step by step, expressions by their names."""
        held = dict(zip(places_of(len(columns)), columns, strict=True))
        read = {at: self.readings[name] for at, name in held.items() if name in self.readings}
        plain = {at: self.reader.plain(self, name, at, how) for at, name in held.items()}
        if not read:
            return [plain]
        reader, texts = self.reader, {at: text_of(at) for at in read}
        others = {at: reader.column(at) for at in held if at not in read}
        known = {texts[at]: reader.known(at, one) for at, one in read.items()}
        beside = [at for at, one in read.items() if how.texts and one.kind != "text"]
        told = {texts[at]: reader.column(texts[at]) for at in beside}
        values = {at: reader.value(at, one) for at, one in read.items()}
        shaped = {at: reader.canonical(texts[at], one) for at, one in read.items()}
        lost = {unread_of(at): reader.lost(texts[at], values[at]) for at in beside}
        return [
            plain,
            {**others, **known},
            {**others, **told, **shaped},
            {**{at: values[at] if at in read else others[at] for at in held}, **told, **lost},
        ]

    def read_as(self, readings: Mapping[str, Reading]) -> None:
        """Read columns of text as declared; what is not of its form is null."""
        self.readings = dict(readings)
        self.retype(list(readings))
        self.refused = {n: kind for n, kind in self.refused.items() if n not in readings}

    def retype(self, names: Sequence[str]) -> None:
        """Ask for the types of these columns, as snapshots hold them."""
        with self.snapshot(names, Taking(rows=False)) as empty:
            found = empty.collect_schema().values() if names else ()
            self.types = {**self.types, **dict(zip(names, found, strict=True))}

    def numbered(self, frame: Lazy) -> Lazy | None:
        """The rows with their places from 1 in :data:`ROW`; None where they have no order."""
        del frame
        return None

    def refuse_collated(self, names: Sequence[str]) -> None:  # noqa: B027 - few have collations
        """Refuse columns of text not compared byte by byte. Errors: DataError."""

    def distinct(self, frame: Lazy) -> Lazy:
        """Each row once."""
        return frame.unique()

    def null_rows(self, frame: Lazy, column: str) -> int:
        """How many rows have no value in ``column``."""
        found = self.fetch(frame.filter(nw.col(column).is_null()).select(nw.len().alias(LENGTH)))
        return int(found[LENGTH][0])

    def key_counts(
        self, rows: Lazy, keys: Mapping[str, Column], types: KeyTypes, *, unit: str | None
    ) -> tuple[IntArray, IntArray]:
        """``(places, counts)``: distinct units (rows if None) per public key that occurs. Secret.

        keys: the key columns, and beside them their places in :data:`ORDER`. types: by key column,
        a type in which the rows' values and the keys can be compared.
        """
        # Grouped first: few groups meet the keys in place of many rows.
        pairs = rows if unit is None else self.distinct(rows.select(unit, *types))
        grouped = pairs.group_by(*types).agg(nw.len().alias(LENGTH))
        found = self.fetch(self.listed(grouped, keys, types).select(ORDER, LENGTH))
        return found[ORDER], found[LENGTH]

    def listed(self, rows: Lazy, keys: Mapping[str, Column], types: KeyTypes) -> Lazy:
        """Rows whose group is a public key, with the key's place in :data:`ORDER`."""
        same = [nw.col(name).cast(dtype) for name, dtype in types.items()]
        small = self.small(keys, like=types).with_columns(*same)
        return rows.with_columns(*same).join(small, on=list(types))

    @abstractmethod
    def small(self, columns: Mapping[str, Column], *, like: KeyTypes) -> Lazy:
        """A public table in the same engine. like: types that columns are compared in, if known."""

    def cast(self, columns: Mapping[str, Column], types: Mapping[str, nw.dtypes.DType]) -> Lazy:
        """A public table in the same engine, with columns of these types."""
        small = self.small(columns, like=types)
        casts = [nw.col(name).cast(dtype) for name, dtype in types.items()]
        return small.with_columns(*casts) if casts else small

    @abstractmethod
    def fetch(self, frame: Lazy) -> dict[str, NDArray[Any]]:
        """Aggregates, whole numbers in every column, as arrays."""

    def columns(self, frame: Lazy) -> dict[str, nw.Series[Any] | list[Any]]:
        """Every column in memory, as a series or as Python's values. Secret."""
        found = frame.collect()
        return {name: found[name] for name in found.columns}

    def groups(self, frame: Lazy) -> nw.DataFrame[Any]:
        """Groups that occur, in memory. Secret.

        Errors: DataError for bytes that an engine takes for text, which could not be told when all
        is paid.
        """
        found = frame.collect()
        if found.implementation.is_pyarrow():
            with reading():
                nw.to_native(found).validate(full=True)
        return found

    @abstractmethod
    def with_hash(self, frame: Lazy, names: Sequence[str], hashed: str) -> Lazy:
        """Add whole numbers of 64 bits, the same wherever the values of ``names`` are."""

    def leading(self, rows: Lazy, unit: str, order: Sequence[str], *, most: int) -> Lazy:
        """The first ``most`` rows of each unit, in the order of columns in which no two tie."""
        one = rows.with_columns(nw.lit(1).alias(_RANK))
        ranked = one.with_columns(nw.col(_RANK).cum_sum().over(unit, order_by=order).alias(_RANK))
        return ranked.filter(nw.col(_RANK) <= most).drop(_RANK)

    def first_codes(self, rows: Lazy, unit: str, code: str, *, most: int) -> Lazy | None:
        """Units' first groups by number, in a column ``code``; None where nothing is faster.

        rows: the unit and the number of a group, never null, repeated or not.
        """
        del rows, unit, code, most
        return None

    def packed_counts(
        self, rows: Lazy, unit: str, code: str, *, bits: int, most: int
    ) -> tuple[IntArray, IntArray] | None:
        """Units' first groups by number, counted a faster way; None where there is none."""
        del rows, unit, code, bits, most
        return None

    @abstractmethod
    def words(self, native: Any) -> Words:
        """How conditions are asked of a table of this engine."""

    def refuse_uncut(self) -> None:  # noqa: B027 - most engines have nothing to refuse
        """Refuse columns that cannot be cut out cleanly. Looks at no row. Errors: DataError."""

    @abstractmethod
    def sampler(self, subject: Subject, samples: Samples) -> Draw:
        """Check the rows; what is returned flips the coins and cuts. Errors: DataError."""

    def answer(self, columns: Mapping[str, Column], types: Mapping[str, nw.dtypes.DType]) -> Any:
        """A public table of the caller's own type; ``types`` are those of the key columns."""
        named = dict(zip(columns, places_of(len(columns)), strict=True))
        held = {named[name]: column for name, column in columns.items()}
        kinds = {named[name]: dtype for name, dtype in types.items()}
        return self.told(held, kinds, list(columns))

    @abstractmethod
    def told(self, columns: Mapping[str, Column], types: KeyTypes, names: Sequence[str]) -> Any:
        """As :meth:`answer`, of columns called c0, c1 ...; they are to be called ``names``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Tables of one library, and the engine that they enter.

    library: its module; what is not loaded has no table here. tables: their classes' names in it.
    opens: the module and the name of what makes an engine of a table; it may import the library.
    names: reads the columns' names.
    """

    library: str
    tables: tuple[str, ...]
    opens: str
    names: Callable[[Any], Sequence[object]]

    def open(self, native: Any) -> Engine:
        """The engine of a table of this library."""
        module, name = self.opens.split(":")
        made: Engine = getattr(import_module(f"onesided.engine.{module}"), name)(native)
        return made


def text_of(place: str) -> str:
    """What the text is called that a column held before it was read.

    >>> text_of("c3")
    'onesided_text_c3'
    """
    return f"onesided_text_{place}"


def unread_of(place: str) -> str:
    """What it is called whether the text of a column could not be read."""
    return f"onesided_unread_{place}"


def places_of(number: int) -> list[str]:
    """What columns are called inside.

    >>> places_of(2)
    ['c0', 'c1']
    """
    return [f"c{place}" for place in range(number)]
