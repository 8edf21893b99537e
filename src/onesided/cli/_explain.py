"""``onesided explain``: a policy or a schema in plain words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

import typer

from onesided.cli._policies import read_policy
from onesided.cli._terminal import Terminal, clean
from onesided.errors import OutputError, ParameterError
from onesided.policy import Policy
from onesided.schema import Schema

_LOOKED_AT: Final = 2**20
_SCHEMA: Final = re.compile(
    rb"^[ \t]*(?:(?:unit|columns)[ \t]*[=.]|\[[ \t]*columns\b)", re.MULTILINE
)


def explain(
    policy: Annotated[
        str, typer.Argument(help="A policy's name, or a policy's or schema's TOML file.")
    ],
    *,
    epsilon: Annotated[str, typer.Option(help="Loss at which to state the odds.")] = "1",
    max_groups: Annotated[int | None, typer.Option(help="For the presence policy.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="SQL, for the sensitive policy.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Draw the kinds and moves into this SVG.")
    ] = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print the policy as TOML instead.")] = False,
) -> None:
    """Say what a policy protects, what it does not, and how well; or what a schema declares.

    Example: onesided explain presence --max-groups 3
    """
    if _is_schema(policy):
        _explain_schema(Path(policy), out=out, toml=toml)
        return
    chosen = read_policy(policy, max_groups=max_groups, sensitive=sensitive)
    if toml:
        typer.echo(chosen.to_toml(), nl=False)
        return
    sentences = chosen.explain(epsilon=epsilon).splitlines()
    console = Terminal()
    console.print(f"Policy '{chosen.name}' at ε = {epsilon}", style="bold")
    for sentence in sentences:
        console.print(f"• {sentence}")
    if out is not None:
        _draw(chosen, out)
        console.print(f"Drawn into {out}.")


def _is_schema(name: str) -> bool:
    """Whether a file is a schema rather than a policy, by what it says."""
    try:
        with Path(name).open("rb") as file:
            text = file.read(_LOOKED_AT)
    except (OSError, ValueError):
        return False
    return b"onesided_policy" not in text and _SCHEMA.search(text) is not None


def _explain_schema(path: Path, *, out: Path | None, toml: bool) -> None:
    schema = Schema.read(path)
    if out is not None:
        raise ParameterError("There is no picture of a schema.", hint="Leave out --out.")
    if toml:
        typer.echo(schema.to_toml(), nl=False)
        return
    console = Terminal()
    console.print(f"Schema {clean(str(path))}", style="bold")
    for sentence in schema.explain().splitlines():
        console.print(f"• {clean(sentence)}")


def _draw(policy: Policy, out: Path) -> None:
    try:
        out.write_text(policy.to_svg(), encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"The picture {str(out)!r} could not be written: {error.strerror}.",
            hint="Name a file in a folder that exists, such as policy.svg.",
        ) from error
