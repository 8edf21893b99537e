"""What the command line says: every help text, and how typical command lines end.

In this process, as ``onesided.cli.main`` is called by its script: starting Python for each would
take minutes. Of command lines that draw, only how they end and what they say of mistakes is kept.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final
from unittest import mock

import golden_tables as tables
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from onesided.cli import main
from onesided.policy import presence
from onesided.verify import as_json, own_checks
from onesided.verify import verdicts as run_catalogue

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("demo", "check", "new", "publish", "ask", "plan", "explain", "verify", "monitor", "serve",
         "ledger", "people", "datasets", "papers"),
    "ledger": ("create", "show", "check", "head"),
    "people": ("add", "remove", "rotate", "list"),
    "datasets": ("check",),
    "papers": ("list", "run"),
}  # fmt: skip
POLICY: Final = ("--policy", "presence", "--max-groups", "2")
WHAT: Final = ("visits.csv", "--unit", "person", "--by", "place", "--keys", "places.csv")
PUBLISH: Final = ("publish", *WHAT, *POLICY)
QUERY: Final = "SELECT place, COUNT(DISTINCT person) FROM visits GROUP BY place"
ASK: Final = ("ask", "--config", "onesided.toml", "--epsilon", "1", "--budget", "9")
CONFIG: Final = """\
data = "visits.csv"
unit = "person"
by = ["place"]
keys = "places.csv"
policy = "policy.toml"
ledger = "own.db"
"""
MONITOR: Final = ("monitor", "--input", "in", "--keys", "places.csv", *POLICY)
# What a clock said, in a sentence.
_MOMENT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9.]+)?( UTC)?")
# In one folder, one after the other. True: what is printed is the same each time, and kept.
LINES: Final[tuple[tuple[str, tuple[str, ...], bool], ...]] = (
    ("no words", (), False),
    ("no such command", ("publsh",), True),
    ("no such option", ("publish", "--epsilom", "1"), True),
    ("explain a family", ("explain", "presence", "--max-groups", "3"), True),
    ("explain at an epsilon", ("explain", "bounded", "--epsilon", "1/2"), True),
    ("explain for programs", ("explain", "sensitive", "--sensitive", "age < 18", "--json"), True),
    ("explain a file", ("explain", "policy.toml"), True),
    ("explain nothing", ("explain", "secret"), True),
    ("explain much", ("explain", "bounded", "--epsilon", "much"), True),
    ("explain another's option", ("explain", "bounded", "--sensitive", "minor"), True),
    ("check", ("check", "visits.csv", "--unit", "person"), True),
    ("check for programs", ("check", "visits.csv", "--unit", "person", "--json"), True),
    ("check nothing", ("check",), True),
    ("plan", ("plan", "presence", "--max-groups", "2", "--epsilon", "1"), True),
    ("plan for programs", ("plan", "bounded", "--epsilon", "1", "--json"), True),
    ("plan without a policy", ("plan",), True),
    ("publish's plan", (*PUBLISH, "--epsilon", "1", "--plan"), True),
    ("publish without epsilon", (*PUBLISH, "--out", "out"), True),
    ("publish a missing file", ("publish", "no.csv", "--by", "place", *POLICY, "--epsilon", "1",
                                "--out", "out"), True),
    ("publish by no column", ("publish", "visits.csv", "--unit", "person", "--by", "town",
                              "--keys", "places.csv", *POLICY, "--epsilon", "1", "--out", "out"),
     True),
    ("publish no number", (*PUBLISH, "--epsilon", "much", "--out", "out"), True),
    ("publish a bad condition", (*PUBLISH, "--epsilon", "1", "--where", "hours > 3", "--out",
                                 "out"), True),
    ("publish", (*PUBLISH, "--epsilon", "1", "--budget", "3", "--id", "monday", "--out", "out"),
     False),
    ("publish the same id", (*PUBLISH, "--epsilon", "1", "--budget", "3", "--id", "monday",
                             "--out", "again"), False),
    ("publish into the same folder", (*PUBLISH, "--epsilon", "1", "--budget", "3", "--out", "out"),
     False),
    ("publish over budget", (*PUBLISH, "--epsilon", "9", "--budget", "3", "--out", "more"), False),
    ("publish with another budget", (*PUBLISH, "--epsilon", "1", "--budget", "4", "--out", "more"),
     False),
    ("ledger shown", ("ledger", "show", "onesided.ledger.db"), False),
    ("ledger checked", ("ledger", "check", "onesided.ledger.db"), False),
    ("ledger's head", ("ledger", "head", "onesided.ledger.db"), False),
    ("no ledger", ("ledger", "show", "no.db"), True),
    ("no ledger but a table", ("ledger", "check", "visits.csv"), True),
    ("ask's plan", ("ask", QUERY, "--config", "onesided.toml", "--epsilon", "1", "--budget", "9",
                    "--plan"), True),
    ("ask with a second ledger", (*ASK, QUERY), True),
    ("ask", (*ASK, QUERY, "--another-ledger"), False),
    ("ask what is no question", (*ASK, "SELECT *", "--another-ledger"), True),
    ("ask without a configuration", ("ask", QUERY, "--config", "no.toml"), True),
    ("monitor", (*MONITOR, "--at-most", "2", "--epsilon", "2", "--window", "6", "--batch-time",
                 "latest", "--state", "m.db", "--out", "public", "--once",
                 "--unknown-places", "ignore"), False),
    ("monitor without a threshold", (*MONITOR, "--epsilon", "2", "--state", "m.db"), True),
    ("verify a line", ("verify", "--only", "Counts (3:1)", "--processes", "1", "--quiet"), True),
    ("verify no line", ("verify", "--only", "no such line", "--processes", "1"), True),
    ("verify a missing file", ("verify", "no.py"), True),
    ("serve without a configuration", ("serve", "no.toml"), True),
    ("people without a configuration", ("people", "list", "--config", "no.toml"), True),
    ("datasets without a configuration", ("datasets", "check", "no.toml"), True),
)  # fmt: skip


def documents() -> dict[str, Callable[[], Any]]:
    """Every help text, and every command line."""
    helps = [(), *((one,) for one in GROUPS[""])]
    helps += [(group, one) for group, ones in GROUPS.items() if group for one in ones]
    found: dict[str, Callable[[], Any]] = {
        f"help/{' '.join(('onesided', *words))}": partial(_help, words) for words in helps
    }
    for name, _, _ in LINES:
        found[f"commands/{name}"] = partial(_line, name)
    return found


def verdicts() -> dict[str, Any]:
    """The catalogue as it runs today, all on one core."""
    return verdicts_of(as_json(run_catalogue(processes=1), list(own_checks())))


def verdicts_of(text: str) -> dict[str, Any]:
    """Each line of the catalogue and each check of its own kind, losses to six digits.

    text: as ``onesided verify --json`` prints it.
    """
    told = json.loads(text)
    found: dict[str, Any] = {}
    for kind in ("lines", "checks"):
        for one in told[kind]:
            name = " / ".join(str(one[part]) for part in ("check", "subject", "name", "policy",
                                                          "flaw") if one.get(part))  # fmt: skip
            number = sum(other.partition(" #")[0] == f"{kind}/{name}" for other in found)
            found[f"{kind}/{name}" + (f" #{number + 1}" if number else "")] = {
                field: float(f"{value:.6g}") if isinstance(value, float) else value
                for field, value in one.items()
                if field != "measured"  # of draws
            }
    return found


def _help(words: Sequence[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        return called((*words, "--help"), Path(folder), printed=True)["out"]


@cache
def _line(name: str) -> Any:
    return _all_lines()[name]


@cache
def _all_lines() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = tables.arrow(tables.COLUMNS)
        pa.csv.write_csv(table, folder / "visits.csv")
        pa.csv.write_csv(pa.table({"place": tables.KEYS}), folder / "places.csv")
        (folder / "policy.toml").write_text(presence(max_groups=2).to_toml())
        (folder / "onesided.toml").write_text(CONFIG)
        (folder / "in").mkdir()
        batch = table.select(["person", "place", "hour"]).rename_columns(
            ["person", "place", "time"]
        )
        pa.parquet.write_table(batch.drop_null(), folder / "in" / "001.parquet")
        return {name: called(words, folder, printed=same) for name, words, same in LINES}


def called(words: Sequence[str], folder: Path, *, printed: bool) -> dict[str, Any]:
    """How ``onesided WORDS`` ends in that folder, and what it prints."""
    out, err, none = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(3))
    ours = {"PATH": "/usr/bin:/bin", "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb",
            "HOME": str(folder), "LOGNAME": "golden"}  # fmt: skip
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, ours, clear=True),
        mock.patch.object(sys, "argv", ["onesided", *words]),
        mock.patch.object(sys, "stdin", none),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        try:
            main()
            code: Any = 0
        except SystemExit as end:
            code = end.code
        told = [stream.flush() or stream.buffer.getvalue().decode() for stream in (out, err)]
    said = [
        _MOMENT.sub("MOMENT", text.replace(str(folder), "FOLDER")).splitlines() for text in told
    ]
    return {"code": code, "err": said[1]} | ({"out": said[0]} if printed else {})
