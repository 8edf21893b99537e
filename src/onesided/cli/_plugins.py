"""Commands that other distributions add. They are loaded when they are called, not before."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from typer import Typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from onesided._plugins import COMMANDS, load, missing_part, plugins, provider


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
