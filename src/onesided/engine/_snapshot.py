"""One snapshot of the columns of a question, and what is counted and drawn of it."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine._keys import PublicKeys
from onesided.engine._packed import Packing
from onesided.engine._protocol import (
    AFTER,
    KIND,
    LENGTH,
    ORDER,
    Column,
    Conditions,
    Engine,
    Lazy,
    places_of,
    reading,
    unread_of,
)
from onesided.errors import DataError, UnknownColumnError, first_line
from onesided.mechanism import RecordSample
from onesided.noise import BoolArray, IntArray, Noise
from onesided.policy import Policy, Predicate, Rule

# Cutting units down to some of their groups.
#
# Each unit orders the groups by a hash of its own name and the group's, and keeps the first
# ``most`` of those that it is in. Nothing else may enter: by an order of the groups that all units
# share, the last groups would be empty; by how many units are in a group, or by a unit's rows, one
# unit would decide what another is counted in, or one visit what a unit keeps of the others.
#
# Promise: a unit that leaves d of its groups loses at most d of those it was counted in, and gains
# at most d others. Proof: docs/proofs/first-groups.md.
#
# Keys of several narrow columns are one whole number: an engine sorts and compares one faster than
# a row of columns, and only the columns of keys that are published are ever made again.

CODE: Final = "onesided_code"
_HASH: Final = "onesided_hash"
_BITS: Final[Mapping[type, int]] = {
    nw.Boolean: 1,
    nw.Int8: 8,
    nw.UInt8: 8,
    nw.Int16: 16,
    nw.UInt16: 16,
    nw.Int32: 32,
    nw.UInt32: 32,
}


def first_groups(
    engine: Engine, pairs: Lazy, unit: str, names: Sequence[str], *, most: int
) -> Lazy:
    """The pairs in at most ``most`` groups of each unit; ``pairs`` holds each of them once.

    Groups of equal hash come in the order of their names. Counting them all as last would let one
    visit that is dropped bring in two others.

    >>> import polars as pl
    >>> from onesided.engine import Table
    >>> table = Table(pl.DataFrame({"unit": [1, 1, 2], "place": ["a", "b", "a"]}))
    >>> with table.take(["unit", "place"]) as rows:
    ...     kept = first_groups(table.engine, rows.frame, "c0", ["c1"], most=1)
    ...     sorted(kept.collect()["c0"].to_list())
    [1, 2]
    """
    hashed = engine.with_hash(pairs, [unit, *names], _HASH)
    return engine.leading(hashed, unit, [_HASH, *names], most=most).drop(_HASH)


def code_counts(
    engine: Engine,
    rows: Lazy,
    unit: str,
    *,
    bits: int,
    most: int | None,
    packing: Packing | None = None,
) -> tuple[IntArray, IntArray]:
    """``(numbers, counts)``: in how many units' first groups each number is. Secret.

    rows: the unit and the number of a group (below ``2 ** bits``) in the column :data:`CODE`,
    repeated or not. most: None counts units in all their groups. packing: of more rows than these,
    quicker to find. Which way is taken depends on the engine, on types and on how many groups there
    may be: the two choose differently.
    """
    packing = packing or Packing.of(engine, rows, unit, bits=bits, most=most)
    if packing is not None:
        return packing.counts(rows, unit, CODE)
    pairs = None if most is None else engine.first_codes(rows, unit, CODE, most=most)
    if pairs is None:
        pairs = engine.distinct(rows.select(unit, CODE))
        if most is not None:
            pairs = first_groups(engine, pairs, unit, [CODE], most=most)
    found = engine.fetch(pairs.group_by(CODE).agg(nw.len().alias(LENGTH)))
    return found[CODE], found[LENGTH]


LOWER: Final = "lower"
_CODE_BITS: Final = 62


@dataclass(frozen=True, slots=True)
class KeyCodes:
    """Keys as whole numbers below ``2 ** bits``, one to one, by the columns' types alone.

    They sort like the keys. types: the columns' types.

    >>> import polars as pl
    >>> from onesided.engine import Table
    >>> rows = pl.DataFrame({"hour": [7], "weekend": [True]}, schema_overrides={"hour": pl.Int8})
    >>> table = Table(rows)
    >>> KeyCodes.of(table.schema, table.engine).bits
    9
    """

    types: Mapping[str, nw.dtypes.DType]
    engine: Engine

    @classmethod
    def of(cls, types: Mapping[str, nw.dtypes.DType], engine: Engine) -> KeyCodes | None:
        """None unless all columns are whole numbers or booleans, and narrow enough together."""
        if not engine.packs:
            return None
        widths = [_bits(dtype) for dtype in types.values()]
        if sum(widths) > _CODE_BITS:
            return None
        return cls(types, engine)

    @property
    def bits(self) -> int:
        """How many bits a number has."""
        return sum(map(_bits, self.types.values()))

    def coded(self, rows: Lazy, unit: str | None) -> Lazy:
        """The unit and the number of each row's key. No column may hold null."""
        parts = []
        for name, dtype in self.types.items():
            given = nw.col(name).cast(nw.Int64())
            parts.append(given + _below(dtype) if _below(dtype) else given)
        widths = list(map(_bits, self.types.values()))
        code = parts[0]
        for part, width in zip(parts[1:], widths[1:], strict=True):
            code = code * 2**width + part
        return rows.select(*([unit] if unit else []), code.alias(CODE))

    def columns(self, keys: IntArray) -> dict[str, NDArray[Any]]:
        """The key columns again, each in its own type."""
        columns, shift = {}, self.bits
        for name, dtype in self.types.items():
            shift -= _bits(dtype)
            value = ((keys >> shift) & (2 ** _bits(dtype) - 1)) - _below(dtype)
            columns[name] = value.astype(type(dtype).__name__.lower().replace("boolean", "bool"))
        return columns

    def counts(self, rows: Lazy, *, unit: str | None, most: int | None) -> dict[str, IntArray]:
        """Units per number that occurs, each in ``most`` at most. Secret, as are the numbers."""
        coded = self.coded(rows, unit)
        if unit is None:
            found = self.engine.fetch(coded.group_by(CODE).agg(nw.len().alias(LENGTH)))
            numbers, counts = found[CODE], found[LENGTH]
        else:
            numbers, counts = code_counts(self.engine, coded, unit, bits=self.bits, most=most)
        if np.all(numbers[1:] > numbers[:-1]):
            return {CODE: numbers, LENGTH: counts}
        # In the numbers' own order: no engine's threads decide which draw is whose.
        order = np.argsort(numbers)
        return {CODE: numbers[order], LENGTH: counts[order]}

    def published(self, found: Any, told: IntArray) -> dict[str, NDArray[Any]]:
        """The keys whose noisy count is told, with it: largest first, then by key.

        Only their numbers are turned into keys again, in columns of their own.
        """
        kept = np.flatnonzero(told)
        lower, keys = told[kept], found[CODE][kept]
        most = int(lower.max(initial=0))
        if most < 2 ** (_CODE_BITS - self.bits):
            packed = (most - lower) << self.bits | keys
            packed.sort()
            keys, lower = packed & (2**self.bits - 1), most - (packed >> self.bits)
        else:
            order = np.lexsort((keys, -lower))
            keys, lower = keys[order], lower[order]
        return {**self.columns(keys), LOWER: lower}


