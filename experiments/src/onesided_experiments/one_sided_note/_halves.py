"""Propositions 3 and 4: variance halves, the bias can be taken out, and zeros stay or do not."""

from __future__ import annotations

from typing import Final

import numpy as np

from onesided.mechanism import Counts
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import KindPolicy, addition_only, removal_only, unbounded
from onesided_experiments import _model as lab

_EPSILONS: Final = ("0.1", "0.2", "0.5", "1", "2", "4")
_TRUTH: Final = 100_000
_BINS: Final = 2000
_LARGE: Final = 200
_POLICIES: Final = {
    "two-sided": unbounded,
    "addition-only": addition_only,
    "removal-only": removal_only,
}
LOOKS: Final = {
    "two-sided": lab.Look("two-sided noise", "vermillion", "square"),
    "addition-only": lab.Look("addition-only: noise above", "blue"),
    "removal-only": lab.Look("removal-only: noise below", "orange", "triangle"),
}


def measure(*, epsilon: str, draws: int, seed: int) -> list[lab.Row]:
    """One count many times, and a histogram whose bins are nearly all empty."""
    noise = NotPrivateSeededNoise(seed)
    rows: list[lab.Row] = []
    for name, policy in _POLICIES.items():
        found = _one_count(policy(), epsilon, draws, noise)
        rows.append({"epsilon": epsilon, "noise": name, **found})
    return rows


def _one_count(
    policy: KindPolicy, epsilon: str, draws: int, noise: NotPrivateSeededNoise
) -> lab.Row:
    counts = Counts.for_policy(policy, epsilon=epsilon)
    noisy = counts.noisy(np.full(draws, _TRUTH), noise=noise)
    unbiased = Counts.for_policy(policy, epsilon=epsilon, correction="mean").estimate(noisy)
    median = Counts.for_policy(policy, epsilon=epsilon, correction="median").estimate(noisy)
    truth = np.zeros(_BINS, dtype=np.int64)
    truth[:: _BINS // 20] = _LARGE
    many = [
        Counts.for_policy(policy, epsilon=epsilon, clip=True).release(truth, noise=noise)
        for _ in range(max(1, draws // 100_000))
    ]
    return {
        "draws": draws,
        "variance": float(noisy.var()),
        "variance_formula": counts.distribution.variance(),
        "bias": float(noisy.mean() - _TRUTH),
        "bias_unbiased": float(unbiased.mean() - _TRUTH),
        "standard_error": float(noisy.std() / np.sqrt(draws)),
        "absolute_unbiased": float(np.abs(unbiased - _TRUTH).mean()),
        "absolute_median": float(np.abs(median - _TRUTH).mean()),
        "zeros_changed": float(np.mean([(one[truth == 0] > 0).mean() for one in many])),
        "histogram_error": float(np.mean([np.abs(one - truth).sum() for one in many])),
    }


def jobs(setup: lab.Setup) -> list[lab.Job]:
    """One per ε; no data are needed."""
    draws = 20_000 if setup.quick else 2_000_000
    return [
        lab.Job(measure, {"epsilon": epsilon, "draws": draws, "seed": setup.seed * 1009 + place})
        for place, epsilon in enumerate(_EPSILONS)
    ]


def result(rows: list[lab.Row], _setup: lab.Setup) -> lab.Result:
    """Variance, absolute error, and a sparse histogram."""
    panels = [
        _panel(rows, "variance of a count", "variance (counts squared)", "variance"),
        _panel(
            rows, "mean absolute error, median out", "absolute error (counts)", "absolute_median"
        ),
        _panel(
            rows,
            f"histogram of {_BINS} bins, 20 not empty",
            "sum of absolute errors",
            "histogram_error",
        ),
        _panel(
            rows, "empty bins that are not shown empty", "share of empty bins", "zeros_changed",
            log=False,
        ),
    ]  # fmt: skip
    figure = lab.Figure("One side has half the variance; empty bins tell them apart", panels)
    return lab.Result(rows, {"halves": figure}, lambda: _claims(rows), _NOTES)


def _panel(
    rows: list[lab.Row], title: str, label: str, value: str, *, log: bool = True
) -> lab.Panel:
    curves = [
        lab.Curve.of(look, [row for row in rows if row["noise"] == name], "epsilon", value)
        for name, look in LOOKS.items()
    ]
    return lab.Panel(
        title=title, x_label="ε (nats)", y_label=label, curves=curves, log_x=True, log_y=log
    )


def _claims(rows: list[lab.Row]) -> list[lab.Claim]:
    def by(value: str, noise: str) -> list[float]:
        return [row[value] for row in rows if row["noise"] == noise]

    one_sided = ("addition-only", "removal-only")
    ratios = [
        one / two
        for name in one_sided
        for one, two in zip(by("variance", name), by("variance", "two-sided"), strict=True)
    ]
    scores = [abs(row["bias_unbiased"]) / row["standard_error"] for row in rows]
    below, above = by("zeros_changed", "removal-only"), by("zeros_changed", "addition-only")
    return [
        lab.Claim(
            judges="as run",
            text="One-sided noise has half the variance of two-sided noise (Props. 3 and 4).",
            measured=f"{min(ratios):.3f} to {max(ratios):.3f} of it, ε = 0.1 to 4",
            verdict=lab.judge([abs(ratio - 0.5) < 0.01 for ratio in ratios]),
        ),
        lab.Claim(
            judges="as run",
            text="Its bias can be taken out.",
            measured=f"at most {max(scores):.1f} standard errors off",
            verdict=lab.judge([score < 4.5 for score in scores]),
        ),
        lab.Claim(
            judges="as run",
            text="Negative noise does not change zero counts, positive noise does.",
            measured=f"below: {max(below):.0%} of empty bins changed; above: "
            f"{above[-1]:.1%} (ε = 4) to {above[0]:.1%} (ε = 0.1)",
            verdict=lab.judge([max(below) == 0, min(above) > 0]),
        ),
    ]


_NOTES = (
    "Whole-number noise: geometric in place of exponential. One side has exactly half the variance "
    "of two sides at every ε, for the two are independent and alike.",
    "Answers below 0 are set to 0 in the histograms. The error of noise above comes from the empty "
    "bins: sparse histograms want noise below, which protects nobody who is in the data.",
)

EXPERIMENT = lab.Experiment(
    "halves", "Propositions 3 and 4: half the variance, bias, empty bins", "no data", jobs, result
)
