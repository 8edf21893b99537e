"""A zone by hour histogram of people, its open part, and the algorithms that estimate it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onesided.mechanism import Counts, RecordSample
from onesided.mechanism.histograms import OpenShape, SplitHistogram
from onesided.noise import BoolArray, IntArray, NotPrivateSeededNoise
from onesided_experiments.osdp._looks import ZonePolicy, choose_zones
from onesided_experiments.osdp._regret import PAPERS, POLICY, algorithms, median_out
from onesided_experiments.osdp._rescaling import per_step, real
from onesided_experiments.osdp._trajectories import ZONES, Trace

Floats = NDArray[np.float64]


class Visits(NamedTuple):
    """One record for each person, zone and hour: the record's cell, and its person."""

    cell: IntArray
    user: IntArray
    hours: int


class Parts(NamedTuple):
    """Counts of all records, counts of the open ones, and the cells of sensitive zones.

    ``mixed``: whether the other cells can hold sensitive records too.
    """

    everybody: IntArray
    open_part: IntArray
    closed_cells: BoolArray
    mixed: bool


def visits_of(trace: Trace) -> Visits:
    """Zone by zone, hour by hour: different people, over all days of the trace."""
    hours = int(trace.hour.max()) + 1
    user = trace.user[trace.day]
    rows = np.unique(np.stack([trace.zone * hours + trace.hour, user], 1), axis=0)
    return Visits(rows[:, 0].copy(), rows[:, 1].copy(), hours)


def by_visit(visits: Visits, percent: int, seed: int) -> tuple[Parts, ZonePolicy]:
    """A visit is sensitive if its zone is: no cell holds both kinds."""
    zone = visits.cell // visits.hours
    chosen = choose_zones(np.eye(ZONES, dtype=np.bool_)[zone], percent, seed)
    return _parts(visits, chosen, mixed=False), chosen


def by_day(visits: Visits, trace: Trace, percent: int, seed: int) -> tuple[Parts, ZonePolicy]:
    """A visit is sensitive if its day passes a sensitive zone. The trace must be of one day."""
    chosen = choose_zones(trace.zones_by_day(), percent, seed)
    open_person = np.zeros(int(trace.user.max()) + 1, dtype=np.bool_)
    open_person[trace.user] = chosen.open_records
    chosen = chosen._replace(open_records=open_person[visits.user])
    return _parts(visits, chosen, mixed=True), chosen


def _parts(visits: Visits, chosen: ZonePolicy, *, mixed: bool) -> Parts:
    cells = ZONES * visits.hours
    everybody = np.bincount(visits.cell, minlength=cells).astype(np.int64)
    open_part = np.bincount(visits.cell[chosen.open_records], minlength=cells).astype(np.int64)
    closed = np.isin(np.arange(cells) // visits.hours, chosen.zones)
    return Parts(everybody, open_part, closed, mixed)


Holds = Literal["sensitive", "open", "mixed"]
Algorithm = Callable[[Parts, str, NotPrivateSeededNoise], NDArray[np.generic]]


def _shared(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise, *, name: str) -> Any:
    """One that estimates the DPBench histograms too, and takes nothing from the generator."""
    return algorithms(epsilon)[name](
        parts.everybody, parts.open_part, noise, np.random.default_rng(0)
    )


def _laplace(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> Floats:
    """All records as if sensitive; negative answers become 0, which is free."""
    found: Floats = np.maximum(_shared(parts, epsilon, noise, name="Laplace"), 0)
    return found


def _sample(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> IntArray:
    return RecordSample.for_policy(POLICY, epsilon=epsilon).release(parts.open_part, noise=noise)


def _hybrid(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> Floats:
    """Two-sided noise where zones are sensitive, noise below elsewhere, all at rate ε/2.

    Loss: a move out of a sensitive zone falls there (ε/2) and rises once, there or among the open
    (ε/2). The paper adds the parts up, which would be ε for the first and ε/2 for the second.
    """
    fine, cells = per_step(epsilon) / 2, parts.closed_cells
    found = real(median_out(fine).release, parts.open_part, noise=noise)
    closed = real(Counts(fine, fine).release, parts.everybody[cells], noise=noise)
    found[cells] = np.maximum(closed, 0)
    return found


def _split(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> IntArray:
    """Both kinds counted apart at once, charged per edge; a cell of a sensitive zone has one."""
    rest: Holds = "mixed" if parts.mixed else "open"
    holds: list[Holds] = ["sensitive" if closed else rest for closed in parts.closed_cells]
    found = SplitHistogram.for_policy(POLICY, epsilon=epsilon, holds=holds)
    hidden = parts.everybody - parts.open_part
    return found.estimate(found.release(hidden, parts.open_part, noise=noise))


def _open_shape(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> IntArray:
    """Sensitive totals of buckets that the open counts show, spread in the open counts' shape."""
    hidden = parts.everybody - parts.open_part
    return OpenShape.for_policy(POLICY, epsilon=epsilon).release(
        hidden, parts.open_part, noise=noise
    )


def _nothing(parts: Parts, _epsilon: str, _noise: NotPrivateSeededNoise) -> IntArray:
    """0 everywhere: whatever errs more is of no use."""
    return np.zeros_like(parts.everybody)


ALGORITHMS: Final[dict[str, Algorithm]] = {
    "zeros": _nothing,
    **{name: partial(_shared, name=name) for name in PAPERS},
    "Laplace": _laplace,
    "OsdpRR": _sample,
    "hybrid": _hybrid,
    "ours: DAWA that looks first": partial(_shared, name="DAWA, looks first"),
    "ours: DAWAz, zeros left out": partial(_shared, name="DAWAz, zeros left out"),
    "ours: split": _split,
    "ours: open shape": _open_shape,
}


class Errors(NamedTuple):
    """Mean, median and 95th percentile of the relative error per cell."""

    mean: float
    median: float
    high: float


def errors_of(truth: IntArray, found: NDArray[np.generic]) -> Errors:
    """``|x - estimate| / max(x, 1)`` over all cells, empty ones too."""
    relative = np.abs(found.astype(np.float64) - truth) / np.maximum(truth, 1)
    return Errors(
        float(relative.mean()), float(np.median(relative)), float(np.quantile(relative, 0.95))
    )
