"""``onesided verify``: the exact checks and the negative controls, as a table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from onesided.cli._terminal import Terminal
from onesided.verify import CheckResult, Verdict, markdown, own_checks, update, verdicts


def verify(
    *,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the last line.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the tables as Markdown.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option("--update", help="A page whose tables to bring up to date.")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            help="Check one distribution's lines: onesided, or a plug-in's name. All unless given."
        ),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="How many processes; all cores unless given.")
    ] = None,
) -> None:
    """Run the shipped code on every possible noise, for every move of every policy.

    Sound mechanisms must lose no more than they claim; deliberately broken ones must be caught.
    """
    console = Terminal()
    with Progress(console=Terminal(stderr=True), transient=True) as bar:
        task = bar.add_task("Checking every path", total=None)
        found = verdicts(
            source=only,
            processes=processes or os.cpu_count() or 1,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
        bar.update(task, description="Checks of their own kind")
        checks = own_checks() if only in {None, "onesided"} else []
    if page is not None:
        update(page, markdown(found, checks))
    if as_markdown:
        typer.echo(markdown(found, checks))
    elif not quiet:
        for table in (_shipped(found), _zoo(found), _own(checks)):
            if table.row_count:
                console.print(table)
    _conclude(console, found, checks)


def _conclude(console: Terminal, found: list[Verdict], checks: list[CheckResult]) -> None:
    """One line, and the exit code."""
    wrong = sum(not one.right for one in found) + sum(not one.right for one in checks)
    paths = sum(verdict.report.noise_paths for verdict in found)
    console.print(
        f"{len(found) + len(checks) - wrong} of {len(found) + len(checks)} verdicts are right "
        f"({paths:,} noise paths enumerated).",
        style="bold red" if wrong else "bold",
        highlight=False,
        soft_wrap=True,
    )
    if wrong:
        raise typer.Exit(1)


def _shipped(found: list[Verdict]) -> Table:
    table = Table(title="Sound: worst directed loss against the promise")
    for name in ("mechanism", "policy", "counted"):
        table.add_column(name, overflow="fold")
    for name in ("promised ε", "found ε", "outside", "proven δ"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict")
    for verdict in found:
        if verdict.case.sound:
            table.add_row(
                verdict.case.name,
                verdict.case.policy.name,
                ", ".join(sorted(verdict.case.query.counted or ("all",))),
                f"{verdict.promised:.4f}",
                f"{verdict.found:.4f}",
                f"{verdict.report.outside:.0e}",
                f"{verdict.proven:.0e}",
                verdict.word if verdict.right else f"[bold red]{verdict.word}[/]",
            )
    return table


def _zoo(found: list[Verdict]) -> Table:
    table = Table(title="Broken on purpose: each must be rejected")
    for name in ("mechanism", "what is wrong", "seen"):
        table.add_column(name, overflow="fold")
    for name in ("promised ε", "found ε"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict")
    for verdict in found:
        case = verdict.case
        if not case.sound:
            table.add_row(
                case.name,
                case.flaw,
                case.seen,
                f"{verdict.promised:.4f}",
                verdict.found_text,
                verdict.word if verdict.right else f"[bold red]{verdict.word}[/]",
            )
    return table


def _own(checks: list[CheckResult]) -> Table:
    table = Table(title="What enumeration cannot see: checks of their own kind")
    for name in ("check", "subject", "measured", "verdict"):
        table.add_column(name, overflow="fold")
    for check in checks:
        word = check.word if check.right else f"[bold red]{check.word}[/]"
        table.add_row(check.name, check.subject, check.measured, word)
    return table
