"""What the page of a monitor says, wherever it stands: in a public folder, or on a service."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided.monitor._answer import MonitorRelease
from onesided.monitor._rules import Rules
from onesided.show import outline_around

FIRST: Final = 20
_LENGTH: Final = re.compile(r"(\d+) *(ms|s|min|m|h|d|w)")
_UNITS: Final = {"ms": "millisecond", "s": "second", "min": "minute", "m": "minute"} | {
    "h": "hour",
    "d": "day",
    "w": "week",
}
_MARKS: Final = {"certified": "yes", "unknown": "no", "resting": "rest"}


def frame(release: MonitorRelease) -> dict[str, Any]:
    """A step for a page: statuses as run lengths such as "3c2u", values of the unknown.

    >>> from onesided import Monitor, policy
    >>> rules = {"at_most": 1, "window": 7, "epsilon": 90, "policy": policy.addition_only()}
    >>> frame(Monitor(["gym", "bar"], **rules).step(id="monday", time=1))["runs"]
    '2c'
    """
    letters = np.full(release.rules.size, ord("r"), dtype=np.uint8)
    letters[release.certified] = ord("c")
    letters[release.answer.positions] = ord("u")
    starts = np.flatnonzero(np.concatenate(([True], letters[1:] != letters[:-1])))
    lengths = np.diff(np.append(starts, letters.size)).tolist() if letters.size else []
    runs = zip(lengths, letters[starts].tolist() if letters.size else (), strict=True)
    pairs = zip(release.answer.positions.tolist(), release.answer.values.tolist(), strict=True)
    return {
        "number": release.number,
        "batch": release.batch,
        "time": release.time,
        "runs": "".join(f"{length}{chr(letter)}" for length, letter in runs),
        "values": [list(pair) for pair in pairs],
    }


def places_of(
    names: Sequence[str],
    thresholds: int | list[int],
    positions: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    outline: object = None,
) -> dict[str, Any]:
    """The places for a page, in the order of its steps; they never change.

    outline: what is drawn below them, see :func:`onesided.show.outline_around`.

    >>> places_of(["gym"], 5, None)["names"]
    ['gym']
    """
    nowhere = np.zeros(0)
    latitude, longitude = (nowhere, nowhere) if positions is None else positions
    rows = np.flatnonzero(np.isfinite(latitude) & np.isfinite(longitude))
    lines = outline_around(latitude, longitude, outline) if rows.size else ()
    return {
        "names": list(names),
        "thresholds": thresholds,
        "rows": rows.tolist(),
        "x": longitude[rows].round(6).tolist(),
        "y": latitude[rows].round(6).tolist(),
        "middle": float(latitude[rows].mean()) if rows.size else 0.0,
        "outline": [[list(north), list(east)] for north, east in lines],
    }


def threshold_of(rules: Rules) -> int | list[int]:
    """The threshold of all places, or each one's own."""
    levels = rules.thresholds
    same = levels.size > 0 and bool((levels == levels[0]).all())
    found: int | list[int] = int(levels[0]) if same else levels.tolist()
    return found


def counted(state: Mapping[str, Any], size: int) -> dict[str, Any]:
    """How many places are in which state, and how far the parts of the bar reach.

    >>> counted({"number": 1, "time": "3", "runs": "1c3u"}, 4)["to_c"]
    25.0
    """
    counts: Counter[str] = Counter()
    for number, letter in re.findall(r"(\d+)([cur])", state["runs"]):
        counts[letter] += int(number)
    whole = max(size, 1)
    return {
        "number": state["number"],
        "time": state["time"],
        **{letter: counts[letter] for letter in "cur"},
        "to_c": 100 * counts["c"] / whole,
        "to_u": 100 * (counts["c"] + counts["u"]) / whole,
    }


def said(step: MonitorRelease | None, row: int) -> tuple[str, str, str]:
    """Status, mark and bound of a place, in words.

    >>> said(None, 0)
    ('no batch yet', 'rest', '–')
    """
    if step is None:
        return ("no batch yet", "rest", "–")
    status = "certified" if step.certified[row] else "unknown" if step.unknown[row] else "resting"
    bound = bound_of(step, row)
    return (status, _MARKS[status], "–" if bound is None else f"{bound:,}")


def bound_of(step: MonitorRelease, row: int) -> int | None:
    """What is certainly not exceeded; None while the place rests.

    >>> from onesided import Monitor, policy
    >>> rules = {"at_most": 1, "window": 7, "epsilon": 90, "policy": policy.addition_only()}
    >>> bound_of(Monitor(["gym", "bar"], **rules).step(id="monday", time=1), 0)
    1
    """
    if step.certified[row]:
        return int(step.rules.thresholds[row])
    return int(step.values[row]) if step.unknown[row] else None


def first_rows(names: Sequence[str], step: MonitorRelease | None) -> list[tuple[str, ...]]:
    """The first rows of the table, for paper and for readers without scripts.

    >>> first_rows(["gym"], None)
    [('gym', 'no batch yet', 'rest', '–')]
    """
    return [(name, *said(step, row)) for row, name in enumerate(islice(names, FIRST))]


def titled(title: str, noun: str, at_most: int | list[int], window: str) -> dict[str, Any]:
    """What the page calls things.

    >>> titled("Gyms", "gym", 5, "14d")["window"]
    '14 days'
    """
    return {
        "title": title,
        "noun": noun,
        "at_most": at_most if isinstance(at_most, int) else "their own limit of",
        "window": length_words(window),
    }


def length_words(window: str) -> str:
    """A length of time in words.

    >>> length_words("14d"), length_words("1h"), length_words("7")
    ('14 days', '1 hour', '7')
    """
    match = _LENGTH.fullmatch(window.strip())
    if match is None:
        return window
    return many(int(match[1]), _UNITS[match[2]])
