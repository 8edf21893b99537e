"""Live monitors: senders hand in batches, everybody reads the statuses."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import numpy as np

from onesided.engine.kit import key_file
from onesided.errors import DataError, ParameterError, UnknownColumnError
from onesided.monitor import Monitor, MonitorRelease, rules_for
from onesided.monitor.kit import Columns, Documents, Positions, refuse_deciding
from onesided_service._config import MonitorConfig, ServiceConfig
from onesided_service._datasets import read_policy
from onesided_service._people import SENDER, Person

_BATCH: Final = {"id", "time", "columns"}
_POSITION: Final = ("latitude", "longitude")
_MOST_ROWS: Final = 100_000


class LiveMonitor:
    """One monitor of one worker; its state is shared by all of them."""

    def __init__(self, config: MonitorConfig, service: ServiceConfig) -> None:
        self.config, self.name = config, config.name
        self.title = config.title or config.name
        self._service = service
        self._policy = read_policy(service.place(config.policy))
        self._keys = self._read(config.place)
        # Latitude and longitude of each place in degrees, where the keys have them.
        self.positions: Positions | None = None
        with suppress(UnknownColumnError):
            north, east = (np.array(list(map(float, self._read(name)))) for name in _POSITION)
            self.positions = north, east
        # What its rules or policy refuse is refused at the start, and not to whoever looks.
        self._asked: dict[str, Any] = {
            "at_most": config.at_most,
            "at_least": config.at_least,
            "window": config.window,
            "epsilon": config.epsilon,
            "policy": self._policy,
            "charges": config.charges,
        }
        rules = rules_for(self._keys, place=config.place, max_answers=None, **self._asked)
        columns = Columns(person=config.person, place=config.place, time=config.time)
        refuse_deciding(rules.deciding, columns)
        self._monitor: Monitor | None = None
        self._points: Documents | None = None
        self._turn = threading.Lock()

    def may_send(self, person: Person) -> bool:
        """Whether the person is a sender of this monitor, or of its dataset."""
        return person.may(SENDER, self.name) or person.may(SENDER, self.config.dataset or self.name)

    def open(self) -> Monitor:
        """The monitor; its one charge is recorded when it is opened for the first time."""
        if (opened := self._monitor) is not None:
            return opened  # readers never wait for a step: how long it takes depends on visits
        with self._turn:
            if self._monitor is None:
                config, place = self.config, self._service.place
                state = place(config.state or f"{config.name}.monitor.db")
                self._monitor = Monitor(
                    self._keys,
                    **self._asked,
                    state=state,
                    ledger=place(config.ledger) if config.ledger else None,
                    person=config.person,
                    place=config.place,
                    time=config.time,
                )
            return self._monitor

    def send(self, body: object) -> dict[str, Any]:
        """Take in a batch; the same batch again gives the same answer again.

        Errors: ParameterError; DataError, about the sender's own batch.
        """
        batch = _checked(body)
        monitor = self.open()
        with self._turn:
            release = monitor.step(batch["columns"], id=batch["id"], time=batch["time"])
        return self._told(release)

    def document(self) -> dict[str, Any]:
        """What everybody reads: the latest statuses, the rules and the promise."""
        monitor = self.open()
        last = monitor.last
        rules = self.config
        return {
            "name": self.name,
            "title": self.title,
            "at_most": rules.at_most,
            **({} if rules.at_least is None else {"at_least": rules.at_least}),
            "window": rules.window,
            "promise": str(monitor.guarantees()).splitlines(),
            **({"step": 0, "places": []} if last is None else self._told(last)),
        }

    def geojson(self) -> str:
        """The places with a position, as points with their latest status."""
        monitor = self.open()
        if (last := monitor.last) is None:
            return '{"type":"FeatureCollection","step":0,"features":[]}\n'
        if self._points is None:
            self._points = Documents.of(monitor.rules, self.positions)
        return self._points.geojson(last)

    def close(self) -> None:
        """Let go of its state."""
        with self._turn:
            if self._monitor is not None:
                self._monitor.close()
                self._monitor = None

    def _told(self, release: MonitorRelease) -> dict[str, Any]:
        places = []
        words, most, least = release.status, release.upper_bounds, release.lower_bounds
        where = None if self.positions is None else [part.tolist() for part in self.positions]
        for row, place in enumerate(release.places):
            told: dict[str, Any] = {"place": place, "status": words[row], "at_most": most[row]}
            if self.config.at_least is not None:
                told["open_at_least"] = least[row]
            if where is not None:
                told["latitude"], told["longitude"] = (part[row] for part in where)
            places.append(told)
        return {
            "step": release.number,
            "batch": release.batch,
            "time": release.time,
            "head": release.head,
            "places": places,
        }

    def _read(self, column: str) -> list[Any]:
        keys = self._service.place(self.config.keys)
        return list(key_file(keys, folder=None, name=column, kind="text"))


def _checked(body: object) -> Mapping[str, Any]:
    """A batch in its closed form. Errors: ParameterError."""
    if not isinstance(body, Mapping) or set(body) != _BATCH:
        raise ParameterError(
            "A batch is an object of id, time and columns.",
            hint='Send {"id": "monday", "time": "2026-01-05", "columns": {"person": [...], ...}}.',
        )
    columns, name = body["columns"], body["id"]
    if not isinstance(name, str) or not isinstance(columns, Mapping):
        raise ParameterError("id must be text, and columns an object.", hint="See docs/http.md.")
    sizes = {len(one) if isinstance(one, list) else -1 for one in columns.values()}
    if len(sizes) != 1 or not 0 <= min(sizes) <= _MOST_ROWS:
        raise DataError(
            f"columns must be lists of one length, at most {_MOST_ROWS:,}.",
            hint="Send several batches.",
        )
    return body
