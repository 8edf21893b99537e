"""PostgreSQL through Ibis: SQL that rounds nothing, in one transaction for a question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import ibis
import ibis.expr.operations as ops
import numpy as np
import psycopg
import sqlglot as sg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from onesided.engine._protocol import Column
from onesided.engine.ibis._condition import Exact
from onesided.engine.ibis._plan import refuse_unrepeatable, spelt
from onesided.errors import DataError, first_line

# By the server's own numbers, which types columns may have; a domain is told as what it is made of.
_TYPES: Final = frozenset([16, 20, 21, 23, 25, 700, 701, 1043, 1082, 1083, 1114, 1184, 1700])


# Whoever may make functions in a schema of the caller's path could make one that is taken for the
# server's own, such as = for two varchar. So they are looked up there alone, and tables by their
# full names.
_OWN: Final = "SET TRANSACTION READ ONLY; SET LOCAL search_path TO pg_catalog"
_PATH: Final = "SELECT pg_catalog.set_config('search_path', %s, true)"
_OWN_PATH: Final = "SELECT pg_catalog.current_setting('search_path')"
# The schema of a table by its name, what it is, and whether it shows other rows than it holds.
_RELATION: Final = """
WITH RECURSIVE found AS (
    SELECT c.oid, c.relkind, n.nspname
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.oid = pg_catalog.to_regclass(CASE WHEN %(space)s::text IS NULL
        THEN pg_catalog.format('%%I', %(name)s::text)
        ELSE pg_catalog.format('%%I.%%I', %(space)s::text, %(name)s::text) END)
), parts AS (
    SELECT oid FROM found
    UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN parts AS p ON i.inhparent = p.oid
)
SELECT nspname, relkind::text, pg_catalog.row_security_active(oid), EXISTS (
    SELECT FROM parts AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.oid
    WHERE c.relkind NOT IN ('r', 'p', 'm')
) FROM found
"""

_COMPILER: Final = Exact()


class Postgres:
    """A server, by the connection of a table's own backend.

    refused: columns that may not be used, with what they hold.
    """

    refused: Mapping[str, str]

    def __init__(self, backend: Any, native: Any) -> None:
        self._backend = backend
        backend._run_pre_execute_hooks(native)  # noqa: SLF001 - tables in memory are handed over
        self._named = {one: self._in_full(one) for one in refuse_unrepeatable(native)}
        self._refuse_settings()
        self._refuse_misread()
        self.refused = self._refused(self.settled(native))

    def settled(self, native: Any) -> Any:
        """The table as questions read it, whatever is set later: names in full, NaN unknown."""
        table = native.op().replace(self._named).to_expr()
        odd = ibis.literal("NaN")
        made = {
            name: table[name].nullif(odd.cast("decimal" if kind.is_decimal() else kind))
            for name, kind in table.schema().items()
            if kind.is_decimal() or kind.is_floating()
        }
        return table.mutate(**made)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Within, every statement finds the same stored rows. Errors: DataError."""
        connection = self._backend.con
        with _answering(), connection.cursor(row_factory=tuple_row) as cursor:
            if connection.info.transaction_status == TransactionStatus.INTRANS:
                ((held,),) = cursor.execute("SHOW transaction_isolation").fetchall()
                _refuse_passing(held)
                yield
                return
            with connection.transaction():
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                yield

    def rows(self, table: Any) -> list[tuple[Any, ...]]:
        """The rows of a table of Ibis: aggregates, or groups, never anybody's own."""
        return self._asked(written(table))

    def refuse_collated(self, table: Any, names: Sequence[str]) -> None:
        """Refuse columns of text in which different words count as equal. Errors: DataError."""
        schema = table.schema()
        for name in names:
            if name not in schema or not schema[name].is_string():
                continue
            column = sg.column(name, quoted=True).sql("postgres")
            probe = (
                f"SELECT bool_and(c.collisdeterministic) FROM pg_catalog.pg_collation AS c "  # noqa: S608 - quoted
                f"JOIN (SELECT pg_collation_for(x) AS told FROM (SELECT {column} AS x FROM "
                f"({written(table)}) AS onesided_rows WHERE false UNION ALL SELECT NULL) AS t) "
                "AS f ON c.oid = f.told::regcollation"
            )
            ((plain,),) = self._asked(probe)
            if not plain:
                raise DataError(
                    f"The column {name!r} has a collation, in which texts that differ count as "
                    "equal.",
                    hint="Keys are told apart byte by byte: give the column a collation that is "
                    "deterministic.",
                    column=name,
                )

    def _asked(self, text: str, values: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        """Rows of one statement, in a transaction that may only read."""
        with self._reading() as cursor:
            return list(cursor.execute(text, values).fetchall())

    @contextmanager
    def _reading(self, *, named: bool = False) -> Iterator[Any]:
        """A transaction that may only read; named: which also finds tables on the caller's path."""
        connection = self._backend.con
        inside = connection.info.transaction_status == TransactionStatus.INTRANS
        with (
            _answering(),
            connection.cursor(row_factory=tuple_row) as cursor,
            connection.transaction(),
        ):
            path = ""
            if inside or named:
                ((path,),) = cursor.execute(_OWN_PATH).fetchall()
            cursor.execute(_OWN)
            if named and path:
                cursor.execute(_PATH, [f"pg_catalog, {path}"])
            yield cursor
            if inside:  # of the caller's own transaction, which goes on with the caller's path
                cursor.execute(_PATH, [path])

    def _refused(self, native: Any) -> Mapping[str, str]:
        """Columns of types that are not of the list, by the server's own word."""
        text = f"SELECT * FROM ({written(native)}) AS onesided_rows LIMIT 0"  # noqa: S608 - Ibis's own
        with self._reading() as cursor:
            described = cursor.execute(text).description or ()
        odd = {column.name: column.type_code for column in described}
        odd = {name: number for name, number in odd.items() if number not in _TYPES}
        named = {
            number: self._asked("SELECT format_type(%s, NULL)", [number])[0][0]
            for number in set(odd.values())
        }
        return {name: named[number] for name, number in odd.items()}

    def _refuse_settings(self) -> None:
        """Text must be Unicode, and a backslash in it a letter like any other."""
        wanted = {"server_encoding": "UTF8", "standard_conforming_strings": "on"}
        for name, value in wanted.items():
            ((held,),) = self._asked("SELECT current_setting(%s)", [name])
            if held != value:
                raise DataError(
                    f"The server has {name} = {held}, with which text is read in another way.",
                    hint=f"Set it to {value}.",
                    setting=name,
                )

    def _refuse_misread(self) -> None:
        """Refuse versions of Ibis and its parser of which public keys do not arrive as they are."""
        keys: dict[str, Column] = {
            "a": ["o'é;", "", None],
            "b": np.array([-(2**63), 0, 7]),
            "c": [True, False, None],
        }
        found = self.rows(spelt(keys, {}).order_by("b"))
        if found != [("o'é;", -(2**63), True), ("", 0, False), (None, 7, None)]:
            raise DataError(
                "These versions of Ibis and sqlglot write SQL that PostgreSQL reads otherwise.",
                hint="pip install --upgrade ibis-framework sqlglot",
            )

    def _in_full(self, relation: Any) -> Any:
        """A stored table by its full name.

        Errors: DataError for a view, or a table elsewhere, which may give other rows each time;
        and for one of which a policy of the server's shows some rows alone.
        """
        space = relation.namespace.database
        given = {"space": space, "name": relation.name}
        with self._reading(named=True) as cursor:
            found = cursor.execute(_RELATION, given).fetchall()
        (held, kind, hidden, elsewhere) = found[0] if found else (None, None, False, False)
        if kind not in ("r", "p", "m") or elsewhere:
            raise DataError(
                f"{relation.name} is no stored table of this database, or a part of it is none, so "
                "it may give other rows each time.",
                hint="A question reads the table more than once. Name the tables that a view is "
                "made of, or make it a materialized view.",
                table=relation.name,
            )
        if hidden:
            raise DataError(
                f"A row security policy decides which rows of {relation.name} this role sees, and "
                "it may decide otherwise the next time.",
                hint="A question reads the table more than once. Read it as a role that sees all "
                "rows, or copy the rows into a table of their own.",
                table=relation.name,
            )
        whole = ops.Namespace(catalog=relation.namespace.catalog, database=held)
        return relation.copy(namespace=whole)


def _refuse_passing(isolation: str) -> None:
    """Errors: DataError for a transaction in which each statement may find other rows."""
    if isolation not in ("repeatable read", "serializable"):
        raise DataError(
            f"The connection is in a transaction of its own, with isolation level {isolation!r}: "
            "each statement may find other rows.",
            hint="Commit it before the question, or begin it with ISOLATION LEVEL REPEATABLE READ.",
        )


def written(table: Any) -> str:
    """The SQL of a table of Ibis.

    A copy is written: the generator changes what it writes, and Ibis shares parts of it.
    """
    return str(_COMPILER.to_sqlglot(table).copy().sql(dialect="postgres"))


@contextmanager
def _answering() -> Iterator[None]:
    """Errors: DataError for whatever the server says, or where it can no longer be reached."""
    try:
        yield
    except psycopg.Error as error:
        raise DataError(
            f"The warehouse could not be read: {first_line(error)}",
            hint="Nothing was drawn. Connect again and ask again: what was charged before stays "
            "charged, and is answered under its id.",
            sqlstate=error.sqlstate,
        ) from error
