"""A command's options, written once: the fields of a frozen value are the command line's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, get_type_hints

import typer

from onesided.errors import ParameterError
from onesided.store import first_bytes, read_toml

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
        document = read_toml(first_bytes(path, _LONGEST).decode())
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"Cannot read --config {str(path)!r}: {error}.",
            hint="Name a TOML file of at most 1 MB: options that every command may use, then "
            "tables such as [publish].",
        ) from error
    context.default_map = _defaults(document, context, path)
    return path


def _defaults(document: Mapping[str, Any], context: typer.Context, path: Path) -> dict[str, Any]:
    """What stands before any table is for every command that has such an option."""
    name = _table_of(context)
    own = document.get(name, {})
    if not isinstance(own, Mapping):
        raise ParameterError(f"[{name}] in {str(path)!r} is not a table.")
    everywhere = {key: value for key, value in document.items() if not isinstance(value, Mapping)}
    known = _known(context.command)
    _refuse_unknown(own, known, f"[{name}]", path)
    _refuse_unknown(everywhere, _known_anywhere(context.find_root().command), "any table", path)
    chosen = {key: value for key, value in everywhere.items() if _option(key) in known}
    return {
        _option(key): _placed(value, path) if _names_a_file(_option(key), value) else value
        for key, value in {**chosen, **own}.items()
    }


def _table_of(context: typer.Context) -> str:
    """The table of a command: "publish", or "ledger-show" for one in a group."""
    names = []
    here: Any = context
    while here.parent is not None:
        names.append(here.command.name or "")
        here = here.parent
    return "-".join(reversed(names))


def _option(key: str) -> str:
    return {"json": "as_json", "csv": "as_csv"}.get(key, key.replace("-", "_"))


def _known(command: Any) -> frozenset[str]:
    names = (str(param.name) for param in command.params)
    return frozenset(names) - {"config", "help"}


def _known_anywhere(root: Any) -> frozenset[str]:
    inner = getattr(root, "commands", {}).values()
    return frozenset[str]().union(_known(root), *map(_known_anywhere, inner))


def _refuse_unknown(
    table: Mapping[str, Any], known: frozenset[str], where: str, path: Path
) -> None:
    for key in table:
        if _option(key) not in known:
            raise ParameterError(
                f"{str(path)!r} has an unknown option {key!r} in {where}.",
                hint=f"Known: {', '.join(sorted(known))}.",
            )


_FILES = frozenset({"data", "input", "keys", "out", "ledger", "schema", "state"})


def _names_a_file(option: str, value: object) -> bool:
    policy = option == "policy" and isinstance(value, str) and value.endswith(".toml")
    return (option in _FILES or policy) and isinstance(value, str) and "://" not in value


def _placed(value: str, path: Path) -> str:
    """Names in a file are read from the folder where the file stands."""
    return str(path.resolve().parent / value)


AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Config: TypeAlias = Annotated[
    Path | None,
    typer.Option(is_eager=True, callback=_read_config, help="TOML file with these options."),
]
