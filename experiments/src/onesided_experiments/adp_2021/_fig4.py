"""Figure 4: false negatives of one monitored place, by how many people are there (Algorithm 3)."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from onesided.mechanism import SparseVector
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import presence
from onesided_experiments import _model as lab
from onesided_experiments._repeat import MOST

UPDATES: Final = 20
WINDOW: Final = 10
THRESHOLDS: Final = (5, 10)
EPSILONS: Final = ("0.5", "1", "2")
LOOKS: Final = {
    "0.5": lab.Look("ε = 0.5", "vermillion", "cross"),
    "1": lab.Look("ε = 1", "blue", "square"),
    "2": lab.Look("ε = 2", "green"),
}


def measure(*, threshold: int, count: int, epsilon: str, repeats: int, seed: int) -> list[lab.Row]:
    """A place with that many people at every update; "safe" is fewer than ``threshold``."""
    noise = NotPrivateSeededNoise(seed)
    mechanism = SparseVector.for_policy(
        presence(max_groups=1), thresholds=threshold - 1, epsilon=epsilon, max_answers=None
    )
    drawn = noise.geometric(mechanism.rate, repeats * UPDATES).reshape(UPDATES, repeats)
    rest = np.zeros(repeats, dtype=np.int64)
    asked, alarms, silent = np.zeros(UPDATES), np.zeros(UPDATES), np.zeros(UPDATES)
    for update in range(UPDATES):
        open_now = rest == 0
        above = open_now & (count + drawn[update] > threshold - 1)
        asked[update], alarms[update] = open_now.sum(), above.sum()
        silent[update] = (above | ~open_now).sum()
        # A record marked now is in the window for WINDOW - 1 more updates.
        rest = np.where(above, WINDOW - 1, np.maximum(rest - 1, 0))
    return [
        {
            "threshold": threshold,
            "count": count,
            "epsilon": epsilon,
            "formula": float(np.exp(float(epsilon) * (count - threshold))),
            "answers": int(asked.sum()),
            "false_negatives": float(alarms.sum() / asked.sum()),
            "with_rests": float(silent.mean() / repeats),
            "worst_update": float((alarms / np.maximum(asked, 1)).max()),
            "worst_update_with_rests": float(silent.max() / repeats),
        }
    ]


def jobs(setup: lab.Setup) -> list[lab.Job]:
    """One per threshold, count and ε; no data are needed."""
    repeats = 500 if setup.quick else MOST
    return [
        lab.Job(
            measure,
            {
                "threshold": threshold,
                "count": count,
                "epsilon": epsilon,
                "repeats": repeats,
                "seed": setup.seed * 7919 + threshold * 101 + count * 7 + place,
            },
        )
        for threshold in THRESHOLDS
        for count in range(threshold)
        for place, epsilon in enumerate(EPSILONS)
    ]


def result(rows: list[lab.Row], _setup: lab.Setup) -> lab.Result:
    """The paper's two panels, and below them the same with rests as false negatives too."""
    panels = [
        lab.Panel(
            title=f"{title}, threshold {threshold}",
            x_label="count (people)",
            y_label="false-negative ratio",
            curves=[
                lab.Curve.of(look, mine, "count", value)
                for epsilon, look in LOOKS.items()
                if (mine := lab.where(rows, threshold=threshold, epsilon=epsilon))
            ],
            y_range=(0, 1.03),
        )
        for value, title in (
            ("false_negatives", "as run: answers alone"),
            ("with_rests", "ours: answers and rests"),
        )
        for threshold in THRESHOLDS
    ]
    figure = lab.Figure("ADP-2021 Figure 4: one place, by its count", panels)
    return lab.Result(rows, {"fig4": figure}, lambda: _claims(rows), _NOTES)


def _claims(rows: list[lab.Row]) -> list[lab.Claim]:
    (empty,) = lab.where(rows, threshold=5, epsilon="1", count=0)
    off = [
        abs(r["false_negatives"] - r["formula"])
        / np.sqrt(r["formula"] * (1 - r["formula"]) / r["answers"])
        for r in rows
    ]
    grows = [
        all(
            a["false_negatives"] <= b["false_negatives"]
            for a, b in pairwise(lab.where(rows, threshold=t, epsilon=e))
        )
        for t in THRESHOLDS
        for e in EPSILONS
    ]
    return [
        lab.Claim(
            judges="as run",
            text="With nobody there, ε = 1 and threshold 5, the ratio is below 0.01 per update.",
            measured=f"{empty['false_negatives']:.4f} of the answers (e^-5 = {np.exp(-5):.4f}), at "
            f"most {empty['worst_update']:.4f} at one update",
            verdict=lab.judge([empty["worst_update"] < 0.01]),
        ),
        lab.Claim(
            judges="ours",
            text="... and if a rest counts as a false negative too.",
            measured=f"at most {empty['worst_update_with_rests']:.3f}: a false alarm silences the "
            f"place for {WINDOW} updates",
            verdict=lab.judge([empty["worst_update_with_rests"] < 0.01]),
        ),
        lab.Claim(
            judges="as run",
            text="The ratio grows as the count nears the threshold.",
            measured=f"{sum(grows)} of {len(grows)} curves",
            verdict=lab.judge(grows),
        ),
        lab.Claim(
            judges="as run",
            text="It is e^-ε(T - count), the curves of the figure.",
            measured=f"largest deviation {max(off):.1f} standard errors in {len(off)} points",
            verdict=lab.judge([max(off) < 4.5]),
        ),
    ]


_NOTES = (
    "Counts are set, not taken from data: the ratio depends on nothing else. 'Safe' is fewer than "
    "the threshold, so whole-number noise gives exactly the ratio of the paper's real-valued one. "
    "The authors draw the formula; here the mechanism is run.",
    f"The paper counts answers only. A false alarm also silences the place while its records stay "
    f"in the window (here {WINDOW} updates); the lower panels count those rests as well.",
)

EXPERIMENT = lab.Experiment(
    "fig4", "Figure 4: false negatives of one place by its count", "no data", jobs, result
)
