"""Whose table DuckDB reads: answers and samples go back in the form in which the table came."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from onesided.engine._sql import quoted
from onesided.engine.duckdb._condition import connected

if TYPE_CHECKING:
    import pyarrow as pa


class Caller(ABC):
    """The form of the caller's own table."""

    @abstractmethod
    def read_as(self, names: Iterable[str]) -> None:
        """Forget the types of columns that are now read as others."""

    @abstractmethod
    def answer(self, relation: Any, names: Sequence[str]) -> Any:
        """A small public relation in the caller's form, its columns called ``names``."""

    @abstractmethod
    def sample(self, table: pa.Table) -> Any:
        """Rows of the caller's own table, as DuckDB gave them back, in the caller's form."""


class RelationCaller(Caller):
    """A DuckDB relation. An ENUM becomes text: its list would name values of suppressed rows."""

    def __init__(self, native: Any) -> None:
        self._native, self._declared = native, frozenset[str]()

    def read_as(self, names: Iterable[str]) -> None:
        self._declared = frozenset(names)

    def answer(self, relation: Any, names: Sequence[str]) -> Any:
        if find_spec("pyarrow") is None:
            pairs = zip(relation.columns, names, strict=True)
            return relation.project(", ".join(f"{c} AS {quoted(name)}" for c, name in pairs))
        return _handed_over(self._native, read(relation, names))

    def sample(self, table: pa.Table) -> Any:
        kinds = ("VARCHAR" if kind.id == "enum" else kind for kind in self._native.types)
        columns = zip(self._native.columns, kinds, strict=True)
        wanted = ", ".join(
            quoted(c) if c in self._declared else f"CAST({quoted(c)} AS {kind}) AS {quoted(c)}"
            for c, kind in columns
        )
        return _handed_over(self._native, table).project(wanted)


def read(relation: Any, names: Sequence[str]) -> pa.Table:
    table: pa.Table = relation.to_arrow_table()
    return table.rename_columns(list(names))


def _handed_over(native: Any, table: pa.Table) -> Any:
    """A public table beside the caller's own, or on a connection of ours where that gives another.

    The caller's connection may not let Python's tables be found, or hold one of that name.
    """
    onesided_small = table  # noqa: F841 - DuckDB finds it by its name
    with contextlib.suppress(Exception):
        made = native.query("onesided_data", "SELECT * FROM onesided_small").select("*")
        if made.to_arrow_table() == table:
            return made
    return connected().from_arrow(table)
