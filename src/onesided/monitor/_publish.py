"""The public folder: a page, the data that it reads, and the statuses for programs.

Each file is replaced in one step. Nothing here sees secret data: everything is made of released
statuses.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.errors import OutputError
from onesided.monitor._answer import MonitorRelease
from onesided.monitor._documents import Documents
from onesided.monitor._guarantees import Guarantees
from onesided.monitor._live import counted, first_rows, frame, places_of, threshold_of, titled
from onesided.monitor._published import PublishedSteps
from onesided.report import fill, resource
from onesided.store import remove_drafts, replace_file

_OURS: Final = "onesided.monitor"
_MOST_FRAMES: Final = 500
_MOST_MARKS: Final = 4_000_000  # statuses in the steps that are kept
_INLINE: Final = 100_000  # so many letters of data stand in the page, for who opens it as a file
_STEPS: Final = "steps"
_LINKS: Final = {
    "state": "state.json",
    "places": "places.json",
    "past": "#place=",
    "steps": f"{_STEPS}/",
    "json": "status.json",
    "geojson": "status.geojson",
    "embed": "index.html?embed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the page says besides statuses. Positions are degrees per place, NaN where unknown.

    outline: what is drawn below the map, see :func:`onesided.show.outline_around`.

    >>> where = np.array([35.0, np.nan])
    >>> Look(title="Gyms", latitude=where, longitude=where).located.tolist()
    [0]
    """

    title: str
    noun: str = "place"
    window: str = ""
    notes: tuple[str, ...] = ()
    latitude: NDArray[np.float64] | None = None
    longitude: NDArray[np.float64] | None = None
    outline: object = None

    @property
    def positions(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Latitude and longitude of each place, if they are known at all."""
        if self.latitude is None or self.longitude is None:
            return None
        return self.latitude, self.longitude

    @property
    def located(self) -> NDArray[np.intp]:
        """The places whose position is known."""
        if self.positions is None:
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero(np.isfinite(self.positions[0]) & np.isfinite(self.positions[1]))


@dataclass(slots=True, kw_only=True)
class Folder:
    """The folder that readers look at, kept current, with the latest steps.

    >>> from onesided import Monitor, policy
    >>> rules = {"at_most": 1, "window": 7, "epsilon": 90, "policy": policy.addition_only()}
    >>> monitor, look = Monitor(["gym"], **rules), Look(title="Gyms")
    >>> folder = Folder(path=Path("public"), look=look, guarantees=monitor.guarantees())
    >>> folder.write(monitor.step(id="monday", time=1), since=monitor.history())
    >>> names = sorted(file.name for file in Path("public").glob("*.json*"))
    >>> names, [file.name for file in Path("public/steps").iterdir()]
    (['places.json', 'state.json', 'status.json', 'steps.jsonl'], ['1.json'])
    """

    path: Path
    look: Look
    guarantees: Guarantees
    frames: deque[dict[str, Any]] = field(init=False)
    steps: PublishedSteps = field(init=False)
    _documents: Documents = field(init=False)
    _places: str = field(init=False)
    _names: list[str] = field(init=False)
    _written: set[int] = field(default_factory=set, init=False)
    _left: set[int] = field(init=False)  # by an earlier process, or another monitor

    def __post_init__(self) -> None:
        rules, look = self.guarantees.rules, self.look
        self.frames = deque(maxlen=max(2, min(_MOST_FRAMES, _MOST_MARKS // max(1, rules.size))))
        self.steps = PublishedSteps(self.path)
        self._names = [str(row[0]) for row in rules.keys.rows]
        self._documents = Documents.of(rules, look.positions)
        told = places_of(self._names, threshold_of(rules), look.positions, look.outline)
        self._places = _json(told)
        try:
            (self.path / _STEPS).mkdir(parents=True, exist_ok=True)
            files = (self.path / _STEPS).glob("*.json")
            self._left = {int(file.stem) for file in files if file.stem.isdecimal()}
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def add(self, releases: Iterable[MonitorRelease]) -> None:
        """Take in steps, which the page can go back to."""
        self.frames.extend(frame(release) for release in releases)

    def write(self, release: MonitorRelease, *, since: Iterable[MonitorRelease]) -> None:
        """Replace the files by what ``release`` says; readers see old or new, never half.

        since: every step up to ``release`` that may not have been published yet, for the chain.
        What is older than the latest published step is not written: the folder never goes back.
        Errors: OutputError; the state is safe then, and the same is written at the next try.
        """
        with self.steps.turn():
            self.steps.append(since)
            if release.number == self.steps.last:
                self._replace(release)

    def _replace(self, release: MonitorRelease) -> None:
        if not self.frames or self.frames[-1]["number"] != release.number:
            self.add([release])
        state = {**self.frames[-1], "first": self.frames[0]["number"]}
        self._keep_steps()
        texts = {
            "places.json": self._places,
            "status.json": self._documents.status(self._facts(release), release),
            "status.geojson": self._documents.geojson(release),
            "index.html": self._page(release, state),
            "state.json": _json(state),  # last: who reads it finds all else
        }
        for name, text in texts.items():
            self._put(self.path / name, text)

    def _keep_steps(self) -> None:
        """A file for each step that can be gone back to; the others go."""
        kept = {one["number"]: one for one in self.frames}
        for number in kept.keys() - self._written:
            self._put(self.path / _STEPS / f"{number}.json", _json(kept[number]))
        for number in (self._written | self._left) - kept.keys():
            (self.path / _STEPS / f"{number}.json").unlink(missing_ok=True)
        self._written, self._left = set(kept), set()

    def _put(self, path: Path, text: str) -> None:
        try:
            # It is our turn: a draft is one that a killed process left.
            remove_drafts(path)
            replace_file(path, text)
        except OSError as error:
            raise _unwritable(path, error) from error

    def _facts(self, release: MonitorRelease) -> dict[str, Any]:
        """What the statuses are of, for programs."""
        from onesided import __version__  # noqa: PLC0415 - the package's top knows its version

        return {
            "onesided": __version__,
            "title": self.look.title,
            "step": release.number,
            "batch": release.batch,
            "time": release.time,
            "head": release.head,
            "threshold": threshold_of(self.guarantees.rules),
            "window": self.look.window or None,
            "counts": _counts(release),
            "guarantees": self.guarantees.as_dict(),
        }

    def _page(self, release: MonitorRelease, state: dict[str, Any]) -> str:
        look, rules = self.look, self.guarantees.rules
        inside = len(self._places) + len(state["runs"]) + 16 * len(state["values"]) < _INLINE
        return fill(
            resource("page.html", package=_OURS),
            data={"places": json.loads(self._places), "state": state} if inside else {},
            css=resource("report.css") + resource("page.css", package=_OURS),
            script=resource("monitor.js", package=_OURS),
            parts={"monitor/live.html": resource("live.html", package=_OURS)},
            charts=False,
            webgl=False,
            title=look.title,
            monitor={
                **titled(look.title, look.noun, threshold_of(rules), look.window),
                "size": rules.size,
                "located": look.located.size,
                "sentences": self.guarantees.sentences,
                "notes": look.notes,
            },
            state=counted(state, rules.size),
            first=first_rows(self._names, release),
            links=_LINKS,
        )


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{str(path)!r} could not be written: {error.strerror or error}.",
        hint="The answers are stored and will be published unchanged: make room and start again.",
        path=str(path),
    )


def _counts(release: MonitorRelease) -> dict[str, int]:
    certified, unknown = int(release.certified.sum()), release.answer.positions.size
    rest = release.rules.size - certified - unknown
    return {"certified": certified, "unknown": unknown, "resting": rest}


def _json(told: object) -> str:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))
