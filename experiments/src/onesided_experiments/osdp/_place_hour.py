"""A zone by hour histogram of people, its open part, and the algorithms that estimate it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onesided.mechanism import Counts, RecordSample
from onesided.mechanism.histograms import Dawa, OpenShape, SplitHistogram, zeros
from onesided.noise import BoolArray, IntArray, NotPrivateSeededNoise
from onesided.policy import bounded, sensitive
from onesided_experiments.baselines import DiscreteLaplace
from onesided_experiments.osdp._policies import ZonePolicy, choose_zones
from onesided_experiments.osdp._rescaling import NAMES, RESCALINGS, Rescaling, released
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
_POLICY: Final = sensitive("marked")


def _laplace(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> Floats:
    """All records as if sensitive; negative answers become 0, which is free."""
    found = DiscreteLaplace.for_policy(bounded(), epsilon=epsilon)
    return np.maximum(found.release(parts.everybody, noise=noise), 0).astype(np.float64)


def _dawa(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> Floats:
    """As in its paper: a partition always, without asking first whether one is worth it."""
    found = Dawa.for_policy(bounded(), epsilon=epsilon, clip=True, look_share=None)
    return found.release(parts.everybody, noise=noise)


def _dawa_looks(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> Floats:
    """Ours: asks first, at a small part of ε."""
    found = Dawa.for_policy(bounded(), epsilon=epsilon, clip=True)
    return found.release(parts.everybody, noise=noise)


def _zeros_left_out(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> Floats:
    """Ours: cells that are known to be 0 are left out before a partition is learnt."""
    found = zeros(Dawa).for_policy(_POLICY, epsilon=epsilon, clip=True)
    return found.release(parts.everybody, parts.open_part, noise=noise)


def _sample(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> IntArray:
    return RecordSample.for_policy(_POLICY, epsilon=epsilon).release(parts.open_part, noise=noise)


def _below(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> NDArray[np.generic]:
    """Noise below the open counts at rate ε, as it falls."""
    found = Counts.for_policy(_POLICY, epsilon=epsilon, counted=["open"])
    return found.release(parts.open_part, noise=noise)


def _below_clipped(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> NDArray[np.generic]:
    """... clipped at 0, and the noise's median taken out."""
    found = Counts.for_policy(
        _POLICY, epsilon=epsilon, counted=["open"], correction="median", clip=True
    )
    return found.release(parts.open_part, noise=noise)


def _hybrid(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> Floats:
    """Two-sided noise where zones are sensitive, noise below elsewhere, all at rate ε/2.

    Loss: a move out of a sensitive zone falls there (ε/2) and rises once, there or among the open
    (ε/2). The paper adds the parts up, which would be ε for the first and ε/2 for the second.
    """
    half = Fraction(epsilon) / 2
    found = _below_clipped(parts, str(half), noise).astype(np.float64)
    closed = Counts(half, half).release(parts.everybody[parts.closed_cells], noise=noise)
    found[parts.closed_cells] = np.maximum(closed, 0)
    return found


def _dawa_zeros(
    parts: Parts, epsilon: str, noise: NotPrivateSeededNoise, *, rescaling: Rescaling
) -> Floats:
    """Algorithm 3, with a tenth of ε for the zeros: cells without an open record become 0."""
    found = zeros(Dawa).for_policy(_POLICY, epsilon=epsilon, clip=True, look_share=None)
    return released(found, parts.everybody, parts.open_part, noise, rescaling)


def _split(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> IntArray:
    """Both kinds counted apart at once, charged per edge; a cell of a sensitive zone has one."""
    rest: Holds = "mixed" if parts.mixed else "open"
    holds: list[Holds] = ["sensitive" if closed else rest for closed in parts.closed_cells]
    found = SplitHistogram.for_policy(_POLICY, epsilon=epsilon, holds=holds)
    hidden = parts.everybody - parts.open_part
    return found.estimate(found.release(hidden, parts.open_part, noise=noise))


def _open_shape(parts: Parts, epsilon: str, noise: NotPrivateSeededNoise) -> IntArray:
    """Sensitive totals of buckets that the open counts show, spread in the open counts' shape."""
    hidden = parts.everybody - parts.open_part
    return OpenShape.for_policy(_POLICY, epsilon=epsilon).release(
        hidden, parts.open_part, noise=noise
    )


def _nothing(parts: Parts, _epsilon: str, _noise: NotPrivateSeededNoise) -> IntArray:
    """0 everywhere: whatever errs more is of no use."""
    return np.zeros_like(parts.everybody)


ALGORITHMS: Final[dict[str, Algorithm]] = {
    "zeros": _nothing,
    "Laplace": _laplace,
    "DAWA": _dawa,
    "OsdpRR": _sample,
    "OsdpLaplace": _below,
    "OsdpLaplaceL1": _below_clipped,
    "hybrid": _hybrid,
    **{NAMES[one]: partial(_dawa_zeros, rescaling=one) for one in RESCALINGS},
    "ours: DAWA that looks first": _dawa_looks,
    "ours: DAWAz, zeros left out": _zeros_left_out,
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
