"""``onesided people``: who may use a service, and their tokens."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from onesided.cli.kit import AsJson, Terminal, print_json
from onesided.errors import ParameterError
from onesided_service._config import ServiceConfig
from onesided_service._errors import ServiceError
from onesided_service._people import People
from onesided_service._store import State

app = typer.Typer(no_args_is_help=True, help="Manage who may use a service.", add_completion=False)
Where = Annotated[Path, typer.Option("--config", help="The service's TOML file.")]
Name = Annotated[str, typer.Argument(help="The person's name; with OIDC, the claim's value.")]
Of = Annotated[str, typer.Option("--dataset", help="The dataset, or * for roles in all.")]
Days = Annotated[int | None, typer.Option(help="Days until the token expires.")]
To = Annotated[
    Path | None, typer.Option(help="Write it as JSON to this new file, for its owner alone.")
]
_FILE = Path("onesided.toml")


@app.command("add")
def add(
    name: Name,
    *,
    role: Annotated[
        list[str],
        typer.Option(help="DATASET:ROLE; ROLE is curator, analyst or sender, DATASET may be *."),
    ],
    config: Where = _FILE,
    days: Days = None,
    to: To = None,
    as_json: AsJson = False,
) -> None:
    """Add a person, or add roles to an existing one. Prints the token once.

    The earlier tokens of an existing person open these, too: rotate them unless you know whose.

    Example: onesided people add ann --role visits:analyst
    """
    given: dict[str, list[str]] = {}
    for one in role:
        dataset, _, held = one.rpartition(":")
        if not dataset:
            raise ParameterError(f"--role {one!r} names no dataset.", hint="Write visits:analyst.")
        given.setdefault(dataset, []).append(held)
    with _people(config) as (people, usual), _told(name, to, as_json=as_json) as tell:
        tell(people.add(name, given, days=days or usual))


@app.command("remove")
def remove(name: Name, *, config: Where = _FILE) -> None:
    """Remove a person's roles and tokens at once. Their charges stay on record."""
    with _people(config) as (people, _):
        people.remove(name)
    Terminal().print(f"{name} is removed.")


@app.command("revoke")
def revoke(name: Name, *, dataset: Of, config: Where = _FILE) -> None:
    """Take away a person's roles in one dataset; who has none left is removed."""
    with _people(config) as (people, _):
        people.revoke(name, dataset)
    Terminal().print(f"{name} has no role in {dataset}.")


@app.command("allowance")
def allowance(
    name: Name,
    epsilon: Annotated[
        str | None, typer.Argument(help="ε per unit of edge weight; left out: as configured.")
    ] = None,
    *,
    dataset: Of,
    config: Where = _FILE,
) -> None:
    """Set what a person may spend of a dataset."""
    with _people(config) as (people, _):
        people.allow(name, dataset, epsilon)
    Terminal().print(f"{name} may spend {epsilon or 'what is configured'} of {dataset}.")


@app.command("rotate")
def rotate(
    name: Name, *, config: Where = _FILE, days: Days = None, to: To = None, as_json: AsJson = False
) -> None:
    """Revoke a person's tokens and print a new one, once."""
    with _people(config) as (people, usual), _told(name, to, as_json=as_json) as tell:
        tell(people.rotate(name, days=days or usual))


@app.command("list")
def listed(*, config: Where = _FILE, as_json: AsJson = False) -> None:
    """List everybody, their roles, and when their tokens expire."""
    with _people(config) as (people, _):
        found = people.list()
    if as_json:
        print_json(found)
        return
    for one in found:
        roles = ", ".join(f"{name}:{role}" for name, held in one["roles"].items() for role in held)
        Terminal().print(f"{one['person']}  {roles or 'no roles'}  until {one['expires'][:10]}")


@contextmanager
def opened(config: Path) -> Iterator[tuple[ServiceConfig, State]]:
    """A service's configuration and state, for a command. Errors: ParameterError."""
    read = ServiceConfig.read(config)
    state = State.open(read.place(read.state))
    try:
        yield read, state
    except ServiceError as error:  # as the command line tells a refusal
        raise ParameterError(str(error), hint=error.hint) from error
    finally:
        state.close()


@contextmanager
def _people(config: Path) -> Iterator[tuple[People, int]]:
    with opened(config) as (read, state):
        yield People(state), read.token_days


@contextmanager
def _told(name: str, to: Path | None, *, as_json: bool) -> Iterator[Callable[[str], None]]:
    """Where a token goes: a file that is there first is refused before there is one."""
    if to is None:
        yield lambda token: _say(name, token, as_json=as_json)
        return
    try:
        place = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ParameterError(
            f"Cannot make {str(to)!r}: {error.strerror}.", hint="Name a new file."
        ) from error
    try:
        with os.fdopen(place, "w", encoding="utf-8") as file:
            yield lambda token: print(json.dumps({"person": name, "token": token}), file=file)
    except BaseException:
        to.unlink(missing_ok=True)
        raise
    if not as_json:
        Terminal().print(f"The token of {name} is in {to}, which its owner alone reads.")


def _say(name: str, token: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"person": name, "token": token})
        return
    Terminal().print(f"The token of {name}, shown this once:\n{token}")
