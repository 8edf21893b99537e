"""The commands, ours and those of plug-ins, with their help and their exit codes."""

from __future__ import annotations

import os
import re
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer
from rich.text import Text
from typer import Typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from onesided._plugins import COMMANDS, load, missing_part, plugins, provider
from onesided.cli import _ask, _before, _demo, _ledger, _monitor, _new, _verify
from onesided.cli._exits import EPILOG, FAILED, MISTAKE, exit_code
from onesided.cli._options import OTHERWISE, command
from onesided.cli._terminal import Terminal
from onesided.errors import OnesidedError
from onesided.store import PermissionsWarning

# Commands that other distributions add. They are loaded when they are called, not before.


class _Elsewhere(NamedTuple):
    """A command of another part of this repository: what it does, and after what it is listed."""

    distribution: str
    what: str
    after: str = ""


_ELSEWHERE: Final = {
    "serve": _Elsewhere(
        "onesided-service",
        "Let analysts ask and the public read, while rows stay where they are",
        after="monitor",
    ),
    "people": _Elsewhere("onesided-service", "Manage who may use a service", after="ledger"),
    "datasets": _Elsewhere("onesided-service", "Check the datasets of a service", after="people"),
    "papers": _Elsewhere("onesided-experiments", "Reproduce publications"),
}


class Commands(TyperGroup):
    """Our own commands, then those of plug-ins; a plug-in never takes the place of our own."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, for the help; nothing is loaded."""
        names = super().list_commands(ctx)
        for name, one in _ELSEWHERE.items():
            names.insert(names.index(one.after) + 1 if one.after else len(names), name)
        return [*names, *sorted(plugins(COMMANDS).keys() - set(names))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Our own command, or a line for the help that says where a plug-in comes from."""
        return super().get_command(ctx, cmd_name) or _line(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was called: here a plug-in is loaded."""
        if args and super().get_command(ctx, args[0]) is None and _line(args[0]) is not None:
            return args[0], _plugged(args[0]), args[1:]
        return super().resolve_command(ctx, args)


def _line(name: str) -> TyperCommand | None:
    """A stand-in with a name and a sentence."""
    known, owners = _ELSEWHERE.get(name), [provider(one) for one in plugins(COMMANDS).get(name, [])]
    if known and owners == [known.distribution]:
        return TyperCommand(name, help=f"{known.what}.")
    if owners:
        return TyperCommand(name, help=f"Added by {owners[0]}.")
    if known:
        return TyperCommand(name, help=f"{known.what}; needs {known.distribution}.")
    return None


def _plugged(name: str) -> Any:
    """The command of a plug-in. Errors: MissingDependencyError; PluginError for a broken one."""
    if name not in plugins(COMMANDS):
        raise missing_part(_ELSEWHERE[name].distribution, f"'onesided {name}' comes")
    command = get_command(load(COMMANDS, name, Typer))
    command.name = name
    return command


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
for _name, _perform, _arguments in (
    ("demo", _demo.demo, None),
    ("check", _before.check, None),
    ("new", _new.new, None),
    ("publish", _ask.publish, _ask.OF_COUNTS),
    ("ask", _ask.ask, _ask.OF_QUERIES),
    ("plan", _before.plan, None),
    ("explain", _before.explain, None),
    ("verify", _verify.verify, None),
    ("monitor", _monitor.monitor, None),
):
    app.command(_name, epilog=EPILOG)(command(_perform, _arguments))
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


_KNOWN = ("again", "by", "keys", "epsilon", "where", "budget", "further", "id", "unit")
# Arguments of the library that options stand for: those that commands have, by their names.
_ARGUMENTS = "|".join(sorted({*_ask.OF_QUERIES, *_ask.OF_COUNTS, *_KNOWN}))


def as_options(hint: str) -> str:
    """Advice for callers of the library as advice for the command line."""

    def option(found: re.Match[str]) -> str:
        name = OTHERWISE.get(found[1], found[1]).replace("_", "-")
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
