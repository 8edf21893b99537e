"""The SQL that questions become, in each dialect, without a connection: read, and compared here.

PostgreSQL's is what runs. The others are what would run: those warehouses are refused, because
nobody compared their answers. Write the files anew with ONESIDED_WRITE_SQL=1, and read them.
"""

import os
import re
from contextlib import nullcontext
from pathlib import Path

import ibis
import ibis.expr.datatypes as idt
import ibis.expr.operations as ops
import pytest
import sqlglot

import onesided as od
from onesided.engine import _table
from onesided.engine._protocol import LENGTH, ORDER
from onesided.engine.ibis._condition import IbisTerms
from onesided.engine.ibis._engine import WarehouseEngine
from onesided.engine.ibis._postgres import Postgres, written
from onesided.engine.ibis._postgres_terms import server
from onesided.engine.ibis._warehouse import Warehouse
from onesided.session.values._sum import Sum

FILES = Path(__file__).with_name("sql")
SCHEMA = {"person": "int64", "place": "string", "age": "int32", "seen": "timestamp"}
WORD = "o'Brien\\"
POLICY = od.policy.sensitive("age < 18 OR place = 'o''Brien\\'")
QUESTIONS = {
    "units in their first groups": od.Count(
        by="place", keys=["gym", WORD], epsilon=1, max_groups=2, on_excess="truncate"
    ),
    "open units, some rows": od.Count(
        by="place",
        keys=["gym"],
        epsilon=1,
        max_groups=1,
        counted="open",
        where="age BETWEEN 20 AND 30",
    ),
    "sum of a column": Sum(
        "age", of="units", total_bounds=(0, 99), by="place", keys=["gym"], epsilon=1, max_groups=1
    ),
}
BYTES, TEXT = idt.binary, idt.string
DECODED = {
    "bigquery": ("safe_convert_bytes_to_string", "from_hex"),
    "snowflake": ("hex_decode_string",),
    "trino": ("from_utf8", "from_hex"),
    "clickhouse": ("unhex",),
    "duckdb": ("decode", "unhex"),
}


class OfIbis(Warehouse):
    """A dialect as Ibis writes it."""

    def __init__(self, dialect):
        self.dialect, self.asked, self.refused = dialect, [], {}

    def written(self, table):
        text = str(ibis.to_sql(table, dialect=self.dialect))
        return re.sub(r"'[0-9a-f]{32}'", "'separator'", text)  # drawn anew each time

    def reading(self):
        return nullcontext()

    def rows(self, table):
        # Whole numbers alone come back, one row per key or one in all, and no column of the rows.
        assert all(kind.is_integer() for kind in table.schema().types)
        assert not set(table.columns) & set(SCHEMA)
        assert not any(re.fullmatch(r"c\d+", name) for name in table.columns)
        assert table.op().find(ops.Aggregate)
        self.asked.append(self.written(table))
        first = table.columns[0]
        grouped = first.startswith("onesided_") and first != LENGTH and len(table.columns) > 1
        return [] if grouped or ORDER in table.columns else [(0,) * len(table.columns)]

    def terms(self, table):
        return IbisTerms(table)

    def hashed(self, parts):
        if self.dialect != "trino":
            return super().hashed(parts)
        made = super().hashed(parts).op().arg.to_expr()  # Ibis has no word for it there
        for name, given in (
            ("to_utf8", BYTES),
            ("xxhash64", BYTES),
            ("from_big_endian_64", "int64"),
        ):
            made = server(name, (made.type(),), given)(made)
        return made

    def text(self, digits):
        made = digits
        for name in reversed(DECODED[self.dialect]):
            given = TEXT if name == DECODED[self.dialect][0] else BYTES
            made = server(name, (made.type(),), given)(made)
        return made


class OfOurs(OfIbis, Postgres):
    """PostgreSQL as it runs."""

    def written(self, table):

        return sqlglot.parse_one(written(table), read="postgres").sql("postgres", pretty=True)

    terms = Postgres.terms
    text = Postgres.text
    settled = OfIbis.settled  # there is no server to ask for full names


def asked(dialect, question, monkeypatch):
    """The statements of one question, in their order."""
    warehouse = OfOurs(dialect) if dialect == "postgres" else OfIbis(dialect)
    warehouse.refuse_collated = lambda *_: None
    table = ibis.table(SCHEMA, name="visits")
    monkeypatch.setattr(_table, "enter", lambda data: WarehouseEngine(data, warehouse))
    session = od.Session(table, unit="person", policy=POLICY, budget=100)
    session.ask(question)
    return warehouse.asked


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("dialect", ["postgres", *DECODED])
def test_the_sql_of_each_dialect_is_the_one_that_was_read(dialect, name, monkeypatch):
    found = asked(dialect, QUESTIONS[name], monkeypatch)
    text = ";\n\n".join(found) + ";\n"
    path = FILES / f"{dialect}-{name.replace(',', '').replace(' ', '-')}.sql"
    if os.environ.get("ONESIDED_WRITE_SQL"):
        path.write_text(text)
    assert spelt(path.read_text()) == spelt(text)
    for statement in found:
        check(statement)


def spelt(text):
    """One spelling of a function that versions of sqlglot write in two ways."""
    return text.replace("SUBSTRING(", "SUBSTR(")


def check(statement):
    """The data are read alone, no engine's mean is used, and no word of a key is there."""
    assert not re.search(r"\b(INSERT|CREATE|UPDATE|DELETE|DROP|AVG)\b", statement)
    assert "gym" not in statement
    assert "Brien\\'," not in statement
