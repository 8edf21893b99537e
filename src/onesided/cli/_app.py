"""The commands, their help and their exit codes."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from onesided.cli import _demo, _explain, _ledger, _monitor, _publish, _verify
from onesided.cli._plugins import Commands
from onesided.errors import (
    BudgetExceededError,
    LedgerError,
    OnesidedError,
    OutputError,
)

_EPILOG = (
    "Exit codes: 0 done; 1 a check failed; 2 bad input, nothing was spent; 3 over budget, nothing "
    "was spent; 4 the ledger could not be used; 5 the output could not be written; 130 interrupted."
)

app = typer.Typer(
    name="onesided",
    cls=Commands,
    help="Publish statistics about people with differential privacy that has a direction.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo", epilog=_EPILOG)(_demo.demo)
app.command("publish", epilog=_EPILOG)(_publish.publish)
app.command("explain", epilog=_EPILOG)(_explain.explain)
app.command("verify", epilog=_EPILOG)(_verify.verify)
app.command("monitor", epilog=_EPILOG)(_monitor.monitor)
app.add_typer(_ledger.app, name="ledger")


def _say_version(asked: bool) -> None:  # noqa: FBT001 - how Typer calls it
    if asked:
        typer.echo(version("onesided"))
        raise typer.Exit


@app.callback()
def main(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Say which it is."),
    ] = False,
) -> None:
    """Publish statistics about people with differential privacy that has a direction."""


# Arguments of the library, as they are called here.
_OPTIONS = {"counted": "count"}
_ARGUMENTS = "by|keys|epsilon|max_groups|on_excess|where|counted|budget|further|id|unit"


def as_options(hint: str) -> str:
    """Advice for callers of the library as advice for the command line."""

    def option(found: re.Match[str]) -> str:
        name = _OPTIONS.get(found[1], found[1]).replace("_", "-")
        return f"--{name}{' ' if found[2] else ''}"

    told = re.sub(rf"(?<![\w(])({_ARGUMENTS})=(?:True\b)?(?=([\w\"'])?)", option, hint)
    return re.sub(r"(?<![\w(])(max_groups|on_excess)\b(?! ?=)()", option, told)


def run() -> NoReturn:
    """Run the command line; turn our errors into one readable message and an exit code."""
    errors = Console(stderr=True, soft_wrap=True)
    try:
        app(standalone_mode=True)
    except OnesidedError as error:
        errors.print(f"[bold red]Error:[/] {escape(error.reason)}")
        if error.hint:
            errors.print(f"[bold]Hint:[/] {escape(as_options(error.hint))}")
        sys.exit(exit_code(error))
    sys.exit(0)


def exit_code(error: OnesidedError) -> int:
    """The exit code that stands for ``error``."""
    if isinstance(error, BudgetExceededError):
        return 3
    if isinstance(error, LedgerError):
        return 4
    return 5 if isinstance(error, OutputError) else 2
