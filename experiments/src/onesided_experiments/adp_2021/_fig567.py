"""Figures 1 and 5 to 7: all places at one time; counts, maps, and false negatives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from onesided.noise import BoolArray, NotPrivateSeededNoise
from onesided_experiments._model import (
    Claim,
    Curve,
    Experiment,
    Figure,
    Job,
    Look,
    Panel,
    Result,
    Row,
    Setup,
    judge,
)
from onesided_experiments._repeat import measured
from onesided_experiments._visits import Places, Source, find_visits, last_seen
from onesided_experiments.adp_2021._designated import (
    averaged,
    certified,
    false_negatives,
    false_positives,
    growing_counts,
)

EPSILONS: Final = ("0.5", "1", "2")
THRESHOLDS: Final = (2, 3, 5, 7, 10, 15, 20)
THRESHOLD: Final = 10
_LOOKS: Final = {
    "0.5": Look(name="ε = 0.5", colour="vermillion", marker="square"),
    "1": Look(name="ε = 1", colour="blue"),
    "2": Look(name="ε = 2", colour="green", marker="triangle"),
}
_SAFE: Final = Look(name="published as safe (certain)", colour="blue")
_HOT: Final = Look(name="not published as safe", colour="orange", marker="diamond")


def measure(*, source: Source, path: Path, epsilon: str, quick: bool, seed: int) -> list[Row]:
    """False negatives by update at T = 10, and at the end by threshold."""
    places, noise = last_seen(source, path), NotPrivateSeededNoise(seed)
    orders, rows = (2, 5) if quick else (10, 20)
    out: list[Row] = []
    for threshold in THRESHOLDS:
        parts, wrong, decisions = [], 0, 0
        for _ in range(orders):
            counts = growing_counts(places, noise.permutation(places.people))
            said = certified(counts, threshold, epsilon, rows=rows, noise=noise)
            parts.append(false_negatives(said, counts, threshold))
            wrong += false_positives(said, counts, threshold)
            decisions += said.size
        ratios = averaged(parts)
        base: Row = {"dataset": source.name, "epsilon": epsilon, "threshold": threshold}
        for update, values in enumerate(ratios, start=1):
            extra = {"update": update, "last": update == len(ratios), "false_positives": wrong}
            out.append({**base, **extra, "decisions": decisions, **measured("ratio", values)})
    return out


def jobs(setup: Setup) -> list[Job]:
    """One per data set and ε."""
    return [
        Job(
            measure,
            {
                "source": source,
                "path": path,
                "epsilon": epsilon,
                "quick": setup.quick,
                "seed": setup.seed * 104_729 + number,
            },
        )
        for number, (source, path, epsilon) in enumerate(
            (source, path, epsilon)
            for source, path in find_visits(setup.data)
            for epsilon in EPSILONS
        )
    ]


def result(rows: list[Row], setup: Setup) -> Result:
    """Counts, maps, and the ratio by update and by threshold."""
    found = [(source, last_seen(source, path)) for source, path in find_visits(setup.data)]
    figures = {"fig1": _counts_figure([places for _, places in found])}
    for number, (_, places) in enumerate(found):
        name = "fig5" if number == 0 else f"fig5-{chr(ord('a') + number)}"
        figures[name] = _maps(places, seed=setup.seed)
    at_ten = [row for row in rows if row["threshold"] == THRESHOLD]
    at_end = [row for row in rows if row["last"]]
    figures["fig6"] = _ratios(
        at_ten, "update", "update (batches of 500 people)", "Figure 6: false negatives by update"
    )
    figures["fig7"] = _ratios(
        at_end, "threshold", "threshold T (people)", "Figure 7: false negatives by threshold"
    )
    claims = [] if setup.quick else _claims(rows)
    notes = [
        "The paper has 5,835 categorised places of the Peopleflow data and five batches of 500. "
        "Our extract has no categories and 2,000 person-days; the other two sets are Foursquare. "
        "Each person is at the one place where they were last seen.",
        *(
            f"{source.name}: {places.people:,} people, {places.latitude.size:,} places; "
            f"{source.said}."
            for source, places in found
        ),
    ]
    return Result(rows=rows, figures=figures, claims=claims, notes=notes)


def _counts_figure(found: Sequence[Places]) -> Figure:
    panels = []
    for places in found:
        counts = np.bincount(places.counts(0).clip(max=20), minlength=21)
        look = Look(name="places", colour="blue")
        panels.append(
            Panel(
                title=places.name,
                x_label="people counted (20: 20 or more)",
                y_label="places",
                curves=[Curve(look=look, x=range(21), y=counts.tolist(), kind="bar")],
                log_y=True,
            )
        )
    return Figure(title="ADP-2021 Figure 1: places by count", panels=panels, columns=3)


def _maps(places: Places, *, seed: int) -> Figure:
    noise = NotPrivateSeededNoise(seed)
    counts = growing_counts(places, noise.permutation(places.people))
    safe = counts[-1] < THRESHOLD
    panels = [_map(places, safe, safe, "truth")]
    for epsilon in EPSILONS:
        said = certified(counts, THRESHOLD, epsilon, rows=1, noise=noise)[-1, 0]
        panels.append(_map(places, said, safe, f"ε = {epsilon}"))
    title = f"ADP-2021 Figure 5: {places.name}, T = {THRESHOLD}, {len(counts)} updates"
    return Figure(title=title, panels=panels, columns=4)


def _map(places: Places, said: BoolArray, safe: BoolArray, title: str) -> Panel:
    curves = [
        Curve(
            look=look,
            x=places.longitude[mask].round(5).tolist(),
            y=places.latitude[mask].round(5).tolist(),
            kind="dots",
        )
        for look, mask in ((_SAFE, said), (_HOT, ~said))
    ]
    return Panel(
        title=f"{title}: {int(said.sum()):,} of {int(safe.sum()):,} safe",
        x_label="longitude (°)",
        y_label="latitude (°)",
        curves=curves,
        is_map=True,
    )


def _ratios(rows: Sequence[Row], x: str, x_label: str, title: str) -> Figure:
    panels = []
    for name in dict.fromkeys(row["dataset"] for row in rows):
        curves = []
        for epsilon, look in _LOOKS.items():
            mine = [r for r in rows if r["dataset"] == name and r["epsilon"] == epsilon]
            curves.append(
                Curve(
                    look=look,
                    x=[row[x] for row in mine],
                    y=[row["ratio"] for row in mine],
                    spread=[row["ratio_spread"] for row in mine],
                )
            )
        panels.append(
            Panel(title=str(name), x_label=x_label, y_label="false-negative ratio", curves=curves)
        )
    return Figure(title=f"ADP-2021 {title}", panels=panels, columns=3)


def _claims(rows: Sequence[Row]) -> list[Claim]:
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    one = [row for row in rows if row["epsilon"] == "1"]
    most = {
        name: max(r["ratio"] for r in one if r["dataset"] == name and r["threshold"] == THRESHOLD)
        for name in names
    }
    small = {
        name: (_end(one, name, 2)["ratio"], _end(one, name, THRESHOLD)["ratio"]) for name in names
    }
    wrong = sum(row["false_positives"] for row in rows if row["last"])
    decisions = sum(row["decisions"] for row in rows if row["last"])
    return [
        Claim(
            text="A place is never published as safe wrongly.",
            measured=f"{wrong} in {decisions:,} decisions",
            verdict=judge([wrong == 0]),
        ),
        Claim(
            text="At T = 10 the false-negative ratio is at most 0.01 at every update (ε = 1).",
            measured="; ".join(f"{name} {value:.4f}" for name, value in most.items()),
            verdict=judge([value <= 0.01 for value in most.values()]),
        ),
        Claim(
            text="A threshold as small as 2 makes the ratio very high.",
            measured="; ".join(
                f"{n} {a:.2f} at T = 2, {b:.4f} at 10" for n, (a, b) in small.items()
            ),
            verdict=judge([a > 5 * b and a > 0.2 for a, b in small.values()]),
        ),
    ]


def _end(rows: Sequence[Row], name: str, threshold: int) -> Row:
    return next(
        r for r in rows if r["dataset"] == name and r["threshold"] == threshold and r["last"]
    )


EXPERIMENT = Experiment(
    name="fig5-7",
    title="Figures 1 and 5 to 7: all places at one time",
    needs="checkins/*.parquet",
    jobs=jobs,
    result=result,
)
