"""Figures 4 and 5: people by zone and hour, where the zone says whether a record is sensitive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np

from onesided.noise import NotPrivateSeededNoise
from onesided_experiments import _model as lab
from onesided_experiments._repeat import measured
from onesided_experiments.osdp import _looks
from onesided_experiments.osdp._looks import QUICK_SHARES, SHARES
from onesided_experiments.osdp._place_hour import ALGORITHMS, by_day, by_visit, errors_of, visits_of
from onesided_experiments.osdp._rescaling import JUDGES, NAMES, RESCALINGS, Rescaling
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
    "zeros": lab.Look("0 everywhere", "black", "none", dashed=True),
    "Laplace": lab.Look("Laplace", "grey", "none"),
    "DAWA": lab.Look("DAWA", "black", "square"),
    "OsdpRR": lab.Look("OsdpRR", "sky", "triangle", dashed=True),
    "OsdpLaplace": lab.Look("OsdpLaplace", "yellow", "none"),
    "OsdpLaplaceL1": lab.Look("OsdpLaplaceL1", "orange", "diamond"),
    "hybrid": lab.Look("hybrid (two-sided where zones are sensitive)", "purple"),
    "DAWAz": lab.Look("DAWAz, totals stay", "vermillion", "square"),
    "DAWAz, as printed": lab.Look("DAWAz, line 9 as printed", "vermillion", "cross", dashed=True),
    "DAWAz, not rescaled": lab.Look("DAWAz, not rescaled", "vermillion", "triangle", dashed=True),
    "ours: DAWA that looks first": lab.Look("ours: DAWA that looks first", "grey", "diamond"),
    "ours: DAWAz, zeros left out": lab.Look("ours: DAWAz, zeros left out", "vermillion", "diamond"),
    "ours: split": lab.Look("ours: split histogram", "blue"),
    "ours: open shape": lab.Look("ours: open shape", "green", "triangle"),
}


def measure(
    *, source: Source, path: Path, reading: str, policy: int, repeats: int, seed: int
) -> list[lab.Row]:
    """Every algorithm at every ε, under one policy."""
    trace = read(source, path)
    visits = visits_of(trace)
    if reading == "visit":
        parts, chosen = by_visit(visits, policy, seed)
    else:
        parts, chosen = by_day(visits, trace, policy, seed)
    base: lab.Row = {
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
            row: lab.Row = {**base, "epsilon": epsilon, "method": name}
            for measure_name, values in errors.items():
                row |= measured(measure_name, np.asarray(values))
            rows.append(row)
    return rows


def jobs(setup: lab.Setup) -> list[lab.Job]:
    """One per data set, reading of the policy, and policy."""
    repeats, shares = (2, QUICK_SHARES) if setup.quick else (10, SHARES)
    made = []
    for source, path in find_traces(setup.data, SOURCES[:1] if setup.quick else SOURCES):
        for reading in ("visit", "day") if source is PEOPLEFLOW else ("visit",):
            shared = {"source": source, "path": path, "reading": reading, "repeats": repeats}
            made += [
                lab.Job(measure, {**shared, "policy": policy, "seed": setup.seed})
                for policy in shares
            ]
    return made


def result(rows: list[lab.Row], _setup: lab.Setup) -> lab.Result:
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
        *(f"{name}: {said[name]}." for name in lab.datasets(rows)),
        "'By visit': a record is sensitive if its own zone is. 'By day': if that day passes a "
        "sensitive zone anywhere (one day of data only). The paper's text supports either.",
        "A whole day is many records: with one zone in each of 18 hours, ε = 1 a record is 18 a "
        "day. Laplace and DAWA are clipped at 0. Averages of 10 runs; relative errors over all "
        "cells, empty ones too. The axis is logarithmic down to the least error, then goes to 0.",
        "DAWAz in three readings of its line 9: as printed (erratum 9), left out, and so that "
        "totals stay. DAWA always makes a partition, as in its paper; ours looks first.",
    ]
    return lab.Result(rows, figures, lambda: claims(rows), notes)


def _figure(rows: Sequence[lab.Row], title: str, shown: Sequence[tuple[str, str]]) -> lab.Figure:
    """The paper's algorithms, and ours beside them, on one scale."""
    panels = []
    for name, reading in list(dict.fromkeys((row["dataset"], row["reading"]) for row in rows)):
        mine = lab.where(rows, dataset=name, reading=reading)
        tried = _looks.policies(mine)
        for value, epsilon in shown:
            part = lab.where(mine, epsilon=epsilon)
            pair = [[_curve(part, m, value, tried) for m in many] for many in (_THEIRS, _OURS)]
            top = 1.25 * max(y for curves in pair for curve in curves for y in curve.y)
            # Below the least error that is not 0, the axis is linear: zeros have their place.
            panels += [
                lab.Panel(
                    title=f"{whose}\n{name}, by {reading}, ε = {epsilon}",
                    x_label=_looks.X_LABEL,
                    y_label=f"relative error, {_MEASURES[value]}",
                    curves=curves,
                    log_y=True,
                    zero_y=min(y for curves in pair for curve in curves for y in curve.y if y > 0),
                    y_range=(0, top),
                    x_names=_looks.names(tried),
                )
                for whose, curves in zip(("the paper's", "ours"), pair, strict=True)
            ]
    return lab.Figure(title, panels, columns=4)


