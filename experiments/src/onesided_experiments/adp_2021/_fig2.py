"""Figure 2: the k largest counts with their values, against free gap."""

from __future__ import annotations

import numpy as np

from onesided import policy as policies
from onesided.mechanism import TopK
from onesided.noise import IntArray, NotPrivateSeededNoise
from onesided_experiments._clicks import ClickFile
from onesided_experiments._model import Experiment, Job, Result, Row, Setup
from onesided_experiments._repeat import repetitions
from onesided_experiments.adp_2021 import _as_run
from onesided_experiments.adp_2021._fig2_claims import claims
from onesided_experiments.adp_2021._selection import (
    doubled,
    free_gap_errors,
    one_sided_errors,
    shrunk_errors,
)
from onesided_experiments.adp_2021._sweep import (
    Setting,
    base_row,
    rows_of,
    sweep_figures,
    sweep_jobs,
)
from onesided_experiments.baselines import MeasuredTopK


def measure(*, file: ClickFile, setting: Setting, quick: bool, seed: int) -> list[Row]:
    """All methods at one setting, on one data set."""
    data, noise = file.read(), NotPrivateSeededNoise(seed)
    counts, k, epsilon = data.counts, setting.k, setting.epsilon
    repeats = repetitions(counts.size, quick=quick)
    base = base_row(file, setting, repeats)
    anyone, few = policies.unbounded(), policies.presence(max_groups=data.longest)
    groups = int(counts.size)
    top = TopK.for_policy(policies.presence(max_groups=groups), k=k, epsilon=epsilon)
    gap = MeasuredTopK.for_policy(anyone, k=k, epsilon=epsilon, max_groups=groups)
    rows = _as_run_rows(counts, setting, base, seed)
    rows += rows_of(base, "asymmetric", one_sided_errors(counts, k, top.upper_rate, repeats, noise))
    rows += rows_of(base, "asymmetric", shrunk_errors(counts, k, top.upper_rate, repeats, noise))
    rows += rows_of(base, "free gap", free_gap_errors(counts, gap, repeats, noise))
    rows += rows_of(
        base, "free gap, general", free_gap_errors(counts, doubled(gap), repeats, noise)
    )
    if data.longest < k:
        top = TopK.for_policy(few, k=k, epsilon=epsilon)
        gap = MeasuredTopK.for_policy(few, k=k, epsilon=epsilon)
        found = one_sided_errors(counts, k, top.upper_rate, repeats, noise)
        rows += rows_of(base, "asymmetric, few groups", found)
        found = free_gap_errors(counts, gap, repeats, noise)
        rows += rows_of(base, "free gap, few groups", found)
    return rows


def _as_run_rows(counts: IntArray, setting: Setting, base: Row, seed: int) -> list[Row]:
    """As the authors ran both, in half as many repetitions."""
    random, repeats = np.random.default_rng(seed), max(2, int(base["repetitions"]) // 2)
    given = (counts, setting.k, float(setting.epsilon), repeats, random)
    base = base | {"repetitions": repeats}
    return [
        *rows_of(base, "asymmetric, as run", _as_run.top_k_errors(*given)),
        *rows_of(base, "free gap, as run", _as_run.free_gap_errors(*given)),
    ]


def jobs(setup: Setup) -> list[Job]:
    """One per data set and setting."""
    return sweep_jobs(setup, measure)


def result(rows: list[Row], setup: Setup) -> Result:
    """Numbers, one figure per group of data sets, and the verdicts."""
    title = "ADP-2021 Figure 2: top-k with values"
    figures = sweep_figures(rows, name="fig2", title=title)
    made = [] if setup.quick else claims(rows)
    return Result(rows=rows, figures=figures, claims=made, notes=_notes())


def _notes() -> list[str]:
    return [
        "ADP keeps (ε, presence): that somebody clicked an item is hidden, that somebody did not "
        "is not. Free gap keeps ε under adding and removing a record, which is more; under the "
        "presence policy it needs the same noise, so the curves compare equal ε under presence.",
        "'As run': real-valued noise, free gap with twice the scale that monotone counts need, in "
        "its choice and in its measurements (the authors' code, 5ca3cc1). Their notebook shows "
        "ADP's values raw where ε varies, and less the mean where k does: both are drawn.",
        "'Corrected', free gap at its best: half the noise for monotone counts, half the budget "
        "for measuring, measurements and free leads combined; whole-number noise throughout.",
        "'Ours': values less what noise alone would select (TopK.shrunk, 200 repetitions), and ε "
        "shared among ℓ0 items, the longest record of the data, taken as asserted by a curator; "
        "shown where it is below k.",
        "Parts have a fifth or a tenth of the records, and noise does not shrink with the data. "
        "'Counts x' multiplies a part's counts to the size of the whole set: an extrapolation that "
        "tells what the whole set would show, not data.",
        "Mean squared error is over the selected items, against their true counts.",
    ]


EXPERIMENT = Experiment(
    name="fig2",
    title="Figure 2: top-k with values on click data",
    needs="clicks/*.parquet",
    jobs=jobs,
    result=result,
)
