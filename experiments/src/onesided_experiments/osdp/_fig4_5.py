"""Figures 4 and 5: people by zone and hour, where the zone says whether a record is sensitive."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np

from onesided.noise import NotPrivateSeededNoise
from onesided_experiments._model import (
    Curve,
    Experiment,
    Figure,
    Job,
    Look,
    Panel,
    Result,
    Row,
    Setup,
)
from onesided_experiments._repeat import measured
from onesided_experiments.osdp import _fig4_5_claims as _claims
from onesided_experiments.osdp import _looks
from onesided_experiments.osdp._place_hour import ALGORITHMS, by_day, by_visit, errors_of, visits_of
from onesided_experiments.osdp._policies import QUICK_SHARES, SHARES
from onesided_experiments.osdp._trajectories import (
    GEOLIFE,
    NEW_YORK,
    PEOPLEFLOW,
    Source,
    find_traces,
    read,
)

# The left panel of each pair, and the right one.
_THEIRS: Final = (
    "zeros", "Laplace", "DAWA", "OsdpRR", "OsdpLaplace", "OsdpLaplaceL1", "hybrid",
    "DAWAz, as printed", "DAWAz, not rescaled", "DAWAz",
)  # fmt: skip
_OURS: Final = (
    "zeros", "Laplace", "hybrid", "ours: DAWA that looks first", "ours: DAWAz, zeros left out",
    "ours: split", "ours: open shape",
)  # fmt: skip
SOURCES: Final = (PEOPLEFLOW, NEW_YORK, GEOLIFE)
_MEASURES: Final = {"mean": "MRE", "median": "Rel50", "high": "Rel95"}
LOOKS: Final = {
    "zeros": Look(name="0 everywhere", colour="black", marker="none", dashed=True),
    "Laplace": Look(name="Laplace", colour="grey", marker="none"),
    "DAWA": Look(name="DAWA", colour="black", marker="square"),
    "OsdpRR": Look(name="OsdpRR", colour="sky", marker="triangle", dashed=True),
    "OsdpLaplace": Look(name="OsdpLaplace", colour="yellow", marker="none"),
    "OsdpLaplaceL1": Look(name="OsdpLaplaceL1", colour="orange", marker="diamond"),
    "hybrid": Look(name="hybrid (two-sided where zones are sensitive)", colour="purple"),
    "DAWAz": Look(name="DAWAz, totals stay", colour="vermillion", marker="square"),
    "DAWAz, as printed": Look(
        name="DAWAz, line 9 as printed", colour="vermillion", marker="cross", dashed=True
    ),
    "DAWAz, not rescaled": Look(
        name="DAWAz, not rescaled", colour="vermillion", marker="triangle", dashed=True
    ),
    "ours: DAWA that looks first": Look(
        name="ours: DAWA that looks first", colour="grey", marker="diamond"
    ),
    "ours: DAWAz, zeros left out": Look(
        name="ours: DAWAz, zeros left out", colour="vermillion", marker="diamond"
    ),
    "ours: split": Look(name="ours: split histogram", colour="blue"),
    "ours: open shape": Look(name="ours: open shape", colour="green", marker="triangle"),
}


def measure(
    *, source: Source, path: Path, reading: str, policy: int, repeats: int, seed: int
) -> list[Row]:
    """Every algorithm at every ε, under one policy."""
    trace = read(source, path)
    visits = visits_of(trace)
    if reading == "visit":
        parts, chosen = by_visit(visits, policy, seed)
    else:
        parts, chosen = by_day(visits, trace, policy, seed)
    base: Row = {
        "dataset": source.name,
        "reading": reading,
        "policy": policy,
        "open_share": chosen.share,
        "sensitive_zones": int(chosen.zones.size),
        "cells": int(parts.everybody.size),
        "records": int(parts.everybody.sum()),
        "empty": float((parts.everybody == 0).mean()),
    }
    rows = []
    for epsilon in _looks.EPSILONS:
        for name, algorithm in ALGORITHMS.items():
            # Its own noise, so that a change in one algorithm does not change the others' numbers.
            noise = NotPrivateSeededNoise(seed * 524_287 + 100 * crc32(name.encode()) + policy)
            found = [
                errors_of(parts.everybody, algorithm(parts, epsilon, noise)) for _ in range(repeats)
            ]
            errors = dict(zip(_MEASURES, zip(*found, strict=True), strict=True))
            row: Row = {**base, "epsilon": epsilon, "method": name}
            for measure_name, values in errors.items():
                row |= measured(measure_name, np.asarray(values))
            rows.append(row)
    return rows


def jobs(setup: Setup) -> list[Job]:
    """One per data set, reading of the policy, and policy."""
    repeats, shares = (2, QUICK_SHARES) if setup.quick else (10, SHARES)
    made = []
    for source, path in find_traces(setup.data, SOURCES[:1] if setup.quick else SOURCES):
        for reading in ("visit", "day") if source is PEOPLEFLOW else ("visit",):
            shared = {"source": source, "path": path, "reading": reading, "repeats": repeats}
            made += [
                Job(measure, {**shared, "policy": policy, "seed": setup.seed}) for policy in shares
            ]
    return made


def result(rows: list[Row], setup: Setup) -> Result:
    """Figure 4: mean relative error at two ε. Figure 5: percentiles at ε = 1."""
    four = [("mean", epsilon) for epsilon in _looks.EPSILONS]
    five = [(name, "1") for name in ("median", "high")]
    figures = {
        "fig4": _figure(rows, "OSDP Figure 4: mean relative error by zone and hour", four),
        "fig5": _figure(rows, "OSDP Figure 5: relative error per cell, ε = 1", five),
    }
    said = {source.name: source.said for source in SOURCES}
    notes = [
        "The paper's Wi-Fi trace is not public. Cells are 64 zones by the hours of a day; a record "
        "is one person's presence in a zone in an hour, so it is in one cell, and ε is per record.",
        *(f"{name}: {said[name]}." for name in _looks.sources(rows)),
        "'By visit': a record is sensitive if its own zone is. 'By day': if that day passes a "
        "sensitive zone anywhere (one day of data only). The paper's text supports either.",
        "A whole day is many records: with one zone in each of 18 hours, ε = 1 a record is 18 a "
        "day. Laplace and DAWA are clipped at 0. Averages of 10 runs; relative errors over all "
        "cells, empty ones too. The axis is logarithmic down to the least error, then goes to 0.",
        "DAWAz in three readings of its line 9: as printed (erratum 9), left out, and so that "
        "totals stay. DAWA always makes a partition, as in its paper; ours looks first.",
    ]
    claims = [] if setup.quick else _claims.claims(rows)
    return Result(rows=rows, figures=figures, claims=claims, notes=notes)


def _cases(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["dataset"], row["reading"]) for row in rows))


def _figure(rows: Sequence[Row], title: str, shown: Sequence[tuple[str, str]]) -> Figure:
    """The paper's algorithms, and ours beside them, on one scale."""
    panels = []
    for name, reading in _cases(rows):
        mine = [row for row in rows if (row["dataset"], row["reading"]) == (name, reading)]
        tried = _looks.policies(mine)
        for value, epsilon in shown:
            part = [row for row in mine if row["epsilon"] == epsilon]
            pair = [[_curve(part, m, value, tried) for m in many] for many in (_THEIRS, _OURS)]
            top = 1.25 * max(y for curves in pair for curve in curves for y in curve.y)
            panels += [
                Panel(
                    title=f"{whose}\n{name}, by {reading}, ε = {epsilon}",
                    x_label=_looks.X_LABEL,
                    y_label=f"relative error, {_MEASURES[value]}",
                    curves=curves,
                    log_y=True,
                    zero_y=_least(pair),
                    y_range=(0, top),
                    x_names=_looks.names(tried),
                )
                for whose, curves in zip(("the paper's", "ours"), pair, strict=True)
            ]
    return Figure(title=title, panels=panels, columns=4)


def _least(pair: Sequence[Sequence[Curve]]) -> float:
    """Below the least error that is not 0, the axis is linear: zeros have their place."""
    return min(y for curves in pair for curve in curves for y in curve.y if y > 0)


def _curve(rows: Sequence[Row], method: str, value: str, tried: Sequence[int]) -> Curve:
    by_policy = {row["policy"]: row for row in rows if row["method"] == method}
    return Curve(look=LOOKS[method], x=range(len(tried)), y=[by_policy[p][value] for p in tried])


EXPERIMENT = Experiment(
    name="fig4-5",
    title="Figures 4 and 5: people by zone and hour",
    needs="checkins/peopleflow_tokyo_traces.parquet, checkins/foursquare_nyc_filtered.parquet, "
    "gps/geolife_1min.parquet",
    jobs=jobs,
    result=result,
)
