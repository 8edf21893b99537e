"""Samples of Polars tables, eager or lazy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any

import narwhals as nw
import polars as pl

from onesided.engine._protocol import KIND
from onesided.engine._sampling import Kinds, Rows, Subject
from onesided.noise import BoolArray


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
        spans = [(place, kind) for place, kind in kinds.items() if kind == pl.Duration]
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
