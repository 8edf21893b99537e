"""Figure 4: false negatives of one monitored place, update by update (Algorithm 3)."""

from __future__ import annotations

from typing import Final

import numpy as np

from onesided.mechanism import SparseVector
from onesided.noise import BoolArray, NotPrivateSeededNoise
from onesided.policy import presence
from onesided_experiments._model import (
    Claim,
    Curve,
    Experiment,
    Figure,
    Job,
    Look,
    Marker,
    Panel,
    Result,
    Row,
    Setup,
    judge,
)
from onesided_experiments._repeat import MOST

UPDATES: Final = 20
WINDOW: Final = 10
_COUNTS: Final = {5: (0, 1, 2, 3, 4), 10: (0, 2, 4, 6, 8)}
_LOOKS: Final[tuple[tuple[str, Marker], ...]] = (
    ("blue", "circle"),
    ("sky", "square"),
    ("green", "triangle"),
    ("orange", "diamond"),
    ("vermillion", "cross"),
)


def measure(*, threshold: int, count: int, repeats: int, seed: int) -> list[Row]:
    """A place with that many people at every update; "safe" is fewer than ``threshold``."""
    noise = NotPrivateSeededNoise(seed)
    mechanism = SparseVector.for_policy(
        presence(max_groups=1), thresholds=threshold - 1, epsilon=1, max_answers=None
    )
    rate = mechanism.upper_rate
    noisy = count + noise.geometric(rate, repeats * UPDATES).reshape(UPDATES, repeats)
    rest = np.zeros(repeats, dtype=np.int64)
    rows = []
    for update in range(UPDATES):
        asked = rest == 0
        above = asked & (noisy[update] > threshold - 1)
        rows.append(
            {
                "threshold": threshold,
                "count": count,
                "update": update + 1,
                "repetitions": repeats,
                "asked": float(asked.mean()),
                "false_negative_when_asked": _share(above[asked]),
                "false_negative_or_resting": float((above | ~asked).mean()),
                "formula": float(np.exp(count - threshold)),  # ε is 1 for one person at one place
            }
        )
        # A record marked now is in the window for WINDOW - 1 more updates.
        rest = np.where(above, WINDOW - 1, np.maximum(rest - 1, 0))
    return rows


def _share(found: BoolArray) -> float:
    return float(found.mean()) if found.size else float("nan")


def jobs(setup: Setup) -> list[Job]:
    """One per threshold and count; no data are needed."""
    repeats = 500 if setup.quick else MOST
    return [
        Job(
            measure,
            {
                "threshold": threshold,
                "count": count,
                "repeats": repeats,
                "seed": setup.seed * 7919 + threshold * 101 + count,
            },
        )
        for threshold, counts in _COUNTS.items()
        for count in counts
    ]


def result(rows: list[Row], setup: Setup) -> Result:
    """Among answers given, and with rests counted as false negatives too."""
    panels = [
        Panel(
            title=f"{title}, threshold {threshold}",
            x_label=f"update (a visit counts for {WINDOW})",
            y_label="false-negative ratio",
            curves=_curves(rows, threshold, value),
            log_y=True,
        )
        for value, title in (
            ("false_negative_when_asked", "answers given"),
            ("false_negative_or_resting", "answers and rests"),
        )
        for threshold in _COUNTS
    ]
    figure = Figure(title="ADP-2021 Figure 4: one place, ε = 1", panels=panels)
    claims = [] if setup.quick else _claims(rows)
    return Result(rows=rows, figures={"fig4": figure}, claims=claims, notes=_NOTES)


def _curves(rows: list[Row], threshold: int, value: str) -> list[Curve]:
    curves = []
    for place, count in enumerate(_COUNTS[threshold]):
        mine = [r for r in rows if r["threshold"] == threshold and r["count"] == count]
        share = count / threshold
        colour, marker = _LOOKS[place]
        look = Look(name=f"count = {share:.0%} of the threshold", colour=colour, marker=marker)
        x = [row["update"] for row in mine]
        curves.append(Curve(look=look, x=x, y=[row[value] or float("nan") for row in mine]))
    return curves


def _claims(rows: list[Row]) -> list[Claim]:
    zero = [r for r in rows if r["threshold"] == 5 and r["count"] == 0]
    worst = max(row["false_negative_when_asked"] for row in zero)
    resting = max(row["false_negative_or_resting"] for row in zero)
    off = [
        abs(r["false_negative_when_asked"] - r["formula"])
        / np.sqrt(r["formula"] * (1 - r["formula"]) / (r["asked"] * r["repetitions"]))
        for r in rows
    ]
    return [
        Claim(
            text="With nobody there, ε = 1 and threshold 5, the ratio stays below 0.01.",
            measured=f"at most {worst:.4f} among answers (e^-5 = {np.exp(-5):.4f}); "
            f"at most {resting:.3f} if rests count too",
            verdict=judge([worst < 0.01]),
        ),
        Claim(
            text="The ratio grows as the count nears the threshold: e^-(T - count).",
            measured=f"largest deviation from the formula {max(off):.1f} standard errors "
            f"in {len(off)} points",
            verdict=judge([max(off) < 4.5]),
        ),
    ]


_NOTES = (
    "Counts are set, not taken from data: the ratio depends on nothing else. 'Safe' is fewer than "
    "the threshold, so whole-number noise gives exactly the ratio of the paper's real-valued one.",
    f"The paper counts answers only. A false alarm also silences the place while its records stay "
    f"in the window (here {WINDOW} updates); the lower panels count those rests as well.",
)

EXPERIMENT = Experiment(
    name="fig4",
    title="Figure 4: false negatives of one place by update",
    needs="no data",
    jobs=jobs,
    result=result,
)
