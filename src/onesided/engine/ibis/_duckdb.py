"""Ibis over DuckDB: the relation behind the table, in DuckDB's own room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import ibis

from onesided.engine.duckdb._callers import Caller
from onesided.engine.duckdb._engine import DuckDBEngine, relation_engine

if TYPE_CHECKING:
    import pyarrow as pa


def duckdb_engine(native: Any, backend: Any) -> DuckDBEngine:
    """The table as a relation on its own connection, and answers as tables of Ibis.

    Errors: as those of a relation.
    """
    backend._run_pre_execute_hooks(native)  # noqa: SLF001 - tables in memory are handed to DuckDB
    engine = relation_engine(backend.con.sql(backend.compile(native)))
    engine.caller = IbisCaller(backend)
    return engine


class IbisCaller(Caller):
    """A table of Ibis: what goes back is a table in memory, of public values or of kept rows.

    backend: held, because DuckDB closes a connection that nobody holds.
    """

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def read_as(self, names: Iterable[str]) -> None:
        """Samples have the types that they were read as."""

    def answer(self, relation: Any, names: Sequence[str]) -> Any:
        return ibis.memtable(relation.to_arrow_table().rename_columns(list(names)))

    def sample(self, table: pa.Table) -> Any:
        return ibis.memtable(table)
