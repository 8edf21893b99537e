"""Errors of each way to answer: worked out, or tried on public data that resemble the real."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.engine import Table
from onesided.errors import OnesidedError
from onesided.session._context import QueryContext
from onesided.session._count import Count
from onesided.session._plan import Plan, PlanOption
from onesided.session._top_k import TopK
from onesided.session.histograms._histogram import Histogram
from onesided.session.planning._rough import RoughNoise
from onesided.session.planning._ways import Way, ways_of
from onesided.session.values._mean import Mean
from onesided.session.values._quantile import Quantile
from onesided.session.values._sum import Sum
from onesided.session.workloads._ranges import RangeQuery, workload_of

Floats = NDArray[np.float64]
_FEWEST: Final = 60
# Single numbers have long tails, which fewer draws may not show.
_FEW_CELLS: Final = 8
_FEWEST_OF_FEW: Final = 600
_MOST: Final = 1_200
# Mean squares are tried until their standard error is such a part of them.
_SURE: Final = 0.04


def with_ways(plan: Plan, question: Any, context: QueryContext, like: object) -> Plan:
    """The plan with all ways to answer, worked out when they are read; tried on ``like``."""
    if like is None:
        return replace(plan, alternatives=cache(partial(known, question, context, plan)))
    public = replace(
        context, table=Table(like, declared=context.declared, unit=context.unit), marks=None
    )
    return replace(plan, tried=cache(partial(tried, question, context, public, plan)))


def known(question: Any, context: QueryContext, plan: Plan) -> tuple[PlanOption, ...]:
    """What else could answer: errors that follow from public facts alone."""
    found = {option.name: option for option in plan.alternatives()}
    for way in ways_of(question, context)[1:]:
        try:
            own = way.question.prepare(context).plan
        except OnesidedError:  # this policy, or this column, has no such answer
            continue
        error = own.options[0].error if way.closed else None
        if way.name not in found:
            found[way.name] = _option(way, own, error, way.note)
    return tuple(found.values())


def tried(
    question: Any, context: QueryContext, public: QueryContext, plan: Plan
) -> tuple[PlanOption, ...]:
    """Every way to answer, each tried on the public table, the question's own way first."""
    ways = ways_of(question, context)
    truth = _truth(question, public) if ways else None
    found: list[PlanOption] = []
    for place, way in enumerate(ways):
        try:
            prepared = way.question.prepare(public)
            found.append(_as_tried(way, prepared, truth))
        except OnesidedError:
            if not place:
                raise
            continue
    names = {option.name for option in found} | {plan.options[0].name}
    others = (option for option in plan.alternatives() if option.name not in names)
    return (*found, *others)


def _as_tried(way: Way, prepared: Any, truth: Any) -> PlanOption:
    """One way with its error: worked out where nothing is clipped, or else tried."""
    why = way.note or prepared.plan.why
    if way.closed and not isinstance(way.question, Count):
        return _option(way, prepared.plan, prepared.plan.options[0].error, why)
    error, times = _measured(way, prepared, truth)
    told = f"tried {times:,} times on the public table; {why}".removesuffix("; ")
    return _option(way, prepared.plan, error, told)


def _option(way: Way, plan: Plan, error: float | None, note: str) -> PlanOption:
    certain = plan.certain if way.certain else ()
    return PlanOption(name=way.name, error=error, certain=certain, note=note, question=way.question)


def _measured(way: Way, prepared: Any, truth: Any) -> tuple[float, int]:
    """The root mean square error, and how often it took. Nothing secret is in it."""
    secret, noise = prepared.read(), RoughNoise(0)
    squares: list[float] = []
    while len(squares) < _MOST:
        for _ in range(_FEWEST):
            told = way.told(prepared.result(prepared.draw(secret, noise), None))
            squares.append(float(np.mean(_missed(told, truth) ** 2)))
        mean = float(np.mean(squares))
        enough = truth.size > _FEW_CELLS or len(squares) >= _FEWEST_OF_FEW
        if enough and float(np.std(squares)) <= _SURE * mean * len(squares) ** 0.5:
            break
    return math.sqrt(mean), len(squares)


def _missed(told: Floats, truth: Floats) -> Floats:
    """By how much each number is off; of a selection (places, numbers), those selected."""
    if told.ndim == 1:
        return told - truth
    missed: Floats = told[1] - truth[told[0].astype(np.int64)]
    return missed


def _truth(question: Any, public: QueryContext) -> Floats:
    """The numbers that are asked for, of a public table."""
    found: Floats = _TRUTHS[type(question)](question, public)
    return found


def _of_counts(question: Any, public: QueryContext) -> Floats:
    return np.asarray(question.prepare(public).read(), dtype=np.float64)


def _of_histogram(question: Histogram, public: QueryContext) -> Floats:
    return _of_counts(replace(question, method="counts", like=None), public)


def _of_sum(question: Sum, public: QueryContext) -> Floats:
    return _of_counts(question, public) * float(question.value(public).step)


def _of_mean(question: Mean, public: QueryContext) -> Floats:
    prepared = question.prepare(public)
    secret, centre = prepared.read(), prepared.plan.mechanism.centre
    mean = secret.total / np.maximum(secret.count, 1) + centre
    return np.asarray(mean * float(question.value(public).step), dtype=np.float64)


def _of_quantile(question: Quantile, public: QueryContext) -> Floats:
    """Per share and group, the first candidate with so much at or below it."""
    ranks = replace(question, method="noisy_max")
    found, secret = ranks.values(public), ranks.prepare(public).read()
    shares = question.shares
    places = []
    for share in shares:
        for held, counts in secret:
            upto = np.cumsum(counts)
            most = int(upto[-1]) if upto.size else 0
            place = int(np.searchsorted(upto, max(math.ceil(share * most), 1)))
            places.append(int(held[place]) if most else 0)
    return found.numbers(np.array(places, dtype=np.int64))


def _of_ranges(question: RangeQuery, public: QueryContext) -> Floats:
    workload = workload_of(question.ranges, question.binned(public).bins)
    counts = question.prepare(public).read()
    return np.asarray(workload.apply(counts), dtype=np.float64)


_TRUTHS: Final[dict[type, Callable[[Any, QueryContext], Floats]]] = {
    Count: _of_counts,
    TopK: _of_counts,
    Histogram: _of_histogram,
    Sum: _of_sum,
    Mean: _of_mean,
    Quantile: _of_quantile,
    RangeQuery: _of_ranges,
}
