"""``onesided synthetic``: made-up rows that have the margins of a table, as far as measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from onesided.cli._ask import OF_COUNTS, Charged, session_of
from onesided.cli._options import arguments
from onesided.cli._terminal import Terminal, clean, print_json
from onesided.errors import ParameterError
from onesided.session import Synthetic, release_to_json

_OWN: Final = ("epsilon", "columns", "records", "keys", "bins", "id", "again", "title")
OF_ROWS: Final = {
    **arguments([Synthetic], without=_OWN),
    "max_groups": OF_COUNTS["max_groups"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeUp(Charged):
    """Which rows are made. Command line and configuration fill this."""

    column: list[str]
    records: int
    epsilon: str
    out: Path | None = None


WORDS: Final = {
    "column": "A column of the rows; repeat for several.",
    "records": "How many rows to make.",
}


def synthetic(asked: MadeUp) -> None:
    """Make up rows that have the margins of the data, as far as they are measured.

    The schema declares each column's keys, or its bounds and step. The ledger records the charge
    before any noise is drawn. Without --out the rows are printed.

    Example: onesided synthetic people.parquet --schema people.schema.toml --policy bounded
    --column age --column town --records 10000 --epsilon 1 --on-excess truncate --out made/
    """
    if asked.keys is not None:
        raise ParameterError(
            "A file of keys is of one table of groups, and each column has values of its own.",
            hint="Declare them in the schema, as keys, or as bounds and step.",
        )
    with session_of(asked) as opened:
        session = opened.session
        given: dict[str, Any] = {"columns": tuple(asked.column), "records": asked.records}
        question = Synthetic(**given, **asked.arguments(None))
        terminal = Terminal(quiet=asked.quiet)
        if asked.plan:
            plan = session.plan(question)
            print_json(plan.as_dict()) if asked.as_json else terminal.print(str(plan))
            return
        release = session.ask(question)
        written = None if asked.out is None else release.write(asked.out, formats=_FORMATS)
        if asked.as_json:
            print_json(json.loads(release_to_json(release)))
            return
        terminal.print(opened.line, style="bold")
        terminal.print(str(release) if written is None else f"{release!r}")
        if written is not None:
            terminal.print(f"Written to {clean(str(written))}/.")


_FORMATS: Final = ("csv", "parquet", "json")
