"""What other distributions add to this one, by entry point: loaded when it is asked for.

A group is a place with a closed protocol: what stands there is one kind of object and no other.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, version
from importlib.util import find_spec
from typing import Any, Final

from onesided.errors import MissingDependencyError, PluginError, first_line

COMMANDS: Final = "onesided.commands"
"""Names of commands, each a ``typer.Typer``."""
LINES: Final = "onesided.verify"
"""Functions without arguments that return lines of the table of ``onesided verify``."""
CHECKS: Final = "onesided.verify.checks"
"""Functions without arguments that return results of checks of their own kind."""


def optional(module: str, reason: str, hint: str) -> Any:
    """A module that an extra brings, loaded on use. Errors: MissingDependencyError.

    >>> optional("json", "This needs JSON.", "pip install json").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError:
        raise MissingDependencyError(reason, hint=hint) from None


def plugins(group: str) -> dict[str, list[EntryPoint]]:
    """What is installed in ``group``, by name. Nothing is loaded."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in sorted(entry_points(group=group), key=lambda one: (one.name, one.value)):
        same = found.setdefault(entry.name, [])
        if entry.value not in {other.value for other in same}:
            same.append(entry)
    return found


def load(group: str, name: str, kind: Any) -> Any:
    """The object that stands under ``name``.

    Errors: PluginError if there is none or more than one, if it cannot be imported, and if it is
    not a ``kind``.
    """
    entries = plugins(group).get(name, [])
    if len(entries) != 1:
        owners = " and ".join(provider(entry) for entry in entries) or "no distribution"
        raise PluginError(
            f"The plug-in {name!r} in {group!r} is provided by {owners}; it must be one.",
            hint="Install the one that is meant, and uninstall the others.",
            group=group,
            name=name,
        )
    (entry,) = entries
    try:
        found = entry.load()
    except Exception as error:  # importing somebody else's code can fail in any way
        why = f"{type(error).__name__}: {first_line(error)}"
        raise broken(entry, f"cannot be loaded ({why})") from error
    if not isinstance(found, kind):
        raise broken(entry, f"is of type {type(found).__name__}, not {kind.__name__}")
    return found


def broken(entry: EntryPoint, flaw: str) -> PluginError:
    """The error for a plug-in that is not what its place asks for."""
    owner = provider(entry)
    return PluginError(
        f"The plug-in {entry.name!r} ({entry.value}, of {owner}) {flaw}.",
        hint=f"Install a version of {owner} that goes with onesided {version('onesided')}, or "
        f"remove it: pip uninstall {owner}",
        group=entry.group,
        name=entry.name,
    )


def from_part(distribution: str, name: str, *, module: str = "") -> Any:
    """A public name of another part of this repository, loaded on use.

    Errors: MissingDependencyError if that part is not installed.
    """
    package = distribution.replace("-", "_")
    if find_spec(package) is None:
        raise missing_part(distribution, f"{name} comes")
    return getattr(import_module(f"{package}.{module}".rstrip(".")), name)


def missing_part(distribution: str, what: str) -> MissingDependencyError:
    """The error that says which part is not installed, and how to get it."""
    folder = distribution.removeprefix("onesided-")
    return MissingDependencyError(
        f"{what} with {distribution}, which is not installed.",
        hint=f"pip install {distribution}, or in a copy of the repository: pip install ./{folder}",
    )


def provider(entry: EntryPoint) -> str:
    """The distribution that an entry point comes from."""
    return entry.dist.name if entry.dist is not None else "an unnamed distribution"
