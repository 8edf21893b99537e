"""``onesided datasets``: check, open and close datasets; publish and withdraw; the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from onesided.cli.kit import AsJson, Terminal, print_json
from onesided.errors import ParameterError
from onesided_service._apart import reader_of
from onesided_service._asking import Asking
from onesided_service._border import plain_line
from onesided_service._clock import Clock
from onesided_service._config import ServiceConfig
from onesided_service._curation import log_of
from onesided_service._datasets import Dataset
from onesided_service._people import CURATOR, Person
from onesided_service._people_command import Where, opened
from onesided_service._published import Publishing
from onesided_service._store import State

app = typer.Typer(no_args_is_help=True, add_completion=False)
Name = Annotated[str, typer.Argument(help="The dataset.")]
_FILE = Path("onesided.toml")


@app.callback()
def datasets() -> None:
    """Check, open and close the datasets of a service, and say what everybody may read."""


@app.command("check")
def check(
    names: Annotated[
        list[str] | None, typer.Argument(help="Datasets to check; by default all.")
    ] = None,
    *,
    config: Where = _FILE,
    as_json: AsJson = False,
) -> None:
    """Validate each file against its schema, record its identity, and open the dataset.

    What it prints is for the curator, not for publication.
    """
    with opened(config) as (read, state):
        chosen = names or list(read.datasets)
        _require_known(read, config, chosen)
        found, words = {}, {}
        for name in chosen:
            with _dataset(read, state, config, name) as dataset:
                # As the service reads it: on as many cores, in as much memory.
                place = list(read.datasets).index(name)
                dataset.elsewhere = reader_of(read, dataset, place, spare=False)
                found[name] = dataset.check()
                words[name] = dataset.words_of(found[name])
    if as_json:
        print_json(found)
        return
    for name in found:
        Terminal().print(f"{name}: {words[name]} The dataset is open for questions.")


@app.command("close")
def close(
    name: Name,
    *,
    reason: Annotated[str, typer.Option(help="For its curators alone.")],
    config: Where = _FILE,
) -> None:
    """Answer nothing more; what was charged can still be read."""
    with opened(config) as (read, state), _dataset(read, state, config, name) as dataset:
        dataset.close(f"Closed by a command: {plain_line(reason, name='reason')}", by="")
    Terminal().print(f"{name} is closed.")


@app.command("reopen")
def reopen(name: Name, *, config: Where = _FILE) -> None:
    """Open a dataset that was closed, if its rows are those that were checked."""
    with opened(config) as (read, state), _dataset(read, state, config, name) as dataset:
        dataset.reopen()
    Terminal().print(f"{name} is open for questions.")


@app.command("publish")
def publish(
    ask: Annotated[str, typer.Argument(help="The ask whose answer was told.")],
    *,
    title: Annotated[str, typer.Option(help="What everybody reads above it.")],
    config: Where = _FILE,
) -> None:
    """Let everybody read an answer. Prints its address."""
    with opened(config) as (read, state):
        clock = Clock(read.tick)
        found = Asking(state, clock).found(ask)
        if not found.answer or clock.before(found.due):
            raise ParameterError("This answer was not told yet.", hint="Try again later.")
        with _dataset(read, state, config, found.dataset) as dataset:
            told = Publishing(state).publish(_COMMAND, found, dataset, title)
    Terminal().print(f"{read.address}/published/{told}")


@app.command("withdraw")
def withdraw(
    name: Name,
    release: Annotated[str, typer.Argument(help="The last part of its address.")],
    *,
    reason: Annotated[str, typer.Option(help="For everybody who had read it.")] = "",
    config: Where = _FILE,
) -> None:
    """Let nobody read a release any more; its address says why."""
    with opened(config) as (_, state):
        Publishing(state).withdraw(release, name, reason, by="")
    Terminal().print(f"{release} is withdrawn.")


@app.command("log")
def log(name: Name, *, config: Where = _FILE, as_json: AsJson = False) -> None:
    """Print who did what to a dataset, the latest first."""
    with opened(config) as (read, state):
        _require_known(read, config, [name])
        found = log_of(state, name)
    if as_json:
        print_json(found)
        return
    for one in found:
        words = " ".join(filter(None, (one["action"], one["subject"], one["text"])))
        Terminal().print(f"{one['time'][:19]}  {one['by'] or 'a command'}  {words}")


# Whoever can run a command on the service's files is the curator of all of them.
_COMMAND = Person(name="", roles={"*": frozenset({CURATOR})})


@contextmanager
def _dataset(read: ServiceConfig, state: State, config: Path, name: str) -> Iterator[Dataset]:
    _require_known(read, config, [name])
    dataset = Dataset(read.datasets[name], read, state, None)
    try:
        yield dataset
    finally:
        dataset.finish()


def _require_known(read: ServiceConfig, config: Path, names: list[str]) -> None:
    unknown = [name for name in names if name not in read.datasets]
    if unknown:
        raise ParameterError(
            f"The configuration {str(config)!r} has no dataset {unknown[0]!r}.",
            hint=f"Choose from: {', '.join(read.datasets)}."
            if read.datasets
            else "Add one under [datasets].",
        )
