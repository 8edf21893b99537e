"""Every histogram algorithm on every pair of a histogram and its open part, and their regrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.mechanism import Counts
from onesided.mechanism.histograms import Ahp, Dawa, OpenShape, SplitHistogram, zeros
from onesided.noise import IntArray, NotPrivateSeededNoise
from onesided.policy import sensitive
from onesided_experiments._model import Curve, Look, Row, where
from onesided_experiments._repeat import measured
from onesided_experiments._tables import locate
from onesided_experiments.baselines import Suppress
from onesided_experiments.osdp._rescaling import (
    NAMES,
    RESCALINGS,
    Rescaling,
    per_step,
    real,
    released,
)
from onesided_experiments.osdp._sampling import GENERATORS

Floats = NDArray[np.float64]
# Counts of all records, counts of open ones, noise, a seeded generator -> estimates of all.
Algorithm = Callable[[IntArray, IntArray, NotPrivateSeededNoise, np.random.Generator], Any]

POLICY: Final = sensitive("opted_out")
DATASETS: Final = ("adult", "nettrace", "medcost", "searchlogs", "income", "hepth", "patent")
TITLES: Final = dict(
    zip(
        DATASETS,
        ("Adult", "Nettrace", "Medcost", "Searchlogs", "Income", "Hepth", "Patent"),
        strict=True,
    )
)
OPEN_ONLY: Final = ("OsdpRR", "OsdpLaplace", "OsdpLaplaceL1")
# The paper's six; which DAWAz is the sixth depends on how its line 9 is read.
PAPER_POOLS: Final[dict[Rescaling, tuple[str, ...]]] = {
    one: ("Laplace", "DAWA", *OPEN_ONLY, NAMES[one]) for one in RESCALINGS
}
OWN: Final = (
    "OsdpLaplaceL1, whole numbers", "DAWA, looks first", "DAWAz, zeros left out", "AHP", "AHPz",
    "Split", "OpenShape",
)  # fmt: skip
PAPERS: Final = ("Laplace", "DAWA", *OPEN_ONLY, *NAMES.values())
POOL: Final = (*PAPERS, *OWN)
SUPPRESS: Final = {"Suppress10": 10, "Suppress100": 100}
MEASURES: Final = {"mre": "MRE", "rel95": "Rel95"}

LOOKS: Final = {
    "Laplace": Look("Laplace", "grey", dashed=True),
    "DAWA": Look("DAWA", "black", "square"),
    "OsdpRR": Look("OsdpRR", "sky", "triangle", dashed=True),
    "OsdpLaplace": Look("OsdpLaplace", "yellow", dashed=True),
    "OsdpLaplaceL1": Look("OsdpLaplaceL1", "orange", "diamond"),
    "DAWAz": Look("DAWAz, totals stay", "vermillion", "square"),
    "DAWAz, as printed": Look("DAWAz, line 9 as printed", "vermillion", "cross"),
    "DAWAz, not rescaled": Look("DAWAz, not rescaled", "vermillion", "triangle"),
    "DAWA, looks first": Look("DAWA that looks first (ours)", "black", "diamond", dashed=True),
    "DAWAz, zeros left out": Look("DAWAz, zeros left out (ours)", "green", "diamond"),
    "AHP": Look("AHP", "grey", "square", dashed=True),
    "AHPz": Look("AHPz", "purple", "triangle"),
    "Split": Look("split histogram (ours)", "sky", "diamond", dashed=True),
    "OpenShape": Look("open shape (ours)", "blue"),
    "Suppress10": Look("Suppress, τ = 10 ε (open to exclusion)", "grey"),
    "Suppress100": Look("Suppress, τ = 100 ε (open to exclusion)", "black"),
}


@lru_cache(maxsize=8)
def algorithms(epsilon: str) -> dict[str, Algorithm]:
    """All of them at one ε, under the policy of sensitive and open records."""
    return {
        **_papers(epsilon),
        **_own(epsilon),
        **{name: _suppress(epsilon, times) for name, times in SUPPRESS.items()},
    }


def _papers(epsilon: str) -> dict[str, Algorithm]:
    """The paper's six with real-valued noise, the sixth in three readings of its line 9.

    DAWA always makes a partition.
    """
    fine = per_step(epsilon)
    both = Counts.for_policy(POLICY, epsilon=fine)
    below = Counts.for_policy(POLICY, epsilon=fine, counted=["open"])
    back = median_out(fine)
    dawa = Dawa.for_policy(POLICY, epsilon=fine, clip=True, look_share=None)
    kept = -float(np.expm1(-float(epsilon)))
    return {
        "Laplace": lambda x, _open, noise, _random: real(both.release, x, noise=noise),
        "DAWA": lambda x, _open, noise, _random: real(dawa.release, x, noise=noise),
        # As RecordSample gives, without a coin for each of up to 28 million records.
        "OsdpRR": lambda _x, o, _noise, random: random.binomial(o, kept),
        "OsdpLaplace": lambda _x, o, noise, _random: real(below.release, o, noise=noise),
        "OsdpLaplaceL1": lambda _x, o, noise, _random: real(back.release, o, noise=noise),
        **{NAMES[one]: _dawaz(epsilon, one) for one in RESCALINGS},
    }


def median_out(epsilon: str | Fraction) -> Counts:
    """Noise below the open counts, its median taken out, clipped at 0."""
    return Counts.for_policy(
        POLICY, epsilon=epsilon, counted=["open"], correction="median", clip=True
    )


def _dawaz(epsilon: str, rescaling: Rescaling) -> Algorithm:
    recipe = zeros(Dawa).for_policy(POLICY, epsilon=per_step(epsilon), clip=True, look_share=None)
    release = partial(released, recipe, rescaling=rescaling)
    return lambda x, o, noise, _random: real(release, x, o, noise=noise)


def _own(epsilon: str) -> dict[str, Algorithm]:
    """What the paper does not have, all in whole numbers: its best, AHP, and what is ours."""
    back = median_out(epsilon)
    looks = Dawa.for_policy(POLICY, epsilon=epsilon, clip=True)
    looks_zeros = zeros(Dawa).for_policy(POLICY, epsilon=epsilon, clip=True)
    ahp = Ahp.for_policy(POLICY, epsilon=epsilon)
    ahp_zeros = zeros(Ahp).for_policy(POLICY, epsilon=epsilon)
    split = SplitHistogram.for_policy(POLICY, epsilon=epsilon)
    # The measures are relative errors of cells: what keeps records is measured in the benchmarks.
    shape = OpenShape.for_policy(POLICY, epsilon=epsilon, keep="cells")
    return {
        "OsdpLaplaceL1, whole numbers": lambda _x, o, noise, _random: back.release(o, noise=noise),
        "DAWA, looks first": lambda x, _open, noise, _random: looks.release(x, noise=noise),
        "DAWAz, zeros left out": lambda x, o, noise, _random: looks_zeros.release(
            x, o, noise=noise
        ),
        "AHP": lambda x, _open, noise, _random: ahp.release(x, noise=noise),
        "AHPz": lambda x, o, noise, _random: ahp_zeros.release(x, o, noise=noise),
        "Split": lambda x, o, noise, _random: split.estimate(split.release(x - o, o, noise=noise)),
        "OpenShape": lambda x, o, noise, _random: shape.release(x - o, o, noise=noise),
    }


def _suppress(epsilon: str, times: int) -> Algorithm:
    """Sensitive records are dropped, the others counted at τ = ``times`` ε."""
    # Changing a record, one count down and one up, then costs τ in all.
    mechanism = Suppress(times * per_step(epsilon) / 2, accept="open to exclusion attacks")
    return lambda _x, o, noise, _random: real(mechanism.release, o, noise=noise)


def errors_of(truth: IntArray, found: NDArray[Any]) -> tuple[float, float]:
    """MRE and Rel95: mean and 95th percentile of ``|x - estimate| / max(x, 1)`` over all bins."""
    relative = np.abs(np.asarray(found, dtype=np.float64) - truth) / np.maximum(truth, 1)
    return float(relative.mean()), float(np.quantile(relative, 0.95))


def find(data: Path | None) -> list[Path]:
    """The seven histograms, sparsest first; none if any is missing."""
    paths = [locate(data, "dpbench1d", f"{name}.npy") for name in DATASETS]
    return [] if None in paths else [path for path in paths if path]


def measure(
    *,
    path: Path,
    generator: str,
    ratios: Sequence[float],
    epsilons: Sequence[str],
    repeats: int,
    seed: int,
) -> list[Row]:
    """All algorithms on one histogram, one generator of policies, every ratio and ε."""
    truth = np.load(path).astype(np.int64)
    names = list(GENERATORS)
    random = np.random.default_rng([seed, DATASETS.index(path.stem), names.index(generator)])
    rows: list[Row] = []
    pairs = {ratio: GENERATORS[generator](truth, ratio, random) for ratio in ratios}
    noise = NotPrivateSeededNoise(int(random.integers(2**31)))
    for epsilon in epsilons:
        for name, algorithm in algorithms(epsilon).items():
            for ratio, opened in pairs.items():
                found = [
                    errors_of(truth, algorithm(truth, opened, noise, random))
                    for _ in range(repeats)
                ]
                base: Row = {
                    "dataset": path.stem, "generator": generator, "ratio": ratio,
                    "epsilon": epsilon, "method": name, "runs": repeats,
                }  # fmt: skip
                for measure_name, values in zip(MEASURES, zip(*found, strict=True), strict=True):
                    base |= measured(measure_name, values)
                rows.append(base)
    return rows


def with_regrets(
    rows: Iterable[Row], pool: Sequence[str] = POOL, measures: Iterable[str] = MEASURES
) -> list[Row]:
    """Each row with its regrets: the error over the least of the pool's on the same input.

    Where the least is 0 a regret says nothing, and is NaN for every algorithm.
    """
    made, names = list(rows), list(measures)
    least: dict[tuple[Any, ...], float] = {}
    for row in made:
        if row["method"] in pool:
            for name in names:
                key = (*_input(row), name)
                least[key] = min(least.get(key, np.inf), row[name])
    return [
        row
        | {
            f"regret_{name}": row[name] / best if (best := least[(*_input(row), name)]) else np.nan
            for name in names
        }
        for row in made
    ]


def average(rows: Iterable[Row], measure_name: str, **wanted: object) -> float:
    """The mean regret over the rows that fit, inputs with an optimum of 0 left out."""
    return mean(row[f"regret_{measure_name}"] for row in where(rows, **wanted))


def curves(
    rows: Sequence[Row],
    methods: Iterable[str],
    measure_name: str,
    along: str,
    values: Sequence[Any],
    *,
    looks: Mapping[str, Look] = LOOKS,
    dots: bool = False,
) -> list[Curve]:
    """The mean regret of each method, at each of the values of one column."""
    return [
        Curve(
            look=looks[method],
            x=range(len(values)),
            y=[average(rows, measure_name, method=method, **{along: one}) for one in values],
            kind="dots" if dots else "line",
        )
        for method in methods
    ]


def mean(values: Iterable[float]) -> float:
    """The mean of those that are numbers."""
    kept = [value for value in values if not np.isnan(value)]
    return float(np.mean(kept)) if kept else float("nan")


def _input(row: Row) -> tuple[Any, ...]:
    return row["dataset"], row["generator"], row["ratio"], row["epsilon"]
