"""Linear queries: noisy answers of a strategy, and everything else from them by least squares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._english import a, many
from onesided._numbers import MAX_COUNT, Infinite, Loss, Number, positive, rate
from onesided.errors import DataError, OnesidedError, ParameterError
from onesided.fields import settle
from onesided.linear import (
    Dense,
    Grid,
    Kron,
    Moves,
    Operator,
    Ranges,
    candidates,
    error_factors,
    least_squares,
    likeliest,
    moves_of,
    non_negative,
    strategy_shifts,
)
from onesided.linear.kit import (
    Layout,
    check_spans,
    cost,
    draws_for,
    factors,
    holds_cells,
    notes_of,
    sampled_factors,
    thinned,
)
from onesided.mechanism._base import counts_of
from onesided.mechanism._rates import rates_over
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import Edge, Policy, Shift

_PROBED: Final = 64
_PROBED_SLOWLY: Final = 8
# Numbers that a release may work through for its variances: some seconds.
_QUICK: Final = 2**25


class LinearAnswers(NamedTuple):
    """Answers to the workload.

    estimate: one per query, consistent with each other. variance: of each estimate, exact for
        least squares without bounds (with ``non_negative`` the error is smaller as a rule, and
        biased); None if too much to work out. noisy: the strategy's noisy answers.

    >>> LinearAnswers(np.array([2.0]), None, np.array([2])).variance is None
    True
    """

    estimate: NDArray[np.float64]
    variance: NDArray[np.float64] | None
    noisy: IntArray


@dataclass(frozen=True, eq=False)
class Linear:
    """Release ``strategy @ counts`` with two-rate geometric noise on each row; answer from it.

    Promise: along a move that shifts the strategy's answers by ``Shift(rise, fall)``, each summed
    over all rows, the loss is exactly ``upper_rate * fall + lower_rate * rise``.
    Proof: each row's noise is an independent two-rate geometric, so the loss is the sum of the
    rows' losses; estimates are computed from the noisy answers alone.
    Direction: falls are hidden by noise above the truth, rises by noise below it. The shifts of a
    strategy under a policy are :func:`onesided.linear.strategy_shifts`.
    Exactness: the strategy is of whole numbers and its noisy answers are whole; floats enter
    afterwards. Estimates are unbiased: the noise's mean is taken out.
    non_negative: fit cells of at least 0: for prefix sums by isotonic regression, for staggered
        tiles with noise on both sides by :func:`onesided.linear.likeliest`, else by least squares.
    Units: rates in nats per count.
    Source: delta-neighbourhood, section 5, with noise on two sides; Li et al. 2010.
    Errors: ParameterError for rates, or a strategy from which some query cannot be had.

    >>> from onesided import policy
    >>> from onesided.linear import Prefix
    >>> from onesided.mechanism import Linear
    >>> ages = policy.graph([(0, 1), (1, 2)], directed=True)
    >>> asked = Linear.for_policy(ages, workload=Prefix(3), epsilon=1, strategy=Prefix(3))
    >>> asked.upper_rate, asked.lower_rate
    (Fraction(1, 1), INFINITE)
    """

    strategy: Operator
    workload: Operator
    upper_rate: Loss
    lower_rate: Loss
    non_negative: bool = False
    shifts: Mapping[Edge, tuple[Shift, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __init__(
        self,
        strategy: Operator | ArrayLike,
        workload: Operator | ArrayLike,
        upper_rate: Loss | Number,
        lower_rate: Loss | Number,
        *,
        non_negative: bool = False,
        shifts: Mapping[Edge, tuple[Shift, ...]] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        ways, asked = _operator(strategy), _operator(workload)
        check_spans(ways, asked)
        settle(
            self,
            strategy=ways,
            workload=asked,
            upper_rate=rate(upper_rate, name="upper_rate"),
            lower_rate=rate(lower_rate, name="lower_rate"),
            non_negative=bool(non_negative),
            shifts=MappingProxyType(dict(shifts or {})),
            notes=tuple(notes),
        )

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        workload: Operator | ArrayLike,
        epsilon: Number,
        strategy: Operator | ArrayLike | None = None,
        cells: Layout | None = None,
        partition: bool = False,
        non_negative: bool = False,
    ) -> Linear:
        """The least noise that keeps ``(epsilon, policy)`` for this strategy.

        strategy: None takes the one of least predicted error among the standard ones.
        cells, partition: see :func:`onesided.linear.moves_of`; by default as many cells as the
            workload has columns, or the grid of a workload of ranges.
        Errors: ParameterError where a neighbourhood needs to know how the cells lie, and the
            workload does not tell.
        """
        asked = _operator(workload)
        layout = _layout(asked, policy) if cells is None else cells
        moves = moves_of(policy, layout, partition=partition)
        loss = positive(epsilon, name="epsilon")
        chosen = best(moves, asked, loss, layout) if strategy is None else _operator(strategy)
        shifts = strategy_shifts(chosen, moves)
        upper, lower = rates_over(shifts, loss)
        return cls(
            chosen,
            asked,
            upper,
            lower,
            non_negative=non_negative,
            shifts=shifts,
            notes=notes_of(moves),
        )

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> LinearAnswers:
        """Noisy answers to the workload, from one count per cell in the order of the cells.

        Errors: DataError unless ``values`` are counts, one per column of the strategy.
        """
        return self.estimate(self.noisy(values, noise=noise))

    def noisy(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """The strategy's noisy answers: all that touches the data."""
        counts = counts_of(values)
        if counts.size != self.strategy.shape[1]:
            raise DataError(
                f"The strategy is over {many(self.strategy.shape[1], 'cell')}, got "
                f"{many(counts.size, 'count')}.",
                hint="Count every cell, empty ones too, in the order of the cells.",
            )
        if sum(map(int, counts)) * self.strategy.largest > MAX_COUNT:
            raise DataError(
                "The counts are so large that sums of them do not fit 62 bits.",
                hint="Check the table for overflow.",
            )
        source = SecureNoise() if noise is None else noise
        answers = np.asarray(self.strategy.apply(counts), dtype=np.int64)
        return answers + source.two_sided(self.upper_rate, self.lower_rate, answers.size)

    def estimate(self, noisy: IntArray) -> LinearAnswers:
        """Post-process what :meth:`noisy` gave."""
        centred = np.asarray(noisy, dtype=float) - self.distribution.mean()
        cells = (
            self._filled(centred) if self.non_negative else least_squares(self.strategy, centred)
        )
        answers: NDArray[Any] = np.asarray(self.workload.apply(cells), dtype=float)
        return LinearAnswers(answers, self.variance, noisy)

    def _filled(self, centred: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cells of at least 0."""
        if holds_cells(self.strategy) and self._both_sides:
            spread = math.sqrt(self.distribution.variance() / 2)
            return likeliest(self.strategy, centred, scale=spread)
        return np.asarray(non_negative(self.strategy, centred))

    @property
    def _both_sides(self) -> bool:
        return not any(isinstance(rate, Infinite) for rate in (self.upper_rate, self.lower_rate))

    def loss(self, shift: Shift) -> Loss:
        """Exactly ``upper_rate * fall + lower_rate * rise``, for a shift of the strategy's rows."""
        return self.upper_rate * shift.fall + self.lower_rate * shift.rise

    @property
    def losses(self) -> dict[Edge, Loss]:
        """Per edge of the policy it was made for, the loss along its moves."""
        return {edge: max(map(self.loss, many)) for edge, many in self.shifts.items()}

    @property
    def distribution(self) -> TwoSidedGeometric:
        """One row's noise."""
        return TwoSidedGeometric(self.upper_rate, self.lower_rate)

    @cached_property
    def variance(self) -> NDArray[np.float64] | None:
        """The variance of each answer, known before anything is drawn.

        None where that takes more than seconds; :func:`onesided.linear.error_factors` times the
        noise's variance gives it for some of the queries. For many queries by staggered tiles it
        is estimated from :attr:`draws` draws of made-up noise.
        """
        if self.draws:
            found = sampled_factors(self.strategy, self.workload)
        elif cost(self.strategy, self.workload) > _QUICK:
            return None
        else:
            found = factors(self.strategy, self.workload)
        return found * self.distribution.variance()

    @property
    def draws(self) -> int:
        """From how many draws :attr:`variance` is estimated; 0 where it is worked out."""
        easy = cost(self.strategy, self.workload) <= _QUICK
        return 0 if easy or not holds_cells(self.strategy) else draws_for(self.strategy.shape[1])


def best(moves: Moves, workload: Operator, epsilon: Fraction, cells: Layout) -> Operator:
    """The standard strategy of least predicted error for a workload, by 64 of its queries.

    Those without a closed form are compared with the best of the others by 8 queries. Strategies
    whose sensitivity or error cannot be worked out at this size are passed over.
    """
    grid = cells if isinstance(cells, Grid) else _grid(cells, moves.cells)
    every = [make() for make in candidates(grid).values()]
    closed = [strategy for strategy in every if strategy.solvable]
    winner = _least(closed, moves, thinned(workload, _PROBED), epsilon)
    rest = [strategy for strategy in every if not strategy.solvable]
    if rest or winner is None:
        finalists = rest if winner is None else [winner, *rest]
        winner = _least(finalists, moves, thinned(workload, _PROBED_SLOWLY), epsilon)
    if winner is None:
        raise ParameterError(
            "No standard strategy can be worked out for this many cells and this policy.",
            hint="Give a strategy, use larger cells, or a smaller radius.",
        )
    return winner


def _least(
    strategies: list[Operator], moves: Moves, probe: Operator, epsilon: Fraction
) -> Operator | None:
    found: list[tuple[float, Operator]] = []
    for strategy in strategies:
        try:
            upper, lower = rates_over(strategy_shifts(strategy, moves), epsilon)
            spread = TwoSidedGeometric(upper, lower).variance()
            found.append((float(np.sum(error_factors(strategy, probe))) * spread, strategy))
        except OnesidedError:
            continue
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _operator(given: Operator | ArrayLike) -> Operator:
    return given if isinstance(given, Operator) else Dense(given)


def _layout(workload: Operator, policy: Policy) -> Layout:
    if isinstance(workload, Ranges) and len(workload.grid) <= 2:
        return Grid(workload.grid)
    if isinstance(workload, Ranges | Kron) and policy.by_distance:
        raise ParameterError(
            f"Cells of {a(type(workload).__name__)} workload may lie on a line, in a plane or in "
            "space, and who is near whom depends on it.",
            hint="Pass cells=Grid((rows, columns)), or Grid(n) for a line.",
        )
    return workload.shape[1]


def _grid(cells: Layout, many: int) -> Grid:
    """A grid of ``many`` cells: a line, unless a shape was given."""
    shaped = not isinstance(cells, int) and not any(isinstance(c, str) for c in cells)  # type: ignore[union-attr]
    return Grid(cells) if shaped and math.prod(cells) == many else Grid(many)  # type: ignore[arg-type]
