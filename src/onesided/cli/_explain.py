"""``onesided explain``: a policy in plain words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onesided.cli._policies import read_policy
from onesided.cli._terminal import Terminal
from onesided.errors import OutputError
from onesided.policy import Policy


def explain(
    policy: Annotated[str, typer.Argument(help="A policy's name, or a TOML file.")],
    *,
    epsilon: Annotated[str, typer.Option(help="Loss at which to state the odds.")] = "1",
    max_groups: Annotated[int | None, typer.Option(help="For the presence policy.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="SQL, for the sensitive policy.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Draw the kinds and moves into this SVG.")
    ] = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print the policy as TOML instead.")] = False,
) -> None:
    """Say what a policy protects, what it does not, and how well.

    Example: onesided explain presence --max-groups 3
    """
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


def _draw(policy: Policy, out: Path) -> None:
    try:
        out.write_text(policy.to_svg(), encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"The picture {str(out)!r} could not be written: {error.strerror}.",
            hint="Name a file in a folder that exists, such as policy.svg.",
        ) from error
