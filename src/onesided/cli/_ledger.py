"""``onesided ledger``: what was spent, and whether the record is intact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from onesided._numbers import text
from onesided.errors import LedgerUnavailableError
from onesided.ledger import Entry, Ledger

app = typer.Typer(help="Look at a ledger, and check that nobody edited it.", no_args_is_help=True)

Location = Annotated[str, typer.Argument(help="A ledger file, or a database URL.")]


@app.command()
def show(
    ledger: Location,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """List what was charged, per edge of the policy, and what is left."""
    with _open(ledger) as opened:
        entries = opened.entries()
    if as_json:
        typer.echo(json.dumps([_plain(entry) for entry in entries], indent=2, ensure_ascii=False))
        return
    table = Table(title=f"Ledger {ledger}")
    for name in ("no.", "time (UTC)", "what", "charged ε", "total ε", "hash"):
        table.add_column(name)
    for entry in entries:
        table.add_row(
            str(entry.number),
            entry.time,
            f"{entry.kind}: {entry.label}",
            _amounts(entry.epsilon),
            _amounts(entry.total_epsilon),
            entry.hash[:12],
        )
    Console().print(table)


@app.command()
def check(
    ledger: Location,
    *,
    head: Annotated[str | None, typer.Option(help="A head hash that you kept elsewhere.")] = None,
) -> None:
    """Recompute the hash chain and the totals; exit 4 and name the first bad row if one fails."""
    with _open(ledger) as opened:
        report = opened.check(head=head)
    Console().print(
        f"Intact: {report.entries} entries, {report.charges} charges. Head: {report.head}",
        highlight=False,
        soft_wrap=True,
    )


@app.command()
def head(ledger: Location) -> None:
    """Print the head hash. Keep it elsewhere: it shows later whether rows were removed."""
    with _open(ledger) as opened:
        typer.echo(opened.head())


def _open(location: str) -> Ledger:
    """An existing ledger; looking must not create one."""
    if "://" not in location and not Path(location).is_file():
        raise LedgerUnavailableError(
            f"There is no ledger {location!r}.", hint="Check the path; publish creates it."
        )
    return Ledger.open(location)


def _amounts(amounts: object) -> str:
    pairs = dict(amounts).items()  # type: ignore[call-overload]
    return "\n".join(f"{edge}: {text(amount)}" for edge, amount in pairs)


def _plain(entry: Entry) -> dict[str, object]:
    return {
        "number": entry.number,
        "time": entry.time,
        "kind": entry.kind,
        "label": entry.label,
        "detail": dict(entry.detail),
        "epsilon": {edge: text(amount) for edge, amount in entry.epsilon.items()},
        "total_epsilon": {edge: text(amount) for edge, amount in entry.total_epsilon.items()},
        "delta": {edge: text(amount) for edge, amount in entry.delta.items()},
        "previous": entry.previous,
        "hash": entry.hash,
    }
