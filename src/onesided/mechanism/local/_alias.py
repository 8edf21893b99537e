"""Exact draws from many finite distributions at once (Walker's alias method, in fractions)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from onesided.noise import IntArray, Noise


@dataclass(frozen=True, slots=True, eq=False)
class AliasTable:
    """A column is drawn uniformly; a coin of that cell keeps it or sends it to its alias.

    One uniform number and one coin per draw, whatever the letter. coins: the different chances;
    which: the cell's coin; alias: where the cell sends.
    """

    coins: tuple[Fraction, ...]
    which: IntArray
    alias: IntArray

    @classmethod
    def of(cls, rows: Sequence[Sequence[Fraction]]) -> AliasTable:
        """For rows of chances that each add up to exactly 1."""
        kept = [_aliased(row) for row in rows]
        coins = {
            chance: place for place, chance in enumerate({c: 0 for row, _ in kept for c in row})
        }
        return cls(
            tuple(coins),
            np.array([[coins[chance] for chance in row] for row, _ in kept], dtype=np.int64),
            np.array([alias for _, alias in kept], dtype=np.int64),
        )

    def draw(self, rows: IntArray, noise: Noise) -> IntArray:
        """One output for each entry, which names its row."""
        columns = noise.uniform(self.which.shape[1], rows.size)
        which = self.which[rows, columns]
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which, minlength=len(self.coins)))
        keeps = np.empty(rows.size, dtype=np.bool_)
        start = 0
        for chance, end in zip(self.coins, ends.tolist(), strict=True):
            if end > start:
                keeps[order[start:end]] = noise.bernoulli(chance, end - start)
            start = end
        return np.where(keeps, columns, self.alias[rows, columns])


def _aliased(row: Sequence[Fraction]) -> tuple[list[Fraction], list[int]]:
    """Each cell's chance to keep its own column, and where it sends otherwise.

    Every cell holds 1/m of the mass: a poor column fills up from a rich one.
    """
    mass = [chance * len(row) for chance in row]
    keep, alias = [Fraction(1)] * len(row), list(range(len(row)))
    poor = [place for place, held in enumerate(mass) if held < 1]
    rich = [place for place, held in enumerate(mass) if held > 1]
    while poor:
        small, large = poor.pop(), rich[-1]
        keep[small], alias[small] = mass[small], large
        mass[large] -= 1 - mass[small]
        if mass[large] <= 1:
            rich.pop()
            if mass[large] < 1:
                poor.append(large)
    return keep, alias
