"""The columns that a question uses, as they were when it looked.

Inside, columns are called c0, c1 and so on, and so are those that are computed of them. What people
call them stands in :attr:`Snapshot.names`, for conditions and for messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine._conditions import Conditions
from onesided.engine._first_groups import CODE, code_counts
from onesided.engine._keys import PublicKeys
from onesided.engine._protocol import KIND, LENGTH, ORDER, Column, Engine, Lazy, unread_of
from onesided.engine._reading import reading
from onesided.errors import DataError, UnknownColumnError, first_line
from onesided.noise import IntArray
from onesided.policy import Predicate, Rule

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
                frame = self._with_unit_condition(frame, unit, predicate, name)
                holds.append(nw.col(name))
            met = nw.all_horizontal(*holds, ignore_nulls=False)
            kind = nw.when(met).then(told(rule.kind)).otherwise(kind)
        return frame.with_columns(kind.alias(KIND))

    def _with_unit_condition(
        self, frame: Lazy, unit: str | None, predicate: Predicate, name: str
    ) -> Lazy:
        """Add whether the condition is true or unknown for the row, or for any row of its unit."""
        conditions = self._conditions(frame)
        if unit is None:
            return conditions.with_not_false(predicate, name)
        units = self.engine.distinct(conditions.where_not_false(predicate).select(unit))
        units = units.with_columns(nw.lit(True).alias(name))  # noqa: FBT003
        joined = frame.join(units, on=unit, how="left")
        return joined.with_columns(nw.col(name).fill_null(False))  # noqa: FBT003

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
        if most is not None and unit is not None:
            listed = self.join_keys(rows.select(unit, *keys.names), keys)
            bits = max(keys.size - 1, 1).bit_length()
            coded = listed.select(unit, nw.col(ORDER).cast(nw.Int64()).alias(CODE))
            with reading():
                places, found = code_counts(self.engine, coded, unit, bits=bits, most=most)
            counts[places] = found
            return counts
        with reading():
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
        return {
            **comparable_keys(keys, self.schema, keys.names),
            place: np.arange(keys.size),
        }

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
