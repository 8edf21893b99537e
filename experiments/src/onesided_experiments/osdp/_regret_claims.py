"""What the paper says of its regrets, and what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from onesided_experiments._model import Claim, Row, judge
from onesided_experiments.osdp._regret import MEASURES, OPEN_ONLY, PAPER_POOL, average

_TWO_SIDED: Final = ("Laplace", "DAWA")
_ONE_SIDED: Final = (*OPEN_ONLY, "DAWAz")
# The paper's own figures start at a quarter of open records.
_LEAST: Final = 0.25


def claims(rows: Sequence[Row], papers: Sequence[Row]) -> list[Claim]:
    """``papers``: regrets in the pool of the paper's six algorithms; ``rows``: in ours."""
    return [*_averages(papers), *_adult(papers), *_policies(papers), *_ours(rows)]


def _averages(rows: Sequence[Row]) -> list[Claim]:
    """Figure 7a: Close, ε = 1, ratios from a quarter up."""
    shown = [row for row in rows if row["ratio"] >= _LEAST]

    def mean(method: str) -> float:
        return average(shown, "mre", method=method, generator="Close", epsilon="1")

    zeros, plain = mean("DAWAz"), mean("DAWA")
    return [
        Claim(
            judges="corrected",
            text="DAWAz errs at most twice the optimum on average (Close, MRE, ε = 1).",
            measured=f"{zeros:.2f} times",
            verdict=judge([zeros <= 2]),
        ),
        Claim(
            judges="corrected",
            text="DAWA errs six times the optimum (taken as 4 to 9).",
            measured=f"{plain:.2f} times",
            verdict=judge([4 <= plain <= 9]),
        ),
    ]


def _adult(rows: Sequence[Row]) -> list[Claim]:
    """Figure 9a."""
    ratios = sorted({row["ratio"] for row in rows}, reverse=True)

    def gain(ratio: float) -> float:
        here = {
            row["method"]: row["mre"]
            for row in rows
            if (row["dataset"], row["generator"], row["ratio"], row["epsilon"])
            == ("adult", "Close", ratio, "1")
        }
        return float(min(here[m] for m in _TWO_SIDED) / min(here[m] for m in _ONE_SIDED))

    best = {ratio: gain(ratio) for ratio in ratios}
    top = max(best, key=best.__getitem__)
    return [
        Claim(
            judges="corrected",
            text="One-sided algorithms err up to 25 times less than DAWA (Adult).",
            measured=f"{best[top]:.1f} times, at {top:g} open",
            verdict=judge([best[top] >= 25]),
        )
    ]


def _policies(rows: Sequence[Row]) -> list[Claim]:
    """Figures 6 to 8: who beats whom, ratio by ratio."""
    ratios = sorted({row["ratio"] for row in rows}, reverse=True)
    high = [ratio for ratio in ratios if ratio >= _LEAST]
    every = [(name, ratio) for name in MEASURES for ratio in high]

    def best(methods: Sequence[str], at: tuple[str, float], **wanted: str) -> float:
        name, ratio = at
        return min(average(rows, name, method=m, ratio=ratio, **wanted) for m in methods)

    close, far = {"generator": "Close", "epsilon": "1"}, {"generator": "Far", "epsilon": "1"}
    one, small = {"epsilon": "1"}, {"epsilon": "0.01"}
    return [
        _counted(
            "Under Close, some one-sided algorithm beats both two-sided ones at every ratio from "
            "a quarter up, for both measures.",
            [best(_ONE_SIDED, at, **close) < best(_TWO_SIDED, at, **close) for at in every],
        ),
        _counted(
            "Under Far, DAWAz beats DAWA at every ratio from a quarter up.",
            [best(("DAWAz",), at, **far) < best(("DAWA",), at, **far) for at in every],
        ),
        _counted(
            "With a quarter or less open, DAWA beats OsdpLaplaceL1 (MRE, ε = 1, both policies "
            "together).",
            [
                best(("DAWA",), ("mre", ratio), **one)
                < best(("OsdpLaplaceL1",), ("mre", ratio), **one)
                for ratio in ratios
                if ratio <= _LEAST
            ],
        ),
        _counted(
            "A small ε favours DAWAz (best of the six at ε = 0.01, by ratio).",
            [
                best(("DAWAz",), ("mre", ratio), **small)
                <= best(PAPER_POOL, ("mre", ratio), **small)
                for ratio in ratios
            ],
        ),
    ]


def _counted(text: str, held: Sequence[bool]) -> Claim:
    return Claim(
        judges="corrected", text=text, measured=f"{sum(held)} of {len(held)}", verdict=judge(held)
    )


def _ours(rows: Sequence[Row]) -> list[Claim]:
    """Not the paper's: how open shape does beside DAWAz."""
    return [
        _beside(rows, "1", "Open shape has at most half of DAWAz's regret at ε = 1", 0.5),
        _beside(rows, "0.01", "... and at most 0.8 of it at ε = 0.01", 0.8),
    ]


def _beside(rows: Sequence[Row], epsilon: str, text: str, goal: float) -> Claim:
    def mean(method: str, name: str, generator: str) -> float:
        return average(rows, name, method=method, generator=generator, epsilon=epsilon)

    pairs = {
        f"{label} {generator}": (
            mean("OpenShape", name, generator),
            mean("DAWAz", name, generator),
        )
        for name, label in MEASURES.items()
        for generator in dict.fromkeys(row["generator"] for row in rows)
    }
    return Claim(
        judges="ours",
        text=f"{text}, averaged over ratios and histograms, for both policies and measures.",
        measured="; ".join(
            f"{name} {own:.2f} / {zeros:.2f}" for name, (own, zeros) in pairs.items()
        ),
        verdict=judge([own <= goal * zeros for own, zeros in pairs.values()]),
    )
