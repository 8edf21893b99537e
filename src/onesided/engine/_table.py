"""The only place that touches a data frame: narwhals, and each engine's own SQL.

Grouping and counting run inside the caller's engine; what comes back is one number per group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Final, TypeAlias

import narwhals as nw
import numpy as np

from onesided.engine import _objects as objects
from onesided.engine._conditions import with_condition
from onesided.engine._keys import PublicKeys
from onesided.engine._literal_frame import literal_frame, whole_numbers
from onesided.engine.spark import _table as _spark
from onesided.errors import DataError, UnknownColumnError, first_line
from onesided.noise import IntArray
from onesided.policy import Predicate, Rule

Lazy: TypeAlias = nw.LazyFrame[Any]

_HOLDS: Final = "onesided_holds"
KIND: Final = "onesided_kind"
LENGTH: Final = "onesided_length"
ORDER: Final = "onesided_order"


class Table:
    """A caller's table behind a narwhals lazy frame; never holds rows of its own."""

    def __init__(self, data: object) -> None:
        frame: Any = nw.from_native(data, pass_through=True)
        if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
            raise DataError(
                f"Cannot read a {type(data).__name__} as a table.",
                hint="Give a Polars, pandas or PyArrow table, a DuckDB relation, or a Spark table; "
                "read files with the library of your choice.",
            )
        if frame.implementation.is_spark_like():
            _spark.refuse_unreadable(nw.to_native(frame), frame.implementation)
        for name in frame.collect_schema().names():
            if not isinstance(name, str) or name.startswith("onesided_"):
                raise DataError(
                    f"The column {name!r} is named like one of ours, or by no text.",
                    hint="Rename it: names that begin with onesided_ are taken.",
                    column=name,
                )
        self.was_lazy = isinstance(frame, nw.LazyFrame)
        self._frame: Lazy = frame.lazy()
        if frame.implementation.is_duckdb():
            # A selection of columns lacks DuckDB's own: rowid tells how many rows come before.
            self._frame = self._frame.select(nw.all())
        self.schema: Mapping[str, nw.dtypes.DType] = dict(self._frame.collect_schema())

    @property
    def frame(self) -> Lazy:
        """The rows as they are. Secret."""
        return self._frame

    def require(self, *columns: str) -> None:
        """Refuse columns that the table does not have."""
        for name in columns:
            if name not in self.schema:
                raise UnknownColumnError(
                    f"The table has no column {name!r}.",
                    hint=f"Its columns are {', '.join(self.schema)}.",
                    column=name,
                )

    def require_conditions(self, rules: Sequence[Rule]) -> None:
        """Refuse rules that these columns cannot answer. Looks at no row.

        Found here, and not when a kind is first asked for, nothing was charged for a policy that
        nobody meant. pandas alone can tell by rows only what its columns of objects hold.
        Errors: as :func:`with_condition`.
        """
        if self._frame.implementation.is_pandas_like():
            return
        for rule in rules:
            for predicate in rule.predicates:
                with_condition(self._frame.head(0), predicate, _HOLDS)

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
        return int(self.scalar(self._where_null(column).select(nw.len().alias(LENGTH))))

    def _where_null(self, column: str) -> Lazy:
        return self._frame.filter(missing(column, self.schema[column]))

    def height(self) -> int:
        """How many rows there are."""
        return int(self.scalar(self._frame.select(nw.len().alias(LENGTH))))

    def undecided_rows(self, rules: Sequence[Rule]) -> int:
        """How many rows some rule could not decide, and so counts as protected."""
        predicates = [predicate for rule in rules for predicate in rule.predicates]
        if not predicates:
            return 0
        frame, names = self._frame, [f"{_HOLDS}_{place}" for place in range(len(predicates))]
        for name, predicate in zip(names, predicates, strict=True):
            frame = with_condition(frame, predicate, name)
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
        if rules and counted is not None:
            frame = self.with_kind(frame, unit, rules, default).filter(
                nw.col(KIND).is_in(sorted(counted))
            )
        if where is not None:
            frame = with_condition(frame, where, _HOLDS).filter(nw.col(_HOLDS))
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
        """Add whether the condition is true or null for the row, or for any row of its unit."""
        rows = f"{name}_row"
        frame = with_condition(frame, predicate, rows)
        frame = frame.with_columns(nw.col(rows).fill_null(True))  # noqa: FBT003
        if unit is None:
            return frame.with_columns(nw.col(rows).alias(name))
        units = distinct(frame.filter(nw.col(rows)).select(unit))
        if frame.implementation.is_pyarrow() and any(d.is_nested() for d in self.schema.values()):
            # PyArrow joins no table that has lists or structures in it.
            kind = _joinable(self.schema[unit])
            met = nw.col(unit).cast(kind).is_in(units.collect()[unit].cast(kind))
            return frame.with_columns(met.alias(name))
        units = units.with_columns(nw.lit(True).alias(name))  # noqa: FBT003
        joined = frame.join(units, on=unit, how="left")
        return joined.with_columns(nw.col(name).fill_null(False))  # noqa: FBT003

    def total(self, rows: Lazy, *, unit: str | None) -> int:
        """The number of distinct units (of rows if ``unit`` is None)."""
        single = nw.len() if unit is None else nw.col(unit).n_unique()
        return whole_of(self.scalar(rows.select(single.alias(LENGTH))))

    def pairs(self, rows: Lazy, *, unit: str | None, by: Sequence[str]) -> Lazy:
        """Each unit's groups, once each."""
        return rows if unit is None else distinct(rows.select(unit, *by))

    def counts(
        self, rows: Lazy, keys: PublicKeys, *, unit: str | None, most: int | None = None
    ) -> IntArray:
        """Per public key, its number of distinct units (of rows if ``unit`` is None).

        ``most``: each unit is cut down to its ``most`` groups of lowest public rank.
        Groups are told apart by the engine alone, and answers come back by public rank: Python's
        equality is another one, and would merge or miss groups.
        """
        pairs = self.join_keys(self.pairs(rows, unit=unit, by=keys.names), keys)
        if most is not None and unit is not None:
            pairs = ranked(pairs, unit).filter(nw.col(LENGTH) <= most)
        grouped = pairs.group_by(ORDER).agg(nw.len().alias(LENGTH))
        by_rank = np.zeros(len(keys.rows), dtype=np.int64)
        for rank, count in self.fetch(grouped, [ORDER, LENGTH]):
            by_rank[int(rank)] = int(count)
        return by_rank[keys.order()]

    def outside(self, rows: Lazy, keys: PublicKeys, *, unit: str | None) -> int:
        """How many (unit, group) pairs are in no public group."""
        pairs = self.pairs(rows, unit=unit, by=keys.names)
        inside = self.join_keys(pairs, keys).select(nw.len().alias(LENGTH))
        return whole_of(self.scalar(pairs.select(nw.len().alias(LENGTH)))) - whole_of(
            self.scalar(inside)
        )

    def require_groupable(self, keys: PublicKeys) -> None:
        """Refuse columns of Python objects unless all are of the keys' own plain type.

        narwhals looks at the first hundred alone. Errors: KeysError naming the column and what it
        holds.
        """
        native = nw.to_native(self._frame)
        for place, name in enumerate(keys.names):
            objects.require_keys(native, name, self.schema[name], [r[place] for r in keys.rows])

    def units_over(self, rows: Lazy, keys: PublicKeys, *, unit: str, most: int) -> tuple[int, int]:
        """``(how many units are in more than most public groups, the most groups of any)``."""
        pairs = self.join_keys(self.pairs(rows, unit=unit, by=keys.names), keys)
        sizes = pairs.group_by(unit).agg(nw.len().alias(LENGTH))
        over = nw.when(nw.col(LENGTH) > most).then(1).otherwise(0)
        summary = sizes.select(over.sum().alias("units"), nw.col(LENGTH).max().alias("most"))
        ((units, largest),) = self.fetch(summary, ["units", "most"])
        return whole_of(units), whole_of(largest)

    def join_keys(self, pairs: Lazy, keys: PublicKeys) -> Lazy:
        """Pairs whose group is a public key, with the key's rank."""
        columns: dict[str, list[Any]] = {**keys.columns(), ORDER: keys.order().tolist()}
        small = self._small(columns, like=keys.names)
        if self._frame.implementation.is_pyspark():
            small = _spark.for_join(small)
        pandas = self._frame.implementation.is_pandas_like()
        same = [_join_key(name, self.schema[name], pandas=pandas) for name in keys.names]
        return pairs.with_columns(*same).join(small.with_columns(*same), on=list(keys.names))

    def _small(self, columns: Mapping[str, list[Any]], *, like: Sequence[str] = ()) -> Lazy:
        """A public table inside the caller's engine; columns in ``like`` take the data's types."""
        native = nw.to_native(self._frame)
        if self._frame.implementation.is_pyspark():
            return nw.from_native(_spark.small(native, columns, like=like))  # type: ignore[no-any-return]
        wholes = {name: whole_numbers(columns[name], self.schema[name]) for name in like}
        made = literal_frame(native, {**columns, **wholes}, self._frame.implementation)
        casts = [nw.col(name).cast(_joinable(self.schema[name])) for name in like]
        return made.with_columns(*casts).lazy() if casts else made.lazy()

    def result(self, columns: Mapping[str, list[Any]], *, like: Sequence[str]) -> Any:
        """A public table in the caller's own frame type, lazy if the caller's was."""
        small = self._small(columns, like=[name for name in like if name in columns])
        if self.was_lazy:
            return nw.to_native(small)
        return nw.to_native(small.collect())

    def scalar(self, frame: Lazy) -> Any:
        ((value,),) = self.fetch(frame, frame.collect_schema().names())
        return value

    def fetch(self, frame: Lazy, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Per-group numbers as Python tuples.

        Errors: DataError if the engine cannot read the table, as with a damaged file.
        """
        try:
            native = nw.to_native(frame.select(*names))
            if frame.implementation.is_duckdb():
                return [tuple(row) for row in native.fetchall()]
            if frame.implementation.is_pyspark():
                return _spark.rows(native)
            eager = frame.select(*names).collect()
            return list(zip(*(eager[name].to_list() for name in names), strict=True))
        except Exception as error:
            if type(error).__name__ == "InterruptException":
                raise KeyboardInterrupt from error  # DuckDB's word for Ctrl-C
            raise DataError(
                f"The table could not be read: {first_line(error)}",
                hint="The file may be damaged, or a column may not hold what it should. Nothing "
                "was drawn and nothing was recorded.",
            ) from error


def missing(column: str, dtype: nw.dtypes.DType) -> nw.Expr:
    """Null, or NaN in a column of floats."""
    missing = nw.col(column).is_null()
    return missing | nw.col(column).is_nan() if dtype.is_float() else missing


def ranked(pairs: Lazy, unit: str) -> Lazy:
    """Number each unit's groups 1, 2, ... by their public rank."""
    if not pairs.implementation.is_pyarrow():
        rank = nw.col(ORDER).rank("ordinal").over(unit)
        return pairs.with_columns(rank.alias(LENGTH))
    # PyArrow has no windows: sort, and count on from each unit's first row.
    rows = pairs.collect().sort(unit, ORDER).with_row_index(LENGTH)
    if rows.is_empty():
        return rows.lazy()
    first = (nw.col(unit) != nw.col(unit).shift(1)).fill_null(True)  # noqa: FBT003
    start = nw.when(first).then(nw.col(LENGTH)).otherwise(0).cum_max()
    return rows.with_columns((nw.col(LENGTH) - start + 1).alias(LENGTH)).lazy()


def distinct(frame: Lazy) -> Lazy:
    """Each row once."""
    return _spark.distinct(frame) if frame.implementation.is_pyspark() else frame.unique()


def whole_of(value: Any) -> int:
    """A count that an engine may give as None or NaN when there was nothing to count."""
    return 0 if value is None or value != value else int(value)  # noqa: PLR0124 - NaN


def _joinable(dtype: nw.dtypes.DType) -> nw.dtypes.DType:
    """A type in which both sides of a join can hold every key."""
    if isinstance(dtype, nw.UInt64 | nw.UInt128 | nw.Int128):
        return dtype
    if dtype.is_integer():
        return nw.Int64()
    if isinstance(dtype, nw.Categorical | nw.Enum | nw.Object):
        return nw.String()
    return dtype


def _join_key(name: str, dtype: nw.dtypes.DType, *, pandas: bool) -> nw.Expr:
    """A key column as a type that its engine joins on.

    Older pandas cannot join Arrow-backed moments, so there they become whole numbers.
    """
    if pandas and isinstance(dtype, nw.Datetime):
        return nw.col(name).dt.timestamp("ns" if dtype.time_unit == "ns" else "us")
    return nw.col(name).cast(_joinable(dtype))
