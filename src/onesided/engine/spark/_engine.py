"""A table in Spark: everything runs in the caller's own session."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from pyspark.sql import functions as sql
from pyspark.sql import types

from onesided.engine._keys import plain
from onesided.engine._protocol import (
    Column,
    Engine,
    KeyTypes,
    Lazy,
    Taking,
    Words,
    places_of,
)
from onesided.engine._sampling import Draw, Samples
from onesided.engine.spark import _strict
from onesided.engine.spark._condition import SparkTerms, column_type
from onesided.engine.spark._rows import sampler
from onesided.errors import DataError

if TYPE_CHECKING:
    from onesided.engine._sampling import Subject


# How Spark prints the type of text that is not compared byte by byte.
_COLLATED: Final = " collate "
_LONGEST: Final = 2**31 - 1  # no array of Spark's has more


class SparkEngine(Engine):
    """A DataFrame of a classic session."""

    packs = False
    reader: ClassVar[Any] = _strict

    def __init__(self, native: Any) -> None:
        _refuse_unreadable(native)
        self.native = native
        self.places = {field.name: place for place, field in enumerate(native.schema)}
        self.types = {}
        self.retype(list(self.places))
        self.refused = {
            name: native.schema[self.places[name]].dataType.simpleString()
            for name, kind in self.types.items()
            if isinstance(kind, nw.Unknown)
        }

    @contextmanager
    def snapshot(self, columns: Sequence[str], how: Taking) -> Iterator[Lazy]:
        """Held by the executors: a part that is lost with one of them ends the question."""
        told = self._taken(columns)
        for step in self.steps(columns, how) if columns else [{"c0": sql.lit(1)}]:
            told = told.select(*(made.alias(at) for at, made in step.items()))
        if not how.rows:
            yield nw.from_native(told.limit(0))
            return
        held = told.localCheckpoint(eager=True)
        try:
            yield nw.from_native(held)
        finally:
            held._jdf.queryExecution().analyzed().rdd().unpersist(False)  # noqa: FBT003, SLF001 - no public way

    def _taken(self, columns: Sequence[str]) -> Any:
        """The columns as they are, by where they stand."""
        whole = self.native.toDF(*places_of(len(self.places)))
        chosen = whole.select(*(f"c{self.places[name]}" for name in columns))
        return chosen.toDF(*places_of(len(columns))) if columns else whole

    def distinct(self, frame: Lazy) -> Lazy:
        """Narwhals would number the rows in a window, which cannot be added up early."""
        return nw.from_native(nw.to_native(frame).distinct())  # type: ignore[no-any-return]

    def small(self, columns: Mapping[str, Column], *, like: KeyTypes) -> Lazy:
        """A table that every executor gets whole: nobody's rows travel to meet it."""
        return nw.from_native(sql.broadcast(self._small(columns, like)))  # type: ignore[no-any-return]

    def _small(self, columns: Mapping[str, Column], like: KeyTypes) -> Any:
        fields = []
        for name, values in columns.items():
            kind = _type_of(values) if name not in like else _like(like[name], values)
            wide = types.LongType() if isinstance(kind, types.IntegralType) else kind
            fields.append(types.StructField(name, wide))
        columns_of = (
            column.tolist() if isinstance(column, np.ndarray) else list(map(plain, column))
            for column in columns.values()
        )
        rows = list(zip(*columns_of, strict=True))
        return self.native.sparkSession.createDataFrame(rows, types.StructType(fields))

    def fetch(self, frame: Lazy) -> dict[str, NDArray[Any]]:
        native: Any = nw.to_native(frame)
        rows = native.collect()
        return {
            name: np.array([row[place] or 0 for row in rows], dtype=np.int64)
            for place, name in enumerate(native.columns)
        }

    def told(self, columns: Mapping[str, Column], types: KeyTypes, names: Sequence[str]) -> Any:
        return self._small(columns, types).toDF(*names)

    def with_hash(self, frame: Lazy, names: Sequence[str], hashed: str) -> Lazy:
        native = nw.to_native(frame).withColumn(hashed, sql.xxhash64(*names))
        return nw.from_native(native)  # type: ignore[no-any-return]

    def first_codes(self, rows: Lazy, unit: str, code: str, *, most: int) -> Lazy:
        """Each unit's numbers travel once, as a set, and are ordered by hash, then by number.

        A set of numbers, not of hash and number: a set of structs may hold one of them twice,
        since Spark has two forms of rows that it does not take for equal.
        """
        named: Any = nw.to_native(rows.select(unit, code)).toDF("unit", "code")
        sets = named.groupBy("unit").agg(sql.collect_set("code").alias("codes"))

        def place(number: Any) -> Any:
            return sql.struct(sql.xxhash64("unit", number), number.alias("code"))

        ordered = sql.sort_array(sql.transform("codes", place))
        first = sets.select(sql.explode(sql.slice(ordered, 1, min(most, _LONGEST))).alias("first"))
        return nw.from_native(first.select(sql.col("first.code").alias(code)))  # type: ignore[no-any-return]

    def words(self, native: Any) -> Words:
        held = {field.name: field.dataType.simpleString() for field in native.schema}
        return Words(
            held=held,
            types={column: column_type(kind) for column, kind in held.items()},
            terms=SparkTerms(held),
            add=lambda made, name: native.select("*", made.alias(name)),
            keep=native.filter,
        )

    def sampler(self, subject: Subject, samples: Samples) -> Draw:
        return sampler(subject, samples)


def _like(dtype: nw.dtypes.DType, values: Column) -> Any:
    """Spark's type for public values that meet a column."""
    if isinstance(dtype, nw.Datetime):
        return types.TimestampNTZType() if dtype.time_zone is None else types.TimestampType()
    kinds = {
        nw.Boolean: types.BooleanType,
        nw.Int64: types.LongType,
        nw.String: types.StringType,
        nw.Date: types.DateType,
        nw.Float32: types.FloatType,
        nw.Float64: types.DoubleType,
    }
    made = kinds.get(type(dtype))
    return _type_of(values) if made is None else made()


def _type_of(values: Column) -> Any:
    first = next((plain(value) for value in values if value is not None), 0)
    kinds = {
        bool: types.BooleanType,
        int: types.LongType,
        float: types.DoubleType,
        dt.date: types.DateType,
        dt.datetime: types.TimestampNTZType,
    }
    return kinds.get(type(first), types.StringType)()


def _refuse_unreadable(native: Any) -> None:
    """Refuse tables without an end, and text that is not compared byte by byte.

    Errors: DataError with the reason.
    """
    if native.isStreaming:
        raise DataError(
            "This table is a stream: it has no end, so nothing can be counted in it.",
            hint="Read a finished part of it with spark.read, or use onesided.Monitor for batches.",
        )
    for column in native.schema:
        kind = column.dataType.simpleString()
        if _COLLATED in kind:
            raise DataError(
                f"The column {column.name!r} holds {kind}, in which texts that differ count as "
                "equal.",
                hint="Keys are told apart byte by byte: use collate(column, 'UTF8_BINARY').",
                column=column.name,
            )
