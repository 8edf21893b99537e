"""Figures 6 to 10: regrets on the DPBench histograms, by ε, policy, ratio and data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from onesided_experiments._model import Curve, Experiment, Figure, Job, Panel, Result, Row, Setup
from onesided_experiments.osdp import _fig10
from onesided_experiments.osdp._regret import (
    DATASETS,
    LOOKS,
    MEASURES,
    PAPER_POOL,
    POOL,
    TITLES,
    average,
    find,
    mean,
    measure,
    with_regrets,
)
from onesided_experiments.osdp._regret_claims import claims
from onesided_experiments.osdp._sampling import GENERATORS, RATIOS

EPSILONS: Final = ("1", "0.1", "0.01")
RUNS: Final = 10
PAPERS_OWN: Final = ("Close", "Far")
SHOWN: Final = ("DAWA", "OsdpLaplaceL1", "DAWAz", "AHPz", "OpenShape")
FIXED: Final = (0.99, 0.5, 0.1)
_X_LABEL: Final = "share of records that are open"


def jobs(setup: Setup) -> list[Job]:
    """One for each histogram and generator; the slow readings of the text only in full runs."""
    generators = PAPERS_OWN if setup.quick else tuple(GENERATORS)
    paths = find(setup.data)
    return [
        Job(
            measure,
            {
                "path": path,
                "generator": generator,
                "ratios": (0.9, 0.25) if setup.quick else RATIOS,
                "epsilons": ("1", "0.01") if setup.quick else EPSILONS,
                "repeats": 2 if setup.quick else RUNS,
                "seed": setup.seed,
            },
        )
        for path in (paths[::5] if setup.quick else paths)
        for generator in generators
    ]


def result(rows: list[Row], setup: Setup) -> Result:
    """Figures as in the paper, with two algorithms more; regrets in the paper's pool as well."""
    del setup
    ours = with_regrets(rows)
    papers = with_regrets(rows, PAPER_POOL)
    own = [row for row in ours if row["generator"] in PAPERS_OWN]
    figures = {
        "fig6": _by_epsilon(own),
        "fig7": _by_policy(own, "mre", "Figure 7: regret of MRE at ε = 1"),
        "fig8": _by_policy(own, "rel95", "Figure 8: regret of Rel95 at ε = 1"),
        "fig9": _by_dataset(own),
        "fig10": _fig10.figure(own),
    }
    if len({row["generator"] for row in rows}) > len(PAPERS_OWN):
        figures["regret-other-readings"] = _by_policy(
            [row for row in ours if row["generator"] not in PAPERS_OWN],
            "mre",
            "Regret of MRE at ε = 1, the policies read otherwise",
        )
    pairs = zip(ours, papers, strict=True)
    return Result(
        rows=[row | {f"paper_{name}": other[f"regret_{name}"] for name in MEASURES}
              for row, other in pairs],
        figures=figures,
        claims=[*claims(own, [r for r in papers if r["generator"] in PAPERS_OWN]),
                *_fig10.claims(own)],
        notes=_notes(rows),
    )  # fmt: skip


def _by_epsilon(rows: Sequence[Row]) -> Figure:
    """Both policies together, a panel for each ε."""
    tried = list(dict.fromkeys(row["epsilon"] for row in rows))
    return Figure(
        title="Figure 6: regret of MRE, both policies and all histograms together",
        panels=[
            _panel(
                f"ε = {epsilon}", [row for row in rows if row["epsilon"] == epsilon], "mre", SHOWN
            )
            for epsilon in tried
        ],
        columns=len(tried),
    )


def _by_policy(rows: Sequence[Row], measure_name: str, title: str) -> Figure:
    generators = list(dict.fromkeys(row["generator"] for row in rows))
    return Figure(
        title=title,
        panels=[
            _panel(
                generator,
                [r for r in rows if r["generator"] == generator and r["epsilon"] == "1"],
                measure_name,
                SHOWN,
            )
            for generator in generators
        ],
    )


def _panel(title: str, rows: Sequence[Row], measure_name: str, methods: Sequence[str]) -> Panel:
    """Mean regret by ratio, from nearly all open on the left."""
    ratios = sorted({row["ratio"] for row in rows}, reverse=True)
    curves = [
        Curve(
            look=LOOKS[method],
            x=range(len(ratios)),
            y=[average(rows, measure_name, method=method, ratio=ratio) for ratio in ratios],
        )
        for method in methods
    ]
    return Panel(
        title=title,
        x_label=_X_LABEL,
        y_label=f"regret of {MEASURES[measure_name]} (1 is the best of all)",
        curves=curves,
        log_y=True,
        x_names=[f"{ratio:g}" for ratio in ratios],
    )


def _by_dataset(rows: Sequence[Row]) -> Figure:
    """Close policies, a panel for each fixed ratio, sparsest histogram on the left."""
    tried = sorted({row["ratio"] for row in rows}, reverse=True)
    fixed = [ratio for ratio in FIXED if ratio in tried] or tried
    panels = []
    for ratio in fixed:
        mine = [
            row
            for row in rows
            if (row["generator"], row["ratio"], row["epsilon"]) == ("Close", ratio, "1")
        ]
        names = [name for name in DATASETS if any(row["dataset"] == name for row in mine)]
        panels.append(
            Panel(
                title=f"{ratio:g} open",
                x_label="histogram, sparsest first",
                y_label="regret of MRE",
                curves=[
                    Curve(
                        look=LOOKS[method],
                        x=range(len(names)),
                        y=[average(mine, "mre", method=method, dataset=name) for name in names],
                        kind="dots",
                    )
                    for method in SHOWN
                ],
                log_y=True,
                x_names=[TITLES[name].removesuffix("logs") for name in names],
            )
        )
    return Figure(
        title="Figure 9: regret of MRE by histogram (Close, ε = 1)", panels=panels, columns=2
    )


def _notes(rows: Sequence[Row]) -> list[str]:
    regrets = with_regrets([row for row in rows if row["method"] in POOL])
    without = sum(math.isnan(row["regret_rel95"]) for row in regrets if row["method"] == "DAWA")
    inputs = sum(row["method"] == "DAWA" for row in regrets)
    wrong = mean(
        float(row["rel95"] > 0)
        for row in regrets
        if row["method"] == "OpenShape" and math.isnan(row["regret_rel95"])
    )
    return [
        f"Rel95's optimum is 0 on {without} of {inputs} inputs (histograms that are nearly empty); "
        "these are left out of its averages. Open shape errs there in "
        f"{0 if math.isnan(wrong) else wrong:.0%} of them.",
        "The optimum is over " + ", ".join(POOL) + "; the columns paper_... of the table take the "
        "paper's six algorithms for it, so that ours can be below 1.",
        "All noise is of whole numbers. DAWAz takes the zeros from one-sided noise at a tenth of "
        "ε. OsdpRR is drawn by bins from its exact law.",
        "Suppress is not in the optimum: it does not keep the policy.",
    ]


EXPERIMENT = Experiment(
    name="regret",
    title="Figures 6 to 10: regrets on seven histograms with simulated opt-outs",
    needs="dpbench1d/*.npy",
    jobs=jobs,
    result=result,
)
