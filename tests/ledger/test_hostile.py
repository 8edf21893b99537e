"""A hostile ledger, of any depth, length or width, ends in one of our errors, soon and small."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from onesided.ledger import Ledger, _entry

# Each in a process of its own, with little memory.
pytestmark = pytest.mark.heavy

EDGE = "sensitive -> open"
LOOK = """
import json, resource, sys, time, warnings
import onesided as od
from onesided import errors
from onesided.ledger import Ledger
from onesided.policy import Policy
Ledger.open(None).close()  # loads all that looking needs
try:
    od.policy.from_toml("x")
except errors.OnesidedError:
    pass
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
told = []
for look in sys.argv[2:]:
    try:
        with Ledger.open(sys.argv[1], create=False) as ledger:
            if look == "total":
                od.session.total_guarantee(ledger)
            else:
                getattr(ledger, look)()
        told.append(None)
    except errors.OnesidedError as error:
        told.append(type(error).__name__)
        assert len(str(error)) < 10_000, len(str(error))
print(json.dumps({"told": told, "seconds": time.process_time() - start,
    "megabytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}))
"""
DEEP, WIDE = 10**6, 4 * 10**6
HOSTILE = {
    "deep": lambda: '{"a":' + "[" * DEEP + "]" * DEEP + "}",
    "deep unit": lambda: '{"onesided.unit":' + '{"a":' * 10**5 + "1" + "}" * 10**5 + "}",
    "wide": lambda: '{"a":[' + "[]," * WIDE + "1]}",
    "names": lambda: "{" + ",".join(f'"{i}":0' for i in range(10**6)) + "}",
    "digits": lambda: '{"a":' + "1" * 10**6 + "}",
    "exponent": lambda: '{"a":1e999999999}',
    "long": lambda: json.dumps({"a": "x" * 10**8}),
    "text": lambda: "not JSON",
    "unit": lambda: '{"onesided.unit":{"row":true,"column":"x"}}',
    "budget": lambda: '{"budget":{"e":"1e999999999"},"delta_budget":{"e":"1/0"}}',
    "budget of text": lambda: json.dumps({"budget": "x" * 10**6, "delta_budget": []}),
    "digits of a budget": lambda: json.dumps(
        {"budget": {EDGE: "9" * 10**6}, "delta_budget": {EDGE: "0"}}
    ),
}


def forged(path, column, text, *, number):
    """Rewrite one row and hash it and all after it as their writer would."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='trigger'"):
            connection.execute(f"DROP TRIGGER {name}")
        previous = None
        for values in connection.execute(
            "SELECT * FROM onesided_entries WHERE number >= ? ORDER BY number", [number]
        ).fetchall():
            row = dict(zip(_entry.COLUMNS, values, strict=True))
            row |= {column: text} if row["number"] == number else {}
            row["previous"] = previous or row["previous"]
            row["hash"] = previous = _entry.digest(_entry.Row(**row))
            connection.execute(
                f"UPDATE onesided_entries SET {column} = ?, previous = ?, hash = ? "
                "WHERE number = ?",
                [row[column], row["previous"], row["hash"], row["number"]],
            )
    connection.close()


def looked(path, *looks):
    done = subprocess.run(
        [sys.executable, "-c", LOOK, path, *looks], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture
def path(tmp_path, open_account):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        account = open_account(ledger)
        account.spend({EDGE: "1/10"}, label="a")
        account.spend({EDGE: "1/10"}, label="b")
    return tmp_path / "ledger.db"


LOOKS = ("accounts", "balances", "entries", "check")


def test_an_honest_ledger_is_looked_at(path):
    assert looked(path, *LOOKS)["told"] == [None] * 4


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_detail(path, name):
    forged(path, "detail", HOSTILE[name](), number=1)
    found = looked(path, *LOOKS)
    assert found["told"][-1] in ("TamperedLedgerError", "LedgerFormatError")
    assert found["megabytes"] < 200
    assert found["seconds"] < 4  # four looks


@pytest.mark.parametrize(
    "text",
    [
        lambda: "[" * DEEP + "]" * DEEP,
        lambda: json.dumps({EDGE: "9" * 10**7}),
        lambda: json.dumps({EDGE: "1e999999999"}),
        lambda: json.dumps({EDGE: "1/0"}),
        lambda: "{" + ",".join(f'"{i}":"0"' for i in range(10**5)) + "}",
        lambda: "x" * 10**8,
    ],
    ids=["deep", "digits", "exponent", "zero", "wide", "long"],
)
def test_hostile_amounts(path, text):
    forged(path, "total_epsilon", text(), number=3)
    found = looked(path, *LOOKS)
    assert found["told"][-1] in ("TamperedLedgerError", "LedgerFormatError")
    assert found["megabytes"] < 200
    assert found["seconds"] < 4


@pytest.mark.parametrize("column", ["label", "policy_id", "kind"])
def test_a_column_of_a_hundred_megabytes(path, column):
    forged(path, column, "x" * 10**8, number=3)
    found = looked(path, *LOOKS)
    assert found["told"][-1] == "LedgerFormatError"
    assert found["megabytes"] < 200
    assert found["seconds"] < 4


@pytest.mark.parametrize(
    "toml",
    [
        "a = " + "[" * 5000 + "]" * 5000,
        "name = 1" + "0" * 10000,
        "a" + ".a" * 20000 + " = 1",
        "a = 1\n" * 10**6,
        "[[a]]\n" * 10**6,
    ],
    ids=["deep", "digits", "names", "repeated", "tables"],
)
def test_hostile_policies_inside_a_ledger(path, toml):
    with closing(sqlite3.connect(path)) as connection, connection:
        (text,) = connection.execute("SELECT detail FROM onesided_entries LIMIT 1").fetchone()
    connection.close()
    forged(path, "detail", json.dumps(json.loads(text) | {"policy_toml": toml}), number=1)
    found = looked(path, "total")
    assert found["told"][0] in ("PolicyError", "TamperedLedgerError")
    assert found["megabytes"] < 200
    assert found["seconds"] < 2
