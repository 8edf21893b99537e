"""Maps: AGrid, the zero-set recipe on it, and open shape along the Z-order curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.mechanism import Counts
from onesided.mechanism.histograms import AGrid, Dawa, OpenShape, zeros
from onesided.noise import IntArray, NotPrivateSeededNoise
from onesided_experiments import _model as lab
from onesided_experiments._repeat import measured
from onesided_experiments._tables import locate
from onesided_experiments.osdp._regret import (
    LOOKS,
    POLICY,
    average,
    curves,
    errors_of,
    with_regrets,
)
from onesided_experiments.osdp._rescaling import released
from onesided_experiments.osdp._sampling import GENERATORS

DATASETS: Final = (
    "adult_2d", "md_sal_2d", "sf_cabs_e", "loan_2d", "gowalla", "beijing_cabs_s", "beijing_cabs_e",
)  # fmt: skip
MEASURES: Final = {"mre": "MRE", "rel95": "Rel95", "ranges": "mean error of rectangles"}
_LOOKS: Final = LOOKS | {
    "AGrid": lab.Look("AGrid", "green", "triangle", dashed=True),
    "AGridz": lab.Look("AGridz", "green", "triangle"),
}
_RECTANGLES: Final = 2000
_FLOOR: Final = 0.001

Algorithm = Callable[[IntArray, IntArray, NotPrivateSeededNoise], NDArray[Any]]


def algorithms(epsilon: str, records: int) -> dict[str, Algorithm]:
    """``records``: about how many there are, which is taken as public here."""
    both = Counts.for_policy(POLICY, epsilon=epsilon)
    back = Counts.for_policy(
        POLICY, epsilon=epsilon, counted=["open"], correction="median", clip=True
    )
    grid = AGrid.for_policy(POLICY, epsilon=epsilon, records=records)
    grid_zeros = zeros(AGrid).for_policy(POLICY, epsilon=epsilon, records=records)
    dawa = Dawa.for_policy(POLICY, epsilon=epsilon, clip=True, look_share=None)
    learnt = zeros(Dawa).for_policy(POLICY, epsilon=epsilon, clip=True, look_share=None)
    left_out = zeros(Dawa).for_policy(POLICY, epsilon=epsilon, clip=True)
    # The measures are relative errors of cells: what keeps records is measured in the benchmarks.
    shape = OpenShape.for_policy(POLICY, epsilon=epsilon, keep="cells")
    return {
        "Laplace": lambda x, _open, noise: both.release(x.ravel(), noise=noise).reshape(x.shape),
        "DAWA": lambda x, _open, noise: dawa.release(x, noise=noise),
        "AGrid": lambda x, _open, noise: grid.release(x, noise=noise),
        "OsdpLaplaceL1": lambda x, o, noise: back.release(o.ravel(), noise=noise).reshape(x.shape),
        "DAWAz": lambda x, o, noise: released(learnt, x, o, noise=noise, rescaling="totals stay"),
        "DAWAz, zeros left out": lambda x, o, noise: left_out.release(x, o, noise=noise),
        "AGridz": lambda x, o, noise: grid_zeros.release(x, o, noise=noise),
        "OpenShape": lambda x, o, noise: shape.release(x - o, o, noise=noise),
    }


def measure(
    *,
    path: Path,
    generator: str,
    ratios: Sequence[float],
    epsilons: Sequence[str],
    repeats: int,
    seed: int,
) -> list[lab.Row]:
    """All algorithms on one map and one generator; High is a band of rows."""
    truth = np.load(path).astype(np.int64)
    random = np.random.default_rng([seed, 7, DATASETS.index(path.stem), len(generator)])
    corners = np.sort(random.integers(0, truth.shape[0] + 1, (2, _RECTANGLES, 2)), axis=2)
    noise = NotPrivateSeededNoise(int(random.integers(2**31)))
    rows: list[lab.Row] = []
    for ratio in ratios:
        opened = GENERATORS[generator](truth.ravel(), ratio, random).reshape(truth.shape)
        for epsilon in epsilons:
            for name, algorithm in algorithms(epsilon, int(truth.sum())).items():
                found = []
                for _ in range(repeats):
                    estimate = algorithm(truth, opened, noise)
                    found.append((*errors_of(truth, estimate), _ranges(truth, estimate, corners)))
                row: lab.Row = {
                    "dataset": path.stem, "generator": generator, "ratio": ratio,
                    "epsilon": epsilon, "method": name, "runs": repeats,
                }  # fmt: skip
                for measure_name, values in zip(MEASURES, zip(*found, strict=True), strict=True):
                    row |= measured(measure_name, values)
                rows.append(row)
    return rows


def _ranges(truth: IntArray, found: NDArray[Any], corners: IntArray) -> float:
    """Mean of ``|x - estimate| / max(x, N / 1000)`` over random rectangles."""

    def sums(table: NDArray[Any]) -> NDArray[Any]:
        prefix = np.pad(table.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
        (top, bottom), (left, right) = corners[0].T, corners[1].T
        inside: NDArray[Any] = (
            prefix[bottom, right] - prefix[top, right] - prefix[bottom, left] + prefix[top, left]
        )
        return inside

    real = sums(truth)
    return float(np.mean(np.abs(sums(found) - real) / np.maximum(real, _FLOOR * truth.sum())))


def jobs(setup: lab.Setup) -> list[lab.Job]:
    """One for each map and generator."""
    paths = [locate(setup.data, "dpbench2d", f"{name}.npy") for name in DATASETS]
    if None in paths:
        return []
    return [
        lab.Job(
            measure,
            {
                "path": path,
                "generator": generator,
                "ratios": (0.5,) if setup.quick else (0.99, 0.5, 0.1),
                "epsilons": ("1",) if setup.quick else ("1", "0.01"),
                "repeats": 1 if setup.quick else 3,
                "seed": setup.seed,
            },
        )
        for path in (paths[:2] if setup.quick else paths)
        for generator in ("Close", "Far")
    ]


def result(rows: list[lab.Row], _setup: lab.Setup) -> lab.Result:
    """Mean regrets by ratio, a panel for each measure and ε."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    made = with_regrets(rows, methods, MEASURES)
    ratios = sorted({row["ratio"] for row in rows}, reverse=True)
    panels = [
        lab.Panel(
            title=f"{label}, ε = {epsilon}",
            x_label="share of records that are open",
            y_label="regret",
            curves=curves(
                [row for row in made if row["epsilon"] == epsilon],
                methods,
                name,
                "ratio",
                ratios,
                looks=_LOOKS,
            ),
            log_y=True,
            x_names=[f"{ratio:g}" for ratio in ratios],
        )
        for epsilon in dict.fromkeys(row["epsilon"] for row in rows)
        for name, label in MEASURES.items()
    ]
    figure = lab.Figure("Regret on seven maps, both policies together", panels, columns=3)
    return lab.Result(made, {"maps": figure}, lambda: _claims(made), _notes())


