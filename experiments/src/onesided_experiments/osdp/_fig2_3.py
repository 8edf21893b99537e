"""Figures 2 and 3: how many people have each 4-gram and 5-gram of zones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from onesided.noise import NotPrivateSeededNoise
from onesided_experiments import _model as lab
from onesided_experiments._repeat import measured
from onesided_experiments.osdp import _looks
from onesided_experiments.osdp._grams import (
    LIMITS,
    Errors,
    Grams,
    grams_of,
    laplace,
    of_days,
    unknown_keys,
    without_noise,
)
from onesided_experiments.osdp._looks import QUICK_SHARES, SHARES, choose_zones, sampled
from onesided_experiments.osdp._trajectories import (
    GEOLIFE,
    PEOPLEFLOW,
    TOKYO,
    Source,
    find_traces,
    read,
)

SOURCES: Final = (PEOPLEFLOW, TOKYO, GEOLIFE)
LENGTHS: Final = (4, 5)


def measure(
    *, source: Source, path: Path, length: int, policy: int, repeats: int, seed: int
) -> list[lab.Row]:
    """Under one policy: all open days, samples of them, and noise below their counts."""
    trace, noise = read(source, path), NotPrivateSeededNoise(seed * 8_191 + 100 * length + policy)
    grams, chosen = grams_of(trace, length), choose_zones(trace.zones_by_day(), policy, seed)
    base = _base(source, grams) | {"policy": policy, "open_share": chosen.share}

    def below(epsilon: str) -> Errors:
        one = of_days(grams, chosen.open_records, 1, noise)
        return unknown_keys(grams, one, epsilon, 1, noise)

    def sample(epsilon: str) -> Errors:
        return without_noise(
            grams, of_days(grams, sampled(chosen.open_records, epsilon, noise), None, noise)
        )

    plain = without_noise(grams, of_days(grams, chosen.open_records, None, noise))
    rows = [{**base, "method": "All NS", "epsilon": "", "limit": 0, **_measured([plain] * 2)}]
    for epsilon in _looks.EPSILONS:
        shared: lab.Row = {**base, "epsilon": epsilon}
        rows.append({**shared, "method": "OsdpRR", "limit": 0, **_repeat(sample, epsilon, repeats)})
        rows.append({**shared, "method": "ours: unknown keys", "limit": 1}
                    | _repeat(below, epsilon, repeats))  # fmt: skip
    return rows


def all_sensitive(
    *, source: Source, path: Path, length: int, limit: int, repeats: int, seed: int
) -> list[lab.Row]:
    """The Laplace mechanism on every day, cut down to ``limit`` n-grams at random."""
    trace, noise = read(source, path), NotPrivateSeededNoise(seed * 8_209 + 100 * length + limit)
    grams = grams_of(trace, length)
    everybody = np.ones(grams.days, dtype=np.bool_)

    def one(epsilon: str) -> Errors:
        return laplace(grams, of_days(grams, everybody, limit, noise), epsilon, limit, noise)

    base = _base(source, grams) | {"policy": 0, "open_share": 0.0, "method": f"LM T{limit}"}
    return [
        {**base, "epsilon": epsilon, "limit": limit, **_repeat(one, epsilon, repeats)}
        for epsilon in _looks.EPSILONS
    ]


def _base(source: Source, grams: Grams) -> lab.Row:
    return {
        "dataset": source.name,
        "n": grams.length,
        "occurring": int(grams.truth.size),
        "domain": grams.domain,
    }


def _repeat(one: Callable[[str], Errors], epsilon: str, repeats: int) -> lab.Row:
    return _measured([one(epsilon) for _ in range(repeats)])


def _measured(errors: Sequence[Errors]) -> lab.Row:
    return {
        **measured("everywhere", [one.everywhere for one in errors]),
        **measured("present", [one.present for one in errors]),
    }


def jobs(setup: lab.Setup) -> list[lab.Job]:
    """One per data set, n and policy; and one per limit for the Laplace mechanism."""
    repeats, shares = (2, QUICK_SHARES) if setup.quick else (10, SHARES)
    made = []
    for source, path in find_traces(setup.data, SOURCES[:1] if setup.quick else SOURCES):
        for length in LENGTHS:
            shared = {"source": source, "path": path, "length": length, "repeats": repeats}
            shared["seed"] = setup.seed
            made += [lab.Job(measure, {**shared, "policy": policy}) for policy in shares]
            limits = LIMITS[:2] if setup.quick else LIMITS
            made += [lab.Job(all_sensitive, {**shared, "limit": limit}) for limit in limits]
    return made


def result(rows: list[lab.Row], _setup: lab.Setup) -> lab.Result:
    """One figure per n: data sets by ε, over the n-grams that occur and over all."""
    # LM T*: for each error measure the best limit, found by looking at the errors.
    found = []
    for key in dict.fromkeys((row["dataset"], row["n"], row["epsilon"]) for row in rows):
        mine = lab.where(rows, policy=0, **dict(zip(("dataset", "n", "epsilon"), key, strict=True)))
        if not mine:
            continue
        best = {name: min(mine, key=lambda row: row[name]) for name in ("everywhere", "present")}
        found.append(
            {**mine[0], "method": "LM T*", "limit": best["present"]["limit"],
             "limit_everywhere": best["everywhere"]["limit"]}
            | {name + end: row[name + end] for name, row in best.items() for end in ("", "_spread")}
        )  # fmt: skip
    rows = [*rows, *found]
    figures = {f"fig{length - 2}": _figure(rows, length) for length in LENGTHS}
    said = {source.name: source.said for source in SOURCES}
    notes = [
        "The paper's Wi-Fi trace is not public; 64 zones stand for its 64 access points.",
        *(f"{name}: {said[name]}." for name in lab.datasets(rows)),
        "'Occurring': the mean over n-grams that somebody has. 'Everywhere': over all 64^n, as the "
        "error is printed in the paper; the absent ones are added as the mean size of the noise.",
        "A record is a day; LM's noise is Laplace's of scale 2k/ε. Unknown keys: whole numbers, "
        "one n-gram per open day, noise below only at rate ε, median taken out, clipped at 0.",
    ]
    return lab.Result(rows, figures, lambda: _claims(rows), notes)


def _figure(rows: Sequence[lab.Row], length: int) -> lab.Figure:
    panels = [
        _panel([r for r in rows if r["n"] == length and r["dataset"] == name], name, epsilon, over)
        for name in lab.datasets(rows)
        for over in ("present", "everywhere")
        for epsilon in _looks.EPSILONS
    ]
    title = f"OSDP Figure {length - 2}: mean relative error of people by {length}-gram"
    return lab.Figure(title, panels, columns=4)


def _panel(rows: Sequence[lab.Row], name: str, epsilon: str, over: str) -> lab.Panel:
    tried = _looks.policies(rows)
    at = [row for row in rows if row["epsilon"] == epsilon]
    flat = [row for row in at if row["policy"] == 0]
    said = "occurring" if over == "present" else "everywhere"
    return lab.Panel(
        title=f"{name}, ε = {epsilon}, {said}",
        x_label=_looks.X_LABEL,
        y_label=f"mean relative error, {said}",
        curves=[
            _looks.dots(rows, "All NS", over, tried),
            _looks.dots(at, "OsdpRR", over, tried),
            _looks.dots(at, "ours: unknown keys", over, tried),
            _looks.level(flat, "LM T1", over, tried),
            _looks.level(flat, "LM T*", over, tried),
        ],
        log_y=True,
        x_names=_looks.names(tried),
    )


Case = tuple[str, int]


def _claims(rows: Sequence[lab.Row]) -> list[lab.Claim]:
    def values(method: str, epsilon: str, policy: int, over: str) -> dict[Case, float]:
        mine = lab.where(rows, method=method, epsilon=epsilon, policy=policy)
        return {(row["dataset"], row["n"]): float(row[over]) for row in mine}

    def pairs(epsilon: str, over: str) -> dict[Case, tuple[float, float]]:
        laplace_errors = values("LM T1", epsilon, 0, over)
        sample = values("OsdpRR", epsilon, 50, over)
        return {case: (error, sample[case]) for case, error in laplace_errors.items()}

    all_open = [values("All NS", "", share, "present") for share in (90, 50)]
    sample = [values("OsdpRR", "1", share, "present") for share in (90, 50)]
    near = {
        case: (sample[0][case] / all_open[0][case], sample[1][case] / all_open[1][case])
        for case in all_open[0]
    }
    first = lab.Claim(
        judges="as run",
        text="All NS errs less than OsdpRR at ε = 1, but not by much (a factor under 2), with "
        "10 to 50 % of the records sensitive.",
        measured="OsdpRR / All NS at P90 and P50, occurring: " + _said(near, "and"),
        verdict=lab.judge([1 <= ratio < 2 for pair in near.values() for ratio in pair]),
    )
    against = [
        _against_laplace(pairs("1", over), pairs("0.01", over), word)
        for over, word in (("present", "occurring"), ("everywhere", "everywhere"))
    ]
    return [first, *against[0], *against[1], _best_limit(rows), _ours(rows)]


def _said(numbers: Mapping[Case, tuple[float, float]], between: str) -> str:
    return "; ".join(
        f"{name} {n}-grams {one:.3g} {between} {two:.3g}"
        for (name, n), (one, two) in numbers.items()
    )


def _against_laplace(
    half: Mapping[Case, tuple[float, float]], small: Mapping[Case, tuple[float, float]], word: str
) -> list[lab.Claim]:
    """From pairs of LM T1 and OsdpRR at P50, for ε = 1 and for ε = 0.01."""
    return [
        lab.Claim(
            judges="as run",
            text="At ε = 1 LM's error is comparable (a factor of at most 2) to OsdpRR's at P50 "
            f"({word}).",
            measured=_said(half, "against"),
            verdict=lab.judge([1 / 2 <= lm / rr <= 2 for lm, rr in half.values()]),
        ),
        lab.Claim(
            judges="as run",
            text=f"At ε = 0.01 LM's error is ten times OsdpRR's or more (P50, {word}).",
            measured=_said(small, "against"),
            verdict=lab.judge([lm >= 10 * rr for lm, rr in small.values()]),
        ),
    ]


def _best_limit(rows: Sequence[lab.Row]) -> lab.Claim:
    best = [row for row in rows if row["method"] == "LM T*"]
    return lab.Claim(
        judges="as run",
        text="The best truncation is k = 1 for 4- and 5-grams.",
        measured="; ".join(
            f"{row['dataset']} {row['n']}-grams at ε = {row['epsilon']}: k = {row['limit']} "
            f"(occurring), {row['limit_everywhere']} (everywhere)"
            for row in best
        ),
        verdict=lab.judge([row["limit"] == row["limit_everywhere"] == 1 for row in best]),
    )


def _ours(rows: Sequence[lab.Row]) -> lab.Claim:
    """Noise below at T1 against sampling, over the n-grams that occur."""
    names = ("dataset", "n", "epsilon", "policy")
    by_method: dict[str, dict[tuple[object, ...], float]] = {}
    for row in rows:
        found = by_method.setdefault(row["method"], {})
        found[tuple(row[name] for name in names)] = row["present"]
    won = {key: by_method["ours: unknown keys"][key] < error
           for key, error in by_method["OsdpRR"].items()}  # fmt: skip
    return lab.Claim(
        judges="ours",
        text="One n-gram per open day with noise below beats the sample (occurring).",
        measured=f"{sum(won.values())} of {len(won)} settings",
        verdict=lab.judge(list(won.values())),
    )


EXPERIMENT = lab.Experiment(
    "fig2-3",
    "Figures 2 and 3: 4-grams and 5-grams",
    "checkins/peopleflow_tokyo_traces.parquet, checkins/foursquare_tky_sequences.parquet, "
    "gps/geolife_1min.parquet",
    jobs,
    result,
)
