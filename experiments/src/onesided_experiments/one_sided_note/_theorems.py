"""Propositions 3 and 4, Theorems 5 and 6 and the amplification law, by enumeration."""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1, inf, log, log1p
from typing import Any, Final

from onesided import verify
from onesided.mechanism import Counts, Subsampled
from onesided.numbers import INFINITE, round_up
from onesided.policy import GroupCount, Shift, unbounded
from onesided_experiments import _model as lab

_RATES: Final = ("1/2", "1", "2", "4")
_KEEPS: Final = ("1/10", "1/4", "1/2", "3/4", "1", "3/2", "2", "3")
_SHIFTS: Final = {
    "addition": ("record -> absent", Shift(rise=0, fall=1)),
    "removal": ("absent -> record", Shift(rise=1, fall=0)),
}
_FOUND: Final = lab.Look("found by enumeration", "black")
_LINES: Final = {
    "addition": lab.Look("addition: ln(1 + p(e^ε - 1))", "blue", "none"),
    "removal": lab.Look("removal: -ln(1 - p)", "orange", "none", dashed=True),
}


def check(*, name: str, mechanism: Any, rate: str, keep: str, units: int) -> list[lab.Row]:
    """The worst directed losses of a mechanism for one count, one row per direction."""
    report = verify.exact(
        mechanism,
        unbounded(),
        verify.Universe(groups=("a",), units=units),
        query=GroupCount(max_groups=1),
        tail=1e-13,
    )
    rows: list[lab.Row] = []
    for direction, (edge, shift) in _SHIFTS.items():
        finding = next(f for e, f in report.findings.items() if e.name == edge)
        promised = round_up(mechanism.loss(shift))
        rows.append(
            {
                "what": name,
                "rate": rate,
                "keep_rate": keep,
                "p": 1.0 if keep == "all" else -expm1(-_float(keep)),
                "direction": direction,
                "promised": None if promised == inf else promised,
                "found": None if promised == inf else finding.loss,
                "impossible": finding.impossible,
                "paths": report.noise_paths,
            }
        )
    return rows


def _float(text: str) -> float:
    over, _, under = text.partition("/")
    return float(over) / float(under or 1)


def jobs(setup: lab.Setup) -> list[lab.Job]:
    """Noise on each side alone, a sample alone, and samples under noise."""
    units = 2 if setup.quick else 3
    found: list[tuple[str, Any, str, str]] = []
    for rate in _RATES:
        for name, mechanism in (
            ("Proposition 3", Counts(rate, INFINITE)),
            ("Proposition 4", Counts(INFINITE, rate)),
            ("both sides", Counts(rate, rate)),
        ):
            found.append((name, mechanism, rate, "all"))
    for keep in _KEEPS:
        clear = Subsampled(Counts(INFINITE, INFINITE), keep_rate=keep)
        found.append(("Theorem 5", clear, "none", keep))
        found += [
            ("Theorem 6", Subsampled(Counts(rate, INFINITE), keep_rate=keep), rate, keep)
            for rate in _RATES
        ]
    found += [
        ("equation (3)", Subsampled.for_policy(unbounded(), epsilon=rate), rate, rate)
        for rate in _RATES
    ]
    return [
        lab.Job(check, {"name": n, "mechanism": m, "rate": r, "keep": k, "units": units})
        for n, m, r, k in found
    ]


def result(rows: list[lab.Row], _setup: lab.Setup) -> lab.Result:
    """Losses of Theorem 6 by the share kept, for each rate of the noise inside."""
    panels = [
        lab.Panel(
            title=f"noise above at rate {rate}",
            x_label="p, the share that is kept",
            y_label="loss (nats)",
            curves=_curves(rows, rate),
        )
        for rate in _RATES
    ]
    figure = lab.Figure("Theorem 6: each direction by its own law", panels)
    return lab.Result(rows, {"theorems": figure}, lambda: _claims(rows), _NOTES)


def _curves(rows: Sequence[lab.Row], rate: str) -> list[lab.Curve]:
    mine = [row for row in rows if row["what"] == "Theorem 6" and row["rate"] == rate]
    shares = [k / 100 for k in range(1, 96)]
    laws = {
        "addition": [log1p(p * expm1(_float(rate))) for p in shares],
        "removal": [-log(1 - p) for p in shares],
    }
    lines = [lab.Curve(look=look, x=shares, y=laws[name]) for name, look in _LINES.items()]
    return [*lines, lab.Curve.of(_FOUND, mine, "p", "found", dots=True)]


def _claims(rows: Sequence[lab.Row]) -> list[lab.Claim]:
    texts = {
        "Proposition 3": "Noise above the truth is addition-only ε-DP, and promises no more.",
        "Proposition 4": "Noise below the truth is removal-only ε-DP, and promises no more.",
        "both sides": "The difference of two exponentials, Laplace noise, is two-sided ε-DP.",
        "Theorem 5": "A sample in the clear is removal-only private, with -ln(1 - p).",
        "Theorem 6": "Addition-only DP of a sample is two-sided DP.",
        "equation (3)": "p = 1 - e^-ε and the rate ln(1 + e^ε) give ε in both directions.",
    }
    claims = []
    for name, text in texts.items():
        mine = [row for row in rows if row["what"] == name]
        finite = [row for row in mine if row["promised"] is not None]
        gap = max(abs(row["promised"] - row["found"]) for row in finite)
        endless = [row["impossible"] for row in mine if row["promised"] is None]
        words = f"{len(finite)} losses, promised and found, differ by at most {gap:.0e}"
        if endless:
            words += "; the other direction is infinite"
        claims.append(
            lab.Claim(
                judges="as run",
                text=f"{name}: {text}",
                measured=words,
                verdict=lab.judge([gap < 1e-4, *endless]),
            )
        )
    return claims


_NOTES = (
    "Every noise path and every coin of every data set of up to three units, with the shipped "
    "code. Where found equals promised, no less noise would do.",
    "Theorem 5 is why removal-only privacy alone must not be relied on: a p-fraction in the clear "
    "satisfies it.",
    "The rate ε in place of ln(1 + e^ε) in equation (3) is no breach: it is more noise, and loses "
    "ln(e^ε - 1 + e^-ε) < ε along addition. Breaches are twice the rate, its inverse, and the "
    "other share.",
)

EXPERIMENT = lab.Experiment(
    "theorems",
    "Propositions 3 and 4, Theorems 5 and 6, equation (3), by enumeration",
    "no data",
    jobs,
    result,
)
