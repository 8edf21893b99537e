"""Certain bounds of a table that travel between cells and margins, against every table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Final

import numpy as np

from onesided.linear.kit import Margins, tightened
from onesided_proofs.checks._samplers import Sampled

_SEEDS: Final = range(30)
Bounds = tuple[list[Any], list[Any]]


def travelled_checks() -> Iterator[Sampled]:
    """Bounds are drawn around a table; what follows must hold of every table that fits them."""
    name, table = "bounds that travel", _table()
    yield Sampled(name, "two attributes of two values", _fault(table, tightened))
    yield Sampled(name, "bounds that travel the wrong way", _fault(table, _wrong_way), sound=False)
    # In each a truth that fits, and what a short rule makes of it.
    line = Margins([[]], [(0,), (1,)], grid=[2])
    given = [np.zeros(1), np.array([0.0, 1.0])], [np.array([1.0]), np.full(2, np.inf)]
    within = _outside(tightened(line, *given), [np.array([1]), np.array([0, 1])])
    yield Sampled(name, "one of two cells is full", within)
    for what, truth in (
        ("one person in two cells", [np.array([1]), np.array([1, 1])]),
        ("a null key of a sibling", [np.array([1]), np.array([1, 1])]),
        ("a likely bound of a sibling", [np.array([1]), np.array([1, 0])]),
    ):
        yield Sampled(name, what, _outside(tightened(line, *given), truth), sound=False)


def _table() -> Margins:
    one = Margins([[], []], [(1, 1)], grid=[2, 2])
    return one.with_margins(dict.fromkeys(one.every, 1))


def _fault(table: Margins, rule: Callable[..., Bounds]) -> str:
    for seed in _SEEDS:
        generator = np.random.Generator(np.random.PCG64(seed))
        truth = table.parts(table.apply(generator.integers(0, 3, 4)).astype(float))
        low = [np.maximum(p - generator.integers(0, 2, p.shape), 0) for p in truth]
        high = [np.where(generator.random(p.shape) < 0.6, p + generator.integers(0, 2, p.shape),
                         np.inf) for p in truth]  # fmt: skip
        told = rule(table, low, high)
        for cells in product(range(3), repeat=4):
            parts = table.parts(table.apply(np.array(cells)))
            if not _outside((low, high), parts) and (fault := _outside(told, parts)):
                return fault
    return ""


def _outside(told: Bounds, parts: list[Any]) -> str:
    for low, part, high in zip(told[0], parts, told[1], strict=True):
        if np.any(low > part) or np.any(part > high):
            return f"{part.tolist()} is not within {low.tolist()} and {high.tolist()}"
    return ""


def _wrong_way(table: Margins, low: list[Any], high: list[Any]) -> Bounds:
    """A margin takes the largest upper bound of its cells for its own."""
    cells = high[-1].reshape(table.grid)
    return low, [np.minimum(high[0], cells.max()), *high[1:]]
