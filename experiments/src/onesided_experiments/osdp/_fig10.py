"""Figure 10: Suppress, which needs a threshold far above ε to keep up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from onesided_experiments._model import Claim, Curve, Figure, Panel, Row, judge
from onesided_experiments.osdp._regret import LOOKS, SUPPRESS, average

THEIRS: Final = ("Suppress10", "Suppress100", "OsdpLaplaceL1", "DAWAz, as printed")
SHOWN: Final = ("Suppress10", "Suppress100", "OsdpLaplaceL1", "DAWAz", "OpenShape")


def figure(papers: Sequence[Row], ours: Sequence[Row]) -> Figure:
    """Regret of MRE at ε = 1, by ratio, for each policy; in the paper's pool and in ours."""
    panels = []
    for generator in dict.fromkeys(row["generator"] for row in papers):
        for title, rows, methods in (
            ("the six, line 9 as printed", papers, THEIRS),
            ("all, with ours", ours, SHOWN),
        ):
            mine = [r for r in rows if (r["generator"], r["epsilon"]) == (generator, "1")]
            ratios = sorted({row["ratio"] for row in mine}, reverse=True)
            curves = [
                Curve(
                    look=LOOKS[method],
                    x=range(len(ratios)),
                    y=[average(mine, "mre", method=method, ratio=ratio) for ratio in ratios],
                )
                for method in methods
            ]
            panels.append(
                Panel(
                    title=f"{generator}\n{title}",
                    x_label="share of records that are open",
                    y_label="regret of MRE",
                    curves=curves,
                    log_y=True,
                    x_names=[f"{ratio:g}" for ratio in ratios],
                )
            )
    return Figure(title="Figure 10: against Suppress, at ε = 1", panels=panels)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Competitive is taken as: at most a tenth worse than OsdpLaplaceL1, ratio by ratio."""
    mine = [row for row in rows if row["epsilon"] == "1"]
    places = list(dict.fromkeys((row["generator"], row["ratio"]) for row in mine))

    def regrets(method: str) -> list[float]:
        return [
            average(mine, "mre", method=method, generator=generator, ratio=ratio)
            for generator, ratio in places
        ]

    alone = regrets("OsdpLaplaceL1")
    held = {
        method: [own <= 1.1 * best for own, best in zip(regrets(method), alone, strict=True)]
        for method in SUPPRESS
    }
    worst = {
        method: max(own / best for own, best in zip(regrets(method), alone, strict=True))
        for method in SUPPRESS
    }

    def told(method: str) -> str:
        return (
            f"competitive on {sum(held[method])} of {len(places)} ratios and policies, at worst "
            f"{worst[method]:.2f} times its regret"
        )

    return [
        Claim(
            judges="as run",
            text="Suppress becomes competitive with OsdpLaplaceL1 at τ = 100 ε.",
            measured=told("Suppress100"),
            verdict=judge(held["Suppress100"]),
        ),
        Claim(
            judges="as run",
            text="At τ = 10 ε it is not competitive yet.",
            measured=told("Suppress10"),
            verdict=judge([not one for one in held["Suppress10"]]),
        ),
    ]
