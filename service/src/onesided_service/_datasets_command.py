"""``onesided datasets``: check the files of a service, and open them for questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from onesided.cli.kit import AsJson, Terminal, print_json
from onesided.errors import ParameterError
from onesided.numbers import many, rough
from onesided_service._config import ServiceConfig
from onesided_service._datasets import Dataset
from onesided_service._store import State

_ROOM: Final = 3  # for a machine that is busy
app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def datasets() -> None:
    """Check the datasets of a service."""


@app.command("check")
def check(
    names: Annotated[
        list[str] | None, typer.Argument(help="Datasets to check; by default all.")
    ] = None,
    *,
    config: Annotated[Path, typer.Option("--config", help="The service's TOML file.")] = Path(
        "onesided.toml"
    ),
    as_json: AsJson = False,
) -> None:
    """Validate each file against its schema, record its identity, and open the dataset.

    What it prints is for the curator, not for publication.
    """
    read = ServiceConfig.read(config)
    chosen = names or list(read.datasets)
    unknown = [name for name in chosen if name not in read.datasets]
    if unknown:
        raise ParameterError(
            f"The configuration {str(config)!r} has no dataset {unknown[0]!r}.",
            hint=f"Choose from: {', '.join(read.datasets)}."
            if read.datasets
            else "Add one under [datasets].",
        )
    state, found = State.open(read.place(read.state)), {}
    try:
        for name in chosen:
            dataset = Dataset(read.datasets[name], read, state, None)
            try:
                found[name] = dataset.check()
            finally:
                dataset.finish()
    finally:
        state.close()
    if as_json:
        print_json(found)
        return
    for name, facts in found.items():
        unread = sum(facts["unreadable"].values())
        words = many(unread, "value", one="is", more="are")
        more = f" {words} not of the declared type, and will be unknown." if unread else ""
        Terminal().print(
            f"{name}: {many(facts['rows'], 'row', one='was', more='were')} checked against the "
            f"schema.{more} The dataset is open for questions."
        )
        needed, given = facts["seconds_needed"], float(read.datasets[name].seconds)
        if _ROOM * needed > given:
            Terminal().print(
                f"  Its slowest question needs seconds = {rough(needed)} on this machine, and it "
                f"has seconds = {rough(given)}: late answers are lost. Set seconds = "
                f"{rough(_ROOM * needed)} or more."
            )
