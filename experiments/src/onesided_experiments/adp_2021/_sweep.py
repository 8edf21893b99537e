"""The two sweeps of Figures 2 and 3, and how their results are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from onesided_experiments import _model as lab
from onesided_experiments._clicks import ClickFile, find_clicks
from onesided_experiments._repeat import measured
from onesided_experiments.adp_2021._selection import Errors

EPSILONS: Final = ("0.1", "0.3", "0.5", "0.7", "1")
SIZES: Final = (10, 50, 100, 200, 500)
K: Final = 100
_AXES: Final = {
    "mse": "mean squared error (count²)",
    "precision": "precision (share right)",
    "recall": "hits / k",
}
MEASURES: Final = ("mse", "precision")
READINGS: Final[tuple[lab.Judged, ...]] = ("as run", "corrected", "ours")
EPSILON: Final = "0.5"

_ADP: Final = lab.Look("ADP, less mean", "blue")
_RAW: Final = lab.Look("ADP, raw value", "sky", dashed=True)
_AS_RUN: Final = {
    ("free gap, as run", "combined"): lab.Look(
        "free gap, as run (twice the noise)", "vermillion", "cross"
    ),
    ("asymmetric, as run", "none"): _RAW,
    ("asymmetric, as run", "mean"): _ADP,
    ("free gap, adaptive, as run", "mean"): lab.Look(
        "free gap, as run (twice the noise)", "vermillion", "cross"
    ),
    ("asymmetric, adaptive, as run", "mean"): _ADP,
}
_CORRECTED: Final = {
    ("free gap", "combined"): lab.Look("free gap, at its best (monotone)", "vermillion", "square"),
    ("free gap, general", "combined"): lab.Look(
        "free gap, general noise", "black", "cross", dashed=True
    ),
    ("free gap, one-sided policy", "combined"): lab.Look(
        "free gap priced for the one-sided policy", "orange", "square", dashed=True
    ),
    ("free gap, adaptive", "mean"): lab.Look(
        "free gap, adaptive, half of ε to find", "orange", "cross", dashed=True
    ),
    ("free gap, adaptive, gaps", "mean"): lab.Look(
        "free gap, adaptive, all ε to find", "grey", "cross", dashed=True
    ),
    ("asymmetric", "none"): _RAW,
    ("asymmetric", "mean"): _ADP,
    ("asymmetric", "median"): lab.Look("ADP, less median", "green", "triangle", dashed=True),
}
_OURS: Final = {
    ("asymmetric", "mean"): _ADP,
    ("asymmetric", "shrunk"): lab.Look("ours: less what noise alone selects", "green", "diamond"),
    ("asymmetric, few groups", "mean"): lab.Look(
        "ours: ADP with ε/min(k, ℓ0)", "purple", "diamond"
    ),
    ("asymmetric, adaptive", "mean"): lab.Look(
        "ours: adaptive, whole numbers", "black", "cross", dashed=True
    ),
    ("free gap, few groups", "combined"): lab.Look(
        "free gap with ℓ0", "grey", "square", dashed=True
    ),
}
LOOKS: Final[Mapping[lab.Judged, Mapping[tuple[str, str], lab.Look]]] = {
    "as run": _AS_RUN,
    "corrected": _CORRECTED,
    "ours": _OURS,
}
# For precision one curve per method is enough: estimates share their selection.
_SELECTED: Final = ("mean", "combined")


class Setting(NamedTuple):
    """One point of a sweep."""

    varying: str
    epsilon: str
    k: int


def settings(items: int) -> Iterator[Setting]:
    """The points that make sense with so many items: k must leave some unselected."""
    if items > K + 1:
        yield from (Setting("epsilon", epsilon, K) for epsilon in EPSILONS)
    yield from (Setting("k", EPSILON, k) for k in SIZES if k < items)


def sweep_jobs(setup: lab.Setup, function: Callable[..., list[lab.Row]]) -> list[lab.Job]:
    """One job per data set and setting; each has a seed of its own."""
    jobs = []
    files = [one for one in find_clicks(setup.data) if not setup.quick or one.group == "paper"]
    for number, file in enumerate(files):
        points = list(settings(file.read().counts.size))
        for place, setting in enumerate(points[::4] if setup.quick else points):
            arguments: dict[str, Any] = {
                "file": file,
                "setting": setting,
                "quick": setup.quick,
                "seed": setup.seed * 1_000_003 + number * 1009 + place,
            }
            jobs.append(lab.Job(function, arguments))
    return jobs


def quick_notes(rows: Sequence[lab.Row], setup: lab.Setup) -> list[str]:
    """What the quick form left out."""
    if not setup.quick:
        return []
    times = [int(row["repetitions"]) for row in rows]
    return [
        f"Quick form: {len(lab.datasets(rows))} data sets, at most 3 of 10 settings, {min(times)} "
        f"to {max(times)} repetitions where the whole form has up to 10,000. Its errors and "
        "precisions are rough, not exact; the columns ..._spread say how rough."
    ]


def base_row(file: ClickFile, setting: Setting, repeats: int) -> lab.Row:
    """What all rows of one data set at one setting say."""
    data = file.read()
    return {
        "dataset": file.label,
        "group": file.group,
        "items": int(data.counts.size),
        "longest_record": data.longest,
        **setting._asdict(),
        "repetitions": repeats,
    }


def rows_of(base: lab.Row, method: str, errors: Errors) -> list[lab.Row]:
    """One row per kind of estimate."""
    shared = {**base, "method": method, **measured("precision", errors.precision)}
    if errors.recall is not None:
        shared |= measured("recall", errors.recall)
    return [
        {**shared, "estimate": name, **measured("mse", values)}
        for name, values in errors.squared.items()
    ]


_GROUPS: Final = (
    ("paper", "", ""),
    ("scaled", "-scaled", " (parts, counts scaled to the size of the whole)"),
    ("more", "-more", " (data sets the paper did not use)"),
)


def sweep_figures(
    rows: Sequence[lab.Row], *, name: str, title: str, measures: Sequence[str] = MEASURES
) -> dict[str, lab.Figure]:
    """One figure per group of data sets, by file name."""
    return {
        f"{name}{suffix}": _sweep_figure(mine, title=f"{title}{more}", measures=measures)
        for group, suffix, more in _GROUPS
        if (mine := lab.where(rows, group=group))
    }


def _sweep_figure(rows: Sequence[lab.Row], *, title: str, measures: Sequence[str]) -> lab.Figure:
    """A row of panels per data set, sweep and measure: as run, corrected, ours, on one scale."""
    panels = []
    for dataset in lab.datasets(rows):
        mine = lab.where(rows, dataset=dataset)
        for varying, label, fixed in (
            ("epsilon", "ε (nats)", f"k = {K}"),
            ("k", "k (items)", f"ε = {EPSILON}"),
        ):
            part = lab.where(mine, varying=varying)
            panels += [
                lab.Panel(
                    title=f"{reading}\n{dataset}, {fixed}",
                    x_label=label,
                    y_label=_AXES[value],
                    curves=_curves(part, reading, value),
                    log_y=value == "mse",
                    log_x=varying == "k",
                    y_range=_range(part, value),
                )
                for value in measures
                for reading in READINGS
            ]
    return lab.Figure(title, panels, columns=len(READINGS))


def _range(rows: Sequence[lab.Row], value: str) -> tuple[float, float]:
    if value != "mse":
        return 0.0, 1.02
    drawn = {key for looks in LOOKS.values() for key in looks}
    errors = [row["mse"] for row in rows if (row["method"], row["estimate"]) in drawn]
    known = [error for error in errors if error > 0]
    return (0.7 * min(known), 1.4 * max(known)) if known else (0.1, 1.0)


def _curves(rows: Sequence[lab.Row], reading: lab.Judged, value: str) -> list[lab.Curve]:
    curves = []
    for (method, estimate), look in LOOKS[reading].items():
        if value != "mse" and estimate not in _SELECTED:
            continue
        mine = lab.where(rows, method=method, estimate=estimate)
        if mine:
            curves.append(lab.Curve.of(look, mine, mine[0]["varying"], value, spread=True))
    return curves


def at(rows: Sequence[lab.Row], **wanted: object) -> Mapping[str, Any] | None:
    """The first row with these values, or None."""
    return next(iter(lab.where(rows, **wanted)), None)


def each(values: Mapping[str, object], form: str) -> str:
    """One formatted value per data set, in a sentence."""
    return "; ".join(f"{name} {form.format(value)}" for name, value in values.items())
