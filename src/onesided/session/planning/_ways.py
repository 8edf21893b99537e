"""Questions that lead to the same numbers, each asked in another way; for plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import exact
from onesided.engine import public_keys
from onesided.session._context import QueryContext
from onesided.session._count import Count
from onesided.session._groups import Grouped, names_of
from onesided.session._top_k import TopK
from onesided.session.histograms._histogram import Histogram
from onesided.session.histograms._histogram_methods import METHODS
from onesided.session.several._several import Several
from onesided.session.values._mean import Mean
from onesided.session.values._quantile import Quantile
from onesided.session.values._sum import Sum, Valued
from onesided.session.values._value import Value
from onesided.session.workloads._linear import LinearQuery
from onesided.session.workloads._ranges import RangeQuery, workload_of

Floats = NDArray[np.float64]
Told = Callable[[Any], Floats]
_MOST_CELLS: Final = 1_024
_TREES: Final = ("hierarchy 2", "hierarchy 16", "wavelet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One question that leads to the numbers asked for.

    told: the numbers, read off its release. note: why one might ask so. closed: whether the error
    in its own plan is that of each of these numbers. certain: whether its certain sides are theirs.

    >>> Way(name="Counts", question=Count(epsilon=1), told=lambda release: release.estimate).closed
    False
    """

    name: str
    question: Any
    told: Told
    note: str = ""
    closed: bool = False
    certain: bool = False


def ways_of(question: Any, context: QueryContext) -> tuple[Way, ...]:
    """The question itself, and other ways to its answer; none for a kind that has no list."""
    kind = _KINDS.get(type(question))
    return () if kind is None else tuple(kind(question, context))


def _estimate(release: Any) -> Floats:
    found: Floats = np.asarray(release.estimate, dtype=np.float64).reshape(-1)
    return found


