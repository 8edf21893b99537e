"""Commands that other distributions add. They are loaded when they are called, not before."""

from __future__ import annotations

from typing import Any, Final

from typer import Typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from onesided._plugins import COMMANDS, load, plugins, provider
from onesided.errors import MissingDependencyError

# Commands that are known to exist elsewhere: where from, and what they do.
_ELSEWHERE: Final = {"papers": ("onesided-experiments", "Reproduce publications")}


class Commands(TyperGroup):
    """Our own commands, then those of plug-ins; a plug-in never takes the place of our own."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, for the help; nothing is loaded."""
        own = super().list_commands(ctx)
        return [*own, *sorted({*plugins(COMMANDS), *_ELSEWHERE} - set(own))]

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
    entries = plugins(COMMANDS).get(name)
    if entries:
        return TyperCommand(name, help=f"Added by {provider(entries[0])}.")
    if name in _ELSEWHERE:
        distribution, what = _ELSEWHERE[name]
        return TyperCommand(name, help=f"{what}; needs {distribution}.")
    return None


def _plugged(name: str) -> Any:
    """The command of a plug-in. Errors: MissingDependencyError; PluginError for a broken one."""
    if name not in plugins(COMMANDS):
        distribution, _what = _ELSEWHERE[name]
        raise MissingDependencyError(
            f"'onesided {name}' comes with {distribution}, which is not installed.",
            hint=f"pip install {distribution}, or in a copy of the repository: "
            "pip install ./experiments",
        )
    command = get_command(load(COMMANDS, name, Typer))
    command.name = name
    return command
