"""A table in Spark: everything runs in the caller's own session."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine._protocol import Column, Engine, Lazy, text_of, unread_of
from onesided.engine._sampling import Draw, Samples
from onesided.engine._words import Words
from onesided.engine.spark._plan import refuse_unreadable
from onesided.engine.spark._rows import sampler
from onesided.engine.spark._words import words

if TYPE_CHECKING:
    from onesided.engine._subject import Subject
    from onesided.schema import Reading


_LONGEST: Final = 2**31 - 1  # no array of Spark's has more


class SparkEngine(Engine):
    """A DataFrame of a classic session."""

    packs = False

    def __init__(self, native: Any) -> None:
        refuse_unreadable(native)
        self.native = native
        self.frame = nw.from_native(_readable(native))
        schema = self.frame.collect_schema()
        self.refused = {
            name: native.schema[name].dataType.simpleString()
            for name, kind in schema.items()
            if isinstance(kind, nw.Unknown)
        }

    def read_as(self, readings: Mapping[str, Reading]) -> None:
        from pyspark.sql import functions as sql  # noqa: PLC0415 - loaded already

        from onesided.engine.spark._strict import canonical, known, strict  # noqa: PLC0415 - as above

        kept = [text_of(place) for place in range(len(readings))]
        texts = dict(zip(kept, readings.items(), strict=True))
        told = self.native.withColumns({t: known(n, one) for t, (n, one) in texts.items()})
        told = told.withColumns({n: canonical(t, one) for t, (n, one) in texts.items()})
        values = {name: strict(name, one.kind) for name, one in readings.items()}
        flags = [
            (sql.col(text).isNotNull() & made.isNull()).alias(unread_of(place))
            for place, (text, made) in enumerate(zip(kept, values.values(), strict=True))
        ]
        self.native = told.withColumns(values).drop(*kept)
        self.frame = nw.from_native(self.native)
        self.texts, self.read = nw.from_native(told.select(*kept, *flags)), tuple(readings)
        self.refused = {n: kind for n, kind in self.refused.items() if n not in readings}

    def distinct(self, frame: Lazy) -> Lazy:
        """Narwhals would number the rows in a window, which cannot be added up early."""
        return nw.from_native(nw.to_native(frame).distinct())  # type: ignore[no-any-return]

    def small(self, columns: Mapping[str, Column], *, like: Sequence[str]) -> Lazy:
        """A table that every executor gets whole: nobody's rows travel to meet it."""
        from pyspark.sql import functions as sql  # noqa: PLC0415 - loaded already

        return nw.from_native(sql.broadcast(self._small(columns, like)))  # type: ignore[no-any-return]

    def _small(self, columns: Mapping[str, Column], like: Sequence[str]) -> Any:
        from pyspark.sql import types  # noqa: PLC0415 - loaded already

        fields = []
        for name, values in columns.items():
            known = name in like and name in self.native.columns
            kind = self.native.schema[name].dataType if known else _type_of(values)
            wide = types.LongType() if isinstance(kind, types.IntegralType) else kind
            fields.append(types.StructField(name, wide))
        plain = (
            column.tolist() if isinstance(column, np.ndarray) else list(map(_plain, column))
            for column in columns.values()
        )
        rows = list(zip(*plain, strict=True))
        return self.native.sparkSession.createDataFrame(rows, types.StructType(fields))

    def fetch(self, frame: Lazy) -> dict[str, NDArray[Any]]:
        native: Any = nw.to_native(frame)
        rows = native.collect()
        return {
            name: np.array([row[place] or 0 for row in rows], dtype=np.int64)
            for place, name in enumerate(native.columns)
        }

    def answer(self, columns: Mapping[str, Column], types: Mapping[str, nw.dtypes.DType]) -> Any:
        return self._small(columns, list(types))

    def with_hash(self, frame: Lazy, names: Sequence[str], hashed: str) -> Lazy:
        from pyspark.sql import functions as sql  # noqa: PLC0415 - loaded already

        native = nw.to_native(frame).withColumn(hashed, sql.xxhash64(*names))
        return nw.from_native(native)  # type: ignore[no-any-return]

    def first_codes(self, rows: Lazy, unit: str, code: str, *, most: int) -> Lazy:
        """Each unit's numbers travel once, as a set, and are ordered by hash, then by number.

        A set of numbers, not of hash and number: a set of structs may hold one of them twice,
        since Spark has two forms of rows that it does not take for equal.
        """
        from pyspark.sql import functions as sql  # noqa: PLC0415 - loaded already

        named: Any = nw.to_native(rows.select(unit, code)).toDF("unit", "code")
        sets = named.groupBy("unit").agg(sql.collect_set("code").alias("codes"))

        def place(number: Any) -> Any:
            return sql.struct(sql.xxhash64("unit", number), number.alias("code"))

        ordered = sql.sort_array(sql.transform("codes", place))
        first = sets.select(sql.explode(sql.slice(ordered, 1, min(most, _LONGEST))).alias("first"))
        return nw.from_native(first.select(sql.col("first.code").alias(code)))  # type: ignore[no-any-return]

    def words(self, native: Any) -> Words:
        return words(native)

    def sampler(self, subject: Subject, samples: Samples) -> Draw:
        return sampler(subject, samples)


def _readable(native: Any) -> Any:
    """The table, in which bytes that are no UTF-8 are unknown: told, they would all look alike."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - loaded already
    from pyspark.sql.types import StringType  # noqa: PLC0415

    texts = [field.name for field in native.schema if type(field.dataType) is StringType]
    if not texts:
        return native
    return native.withColumns({name: sql.try_validate_utf8(native[name]) for name in texts})


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _type_of(values: Column) -> Any:
    from pyspark.sql import types  # noqa: PLC0415 - loaded already

    first = next((_plain(value) for value in values if value is not None), 0)
    kinds = {
        bool: types.BooleanType,
        int: types.LongType,
        float: types.DoubleType,
        dt.date: types.DateType,
        dt.datetime: types.TimestampNTZType,
    }
    return kinds.get(type(first), types.StringType)()
