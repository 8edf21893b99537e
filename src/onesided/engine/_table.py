"""A caller's table: relational algebra that is the same on every engine, spelt by narwhals.

Grouping and counting run inside the caller's engine; what comes back is one number per group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine._conditions import Conditions
from onesided.engine._declared import declare
from onesided.engine._first_groups import CODE, code_counts
from onesided.engine._gate import enter
from onesided.engine._keys import PublicKeys
from onesided.engine._protocol import (
    KIND,
    LENGTH,
    ORDER,
    Column,
    Lazy,
    missing,
    unread_of,
)
from onesided.engine._reading import reading
from onesided.errors import DataError, UnknownColumnError, first_line
from onesided.noise import IntArray
from onesided.policy import Predicate, Rule
from onesided.schema import Schema

__all__ = ["KIND", "LENGTH", "ORDER", "Lazy", "Table"]

_HOLDS: Final = "onesided_holds"
OBJECTS: Final = (
    ' In pandas: frame["x"].astype("Int64"), "boolean" or "date32[pyarrow]"; pd.to_datetime for '
    'moments; decimals as text, .astype("str"), with a schema that declares a number.'
)


class Table:
    """A caller's table behind a narwhals lazy frame; never holds rows of its own.

    declared: a schema, by which columns of text are read. complete: it must fit all of them.
    read_as: the columns of text that it had read as other types. given: what came.

    >>> import polars as pl
    >>> table = Table(pl.DataFrame({"person": [1, 1, None], "age": [7.0, None, 9.0]}))
    >>> table.height(), table.null_rows("person"), sorted(table.schema)
    (3, 1, ['age', 'person'])
    """

    def __init__(
        self, data: object, *, declared: Schema | None = None, complete: bool = True
    ) -> None:
        self.given, self.engine = data, enter(data)
        self.read_as: Mapping[str, str] = (
            {} if declared is None else declare(self.engine, declared, complete=complete)
        )
        self._frame: Lazy = self.engine.frame
        self.schema: Mapping[str, nw.dtypes.DType] = dict(self._frame.collect_schema())
        self.joined = ""  # what tells public tables that were joined with it from others

    @property
    def frame(self) -> Lazy:
        """The rows as they are. Secret."""
        return self._frame

    @property
    def _columns(self) -> str:
        named = ", ".join(self.schema)
        return f"The table's columns are {named}." if named else "The table has no columns."

    def require(self, *columns: str) -> None:
        """Refuse columns that the table does not have, or of types that nothing can be asked of.

        Errors: UnknownColumnError; DataError naming the type.
        """
        for name in columns:
            if not isinstance(name, str):
                raise UnknownColumnError(
                    f"A column is named by text, got {name!r}.", hint=self._columns, column=name
                )
            kind = self.engine.refused.get(name)
            if kind is None and name not in self.schema:
                raise UnknownColumnError(
                    f"The table has no column {name!r}.",
                    hint=self._columns,
                    column=name,
                )
            if kind is not None or self.schema[name].is_nested():
                raise DataError(
                    f"Column {name!r} holds {kind or self.schema[name]}, of which nothing can be "
                    "asked.",
                    hint="Give the column a plain type: text, booleans, whole numbers, numbers, "
                    f"dates or moments.{'' if name not in self.engine.odd else OBJECTS}",
                    column=name,
                )

    def refuse_collated(self, *names: str) -> None:
        """Refuse text that the engine compares in another way than byte by byte.

        Two units would count as one, and a row in every key that is spelt another way.
        Errors: DataError.
        """
        self.engine.refuse_collated([name for name in names if name in self.schema])

    def require_conditions(self, rules: Sequence[Rule]) -> None:
        """Refuse rules that these columns cannot answer. Looks at no row.

        Found here, and not when a kind is first asked for, nothing was charged for a policy that
        nobody meant. Errors: as :class:`Conditions`.
        """
        for rule in rules:
            for predicate in rule.predicates:
                self._conditions(self._frame.head(0)).where(predicate)

    def derive(self, columns: Mapping[str, nw.Expr]) -> Table:
        """The same table with columns computed row by row.

        Errors: DataError where the engine, if it computes at once, cannot.
        """
        table = copy(self)
        try:
            table._frame = self._frame.with_columns(*(e.alias(n) for n, e in columns.items()))  # noqa: SLF001 - its own copy
        except Exception as error:
            raise DataError(
                f"{', '.join(columns)} cannot be computed: {first_line(error)}",
                hint="Cast the column to 64-bit whole numbers or to floats. Nothing was drawn and "
                "nothing was recorded.",
            ) from error
        table.schema = dict(table._frame.collect_schema())  # noqa: SLF001
        return table

    def null_rows(self, column: str) -> int:
        """How many rows have no value (null or NaN) in ``column``."""
        with reading():
            return self.engine.null_rows(self._frame, column, self.schema[column])

    def height(self) -> int:
        """How many rows there are."""
        return int(self.scalar(self._frame.select(nw.len().alias(LENGTH))))

    def rows_where(self, which: nw.Expr) -> int:
        """How many rows there are of which this is true."""
        return int(self.scalar(self._frame.filter(which).select(nw.len().alias(LENGTH))))

    def unreadable(self) -> dict[str, int]:
        """How many texts of a column cannot be read as declared, where some cannot. Secret."""
        if self.engine.texts is None:
            return {}
        flags = [unread_of(place) for place in range(len(self.engine.read))]
        sums = (nw.when(nw.col(flag)).then(1).otherwise(0).sum().alias(flag) for flag in flags)
        counts = self.arrays(self.engine.texts.select(*sums))
        found = zip(self.engine.read, (counts[flag] for flag in flags), strict=True)
        odd = {name: objects.count for name, objects in self.engine.odd.items()}
        told = {name: int(count.sum()) + odd.get(name, 0) for name, count in found}
        return {name: count for name, count in told.items() if count}

    def undecided_rows(self, rules: Sequence[Rule]) -> int:
        """How many rows some rule could not decide, and so counts as protected."""
        predicates = [predicate for rule in rules for predicate in rule.predicates]
        if not predicates:
            return 0
        frame, names = self._frame, [f"{_HOLDS}_{place}" for place in range(len(predicates))]
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
        frame = self._frame
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
        return Conditions(self.engine.words(nw.to_native(frame)), self.engine.refused)

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
        return {**self.comparable_keys(keys), place: np.arange(keys.size)}

    def comparable_keys(self, keys: PublicKeys) -> dict[str, Column]:
        """The key columns in a form in which no engine takes two keys for one."""
        columns: dict[str, Column] = dict(keys.by_name())
        wide = [name for name in keys.names if _is_wide(self.schema[name])]
        # Left to themselves some engines take a float for 1 beside 2^63, and keys become equal.
        return columns | {name: [str(value) for value in columns[name]] for name in wide}

    def _types(self, keys: PublicKeys) -> dict[str, nw.dtypes.DType]:
        """Types in which rows and keys can be compared."""
        return {name: self.comparable(name) for name in keys.names}

    def comparable(self, name: str) -> nw.dtypes.DType:
        """A type in which a column's values and public ones can be compared."""
        return _joinable(self.schema[name])

    def numbered(self, keys: PublicKeys, name: str) -> Table:
        """The same table with a column of each row's place among the keys, by row alone.

        A row of none of them has the place after the last; one with a null in a key column, null.
        """
        same = [nw.col(key).cast(dtype) for key, dtype in self._types(keys).items()]
        small = self.engine.small(self._places(keys, name), like=keys.names).with_columns(*same)
        joined = self._frame.with_columns(*same).join(small, on=list(keys.names), how="left")
        empty = [missing(key, self.schema[key]) for key in keys.names]
        place = nw.col(name).fill_null(keys.size)
        told = nw.when(~nw.any_horizontal(*empty, ignore_nulls=False)).then(place)
        table = copy(self)
        table._frame = joined.with_columns(told.cast(nw.Int64()).alias(name))  # noqa: SLF001 - its own copy
        table.schema = dict(table._frame.collect_schema())  # noqa: SLF001
        return table

    def of_rows(self, frame: Lazy) -> Table:
        """The same table with these of its rows."""
        table = copy(self)
        table._frame = frame  # noqa: SLF001 - its own copy
        return table

    def not_false(self, predicate: Predicate) -> Lazy:
        """The rows for which a condition is true or unknown. Secret."""
        return self._conditions(self._frame).where_not_false(predicate)

    def with_ones(self, name: str) -> Table:
        """The same table with a column of ones, so that rows can be added up."""
        table = copy(self)
        table._frame = self._frame.with_columns(nw.lit(1).cast(nw.Int64()).alias(name))  # noqa: SLF001 - its own copy
        table.schema = {**self.schema, name: nw.Int64()}
        return table

    def result(self, columns: Mapping[str, Column], *, like: Sequence[str]) -> Any:
        """A public table in the caller's own frame type, lazy if the caller's was."""
        types = {name: _joinable(self.schema[name]) for name in like if name in columns}
        told = dict(columns)
        for name, dtype in types.items():
            if _is_wide(dtype):
                told[name] = [None if value is None else str(value) for value in columns[name]]
        return self.engine.answer(told, types)

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
            return self.engine.columns(self._frame.select(*names))


def whole_of(value: Any) -> int:
    """A count that an engine may give as None or NaN when there was nothing to count.

    >>> whole_of(3.0), whole_of(None), whole_of(float("nan"))
    (3, 0, 0)
    """
    return 0 if value is None or value != value else int(value)  # noqa: PLR0124 - NaN


def _is_wide(dtype: nw.dtypes.DType) -> bool:
    return isinstance(dtype, nw.UInt64 | nw.UInt128 | nw.Int128)


def _joinable(dtype: nw.dtypes.DType) -> nw.dtypes.DType:
    """A type in which both sides of a join can hold every key."""
    return nw.Int64() if dtype.is_integer() and not _is_wide(dtype) else dtype
