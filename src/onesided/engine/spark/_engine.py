"""Tables of Spark: opened, counted, and sampled."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, ClassVar, Final

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import functions as sql
from pyspark.sql import types
from pyspark.sql.functions import arrow_udf

from onesided.engine._keys import plain
from onesided.engine._protocol import (
    AFTER,
    KIND,
    Column,
    KeyTypes,
    Lazy,
    SteppedEngine,
    Taking,
    Words,
    places_of,
    reading,
)
from onesided.engine._snapshot import Cut, Draw, Keeping, Samples, Subject
from onesided.engine.spark import _condition
from onesided.engine.spark._condition import SparkTerms, column_type
from onesided.errors import DataError, NoiseError
from onesided.mechanism import RecordSample
from onesided.noise import BoolArray, Noise
from onesided.noise.kit import PartNoise, new_secret

# True-record samples of Spark tables: coins are flipped where the rows are.
#
# Open units (rows, if that is the unit) are dealt to parts by a hash of what they hold, and sorted
# within them. Part p of n takes its coins, in that order, from bits of its own: AES-256-CTR under
# HKDF(secret, p, n), where the secret is drawn on the driver for this one release.
#
# Why the coins are independent and exact. Equal units are in one part and every unit is in one
# place of one part, so no two share bits; the comparison of bits with ``1 - e^-rate`` is the one
# that all engines use. Why a retry repeats its own. Neither the part of a unit nor its place in it
# depends on how Spark read or split the table: the same open units get the same coins, whichever
# task runs when, so an attempt that fails does not get another chance. Units that hold the same are
# interchangeable. A hash of the unit in place of a stream would give rows that are repeated one
# coin for all, which is no sample of rows.
#
# What is returned. Coins are flipped once: the kept rows are stored in the executors and the plan
# behind them is cut off, for it holds the secret, and Spark's estimates of the table's size; column
# metadata may name values of rows that were left out. The parts and their order are functions of
# the kept rows alone, as the table's own splits would tell where rows are missing.
#
# Who could learn the secret: whoever reads the memory, or Spark's own traffic and temporary files,
# of the driver and the executors while the sample is drawn. They hold the table itself too.

_PART: Final = "onesided_part"
_COIN: Final = "onesided_coin"
_NUMBER: Final = "onesided_number"
Numbers = NDArray[Any]


def sampler(subject: Subject, samples: Samples, keeping: Keeping | None) -> Draw:
    """As :func:`onesided.engine._snapshot.look`; the coins are flipped by the executors."""
    if keeping is not None:
        raise DataError(
            "The units of a stream are not followed in Spark.",
            hint="Write the table to Parquet and open it with DuckDB or Polars. "
            "Nothing was drawn and nothing was recorded.",
        )
    check(subject)
    # Compute every column and condition on every row once: what fails then fails now.
    unit, native = subject.unit, nw.to_native(subject.table.frame)
    with reading():
        found = (
            _open_rows(subject, samples) if unit is None else _open_units(subject, unit, samples)
        )
        for rows in (native, found):
            rows.agg(sql.max(sql.xxhash64(*rows.columns))).collect()

    def draw(noise: Noise | None) -> Cut:
        with reading(AFTER):
            return Cut(*cut(subject, samples, noise))

    return draw


def check(subject: Subject) -> None:
    """Refuse tables that cannot be dealt out, and executors that cannot flip coins.

    Errors: DataError, before anything is charged.
    """
    native: Any = nw.to_native(subject.table.frame)
    try:
        _dealt(native, native.columns)
    except Exception as error:
        raise DataError(
            "Spark can neither hash nor sort a column of this table: "
            f"{str(error).strip().splitlines()[0]}",
            hint="Write it as text, for example with to_json. Nothing was drawn and nothing was "
            "recorded.",
        ) from error
    # One empty draw, so that what is missing in the executors is missed before the charge.
    parts = native.sparkSession.range(1).select(sql.lit(0).alias(_PART), sql.lit(-1).alias(_NUMBER))
    try:
        coin = _coins(bytes(40), 1, [])
        parts.select(coin(_PART, _NUMBER)).collect()
    except Exception as error:
        raise DataError(
            "Spark's executors cannot flip coins: "
            f"{str(error).strip().splitlines()[-1] or type(error).__name__}",
            hint="Their Python needs onesided and PyArrow; PYSPARK_PYTHON says which Python it "
            "is. Nothing was drawn and nothing was recorded.",
        ) from error


def cut(subject: Subject, samples: Samples, noise: Noise | None) -> tuple[Any, dict[str, int]]:
    """The kept rows as a stored Spark table, and how many units of each kind."""
    native: Any = nw.to_native(subject.table.frame)
    names, told = native.columns, list(subject.table.names)
    if subject.unit is None:
        kept = _flipped(_open_rows(subject, samples), names, samples, noise)
        return kept.select(*names).toDF(*told), _by_kind(kept, samples)
    chosen = _flipped(_open_units(subject, subject.unit, samples), [subject.unit], samples, noise)
    try:
        rows = native.join(chosen.select(subject.unit), subject.unit, "left_semi").select(*names)
        stored = _stored(_dealt(rows, names)).select(*names)
        return stored.toDF(*told), _by_kind(chosen, samples)
    finally:
        # The executors hold the published rows alone: who was chosen is needed no more.
        chosen._jdf.queryExecution().analyzed().rdd().unpersist(False)  # noqa: FBT003, SLF001 - no public way


def _open_units(subject: Subject, unit: str, samples: Samples) -> Any:
    """The units of open kinds, once each, with the number of their kind."""
    table, policy = subject.table, subject.policy
    rows = table.with_kind(table.frame, unit, policy.rules, policy.default_kind)
    rows = rows.filter(nw.col(KIND).is_in(list(samples))).select(unit, KIND)
    return _numbered(nw.to_native(rows).distinct(), samples).select(unit, _NUMBER)


def _open_rows(subject: Subject, samples: Samples) -> Any:
    """The rows of open kinds as they are, with the number of their kind."""
    table, policy = subject.table, subject.policy
    rows = table.with_kind(table.frame, None, policy.rules, policy.default_kind)
    rows = rows.filter(nw.col(KIND).is_in(list(samples)))
    return _numbered(nw.to_native(rows), samples).select(*table.names.values(), _NUMBER)


def _numbered(native: Any, samples: Samples) -> Any:
    number = sql.lit(-1)
    for place, kind in enumerate(samples):
        number = sql.when(sql.col(KIND) == kind, place).otherwise(number)
    return native.withColumn(_NUMBER, number)


def _flipped(native: Any, names: Sequence[str], samples: Samples, noise: Noise | None) -> Any:
    """The rows whose coins say so, stored."""
    dealt = _dealt(native, names)
    coin = _coins(new_secret(noise), _parts(native), list(samples.values()))
    kept = dealt.withColumn(_COIN, coin(_PART, _NUMBER)).where(_COIN)
    return _stored(kept.select(*names, _NUMBER))


def _parts(native: Any) -> int:
    """As many parts as Spark is told to use for a shuffle: a setting, not a fact about the data."""
    text = str(native.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    return int(text) if text.isdecimal() and int(text) else 200


def _dealt(native: Any, names: Sequence[str]) -> Any:
    """The rows in parts by a hash of what they hold, sorted within them.

    The number of the part is a column of its own, and coins go by it: the number of a task may
    change when Spark joins parts.
    """
    parts = _parts(native)
    part = sql.pmod(sql.xxhash64(*names), sql.lit(parts)).cast("int")
    dealt = native.withColumn(_PART, part).repartition(parts, _PART)
    return dealt.sortWithinPartitions(_PART, *names)


def _coins(secret: bytes, parts: int, samples: list[RecordSample]) -> Any:
    """The column of coins, for rows that are sorted by part."""

    def onesided_coin(batches: Any) -> Any:
        flips = Flips(secret, parts, samples)
        for part, number in batches:
            yield pa.array(flips(np.asarray(part), np.asarray(number)))

    onesided_coin.__annotations__ = {
        "batches": Iterator[tuple[pa.Array, pa.Array]],
        "return": Iterator[pa.Array],
    }
    # Spark moves what it takes for deterministic below the sort.
    made: Callable[..., Any] = arrow_udf(onesided_coin, "boolean").asNondeterministic()
    return made


class Flips:
    """The coins of the parts that one task has, in their order."""

    def __init__(self, secret: bytes, parts: int, samples: list[RecordSample]) -> None:
        self._secret, self._parts, self._samples = secret, parts, samples
        self._part = -1
        self._noise: Noise | None = None

    def __call__(self, part: Numbers, number: Numbers) -> BoolArray:
        """A coin for each row of a batch. Errors: NoiseError if a part comes back."""
        out = np.zeros(len(part), dtype=np.bool_)
        edges = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(part)]
        for start, end in pairwise(edges):
            if start == end:
                continue
            noise = self._noise_of(int(part[start]))
            for place, sample in enumerate(self._samples):
                places = start + np.flatnonzero(number[start:end] == place)
                out[places] = sample.choose(places.size, noise=noise)
        return out

    def _noise_of(self, part: int) -> Noise:
        if part < self._part:
            raise NoiseError(
                "The parts of a table came out of order: bits would be used twice.",
                hint="Nothing was published. Please report this.",
            )
        if self._noise is None or part > self._part:
            self._part = part
            self._noise = PartNoise(self._secret, part=part, parts=self._parts)
        return self._noise


def _stored(native: Any) -> Any:
    """The rows, computed once and held by the executors, with nothing of how they came about.

    They stay in Spark's own form: as Java's objects, dates between two calendars and text that is
    no UTF-8 would become other values, and one unit another, which may be protected.
    """
    session = native.sparkSession
    schema = json.dumps(_bare(json.loads(native.schema.json())))
    java = session._jsparkSession  # noqa: SLF001 - there is no public way
    rows = native._jdf.queryExecution().toRdd()  # noqa: SLF001
    made = java.internalCreateDataFrame(rows, java.parseDataType(schema), False)  # noqa: FBT003
    return type(native)(made, session).localCheckpoint(eager=True)


def _bare(part: Any) -> Any:
    """A schema without metadata: lists of categories would name values of suppressed rows."""
    if isinstance(part, list):
        return [_bare(one) for one in part]
    if isinstance(part, dict):
        return {key: {} if key == "metadata" else _bare(one) for key, one in part.items()}
    return part


def _by_kind(kept: Any, samples: Samples) -> dict[str, int]:
    found = {int(row[0]): int(row[1]) for row in kept.groupBy(_NUMBER).count().collect()}
    return {kind: found.get(place, 0) for place, kind in enumerate(samples)}


# A table in Spark: everything runs in the caller's own session.

# How Spark prints the type of text that is not compared byte by byte.
_COLLATED: Final = " collate "
_LONGEST: Final = 2**31 - 1  # no array of Spark's has more


class SparkEngine(SteppedEngine):
    """A DataFrame of a classic session."""

    packs = False
    reader: ClassVar[Any] = _condition

    def __init__(self, native: Any) -> None:
        # Refuse tables without an end, and text that is not compared byte by byte. Errors:
        # DataError with the reason.
        if native.isStreaming:
            raise DataError(
                "This table is a stream: it has no end, so nothing can be counted in it.",
                hint="Read a finished part of it with spark.read, or use onesided.Monitor for "
                "batches.",
            )
        for column in native.schema:
            typed = column.dataType.simpleString()
            if _COLLATED in typed:
                raise DataError(
                    f"The column {column.name!r} holds {typed}, in which texts that differ count "
                    "as equal.",
                    hint="Keys are told apart byte by byte: use collate(column, 'UTF8_BINARY').",
                    column=column.name,
                )
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

    def plain(self, name: str, place: str, how: Taking) -> Any:
        """Bytes that are no UTF-8 are unknown: told, they look alike.

        Such bytes stay where another type is read: there they are what could not be read.
        """
        kind, held = self.native.schema[self.places[name]].dataType, sql.col(place)
        typed = name in self.readings and self.readings[name].kind != "text"
        if type(kind) is types.StringType and not typed:
            return sql.try_validate_utf8(held)
        floats = isinstance(kind, types.FloatType | types.DoubleType)
        return sql.nanvl(held, sql.lit(None)) if floats and not how.records else held

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

    def sampler(self, subject: Subject, samples: Samples, keeping: Keeping | None) -> Draw:
        return sampler(subject, samples, keeping)


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
    if isinstance(values, np.ndarray) and values.dtype.kind in "bif":  # also where there is no row
        values = np.zeros(1, values.dtype)
    first = next((plain(value) for value in values if value is not None), 0)
    kinds = {
        bool: types.BooleanType,
        int: types.LongType,
        float: types.DoubleType,
        dt.date: types.DateType,
        dt.datetime: types.TimestampNTZType,
    }
    return kinds.get(type(first), types.StringType)()
