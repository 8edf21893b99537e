"""Counts per bin, by whatever method, with the edges of the bins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided.mechanism import Interval
from onesided.noise import IntArray
from onesided.session._release import CountRelease, Release
from onesided.session.histograms._binned import bin_name
from onesided.session.histograms._bins import BinEdges


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HistogramRelease(Release):
    """Counts per bin, and per group if there are any. Everything here is public.

    method: "counts" bounds each count; others look at the whole histogram and give estimates.
    bins: the edges, per column. estimate: an axis for the groups if there are any, then one for
    each column's bins. counts: the release of counts, a row per group and cell, the last column's
    bins fastest; None for other methods. By "hierarchical" the estimate is unbiased, its sums too,
    and :attr:`non_negative` is its fit of counts of at least 0. lower: certain lower bounds where
    another method gives them ("split"), else None.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> policy = od.policy.addition_only()
    >>> session = od.Session(people, unit="person", policy=policy, budget=100)
    >>> release = session.histogram("age", bins=[0, 18, 65], epsilon=60)
    >>> release.estimate.tolist(), release.interval.upper_certain
    ([2, 1], True)
    """

    method: str
    bins: Mapping[str, BinEdges]
    estimate: NDArray[Any]
    counts: CountRelease | None = None
    lower: IntArray | None = None
    _fitted: Callable[[NDArray[Any]], NDArray[Any]] | None = field(default=None, compare=False)

    @property
    def summary(self) -> str:
        """What was found, in a few words."""
        return "" if self.method == "counts" else f"By {self.method}."

    @property
    def non_negative(self) -> NDArray[Any]:
        """The estimate with no count below 0, free of charge; ``estimate`` may be unbiased instead.

        By "hierarchical" the whole tree is projected from the total down, so that sums over ranges
        are as near as the unbiased ones. By others each count is on its own, and is cut at 0.
        """
        if self._fitted is not None:
            return self._fitted(np.asarray(self.estimate, dtype=np.float64))
        cut: NDArray[Any] = np.maximum(self.estimate, 0)
        return cut

    @property
    def interval(self) -> Interval:
        """The bounds, a row per cell. Errors: ParameterError where the method gives none."""
        if self.counts is not None:
            return self.counts.interval
        if self.lower is None:
            return Release.interval.fget(self)  # type: ignore[attr-defined,no-any-return] # refuses
        lower = self.lower.ravel()
        top = np.full(lower.shape, np.inf)
        return Interval(lower, top, True, False)  # noqa: FBT003

    @property
    def labels(self) -> list[Any]:
        """The cells: what stands before the numbers in each row."""
        told = self.columns()
        ends = [name for name in told if name not in ("estimate", *_SIDES, *self.beside)]
        return list(zip(*(told[name] for name in ends), strict=True))

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that came with the groups' keys."""
        return () if self.counts is None else self.counts.beside

    def columns(self) -> dict[str, list[Any]]:
        """The groups, the bins' ends and the numbers; ``_from`` is in the bin, ``_to`` is not."""
        if self.counts is None:
            return self._of_cells()
        told: dict[str, list[Any]] = {}
        ends = {bin_name(column): (column, bins) for column, bins in self.bins.items()}
        for name, values in self.counts.columns().items():
            if name not in ends:
                told[name] = values
                continue
            column, bins = ends[name]
            edges = [float(edge) for edge in bins.edges]
            told[f"{column}_from"] = [edges[place] for place in values]
            told[f"{column}_to"] = [edges[place + 1] for place in values]
        return told

    def _of_cells(self) -> dict[str, list[Any]]:
        shape = self.estimate.shape
        told: dict[str, list[Any]] = {}
        places = np.indices(shape).reshape(len(shape), -1)
        for (column, bins), place in zip(self.bins.items(), places, strict=True):
            edges = np.array([float(edge) for edge in bins.edges])
            told[f"{column}_from"] = edges[place].tolist()
            told[f"{column}_to"] = edges[place + 1].tolist()
        told["estimate"] = self.estimate.ravel().tolist()
        if self.lower is not None:
            told["lower"] = self.lower.ravel().tolist()
        return told

    @property
    def bound_words(self) -> str:
        """How sure a bound is that is not certain."""
        return "" if self.counts is None else self.counts.bound_words


_SIDES = ("lower", "upper", "lower_certain", "upper_certain")
