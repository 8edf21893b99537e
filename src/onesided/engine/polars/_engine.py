"""Tables of Polars, eager or lazy: opened, counted, and sampled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any, ClassVar, Final

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from onesided.engine._packed import Packing
from onesided.engine._protocol import (
    KIND,
    ROW,
    Column,
    KeyTypes,
    Lazy,
    SteppedEngine,
    Taking,
    Words,
    places_of,
)
from onesided.engine._snapshot import Draw, Keeping, Kinds, Rows, Samples, Subject, sampler, unclean
from onesided.engine.polars import _condition
from onesided.engine.polars._condition import PolarsTerms, column_type
from onesided.noise import BoolArray

# Samples of Polars tables, eager or lazy.


class PolarsRows(Rows):
    """Polars, eager or lazy. Enums become categories, whose list is that of the kept rows."""

    def __init__(self, subject: Subject, *, callers: Any, lazy: bool) -> None:
        super().__init__(subject)
        self._callers, self._lazy = callers, lazy

    def batches(self, kinds: Sequence[str]) -> Iterator[tuple[Any, int, Kinds]]:
        # In one piece: where a source breaks, Polars' own batches end without a word.
        whole = nw.to_native(self.of_kinds(kinds)).collect(engine="streaming")
        if KIND in whole.columns:
            yield whole.drop(KIND), whole.height, whole[KIND].to_numpy()
        else:
            yield whole, whole.height, None

    def keep(self, batch: Any, mask: BoolArray) -> Any:
        return _anew(batch.filter(pl.Series(mask)))

    def of_units(self, unit: str, chosen: nw.Series[Any]) -> Any:
        wanted = nw.to_native(chosen)
        return _anew(self.native.filter(pl.col(unit).is_in(wanted.implode())).collect())

    def finish(self, parts: Sequence[Any]) -> Any:
        empty = self.native.limit(0).collect()
        made = _anew(pl.concat([empty, *parts], rechunk=True))
        kinds = {place: self._callers[name] for place, name in self.names.items()}
        listed = [place for place, kind in kinds.items() if kind in (pl.Categorical, pl.Enum)]
        spans = [(place, kind) for place, kind in kinds.items() if kind in (pl.Duration, *_READ_AS)]
        made = made.with_columns(
            pl.col(listed).cast(pl.Categorical), *(pl.col(n).cast(kind) for n, kind in spans)
        )
        made.columns = list(self.names.values())
        return made.lazy() if self._lazy else made


def _anew(frame: Any) -> Any:
    """The table from what it shows and no more: written to Parquet and read back.

    A filtered column may still hold all text, bits beyond its end, values under its nulls, and a
    mark that says that the whole column was sorted.
    """
    if not frame.width:
        return frame
    store = BytesIO()
    frame.write_parquet(store, compression="uncompressed", statistics=False)
    store.seek(0)
    made = pl.read_parquet(store, use_statistics=False).rechunk()
    return made.select(pl.col(n).cast(kind) for n, kind in frame.schema.items())


# A table in Polars, eager or lazy.

# Types that are read as others, as from Arrow.
_READ_AS: Final = {pl.Null: pl.String, pl.Float16: pl.Float32}


class PolarsEngine(SteppedEngine):
    """native: a DataFrame or a LazyFrame; answers are of the same.

    callers: the types of the caller's own columns.
    """

    reader: ClassVar[Any] = _condition

    def __init__(self, native: Any) -> None:
        self.lazy = isinstance(native, pl.LazyFrame)
        self.fixed = not self.lazy
        self._native = native if self.lazy else _owned(native)
        self.callers = native.collect_schema()
        self._places = {name: place for place, name in enumerate(self.callers)}
        self.types = {}
        self.retype(list(self.callers))
        self.refused = {
            name: str(self.callers[name])
            for name, kind in self.types.items()
            if isinstance(kind, nw.Object | nw.Unknown)
        }

    @contextmanager
    def snapshot(self, columns: Sequence[str], how: Taking) -> Iterator[Lazy]:
        taken = self._taken(columns, rows=how.rows).lazy()
        for step in self.steps(columns, how) if columns else ():
            taken = taken.select(**step)
        yield nw.from_native(taken)

    def plain(self, name: str, place: str, how: Taking) -> pl.Expr:
        kind, held = self.callers[name], pl.col(place)
        if kind in (pl.Categorical, pl.Enum):
            return held.cast(pl.String)
        if kind == pl.Duration:  # as from Arrow: whole numbers of its unit
            return held.to_physical()
        held = held.cast(_READ_AS[kind]) if kind in _READ_AS else held
        return held.fill_nan(None) if kind.is_float() and not how.records else held

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

    def packed(
        self, rows: Lazy, unit: str, code: str, packing: Packing, part: int
    ) -> Sequence[NDArray[Any]]:
        owner, place = pl.col(unit).cast(pl.Int64), pl.col(code).cast(pl.UInt64)
        if packing.most is not None:
            top = pl.struct(owner, pl.col(code).cast(pl.Int64)).hash(0)
            place += top // _word(2**packing.dropped) * _word(2**packing.bits)
        if packing.least is not None:
            above = (owner - pl.lit(packing.least, pl.Int64)).cast(pl.UInt64)
            place += above * _word(2**packing.width)
        made = nw.to_native(rows).filter(pl.col(unit).is_not_null())
        if packing.parts > 1:
            made = made.filter(owner.hash(0) % packing.parts == part)
        far = [] if packing.least is not None else [owner]
        held = made.select(place.alias(code), *far).collect(engine="streaming")
        return [series.to_numpy() for series in held]

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
            if dtype == pl.Object:
                raise unclean(name, "Python objects", "a plain type")
            if dtype.is_nested() and "Enum(" in str(dtype):
                raise unclean(name, "Enum in a nested type", "Categorical")
            try:
                _anew(pl.DataFrame(schema={"c0": dtype}))
            except pl.exceptions.PolarsError:
                raise unclean(name, str(dtype), "a plain type") from None

    def sampler(self, subject: Subject, samples: Samples, keeping: Keeping | None) -> Draw:
        return sampler(PolarsRows(subject, callers=self.callers, lazy=self.lazy), samples, keeping)


def _owned(frame: Any) -> Any:
    """The frame in memory of its own: Polars reads NumPy's and Arrow's where it lies.

    Written and read back, it is ours. Python's objects stay, of which nothing is asked.
    """
    made = []
    for place, (name, dtype) in enumerate(frame.schema.items()):
        column = frame.to_series(place)
        if dtype != pl.Object:
            store = BytesIO()
            newest = pl.CompatLevel.newest()
            column.alias("c").to_frame().write_ipc(
                store, compression="uncompressed", compat_level=newest
            )
            store.seek(0)
            column = pl.read_ipc(store).to_series().alias(name)
        made.append(column)
    return pl.DataFrame(made) if made else frame


def _filled(series: Any) -> Any:
    """An empty flag is false, an empty number 0."""
    if not series.null_count():
        return series
    return series.fill_null(False if series.dtype == pl.Boolean else 0)


def _held(column: Column) -> Any:
    """Text as Polars holds it already; arrays of objects as lists: Polars finds their type."""
    if isinstance(column, nw.Series):
        polars = column.implementation.is_polars()
        return column.to_native() if polars else column.to_list()
    objects = isinstance(column, np.ndarray) and column.dtype.kind == "O"
    return list(column) if objects else column


def _word(value: int) -> Any:
    return pl.lit(value, pl.UInt64)
