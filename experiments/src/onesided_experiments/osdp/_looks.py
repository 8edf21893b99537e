"""How methods are drawn and named in the figures of this paper, and where its policies are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from onesided.mechanism import RecordSample
from onesided.noise import BoolArray, IntArray, NotPrivateSeededNoise
from onesided.policy import sensitive
from onesided_experiments._model import Curve, Look, Row

# The policies P99 to P1: sets of sensitive zones that leave about that share of records open.

SHARES: Final = (99, 90, 75, 50, 25, 10, 1)
QUICK_SHARES: Final = (90, 25)
_ORDERS: Final = 60
_SLACK: Final = 0.005


class ZonePolicy(NamedTuple):
    """Which zones are sensitive, which records are open by that, and their share."""

    zones: IntArray
    open_records: BoolArray
    share: float


def choose_zones(passed: BoolArray, percent: int, seed: int) -> ZonePolicy:
    """Sensitive zones so that about ``percent`` of the records pass none of them.

    ``passed``: records by zones. Zones are taken in a random order, unless that would leave too few
    records open; of 60 orders the nearest to the share wins, and among equals the fewest zones. At
    least one zone is sensitive: the least passed one where each has more than its share.
    """
    noise, target = NotPrivateSeededNoise(seed * 1_009 + percent), percent / 100
    by_zone = np.ascontiguousarray(passed.T)
    tried = [_fill(by_zone, noise.permutation(len(by_zone)), target) for _ in range(_ORDERS)]
    found = [one for one in tried if one.zones.size]
    if not found:
        least = int(np.argmin(by_zone.sum(axis=1)))
        open_records = ~by_zone[least]
        return ZonePolicy(np.array([least]), open_records, float(open_records.mean()))
    return min(found, key=lambda one: (round(abs(one.share - target), 3), one.zones.size))


def _fill(by_zone: BoolArray, order: IntArray, target: float) -> ZonePolicy:
    still, share, chosen = np.ones(by_zone.shape[1], dtype=np.bool_), 1.0, []
    slack = min(_SLACK, target / 5)
    for zone in order:
        fewer = still & ~by_zone[zone]
        left = np.count_nonzero(fewer) / fewer.size
        if left < target - slack:
            continue
        still, share = fewer, left
        chosen.append(int(zone))
        if share <= target + slack:
            break
    return ZonePolicy(np.sort(np.array(chosen, dtype=np.int64)), still, share)


def sampled(open_records: BoolArray, epsilon: str, noise: NotPrivateSeededNoise) -> BoolArray:
    """OsdpRR: each open record with probability ``1 - e^-epsilon``; a sensitive one never."""
    mechanism = RecordSample.for_policy(sensitive("marked"), epsilon=epsilon)
    kept = np.zeros_like(open_records)
    kept[open_records] = mechanism.choose(int(open_records.sum()), noise=noise)
    return kept


EPSILONS: Final = ("1", "0.01")
X_LABEL: Final = "policy (percent of records that are open)"
LOOKS: Final = {
    "All NS": Look("All NS (not private: tells who is open)", "grey"),
    "OsdpRR": Look("OsdpRR (true sample)", "blue"),
    "ObjDP": Look("ObjDP", "vermillion", "square"),
    "Random": Look("Random", "black", "none", dashed=True),
    "LM T1": Look("LM T1", "vermillion", "square"),
    "LM T*": Look("LM T* (k chosen by looking: not private)", "orange", dashed=True),
    "ours: unknown keys": Look("ours: unknown keys T1", "green", "diamond"),
}


def policies(rows: Iterable[Row]) -> list[int]:
    """The policies that were tried, from P99 down."""
    tried = {row["policy"] for row in rows}
    return [share for share in SHARES if share in tried]


def bars(rows: Sequence[Row], method: str, value: str, tried: Sequence[int]) -> Curve:
    """A bar for each policy."""
    by_policy = {row["policy"]: row for row in rows if row["method"] == method}
    mine = [by_policy[one] for one in tried]
    return Curve(
        look=LOOKS[method],
        x=range(len(mine)),
        y=[row[value] for row in mine],
        spread=[row[f"{value}_spread"] for row in mine],
        kind="bar",
    )


def dots(rows: Sequence[Row], method: str, value: str, tried: Sequence[int]) -> Curve:
    """A dot for each policy, where the axis is logarithmic and a bar would have no foot."""
    by_policy = {row["policy"]: row for row in rows if row["method"] == method}
    y = [by_policy[one][value] for one in tried]
    return Curve(look=LOOKS[method], x=range(len(y)), y=y, kind="dots")


def level(rows: Sequence[Row], method: str, value: str, tried: Sequence[int]) -> Curve:
    """A flat line: a method that does not know of the policy."""
    (row,) = [row for row in rows if row["method"] == method]
    return Curve(look=LOOKS[method], x=range(len(tried)), y=[row[value]] * len(tried))


def names(tried: Sequence[int]) -> list[str]:
    """P99, P90, ..."""
    return [f"P{one}" for one in tried]
