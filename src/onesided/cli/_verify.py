"""``onesided verify``: the exact checks and the negative controls, as a table."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.progress import Progress, TaskID
from rich.table import Table
from rich.text import Text

from onesided.cli._tables import write_text
from onesided.cli._terminal import Terminal
from onesided.errors import ParameterError
from onesided.verify import (
    Case,
    CheckResult,
    Verdict,
    as_json,
    as_junit,
    cases_in,
    markdown,
    own_checks,
    sources,
    update,
    verdicts,
)
from onesided.verify.kit import Section, sections

WORDS: Final = {
    "quiet": "Print only the last line.",
    "only": "Check only lines that mention this text, or those of one distribution: onesided or a "
    "plug-in's name.",
    "junit": "Write the verdicts to this file as JUnit XML.",
    "records": "With FILE: folder for the records that session.release needs.",
}


def verify(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A Python file with onesided.verify.Cases; check these instead of ours."
        ),
    ] = None,
    *,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the tables as Markdown.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option("--update", help="Page whose tables to update.")
    ] = None,
    only: str | None = None,
    as_json_text: Annotated[
        bool, typer.Option("--json", help="Print all verdicts as JSON instead of tables.")
    ] = False,
    junit: Path | None = None,
    records: Path | None = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="How many processes; by default one per core.")
    ] = None,
    quiet: bool = False,
) -> None:
    """Run the shipped code on every possible noise, for every move of every policy.

    Sound mechanisms must lose no more than they claim. Deliberately broken ones
    must be caught. With FILE: check the Cases in it instead, and say whether
    each keeps its promise.
    """
    count = processes or os.cpu_count() or 1
    cases = [] if file is None else cases_in(file)
    found, checks = _own_cases(cases) if cases else _catalogue(only, count)
    if records is not None:
        if not cases:
            raise ParameterError(
                "Records are of mechanisms of your own.",
                hint="Give the file with your Cases: onesided verify mine.py --records DIR.",
            )
        for number, (case, verdict) in enumerate(zip(cases, found, strict=True), start=1):
            name = re.sub(r"[^A-Za-z0-9]+", "-", verdict.case.name).strip("-") or "case"
            write_text(
                records / f"{number}-{name}.check.json", case.record(verdict).to_json(), folder=True
            )
    if page is not None:
        update(page, markdown(found, checks))
    if junit is not None:
        write_text(junit, as_junit(found, checks), folder=True)
    if as_json_text:
        typer.echo(as_json(found, checks))
    elif as_markdown:
        typer.echo(markdown(found, checks))
    elif not quiet:
        for section in sections(found, checks, measured=True):
            if section.rows:
                Terminal().print(_table(section))
    # One line, and the exit code.
    console = Terminal(stderr=as_json_text)
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


def _catalogue(only: str | None, processes: int) -> tuple[list[Verdict], list[CheckResult]]:
    """All lines, or those asked for, with a word on each as it is done."""
    with Progress(console=Terminal(stderr=True), transient=True) as bar:
        task = bar.add_task("Checking every path", total=None)

        def show(done: int, total: int, title: str) -> None:
            bar.update(task, completed=done, total=total, description=f"{done}/{total} {title}")

        found = verdicts(only=only, processes=processes, progress=show)
        bar.update(task, description="Checks of their own kind")
        whole = only is None or only in sources()
        return found, list(own_checks(only)) if whole else []


def _own_cases(cases: list[Case]) -> tuple[list[Verdict], list[CheckResult]]:
    """The cases of a file, one after the other: what they hold need not be sendable."""
    found = []
    with Progress(console=Terminal(stderr=True), transient=True) as bar:
        for number, case in enumerate(cases, start=1):
            task = bar.add_task(f"{number}/{len(cases)} {case.line.name}: data sets", total=None)

            def show(done: int, total: int, task: TaskID = task) -> None:
                bar.update(task, completed=done, total=total)

            found.append(case.verdict(progress=show))
            bar.remove_task(task)
    return found, []


def _table(section: Section) -> Table:
    """A table of verdicts, in red where they are wrong."""
    table = Table(title=section.title)
    for name in section.head:
        number = name in _NUMBERS
        table.add_column(
            name, overflow="fold", no_wrap=number, justify="right" if number else "left"
        )
    for right, (*cells, word) in section.rows:
        table.add_row(*cells, Text(word, style="" if right else "bold red"))
    return table


_NUMBERS: Final = frozenset({"promised ε", "found ε", "outside", "proven δ"})
