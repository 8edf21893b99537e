"""The public folder: the chain of steps, a page, the data it reads, the statuses for programs."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from onesided.errors import DataError, LedgerFormatError, OutputError
from onesided.monitor._machine import MonitorRelease, Step
from onesided.monitor._rules import Guarantees, Rules, length_words, level_of
from onesided.noise import IntArray
from onesided.show import fill, outline_around, resource
from onesided.store import remove_drafts, replace_file

# The chain of what was published: one line per step, beside the status files, never rewritten.
#
# A state that was restored from an old copy stands behind it. It then publishes exactly these steps
# again, from the same batches, and nothing else in their place.

NAME: Final = "steps.jsonl"
_LOCK: Final = ".onesided.lock"


Degrees = NDArray[np.float64]
Positions = tuple[Degrees, Degrees]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedStep:
    """A step as everybody may read it."""

    step: int
    batch: str
    time: str
    head: str

    @classmethod
    def read(cls, line: bytes | str, path: object) -> PublishedStep:
        """From a line of the chain at ``path``. Errors: LedgerFormatError."""
        try:
            step = cls(**json.loads(line))
        except (ValueError, TypeError, RecursionError) as error:
            raise _foreign(path, "a line of it is no step") from error
        texts = (step.batch, step.time, step.head)
        if type(step.step) is not int or not all(isinstance(text, str) for text in texts):
            raise _foreign(path, "a line of it is no step")
        return step


class Chain(Protocol):
    """What the public has seen of a monitor, wherever it was published.

    >>> seen: Chain = PublishedSteps(Path("nothing published"))
    >>> seen.at(1) is None, seen.after(0)
    (True, [])
    """

    def at(self, number: int) -> PublishedStep | None:
        """What was published as that step, or None."""

    def after(self, number: int) -> list[PublishedStep]:
        """The published steps after that one, in order."""


@dataclass(slots=True)
class PublishedSteps:
    """The public chain in a folder. Safe for several processes: writers take turns.

    Errors: LedgerFormatError for a chain that cannot be read; OutputError if it cannot be written.
    """

    folder: Path
    _steps: dict[int, PublishedStep] = field(default_factory=dict)
    _read: int = 0

    @property
    def last(self) -> int:
        """The number of the latest published step; 0 if there is none."""
        self._read_on()
        return max(self._steps, default=0)

    def after(self, number: int) -> list[PublishedStep]:
        last = self.last
        return [self._steps[step] for step in range(number + 1, last + 1)]

    def at(self, number: int) -> PublishedStep | None:
        self._read_on()
        return self._steps.get(number)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Nobody else writes to the folder meanwhile."""
        try:
            lock = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise unusable(self.folder, error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def append(self, releases: Iterable[MonitorRelease]) -> None:
        """Add the steps that are not there yet, durably; call it in a :meth:`turn`."""
        last = self.last
        told = (
            {"step": one.number, "batch": one.batch, "time": one.time, "head": one.head}
            for one in releases
            if one.number > last
        )
        lines = [json.dumps(step, ensure_ascii=False) + "\n" for step in told]
        if not lines:
            return
        path = self.folder / NAME
        try:
            # What a crash left of a line is no step: it is overwritten.
            with path.open("r+b" if path.exists() else "w+b") as file:
                file.seek(self._read)
                file.truncate()
                file.write("".join(lines).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise unusable(path, error) from error

    def _read_on(self) -> None:
        """Take in the whole lines that were added since the last look."""
        path = self.folder / NAME
        try:
            with path.open("rb") as file:
                file.seek(self._read)
                added = file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            raise unusable(path, error) from error
        whole = added[: added.rfind(b"\n") + 1]
        for line in whole.splitlines():
            step = PublishedStep.read(line, path)
            if step.step != max(self._steps, default=0) + 1:
                raise _foreign(path, f"step {step.step} stands where another should")
            self._steps[step.step] = step
        self._read += len(whole)


def refuse_other(published: PublishedStep, step: Step) -> None:
    """Errors: DataError if ``step`` is not the one that was published. Call before it is stored."""
    if published.batch != step.batch:
        raise DataError(
            f"The state is behind what was published: step {published.step} was of the batch "
            f"{published.batch!r}, not {step.batch!r}.",
            hint=f"Send {published.batch!r} first, as it was: it gets the answer that it had. If "
            "it is gone, restore a newer copy of the state. Nothing was stored or published.",
            batch=step.batch,
            published=published.batch,
        )
    if published.head != step.head:
        raise DataError(
            f"Step {published.step} was published with another answer for the batch "
            f"{step.batch!r}: its rows, its time, or the batches before it are not what they were.",
            hint="Send the batches as they were, in the order of the published steps, or restore "
            "a newer copy of the state. A second answer in the place of the first would tell more "
            "than was paid for. Nothing was stored or published.",
            batch=step.batch,
            published=published.batch,
        )


def _foreign(path: object, problem: str) -> LedgerFormatError:
    return LedgerFormatError(
        f"{path} is not the chain of a monitor's published steps: {problem}.",
        hint="Restore the file, or publish this monitor to a folder of its own.",
        path=str(path),
    )


def unusable(path: Path, error: OSError) -> OutputError:
    """What a folder's error means."""
    return OutputError(
        f"{str(path)!r} could not be read or written: {error.strerror or error}.",
        hint="The answers are stored and will be published unchanged: make room or mend it, and "
        "start again.",
        path=str(path),
    )


# What the page of a monitor says, wherever it stands: in a public folder, or on a service.

FIRST: Final = 20
_MARKS: Final = {
    "certified": "yes",
    "safe": "yes",
    "alarm": "alarm",
    "unknown": "no",
    "resting": "rest",
}


def frame(release: MonitorRelease) -> dict[str, Any]:
    """A step for a page: statuses as run lengths such as "3c2u", values that were drawn.

    lower: of open visits, of a monitor that tells alarms.

    >>> from onesided import Monitor, policy
    >>> rules = {"at_most": 1, "window": 7, "epsilon": 90, "policy": policy.addition_only()}
    >>> frame(Monitor(["gym", "bar"], **rules).step(id="monday", time=1))["runs"]
    '2c'
    """
    letters = np.full(release.rules.size, ord("r"), dtype=np.uint8)
    letters[release.certified] = ord("c")
    letters[release.alarm] = ord("a")
    letters[release.unknown] = ord("u")
    starts = np.flatnonzero(np.concatenate(([True], letters[1:] != letters[:-1])))
    lengths = np.diff(np.append(starts, letters.size)).tolist() if letters.size else []
    runs = zip(lengths, letters[starts].tolist() if letters.size else (), strict=True)
    size, answer = release.rules.size, release.answer
    pairs = list(zip(answer.positions.tolist(), answer.values.tolist(), strict=True))
    below = [[place - size, max(value, 0)] for place, value in pairs if place >= size]
    return {
        "number": release.number,
        "batch": release.batch,
        "time": release.time,
        "runs": "".join(f"{length}{chr(letter)}" for length, letter in runs),
        "values": [list(pair) for pair in pairs if pair[0] < size],
        **({} if release.rules.alarms is None else {"lower": below}),
    }


def places_of(
    names: Sequence[str],
    thresholds: int | list[int],
    positions: Positions | None,
    outline: object = None,
    alarms: int | list[int] | None = None,
) -> dict[str, Any]:
    """The places for a page, in the order of its steps; they never change.

    alarms: how many open visitors are an alarm, where that is told.
    outline: what is drawn below them, see :func:`onesided.show.outline_around`.
    """
    latitude, longitude, rows = located(positions)
    lines = outline_around(latitude, longitude, outline) if rows.size else ()
    return {
        "names": list(names),
        "thresholds": thresholds,
        **({} if alarms is None else {"alarms": alarms}),
        "rows": rows.tolist(),
        "x": longitude[rows].round(6).tolist(),
        "y": latitude[rows].round(6).tolist(),
        "middle": float(latitude[rows].mean()) if rows.size else 0.0,
        "outline": [[list(north), list(east)] for north, east in lines],
    }


def located(positions: Positions | None) -> tuple[Degrees, Degrees, IntArray]:
    """Latitude and longitude of all places, and the rows of those whose position is known."""
    north, east = (np.zeros(0), np.zeros(0)) if positions is None else positions
    return north, east, np.flatnonzero(np.isfinite(north) & np.isfinite(east))


def counted(state: Mapping[str, Any], size: int) -> dict[str, Any]:
    """How many places are in which state, and how far the parts of the bar reach.

    >>> counted({"number": 1, "time": "3", "runs": "1c3u"}, 4)["to_c"]
    25.0
    """
    counts: Counter[str] = Counter()
    for number, letter in re.findall(r"(\d+)([cura])", state["runs"]):
        counts[letter] += int(number)
    whole = max(size, 1)
    return {
        "number": state["number"],
        "time": state["time"],
        **{letter: counts[letter] for letter in "cura"},
        "to_c": 100 * counts["c"] / whole,
        "to_a": 100 * (counts["c"] + counts["a"]) / whole,
        "to_u": 100 * (counts["c"] + counts["a"] + counts["u"]) / whole,
    }


def said(step: MonitorRelease | None, row: int) -> tuple[str, str, str]:
    """Status, mark and bound of a place, in words."""
    if step is None:
        return ("no batch yet", "rest", "–")
    status = step.status[row]
    return (status, _MARKS[status], shown(step.upper_bounds[row]))


def shown(bound: int | None) -> str:
    """A bound of a place, or a dash where none is told.

    >>> shown(1200), shown(None)
    ('1,200', '–')
    """
    return "–" if bound is None else f"{bound:,}"


def first_rows(names: Sequence[str], step: MonitorRelease | None) -> list[tuple[str, ...]]:
    """The first rows of the table, for paper and for readers without scripts."""
    lower = [None] * len(names) if step is None else step.lower_bounds
    return [
        (name, *said(step, row), shown(lower[row])) for row, name in enumerate(islice(names, FIRST))
    ]


def titled(
    title: str,
    noun: str,
    at_most: int | list[int],
    window: str,
    alarm: int | list[int] | None = None,
) -> dict[str, Any]:
    """What the page calls things. alarm: how many open visitors are one, where that is told."""
    return {
        "title": title,
        "noun": noun,
        "at_most": _people(at_most, "their own limit of people"),
        "alarm": None if alarm is None else _people(alarm, "their own number of people"),
        "window": length_words(window),
    }


def _people(level: int | list[int], own: str) -> str:
    return f"{level:,} {'person' if level == 1 else 'people'}" if isinstance(level, int) else own


# The statuses of all places for programs: status.json and status.geojson, written at once.
#
# What stands before a status does not change from step to step: it is made once, as text.

Texts = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Documents:
    """Both documents of a monitor's places: the text before each status.

    located: those whose position is known, at these rows of all of them.
    """

    every: Texts
    located: Texts
    rows: IntArray

    @classmethod
    def of(cls, rules: Rules, positions: Positions | None) -> Documents:
        """Of the public places, and of those whose position is known."""
        names = [json.dumps(row[0], ensure_ascii=False, default=str) for row in rules.keys.rows]
        north, east, known = located(positions)
        pairs = zip(east[known].round(6).tolist(), north[known].round(6).tolist(), strict=True)
        before = [
            f'{{"type":"Feature","geometry":{{"type":"Point","coordinates":[{x},{y}]}},'
            f'"properties":{{"place":{names[row]},"status":'
            for row, (x, y) in zip(known.tolist(), pairs, strict=True)
        ]
        every = [f'{{"place":{name},"status":' for name in names]
        return cls(_texts(every), _texts(before), known)

    def status(self, facts: Mapping[str, Any], release: MonitorRelease) -> str:
        """status.json: the facts, and a line for each place."""
        head = json.dumps(facts, indent=1, ensure_ascii=False).removesuffix("\n}")
        places = "},\n  ".join(self.every + _statuses(release))
        return f'{head},\n "places": [\n  {places}}}\n ]\n}}\n'

    def geojson(self, release: MonitorRelease) -> str:
        """status.geojson: the places with a position, as points with their status."""
        end = f',"time":{json.dumps(release.time, ensure_ascii=False)}}}}}'
        lines = self.located + _statuses(release)[self.rows]
        features = f"{end},".join(lines) + (end if lines.size else "")
        return f'{{"type":"FeatureCollection","step":{release.number},"features":[{features}]}}\n'


def _statuses(release: MonitorRelease) -> Texts:
    """Each place's status and bounds; equal ones are one text."""
    columns: list[list[Any]] = [release.status, release.upper_bounds]
    names = ["at_most"]
    if release.rules.alarms is not None:
        columns.append(release.lower_bounds)
        names.append("open_at_least")
    rows = list(zip(*columns, strict=True))
    made = {
        (status, *bounds): f'"{status}"'
        + "".join(f',"{n}":{json.dumps(b)}' for n, b in zip(names, bounds, strict=True))
        for status, *bounds in set(rows)
    }
    return _texts([made[row] for row in rows])


def _texts(given: list[str]) -> Texts:
    made = np.empty(len(given), dtype=object)
    made[:] = given
    return made


# The public folder: a page, the data that it reads, and the statuses for programs.
#
# Each file is replaced in one step. Nothing here sees secret data: everything is made of released
# statuses.

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
    """What the page says besides statuses.

    positions: latitude and longitude of each place in degrees, NaN where unknown.
    outline: what is drawn below the map, see :func:`onesided.show.outline_around`.
    """

    title: str
    noun: str = "place"
    window: str = ""
    notes: tuple[str, ...] = ()
    positions: Positions | None = None
    outline: object = None


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
    _level: int | list[int] = field(init=False)  # the threshold
    _alarm: int | list[int] | None = field(init=False)
    _written: set[int] = field(default_factory=set, init=False)
    _left: set[int] = field(init=False)  # by an earlier process, or another monitor

    def __post_init__(self) -> None:
        rules, look = self.guarantees.rules, self.look
        self.frames = deque(maxlen=max(2, min(_MOST_FRAMES, _MOST_MARKS // max(1, rules.size))))
        self.steps = PublishedSteps(self.path)
        self._names = [str(row[0]) for row in rules.keys.rows]
        self._documents = Documents.of(rules, look.positions)
        self._level = level_of(rules.thresholds)
        self._alarm = None if rules.alarms is None else level_of(rules.alarms)
        told = places_of(self._names, self._level, look.positions, look.outline, self._alarm)
        self._places = _json(told)
        try:
            (self.path / _STEPS).mkdir(parents=True, exist_ok=True)
            files = (self.path / _STEPS).glob("*.json")
            self._left = {int(file.stem) for file in files if file.stem.isdecimal()}
        except OSError as error:
            raise unusable(self.path, error) from error

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
        # A file for each step that can be gone back to; the others go.
        kept = {one["number"]: one for one in self.frames}
        for number in kept.keys() - self._written:
            self._put(self.path / _STEPS / f"{number}.json", _json(kept[number]))
        for number in (self._written | self._left) - kept.keys():
            (self.path / _STEPS / f"{number}.json").unlink(missing_ok=True)
        self._written, self._left = set(kept), set()
        texts = {
            "places.json": self._places,
            "status.json": self._documents.status(self._facts(release), release),
            "status.geojson": self._documents.geojson(release),
            "index.html": self._page(release, state),
            "state.json": _json(state),  # last: who reads it finds all else
        }
        for name, text in texts.items():
            self._put(self.path / name, text)

    def _put(self, path: Path, text: str) -> None:
        try:
            # It is our turn: a draft is one that a killed process left.
            remove_drafts(path)
            replace_file(path, text)
        except OSError as error:
            raise unusable(path, error) from error

    def _facts(self, release: MonitorRelease) -> dict[str, Any]:
        """What the statuses are of, for programs."""
        return {
            "onesided": version("onesided"),
            "title": self.look.title,
            "step": release.number,
            "batch": release.batch,
            "time": release.time,
            "head": release.head,
            "threshold": self._level,
            **({} if self._alarm is None else {"alarm": self._alarm}),
            "window": self.look.window or None,
            "counts": release.counts,
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
            live=True,
            title=look.title,
            monitor={
                **titled(look.title, look.noun, self._level, look.window, self._alarm),
                "size": rules.size,
                "located": located(look.positions)[2].size,
                "sentences": self.guarantees.sentences,
                "notes": look.notes,
            },
            state=counted(state, rules.size),
            first=first_rows(self._names, release),
            links=_LINKS,
        )


def _json(told: object) -> str:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))
