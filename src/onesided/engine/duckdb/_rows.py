"""Samples of DuckDB relations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet

from onesided.engine._protocol import KIND
from onesided.engine._snapshot import BATCH, Kinds, Rows, Subject
from onesided.engine.duckdb._engine import Caller
from onesided.noise import BoolArray

# A byte for each number up to so many times the units takes less memory than their rows.
_DENSE: Final = 64
_PLACE: Final = "onesided_place"
_CHOSEN: Final = "onesided_chosen"


class DuckDBRows(Rows):
    """A DuckDB relation: rows pass by in Arrow batches, and the kept ones are held in memory.

    beside: makes a relation of an Arrow table on the same connection.
    """

    def __init__(self, subject: Subject, *, caller: Caller, beside: Callable[[Any], Any]) -> None:
        super().__init__(subject)
        self._caller, self._beside = caller, beside

    def batches(self, kinds: Sequence[str]) -> Iterator[tuple[Any, int, Kinds]]:
        for batch in _reader(nw.to_native(self.of_kinds(kinds))):
            part = pa.Table.from_batches([batch])
            if KIND in part.column_names:
                found = part[KIND].to_numpy()
                yield part.drop_columns([KIND]), part.num_rows, found
            else:
                yield part, part.num_rows, None

    def keep(self, batch: Any, mask: BoolArray) -> Any:
        return batch.filter(pa.array(mask))

    def of_units(self, unit: str, chosen: nw.Series[Any]) -> Any:
        units = nw.to_native(chosen)
        return self._looked_up(unit, units) if _dense(units) else self._joined(unit, units)

    def _looked_up(self, unit: str, chosen: Any) -> Any:
        """Rows as they pass by in the table's order, looked up in a table of a byte a number."""
        wanted, parts = _wrapped(chosen), []
        # Differences wrap at 2^64, so whatever is below the least is far above it.
        least = wanted[np.argmin(chosen.to_numpy())]
        held = np.zeros(int((wanted - least).max()) + 1, dtype=np.bool_)
        held[wanted - least] = True
        for batch in _reader(self.native):
            part = pa.Table.from_batches([batch])
            known = part.filter(pc.is_valid(part[unit])) if part[unit].null_count else part
            place = _wrapped(known[unit]) - least
            inside = place < held.size
            inside[inside] = held[place[inside]]
            parts.append(self.keep(known, inside))
        return pa.concat_tables(parts) if parts else _reader(self.native.limit(0)).read_all()

    def _joined(self, unit: str, chosen: Any) -> Any:
        """Rows joined by the engine, and then put in the table's order.

        A join gives rows as its threads come by them, each a stretch of the table: where one ends
        would tell how many rows were left out before it.
        """
        numbered = self.native.project(f"*, row_number() OVER () AS {_PLACE}").set_alias(
            "onesided_all"
        )
        wanted = self._beside(pa.table({_CHOSEN: chosen})).set_alias(_CHOSEN)
        rows = numbered.join(wanted, f"{unit} = {_CHOSEN}", how="semi").order(_PLACE)
        return _reader(rows.project(", ".join(self.native.columns))).read_all()

    def finish(self, parts: Sequence[Any]) -> Any:
        empty = _reader(self.native.limit(0)).read_all()
        # The table from what it shows and no more: written to Parquet and read back. A filtered
        # column may still hold bits beyond its end, and values under its nulls. Moments in seconds
        # pass as numbers: Parquet has milliseconds, in which the far ones do not fit.
        table = pa.concat_tables([empty, *parts])
        # Parquet has no such type: those few columns are made of Python's own values.
        aside = [
            name for name in table.column_names if "interval" in str(table.schema.field(name).type)
        ]
        passing = table.drop_columns(aside)
        written = passing.cast(
            pa.schema([field.with_type(_stored(field.type)) for field in passing.schema])
        )
        store = pa.BufferOutputStream()
        parquet.write_table(written, store, compression="none", write_statistics=False)
        read = parquet.read_table(pa.BufferReader(store.getvalue())).combine_chunks()
        columns = {
            field.name: pa.array(table[field.name].to_pylist(), field.type)
            if field.name in aside
            else read[field.name].cast(field.type)
            for field in table.schema
        }
        kept = pa.table(columns)
        return self._caller.sample(kept.rename_columns(list(self.names.values())))


def _stored(kind: Any) -> Any:
    """The type by which a type passes through Parquet."""
    types = pa.types
    if types.is_timestamp(kind) and kind.unit == "s":
        return pa.int64()
    if types.is_map(kind):
        return pa.map_(_stored(kind.key_type), _stored(kind.item_type))
    if types.is_struct(kind):
        return pa.struct([field.with_type(_stored(field.type)) for field in kind])
    if types.is_fixed_size_list(kind):
        return pa.list_(_stored(kind.value_type), kind.list_size)
    if types.is_list(kind):
        return pa.list_(_stored(kind.value_type))
    return pa.large_list(_stored(kind.value_type)) if types.is_large_list(kind) else kind


def _wrapped(column: Any) -> NDArray[np.uint64]:
    """Whole numbers of any width, those below 0 as 2^64 more."""
    numbers: NDArray[Any] = column.to_numpy()
    unsigned = numbers.dtype.kind == "u"
    return numbers.astype(np.uint64) if unsigned else numbers.astype(np.int64).view(np.uint64)


def _dense(units: Any) -> bool:
    """Whether these are whole numbers close enough for a table with a byte for each."""
    if not pa.types.is_integer(units.type) or not len(units):
        return False
    ends = pc.min_max(units).as_py()
    return bool(ends["max"] - ends["min"] < _DENSE * len(units))


def _reader(relation: Any) -> Any:
    newer = hasattr(relation, "to_arrow_reader")
    return relation.to_arrow_reader(BATCH) if newer else relation.fetch_record_batch(BATCH)
