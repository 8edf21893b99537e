"""``onesided check``: the data's health before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from onesided.cli._exits import FAILED
from onesided.cli._options import AsJson, Config, Quiet
from onesided.cli._schema import read_schema
from onesided.cli._tables import FromFiles, reading
from onesided.cli._terminal import Terminal, print_json
from onesided.session import health_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(FromFiles):
    """Which data are looked at. Command line and configuration fill this."""

    data: Annotated[
        Path | None, typer.Argument(help="A .parquet or .csv file of rows about people.")
    ] = None
    input: Annotated[
        str | None,
        typer.Option(help="Instead of DATA: a folder, or a pattern such as 'visits/*.parquet'."),
    ] = None
    schema: Annotated[
        Path | None, typer.Option(help="TOML file of types, unit and keys; see 'explain'.")
    ] = None
    unit: Annotated[str | None, typer.Option(help="Column that says whose row it is.")] = None
    max_groups: Annotated[
        int | None, typer.Option(help="Count units in more groups than this.")
    ] = None
    as_json: AsJson = False
    quiet: Quiet = False
    config: Config = None


def check(asked: Check) -> None:
    """Look at the data before anything is spent: types, missing and unreadable values, ids.

    Opens no ledger. What it prints is for the curator, not for publication. It
    exits with 1 if a session over these data would be refused.

    Example: onesided check visits.csv --schema visits.schema.toml
    """
    declared = read_schema(asked.schema)
    with reading(asked.files, schema=declared, base=asked.base) as (data,):
        health = health_of(data, declared, unit=asked.unit, max_groups=asked.max_groups)
    if asked.as_json:
        print_json(health.as_dict())
    else:
        Terminal(quiet=asked.quiet).print(str(health))
    if not health.ok:
        raise typer.Exit(FAILED)
