"""The SQL that questions become in PostgreSQL, without a connection: read, and compared here.

Write the files anew with ONESIDED_WRITE_SQL=1, and read them.
"""

import os
import re
from contextlib import nullcontext
from pathlib import Path

import ibis
import ibis.expr.operations as ops
import pytest
import sqlglot

import onesided as od
from onesided.engine import _table
from onesided.engine._protocol import LENGTH, ORDER
from onesided.engine.ibis._engine import Postgres, WarehouseEngine, written
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


class Unconnected(Postgres):
    """PostgreSQL without a server: what would be asked is kept."""

    def __init__(self):
        self.asked, self.refused = [], {}

    def settled(self, native):
        return native  # there is no server to ask for full names

    def reading(self):
        return nullcontext()

    def refuse_collated(self, table, names):
        pass

    def rows(self, table):
        # Whole numbers alone come back, one row per key or one in all, and no column of the rows.
        assert all(kind.is_integer() for kind in table.schema().types)
        assert not set(table.columns) & set(SCHEMA)
        assert not any(re.fullmatch(r"c\d+", name) for name in table.columns)
        assert table.op().find(ops.Aggregate)
        text = sqlglot.parse_one(written(table), read="postgres").sql("postgres", pretty=True)
        self.asked.append(text)
        first = table.columns[0]
        grouped = first.startswith("onesided_") and first != LENGTH and len(table.columns) > 1
        return [] if grouped or ORDER in table.columns else [(0,) * len(table.columns)]


def asked(question, monkeypatch):
    """The statements of one question, in their order."""
    warehouse = Unconnected()
    table = ibis.table(SCHEMA, name="visits")
    monkeypatch.setattr(_table, "enter", lambda data: WarehouseEngine(data, warehouse))
    session = od.Session(table, unit="person", policy=POLICY, budget=100)
    session.ask(question)
    return warehouse.asked


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_sql_is_the_one_that_was_read(name, monkeypatch):
    found = asked(QUESTIONS[name], monkeypatch)
    text = ";\n\n".join(found) + ";\n"
    path = FILES / f"postgres-{name.replace(',', '').replace(' ', '-')}.sql"
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
