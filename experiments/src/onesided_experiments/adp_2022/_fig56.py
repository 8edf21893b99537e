"""Figures 5 and 6: how many places a day's sparse vector can rightly call safe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from onesided.noise import IntArray, NotPrivateSeededNoise
from onesided_experiments import _model as lab
from onesided_experiments._repeat import Floats, measured
from onesided_experiments._visits import Places, Source, by_day, find_visits
from onesided_experiments.adp_2022._answers import methods, right_answers
from onesided_experiments.adp_2022._as_run import READINGS, day_counts
from onesided_experiments.adp_2022._as_run import right_answers as drawn_until_above

THRESHOLD: Final = 5
DAYS: Final = 10
_SWEEPS: Final = {"epsilon": ("0.1", "0.3", "0.5", "1", "2", "4"), "threshold": (1, 2, 3, 5, 7, 10)}
_LABELS: Final = {"epsilon": "ε (nats)", "threshold": "threshold t (people)"}
AS_RUN: Final = {
    READINGS["one place"]: lab.Look(READINGS["one place"], "black", "triangle"),
    READINGS["all places"]: lab.Look(READINGS["all places"], "grey", "cross"),
}
LOOKS: Final = {
    "SALap": lab.Look("SALap (stops at the first)", "vermillion", "square"),
    "stops after 3": lab.Look("stops after 3, ε/3", "orange", "diamond"),
    "never stops": lab.Look("ours: never stops, ε/ℓ0", "blue"),
}


def fall_of(places: Places) -> int:
    """ℓ0, taken as asserted: the most places anyone was at on any day of the file."""
    return places.fall()


def distribution(*, source: Source, path: Path, repeats: int, seed: int) -> list[lab.Row]:
    """Figure 5: the chance of at least n right answers, on the busiest day."""
    places, noise = by_day(source, path), NotPrivateSeededNoise(seed)
    counts, fall = places.counts(int(places.busiest(1)[0])), fall_of(places)
    rows: list[lab.Row] = []
    for method in methods("1", fall):
        found = right_answers(counts, THRESHOLD, method, repeats, noise)
        rows.extend(
            {
                **_base(source, "answers", fall, "1", THRESHOLD),
                "method": method.name,
                "at_least": number,
                "chance": float((found.right >= number).mean()),
                "truly_safe": float((counts <= THRESHOLD).sum()),
                "wrong": found.wrong,
                "repetitions": repeats,
                **measured("right", found.right),
            }
            for number in sorted({10, *_steps(int(found.right.max()))})
        )
    return rows


def as_run(*, source: Source, path: Path, repeats: int, seed: int) -> list[lab.Row]:
    """Figure 5 as the authors ran it, in both readings of what they limited."""
    places, random = by_day(source, path), np.random.default_rng(seed)
    day = int(places.busiest(1)[0])
    rows: list[lab.Row] = []
    for reading, name in READINGS.items():
        counts = day_counts(places, day, reading, random)
        found = drawn_until_above(
            counts, epsilon=1, threshold=THRESHOLD, repeats=repeats, random=random
        )
        rows.extend(
            {
                **_base(source, "answers", 0, "1", THRESHOLD),
                "method": name,
                "at_least": number,
                "chance": float((found >= number).mean()),
                "truly_safe": float((counts <= THRESHOLD).sum()),
                "wrong": 0,
                "repetitions": repeats,
                **measured("right", found),
            }
            for number in sorted({10, *_steps(int(found.max()))})
        )
    return rows


def _base(source: Source, varying: str, fall: int, epsilon: str, threshold: int) -> lab.Row:
    return {
        "dataset": source.name,
        "varying": varying,
        "epsilon": epsilon,
        "threshold": threshold,
        "max_groups": fall,
    }


def _steps(most: int) -> list[int]:
    return sorted({max(1, round(most**share)) for share in np.linspace(0, 1, 40)}) if most else [1]


def sweep(
    *,
    source: Source,
    path: Path,
    varying: str,
    value: str | int,
    quick: bool,
    day_seed: int,
    seed: int,
) -> list[lab.Row]:
    """Figure 6: right answers and power at one setting, over days drawn at random."""
    places, noise = by_day(source, path), NotPrivateSeededNoise(seed)
    # The same days at every setting, so that a curve is not the difference of days.
    days: IntArray = places.busiest(2 if quick else DAYS, random=np.random.default_rng(day_seed))
    fall = fall_of(places)
    epsilon = str(value) if varying == "epsilon" else "1"
    threshold = int(value) if varying == "threshold" else THRESHOLD
    rows: list[lab.Row] = []
    for method in methods(epsilon, fall):
        parts = [
            right_answers(places.counts(int(day)), threshold, method, 20 if quick else 200, noise)
            for day in days
        ]
        right, asked = _units([part.right for part in parts], [part.asked_safe for part in parts])
        power = float(right.sum() / asked.sum()) if asked.any() else math.nan
        off = float(np.square(right - power * asked).sum())
        safe = np.mean([(places.counts(int(day)) <= threshold).sum() for day in days])
        rows.append(
            {
                **_base(source, varying, fall, epsilon, threshold),
                "method": method.name,
                "truly_safe": float(safe),
                "power": power,
                "power_spread": 1.96 * math.sqrt(off) / max(float(asked.sum()), 1.0),
                "wrong": sum(part.wrong for part in parts),
                "repetitions": sum(part.right.size for part in parts),
                **measured("right", right),
            }
        )
    return rows


def _units(right: list[IntArray], asked: list[IntArray]) -> tuple[Floats, Floats]:
    """What varies independently: means of days, or repetitions where there is one day only."""
    if len(right) == 1:
        return right[0].astype(np.float64), asked[0].astype(np.float64)
    return np.array([one.mean() for one in right]), np.array([one.mean() for one in asked])


def jobs(setup: lab.Setup) -> list[lab.Job]:
    """The distribution, and each setting of the sweeps, per data set."""
    made = []
    for number, (source, path) in enumerate(find_visits(setup.data)):
        shared = {"source": source, "path": path}
        seed = setup.seed * 65_537 + number * 100
        repeats = 100 if setup.quick else 10_000
        made += [lab.Job(one, {**shared, "repeats": repeats, "seed": seed})
                 for one in (distribution, as_run)]  # fmt: skip
        points = [(varying, value) for varying, values in _SWEEPS.items() for value in values]
        for place, (varying, value) in enumerate(points[::3] if setup.quick else points, start=1):
            arguments = {"varying": varying, "value": value, "quick": setup.quick}
            arguments["day_seed"] = seed
            made.append(lab.Job(sweep, {**shared, **arguments, "seed": seed + place}))
    return made


def result(rows: list[lab.Row], setup: lab.Setup) -> lab.Result:
    """The chance of so many answers; bars and lines by ε and t."""
    panels = []
    for dataset in lab.datasets(rows):
        curves = []
        for name, look in {**AS_RUN, **LOOKS}.items():
            mine = lab.where(rows, dataset=dataset, varying="answers", method=name)
            x, y = [r["at_least"] for r in mine], [r["chance"] for r in mine]
            spread = [
                1.96 * math.sqrt(p * (1 - p) / r["repetitions"])
                for p, r in zip(y, mine, strict=True)
            ]
            curves.append(
                lab.Curve(look=lab.Look(look.name, look.colour, "none"), x=x, y=y, spread=spread)
            )
        panels.append(
            lab.Panel(
                title=f"{dataset}, busiest day",
                x_label="right answers, at least",
                y_label="probability",
                curves=curves,
                log_x=True,
                y_range=(0, 1.03),
            )
        )
    title = "ADP-2022 Figure 5: right answers at total ε = 1, t = 5"
    figures = {"fig5": lab.Figure(title, panels, columns=3), "fig6": _sweeps(rows)}
    found = [(source, by_day(source, path)) for source, path in find_visits(setup.data)]
    notes = [
        "All methods at the same total ε under the presence policy (the paper's disjunction does "
        "not make several counts monotone: erratum 2). ℓ0 is the most places anyone was at on any "
        "day, taken as asserted by the curator. Places are asked in random orders.",
        "As run: the authors draw places with replacement until one comes out above t, and "
        "count the different ones, that last one too. Their "
        "scripts limit the data first (limit_sens=True) by a module that is at no commit of their "
        "repository, so both readings are shown: one random place per person, and all places.",
        "Bands are 95 % by normal approximation; in Figure 6 over days, where there are several.",
        *(f"{source.name}: ℓ0 = {fall_of(places)}, {places.latitude.size:,} places, "
          f"{places.times} days; {source.said}." for source, places in found),
    ]  # fmt: skip
    return lab.Result(rows, figures, lambda: _claims(rows), notes)


def _sweeps(rows: Sequence[lab.Row]) -> lab.Figure:
    panels = []
    for dataset in lab.datasets(rows):
        for varying, label in _LABELS.items():
            mine = lab.where(rows, dataset=dataset, varying=varying)
            names = [str(r[varying]) for r in mine if r["method"] == "SALap"]
            for value, y_label in (
                ("right", "right answers (places)"),
                ("power", "E[β | ≤] among places asked"),
            ):
                panels.append(
                    lab.Panel(
                        title=str(dataset),
                        x_label=label,
                        y_label=y_label,
                        curves=[_curve(mine, name, varying, value) for name in LOOKS],
                        log_y=value == "right",
                        y_range=(0, 1.03) if value == "power" else None,
                        x_names=names if value == "right" else None,
                    )
                )
    title = "ADP-2022 Figure 6: right answers and power by ε and t (ε = 1, t = 5 unless varied)"
    return lab.Figure(title, panels, columns=4)


def _curve(rows: Sequence[lab.Row], name: str, varying: str, value: str) -> lab.Curve:
    mine = [row for row in rows if row["method"] == name]
    x = range(len(mine)) if value == "right" else [float(row[varying]) for row in mine]
    y, spread = [row[value] for row in mine], [row[f"{value}_spread"] for row in mine]
    return lab.Curve(look=LOOKS[name], x=x, y=y, spread=spread)


def _claims(rows: Sequence[lab.Row]) -> list[lab.Claim]:
    names = lab.datasets(rows)
    chance = lab.where(rows, varying="answers")
    mean = {n: {r["method"]: r["right"] for r in lab.where(chance, dataset=n)} for n in names}
    wrong = sum(r["wrong"] for r in rows)
    # Where never stopping loses: few places are near t, so that SALap seldom stops.
    points: dict[tuple[str, str, object], dict[str, float]] = {}
    for row in rows:
        if row["varying"] != "answers":
            key = (row["dataset"], row["varying"], row[row["varying"]])
            points.setdefault(key, {})[row["method"]] = row["right"]
    won = [found["never stops"] > found["SALap"] for found in points.values()]
    lost = [key for key, better in zip(points, won, strict=True) if not better]
    where = "; ".join(f"{name} at {varying} {value}" for name, varying, value in lost)
    return [
        *(_ten(chance, name, "as run") for name in AS_RUN),
        _ten(chance, "SALap", "corrected"),
        lab.Claim(
            judges="corrected",
            text="SALap answers more than the one place that ALap can answer.",
            measured="; ".join(f"{n} {mean[n]['SALap']:.1f} on average" for n in names),
            verdict=lab.judge([mean[n]["SALap"] > 1 for n in names]),
        ),
        _small_budget(rows),
        lab.Claim(
            judges="ours",
            text="At ε = 1, t = 5 never stopping at ε/ℓ0 gives more right answers.",
            measured="; ".join(
                f"{n} {mean[n]['never stops']:,.0f} against {mean[n]['SALap']:,.1f}" for n in names
            )
            + f"; {wrong} wrong",
            verdict=lab.judge([mean[n]["never stops"] > mean[n]["SALap"] for n in names]),
        ),
        lab.Claim(
            judges="ours",
            text="... and so at every ε and t of the sweep.",
            measured=f"{sum(won)} of {len(won)} settings; not for {where or 'none'}",
            verdict=lab.judge(won),
        ),
    ]


def _ten(chance: Sequence[lab.Row], method: str, judges: lab.Judged) -> lab.Claim:
    ten = {r["dataset"]: r["chance"] for r in lab.where(chance, method=method, at_least=10)}
    whole = {"SALap": "SALap on whole numbers, each place once"}.get(method, method)
    held = lab.judge([0.3 <= value <= 0.7 for value in ten.values()])
    unknown = judges == "as run"
    said = "; what limit_sens did to their data first is not known" if unknown else ""
    return lab.Claim(
        judges=judges,
        text=f"SALap gets 10 right answers with probability about 0.5 (0.3 to 0.7): {whole}{said}.",
        measured="; ".join(f"{n} {value:.2f}" for n, value in ten.items())
        + (f" (taken at its word: {held})" if unknown else ""),
        verdict="not comparable" if unknown else held,
    )


def _small_budget(rows: Sequence[lab.Row]) -> lab.Claim:
    def right(dataset: str, varying: str, value: object) -> float:
        wanted = {"dataset": dataset, "varying": varying, varying: value, "method": "SALap"}
        return float(lab.where(rows, **wanted)[0]["right"])

    found = {
        n: (right(n, "epsilon", "0.3"), right(n, "threshold", 2), right(n, "threshold", 5))
        for n in lab.datasets(rows)
    }
    return lab.Claim(
        judges="corrected",
        text="SALap's answers fall sharply (by half or more) for ε < 1 and for t < 3.",
        measured="; ".join(
            f"{n} {e:.1f} at ε = 0.3, {t:.1f} at t = 2, {full:.1f} at ε = 1, t = 5"
            for n, (e, t, full) in found.items()
        ),
        verdict=lab.judge([e <= full / 2 and t <= full / 2 for e, t, full in found.values()]),
    )


EXPERIMENT = lab.Experiment(
    "fig5-6",
    "Figures 5 and 6: right answers over the places of a day",
    "checkins/*.parquet",
    jobs,
    result,
)
