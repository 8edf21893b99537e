"""The public folder: status.json, status.geojson and index.html, each replaced in one step.

Nothing here sees secret data: everything is made of released statuses.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.errors import OutputError
from onesided.monitor._answer import MonitorRelease
from onesided.monitor._guarantees import Guarantees
from onesided.monitor._published import PublishedSteps
from onesided.report import MAP_LIMIT, fill, map_layout, needs_webgl, plural, resource
from onesided.store import remove_drafts, replace_file

_OURS: Final = "onesided.monitor"
_MOST_FRAMES: Final = 500
_MOST_MARKS: Final = 4_000_000  # statuses in one page
_FIRST_ROWS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the page says besides statuses. Positions are degrees per place, NaN where unknown.

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

    @property
    def located(self) -> NDArray[np.intp]:
        """The places whose position is known."""
        if self.latitude is None or self.longitude is None:
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero(np.isfinite(self.latitude) & np.isfinite(self.longitude))


@dataclass(slots=True, kw_only=True)
class Folder:
    """The folder that readers look at, kept current. Holds the latest steps for the slider.

    >>> from onesided import Monitor, policy
    >>> rules = {"at_most": 1, "window": 7, "epsilon": 90, "policy": policy.addition_only()}
    >>> monitor, look = Monitor(["gym"], **rules), Look(title="Gyms")
    >>> folder = Folder(path=Path("public"), look=look, guarantees=monitor.guarantees())
    >>> folder.write(monitor.step(id="monday", time=1), since=monitor.history())
    >>> sorted(file.name for file in Path("public").glob("*.*") if file.name[0] != ".")
    ['index.html', 'status.geojson', 'status.json', 'steps.jsonl']
    """

    path: Path
    look: Look
    guarantees: Guarantees
    frames: deque[dict[str, Any]] = field(init=False)
    steps: PublishedSteps = field(init=False)

    def __post_init__(self) -> None:
        places = max(1, self.guarantees.rules.size)
        self.frames = deque(maxlen=max(2, min(_MOST_FRAMES, _MOST_MARKS // places)))
        self.steps = PublishedSteps(self.path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def add(self, releases: Iterable[MonitorRelease]) -> None:
        """Take in steps for the slider."""
        self.frames.extend(_frame(release) for release in releases)

    def write(self, release: MonitorRelease, *, since: Iterable[MonitorRelease]) -> None:
        """Replace the three files by what ``release`` says; readers see old or new, never half.

        since: every step up to ``release`` that may not have been published yet, for the chain.
        What is older than the latest published step is not written: the folder never goes back.
        Errors: OutputError; the state is safe then, and the same is written at the next try.
        """
        with self.steps.turn():
            self.steps.append(since)
            if release.number == self.steps.last:
                self._replace(release)

    def _replace(self, release: MonitorRelease) -> None:
        texts = {
            "status.json": _status(release, self.look, self.guarantees),
            "status.geojson": _geojson(release, self.look),
            "index.html": _page(release, self),
        }
        for name, text in texts.items():
            try:
                # It is our turn: a draft is one that a killed process left.
                remove_drafts(self.path / name)
                replace_file(self.path / name, text)
            except OSError as error:
                raise _unwritable(self.path / name, error) from error


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{str(path)!r} could not be written: {error.strerror or error}.",
        hint="The answers are stored and will be published unchanged: make room and start again.",
        path=str(path),
    )


def _frame(release: MonitorRelease) -> dict[str, Any]:
    """A step for the page: statuses as run lengths such as "3c2u", values of the unknown."""
    letters = np.full(release.rules.size, "r")
    letters[release.certified] = "c"
    letters[release.answer.positions] = "u"
    runs = "".join(f"{len(list(run))}{letter}" for letter, run in groupby(letters.tolist()))
    pairs = zip(release.answer.positions.tolist(), release.answer.values.tolist(), strict=True)
    return {
        "number": release.number,
        "batch": release.batch,
        "time": release.time,
        "runs": runs,
        "values": [list(pair) for pair in pairs],
    }


def _status(release: MonitorRelease, look: Look, guarantees: Guarantees) -> str:
    from onesided import __version__  # noqa: PLC0415 - the package's top knows its version

    columns = release.columns()
    names = release.rules.keys.names[0]
    rows = zip(columns[names], columns["status"], columns["at_most"], strict=True)
    document = {
        "onesided": __version__,
        "title": look.title,
        "step": release.number,
        "batch": release.batch,
        "time": release.time,
        "head": release.head,
        "threshold": _threshold(release),
        "window": look.window or None,
        "counts": _counts(release),
        "guarantees": guarantees.as_dict(),
        "places": [
            {"place": _plain(place), "status": status, "at_most": most}
            for place, status, most in rows
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _counts(release: MonitorRelease) -> dict[str, int]:
    certified, unknown = int(release.certified.sum()), release.answer.positions.size
    rest = release.rules.size - certified - unknown
    return {"certified": certified, "unknown": unknown, "resting": rest}


def _threshold(release: MonitorRelease) -> int | list[int]:
    levels = release.rules.thresholds
    same = levels.size > 0 and bool((levels == levels[0]).all())
    found: int | list[int] = int(levels[0]) if same else levels.tolist()
    return found


def _plain(place: object) -> object:
    return place if isinstance(place, str | int | float) else str(place)


def _geojson(release: MonitorRelease, look: Look) -> str:
    """The places with a position, as points with their status."""
    columns, features = release.columns(), []
    places = release.places
    for i in look.located.tolist():
        if look.latitude is None or look.longitude is None:
            break
        features.append(
            {
                "type": "Feature",
                "geometry": {
                    "type": "Point",
                    "coordinates": [
                        round(float(look.longitude[i]), 6),
                        round(float(look.latitude[i]), 6),
                    ],
                },
                "properties": {
                    "place": _plain(places[i]),
                    "status": columns["status"][i],
                    "at_most": columns["at_most"][i],
                    "time": release.time,
                },
            }
        )
    document = {"type": "FeatureCollection", "step": release.number, "features": features}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


def _page(release: MonitorRelease, folder: Folder) -> str:
    drawn = _map(folder.look)
    return fill(
        resource("page.html", package=_OURS),
        data={
            "places": [str(place) for place in release.places],
            "frames": list(folder.frames),
            "map": drawn,
            "thresholds": _threshold(release),
        },
        css=resource("report.css") + resource("page.css", package=_OURS),
        script=resource("page.js", package=_OURS),
        webgl=bool(drawn and drawn["webgl"]),
        **_words(release, folder),
    )


def _words(release: MonitorRelease, folder: Folder) -> dict[str, Any]:
    """What the template puts into sentences."""
    look, threshold = folder.look, _threshold(release)
    return {
        "title": look.title,
        "noun": look.noun,
        "things": plural(look.noun),
        "threshold": threshold if isinstance(threshold, int) else "their own limit of",
        "window": look.window,
        "total": release.rules.size,
        "located": look.located.size,
        "counts": {name[0]: number for name, number in _counts(release).items()},
        "when": release.time,
        "number": release.number,
        "batch": release.batch,
        "head": release.head,
        "frames": len(folder.frames),
        "sentences": folder.guarantees.sentences,
        "notes": look.notes,
        "first_rows": _first_rows(release),
    }


def _first_rows(release: MonitorRelease) -> list[tuple[str, str, str]]:
    columns = release.columns()
    return [
        (str(place), str(status), "–" if most is None else str(most))
        for place, status, most in zip(
            list(release.places)[:_FIRST_ROWS], columns["status"], columns["at_most"], strict=False
        )
    ]


def _map(look: Look) -> dict[str, Any] | None:
    """Where the places are; None where no position is known."""
    rows = look.located
    if rows.size == 0 or look.latitude is None or look.longitude is None:
        return None
    rows = rows[:: math.ceil(rows.size / MAP_LIMIT)]
    latitude, longitude = look.latitude[rows], look.longitude[rows]
    return {
        "rows": rows.tolist(),
        "at": {str(row): place for place, row in enumerate(rows.tolist())},
        "x": longitude.round(6).tolist(),
        "y": latitude.round(6).tolist(),
        "size": round(min(9.0, max(3.0, 7.5 * math.sqrt(2500 / rows.size))), 1),
        "webgl": needs_webgl(rows.size),
        "layout": map_layout(latitude, longitude),
    }
