"""``onesided serve``: the service, and its demo: a made-up city with a monitor that runs."""

from __future__ import annotations

import http.client
import json
import logging
import os
import socket
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final

import duckdb
import numpy as np
import typer

from onesided.cli.kit import EPILOG, City, Terminal, city, print_line, write_city
from onesided.errors import ParameterError
from onesided.show import resource
from onesided.store import scratch
from onesided_service._app import run
from onesided_service._config import ServiceConfig
from onesided_service._datasets import Dataset
from onesided_service._people import People
from onesided_service._store import State

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
        _refuse_with_demo(host=host, workers=workers)
        _run_demo(port=port, as_json=as_json)
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


# The demo: everything is made up, in a folder that is removed.

_FILES: Final = ("onesided.toml", "policy.toml", "stays.schema.toml")
_STAYS: Final = """
SELECT person, place, category, 5 * (1 + hash(person, time) % 24)::BIGINT AS minutes, time
FROM visits JOIN places USING (place) ORDER BY time, person
"""
_HOUR: Final = np.timedelta64(3600, "s")
_HOURS: Final = 7 * 24
_AT_ONCE: Final = 24  # hours of the city that are there from the start
_EVERY: Final = 5.0  # seconds of ours for an hour of the city


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """A service in a folder of its own, and who may do what there."""

    config: ServiceConfig
    path: Path
    made: City
    tokens: dict[str, str] = field(repr=False)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{self.config.host}:{self.config.port}"

    def told(self) -> dict[str, Any]:
        """What a program needs to know."""
        analysts = [self.tokens["ann"], self.tokens["bob"]]
        return {"url": self.url, "curator": self.tokens["carol"], "analysts": analysts}


def _run_demo(*, port: int | None, as_json: bool) -> None:
    """Serve the demo from a folder that is removed afterwards, until it is told to stop."""
    with scratch() as folder:
        demo = make_demo(folder, port=8000 if port is None else port or _free_port())
        stop = threading.Event()
        # The city's own requests would soon push what is told here off the screen.
        logging.getLogger("onesided.serve").addFilter(_not_the_citys_own)
        threading.Thread(target=_live, args=(demo, stop, as_json), daemon=True).start()
        try:
            run(demo.config, path=demo.path)
        finally:
            stop.set()


def make_demo(folder: Path, *, port: int, people: int = 4000, places: int = 250) -> Demo:
    """Write the city, its schema, policy and configuration; add people; check the data."""
    made = city(people=people, places=places)
    with duckdb.connect() as connection:
        for path in write_city(folder, made=made):
            connection.read_parquet(str(path)).create_view(path.stem)
        connection.sql(_STAYS).write_parquet(str(folder / "stays.parquet"))
    for name in _FILES:
        (folder / name).write_text(_file(name), encoding="utf-8")
    path = folder / _FILES[0]
    config = replace(ServiceConfig.read(path), port=port)
    state = State.open(config.place(config.state))
    try:
        crew = People(state)
        tokens = {
            "carol": crew.add("carol", {"visits": ["curator"]}, days=1),
            "ann": crew.add("ann", {"visits": ["analyst"]}, days=1),
            "bob": crew.add("bob", {"visits": ["analyst"]}, days=1),
            "city": crew.add("city", {"places": ["sender"]}, days=1),
        }
        Dataset(config.datasets["visits"], config, state, None).check()
    finally:
        state.close()
    return Demo(config=config, path=path, made=made, tokens=tokens)


def _file(name: str) -> str:
    return resource(f"demo/{name}", package="onesided_service")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _live(demo: Demo, stop: threading.Event, as_json: bool) -> None:  # noqa: FBT001 - a thread's
    """Say where it is once it answers, then hand in the city's hours one after the other."""
    while not stop.is_set() and _sent(demo, "GET", "/healthz") != 200:
        stop.wait(0.1)
    if stop.is_set():
        return
    _publish(demo)
    _say(demo, as_json=as_json)
    hour = 0
    while not stop.is_set():
        status = _sent(demo, "POST", "/api/v1/monitors/places/batches", batch(demo.made, hour))
        hour += status == 200
        if hour >= _AT_ONCE or status != 200:
            stop.wait(_EVERY)


def batch(made: City, hour: int) -> dict[str, Any]:
    """The visits of one hour; after a week the same week comes again, a week later.

    >>> batch(city(people=50, places=5), 168)["time"]
    '2026-03-09T01:00:00'
    """
    visits, within = made.visits, hour % _HOURS
    start = np.datetime64("2026-03-02T00:00:00", "s")
    begin = start + within * _HOUR
    rows = (visits["time"] >= begin) & (visits["time"] < begin + _HOUR)
    ends = str(start + (hour + 1) * _HOUR)
    columns = {name: visits[name][rows].tolist() for name in ("person", "place")}
    return {"id": f"until {ends}", "time": ends, "columns": columns}


def _publish(demo: Demo) -> None:
    """The curator asks, and lets everybody read what came back."""
    for title, question in json.loads(_file("published.json")).items():
        visits = "/api/v1/datasets/visits"
        _, told = _said(demo, "POST", f"{visits}/ask", {"question": question}, "carol")
        if "ask" in told:
            body = {"ask": told["ask"], "title": title}
            _said(demo, "POST", f"{visits}/publish", body, "carol")


def _sent(demo: Demo, method: str, path: str, body: object = None) -> int:
    """The status of a request of the city's; 0 if nobody answers."""
    return _said(demo, method, path, body, "city")[0]


def _said(demo: Demo, method: str, path: str, body: object, who: str) -> tuple[int, dict[str, Any]]:
    """The status of a request, and what came back; 0 if nobody answers."""
    headers = {"Authorization": f"Bearer {demo.tokens[who]}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(demo.config.host, demo.config.port, timeout=60)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        told = json.loads(answer.read() or b"{}")
        return answer.status, told if isinstance(told, dict) else {}
    except (OSError, ValueError):
        return 0, {}
    finally:
        connection.close()


def _not_the_citys_own(record: logging.LogRecord) -> bool:
    own = (
        getattr(record, "person", "") in ("city", "carol")
        or getattr(record, "route", "") == "/healthz"
    )
    return not own or record.levelno > logging.INFO


def _say(demo: Demo, *, as_json: bool) -> None:
    if as_json:
        print_line(demo.told())
        return
    console = Terminal()
    console.print(f"The made-up city is at {demo.url}", style="bold")
    for name, who in (("ann", "analyst"), ("bob", "analyst"), ("carol", "curator")):
        console.print(f"  {name}, {who}: {demo.tokens[name]}")
    console.print(f"  sign in with a token: {demo.url}/sign-in")
    console.print(f"  from Python: od.connect({demo.url!r}, dataset='visits', token='os1_...')")
    console.print(f"  for everybody: {demo.url}/published")
    console.print(f"  for everybody, live: {demo.url}/monitors/places")
    console.print("Everything is made up and is removed when you stop it with Ctrl-C.")


def _refuse_with_demo(**given: object) -> None:
    """Errors: ParameterError for what the demo decides itself."""
    for name, value in given.items():
        if value is not None:
            raise ParameterError(
                f"--{name} and --demo exclude each other.", hint="The demo needs nothing else."
            )