def _counts(asked: Count, context: QueryContext) -> Iterator[Way]:
    yield Way(name="Counts", question=asked, told=_estimate, closed=True, certain=True)
    by = names_of(asked.by, name="by")
    plain = asked.counted is None and not asked.others and (asked.max_groups or 1) == 1
    size = context.keys(asked.keys, by).size if by else 0
    if plain and 1 < size <= _MOST_CELLS:
        cells = np.eye(size, dtype=np.int64)
        for name in _TREES:
            trees = LinearQuery(
                cells,
                by=by,
                keys=asked.keys,
                epsilon=asked.epsilon,
                strategy=name,
                where=asked.where,
                unknown=asked.unknown,
            )
            note = "totals of runs of groups, which the counts are made to agree with"
            told = f"Linear, {name}"
            yield Way(name=told, question=trees, told=_estimate, note=note, closed=True)
    most = asked.max_groups or 1
    for fewer in sorted({1, most // 2} - {0, most}) if most > 1 and not asked.others else ():
        cut = replace(asked, max_groups=fewer, on_excess="truncate")
        note = "less noise; units in more groups are truncated"
        yield Way(name=f"Counts, max_groups={fewer}", question=cut, told=_estimate, note=note)


def _histograms(asked: Histogram, context: QueryContext) -> Iterator[Way]:
    first = [asked.method, *(name for name in METHODS if name != asked.method)]
    for method in first:
        note = "" if method == asked.method else _METHOD_NOTES.get(method, "")
        other = replace(asked, method=method, like=None)  # type: ignore[arg-type] # of METHODS
        same = method in ("counts", asked.method)
        yield Way(
            name=f'method="{method}"', question=other, told=_estimate, note=note, certain=same
        )
    del context


_METHOD_NOTES: Final = {
    "counts": "each cell on its own",
    "hierarchical": "a tree of totals, for ranges",
}


def _in_cells(asked: Valued, value: Value, context: QueryContext) -> RangeQuery | None:
    """How many rows have each value of the grid; None where there are too many, or groups."""
    steps = range(value.low, value.high + 1)
    if asked.by or asked.counted is not None or context.unit is not None:
        return None
    if len(steps) > _MOST_CELLS:
        return None
    half = value.step / 2
    edges = [step * value.step - half for step in (*steps, value.high + 1)]
    return RangeQuery(
        asked.column,
        "cells",
        bins=edges,
        epsilon=asked.epsilon,
        missing=asked.missing,
        where=asked.where,
        unknown=asked.unknown,
    )


def _steps(value: Value) -> Floats:
    """Every value of the grid."""
    found: Floats = np.arange(value.low, value.high + 1).astype(np.float64)
    return found * float(value.step)


def _narrower(asked: Valued, value: Value) -> Iterator[tuple[str, Any]]:
    """The same within narrower bounds: less noise, and more is clipped."""
    for part in (2, 4):
        low = value.low if value.low >= 0 else -(-value.low // part)
        high = low + (value.high - low) // part if value.low >= 0 else value.high // part
        if low < high and (low, high) != (value.low, value.high):
            bounds = (low * value.step, high * value.step)
            told = f"bounds=({float(bounds[0]):g}, {float(bounds[1]):g})"
            yield told, asked.within(*bounds)


def _sums(asked: Sum, context: QueryContext) -> Iterator[Way]:
    yield Way(name="Sums", question=asked, told=_estimate, closed=True, certain=True)
    value = asked.value(context)
    for name, other in _narrower(asked, value):
        note = "less noise; larger values are clipped"
        yield Way(name=f"Sums, {name}", question=other, told=_estimate, note=note)
    cells = _in_cells(asked, value, context)
    if cells is not None:
        steps = _steps(value)
        yield Way(
            name="counts of each value, added up",
            question=cells,
            told=lambda release: np.array([float(steps @ _estimate(release))]),
            note="noise on each value's count, times the value",
        )


def _means(asked: Mean, context: QueryContext) -> Iterator[Way]:
    yield Way(name="Mean", question=asked, told=_estimate, certain=True)
    value = asked.value(context)
    for name, other in _narrower(asked, value):
        note = "less noise; larger values are clipped"
        yield Way(name=f"Mean, {name}", question=other, told=_estimate, note=note)
    if asked.max_rows is None and (asked.of == "rows" or context.unit is None):
        yield _sum_over_count(asked)
    cells = _in_cells(asked, value, context)
    if cells is not None:
        steps = _steps(value)
        yield Way(
            name="counts of each value, averaged",
            question=cells,
            told=lambda release: _averaged(steps, _estimate(release)),
            note="noise on each value's count, times the value",
        )


def _sum_over_count(asked: Mean) -> Way:
    shared = _grouped(asked, epsilon=exact(asked.epsilon, name="epsilon") / 2)
    total = Sum(asked.column, bounds=asked.bounds, step=asked.step, missing=asked.missing, **shared)
    return Way(
        name="Sum over Count",
        question=Several([total, Count(**shared)]),
        told=lambda answers: _estimate(answers[0]) / np.maximum(_estimate(answers[1]), 1),
        note="about 0 instead of the middle of the bounds",
    )


def _grouped(asked: Grouped, **more: Any) -> dict[str, Any]:
    """What a question about groups says of them."""
    kept = {one.name: getattr(asked, one.name) for one in fields(Grouped)}
    return {**kept, "id": None, "again": False, **more}


def _averaged(steps: Floats, counts: Floats) -> Floats:
    mean = float(steps @ counts) / max(float(counts.sum()), 1.0)
    return np.array([min(max(mean, float(steps[0])), float(steps[-1]))])


def _quantiles(asked: Quantile, context: QueryContext) -> Iterator[Way]:
    ways = {
        "noisy_max": _near_in_rank(asked),
        "cumulative": _by_counting(asked, context),
    }
    own = ways.pop(asked.chosen_method)
    if own is not None:
        yield replace(own, question=asked, note="", certain=True)
    yield from (way for way in (*ways.values(), _by_ranges(asked, context)) if way is not None)


def _near_in_rank(asked: Quantile) -> Way | None:
    if {0, 1} & set(asked.shares):
        return None
    return Way(
        name="noisy maximum",
        question=replace(asked, method="noisy_max"),
        told=lambda release: release.estimates.T.reshape(-1),
        note="the candidate that is nearest in rank, with noise on the ranks",
    )


def _points(asked: Quantile, context: QueryContext) -> tuple[list[Fraction], Fraction] | None:
    """The candidates as numbers, and the grid's step; None for too many."""
    found = replace(asked, method="noisy_max").values(context)
    if found.number > _MOST_CELLS:
        return None
    steps = found.steps(np.arange(found.number))
    return [int(one) * found.value.step for one in steps.tolist()], found.value.step


def _by_counting(asked: Quantile, context: QueryContext) -> Way | None:
    known = _points(asked, context)
    if known is None:
        return None
    shares = asked.shares
    counted = replace(
        asked, q=shares[0], candidates=known[0], bounds=None, step=None, method="cumulative"
    )
    return Way(
        name='method="cumulative"',
        question=counted,
        told=lambda release: np.array([part for q in shares for part in release.at(q)["estimate"]]),
        note="counts of who is at or below each candidate; every share at once",
    )


def _by_ranges(asked: Quantile, context: QueryContext) -> Way | None:
    known = _points(asked, context)
    if known is None or asked.by or context.unit is not None:
        return None
    points, step = known
    reaching = RangeQuery(
        asked.column,
        "prefixes",
        bins=[points[0] - step / 2, *(point + step / 2 for point in points)],
        epsilon=asked.epsilon,
        missing=asked.missing,
        where=asked.where,
        unknown=asked.unknown,
    )
    numbers, shares = np.array([float(point) for point in points]), asked.shares
    return Way(
        name="ranges from the lowest candidate",
        question=reaching,
        told=lambda release: _reached(numbers, _estimate(release), shares),
        note="the strategy of least error for counts up to each candidate",
    )


def _reached(points: Floats, upto: Floats, shares: tuple[Fraction, ...]) -> Floats:
    """Per share, the first candidate with so much at or below it, of counts made to rise."""
    rising = np.maximum.accumulate(upto)
    wanted = np.array([float(q) for q in shares]) * rising[-1]
    found: Floats = points[np.minimum(np.searchsorted(rising, wanted), points.size - 1)]
    return found


def _ranges(asked: RangeQuery, context: QueryContext) -> Iterator[Way]:
    yield Way(name="Linear", question=asked, told=_estimate, closed=True, certain=True)
    fitted = replace(asked, non_negative=True)
    note = "fitted to counts of at least 0: less error, but biased"
    yield Way(name="Linear, non_negative=True", question=fitted, told=_estimate, note=note)
    binned = asked.binned(context)
    bins = {name: list(one.edges) for name, one in binned.bins.items()}
    queries = workload_of(asked.ranges, binned.bins)
    for method in ("dawa", "ahp"):
        other = Histogram(
            bins,
            method=method,
            epsilon=asked.epsilon,
            missing=asked.missing,
            where=asked.where,
            unknown=asked.unknown,
            max_groups=1 if context.unit is not None else None,
        )
        yield Way(
            name=f'Histogram, method="{method}", added up',
            question=other,
            told=lambda release: queries.apply(_estimate(release)),
            note="runs of cells that seem alike, for data that are",
        )


def _largest(asked: TopK, context: QueryContext) -> Iterator[Way]:
    del context

    def selected(release: Any) -> Floats:
        return np.stack([_places(asked, release), _estimate(release)])

    yield Way(name="TopK", question=asked, told=selected, certain=True)
    for correction in ("mean", "median", "none"):

        def largest(release: Any) -> Floats:
            counts = _estimate(release)
            places = np.argsort(-counts, kind="stable")[: asked.k]
            return np.stack([places.astype(np.float64), counts[places]])

        yield Way(
            name=f'Counts, correction="{correction}", the largest of them',
            question=Count(**_grouped(asked, correction=correction)),
            told=largest,
            note="every group is counted, and the rest are released as well",
        )


def _places(asked: TopK, release: Any) -> Floats:
    """Which of the keys were selected."""
    rows = public_keys(asked.keys, names_of(asked.by, name="by")).rows
    where = {row: place for place, row in enumerate(rows)}
    return np.array([where[row] for row in release.keys.rows], dtype=np.float64)


_KINDS: Final[dict[type, Callable[[Any, QueryContext], Iterator[Way]]]] = {
    Count: _counts,
    Histogram: _histograms,
    Sum: _sums,
    Mean: _means,
    Quantile: _quantiles,
    RangeQuery: _ranges,
    TopK: _largest,
}
