"""The two sweeps of Figures 2 and 3, and how their results are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from onesided_experiments._clicks import ClickFile, find_clicks
from onesided_experiments._model import Curve, Figure, Job, Look, Panel, Row, Setup
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
EPSILON: Final = "0.5"

LOOKS: Final = {
    ("asymmetric", "none"): Look(name="ADP, raw value", colour="sky", dashed=True),
    ("asymmetric", "mean"): Look(name="ADP, less mean", colour="blue"),
    ("asymmetric", "median"): Look(
        name="ADP, less median", colour="green", marker="triangle", dashed=True
    ),
    ("asymmetric, few groups", "mean"): Look(
        name="ours: ADP with ε/min(k, ℓ0)", colour="purple", marker="diamond"
    ),
    ("free gap", "combined"): Look(
        name="free gap, at its best (monotone)", colour="vermillion", marker="square"
    ),
    ("free gap, few groups", "combined"): Look(
        name="free gap with ℓ0", colour="grey", marker="square", dashed=True
    ),
    ("free gap, one-sided policy", "combined"): Look(
        name="free gap priced for the one-sided policy",
        colour="orange",
        marker="square",
        dashed=True,
    ),
    ("asymmetric, adaptive", "mean"): Look(
        name="ADP, adaptive (as the authors ran)", colour="blue", marker="cross", dashed=True
    ),
    ("free gap, adaptive", "mean"): Look(
        name="free gap, adaptive (as they ran)", colour="vermillion", marker="cross", dashed=True
    ),
    ("free gap, adaptive, gaps", "mean"): Look(
        name="free gap, adaptive, all ε to find", colour="grey", marker="cross", dashed=True
    ),
    ("free gap, general", "combined"): Look(
        name="free gap, general noise", colour="black", marker="cross", dashed=True
    ),
}
# For precision one curve per method is enough: estimates share their selection.
_PRECISION: Final = ("mean", "combined")


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


def sweep_jobs(setup: Setup, function: Callable[..., list[Row]]) -> list[Job]:
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
            jobs.append(Job(function, arguments))
    return jobs


def base_row(file: ClickFile, setting: Setting, repeats: int) -> Row:
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


def rows_of(base: Row, method: str, errors: Errors) -> list[Row]:
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
    rows: Sequence[Row], *, name: str, title: str, measures: Sequence[str] = MEASURES
) -> dict[str, Figure]:
    """One figure per group of data sets, by file name."""
    return {
        f"{name}{suffix}": _sweep_figure(mine, title=f"{title}{more}", measures=measures)
        for group, suffix, more in _GROUPS
        if (mine := [row for row in rows if row["group"] == group])
    }


def _sweep_figure(rows: Sequence[Row], *, title: str, measures: Sequence[str]) -> Figure:
    """Panels per data set: error, precision and so on, by ε and by k."""
    panels = []
    for dataset in datasets(rows):
        mine = [row for row in rows if row["dataset"] == dataset]
        for varying, label, fixed in (
            ("epsilon", "ε (nats)", f"k = {K}"),
            ("k", "k (items)", f"ε = {EPSILON}"),
        ):
            part = [row for row in mine if row["varying"] == varying]
            panels += [
                Panel(
                    title=f"{dataset}, {fixed}",
                    x_label=label,
                    y_label=_AXES[value],
                    curves=_curves(part, varying, value),
                    log_y=value == "mse",
                    log_x=varying == "k",
                    y_range=None if value == "mse" else (0, 1.02),
                )
                for value in measures
            ]
    return Figure(title=title, panels=panels, columns=2 * len(measures))


def _curves(rows: Sequence[Row], varying: str, value: str) -> list[Curve]:
    curves = []
    for (method, estimate), look in LOOKS.items():
        if value != "mse" and estimate not in _PRECISION:
            continue
        mine = [row for row in rows if row["method"] == method and row["estimate"] == estimate]
        if mine:
            curves.append(
                Curve(
                    look=look,
                    x=[float(row[varying]) for row in mine],
                    y=[row[value] for row in mine],
                    spread=[row[f"{value}_spread"] for row in mine],
                )
            )
    return curves


def at(rows: Sequence[Row], **wanted: object) -> Mapping[str, Any] | None:
    """The first row with these values, or None."""
    for row in rows:
        if all(row[name] == value for name, value in wanted.items()):
            return row
    return None


def datasets(rows: Sequence[Row]) -> list[str]:
    """The data sets, in order."""
    return list(dict.fromkeys(row["dataset"] for row in rows))


def each(values: Mapping[str, object], form: str) -> str:
    """One formatted value per data set, in a sentence."""
    return "; ".join(f"{name} {form.format(value)}" for name, value in values.items())
