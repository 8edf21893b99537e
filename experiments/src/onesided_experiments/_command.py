"""``onesided papers``: reproduce the tables and figures of publications."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from onesided.errors import OutputError, ParameterError
from onesided_experiments import PAPERS, Experiment, Outcome, Paper, Setup, reproduce
from onesided_experiments._verdicts import filled

app = typer.Typer(help="Reproduce the tables and figures of publications.", no_args_is_help=True)
_COLOUR = {
    "holds": "green",
    "holds in part": "yellow",
    "does not hold": "red",
    "not comparable": "dim",
}


@app.command("list")
def list_papers() -> None:
    """List the publications and what of each is reproduced."""
    table = Table()
    for name in ("paper", "experiment", "what", "data"):
        table.add_column(name)
    for paper in PAPERS.values():
        for one in paper.experiments:
            table.add_row(paper.name, one.name, one.title, one.needs)
    Console().print(table)


@app.command("run")
def run_paper(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(PAPERS)}.")],
    *,
    data: Annotated[
        Path | None,
        typer.Option(
            envvar="ONESIDED_DATA",
            help="Folder of the data sets. An experiment without its data set is skipped. Put "
            "whole click data sets there (kosarak.dat, bms_pos.dat, t40i10d100k.dat) to use them.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; by default out/papers/NAME.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="One experiment; may be given several times.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Seconds instead of minutes; numbers alone.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal numbers.")] = 1,
) -> None:
    """Write each figure's numbers (CSV, Parquet) and plots (PNG), and judge its claims.

    The quick form is too small to judge them.
    """
    paper, chosen = _chosen(name, only)
    console = Console()
    folder = _ignored(paper) if out is None else out
    start = time.monotonic()
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    ) as bar:
        tasks = {one.name: bar.add_task(one.name, total=None, start=False) for one in chosen}

        def update(experiment: str, done: int, total: int) -> None:
            if not done:
                bar.start_task(tasks[experiment])
            bar.update(tasks[experiment], completed=done, total=total)

        outcomes = reproduce(
            paper,
            Setup(data=data, quick=quick, seed=seed),
            folder,
            only=frozenset(one.name for one in chosen),
            progress=update,
        )
    for outcome in outcomes:
        _say(console, outcome)
    seconds = time.monotonic() - start
    console.print(f"{seconds:.0f} s. Results: {escape(str(folder / 'index.html'))}", soft_wrap=True)


@app.command("pages")
def update_pages(
    pages: Annotated[list[Path], typer.Argument(help="Markdown pages with places to fill.")],
    *,
    results: Annotated[
        Path | None,
        typer.Option(help="Folder with a folder of results for each paper; else verdicts alone."),
    ] = None,
) -> None:
    """Write into each page the verdicts kept beside it, or everything anew from whole runs."""
    for page in pages:
        page.write_text(filled(page, results), encoding="utf-8")


def _ignored(paper: Paper) -> Path:
    """Where results go unless told: a folder that version control leaves alone."""
    folder = Path("out") / "papers"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"The folder {str(folder)!r} cannot be made: {error.strerror or error}.",
            hint="Name another with --out.",
        ) from error
    return folder / paper.name


def _chosen(name: str, only: list[str] | None) -> tuple[Paper, list[Experiment]]:
    if name not in PAPERS:
        raise ParameterError(
            f"There is no paper {name!r}.",
            hint=f"Use one of {', '.join(PAPERS)}; see 'onesided papers list'.",
            value=name,
        )
    paper = PAPERS[name]
    known = {one.name for one in paper.experiments}
    unknown = set(only or ()) - known
    if unknown:
        raise ParameterError(
            f"{name} has no experiment {min(unknown)!r}.",
            hint=f"It has {', '.join(one.name for one in paper.experiments)}.",
            value=min(unknown),
        )
    return paper, [one for one in paper.experiments if not only or one.name in only]


def _say(console: Console, outcome: Outcome) -> None:
    """The verdicts of one experiment, each on a line."""
    console.print(f"[bold]{escape(outcome.experiment.title)}[/] ({outcome.seconds:.0f} s)")
    if outcome.skipped:
        console.print(
            f"  skipped: data not found ({escape(outcome.experiment.needs)}); say where with --data"
        )
    elif not outcome.claims:
        console.print("  too small to judge: numbers alone")
    for claim in outcome.claims:
        colour = _COLOUR[claim.verdict]
        console.print(
            f"  [{colour}]{claim.verdict}[/] ({claim.judges}): {escape(claim.text)} "
            f"Measured: {escape(claim.measured)}",
            highlight=False,
            soft_wrap=True,
        )
