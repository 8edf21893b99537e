"""Tables of Ibis, in the warehouses that were tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import ibis
import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine._protocol import Column, Engine, KeyTypes, Lazy, Taking, Words, places_of
from onesided.engine._snapshot import Draw, Samples
from onesided.engine.ibis._condition import PostgresTerms, column_type, duckdb_engine, written_of
from onesided.engine.ibis._plan import as_arrow, ibis_type, spelt
from onesided.engine.ibis._postgres import Postgres
from onesided.errors import DataError, SchemaError

if TYPE_CHECKING:
    from onesided.engine._snapshot import Subject
    from onesided.schema import Reading

# Which warehouse a table of Ibis lies in, and how it is read there.


def open_table(native: Any) -> Engine:
    """The table in its warehouse. Errors: DataError for one that was never tried."""
    backend = native.get_backend()
    if backend.name == "duckdb":
        return duckdb_engine(native, backend)
    if backend.name == "postgres":
        from onesided.engine.ibis._postgres import Postgres  # noqa: PLC0415 - optional

        return WarehouseEngine(native, Postgres(backend, native))
    raise DataError(
        f"This table of Ibis lies in {backend.name}, where the answers were never compared with "
        "those of the other engines.",
        hint="Tables of Ibis in DuckDB and PostgreSQL are read. Write this one to Parquet files, "
        "and read those with DuckDB, Polars or Spark.",
        warehouse=backend.name,
    )


# A table in a warehouse: questions become expressions of Ibis, and run where the rows are.

_RANK = "onesided_rank"


class WarehouseEngine(Engine):
    """native: a table of Ibis, of which rows never leave the warehouse."""

    packs = False

    def __init__(self, native: Any, warehouse: Postgres) -> None:
        self.warehouse = warehouse
        self._native = warehouse.settled(native)
        self.types = dict(nw.from_native(self._native).collect_schema())
        self.refused = warehouse.refused

    @contextmanager
    def snapshot(self, columns: Sequence[str], how: Taking) -> Iterator[Lazy]:
        """Rows stay where they are: all that is asked within is asked in one transaction.

        Samples are refused, and so is text that is read as another type.
        """
        places = places_of(len(columns))
        made = {place: self._known(name) for name, place in zip(columns, places, strict=True)}
        taken = self._native.select(**(made or {"c0": ibis.literal(1)}))
        with self.warehouse.reading() if how.rows else nullcontext():
            yield nw.from_native(taken if how.rows else taken.limit(0))

    def _known(self, name: str) -> Any:
        """A column, in which words for no value are null."""
        held, one = self._native[name], self.readings.get(name)
        if one is None or not one.missing:
            return held
        return held.notin(one.missing).ifelse(held, ibis.null("string"))

    def read_as(self, readings: Mapping[str, Reading]) -> None:
        for name, one in readings.items():
            if one.kind != "text":
                raise SchemaError(
                    f"The schema declares {name!r} as {one.kind}, but the warehouse holds text.",
                    hint="Text is not read as another type there: give the column its type in the "
                    "warehouse, or declare it as text.",
                    column=name,
                )
        self.readings = dict(readings)

    def refuse_collated(self, names: Sequence[str]) -> None:
        self.warehouse.refuse_collated(self._native, names)

    def distinct(self, frame: Lazy) -> Lazy:
        return nw.from_native(nw.to_native(frame).distinct())  # type: ignore[no-any-return]

    def small(self, columns: Mapping[str, Column], *, like: KeyTypes) -> Lazy:
        types = {name: kind for name, dtype in like.items() if (kind := ibis_type(dtype))}
        return nw.from_native(spelt(columns, types))  # type: ignore[no-any-return]

    def listed(self, rows: Lazy, keys: Mapping[str, Column], types: KeyTypes) -> Lazy:
        casts = [nw.col(name).cast(dtype) for name, dtype in types.items()]
        same, small = nw.to_native(rows.with_columns(casts)), nw.to_native(self.cast(keys, types))
        return nw.from_native(same.join(small, list(types)))  # type: ignore[no-any-return]

    def fetch(self, frame: Lazy) -> dict[str, NDArray[Any]]:
        found = self.lists(frame).items()
        return {n: np.array([int(one or 0) for one in held], dtype=np.int64) for n, held in found}

    def lists(self, frame: Lazy) -> dict[str, list[Any]]:
        names = frame.collect_schema().names()
        rows = self.warehouse.rows(nw.to_native(frame))
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}

    def groups(self, frame: Lazy) -> nw.DataFrame[Any]:
        kinds = dict(frame.collect_schema())
        return nw.from_native(as_arrow(self.lists(frame), kinds), eager_only=True)

    def told(self, columns: Mapping[str, Column], types: KeyTypes, names: Sequence[str]) -> Any:
        return ibis.memtable(as_arrow(columns, types).rename_columns(list(names)))

    def with_hash(self, frame: Lazy, names: Sequence[str], hashed: str) -> Lazy:
        native: Any = nw.to_native(frame)
        first, *others = (native[name].cast("string") for name in names)
        for part in others:  # after its length: no two lists of texts make one
            first = first.length().cast("string") + ":" + first + part
        return nw.from_native(native.mutate(**{hashed: first.hash()}))  # type: ignore[no-any-return]

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
            terms=PostgresTerms(schema),
            add=lambda made, name: native.mutate(**{name: written_of(native, made)}),
            keep=lambda made: native.filter(written_of(native, made)),
        )

    def sampler(self, subject: Subject, samples: Samples) -> Draw:
        del subject, samples
        raise DataError(
            "True records are not sampled in a warehouse: the rows would have to leave it.",
            hint="Ask for counts, or write the table to files and sample those with another "
            "engine. Nothing was drawn and nothing was recorded.",
        )
