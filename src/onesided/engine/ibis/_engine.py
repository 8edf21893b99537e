"""A table in a warehouse: questions become expressions of Ibis, and run where the rows are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ibis
import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.conditions import Translator
from onesided.engine._protocol import Column, Engine, KeyTypes, Lazy
from onesided.engine._sampling import Draw, Samples
from onesided.engine._words import Words
from onesided.engine.ibis._condition import column_type
from onesided.engine.ibis._duckdb import in_memory
from onesided.engine.ibis._public import as_arrow, spelt
from onesided.engine.ibis._warehouse import Warehouse
from onesided.errors import DataError, SchemaError

if TYPE_CHECKING:
    from onesided.engine._subject import Subject
    from onesided.schema import Reading

_RANK = "onesided_rank"


class WarehouseEngine(Engine):
    """native: a table of Ibis, of which rows never leave the warehouse."""

    packs = False

    def __init__(self, native: Any, warehouse: Warehouse) -> None:
        self.native, self.warehouse = warehouse.settled(native), warehouse
        self.frame = nw.from_native(self.native)
        self.refused = warehouse.refused

    def read_as(self, readings: Mapping[str, Reading]) -> None:
        for name, one in readings.items():
            if one.kind != "text":
                raise SchemaError(
                    f"The schema declares {name!r} as {one.kind}, but the warehouse holds text.",
                    hint="Text is not read as another type there: give the column its type in the "
                    "warehouse, or declare it as text.",
                    column=name,
                )
        words = {
            name: self.native[name]
            .notin(one.missing)
            .ifelse(self.native[name], ibis.null("string"))
            for name, one in readings.items()
            if one.missing
        }
        if words:
            self.native = self.native.mutate(**words)
            self.frame = nw.from_native(self.native)

    def refuse_collated(self, names: Sequence[str]) -> None:
        self.warehouse.refuse_collated(self.native, names)

    def distinct(self, frame: Lazy) -> Lazy:
        return nw.from_native(nw.to_native(frame).distinct())  # type: ignore[no-any-return]

    def small(self, columns: Mapping[str, Column], *, like: Sequence[str]) -> Lazy:
        held = self.native.schema()
        types = {name: held[name] for name in like if name in held}
        return nw.from_native(spelt(columns, types, text=self.warehouse.text))  # type: ignore[no-any-return]

    def listed(self, rows: Lazy, keys: Mapping[str, Column], types: KeyTypes) -> Lazy:
        native, small = nw.to_native(rows), nw.to_native(self.cast(keys, types))
        same = nw.to_native(nw.from_native(native).with_columns(_casts(types)))
        joined = same.join(small, list(types))
        return nw.from_native(joined)  # type: ignore[no-any-return]

    def fetch(self, frame: Lazy) -> dict[str, NDArray[Any]]:
        names = frame.collect_schema().names()
        rows = self.warehouse.rows(nw.to_native(frame))
        return {
            name: np.array([int(row[place] or 0) for row in rows], dtype=np.int64)
            for place, name in enumerate(names)
        }

    def lists(self, frame: Lazy) -> dict[str, list[Any]]:
        names = frame.collect_schema().names()
        rows = self.warehouse.rows(nw.to_native(frame))
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}

    def groups(self, frame: Lazy) -> nw.DataFrame[Any]:
        kinds = dict(frame.collect_schema())
        return nw.from_native(as_arrow(self.lists(frame), kinds), eager_only=True)

    def answer(self, columns: Mapping[str, Column], types: Mapping[str, nw.dtypes.DType]) -> Any:
        return in_memory(as_arrow(columns, types))

    def with_hash(self, frame: Lazy, names: Sequence[str], hashed: str) -> Lazy:
        native: Any = nw.to_native(frame)
        made = self.warehouse.hashed([native[name].cast("string") for name in names])
        return nw.from_native(native.mutate(**{hashed: made}))  # type: ignore[no-any-return]

    def leading(self, rows: Lazy, unit: str, order: Sequence[str], *, most: int) -> Lazy:
        native: Any = nw.to_native(rows)
        place = ibis.row_number().over(group_by=unit, order_by=list(order))
        ranked = native.mutate(**{_RANK: place})
        return nw.from_native(ranked.filter(ranked[_RANK] < most).drop(_RANK))  # type: ignore[no-any-return]

    def words(self, native: Any) -> Words:
        schema = native.schema()
        return Words(
            held={name: str(kind) for name, kind in schema.items()},
            types={name: column_type(kind) for name, kind in schema.items()},
            translator=Translator(self.warehouse.terms(native)),
            add=lambda made, name: native.mutate(**{name: made}),
            keep=native.filter,
            check=lambda names: self.warehouse.refuse_collated(native, tuple(names)),
        )

    def sampler(self, subject: Subject, samples: Samples) -> Draw:
        del subject, samples
        raise DataError(
            "True records are not sampled in a warehouse: the rows would have to leave it.",
            hint="Ask for counts, or write the table to files and sample those with another "
            "engine. Nothing was drawn and nothing was recorded.",
        )


def _casts(types: KeyTypes) -> list[nw.Expr]:
    return [nw.col(name).cast(dtype) for name, dtype in types.items()]
