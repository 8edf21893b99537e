"""A command's options, said once: fields of a frozen value, and arguments of questions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from onesided.cli._tables import expanded, fixed_part
from onesided.errors import ParameterError
from onesided.store import first_bytes, read_toml

_LONGEST: Final = 2**20
_LAST: Final = ("as_json", "quiet", "config")
OTHERWISE: Final = {"counted": "count", "as_json": "json", "as_csv": "csv"}
# What options mean, in whatever command they stand.
_WORDS: Final = {
    "accounting": "What the budget adds: pure (ε), or renyi (divergences, at --delta-budget).",
    "again": "Return the stored answer of --id again, at no charge.",
    "another_ledger": "Make a second ledger for these data, with a budget on top of the first's.",
    "as_csv": "Print one line per entry and edge, for a spreadsheet.",
    "at_most": "Certify groups with at most this many units.",
    "bounds": "Lowest and highest value of one row, such as 0,100.",
    "budget": "Most that may ever be spent; by default this epsilon.",
    "by": "Grouping column; repeat for several.",
    "candidates": "Numbers that a quantile may be, from public knowledge, such as 1,2,5.",
    "confidence": "How often an interval holds, such as 0.95.",
    "correction": "What of the noise's centre is taken out of an estimate.",
    "counted": "Kind of unit to count, such as open.",
    "data": "A .parquet or .csv file of rows about people.",
    "delta": "Find groups, none listed: the chance that they give somebody away, such as 1e-6.",
    "delta_budget": "Most δ that may ever be spent, such as 1e-6; by default none.",
    "epsilon": "Privacy loss of the answer, such as 1 or 1/2.",
    "excel": "Write a workbook, too: release.xlsx.",
    "today": "What day it is in UTC, where budgets grow by date and long nothing was charged.",
    "further": "Allow a further policy in a ledger that has others.",
    "guesses": "Public guesses of the size of each answer, such as 100,7.",
    "hierarchy": "Levels above keys, as JSON: {column: {level: parents in the order of its keys}}.",
    "id": "Name of this answer in the ledger; refused if it has an answer already.",
    "input": "Instead of DATA: a folder, or a pattern such as 'visits/*.parquet'.",
    "interval": "Bounds of a quantile in its column's own unit, for part of ε.",
    "keys": "File of the public groups; by default the schema's.",
    "ledger": "Ledger file or URL; by default beside the configuration, the schema or the data.",
    "law": "Noise in a renyi account: by default gaussian where it errs less.",
    "likely": "Keep bounds that are not certain, too.",
    "max_groups": "Groups of one unit that ε hides together.",
    "max_rows": "Rows of one unit that count at most, in aggregates of rows.",
    "method": "How a quantile is drawn.",
    "missing": "Rows without a value: refuse the question, or drop leaves them out.",
    "on_excess": "What to do with units in more groups.",
    "others": "Count all keys that are not listed in one more group.",
    "out": "Folder to make for the results.",
    "outline": "GeoJSON to draw under the map; by default coasts, if the map is wide.",
    "outside": "Rows in no cell of a table: leave them out, or refuse them.",
    "pairs": 'Pairs of columns to measure, as JSON: [["age", "town"]].',
    "plan": "Show the cost and the expected error, and stop.",
    "policy": "Policy name or TOML file; see 'explain'.",
    "proportions": "Tell the numbers of a table as parts of its total.",
    "releases": "Compute with answers that 'ask --json' wrote, at no charge; repeat for each.",
    "schema": "TOML file of types, unit and keys; see 'explain'.",
    "seed": "Of the public randomness that rows are drawn by.",
    "sensitive": "Condition that says who is sensitive, for that policy.",
    "series": "Show the stored answers of these ids side by side, at no charge; repeat for each.",
    "simultaneous": "Have all intervals hold at once, and not each for itself.",
    "step": "The grid that values are rounded to.",
    "strategy": "Which margins of a table to measure; by default those of least predicted error.",
    "title": "What to call the answer; what was asked stands beside it.",
    "total_bounds": "Lowest and highest total of one unit, for SUM_PER_UNIT, such as 0,500.",
    "unit": "Column that says whose row it is.",
    "unknown": "Rows for which the condition is unknown: possible counts them, recorded does not.",
    "weight": "Column of weights by which units are counted.",
    "weight_bounds": "Lowest and highest weight, such as 0,10; others are clipped.",
    "weight_step": "The grid that weights are rounded to.",
    "weights": "How ε is shared among several answers, such as 2,1.",
    "where": "Condition that selects rows.",
}


def command(
    perform: Callable[..., None],
    arguments: Mapping[str, Argument] | None = None,
    words: Mapping[str, str] = MappingProxyType({}),
) -> Callable[..., None]:
    """``perform`` as a command: its options are its parameters, of dataclasses their fields.

    arguments: those of questions that it takes, too; what is given is the field ``said``.
    words: what options mean that are this command's own, or mean something else here.
    """
    hints, asked = get_type_hints(perform, include_extras=True), arguments or {}
    plain = inspect.signature(perform).parameters
    kinds: dict[str, Any] = {name: hints[name] for name in plain if is_dataclass(hints[name])}
    own = {OTHERWISE.get(name, name): name for name in asked}
    found: list[tuple[str, Any, Any]] = []
    for name, one in plain.items():
        if name in kinds:
            inner = get_type_hints(kinds[name], include_extras=True)
            found += [
                (
                    field.name,
                    inner[field.name],
                    _REQUIRED if field.default is MISSING else field.default,
                )
                for field in fields(kinds[name])
                if field.name != "said"
            ]
        else:
            found.append((name, hints[name], one.default))

    def run(**given: Any) -> None:
        said = {name: given.pop(option) for option, name in own.items()}
        said = {n: asked[n].read(value) for n, value in said.items() if value is not None}
        for name, kind in kinds.items():
            held = {one.name: given.pop(one.name) for one in fields(kind) if one.name in given}
            given[name] = kind(**held, **({"said": said} if asked else {}))
        perform(**given)

    run.__doc__ = perform.__doc__
    parameters = [
        _parameter(name, _option_of(name, hint, words), value) for name, hint, value in found
    ]
    parameters += [_parameter(option, asked[name].option, None) for option, name in own.items()]
    if len(plain) == len(kinds):
        parameters.sort(key=lambda one: one.name in _LAST)
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    # What Typer reads.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


_REQUIRED: Final = inspect.Parameter.empty


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def _option_of(
    name: str, hint: Any, words: Mapping[str, str] = MappingProxyType({}), **more: Any
) -> Any:
    """What Typer is told of an option that says nothing of itself."""
    if get_origin(hint) is Annotated:
        return hint
    flag = f"--{OTHERWISE.get(name, name).replace('_', '-')}"
    plain = bool not in (hint, *get_args(hint)) and name not in OTHERWISE
    names = () if plain else (flag,)
    if name == "ledger":
        more["envvar"] = "ONESIDED_LEDGER"
    return Annotated[hint, typer.Option(*names, help=words.get(name, _WORDS.get(name)), **more)]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a question: its name, and what its field may be.

    >>> from onesided.session import Quantile
    >>> candidates = arguments([Quantile])["candidates"]
    >>> candidates.read("1,2"), candidates.read("5")
    (('1', '2'), ('5',))
    """

    name: str
    kind: object

    @property
    def option(self) -> Any:
        """As Typer takes it; None is what was not said."""
        kinds = _members(self.kind)
        words = [one for kind in kinds for one in get_args(kind) if isinstance(one, str)]
        kind = bool if bool in kinds else int if kinds <= {int, type(None)} else str
        more: dict[str, Any] = {"metavar": "|".join(words)} if len(words) > 1 else {}
        return _option_of(self.name, kind | None, rich_help_panel="The question", **more)

    def read(self, said: Any) -> Any:
        """The value: of a list, its parts between commas; of what may be no list, also no list."""
        members = _members(self.kind) - {type(None)}
        lists = {one for one in members if get_origin(one) is Sequence}
        words = [word for one in members - lists for word in get_args(one)]
        if not lists or not isinstance(said, str) or said in words:
            return said
        alone = any(get_origin(one) is not Literal for one in members - lists)
        return said if alone and "," not in said else tuple(said.split(","))


