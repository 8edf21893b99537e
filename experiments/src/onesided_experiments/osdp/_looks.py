"""How methods are drawn and named in the figures of this paper, and where its policies are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from onesided_experiments._model import Curve, Look, Row
from onesided_experiments.osdp._policies import SHARES

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