def _claims(rows: Sequence[lab.Row]) -> list[lab.Claim]:
    """Not in the paper, which leaves other algorithms to future work."""

    def compared(one: str, two: str, text: str) -> lab.Claim:
        pairs = {
            f"{label} ε = {epsilon}": tuple(
                average(rows, name, method=method, epsilon=epsilon) for method in (one, two)
            )
            for name, label in MEASURES.items()
            for epsilon in dict.fromkeys(row["epsilon"] for row in rows)
        }
        pairs = {key: pair for key, pair in pairs.items() if not np.isnan(pair).any()}
        return lab.Claim(
            judges="ours",
            text=text,
            measured="; ".join(f"{key}: {a:.2f} / {b:.2f}" for key, (a, b) in pairs.items()),
            verdict=lab.judge([a <= b for a, b in pairs.values()]),
        )

    return [
        compared("AGridz", "AGrid", "The recipe helps AGrid (regrets AGridz / AGrid)."),
        compared("OpenShape", "AGridz", "Open shape beats AGridz."),
    ]


def _notes() -> list[str]:
    return [
        "Maps of 256 x 256 cells. High cells of the Far policy are a band of rows. Rectangles are "
        "2,000 at random, errors relative to at least a thousandth of all records.",
        "AGrid is told the number of records, as its paper does.",
        "Inputs whose least Rel95 is 0 (most maps are nearly empty) are left out of its average.",
    ]


EXPERIMENT = lab.Experiment(
    "maps", "AGrid and the zero-set recipe on seven maps", "dpbench2d/*.npy", jobs, result
)
