"""``onesided explain``: a policy or a schema in plain words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

import typer

from onesided.bounds import Correlation, correlation_from_toml
from onesided.cli._options import AsJson, Config, Quiet
from onesided.cli._policies import read_policy
from onesided.cli._terminal import Terminal, clean, print_json
from onesided.errors import OutputError, ParameterError
from onesided.policy import Policy
from onesided.schema import Schema
from onesided.store import first_bytes

_LOOKED_AT: Final = 2**20
_SCHEMA: Final = re.compile(
    rb"^[ \t]*(?:(?:unit|columns)[ \t]*[=.]|\[[ \t]*columns\b)", re.MULTILINE
)


def explain(
    policy: Annotated[
        str, typer.Argument(help="A policy's name, or a policy's or schema's TOML file.")
    ],
    *,
    epsilon: Annotated[str, typer.Option(help="ε at which to state the odds.")] = "1",
    max_groups: Annotated[
        int | None, typer.Option(help="Groups hidden together, for the presence policy.")
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="Condition that says who is sensitive, for that policy.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Draw the kinds and moves into this SVG.")
    ] = None,
    correlation: Annotated[
        Path | None,
        typer.Option(help="TOML file of what an attacker may know about several records together."),
    ] = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print the policy as TOML instead.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    config: Config = None,  # noqa: ARG001 - it fills the others
) -> None:
    """Say what a policy protects, what it does not, and how well; or what a schema declares.

    Example: onesided explain presence --max-groups 3
    """
    if toml and as_json:
        raise ParameterError("--toml and --json exclude each other.", hint="Choose one.")
    console = Terminal(quiet=quiet or as_json)
    known = None if correlation is None else _correlation(correlation)
    if _is_schema(policy):
        if known is not None:
            raise ParameterError("A schema has no moves.", hint="Leave out --correlation.")
        _explain_schema(Path(policy), console, out=out, toml=toml, as_json=as_json)
        return
    chosen = read_policy(policy, max_groups=max_groups, sensitive=sensitive)
    if toml:
        typer.echo(chosen.to_toml(), nl=False)
        return
    sentences = chosen.explain(epsilon=epsilon, correlation=known).splitlines()
    if as_json:
        edges = [{"name": edge.name, "weight": str(edge.weight)} for edge in chosen.edges]
        told = {"policy": chosen.name, "identity": chosen.identity, "edges": edges}
        print_json({**told, "epsilon": epsilon, "sentences": sentences})
    console.print(f"Policy '{chosen.name}' at ε = {epsilon}", style="bold")
    for sentence in sentences:
        console.print(f"• {sentence}")
    if out is not None:
        _draw(chosen, out)
        console.print(f"Drawn into {out}.")


def _is_schema(name: str) -> bool:
    """Whether a file is a schema rather than a policy, by what it says."""
    try:
        text = first_bytes(Path(name), _LOOKED_AT)
    except (OSError, ValueError):
        return False
    return b"onesided_policy" not in text and _SCHEMA.search(text) is not None


def _explain_schema(
    path: Path, console: Terminal, *, out: Path | None, toml: bool, as_json: bool
) -> None:
    schema = Schema.read(path)
    if out is not None:
        raise ParameterError("There is no picture of a schema.", hint="Leave out --out.")
    if toml:
        typer.echo(schema.to_toml(), nl=False)
        return
    sentences = schema.explain().splitlines()
    if as_json:
        print_json({"unit": schema.unit, "identity": schema.identity, "sentences": sentences})
    console.print(f"Schema {clean(str(path))}", style="bold")
    for sentence in sentences:
        console.print(f"• {clean(sentence)}")


def _correlation(path: Path) -> Correlation:
    """A declared correlation from a TOML file. Errors: ParameterError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(
            f"Cannot read the correlation {str(path)!r}: {error}.",
            hint="Name a .toml file (docs/policies.md).",
        ) from error
    return correlation_from_toml(text)


def _draw(policy: Policy, out: Path) -> None:
    try:
        out.write_text(policy.to_svg(), encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"The picture {str(out)!r} could not be written: {error.strerror}.",
            hint="Name a file in a folder that exists, such as policy.svg.",
        ) from error
