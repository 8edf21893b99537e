"""Not in the paper: ten million published decisions on a real stream, none of them wrong."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.monitor import Batch, Machine, rules_for
from onesided.noise import FreshNoise, IntArray, NotPrivateSeededNoise
from onesided.policy import presence
from onesided_experiments import _model as lab
from onesided_experiments._tables import query
from onesided_experiments._visits import find_visits

HOURS: Final = 24
LEVELS: Final = (2, 5)
_NEEDED: Final = 10_000_000
_FILE: Final = "foursquare_nyc_filtered.parquet"


def measure(*, path: Path, level: int, steps: int | None, seed: int) -> list[lab.Row]:
    """Hourly batches, a window of a day, the monitor's own machine; truth counted apart."""
    visits = _visits(path)
    hours = int(visits["hour"].max()) + 1 if steps is None else steps
    size = int(visits["place"].max()) + 1
    rules = rules_for(
        range(size), place="place", at_most=level, window=HOURS, epsilon=1,
        policy=presence(max_groups=1), charges=1, max_answers=None,
    )  # fmt: skip
    machine, noise = Machine(rules), FreshNoise(NotPrivateSeededNoise(seed))
    edges = np.searchsorted(visits["hour"], np.arange(-HOURS, hours + 1))
    asked_by, said_by = np.zeros(level + 1, np.int64), np.zeros(level + 1, np.int64)
    wrong = published = resting = 0
    for hour in range(hours):
        rows = range(edges[hour + HOURS], edges[hour + HOURS + 1])
        part = slice(rows.start, rows.stop)
        pairs = zip(visits["place"][part].tolist(), visits["person"][part].tolist(), strict=True)
        batch = Batch(str(hour), hour, tuple([(place, person, hour) for place, person in pairs]))
        answer = machine.step(batch, noise=noise)
        truth = _truth(visits, edges[hour + 1], edges[hour + HOURS + 1], size)
        asked = answer.certified.copy()
        asked[answer.positions] = True
        published += int(asked.sum())
        resting += int((~asked).sum())
        wrong += int((answer.certified & (truth > level)).sum())
        asked_by += np.bincount(truth[asked & (truth <= level)], minlength=level + 1)
        said_by += np.bincount(truth[answer.certified & (truth <= level)], minlength=level + 1)
    shared = {"steps": hours, "places": size, "published": published, "resting": resting}
    return [
        {
            "at_most": level,
            "count": count,
            "asked": int(asked_by[count]),
            "certified": int(said_by[count]),
            "share": said_by[count] / asked_by[count] if asked_by[count] else math.nan,
            "formula": -math.expm1(count - level - 1),
            "false_safe": wrong,
            **shared,
        }
        for count in range(level + 1)
    ]


def _visits(path: Path) -> dict[str, NDArray[Any]]:
    return query(
        "SELECT date_diff('hour', (SELECT min(local_time) FROM read_parquet($1)), local_time) "
        "AS hour, dense_rank() OVER (ORDER BY place) - 1 AS place, user AS person "
        "FROM read_parquet($1) ORDER BY hour",
        str(path),
    )


def _truth(visits: dict[str, NDArray[Any]], start: int, end: int, size: int) -> IntArray:
    """Different people by place among visits ``start`` to ``end``; shares no code with monitor."""
    pairs = np.unique(np.stack([visits["place"][start:end], visits["person"][start:end]]), axis=1)
    return np.bincount(pairs[0], minlength=size).astype(np.int64)


def jobs(setup: lab.Setup) -> list[lab.Job]:
    """One per threshold."""
    return [
        lab.Job(
            measure,
            {
                "path": path,
                "level": level,
                "steps": 48 if setup.quick else None,
                "seed": setup.seed * 15_485_863 + level,
            },
        )
        for source, path in find_visits(setup.data)
        if source.file == _FILE
        for level in LEVELS
    ]


def result(rows: list[lab.Row], _setup: lab.Setup) -> lab.Result:
    """Certified shares by true count, beside the formula."""
    ours = lab.Look("certified, measured", "blue")
    formula = lab.Look("1 − e^−a(t+1−f)", "orange", "none", dashed=True)
    panels = []
    for level in LEVELS:
        mine = [row for row in rows if row["at_most"] == level and row["asked"]]
        curves = [
            lab.Curve.of(formula, mine, "count", "formula"),
            lab.Curve.of(ours, mine, "count", "share", dots=True),
        ]
        panels.append(
            lab.Panel(
                title=f"at most {level}",
                x_label="true count f (people)",
                y_label="share certified",
                curves=curves,
                y_range=(0, 1.03),
            )
        )
    figure = lab.Figure("Monitor on Foursquare New York: certified share, a = 1", panels)
    return lab.Result(rows, {"stream": figure}, lambda: _claims(rows), _NOTES)


def _claims(rows: list[lab.Row]) -> list[lab.Claim]:
    first = [row for row in rows if row["count"] == 0]
    published, wrong = sum(r["published"] for r in first), sum(r["false_safe"] for r in first)
    off = {
        (r["at_most"], r["count"]): abs(r["share"] - r["formula"])
        / math.sqrt(r["formula"] * (1 - r["formula"]) / r["asked"])
        for r in rows
        if r["asked"]
    }
    return [
        lab.Claim(
            judges="ours",
            text="No wrong 'at most t' in ten million published decisions on real data.",
            measured=f"{wrong} wrong in {published:,} published decisions",
            verdict=lab.judge([wrong == 0, published >= _NEEDED]),
        ),
        lab.Claim(
            judges="corrected",
            text="(Theorem 11) The certified share is 1 − e^−a(t+1−f).",
            measured=f"largest deviation {max(off.values()):.2f} standard errors over "
            f"{len(off)} counts (largest sample {max(r['asked'] for r in rows):,})",
            verdict=lab.judge([max(off.values()) < 4]),
        ),
    ]


_NOTES = (
    "Foursquare New York, one batch per hour, a visit counts for 24 hours, every visit protected "
    "at ε = 1. The true counts come from numpy, not from the monitor's window.",
)

EXPERIMENT = lab.Experiment(
    "stream",
    "Beyond the paper: a monitored stream, decision by decision",
    "checkins/foursquare_nyc_filtered.parquet",
    jobs,
    result,
)
