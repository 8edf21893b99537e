"""``onesided ask``: a query in SQL, answered or priced."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from onesided._numbers import text
from onesided.cli._options import AsJson, Config, Quiet
from onesided.cli._publish import EMPTY, Publish, session_of
from onesided.cli._result import ledger_line
from onesided.cli._terminal import Terminal, print_json
from onesided.errors import ParameterError
from onesided.session import Plan, Release, release_to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One query. Command line and configuration fill this."""

    query: Annotated[str, typer.Argument(help="SELECT ...; see docs/sql.md.")]
    data: Annotated[Path | None, typer.Option(help="A .parquet or .csv file.")] = None
    input: Annotated[
        str | None, typer.Option(help="Instead of --data: a folder, or a pattern of files.")
    ] = None
    policy: Annotated[str, typer.Option(help="Policy name or TOML file; see 'explain'.")]
    epsilon: Annotated[str | None, typer.Option(help="Privacy loss of the answer.")] = None
    unit: Annotated[str | None, typer.Option(help="Column that says whose row it is.")] = None
    schema: Annotated[
        Path | None, typer.Option(help="TOML file with keys, bounds and grids of the columns.")
    ] = None
    keys: Annotated[Path | None, typer.Option(help="File of the public groups.")] = None
    max_groups: Annotated[
        int | None, typer.Option(help="Groups of one unit that ε hides together.")
    ] = None
    max_rows: Annotated[
        int | None,
        typer.Option(help="Rows of one unit that count at most, in aggregates of rows."),
    ] = None
    bounds: Annotated[
        str | None, typer.Option(help="Lowest and highest value of one row, such as 0,100.")
    ] = None
    total_bounds: Annotated[
        str | None,
        typer.Option(help="Lowest and highest total of one unit, for SUM_PER_UNIT, such as 0,500."),
    ] = None
    step: Annotated[str | None, typer.Option(help="The grid that values are rounded to.")] = None
    missing: Annotated[
        str | None, typer.Option(help="Rows without a value: refuse, or drop leaves them out.")
    ] = None
    confidence: Annotated[
        str | None, typer.Option(help="How often an interval holds, such as 0.95.")
    ] = None
    on_excess: Annotated[
        str | None,
        typer.Option(help="What to do with units in more groups: keep, truncate or error."),
    ] = None
    unknown: Annotated[
        str | None,
        typer.Option(
            help="Rows for which WHERE is unknown: possible counts them, recorded does not."
        ),
    ] = None
    sensitive: Annotated[
        str | None, typer.Option(help="Condition that says who is sensitive, for that policy.")
    ] = None
    budget: Annotated[
        str | None, typer.Option(help="Most that may ever be spent; by default this epsilon.")
    ] = None
    ledger: Annotated[
        str | None,
        typer.Option(
            envvar="ONESIDED_LEDGER", help="Ledger file or URL; by default beside the data."
        ),
    ] = None
    id: Annotated[str | None, typer.Option(help="Name of this answer in the ledger.")] = None
    again: Annotated[
        bool, typer.Option("--again", help="Return the stored answer of --id again, at no charge.")
    ] = False
    plan: Annotated[
        bool, typer.Option("--plan", help="Show the cost and the expected error, and stop.")
    ] = False
    as_json: AsJson = False
    quiet: Quiet = False
    config: Config = None

    @property
    def publication(self) -> Publish:
        """What opens the same table and ledger. Errors: ParameterError without any ε."""
        spend = self.epsilon or self.budget
        if spend is None:
            raise ParameterError("No ε is given.", hint="Pass --epsilon, or --budget.")
        return Publish(
            data=self.data,
            input=self.input,
            by=[],
            policy=self.policy,
            epsilon=spend,
            unit=self.unit,
            schema=self.schema,
            keys=self.keys,
            max_groups=self.max_groups,
            sensitive=self.sensitive,
            budget=self.budget,
            ledger=self.ledger,
            config=self.config,
        )

    def more(self, keys: Any) -> dict[str, Any]:
        """What SQL has no words for, where it is given."""
        most = None if self.policy == "presence" else self.max_groups
        given = {"keys": keys, "max_groups": most, "on_excess": self.on_excess}
        given |= {"unknown": self.unknown, "max_rows": self.max_rows, "step": self.step}
        given |= {"missing": self.missing, "confidence": self.confidence}
        for name in ("bounds", "total_bounds"):
            ends = getattr(self, name)
            given[name] = None if ends is None else tuple(ends.split(","))
        own = {"epsilon": self.epsilon, "id": self.id, "again": self.again}
        return {**{name: value for name, value in given.items() if value is not None}, **own}


def ask(asked: Ask) -> None:
    """Answer a query in SQL; it is charged to the ledger before any noise is drawn.

    Example: onesided ask
    "SELECT place, COUNT(DISTINCT person) FROM visits GROUP BY place"
    --data visits.parquet --unit person --policy presence --max-groups 3
    --keys places.parquet --epsilon 1
    """
    with session_of(asked.publication) as (session, keys):
        more, ledger = asked.more(keys), session.ledger
        new = ledger.head() == EMPTY
        found: Any
        if asked.plan:
            found = session.plan(session.question(asked.query, **more))
        else:
            found = session.sql(asked.query, **more)
        if asked.as_json:
            print_json(_document(found))
            return
        terminal = Terminal(quiet=asked.quiet)
        if not isinstance(found, Plan):
            line = ledger_line(ledger.name, new=new, left=session.remaining)
            terminal.print(line, style="bold")
        terminal.print(str(found))


def _document(found: Any) -> Any:
    """A plan, a release or several as JSON."""
    if isinstance(found, Plan):
        return {
            "charge": {edge: text(loss) for edge, loss in found.charge.items()},
            "affordable": found.affordable,
            "options": [
                {"name": one.name, "error": one.error, "certain": list(one.certain)}
                for one in found.options
            ],
        }
    parts: tuple[Release, ...] | None = getattr(found, "releases", None)
    if parts is not None:
        return {"answers": [json.loads(release_to_json(one)) for one in parts]}
    return json.loads(release_to_json(found))