def _bits(dtype: nw.dtypes.DType) -> int:
    """The bits of a type of whole numbers or booleans; too many for others."""
    return _BITS.get(type(dtype), _CODE_BITS + 1)


def _below(dtype: nw.dtypes.DType) -> int:
    """What makes the type's least value 0."""
    return int(2 ** (_bits(dtype) - 1)) if dtype.is_signed_integer() else 0


# The columns that a question uses, as they were when it looked.
#
# Inside, columns are called c0, c1 and so on, and so are those that are computed of them. What
# people call them stands in :attr:`Snapshot.names`, for conditions and for messages.

_HOLDS: Final = "onesided_holds"
_LARGEST: Final = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Some columns of a table, all of one moment. Secret; gone when the question has been read.

    frame: the rows. names: what its columns are called there, by the names that people use: other
    columns are not in it. Methods take the names of ``frame``.

    >>> import polars as pl
    >>> from onesided.engine import Table
    >>> table = Table(pl.DataFrame({"person": [1, 1, None], "age": [7.0, None, 9.0]}))
    >>> with table.take(["person"]) as rows:
    ...     rows.height(), rows.null_rows(rows.at("person")), list(rows.names)
    (3, 1, ['person'])
    """

    engine: Engine
    frame: Lazy
    names: Mapping[str, str]
    refused: Mapping[str, str]

    def at(self, name: str) -> str:
        """What a column is called here. Errors: UnknownColumnError for one that was not taken."""
        if name not in self.names:
            raise UnknownColumnError(
                f"The question did not take the column {name!r}.",
                hint=f"It took {', '.join(self.names) or 'none'}. Please report this.",
                column=name,
            )
        return self.names[name]

    def called(self, place: str) -> str:
        """What people call one of the columns here."""
        return next(name for name, own in self.names.items() if own == place)

    @property
    def schema(self) -> Mapping[str, nw.dtypes.DType]:
        """The types of its columns, by their names here."""
        return dict(self.frame.collect_schema())

    def only(self, names: Sequence[str]) -> Snapshot:
        """The same rows, of which nobody sees other columns."""
        left = {name: self.at(name) for name in names}
        if not left or left == self.names:
            return replace(self, names=left)
        return replace(self, frame=self.frame.select(*left.values()), names=left)

    def without_texts(self) -> Snapshot:
        """The same without the texts that were read."""
        if not any(unread_of(at) in self.schema for at in self.names.values()):
            return self
        return replace(self, frame=self.frame.select(*self.names.values()))

    def of_rows(self, frame: Lazy) -> Snapshot:
        """The same columns with these rows."""
        return replace(self, frame=frame)

    def fresh(self, names: Iterable[str]) -> dict[str, str]:
        """What further columns are to be called here."""
        first = 1 + max((int(one[1:]) for one in self.names.values()), default=-1)
        return {name: f"c{place}" for place, name in enumerate(names, first)}

    def with_columns(self, columns: Mapping[str, nw.Expr]) -> Snapshot:
        """With columns computed row by row. Errors: DataError where the engine cannot."""
        added = self.fresh(columns)
        try:
            frame = self.frame.with_columns(*(e.alias(added[n]) for n, e in columns.items()))
        except Exception as error:
            raise DataError(
                f"{', '.join(columns)} cannot be computed: {first_line(error)}",
                hint="Cast the column to 64-bit whole numbers or to floats. Nothing was drawn and "
                "nothing was recorded.",
            ) from error
        return replace(self, frame=frame, names={**self.names, **added})

    def null_rows(self, column: str) -> int:
        """How many rows have no value in ``column``."""
        with reading():
            return self.engine.null_rows(self.frame, column)

    def lost(self, column: str) -> nw.Expr:
        """Which rows have no finite value in ``column``: what conditions take for unknown."""
        value = nw.col(column)
        if not self.schema[column].is_float():
            return value.is_null()
        return value.is_null() | (value > _LARGEST) | (value < -_LARGEST)

    def height(self) -> int:
        """How many rows there are."""
        return int(self.scalar(self.frame.select(nw.len().alias(LENGTH))))

    def rows_where(self, which: nw.Expr) -> int:
        """How many rows there are of which this is true."""
        return int(self.scalar(self.frame.filter(which).select(nw.len().alias(LENGTH))))

    def nobodys(self, unit: str) -> nw.Expr:
        """Whether a row has no unit: null, or an empty text.

        >>> import polars as pl
        >>> from onesided.engine import Table
        >>> with Table(pl.DataFrame({"person": ["1", "", None]})).take(["person"]) as rows:
        ...     rows.rows_where(rows.nobodys(rows.at("person")))
        2
        """
        empty = nw.col(unit).is_null()
        return empty | (nw.col(unit) == "") if isinstance(self.schema[unit], nw.String) else empty

    def of_somebody(self, unit: str) -> Snapshot:
        """The same without the rows that are nobody's."""
        return self.of_rows(self.frame.filter(~self.nobodys(unit)))

    def of_first_dates(self, unit: str, column: str, most: int) -> Snapshot:
        """The same with the rows of each unit's first dates alone; no date comes last."""
        none, date = self.fresh(("none", "date")).values()
        told = {
            none: nw.when(nw.col(column).is_null()).then(1).otherwise(0),
            date: nw.col(column).fill_null(dt.date.max),
        }
        dated = self.frame.with_columns(**told)
        pairs = self.engine.distinct(dated.select(unit, *told))
        kept = self.engine.leading(pairs, unit, list(told), most=most)
        return self.of_rows(dated.join(kept, on=[unit, *told], how="inner").select(*self.schema))

    def unreadable(self) -> dict[str, int]:
        """How many texts of a column cannot be read as declared, where some cannot. Secret.

        Of a snapshot with texts beside what is read.
        """
        held = self.schema
        flags = {name: unread_of(at) for name, at in self.names.items() if unread_of(at) in held}
        sums = (
            nw.when(nw.col(one)).then(1).otherwise(0).sum().alias(one) for one in flags.values()
        )
        found = self.arrays(self.frame.select(*sums)) if flags else {}
        told = {name: int(found[flag].sum()) for name, flag in flags.items()}
        for name, objects in self.engine.odd.items():
            if name in self.names and name in self.engine.readings:
                told[name] = told.get(name, 0) + objects.count
        return {name: count for name, count in told.items() if count}

    def check(self, predicate: Predicate) -> None:
        """Translate a condition. Errors: as :class:`Conditions`."""
        self._conditions(self.frame).where(predicate)

    def undecided_rows(self, rules: Sequence[Rule]) -> int:
        """How many rows some rule could not decide, and so counts as protected."""
        predicates = [predicate for rule in rules for predicate in rule.predicates]
        if not predicates:
            return 0
        frame, names = self.frame, [f"{_HOLDS}_{place}" for place in range(len(predicates))]
        for name, predicate in zip(names, predicates, strict=True):
            frame = self._conditions(frame).with_values(predicate, name)
        undecided = nw.any_horizontal(*(nw.col(n).is_null() for n in names), ignore_nulls=True)
        return int(self.scalar(frame.filter(undecided).select(nw.len().alias(LENGTH))))

    def select(
        self,
        *,
        unit: str | None,
        by: Sequence[str],
        where: Predicate | None,
        rules: Sequence[Rule],
        default: str,
        counted: frozenset[str] | None,
    ) -> Lazy:
        """The rows to count, reduced to the unit and grouping columns.

        A unit's kind is decided over all its rows, before ``where`` picks some of them.
        """
        frame = self.frame
        if rules and counted is not None and unit is None:
            frame = self._conditions(frame).of_kinds(rules, default, counted)
        elif rules and counted is not None:
            frame = self.with_kind(frame, unit, rules, default).filter(
                nw.col(KIND).is_in(sorted(counted))
            )
        if where is not None:
            frame = self._conditions(frame).where(where)
        names = [*([unit] if unit else []), *(name for name in by if name != unit)]
        return frame.select(*names) if names else frame

    def with_kind(
        self,
        frame: Lazy,
        unit: str | None,
        rules: Sequence[Rule],
        default: str,
        *,
        codes: Mapping[str, int] | None = None,
    ) -> Lazy:
        """Add the kind: the first rule all of whose conditions hold for the row, or its unit.

        codes: numbers to tell kinds by instead of names; -1 for a kind without one.
        """

        def told(name: str) -> nw.Expr:
            return nw.lit(name) if codes is None else nw.lit(codes.get(name, -1), nw.Int8())

        kind = told(default)
        for place, rule in reversed(list(enumerate(rules))):
            holds = []
            for number, predicate in enumerate(rule.predicates):
                name = f"{_HOLDS}_{place}_{number}"
                holds.append(nw.col(name))
                # Whether it is true or unknown for the row, or for any row of its unit.
                conditions = self._conditions(frame)
                if unit is None:
                    frame = conditions.with_not_false(predicate, name)
                    continue
                units = self.engine.distinct(conditions.where_not_false(predicate).select(unit))
                units = units.with_columns(nw.lit(True).alias(name))  # noqa: FBT003
                frame = frame.join(units, on=unit, how="left")
                frame = frame.with_columns(nw.col(name).fill_null(False))  # noqa: FBT003
            met = nw.all_horizontal(*holds, ignore_nulls=False)
            kind = nw.when(met).then(told(rule.kind)).otherwise(kind)
        return frame.with_columns(kind.alias(KIND))

    def _conditions(self, frame: Lazy) -> Conditions:
        return Conditions(self.engine.words(nw.to_native(frame)), self.names, self.refused)

    def total(self, rows: Lazy, *, unit: str | None) -> int:
        """The number of distinct units (of rows if ``unit`` is None)."""
        single = nw.len() if unit is None else nw.col(unit).n_unique()
        return whole_of(self.scalar(rows.select(single.alias(LENGTH))))

    def pairs(self, rows: Lazy, *, unit: str | None, by: Sequence[str]) -> Lazy:
        """Each unit's groups, once each."""
        return rows if unit is None else self.engine.distinct(rows.select(unit, *by))

    def counts(
        self, rows: Lazy, keys: PublicKeys, *, unit: str | None, most: int | None = None
    ) -> IntArray:
        """Per public key, its number of distinct units (of rows if ``unit`` is None).

        ``most``: each unit is cut down to that many of its groups, see ``_first_groups``.
        Groups are told apart by the engine alone, and answers come back by the keys' places:
        Python's equality is another one, and would merge or miss groups.
        """
        counts = np.zeros(keys.size, dtype=np.int64)
        bits = max(keys.size - 1, 1).bit_length()
        with reading():
            packing = None
            if unit is not None:
                packing = Packing.of(self.engine, rows, unit, bits=bits, most=most)
            if unit is not None and (packing or most is not None):
                listed = self.join_keys(rows.select(unit, *keys.names), keys)
                coded = listed.select(unit, nw.col(ORDER).cast(nw.Int64()).alias(CODE))
                places, found = code_counts(
                    self.engine, coded, unit, bits=bits, most=most, packing=packing
                )
            else:
                places, found = self.engine.key_counts(
                    rows, self._places(keys), self._types(keys), unit=unit
                )
        counts[places] = found
        return counts

    def outside(self, rows: Lazy, keys: PublicKeys, *, unit: str | None) -> int:
        """How many (unit, group) pairs are in no public group."""
        pairs = self.pairs(rows, unit=unit, by=keys.names)
        everywhere = whole_of(self.scalar(pairs.select(nw.len().alias(LENGTH))))
        return everywhere - int(self.counts(rows, keys, unit=unit).sum())

    def units_over(self, rows: Lazy, keys: PublicKeys, *, unit: str, most: int) -> tuple[int, int]:
        """``(how many units are in more than most public groups, the most groups of any)``."""
        pairs = self.join_keys(self.pairs(rows, unit=unit, by=keys.names), keys)
        sizes = pairs.group_by(unit).agg(nw.len().alias(LENGTH))
        over = nw.when(nw.col(LENGTH) > most).then(1).otherwise(0)
        summary = sizes.select(over.sum().alias("units"), nw.col(LENGTH).max().alias("most"))
        ((units, largest),) = self.fetch(summary, ["units", "most"])
        return whole_of(units), whole_of(largest)

    def join_keys(self, pairs: Lazy, keys: PublicKeys) -> Lazy:
        """Rows whose group is a public key, with the key's place in the list."""
        return self.engine.listed(pairs, self._places(keys), self._types(keys))

    def _places(self, keys: PublicKeys, place: str = ORDER) -> dict[str, Column]:
        """The keys, and their places, as columns."""
        return {**comparable_keys(keys, self.schema, keys.names), place: np.arange(keys.size)}

    def _types(self, keys: PublicKeys) -> dict[str, nw.dtypes.DType]:
        """Types in which rows and keys can be compared."""
        return {name: self.comparable(name) for name in keys.names}

    def comparable(self, name: str) -> nw.dtypes.DType:
        """A type in which a column's values and public ones can be compared."""
        return joinable(self.schema[name])

    def numbered(self, keys: PublicKeys, name: str) -> Snapshot:
        """The same with a column of each row's place among the keys, by row alone.

        A row of none of them has the place after the last; one with a null in a key column, null.
        """
        types = self._types(keys)
        same = [nw.col(key).cast(dtype) for key, dtype in types.items()]
        small = self.engine.small(self._places(keys, name), like=types).with_columns(*same)
        joined = self.frame.with_columns(*same).join(small, on=list(keys.names), how="left")
        empty = [nw.col(key).is_null() for key in keys.names]
        place = nw.col(name).fill_null(keys.size)
        told = nw.when(~nw.any_horizontal(*empty, ignore_nulls=False)).then(place)
        return self.of_rows(joined.with_columns(told.cast(nw.Int64()).alias(name)))

    def not_false(self, predicate: Predicate) -> Lazy:
        """The rows for which a condition is true or unknown. Secret."""
        return self._conditions(self.frame).where_not_false(predicate)

    def scalar(self, frame: Lazy) -> Any:
        ((value,),) = self.fetch(frame, frame.collect_schema().names())
        return value

    def fetch(self, frame: Lazy, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Per-group numbers as Python tuples. Errors: as :meth:`arrays`."""
        found = self.arrays(frame.select(*names))
        return list(zip(*(found[name].tolist() for name in names), strict=True))

    def arrays(self, frame: Lazy) -> dict[str, NDArray[Any]]:
        """Per-group whole numbers by column; 0 where there is none.

        Errors: DataError if the engine cannot read the table, as with a damaged file.
        """
        with reading():
            return self.engine.fetch(frame)

    def columns(self, names: Sequence[str]) -> dict[str, nw.Series[Any] | list[Any]]:
        """Whole columns in memory, in lists where there is no PyArrow. Secret.

        Errors: as :meth:`arrays`.
        """
        with reading():
            return self.engine.columns(self.frame.select(*names))


def comparable_keys(
    keys: PublicKeys, schema: Mapping[str, nw.dtypes.DType], names: Sequence[str]
) -> dict[str, Column]:
    """The key columns, called ``names``, in a form in which no engine takes two keys for one."""
    columns: dict[str, Column] = dict(zip(names, keys.arrays, strict=True))
    # Left to themselves some engines take a float for 1 beside 2^63, and keys become equal.
    wide = [name for name in names if is_wide(schema[name])]
    return columns | {name: [str(value) for value in columns[name]] for name in wide}


def whole_of(value: Any) -> int:
    """A count that an engine may give as None or NaN when there was nothing to count.

    >>> whole_of(3.0), whole_of(None), whole_of(float("nan"))
    (3, 0, 0)
    """
    return 0 if value is None or value != value else int(value)  # noqa: PLR0124 - NaN


def is_wide(dtype: nw.dtypes.DType) -> bool:
    """Whether whole numbers of this type may be beyond 64 bits with a sign.

    >>> is_wide(nw.UInt64()), is_wide(nw.Int64())
    (True, False)
    """
    return isinstance(dtype, nw.UInt64 | nw.UInt128 | nw.Int128)


def joinable(dtype: nw.dtypes.DType) -> nw.dtypes.DType:
    """A type in which both sides of a join can hold every key."""
    return nw.Int64() if dtype.is_integer() and not is_wide(dtype) else dtype


# Which units are kept, and their rows: decided once, cut out once.
#
# What is returned is held in memory: a lazy answer evaluated again gives the same rows.

Samples: TypeAlias = Mapping[str, RecordSample]
# Of units by open kind, and of all: which are kept, by a rule that remembers (None: by coins).
Keeping: TypeAlias = Callable[
    [Mapping[str, Sequence[Any]], Sequence[Any]], Mapping[str, Sequence[bool]]
]
# Rows in one step: few enough for a small memory, enough to keep an engine busy.
BATCH: Final = 2**20
# Per row of a batch, the place of its kind among those asked for, or -1; None if all are of one.
Kinds = NDArray[Any] | None


class Subject(Protocol):
    """A snapshot with a unit and a policy."""

    @property
    def table(self) -> Snapshot:
        """The rows. Secret."""

    @property
    def unit(self) -> str | None:
        """The column that says whose row it is, as it is called there; None if each row is one."""

    @property
    def policy(self) -> Policy:
        """What tells kinds of units apart."""

    def rows(
        self, columns: Sequence[str], *, where: Predicate | None, counted: frozenset[str] | None
    ) -> Lazy:
        """The rows to look at, reduced to the unit and ``columns``. Secret."""


class Rows(ABC):
    """The rows of one snapshot of all columns. names: what people call them.

    What :meth:`finish` returns is made of the kept rows alone. A data frame holds more than rows.
    Left as they are, an index, chunks or stored metadata would tell where rows are missing, lists
    of categories would name values of suppressed rows, and shared buffers of text would hold them
    in full.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject, names = subject, list(subject.table.names)
        self.native: Any = nw.to_native(subject.table.frame)
        self.names = dict(zip(places_of(len(names)), names, strict=True))

    @abstractmethod
    def batches(self, kinds: Sequence[str]) -> Iterator[tuple[Any, int, Kinds]]:
        """Every row of these kinds once, as (batch, its height, kinds); others may come along."""

    @abstractmethod
    def keep(self, batch: Any, mask: BoolArray) -> Any:
        """The rows of a batch where ``mask`` is true."""

    @abstractmethod
    def of_units(self, unit: str, chosen: nw.Series[Any]) -> Any:
        """All rows of the chosen units."""

    @abstractmethod
    def finish(self, parts: Sequence[Any]) -> Any:
        """The parts as one table of the caller's own type, in memory."""

    def coded(self, frame: Lazy, kinds: Sequence[str]) -> Lazy:
        """Rows with the place of their kind in ``kinds`` beside them, below 0 for others."""
        table, policy = self.subject.table, self.subject.policy
        codes = {kind: place for place, kind in enumerate(kinds)}
        return table.with_kind(frame, None, policy.rules, policy.default_kind, codes=codes)

    def of_kinds(self, kinds: Sequence[str]) -> Lazy:
        """Rows of these kinds as they are; their kind beside them if there are several."""
        table, policy = self.subject.table, self.subject.policy
        if not policy.rules:
            return table.frame
        frame = self.coded(table.frame, kinds).filter(nw.col(KIND) >= 0)
        return frame.select(*self.names, *([KIND] if len(kinds) > 1 else []))


def unclean(column: str, kind: str, other: str) -> DataError:
    return DataError(
        f"Column {column!r} holds {kind}, out of which rows cannot be cut cleanly.",
        hint=f"Cast it to {other}. Nothing was drawn and nothing was recorded.",
        column=column,
    )


@dataclass(frozen=True, slots=True)
class Cut:
    """The kept rows, in the caller's own frame type, and how many units of each kind."""

    frame: Any
    units: Mapping[str, int]


Draw: TypeAlias = Callable[[Noise | None], Cut]


def look(
    taking: AbstractContextManager[Subject], samples: Samples, keeping: Keeping | None = None
) -> Draw:
    """Check the rows; what is returned flips the coins and cuts. Secret until then.

    taking: takes all columns; they are held until the rows are cut, or nobody can cut them.
    keeping: says who is kept, now and as the last step, in place of coins.
    Errors: DataError for columns that cannot be cut cleanly.

    >>> import polars as pl
    >>> from onesided.engine import Table
    >>> from onesided.policy import sensitive
    >>> from onesided.session._context import QueryContext
    >>> table, policy = Table(pl.DataFrame({"minor": [True, False]})), sensitive("minor")
    >>> context = QueryContext(policy=policy, unit=None, table=table, account=None)
    >>> draw = look(context.records(), {"open": RecordSample(1)})
    >>> draw(None).frame["minor"].sum()  # none that is sensitive
    0
    """
    held = ExitStack()
    try:
        subject = held.enter_context(taking)
        draw = subject.table.engine.sampler(subject, samples, keeping)
    except BaseException:
        held.close()
        raise

    def cut(noise: Noise | None) -> Cut:
        with held:
            return draw(noise)

    return cut


def sampler(rows: Rows, samples: Samples, keeping: Keeping | None) -> Draw:
    """How rows that pass through this process are sampled; errors as :func:`look`."""
    subject = rows.subject
    with reading():
        rows.finish(())  # a type that cannot be made anew is found before anything is charged
    if subject.unit is None:
        return lambda noise: _cut_rows(rows, samples, noise)
    unit = subject.unit
    with reading():
        units = {kind: _units(subject, kind, unit) for kind in samples}
        everybody = None if keeping is None else _units(subject, None, unit)
    if keeping is None or everybody is None:
        return lambda noise: _cut_units(
            rows, units, lambda kind: samples[kind].choose(len(units[kind]), noise=noise)
        )
    names = {kind: frame[unit].to_list() for kind, frame in units.items()}
    found = keeping(names, everybody[unit].to_list())
    return lambda _: _cut_units(rows, units, lambda kind: np.array(found[kind], dtype=np.bool_))


def _units(subject: Subject, kind: str | None, unit: str) -> nw.DataFrame[Any]:
    """The units of one kind, or all, once each, in their own order: no threads decide it."""
    counted = frozenset({kind}) if kind is not None and subject.policy.rules else None
    units = subject.rows((), where=None, counted=counted).select(unit)
    return units.unique().sort(unit).collect()


def _cut_units(
    rows: Rows, units: Mapping[str, nw.DataFrame[Any]], choose: Callable[[str], BoolArray]
) -> Cut:
    """All rows of each unit that is chosen."""
    chosen, kept = [], {}
    for kind, frame in units.items():
        coins = choose(kind)
        kept[kind] = int(coins.sum())
        chosen.append(frame.filter(nw.new_series("coin", coins, backend=frame.implementation)))
    wanted = nw.concat(chosen)
    with reading(AFTER):
        (name,) = wanted.columns
        return Cut(rows.finish([rows.of_units(name, wanted[name])]), kept)


def _cut_rows(rows: Rows, samples: Samples, noise: Noise | None) -> Cut:
    """Each row whose coin says so, where every row is a unit: one pass over the table."""
    kept, parts = dict.fromkeys(samples, 0), []
    with reading(AFTER):
        for batch, height, kinds in rows.batches(tuple(samples)):
            mask = np.zeros(height, dtype=np.bool_)
            for place, (kind, sample) in enumerate(samples.items()):
                # A coin for each row of this kind, into `mask`; how many are kept.
                places = slice(None) if kinds is None else np.flatnonzero(kinds == place)
                coins = sample.choose(mask[places].size, noise=noise)
                mask[places] = coins
                kept[kind] += int(coins.sum())
            parts.append(rows.keep(batch, mask))
        return Cut(rows.finish(parts), kept)
