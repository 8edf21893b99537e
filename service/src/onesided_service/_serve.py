"""``onesided serve``: the service for people who may not see the rows."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from onesided.cli.kit import EPILOG
from onesided.errors import ParameterError
from onesided_service._config import ServiceConfig
from onesided_service._demo import refuse_with_demo, run_demo
from onesided_service._run import run

app = typer.Typer(add_completion=False)
Config = Annotated[Path, typer.Argument(help="The service's TOML file.")]


@app.command("serve", epilog=EPILOG)
def serve(
    config: Config = Path("onesided.toml"),
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 for any.")] = None,
    workers: Annotated[int | None, typer.Option(help="How many processes.")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve a made-up city from a folder of its own.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --demo: print address and tokens as JSON.")
    ] = False,
) -> None:
    """Let analysts ask and the public read, while rows stay where they are.

    Example: onesided serve onesided.toml --workers 4
    """
    if demo:
        refuse_with_demo(host=host, workers=workers)
        run_demo(port=port, as_json=as_json)
        return
    if as_json:
        raise ParameterError("--json goes with --demo.", hint="Add --demo.")
    read = ServiceConfig.read(config)
    most = 8 * (os.cpu_count() or 1)
    if workers is not None and not 1 <= workers <= most:
        raise ParameterError(
            f"--workers is {workers}; this machine can run 1 to {most} processes.",
            hint="Choose a number in this range.",
            value=workers,
        )
    run(
        replace(
            read,
            host=host or read.host,
            port=read.port if port is None else port,
            workers=workers or read.workers,
        ),
        path=config.resolve(),
    )