def _curve(rows: Sequence[lab.Row], method: str, value: str, tried: Sequence[int]) -> lab.Curve:
    by_policy = {row["policy"]: row for row in rows if row["method"] == method}
    return lab.Curve(
        look=LOOKS[method], x=range(len(tried)), y=[by_policy[p][value] for p in tried]
    )


DP: Final = ("Laplace", "DAWA")
OSDP: Final = ("OsdpRR", "OsdpLaplace", "OsdpLaplaceL1", "hybrid", "DAWAz")
_MOSTLY_OPEN: Final = (99, 90, 75, 50)
_MOSTLY_SENSITIVE: Final = (10, 1)
_EVERY: Final = (*_MOSTLY_OPEN, 25, *_MOSTLY_SENSITIVE)
_THREE: Final = (NAMES["totals stay"], NAMES["as printed"], NAMES["left out"])
Case = tuple[str, str]


class _Table:
    """Errors by data set and reading, ε, method and policy."""

    def __init__(self, rows: Sequence[lab.Row]) -> None:
        self.cases: list[Case] = list(dict.fromkeys((r["dataset"], r["reading"]) for r in rows))
        self.methods = list(dict.fromkeys(row["method"] for row in rows))
        self._rows = {
            (row["dataset"], row["reading"], row["epsilon"], row["method"], row["policy"]): row
            for row in rows
        }

    def error(self, case: Case, epsilon: str, method: str, policy: int, of: str = "mean") -> float:
        return float(self._rows[*case, epsilon, method, policy][of])

    def best(
        self, case: Case, epsilon: str, among: Sequence[str], policy: int, of: str = "mean"
    ) -> tuple[float, str]:
        """The least error, and whose it is."""
        return min(
            (self.error(case, epsilon, method, policy, of), method)
            for method in among
            if method in self.methods
        )

    def ratios(
        self, case: Case, epsilon: str, method: str, pool: Sequence[str], policies: Sequence[int]
    ) -> list[float]:
        """A method's error over the least of a pool's, policy by policy."""
        return [
            self.error(case, epsilon, method, one) / self.best(case, epsilon, pool, one)[0]
            for one in policies
        ]


def _by_case(
    table: _Table,
    judges: lab.Judged,
    text: str,
    found: Callable[[Case], tuple[list[bool], str]],
    said: str = "",
) -> lab.Claim:
    """A claim that is tried on every case: whether it held, each time, and numbers in words."""
    told = {f"{name} by {reading}": found((name, reading)) for name, reading in table.cases}
    return lab.Claim(
        judges=judges,
        text=text,
        measured=said + "; ".join(f"{case}: {words}" for case, (_, words) in told.items()),
        verdict=lab.judge([one for held, _ in told.values() for one in held]),
    )


def _numbers(ratios: Sequence[float]) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)


def claims(rows: Sequence[lab.Row]) -> list[lab.Claim]:
    """One verdict for each sentence of section 6.3.3.1 that can be tried."""
    table = _Table(rows)

    def over_dawa(case: Case) -> tuple[list[bool], str]:
        ratios = [
            table.best(case, "1", OSDP, policy, of)[0] / table.error(case, "1", "DAWA", policy, of)
            for of in ("median", "high")
            for policy in _MOSTLY_OPEN
        ]
        return [ratio < 1 for ratio in ratios], _numbers(ratios)

    found = [
        _against(
            table, "1", _MOSTLY_OPEN, lambda osdp, dp: osdp < dp,
            "At ε = 1 OSDP's MRE is below DP's if more than 25 % of the records are open.",
        ),
        _against(
            table, "1", _MOSTLY_SENSITIVE, lambda osdp, dp: dp < osdp,
            "At ε = 1 DP is better if less than 25 % are open.",
        ),
        _clipped_at_small_epsilon(table),
        _by_case(
            table, "corrected",
            "At ε = 1 OSDP improves on DAWA in Rel50 and Rel95, even with half the records open.",
            over_dawa, "best OSDP / DAWA, Rel50 at P99, P90, P75, P50, then Rel95: ",
        ),
    ]  # fmt: skip
    if "DAWAz" in table.methods:
        found += [
            *(_zeros_at_small_epsilon(table, one) for one in RESCALINGS),
            _factor(table, "1", "At ε = 1 rescaling by the printed factor is the worst of three."),
            _factor(table, "0.01", "... and at ε = 0.01 too."),
            *(_zeros_against_hybrid(table, one) for one in RESCALINGS),
        ]
    ours = [method for method in table.methods if method.startswith("ours")]
    return [*found, *(_ours(table, method) for method in ours)]


