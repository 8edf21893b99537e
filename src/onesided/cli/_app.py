"""The commands, ours and those of plug-ins, with their help and their exit codes."""

from __future__ import annotations

import os
import re
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer
from rich.text import Text
from typer import Typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from onesided._plugins import COMMANDS, load, missing_part, plugins, provider
from onesided.cli._exits import EPILOG, FAILED, MISTAKE, exit_code
from onesided.cli._terminal import Terminal
from onesided.errors import OnesidedError
from onesided.store import PermissionsWarning

# Commands, ours and those that other distributions add, are loaded when they are called: the help
# needs only what each does.


class _Command(NamedTuple):
    """A command: its summary, and our module of it or the part of this repository it comes from.

    arguments: those of questions that it takes, by the module's name for them.
    """

    what: str
    module: str = ""
    arguments: str = ""
    distribution: str = ""


_COMMANDS: Final = {
    "demo": _Command(
        "Generate a city with a week of visits, publish which places are safe, write a report.",
        "_demo",
    ),
    "check": _Command(
        "Look at the data before anything is spent: types, missing and unreadable values, ids.",
        "_before",
    ),
    "new": _Command(
        "Ask ten questions; write a configuration, a script and a notebook, ready to run.", "_new"
    ),
    "publish": _Command(
        "Publish how many units are in each group; where the policy allows, one bound is never "
        "wrong.",
        "_ask",
        "OF_COUNTS",
    ),
    "ask": _Command(
        "Answer a query in SQL; it is charged to the ledger before any noise is drawn.",
        "_ask",
        "OF_QUERIES",
    ),
    "synthetic": _Command(
        "Make up rows that have the margins of the data, as far as they are measured.",
        "_ask",
        "OF_ROWS",
    ),
    "plan": _Command(
        "Say how far off counts will be, what will be certified, and what publications add up to.",
        "_before",
    ),
    "explain": _Command(
        "Say what a policy protects, what it does not, and how well; or what a schema declares.",
        "_before",
    ),
    "verify": _Command(
        "Run the shipped code on every possible noise, for every move of every policy.", "_verify"
    ),
    "monitor": _Command(
        "Follow a folder; certify, never wrongly, which places had at most so many people.",
        "_monitor",
    ),
    "serve": _Command(
        "Let analysts ask and the public read, while rows stay where they are",
        distribution="onesided-service",
    ),
    "ledger": _Command("Look at a ledger, and check that nobody edited it.", "_ledger"),
    "people": _Command("Manage who may use a service", distribution="onesided-service"),
    "datasets": _Command("Check the datasets of a service", distribution="onesided-service"),
    "papers": _Command("Reproduce publications", distribution="onesided-experiments"),
}


class Commands(TyperGroup):
    """Our own commands, then those of plug-ins; a plug-in never takes the place of our own."""

    def __init__(self, **said: Any) -> None:
        super().__init__(**said)
        del self.commands  # so that asking for it loads them

    @cached_property
    def commands(self) -> dict[str, Any]:  # type: ignore[override] # there it is made at once
        """Our own, all of them loaded."""
        return {name: _loaded(name) for name, one in _COMMANDS.items() if one.module}

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - how Typer calls it
        """All names, for the help; nothing is loaded."""
        return [*_COMMANDS, *sorted(plugins(COMMANDS).keys() - _COMMANDS.keys())]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - how Typer calls it
        """A line for the help: what the command does, or where a plug-in comes from."""
        return _line(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was called: here it is loaded."""
        if args and _line(args[0]) is not None:
            return args[0], _loaded(args[0]), args[1:]
        return super().resolve_command(ctx, args)


def _line(name: str) -> TyperCommand | None:
    """A stand-in with a name and a sentence."""
    known, owners = _COMMANDS.get(name), [provider(o) for o in plugins(COMMANDS).get(name, [])]
    if known and known.module:
        return TyperCommand(name, help=known.what)
    if known and owners == [known.distribution]:
        return TyperCommand(name, help=f"{known.what}.")
    if owners:
        return TyperCommand(name, help=f"Added by {owners[0]}.")
    if known:
        return TyperCommand(name, help=f"{known.what}; needs {known.distribution}.")
    return None


def _loaded(name: str) -> Any:
    """A command, of ours or of a plug-in. Errors: MissingDependencyError; PluginError."""
    from onesided.cli._options import command  # noqa: PLC0415 - it loads tables

    own = _COMMANDS.get(name, _Command(""))
    if own.module:
        module: Any = import_module(f"onesided.cli.{own.module}")
        room = Typer(add_completion=False, rich_markup_mode="rich")
        if name == "ledger":
            room = module.app
        else:
            arguments = getattr(module, own.arguments) if own.arguments else None
            words = getattr(module, "WORDS", {})
            room.command(name, epilog=EPILOG)(command(getattr(module, name), arguments, words))
    elif name in plugins(COMMANDS):
        room = load(COMMANDS, name, Typer)
    else:
        raise missing_part(own.distribution, f"'onesided {name}' comes")
    found = get_command(room)
    found.name = name
    return found


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


_KNOWN = ("again", "by", "keys", "epsilon", "where", "budget", "further", "id", "unit")


def as_options(hint: str) -> str:
    """Advice for callers of the library as advice for the command line."""
    from onesided.cli import _ask, _options  # noqa: PLC0415 - few command lines are wrong

    # Arguments of the library that options stand for: those that commands have, by their names.
    known = "|".join(sorted({*_ask.OF_QUERIES, *_ask.OF_COUNTS, *_KNOWN}))

    def option(found: re.Match[str]) -> str:
        name = _options.OTHERWISE.get(found[1], found[1]).replace("_", "-")
        return f"--{name}{' ' if found[2] else ''}"

    told = re.sub(rf"(?<![\w(])({known})=(?:True\b)?(?=([\w\"'])?)", option, hint)
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
        errors.print(Text("Error: ", style="bold red"), as_options(error.reason), sep="")
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
