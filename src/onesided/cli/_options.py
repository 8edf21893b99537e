"""A command's options, written once: the fields of a frozen value are the command line's."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, get_type_hints

import typer

from onesided.errors import ParameterError

Options = TypeVar("Options")
_LONGEST = 2**20


def command(options: type[Options], perform: Callable[[Options], None]) -> Callable[..., None]:
    """``perform`` as a command whose options are the fields of the dataclass ``options``."""
    hints = get_type_hints(options, include_extras=True)

    def run(**given: Any) -> None:
        perform(options(**given))

    run.__doc__ = perform.__doc__
    run.__annotations__ = hints
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[field.name],
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(options)  # type: ignore[arg-type] # it is a dataclass
    ]
    # What Typer reads.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Options from the file's table of this command; the command line's own come first."""
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            table = tomllib.loads(file.read(_LONGEST).decode()).get(context.command.name or "", {})
    except (OSError, ValueError, RecursionError) as error:
        raise ParameterError(
            f"Cannot read --config {str(path)!r}: {error}.",
            hint="Name a TOML file of at most 1 MB, with a table such as [publish].",
        ) from error
    context.default_map = _defaults(table, context, path)
    return path


def _defaults(table: object, context: typer.Context, path: Path) -> dict[str, Any]:
    known = {param.name: param for param in context.command.params if param.name != "config"}
    if not isinstance(table, Mapping):
        raise ParameterError(f"[{context.command.name}] in {str(path)!r} is not a table.")
    found = {}
    for name, value in table.items():
        option = name.replace("-", "_")
        if option not in known:
            raise ParameterError(
                f"{str(path)!r} has an unknown option {name!r} in [{context.command.name}].",
                hint=f"Known: {', '.join(sorted(map(str, known)))}.",
            )
        found[option] = _placed(value, path) if _names_a_file(option, value) else value
    return found


_FILES = frozenset({"data", "input", "keys", "out", "ledger", "schema"})


def _names_a_file(option: str, value: object) -> bool:
    policy = option == "policy" and isinstance(value, str) and value.endswith(".toml")
    return (option in _FILES or policy) and isinstance(value, str) and "://" not in value


def _placed(value: str, path: Path) -> str:
    """Names in a file are read from the folder where the file stands."""
    return str(path.resolve().parent / value)


Config: TypeAlias = Annotated[
    Path | None,
    typer.Option(is_eager=True, callback=_read_config, help="TOML file with these options."),
]
