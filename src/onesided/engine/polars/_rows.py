"""Samples of Polars tables, eager or lazy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import narwhals as nw
import numpy as np

from onesided.engine._rows import BATCH, Kinds, ScannedRows, unclean
from onesided.engine._table import KIND
from onesided.noise import BoolArray


class PolarsRows(ScannedRows):
    """Polars, eager or lazy. Enums become categories, whose list is that of the kept rows."""

    def check(self) -> None:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        for name, dtype in self.native.collect_schema().items():
            if dtype.is_nested() and "Enum(" in str(dtype):
                raise unclean(name, "Enum in a nested type", str(pl.Categorical))

    def batches(self, kinds: Sequence[str]) -> Iterator[tuple[Any, int, Kinds]]:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        frame = nw.to_native(self.of_kinds(kinds))
        # What is in memory already is taken whole. Versions of Polars before 2 know no batches, or
        # end them quietly when a source breaks.
        steps = self.subject.table.was_lazy and int(pl.__version__.split(".")[0]) >= 2
        parts = (
            frame.collect_batches(chunk_size=BATCH, maintain_order=True)
            if steps
            else [frame.collect()]
        )
        for part in parts:
            if KIND in part.columns:
                yield part.drop(KIND), part.height, part[KIND].to_numpy()
            else:
                yield part, part.height, None

    def in_shells(self, aside: Mapping[str, str]) -> Any:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        return self.native.with_columns(pl.struct(n).alias(shell) for n, shell in aside.items())

    def keep(self, batch: Any, mask: BoolArray) -> Any:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        return _own_buffers(batch.filter(pl.Series(mask)))

    def of_units(self, unit: str, chosen: nw.Series[Any]) -> Any:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        wanted = nw.to_native(chosen)
        return _own_buffers(self.native.filter(pl.col(unit).is_in(wanted.implode())).collect())

    def finish(self, parts: Sequence[Any]) -> Any:
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        empty = self.native.limit(0).collect()
        made = pl.concat([empty, *parts], rechunk=True)
        made = made.with_columns(pl.selectors.enum().cast(pl.Categorical))
        # "Sorted" is said of all rows that there were; what is taken place by place is not marked.
        marked = [column.name for column in made if any(column.flags.values())]
        if marked:
            made = made.with_columns(pl.col(marked).gather(np.arange(made.height)))
        return made.lazy() if self.subject.table.was_lazy else made


def _own_buffers(frame: Any) -> Any:
    """Text and nested columns copied: a filtered one may still hold the whole column's text."""
    import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    others = [n for n, dtype in frame.schema.items() if dtype == pl.Binary or dtype.is_nested()]
    columns: list[Any] = [pl.concat_str(pl.col(n), pl.lit("")).alias(n) for n in texts]
    if others:
        # The older text format, written out and read back, holds what it shows and no more.
        store = BytesIO()
        frame.select(others).write_ipc_stream(store, compat_level=pl.CompatLevel.oldest())
        store.seek(0)
        columns.extend(pl.read_ipc_stream(store).get_columns())
    return frame.with_columns(columns) if columns else frame
