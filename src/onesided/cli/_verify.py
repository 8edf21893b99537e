"""``onesided verify``: the exact checks and the negative controls, as a table."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from onesided.verify import Verdict, cases, run


def verify(
    *,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the last line.")] = False,
) -> None:
    """Run the shipped code on every possible noise, for every move of every policy.

    Sound mechanisms must lose no more than they claim; deliberately broken ones must be caught.
    """
    console = Console()
    todo = list(cases())
    progress = Console(stderr=True)
    verdicts = [run(case) for case in track(todo, "Checking", console=progress, transient=True)]
    if not quiet:
        console.print(_table(verdicts))
    wrong = [verdict for verdict in verdicts if not verdict.right]
    paths = sum(verdict.report.noise_paths for verdict in verdicts)
    console.print(
        f"{len(verdicts) - len(wrong)} of {len(verdicts)} verdicts are right "
        f"({paths:,} noise paths enumerated).",
        style="bold red" if wrong else "bold",
        highlight=False,
    )
    if wrong:
        raise typer.Exit(1)


def _table(verdicts: list[Verdict]) -> Table:
    table = Table(title="Exact verification: worst directed loss against the promise")
    for name in ("mechanism", "policy", "counted", "promised ε", "found ε", "outside", "verdict"):
        table.add_column(name, justify="right" if "ε" in name or name == "outside" else "left")
    for verdict in verdicts:
        case = verdict.case
        found = verdict.report.loss
        impossible = verdict.report.worst and verdict.report.worst[1].impossible
        table.add_row(
            f"{case.name}: {case.flaw}" if case.flaw else case.name,
            case.policy.name,
            ", ".join(sorted(case.query.counted or ("all",))),
            f"{verdict.promised:.6f}",
            "infinite" if impossible and found > verdict.promised + 5 else f"{found:.6f}",
            f"{verdict.report.outside:.0e}",
            _verdict(verdict),
        )
    return table


def _verdict(verdict: Verdict) -> str:
    if verdict.right:
        return "kept" if verdict.accepted else "rejected, as it must be"
    return f"[bold red]WRONG: {'a broken one accepted' if verdict.accepted else 'not kept'}[/]"
