"""The statuses of all places for programs: status.json and status.geojson, written at once.

What does not change from step to step is made once for each place, as text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided.monitor._answer import MonitorRelease
from onesided.monitor._rules import Rules

Texts = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Lines:
    """Of some places, the text before a status, and the whole text where nothing is counted."""

    rows: NDArray[np.intp]
    before: Texts
    certified: Texts
    resting: Texts

    @classmethod
    def of(cls, rows: NDArray[np.intp], before: list[str], thresholds: list[int]) -> Lines:
        """From what stands before the status of each place."""
        told = zip(before, thresholds, strict=True)
        sure = [f'{text}"certified","at_most":{most}' for text, most in told]
        rest = [f'{text}"resting","at_most":null' for text in before]
        return cls(rows, _texts(before), _texts(sure), _texts(rest))

    def now(self, release: MonitorRelease) -> list[str]:
        """As a step found them."""
        told = np.where(release.certified[self.rows], self.certified, self.resting)
        values, unknown = release.values, np.asarray(release.unknown)[self.rows]
        for place in np.flatnonzero(unknown).tolist():
            most = int(values[self.rows[place]])
            told[place] = f'{self.before[place]}"unknown","at_most":{most}'
        found: list[str] = told.tolist()
        return found


@dataclass(frozen=True, slots=True)
class Documents:
    """Both documents of a monitor's places."""

    every: Lines
    located: Lines

    @classmethod
    def of(
        cls, rules: Rules, positions: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    ) -> Documents:
        """Of the public places, and of those whose position is known."""
        names = [json.dumps(_plain(row[0]), ensure_ascii=False) for row in rules.keys.rows]
        most, rows = rules.thresholds.tolist(), np.arange(rules.size)
        every = Lines.of(rows, [f'{{"place":{name},"status":' for name in names], most)
        none = np.zeros(0)
        north, east = (none, none) if positions is None else positions
        known = np.flatnonzero(np.isfinite(north) & np.isfinite(east))
        pairs = zip(east[known].round(6).tolist(), north[known].round(6).tolist(), strict=True)
        before = [
            f'{{"type":"Feature","geometry":{{"type":"Point","coordinates":[{x},{y}]}},'
            f'"properties":{{"place":{names[row]},"status":'
            for row, (x, y) in zip(known.tolist(), pairs, strict=True)
        ]
        return cls(every, Lines.of(known, before, [most[row] for row in known.tolist()]))

    def status(self, facts: Mapping[str, Any], release: MonitorRelease) -> str:
        """status.json: the facts, and a line for each place."""
        head = json.dumps(facts, indent=1, ensure_ascii=False).removesuffix("\n}")
        places = "},\n  ".join(self.every.now(release))
        return f'{head},\n "places": [\n  {places}}}\n ]\n}}\n'

    def geojson(self, release: MonitorRelease) -> str:
        """status.geojson: the places with a position, as points with their status."""
        end = f',"time":{json.dumps(release.time, ensure_ascii=False)}}}}}'
        lines = self.located.now(release)
        features = f"{end},".join(lines) + (end if lines else "")
        return f'{{"type":"FeatureCollection","step":{release.number},"features":[{features}]}}\n'


def _plain(place: object) -> object:
    return place if isinstance(place, str | int | float) else str(place)


def _texts(given: list[str]) -> Texts:
    made = np.empty(len(given), dtype=object)
    made[:] = given
    return made