def arguments(questions: Iterable[Any], *, without: Iterable[str] = ()) -> dict[str, Argument]:
    """Every argument that one of these questions has, by its name."""
    taken = {"questions", *without}
    return {
        field.name: Argument(field.name, get_type_hints(question)[field.name])
        for question in questions
        for field in fields(question)
        if field.init and field.name not in taken
    }


def _members(kind: object) -> set[object]:
    """The members of a union, or the one type that it is."""
    return set(get_args(kind)) if get_origin(kind) in (Union, UnionType) else {kind}


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
    # What stands before any table is for every command that has such an option.
    # The table of a command: "publish", or "ledger-show" for one in a group.
    names = []
    here: Any = context
    while here.parent is not None:
        names.append(here.command.name or "")
        here = here.parent
    name = "-".join(reversed(names))
    own = document.get(name, {})
    if not isinstance(own, Mapping):
        raise ParameterError(f"[{name}] in {str(path)!r} is not a table.")
    everywhere = {key: value for key, value in document.items() if not isinstance(value, Mapping)}
    known = _known(context.command)
    _refuse_unknown(own, known, f"[{name}]", path)
    _refuse_unknown(everywhere, _known_anywhere(context.find_root().command), "any table", path)
    chosen = {key: value for key, value in everywhere.items() if _option(key) in known}
    context.default_map = {
        # Names in a file are read from the folder where the file stands.
        _option(key): str(path.resolve().parent / value)
        if isinstance(value, str)
        and "://" not in value
        and (_option(key) in _FILES or (key == "policy" and value.endswith(".toml")))
        else value
        for key, value in {**chosen, **own}.items()
    }
    return path


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


AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Config: TypeAlias = Annotated[
    Path | None,
    typer.Option(is_eager=True, callback=_read_config, help="TOML file with these options."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What every command may be told of its output."""

    as_json: AsJson = False
    quiet: Quiet = False
    config: Config = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FromFiles(Printed):
    """Which files are one table, one as data or several as input, and what they hold."""

    data: Annotated[Path | None, typer.Argument(help=_WORDS["data"])] = None
    input: str | None = None
    schema: Path | None = None
    unit: str | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the table. Errors: ParameterError unless one way names them; DataError."""
        if (self.data is None) == (self.input is None):
            raise ParameterError(
                "The data are named twice." if self.data else "No data are named.",
                hint="Name one file as DATA, or a folder or pattern with --input.",
            )
        return (self.data,) if self.data is not None else expanded(str(self.input))

    @property
    def base(self) -> Path | None:
        """The folder that ``--input`` names or starts from."""
        return None if self.input is None else fixed_part(self.input)
