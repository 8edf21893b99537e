"""Which sums to measure for linear queries: each candidate's error, worked out before anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from onesided._numbers import Infinite, Loss, rough
from onesided.errors import OnesidedError, ParameterError, PolicyError
from onesided.linear import (
    Dense,
    Grid,
    Moves,
    Operator,
    Ranges,
    by_length,
    candidates,
    edge_counts,
    sensitivity,
    strategy_shifts,
)
from onesided.linear.kit import (
    MOST_PAIRS,
    Margins,
    Totals,
    held_factors,
    holds_cells,
    influences,
    thinned,
)
from onesided.mechanism.kit import rates_over
from onesided.noise import TwoSidedGeometric
from onesided.policy import Edge, Policy, Shift
from onesided.session._plan import PlanOption

ShiftsOf: TypeAlias = Callable[[Operator], Mapping[Edge, tuple[Shift, ...]]]
_PROBED: Final = 256
_SMALL: Final = 256
_SHOWN: Final = 6
_MOST_BY_LENGTH: Final = 1_024
_FEW: Final = 32
_FEWEST: Final = 4
_FEW_CELLS: Final = 2**14
# Where every cell is joined to every other, as under the standard policies: above some 1,400 cells
# strategies of blocks, which need all pairs, are not tried by themselves. Trees there err less.
_WHOLE_PAIRS: Final = 2**22


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A strategy with the least noise for it, and how well it and the others would answer.

    error: the root of the mean squared error of the queries (of 256 of them if there are more, of
    4 to 32 for strategies without a closed form). public: the totals that answers are held to.
    """

    name: str
    strategy: Operator
    workload: Operator
    moves: Moves
    shifts: Mapping[Edge, tuple[Shift, ...]]
    upper_rate: Loss
    lower_rate: Loss
    error: float
    public: Totals | None = None
    why: str = ""
    others: tuple[PlanOption, ...] = ()


def choose(
    given: object,
    moves: Moves,
    workload: Operator,
    epsilon: Fraction,
    grid: Grid,
    *,
    tree: tuple[Policy, Sequence[Any]] | None = None,
    public: Totals | None = None,
    makers: Mapping[str, Callable[[], Operator]] | None = None,
    shifts: ShiftsOf | None = None,
) -> Choice:
    """The strategy that was given or named, or else the one of least predicted error.

    makers: what is compared, by name; by default what fits the grid. shifts: how far a strategy's
    sums move, where that is not what moves of one record among the cells do.

    Where moves join all cells, those that need more than 2^22 pairs are left out.
    Above 256 cells those without a closed form, such as "staggered", are compared with the best of
    the others by a few of the queries, the same ones for both.

    Only public facts enter. Errors: ParameterError for an unknown name or where nothing fits.
    """
    sized = partial(_sized, epsilon=epsilon, public=public, shifts_of=shifts)
    if given is not None and not isinstance(given, str):
        strategy = given if isinstance(given, Operator) else Dense(given)
        return sized("given", strategy, moves, workload)
    makers = _makers(grid, tree) if makers is None else makers
    if isinstance(given, str):
        if given not in makers:
            raise ParameterError(
                f"There is no strategy {given!r} for these cells.",
                hint=f"Use one of {', '.join(makers)}, an operator, or a matrix.",
                value=given,
            )
        return sized(given, makers[given](), moves, workload)
    most = _WHOLE_PAIRS if moves.whole else MOST_PAIRS
    found: list[Choice] = []
    slow: dict[str, Operator] = {}
    for name, make in makers.items():
        try:
            strategy = make()
            if strategy.solvable or moves.cells <= _SMALL:
                found.append(sized(name, strategy, moves, workload, most=most))
            elif holds_cells(strategy):
                slow[name] = strategy
        except OnesidedError:  # cannot be worked out at this size: another will do
            continue
    found.extend(_compared(slow, found, moves, workload, sized))
    if not found:
        raise ParameterError(
            "No standard strategy can be worked out for this many cells and this policy.",
            hint="Give a strategy, use larger cells, or a smaller radius.",
        )
    found.sort(key=lambda one: one.error)
    return _told(found)


