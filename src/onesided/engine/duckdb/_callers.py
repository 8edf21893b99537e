"""Whose table DuckDB reads: answers and samples go back in the form in which the table came."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import narwhals as nw

from onesided.engine.duckdb._arrow import restored
from onesided.engine.duckdb._pandas import as_pandas
from onesided.engine.duckdb._text import handed_over, quoted

if TYPE_CHECKING:
    import pyarrow as pa


class Caller(ABC):
    """The form of the caller's own table."""

    @abstractmethod
    def read_as(self, names: Iterable[str]) -> None:
        """Forget the types of columns that are now read as others."""

    @abstractmethod
    def answer(self, lazy: Any) -> Any:
        """A small public relation in the caller's form."""

    @abstractmethod
    def sample(self, table: pa.Table) -> Any:
        """Rows of the caller's own table, as DuckDB gave them back, in the caller's form."""

    def takes(self, table: pa.Table) -> bool:  # noqa: ARG002
        """Whether a sample goes back as it is, tried with a table of one's own."""
        return True


class RelationCaller(Caller):
    """A DuckDB relation. An ENUM becomes text: its list would name values of suppressed rows."""

    def __init__(self, native: Any) -> None:
        self._native, self._declared = native, frozenset[str]()

    def read_as(self, names: Iterable[str]) -> None:
        self._declared = frozenset(names)

    def answer(self, lazy: Any) -> Any:
        return lazy

    def sample(self, table: pa.Table) -> Any:
        kinds = ("VARCHAR" if kind.id == "enum" else kind for kind in self._native.types)
        columns = zip(self._native.columns, kinds, strict=True)
        wanted = ", ".join(
            quoted(c) if c in self._declared else f"CAST({quoted(c)} AS {kind}) AS {quoted(c)}"
            for c, kind in columns
        )
        return handed_over(self._native, table).project(wanted)

    def takes(self, table: pa.Table) -> bool:
        return bool(handed_over(self._native, table).to_arrow_table() == table)


class ArrowCaller(Caller):
    """A PyArrow table. The sample has no metadata: pandas' notes in it would count the rows."""

    def __init__(self, native: pa.Table) -> None:
        self._types = {field.name: field.type for field in native.schema}

    def read_as(self, names: Iterable[str]) -> None:
        for name in names:
            del self._types[name]

    def answer(self, lazy: Any) -> Any:
        return _read(lazy)

    def sample(self, table: pa.Table) -> Any:
        return restored(table, self._types)


class PandasCaller(Caller):
    """A pandas frame. Samples have a fresh index: the old one would number the gaps."""

    def __init__(self, native: Any) -> None:
        self._types: dict[str, Any] = dict(native.dtypes)
        self._backed = any(type(kind).__name__ == "ArrowDtype" for kind in native.dtypes)

    def read_as(self, names: Iterable[str]) -> None:
        for name in names:
            del self._types[name]

    def answer(self, lazy: Any) -> Any:
        if self._backed:
            import pandas as pd  # noqa: PLC0415 - the caller's frame has loaded it already

            return _read(lazy).to_pandas(types_mapper=pd.ArrowDtype)
        return _read(lazy).to_pandas()

    def sample(self, table: pa.Table) -> Any:
        return as_pandas(table, self._types)


def _read(lazy: Any) -> pa.Table:
    table: pa.Table = nw.to_native(nw.from_native(lazy).collect())
    return table
