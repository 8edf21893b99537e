"""The commands, their help and their exit codes."""

from __future__ import annotations

import os
import re
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from onesided.cli import (
    _ask,
    _check,
    _demo,
    _explain,
    _ledger,
    _monitor,
    _new,
    _plan,
    _publish,
    _verify,
)
from onesided.cli._exits import EPILOG, FAILED, MISTAKE, exit_code
from onesided.cli._options import command
from onesided.cli._plugins import Commands
from onesided.cli._terminal import Terminal
from onesided.errors import OnesidedError
from onesided.store import PermissionsWarning

app = typer.Typer(
    name="onesided",
    cls=Commands,
    help="Publish statistics about people with differential privacy that has a direction.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo", epilog=EPILOG)(_demo.demo)
app.command("check", epilog=EPILOG)(command(_check.Check, _check.check))
app.command("new", epilog=EPILOG)(_new.new)
app.command("publish", epilog=EPILOG)(command(_publish.Publish, _publish.publish))
app.command("ask", epilog=EPILOG)(command(_ask.Ask, _ask.ask))
app.command("plan", epilog=EPILOG)(command(_plan.Wanted, _plan.plan))
app.command("explain", epilog=EPILOG)(_explain.explain)
app.command("verify", epilog=EPILOG)(_verify.verify)
app.command("monitor", epilog=EPILOG)(_monitor.monitor)
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
        typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Publish statistics about people with differential privacy that has a direction."""


# Arguments of the library, as they are called here.
_OPTIONS = {"counted": "count"}
_ARGUMENTS = (
    "again|by|keys|epsilon|max_groups|max_rows|on_excess|where|counted|budget|further|id|unit|"
    "bounds|total_bounds|step|missing|confidence|unknown"
)


def as_options(hint: str) -> str:
    """Advice for callers of the library as advice for the command line."""

    def option(found: re.Match[str]) -> str:
        name = _OPTIONS.get(found[1], found[1]).replace("_", "-")
        return f"--{name}{' ' if found[2] else ''}"

    told = re.sub(rf"(?<![\w(])({_ARGUMENTS})=(?:True\b)?(?=([\w\"'])?)", option, hint)
    return re.sub(r"(?<![\w(])(max_groups|on_excess)\b(?! ?=)()", option, told)


def run() -> int:
    """Run the command line; turn our errors into one readable message and an exit code."""
    errors = Terminal(stderr=True)
    try:
        with _warning_in_sentences(errors):
            app(standalone_mode=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except OnesidedError as error:
        errors.print(Text("Error: ", style="bold red"), error.reason, sep="")
        if error.hint:
            errors.print(Text("Hint: ", style="bold"), as_options(error.hint), sep="")
        return exit_code(error)
    except Exception as error:
        if "ONESIDED_DEBUG" in os.environ:
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        errors.print(
            f"A mistake in onesided: {type(error).__name__} in {Path(where.filename).name}, line "
            f"{where.lineno}. Its text may tell of rows and is not shown.\n"
            "Hint: run it again with ONESIDED_DEBUG=1 to see it, and report it (SECURITY.md)."
        )
        return MISTAKE
    return 0


@contextmanager
def _warning_in_sentences(errors: Terminal) -> Iterator[None]:
    """Our own warnings as a line for the curator, once each; those of others as Python's."""
    told: set[str] = set()
    with warnings.catch_warnings():
        plain = warnings.showwarning

        def show(message: Any, category: Any, *where: Any, **more: Any) -> None:
            if not issubclass(category, PermissionsWarning):
                plain(message, category, *where, **more)
            elif str(message) not in told:
                told.add(str(message))
                errors.print(Text("Warning: ", style="bold"), str(message), sep="")

        warnings.simplefilter("always", PermissionsWarning)
        warnings.showwarning = show
        yield
