"""Figure 3: the sparse vector with values, against sparse vector with free gap."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from onesided import policy as policies
from onesided.mechanism import AdaptiveSparseVector, SparseVector
from onesided.noise import IntArray, NotPrivateSeededNoise
from onesided.numbers import Loss
from onesided.policy import Policy
from onesided_experiments._clicks import ClickFile
from onesided_experiments._model import Experiment, Job, Result, Row, Setup
from onesided_experiments._repeat import repetitions
from onesided_experiments.adp_2021 import _as_run
from onesided_experiments.adp_2021._above import adaptive_errors, free_gap_errors, one_sided_errors
from onesided_experiments.adp_2021._fig3_claims import OURS as _OURS
from onesided_experiments.adp_2021._fig3_claims import claims
from onesided_experiments.adp_2021._sweep import (
    Setting,
    base_row,
    rows_of,
    sweep_figures,
    sweep_jobs,
)
from onesided_experiments.baselines import (
    AdaptiveGapSparseVector,
    DiscreteLaplace,
    GapSparseVector,
)


def measure(*, file: ClickFile, setting: Setting, quick: bool, seed: int) -> list[Row]:
    """All methods at one setting, on one data set."""
    data, noise = file.read(), NotPrivateSeededNoise(seed)
    counts, k, epsilon = data.counts, setting.k, setting.epsilon
    repeats = repetitions(counts.size, quick=quick)
    base = base_row(file, setting, repeats)
    groups = int(counts.size)
    anyone, presence = policies.unbounded(), policies.presence(max_groups=groups)
    rows = []
    methods = [("asymmetric", presence)]
    if data.longest < k:
        methods.append(("asymmetric, few groups", policies.presence(max_groups=data.longest)))
    for name, policy in methods:
        rate = SparseVector.for_policy(
            policy, thresholds=0, epsilon=epsilon, max_answers=k
        ).upper_rate
        rows += rows_of(base, name, one_sided_errors(counts, k, rate, repeats, noise))
    rivals: list[tuple[str, Policy, int]] = [
        ("free gap", anyone, groups),
        ("free gap, general", policies.bounded(), groups),
        ("free gap, one-sided policy", presence, groups),
    ]
    if data.longest < k:
        few = policies.presence(max_groups=data.longest)
        rivals.append(("free gap, few groups", few, data.longest))
    rows += _as_run_rows(counts, setting, base, seed)
    rows += _adaptive_rows(counts, setting, base, noise)
    for name, promise, most in rivals:
        gap, measuring = _rival(promise, epsilon, k, most)
        rows += rows_of(base, name, free_gap_errors(counts, gap, measuring, repeats, noise))
    return rows


def _as_run_rows(counts: IntArray, setting: Setting, base: Row, seed: int) -> list[Row]:
    """As the authors ran both, in half as many repetitions."""
    random, repeats = np.random.default_rng(seed), max(2, int(base["repetitions"]) // 2)
    k, epsilon = setting.k, float(setting.epsilon)
    base = base | {"repetitions": repeats}
    rows = []
    for name, rules in (
        ("asymmetric, adaptive, as run", _as_run.Rules.asymmetric(k, epsilon)),
        ("free gap, adaptive, as run", _as_run.Rules.free_gap(k, epsilon)),
    ):
        found = _as_run.sparse_errors(counts, rules, repeats, random)
        rows += rows_of(base, name, found)
    return rows


def _adaptive_rows(
    counts: IntArray, setting: Setting, base: Row, noise: NotPrivateSeededNoise
) -> list[Row]:
    """Shipped mechanisms that stop when their purse is empty, after up to 2k answers.

    Free gap's half of ε to find and half to measure is as in :func:`_rival`; with gaps for values
    all of it may find.
    """
    groups, k = int(counts.size), setting.k
    asked: dict[str, Any] = {"thresholds": 0, "max_answers": k, "max_groups": groups}
    asked["epsilon"] = setting.epsilon
    ours = AdaptiveSparseVector.for_policy(policies.presence(max_groups=groups), **asked)
    gaps = AdaptiveGapSparseVector.for_policy(policies.unbounded(), **asked)
    asked["epsilon"] = Fraction(setting.epsilon) / 2
    halved = AdaptiveGapSparseVector.for_policy(policies.unbounded(), **asked)
    repeats = int(base["repetitions"])
    return [
        *rows_of(base, _OURS, adaptive_errors(counts, ours, repeats, noise)),
        *rows_of(base, "free gap, adaptive", adaptive_errors(counts, halved, repeats, noise)),
        *rows_of(base, "free gap, adaptive, gaps", adaptive_errors(counts, gaps, repeats, noise)),
    ]


def _rival(policy: Policy, epsilon: str, k: int, groups: int) -> tuple[GapSparseVector, Loss]:
    """Half of ε to find who is above, half to measure them, as Ding et al. and the paper do."""
    half = Fraction(epsilon) / 2
    gap = GapSparseVector.for_policy(
        policy, thresholds=0, epsilon=half, max_answers=k, max_groups=groups
    )
    # What is measured: the k that were answered, each of which moves by at most 1.
    one = DiscreteLaplace.for_policy(policies.unbounded(), epsilon=half, max_groups=min(k, groups))
    return gap, one.noise_rate


def jobs(setup: Setup) -> list[Job]:
    """One per data set and setting."""
    return sweep_jobs(setup, measure)


def result(rows: list[Row], setup: Setup) -> Result:
    """Numbers, one figure per group of data sets, and the verdicts."""
    title = "ADP-2021 Figure 3: sparse vector with values"
    figures = sweep_figures(rows, name="fig3", title=title, measures=("mse", "recall"))
    made = [] if setup.quick else claims(rows)
    return Result(rows=rows, figures=figures, claims=made, notes=_NOTES)


_NOTES = (
    "The threshold is the count of a rank drawn from k to 2k, as in the paper: it looks at the "
    "data without paying, for every method alike.",
    "'As run': both adaptive, up to 2k answers, real-valued noise, free gap with twice the scale "
    "that monotone counts need (the authors' code, 5ca3cc1). Hits are counted among the k largest "
    "of the answers, which the authors call accuracy.",
    "'Corrected', stopping at k: free gap's best is under adding and removing a record (monotone "
    "noise, a noisy threshold). Priced for the one-sided policy its threshold needs no noise: the "
    "dashed orange curve. Adaptive, whole numbers: by at most 1,000 repetitions; hits among all "
    "answers.",
    "Precision is the share of answered items that are among the k largest; it is in the table. "
    "Mean squared error is over answered items, in repetitions that answered any.",
)

EXPERIMENT = Experiment(
    name="fig3",
    title="Figure 3: sparse vector with values on click data",
    needs="clicks/*.parquet",
    jobs=jobs,
    result=result,
)
