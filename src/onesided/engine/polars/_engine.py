"""A table in Polars, eager or lazy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from onesided.engine._protocol import (
    ROW,
    Column,
    Engine,
    KeyTypes,
    Lazy,
    Words,
    places_of,
    text_of,
    unread_of,
)
from onesided.engine._rows import unclean
from onesided.engine._sampling import Draw, Samples, sampler
from onesided.engine.polars._condition import PolarsTerms, column_type
from onesided.engine.polars._packed import packed_counts
from onesided.engine.polars._rows import PolarsRows
from onesided.engine.polars._strict import canonical, known, value

if TYPE_CHECKING:
    from onesided.engine._subject import Subject
    from onesided.noise import IntArray
    from onesided.schema import Reading


class PolarsEngine(Engine):
    """native: a DataFrame or a LazyFrame; answers are of the same.

    callers: the types of the caller's own columns.
    """

    def __init__(self, native: Any) -> None:
        self.lazy = isinstance(native, pl.LazyFrame)
        self._native = native if self.lazy else native.clone()
        self.callers = native.collect_schema()
        self._places = {name: place for place, name in enumerate(self.callers)}
        self.types: dict[str, nw.dtypes.DType] = {}
        self._retype(list(self.callers))
        self.refused = {n: str(self.callers[n]) for n, t in self.types.items() if _is_unknown(t)}

    def _retype(self, names: Sequence[str]) -> None:
        with self.snapshot(names, rows=False) as empty:
            found = empty.collect_schema().values() if names else ()
            self.types |= dict(zip(names, found, strict=True))

    @contextmanager
    def snapshot(
        self,
        columns: Sequence[str],
        *,
        rows: bool = True,
        records: bool = False,
        texts: bool = False,
    ) -> Iterator[Lazy]:
        taken = self._taken(columns, rows=rows).lazy()
        held = dict(zip(places_of(len(columns)), columns, strict=True))
        yield nw.from_native(self._read(taken, held, records=records, texts=texts))

    def _taken(self, columns: Sequence[str], *, rows: bool) -> Any:
        """The columns as they are, by where they stand: names may be patterns to Polars."""
        whole = self._native if rows else self.callers.to_frame()
        if not columns:
            return whole.lazy().select(pl.int_range(pl.len()).alias("c0")).collect()
        places = zip((self._places[name] for name in columns), places_of(len(columns)), strict=True)
        if isinstance(whole, pl.DataFrame):
            return pl.DataFrame([whole.to_series(at).alias(place) for at, place in places])
        picked = whole.select(pl.nth(at).alias(place) for at, place in places)
        return picked.collect(engine="streaming")

    def _read(self, taken: Any, held: Mapping[str, str], *, records: bool, texts: bool) -> Any:
        """What is read of the columns, in a snapshot of them. held: what is called c0, c1 ..."""
        if not held:
            return taken
        read = {at: self.readings[name] for at, name in held.items() if name in self.readings}
        plain = (self._plain(held[at], at, records=records) for at in held if at not in read)
        told = taken.with_columns(
            *plain, *(known(at, one).alias(text_of(at)) for at, one in read.items())
        )
        told = told.with_columns(canonical(text_of(at), one).alias(at) for at, one in read.items())
        values = {at: value(at, one) for at, one in read.items()}
        beside = [text_of(at) for at, one in read.items() if texts and one.kind != "text"]
        lost = (
            (pl.col(text_of(at)).is_not_null() & made.is_null()).alias(unread_of(at))
            for at, made in values.items()
            if text_of(at) in beside
        )
        return told.select(*(values.get(at, pl.col(at)).alias(at) for at in held), *beside, *lost)

    def _plain(self, name: str, place: str, *, records: bool) -> Any:
        kind, column = self.callers[name], pl.col(place)
        if kind in (pl.Categorical, pl.Enum):
            return column.cast(pl.String)
        if kind == pl.Duration:  # as from Arrow: whole numbers of its unit
            return column.to_physical()
        return column.fill_nan(None) if kind.is_float() and not records else column

    def read_as(self, readings: Mapping[str, Reading]) -> None:
        self.readings = dict(readings)
        self._retype(list(readings))
        self.refused = {n: kind for n, kind in self.refused.items() if n not in readings}

    def numbered(self, frame: Lazy) -> Lazy:
        return nw.from_native(nw.to_native(frame).with_row_index(ROW, offset=1))  # type: ignore[no-any-return]

    def small(self, columns: Mapping[str, Column], *, like: KeyTypes) -> Lazy:
        del like  # the join casts both sides
        small = pl.LazyFrame({name: _held(column) for name, column in columns.items()})
        return nw.from_native(small)

    def fetch(self, frame: Lazy) -> dict[str, NDArray[Any]]:
        found = nw.to_native(frame).collect(engine="streaming")
        return {series.name: _filled(series).to_numpy() for series in found}

    def told(self, columns: Mapping[str, Column], types: KeyTypes, names: Sequence[str]) -> Any:
        made = nw.to_native(self.cast(columns, types)).collect()
        made.columns = list(names)
        return made.lazy() if self.lazy else made

    def with_hash(self, frame: Lazy, names: Sequence[str], hashed: str) -> Lazy:
        native = nw.to_native(frame).with_columns(pl.struct(*names).hash(0).alias(hashed))
        return nw.from_native(native)  # type: ignore[no-any-return]

    def leading(self, rows: Lazy, unit: str, order: Sequence[str], *, most: int) -> Lazy:
        native = nw.to_native(rows).sort(unit, *order)
        before = pl.col(unit).shift(most)
        return nw.from_native(native.filter(pl.col(unit).ne_missing(before)))  # type: ignore[no-any-return]

    def packed_counts(
        self, rows: Lazy, unit: str, code: str, *, bits: int, most: int
    ) -> tuple[IntArray, IntArray]:
        return packed_counts(nw.to_native(rows), unit, code, bits=bits, most=most)

    def words(self, native: Any) -> Words:
        schema = native.collect_schema()
        return Words(
            held={column: str(dtype) for column, dtype in schema.items()},
            types={column: column_type(dtype) for column, dtype in schema.items()},
            terms=PolarsTerms(schema),
            add=lambda made, name: native.with_columns(made.alias(name)),
            keep=native.filter,
        )

    def refuse_uncut(self) -> None:
        for name, dtype in self.callers.items():
            if dtype.is_nested() and "Enum(" in str(dtype):
                raise unclean(name, "Enum in a nested type", "Categorical")

    def sampler(self, subject: Subject, samples: Samples) -> Draw:
        return sampler(PolarsRows(subject, callers=self.callers, lazy=self.lazy), samples)


def _filled(series: Any) -> Any:
    """An empty flag is false, an empty number 0."""
    if not series.null_count():
        return series
    return series.fill_null(False if series.dtype == pl.Boolean else 0)


def _is_unknown(kind: nw.dtypes.DType) -> bool:
    return isinstance(kind, nw.Object | nw.Unknown)


def _held(column: Column) -> Any:
    """Text as Polars holds it already; arrays of objects as lists: Polars finds their type."""
    if isinstance(column, nw.Series):
        polars = column.implementation.is_polars()
        return column.to_native() if polars else column.to_list()
    objects = isinstance(column, np.ndarray) and column.dtype.kind == "O"
    return list(column) if objects else column