def _compared(
    slow: Mapping[str, Operator],
    found: Sequence[Choice],
    moves: Moves,
    workload: Operator,
    sized: Callable[..., Choice],
) -> list[Choice]:
    """Those that are slow to predict: by few queries, as a multiple of the best of the others."""
    few = thinned(workload, _probes(moves.cells))
    best = min(found, key=lambda one: one.error, default=None)
    made: list[Choice] = []
    for name, strategy in slow.items():
        try:
            own = sized(name, strategy, moves, few)
            if best is not None and best.error and few is not workload:
                beside = sized(best.name, best.strategy, moves, few).error
                own = replace(own, error=own.error * best.error / beside)
            made.append(replace(own, workload=workload))
        except OnesidedError:
            continue
    return made


def _probes(cells: int) -> int:
    """How many queries a strategy without a closed form is judged by."""
    return max(_FEWEST, min(_FEW, _FEW * _FEW_CELLS // cells))


def error_by_length(choice: Choice) -> tuple[tuple[int, float], ...]:
    """For ranges of 1, 2, 4, ... cells, the root of their mean variance; empty off the line.

    Over all ranges of that length, for up to 1,024 cells.
    """
    cells = choice.strategy.shape[1]
    line = isinstance(choice.workload, Ranges) and len(choice.workload.grid) == 1
    if not line or cells > _MOST_BY_LENGTH:
        return ()
    found = by_length(choice.strategy)
    spread = TwoSidedGeometric(choice.upper_rate, choice.lower_rate).variance()
    lengths = sorted({*(2**k for k in range(cells.bit_length()) if 2**k <= cells), cells})
    saved = np.zeros(cells)
    if choice.public is not None and choice.public.of_all:
        near = influences(choice.strategy, np.ones((cells, 1)))[:, 0]
        sums = np.concatenate([[0.0], np.cumsum(near)])
        for n in lengths:
            saved[n - 1] = np.mean((sums[n:] - sums[:-n]) ** 2) / sums[-1]
    left = np.maximum(found.factor - saved, 0) * spread
    return tuple((n, math.sqrt(float(left[n - 1]))) for n in lengths)


def _told(found: Sequence[Choice]) -> Choice:
    """The first, with the others as what else could answer."""
    best = found[0]
    others = tuple(
        PlanOption(name=f"Linear, {one.name}", error=one.error, note=_noise(one))
        for one in found[1:_SHOWN]
    )
    lengths = error_by_length(best)
    by = ", ".join(f"{length}: {rough(error)}" for length, error in lengths)
    why = f"{best.name} has the least predicted error; {_noise(best)}"
    return replace(best, why=f"{why}; by cells in a range, {by}" if by else why, others=others)


def _noise(choice: Choice) -> str:
    return f"a move changes its sums by {sensitivity(choice.shifts)} at most"


def _makers(
    grid: Grid, tree: tuple[Policy, Sequence[Any]] | None
) -> dict[str, Callable[[], Operator]]:
    makers = dict(candidates(grid))
    policy, names = tree or (None, ())
    if policy is not None and policy.between_values and not policy.by_distance:
        try:
            counts = edge_counts(policy, names)
        except PolicyError:  # the graph has circles
            return makers
        makers["edge counts"] = lambda: counts
    return makers


def _sized(
    name: str,
    strategy: Operator,
    moves: Moves,
    workload: Operator,
    *,
    epsilon: Fraction,
    public: Totals | None,
    most: int = MOST_PAIRS,
    shifts_of: ShiftsOf | None = None,
) -> Choice:
    moved = partial(strategy_shifts, moves=moves, most=most)
    shifts = (shifts_of or moved)(strategy)
    upper, lower = rates_over(shifts, epsilon)
    spread = TwoSidedGeometric(upper, lower).variance()
    error = 0.0
    if not (isinstance(upper, Infinite) and isinstance(lower, Infinite)):
        probes = _PROBED if strategy.solvable or moves.cells <= _SMALL else _probes(moves.cells)
        probe = workload if isinstance(workload, Margins) else thinned(workload, probes)
        error = math.sqrt(float(np.mean(held_factors(strategy, probe, public))) * spread)
    return Choice(
        name=name,
        strategy=strategy,
        workload=workload,
        moves=moves,
        shifts=shifts,
        upper_rate=upper,
        lower_rate=lower,
        error=error,
        public=public,
    )
