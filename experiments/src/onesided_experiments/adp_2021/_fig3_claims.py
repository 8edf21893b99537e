"""What the paper says of Figure 3: as the authors ran it, and corrected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from onesided_experiments._model import Claim, Row, judge
from onesided_experiments.adp_2021._sweep import EPSILON, K, at, datasets, each

OURS: Final = "asymmetric, adaptive"
_FORM: Final = "{0[0]:.3f} against {0[1]:.3f}"
_RUN: Final = ("asymmetric, adaptive, as run", "free gap, adaptive, as run")


def claims(rows: Sequence[Row]) -> list[Claim]:
    ratios, ends, sooner, least = {}, {}, {}, {}
    for name in datasets(rows):
        here = [row for row in rows if row["dataset"] == name]
        adp, gap = _curve(here, "asymmetric", "mean"), _curve(here, "free gap", "combined")
        if EPSILON not in adp or "1" not in adp:
            continue
        ratios[name] = gap[EPSILON]["mse"] / adp[EPSILON]["mse"]
        ends[name] = (adp["1"]["precision"], gap["1"]["precision"])
        sooner[name] = (adp["0.3"]["precision"], gap["0.3"]["precision"])
        smallest = [
            row["precision"]
            for method, estimate in (("asymmetric", "mean"), ("free gap", "combined"))
            if (row := at(here, method=method, estimate=estimate, varying="k", k=10))
        ]
        least[name] = (smallest[0], smallest[1])
    return [
        *_as_run_claims(rows),
        Claim(
            judges="corrected",
            text=f"The values' mean squared error is about ten times smaller than free gap's at "
            f"ε = {EPSILON}, k = {K} (taken as 7 or more).",
            measured=each(ratios, "{:.2f}x"),
            verdict=judge([value >= 7 for value in ratios.values()]),
        ),
        *_precision_claims(ends, sooner, least),
        *_hits_claims(rows),
    ]


def _as_run_claims(rows: Sequence[Row]) -> list[Claim]:
    """Section 6.2.2, with both adaptive sparse vectors as the authors have them."""
    hits = _pairs(rows, EPSILON, "recall")
    pos = {name: found for name, found in hits.items() if name.startswith("BMS-POS")}
    small = {n: found for n in datasets(rows) if (found := _at_small_k(_of(rows, n)))}
    return [
        _ten_as_run(_pairs(rows, EPSILON, "mse")),
        Claim(
            judges="as run",
            text=f"Accuracy (hits / k among the k largest answers) at ε = {EPSILON}, k = {K} is "
            "0.94 for ADP and 0.89 for free gap on BMS-POS (taken as within 0.02).",
            measured=each(pos, _FORM),
            verdict=judge([max(abs(a - 0.94), abs(b - 0.89)) <= 0.02 for a, b in pos.values()]),
        ),
        Claim(
            judges="as run",
            text=f"ADP is more accurate at ε = {EPSILON}, k = {K}.",
            measured=each(hits, _FORM),
            verdict=judge([own > gap for own, gap in hits.values()]),
        ),
        _almost(_pairs(rows, "1", "recall"), "At ε = 1 accuracy is almost the same"),
        _almost(small, "At small k (10) accuracy is almost the same"),
    ]


def _pairs(rows: Sequence[Row], epsilon: str, value: str) -> dict[str, tuple[float, float]]:
    """By data set, ADP's and free gap's, as run."""
    found = {}
    for name in datasets(rows):
        own, rival = (_curve(_of(rows, name), one, "mean").get(epsilon) for one in _RUN)
        if own and rival:
            found[name] = (float(own[value]), float(rival[value]))
    return found


def _ten_as_run(errors: Mapping[str, tuple[float, float]]) -> Claim:
    return Claim(
        judges="as run",
        text=f"The values' mean squared error is about ten times smaller at ε = {EPSILON}, "
        f"k = {K} (taken as 5 to 30; their notebook has about 7).",
        measured="; ".join(
            f"{n} {gap:,.0f} / {own:,.0f} = {gap / own:.1f}x" for n, (own, gap) in errors.items()
        ),
        verdict=judge([5 <= gap / own <= 30 for own, gap in errors.values()]),
    )


def _almost(pairs: Mapping[str, tuple[float, float]], text: str) -> Claim:
    return Claim(
        judges="as run",
        text=f"{text} (taken as within 0.05).",
        measured=each(pairs, _FORM),
        verdict=judge([abs(own - gap) <= 0.05 for own, gap in pairs.values()]),
    )


def _at_small_k(rows: Sequence[Row]) -> tuple[float, float] | None:
    own, gap = (at(rows, method=one, varying="k", k=10) for one in _RUN)
    return (own["recall"], gap["recall"]) if own and gap else None


def _of(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in rows if row["dataset"] == name]


def _hits_claims(rows: Sequence[Row]) -> list[Claim]:
    """The figure's own measure, with the shipped adaptive sparse vectors."""

    def hits(rival: str) -> dict[str, tuple[float, float]]:
        found = {}
        for name in datasets(rows):
            here = [row for row in rows if row["dataset"] == name]
            both = [_curve(here, one, "mean").get(EPSILON) for one in (OURS, rival)]
            if both[0] and both[1]:
                found[name] = (both[0]["recall"], both[1]["recall"])
        return found

    halved, gaps = hits("free gap, adaptive"), hits("free gap, adaptive, gaps")
    form = "{0[0]:.3f} against {0[1]:.3f}"
    return [
        Claim(
            judges="corrected",
            text=f"Both adaptive, whole numbers, monotone noise: ADP has more hits / k at "
            f"ε = {EPSILON}, k = {K}, where free gap keeps half of ε to measure.",
            measured=each(halved, form),
            verdict=judge([adp > gap for adp, gap in halved.values()]),
        ),
        Claim(
            judges="corrected",
            text="The same where free gap spends all of ε to find, and its gaps are its values.",
            measured=each(gaps, form),
            verdict=judge([adp > gap for adp, gap in gaps.values()]),
        ),
    ]


def _precision_claims(
    ends: Mapping[str, tuple[float, float]],
    sooner: Mapping[str, tuple[float, float]],
    least: Mapping[str, tuple[float, float]],
) -> list[Claim]:
    form = "{0[0]:.3f} against {0[1]:.3f}"
    return [
        Claim(
            judges="corrected",
            text="At ε = 1 precision is almost the same (taken as within 0.05), for the unknown "
            "threshold limits both.",
            measured=each(ends, form),
            verdict=judge([abs(adp - gap) <= 0.05 for adp, gap in ends.values()]),
        ),
        Claim(
            judges="corrected",
            text="ADP gets there at smaller ε (precision at ε = 0.3 is higher).",
            measured=each(sooner, form),
            verdict=judge([adp > gap for adp, gap in sooner.values()]),
        ),
        Claim(
            judges="corrected",
            text="At small k (10) precision is almost the same (within 0.05).",
            measured=each(least, form),
            verdict=judge([abs(adp - gap) <= 0.05 for adp, gap in least.values()]),
        ),
    ]


def _curve(rows: Sequence[Row], method: str, estimate: str) -> dict[str, Row]:
    """The sweep over ε, by ε."""
    return {
        row["epsilon"]: row
        for row in rows
        if (row["method"], row["estimate"], row["varying"]) == (method, estimate, "epsilon")
    }