def _against(
    table: _Table,
    epsilon: str,
    policies: Sequence[int],
    compare: Callable[[float, float], bool],
    text: str,
) -> lab.Claim:
    def found(case: Case) -> tuple[list[bool], str]:
        pairs = {
            one: (table.best(case, epsilon, OSDP, one), table.best(case, epsilon, DP, one))
            for one in policies
        }
        return [compare(osdp[0], dp[0]) for osdp, dp in pairs.values()], ", ".join(
            f"P{one} {osdp[0]:.2g} ({osdp[1]}) against {dp[0]:.2g}"
            for one, (osdp, dp) in pairs.items()
        )

    return _by_case(table, "corrected", text, found)


def _clipped_at_small_epsilon(table: _Table) -> lab.Claim:
    """The mark of 25 % again, for OsdpLaplaceL1 and for what the paper calls so here."""

    def found(case: Case) -> tuple[list[bool], str]:
        lost = {}
        for policy in _EVERY:
            ours = table.best(case, "0.01", ("OsdpLaplaceL1", "hybrid"), policy)[0]
            lost[policy] = ours > table.best(case, "0.01", DP, policy)[0]
        held = [not lost[p] for p in _MOSTLY_OPEN] + [lost[p] for p in _MOSTLY_SENSITIVE]
        worse = ", ".join(f"P{policy}" for policy, worse in lost.items() if worse)
        return held, f"DP better at {worse or 'none'}"

    text = "At ε = 0.01 OsdpLaplaceL1 (or the hybrid) is better than DP above 25 %, worse below."
    return _by_case(table, "corrected", text, found)


def _zeros_at_small_epsilon(table: _Table, reading: Rescaling) -> lab.Claim:
    pool = (*DP, *(*OSDP[:-1], NAMES[reading]))

    def found(case: Case) -> tuple[list[bool], str]:
        ratios = table.ratios(case, "0.01", NAMES[reading], pool, _EVERY)
        return [ratio <= 1.5 for ratio in ratios], _numbers(ratios)

    text = "At ε = 0.01 DAWAz is highly competitive under all policies (within 1.5 of the best; "
    said = "DAWAz / best, P99 to P1: "
    return _by_case(table, JUDGES[reading], f"{text}line 9 {reading}).", found, said)


def _factor(table: _Table, epsilon: str, text: str) -> lab.Claim:
    """Erratum 9 on real data: the factor that keeps totals, as printed, or none."""

    def found(case: Case) -> tuple[list[bool], str]:
        means = [[table.error(case, epsilon, name, one) for one in _MOSTLY_OPEN] for name in _THREE]
        ours, printed, none = (sum(one) / len(one) for one in means)
        return [printed > max(ours, none)], _numbers([ours, printed, none])

    said = "MRE over P99 to P50 with |B|/(|B|-|Z∩B|), printed |B|/|Z∩B|, none: "
    return _by_case(table, "corrected", f"(erratum 9) {text}", found, said)


def _zeros_against_hybrid(table: _Table, reading: Rescaling) -> lab.Claim:
    def found(case: Case) -> tuple[list[bool], str]:
        pool = ("OsdpLaplaceL1", "hybrid")
        ratios = table.ratios(case, "1", NAMES[reading], pool, _MOSTLY_OPEN)
        return [ratio > 1 for ratio in ratios], _numbers(ratios)

    text = "At ε = 1 DAWAz is worse than OsdpLaplaceL1 (or the hybrid), for policies are by value "
    said = "DAWAz / the other, P99 to P50: "
    return _by_case(table, JUDGES[reading], f"{text}(line 9 {reading}).", found, said)


def _ours(table: _Table, method: str) -> lab.Claim:
    """Against the best of the paper's algorithms, chosen anew for every policy by looking."""
    said, held = [], {}
    for case in table.cases:
        for epsilon in ("1", "0.01"):
            ratios = table.ratios(case, epsilon, method, (*DP, *OSDP), _EVERY)
            held[*case, epsilon] = [ratio <= 1 for ratio in ratios]
            said.append(f"{case[0]} by {case[1]} at ε = {epsilon}: {_numbers(ratios)}")
    return lab.Claim(
        judges="ours",
        text=f"({method}) no worse in MRE than the best of the paper's algorithms.",
        measured="ours / best, P99 to P1: " + "; ".join(said),
        verdict=lab.judge([one for many in held.values() for one in many]),
    )


EXPERIMENT = lab.Experiment(
    "fig4-5",
    "Figures 4 and 5: people by zone and hour",
    "checkins/peopleflow_tokyo_traces.parquet, checkins/foursquare_nyc_filtered.parquet, "
    "gps/geolife_1min.parquet",
    jobs,
    result,
)
