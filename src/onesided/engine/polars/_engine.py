"""A table in Polars, eager or lazy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine._protocol import ROW, Column, Engine, Lazy, text_of, unread_of
from onesided.engine._sampling import Draw, Samples, sampler
from onesided.engine._words import Words
from onesided.engine.polars._packed import packed_counts
from onesided.engine.polars._plan import refuse_unrepeatable
from onesided.engine.polars._rows import PolarsRows
from onesided.engine.polars._words import words

if TYPE_CHECKING:
    from onesided.engine._subject import Subject
    from onesided.noise import IntArray
    from onesided.schema import Reading


class PolarsEngine(Engine):
    """native: a DataFrame or a LazyFrame; answers are of the same."""

    def __init__(self, native: Any) -> None:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        self.native = native
        self.lazy = isinstance(native, pl.LazyFrame)
        if self.lazy:
            refuse_unrepeatable(native)
        self.types = native.collect_schema()
        listed = pl.selectors.categorical() | pl.selectors.enum()
        ticks = pl.selectors.duration().to_physical()  # as from Arrow: whole numbers of its unit
        self.frame = nw.from_native(native.lazy().with_columns(listed.cast(pl.String), ticks))
        # The caller's own values, categories aside, until a schema reads text as something else.
        self._whole = self.frame
        schema = self.frame.collect_schema()
        self.refused = {n: str(self.types[n]) for n, kind in schema.items() if _is_unknown(kind)}

    def read_as(self, readings: Mapping[str, Reading]) -> None:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        from onesided.engine.polars._strict import canonical, known, value  # noqa: PLC0415 - as above

        before: Any = nw.to_native(self.frame)
        kept = [text_of(place) for place in range(len(readings))]
        texts = dict(zip(kept, readings.items(), strict=True))
        told = before.with_columns(known(n, one).alias(t) for t, (n, one) in texts.items())
        told = told.with_columns(canonical(t, one).alias(n) for t, (n, one) in texts.items())
        values = {name: value(name, one) for name, one in readings.items()}
        flags = (
            (pl.col(text).is_not_null() & made.is_null()).alias(unread_of(place))
            for place, (text, made) in enumerate(zip(kept, values.values(), strict=True))
        )
        self.frame = nw.from_native(
            told.with_columns(e.alias(n) for n, e in values.items()).drop(kept)
        )
        self.texts, self.read = nw.from_native(told.select(*kept, *flags)), tuple(readings)
        self.refused = {n: kind for n, kind in self.refused.items() if n not in readings}

    def numbered(self, frame: Lazy) -> Lazy:
        return nw.from_native(nw.to_native(frame).with_row_index(ROW, offset=1))  # type: ignore[no-any-return]

    def small(self, columns: Mapping[str, Column], *, like: Sequence[str]) -> Lazy:
        del like  # the join casts both sides
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        small = pl.LazyFrame({name: _held(column) for name, column in columns.items()})
        return nw.from_native(small)

    def null_rows(self, frame: Lazy, column: str, dtype: nw.dtypes.DType) -> int:
        if self.lazy or frame is not self._whole:
            return super().null_rows(frame, column, dtype)
        values = self.native[column]
        found: int = values.null_count() + (values.is_nan().sum() if dtype.is_float() else 0)
        return found

    def fetch(self, frame: Lazy) -> dict[str, NDArray[Any]]:
        found = nw.to_native(frame).collect(engine="streaming")
        return {series.name: _filled(series).to_numpy() for series in found}

    def answer(self, columns: Mapping[str, Column], types: Mapping[str, nw.dtypes.DType]) -> Any:
        made = nw.to_native(self.cast(columns, types)).collect()
        return made.lazy() if self.lazy else made

    def with_hash(self, frame: Lazy, names: Sequence[str], hashed: str) -> Lazy:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        native = nw.to_native(frame).with_columns(pl.struct(*names).hash(0).alias(hashed))
        return nw.from_native(native)  # type: ignore[no-any-return]

    def leading(self, rows: Lazy, unit: str, order: Sequence[str], *, most: int) -> Lazy:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        native = nw.to_native(rows).sort(unit, *order)
        before = pl.col(unit).shift(most)
        return nw.from_native(native.filter(pl.col(unit).ne_missing(before)))  # type: ignore[no-any-return]

    def packed_counts(
        self, rows: Lazy, unit: str, code: str, *, bits: int, most: int
    ) -> tuple[IntArray, IntArray]:
        return packed_counts(nw.to_native(rows), unit, code, bits=bits, most=most)

    def words(self, native: Any) -> Words:
        return words(native)

    def sampler(self, subject: Subject, samples: Samples) -> Draw:
        return sampler(PolarsRows(subject, callers=self.types, lazy=self.lazy), samples)


def _filled(series: Any) -> Any:
    """An empty flag is false, an empty number 0."""
    if not series.null_count():
        return series
    import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

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
