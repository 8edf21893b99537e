"""Trees of marginals over tiny tables; and broken ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided import policy as policies
from onesided.mechanism import Counts
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE
from onesided.policy import GroupCount, Record
from onesided.verify import Data, Line, Universe, program, shipped
from onesided_experiments.marginals import Edges, Marginals

# Three attributes of two values each; enough cells for the trees to differ.
_CELLS: Final = tuple(f"{cell:03b}" for cell in range(8))
_CUBE: Final = Universe(
    groups=_CELLS,
    units=2,
    values=(
        *(Record("record", frozenset({cell})) for cell in ("000", "011", "110")),
        Record("absent"),
    ),
)
_OF_CUBE: Final[dict[str, Any]] = {"universe": _CUBE, "tail": 1e-7, "unseen": 1e-2}
_ONE: Final = Universe(units=1, max_groups=1)
_OPEN: Final = GroupCount(counted=frozenset({"open"}))


def cases() -> Iterator[Line]:
    """The sound first."""
    # Both phases where there is one pair; then each phase where there are three.
    for policy, query, epsilon in (
        (policies.bounded(), GroupCount(), 12),
        (policies.unbounded(), GroupCount(), 10),
        (policies.addition_only(), GroupCount(), 8),
        (policies.removal_only(), GroupCount(), 8),
        (policies.sensitive("private"), _OPEN, 8),
    ):
        asked: dict[str, Any] = {"epsilon": epsilon, "counted": query.counted}
        pair = Marginals.for_policy(policy, sizes=(2, 1), **asked)
        only = "there is one tree, so phase 1 tells nothing"
        about: dict[str, Any] = {"universe": _ONE, "epsilon": epsilon, "loose": only}
        yield shipped(pair, policy, query, tail=3e-8, unseen=1e-2, **about)
    added = policies.addition_only()
    trio = Marginals.for_policy(added, sizes=(2, 2, 2), epsilon=18, share="2/3")
    for name, run, claim in (
        ("Marginals (the tree)", partial(tree_of, trio), 12),
        ("Marginals (its tables)", partial(tables_of, trio), 6),
    ):
        loose = (
            "short of it by what was cut" if claim == 6 else "of phase 1 only the buckets are seen"
        )
        yield program(name, run, added, claim, loose=loose, **_OF_CUBE)
    yield from _broken()


def _broken() -> Iterator[Line]:
    added = policies.addition_only()
    trio = Marginals.for_policy(added, sizes=(2, 2, 2), epsilon=18, share="2/3")
    bare = replace(trio, pairing=Counts(INFINITE, INFINITE))
    once = replace(trio, measuring=Counts(6, INFINITE))
    for run, claim, flaw, seen in (
        (partial(tree_of, bare), 12, "the tree of the true pairs", "Chow and Liu as it is"),
        (partial(tables_of, once), 6, "each table at the price of all", "one record, one cell"),
    ):
        yield program("Marginals", run, added, claim, flaw=flaw, seen=seen, **_OF_CUBE)


def tree_of(mechanism: Marginals, data: Data, noise: Noise) -> Edges:
    """Right if the mechanism is: what phase 1 publishes."""
    return mechanism.learn(_codes(data), noise=noise)


def tables_of(mechanism: Marginals, data: Data, noise: Noise) -> tuple[NDArray[np.float64], ...]:
    """Right if the mechanism is: what phase 2 publishes of one tree."""
    return mechanism.measure(_codes(data), ((0, 1), (1, 2)), noise=noise)


def _codes(data: Data) -> IntArray:
    """Records whose cell is named by their codes, such as "011"."""
    cells = [
        cell
        for record in data
        for cell in (record.value if isinstance(record.value, frozenset) else ())
    ]
    return np.array([[int(code) for code in cell] for cell in cells], dtype=np.int64).reshape(-1, 3)
