"""Beyond the note: sums, where one-sided noise in stairs is better than the geometric."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from onesided.mechanism import Counts, Staircase
from onesided.noise import NotPrivateSeededNoise
from onesided.numbers import INFINITE
from onesided_experiments import _model as lab

_LARGEST: Final[dict[int, tuple[str, lab.Marker]]] = {
    2: ("sky", "circle"),
    5: ("blue", "square"),
    20: ("orange", "triangle"),
    100: ("vermillion", "diamond"),
}
_EPSILONS: Final = ("1/10", "1/4", "1/2", "1", "3/2", "2", "3", "4", "5", "6", "8")
_TRUTH: Final = 10**6


def measure(*, largest: int, epsilon: str, draws: int, seed: int) -> list[lab.Row]:
    """Variance and absolute error about the median, of both, at the same loss for a unit."""
    noise = NotPrivateSeededNoise(seed)
    stairs = Staircase(epsilon, largest=largest)
    slope = Counts(stairs.noise_rate * Fraction(1, largest), INFINITE)
    truth = np.full(draws, _TRUTH)
    ours = stairs.release(truth, noise=noise) - _TRUTH
    theirs = slope.noisy(truth, noise=noise) - _TRUTH
    return [
        {
            "largest": largest,
            "epsilon": float(stairs.noise_rate),  # type: ignore[arg-type]
            "first_stair": stairs.first,
            "variance_stairs": float(ours.var()),
            "variance_stairs_formula": stairs.variance(),
            "standard_error": float(np.square(ours - ours.mean()).std() / np.sqrt(draws)),
            "variance_geometric": float(theirs.var()),
            "variance_geometric_formula": slope.distribution.variance(),
            "absolute_stairs": float(np.abs(ours - np.median(ours)).mean()),
            "absolute_geometric": float(np.abs(theirs - np.median(theirs)).mean()),
            "never_below": bool((ours >= 0).all()),
        }
    ]


def jobs(setup: lab.Setup) -> list[lab.Job]:
    """One per largest value and ε; no data are needed."""
    draws = 20_000 if setup.quick else 500_000
    return [
        lab.Job(
            measure,
            {"largest": top, "epsilon": epsilon, "draws": draws, "seed": setup.seed * 31 + top},
        )
        for top in _LARGEST
        for epsilon in _EPSILONS
    ]


def result(rows: list[lab.Row], _setup: lab.Setup) -> lab.Result:
    """Ratios by ε, one curve per largest value of a unit."""
    panels = [
        lab.Panel(
            title=title,
            x_label="ε (nats) for one unit",
            y_label="stairs over geometric",
            curves=[_curve(rows, top, value) for top in _LARGEST],
            y_range=(0, 1.05),
        )
        for title, value in (
            ("variance", "variance"),
            ("mean absolute error, median out", "absolute"),
        )
    ]
    figure = lab.Figure("Sums: one-sided stairs against one-sided geometric noise", panels)
    return lab.Result(rows, {"stairs": figure}, lambda: _claims(rows), _NOTES)


def _curve(rows: Sequence[lab.Row], top: int, value: str) -> lab.Curve:
    mine = [row for row in rows if row["largest"] == top]
    colour, marker = _LARGEST[top]
    return lab.Curve(
        look=lab.Look(f"values 0 to {top}", colour, marker),
        x=[row["epsilon"] for row in mine],
        y=[row[f"{value}_stairs"] / row[f"{value}_geometric"] for row in mine],
    )


def _claims(rows: Sequence[lab.Row]) -> list[lab.Claim]:
    ratios = {
        (row["largest"], row["epsilon"]): row["variance_stairs_formula"]
        / row["variance_geometric_formula"]
        for row in rows
    }
    shown = ", ".join(f"{ratios[20, e]:.3f} at ε = {e:g}" for e in (0.5, 1.0, 2.0, 4.0, 8.0))
    off = [
        abs(row["variance_stairs"] - row["variance_stairs_formula"]) / row["standard_error"]
        for row in rows
    ]
    return [
        lab.Claim(
            judges="ours",
            text="Stairs have no larger variance than the geometric, at the same loss.",
            measured=f"values 0 to 20: {shown} of it",
            verdict=lab.judge([ratio <= 1 + 1e-9 for ratio in ratios.values()]),
        ),
        lab.Claim(
            judges="ours",
            text="The formula is the shipped mechanism's, and no answer is below the truth.",
            measured=f"{len(rows)} variances, at most {max(off):.1f} standard errors off",
            verdict=lab.judge([max(off) < 4.5, *[row["never_below"] for row in rows]]),
        ),
    ]


_NOTES = (
    "Not in the note, which treats sensitivity 1. That no additive noise is better is found by "
    "linear programme in tests/mechanism/test_staircase.py. The first stair is the one of least "
    "variance; the absolute error has a best one of its own (`first=`), and jumps with it.",
)

EXPERIMENT = lab.Experiment("stairs", "Beyond the note: sums with stairs", "no data", jobs, result)
