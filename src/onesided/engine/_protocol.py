"""What a room must be able to do.

All else is relational algebra, which narwhals spells alike for every engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

import narwhals as nw
from numpy.typing import NDArray

from onesided.engine._reading import reading

if TYPE_CHECKING:
    from onesided.engine._sampling import Draw, Samples
    from onesided.engine._subject import Subject
    from onesided.engine._words import Words
    from onesided.noise import IntArray
    from onesided.schema import Reading

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


class Engine(ABC):
    """One table in its engine.

    frame: the rows, every column of a type that the gate knows; categories are decoded to their
    values. refused: columns that may not be used, with what they hold. texts: what the columns
    named in ``read`` held before they were read, each in :func:`text_of` of its place, and in
    :func:`unread_of` whether that could not be read; None where nothing was. odd: columns of
    objects that are not all text; these are refused until a schema says what they are read as.
    packs: whether whole numbers packed into one are faster than columns of them.
    """

    packs: ClassVar[bool] = True

    frame: Lazy
    refused: Mapping[str, str]
    texts: Lazy | None = None
    read: Sequence[str] = ()
    odd: Mapping[str, Objects] = MappingProxyType({})

    @abstractmethod
    def read_as(self, readings: Mapping[str, Reading]) -> None:
        """Read columns of text as these types; what is not of its form is null."""

    def numbered(self, frame: Lazy) -> Lazy | None:
        """The rows with their places from 1 in :data:`ROW`; None where they have no order."""
        del frame
        return None

    def refuse_collated(self, names: Sequence[str]) -> None:  # noqa: B027 - few have collations
        """Refuse columns of text not compared byte by byte. Errors: DataError."""

    def settle(self) -> None:  # noqa: B027 - few ask twice
        """Nothing changes from now on: what types and settings decide need be asked only once."""

    def distinct(self, frame: Lazy) -> Lazy:
        """Each row once."""
        return frame.unique()

    def null_rows(self, frame: Lazy, column: str, dtype: nw.dtypes.DType) -> int:
        """How many rows have no value (null or NaN) in ``column``."""
        found = self.fetch(frame.filter(missing(column, dtype)).select(nw.len().alias(LENGTH)))
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
        small = self.small(keys, like=list(types)).with_columns(*same)
        return rows.with_columns(*same).join(small, on=list(types))

    @abstractmethod
    def small(self, columns: Mapping[str, Column], *, like: Sequence[str]) -> Lazy:
        """A public table in the same engine; columns in ``like`` are to have the data's types."""

    def cast(self, columns: Mapping[str, Column], types: Mapping[str, nw.dtypes.DType]) -> Lazy:
        """A public table in the same engine, with columns of these types."""
        small = self.small(columns, like=list(types))
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
    def answer(self, columns: Mapping[str, Column], types: Mapping[str, nw.dtypes.DType]) -> Any:
        """A public table of the caller's own type; ``types`` are those of the key columns."""

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

    @abstractmethod
    def sampler(self, subject: Subject, samples: Samples) -> Draw:
        """Check the rows; what is returned flips the coins and cuts. Errors: DataError."""


def text_of(place: int) -> str:
    """The name of what a column of text held before it was read."""
    return f"onesided_text_{place}"


def unread_of(place: int) -> str:
    """The name of whether a text could not be read."""
    return f"onesided_unread_{place}"


def missing(column: str, dtype: nw.dtypes.DType) -> nw.Expr:
    """Null, or NaN in a column of floats.

    >>> import polars as pl
    >>> ages = nw.from_native(pl.DataFrame({"age": [7.0, None, float("nan")]}))
    >>> len(ages.filter(missing("age", nw.Float64())))
    2
    """
    missing = nw.col(column).is_null()
    return missing | nw.col(column).is_nan() if dtype.is_float() else missing
