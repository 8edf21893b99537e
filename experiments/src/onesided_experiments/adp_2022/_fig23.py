"""Figures 2 and 3: maps of safe, dangerous and obscure places at one time."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from onesided.noise import BoolArray, IntArray
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
from onesided_experiments._visits import Places, Source, by_hour, find_visits
from onesided_experiments.adp_2022 import _power
from onesided_experiments.adp_2022._power import Point

ALPHAS: Final = {"fig2": "0", "fig3": "0.001"}
_LOOKS: Final = {
    "safe": Look(name="safe", colour="blue"),
    "dangerous": Look(name="dangerous", colour="vermillion", marker="diamond"),
    "obscure": Look(name="obscure", colour="grey", marker="cross"),
}


class Shown(NamedTuple):
    """What a mechanism says of each place; neither is obscure."""

    safe: BoolArray
    dangerous: BoolArray


def shown(name: str, counts: IntArray, alpha: str, random: np.random.Generator) -> Shown:
    """One draw of the answers. Wrong answers, which α allows to DP, are not drawn."""
    dp = Point(alpha=alpha, delta="0.0001" if name == "(ε, δ)-DP" else "0")
    truth = counts <= dp.threshold
    if name == "truth":
        return Shown(truth, ~truth)
    power = _power.ours if name == "ADP" else _power.virtual
    safe = np.array([power(dp, int(f)) if f <= dp.threshold else 0.0 for f in counts])
    danger = np.array([_power.dangerous(dp, int(f)) if f > dp.threshold else 0.0 for f in counts])
    return Shown(random.random(counts.size) < safe, random.random(counts.size) < danger)


PANELS: Final = ("truth", "ε-DP", "(ε, δ)-DP", "ADP")


def measure(*, source: Source, path: Path, seed: int) -> list[Row]:
    """Numbers of each kind, averaged over draws, at the busiest time."""
    places = by_hour(source, path)
    counts = places.counts(int(places.busiest(1)[0]))
    rows: list[Row] = []
    for figure, alpha in ALPHAS.items():
        for name in PANELS:
            random = np.random.default_rng(seed)
            draws = [shown(name, counts, alpha, random) for _ in range(20)]
            rows.append(
                {
                    "figure": figure,
                    "dataset": source.name,
                    "alpha": alpha,
                    "shown": name,
                    "safe": float(np.mean([one.safe.sum() for one in draws])),
                    "dangerous": float(np.mean([one.dangerous.sum() for one in draws])),
                    "places": int(counts.size),
                    "truly_safe": int((counts <= Point().threshold).sum()),
                }
            )
    return rows


def jobs(setup: Setup) -> list[Job]:
    """One per data set."""
    return [
        Job(measure, {"source": source, "path": path, "seed": setup.seed * 37 + number})
        for number, (source, path) in enumerate(find_visits(setup.data))
    ]


def result(rows: list[Row], setup: Setup) -> Result:
    """Four maps per data set and α."""
    figures = {}
    for source, path in find_visits(setup.data):
        places = by_hour(source, path)
        short = source.file.split("_")[0 if source.name.startswith("People") else 1]
        for figure, alpha in ALPHAS.items():
            figures[f"{figure}-{short}"] = _maps(places, figure, alpha, setup.seed)
    notes = [
        "The busiest time of each set; ε = 1, t = 5, δ = 0.0001. The paper's caption of Figure 2 "
        "says threshold 3, its text t = 5. Both DPs are the virtual optimum, not a mechanism. "
        "Wrong answers that α allows them are not drawn.",
        "For 'dangerous' a one-sided policy that protects visits gives nothing: ADP then does what "
        "ε-DP does.",
    ]
    return Result(rows=rows, figures=figures, claims=_claims(rows), notes=notes)


def _maps(places: Places, figure: str, alpha: str, seed: int) -> Figure:
    counts = places.counts(int(places.busiest(1)[0]))
    truth = counts <= Point().threshold
    panels = []
    for name in PANELS:
        seen = shown(name, counts, alpha, np.random.default_rng(seed))
        masks = {
            "obscure": ~(seen.safe | seen.dangerous),
            "safe": seen.safe,
            "dangerous": seen.dangerous,
        }
        curves = [
            Curve(
                look=_LOOKS[kind],
                x=places.longitude[mask].round(5).tolist(),
                y=places.latitude[mask].round(5).tolist(),
                kind="dots",
            )
            for kind, mask in masks.items()
        ]
        said = f"{seen.safe.sum():,}/{truth.sum():,} safe, {seen.dangerous.sum()}/{(~truth).sum()}"
        panels.append(
            Panel(
                title=f"{name}: {said} dang.",
                x_label="longitude (°)",
                y_label="latitude (°)",
                curves=curves,
                is_map=True,
            )
        )
    title = f"ADP-2022 Figure {figure[-1]}: {places.name}, ε = 1, t = 5, α = {alpha}"
    return Figure(title=title, panels=panels, columns=4)


def _claims(rows: list[Row]) -> list[Claim]:
    def share(figure: str, name: str) -> dict[str, float]:
        return {
            row["dataset"]: row["safe"] / row["truly_safe"]
            for row in rows
            if row["figure"] == figure and row["shown"] == name
        }

    adp, pure = share("fig2", "ADP"), share("fig2", "ε-DP")
    approx, with_error = share("fig2", "(ε, δ)-DP"), share("fig3", "(ε, δ)-DP")
    pure_error = share("fig3", "ε-DP")
    return [
        Claim(
            text="At α = 0, ε-DP shows nothing, (1, 0.0001)-DP almost nothing (under 0.05).",
            measured="; ".join(f"{n} {pure[n]:.3f}, {approx[n]:.3f}" for n in adp),
            verdict=judge([pure[n] == 0 and approx[n] < 0.05 for n in adp]),
        ),
        Claim(
            text="ADP finds 5,031 of 5,343 safe places, 94 % (taken as 90 % or more).",
            measured="; ".join(f"{n} {adp[n]:.1%}" for n in adp),
            verdict=judge([value >= 0.9 for value in adp.values()]),
        ),
        Claim(
            text="At α = 0.001, δ = 0.0001 adds almost nothing to ε-DP (within 0.05).",
            measured="; ".join(f"{n} {pure_error[n]:.3f}, {with_error[n]:.3f}" for n in adp),
            verdict=judge([with_error[n] - pure_error[n] <= 0.05 for n in adp]),
        ),
    ]


EXPERIMENT = Experiment(
    name="fig2-3",
    title="Figures 2 and 3: maps of safe, dangerous and obscure places",
    needs="checkins/*.parquet",
    jobs=jobs,
    result=result,
)
