"""The values of one call for noise, each with its probability; what was cut off is counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import INFINITE, Infinite, Loss, probability, rate, whole
from onesided.errors import ParameterError

Request: TypeAlias = tuple[Any, ...]
MAX_OUTCOMES: Final = 5_000_000
MOST_DRAWS: Final = 10_000
MOST_ITEMS: Final = 200
# Sums of up to 2^24 rounded products: far above what double precision can lose.
_SLACK: Final = 1e-14


@dataclass(frozen=True, slots=True)
class Support:
    """Every outcome of one call, likeliest first.

    values: one row of draws per outcome. weights: their probabilities. lost: a bound on the
    probability of all outcomes that are missing; exactly 0 where none is.
    """

    values: NDArray[Any]
    weights: NDArray[np.float64]
    running: NDArray[np.float64]
    lost: float

    def above(self, floor: float) -> int:
        """How many outcomes have at least the probability ``floor``."""
        return int(np.searchsorted(-self.weights, -floor, side="right"))

    def lost_beyond(self, count: int) -> float:
        """A bound on the probability of everything but the first ``count`` outcomes."""
        if count == len(self.weights):
            return self.lost
        kept = float(self.running[count - 1]) if count else 0.0
        return min(1.0, max(0.0, 1.0 - kept) + _SLACK)


@lru_cache(maxsize=64)
def support(request: Request, floor: float) -> Support:
    """All outcomes of a call that have at least the probability ``floor``.

    Independent draws of one call are cut together: what counts is the probability of the whole
    outcome, so ``n`` draws take a simplex of outcomes and not a cube, about n! times fewer.
    Errors: ParameterError if there are too many, or for invalid arguments.
    """
    kind, *arguments = request
    if kind == "permutation":
        length = whole(arguments[0], name="length", most=8)
        orders = list(permutations(range(length)))
        share = np.full(len(orders), 1 / len(orders))
        return _sorted(np.array(orders, dtype=np.int64).reshape(-1, length), share, cut=False)
    if kind == "permute_and_flip":
        return _first_accepted(*arguments)
    size = whole(arguments[-1], name="size", most=MOST_DRAWS)
    singles = [_single(kind, argument, floor) for argument in _each(kind, arguments[:-1], size)]
    return _joined(singles, floor, dtype=np.bool_ if kind.startswith("bernoulli") else np.int64)


def _first_accepted(rate_: Any, deficits: tuple[int, ...], sizes: tuple[int, ...]) -> Support:
    """Each group's chance: ``n p`` times the mean of what its and the others' items leave alone.

    At an arrival u in [0, 1] that is the product of ``1 - p u`` over all other items.

    It is a polynomial in u, whose mean so many nodes of Gauss give exactly.
    """
    items = whole(sum(sizes), name="items", most=MOST_ITEMS)
    rate_of_one = _float(rate(rate_, name="rate"))
    with np.errstate(invalid="ignore"):
        chances = np.exp(np.nan_to_num(-rate_of_one * np.array(deficits, dtype=float), nan=0.0))
    nodes, shares = np.polynomial.legendre.leggauss(items // 2 + 1)
    alone = 1 - np.outer(chances, (nodes + 1) / 2)
    many = np.array(sizes)[:, None]
    weights = []
    for group, chance in enumerate(chances):
        less = many - (np.arange(len(sizes)) == group)[:, None]
        weights.append(many[group, 0] * chance * np.prod(alone**less, axis=0) @ (shares / 2))
    return _sorted(np.arange(len(sizes)).reshape(-1, 1), np.array(weights), cut=False)


def _each(kind: str, arguments: Sequence[Any], size: int) -> list[tuple[Any, ...]]:
    """The exact arguments of each draw of a call."""
    if kind in {"geometric", "two_sided"}:
        return list(zip(*(rates_of(many, size) for many in arguments), strict=True))
    return [tuple(arguments)] * size


def rates_of(rates: Any, size: int) -> list[Loss]:
    if not isinstance(rates, tuple):
        return [rate(rates, name="rate")] * size
    if len(rates) != size:
        raise ParameterError(
            f"{len(rates)} rates were given for {size} draws.", hint="Give one for each draw."
        )
    return [rate(value, name="rate") for value in rates]


_Single: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64], bool]


@lru_cache(maxsize=256)
def _single(kind: str, arguments: tuple[Any, ...], floor: float) -> _Single:
    """Values, probabilities, and whether some were cut off."""
    if kind == "geometric":
        return _two_sided(arguments[0], INFINITE, floor)
    if kind == "two_sided":
        return _two_sided(arguments[0], arguments[1], floor)
    if kind == "uniform":
        count = whole(arguments[0], name="below", least=1, most=4096)
        return np.arange(count), np.full(count, 1 / count), False
    if kind == "bernoulli":
        chance = float(probability(arguments[0], name="probability"))
    else:
        exact = rate(arguments[0], name="rate")
        chance = 0.0 if isinstance(exact, Infinite) else math.exp(-float(exact))
    sides = [(1, chance)] * (chance > 0) + [(0, 1 - chance)] * (chance < 1)
    values, weights = zip(*sides, strict=True)
    return np.array(values), np.array(weights), False


def _two_sided(upper: Loss, lower: Loss, floor: float) -> _Single:
    """``G_upper - G_lower`` where its probability is at least ``floor``."""
    most, least = _reach(upper, floor), _reach(lower, floor)
    if most + least > MAX_OUTCOMES:
        raise _too_many(most + least)
    values = np.arange(-least, most + 1)
    up, down = _float(upper), _float(lower)
    peak = math.expm1(-up) * math.expm1(-down) / -math.expm1(-up - down)
    with np.errstate(invalid="ignore"):
        fall = np.where(values > 0, up * values, 0.0) + np.where(values < 0, -down * values, 0.0)
    weights = peak * np.exp(-np.nan_to_num(fall, nan=0.0))
    cut = not (isinstance(upper, Infinite) and isinstance(lower, Infinite))
    return values, weights, cut


def _reach(rate_: Loss, floor: float) -> int:
    """The farthest value whose probability may be ``floor``."""
    return 0 if isinstance(rate_, Infinite) else math.ceil(-math.log(floor) / float(rate_))


def _float(rate_: Loss) -> float:
    return math.inf if isinstance(rate_, Infinite) else float(rate_)


def _joined(singles: Sequence[_Single], floor: float, *, dtype: Any) -> Support:
    """Independent draws together, without the outcomes below ``floor``."""
    values = np.zeros((1, 0), dtype=np.int64)
    weights, cut = np.ones(1), False
    for own, chances, some_cut in singles:
        if len(weights) * len(chances) > MAX_OUTCOMES:
            raise _too_many(len(weights) * len(chances))
        joint = np.outer(weights, chances)
        old, new = np.nonzero(joint >= floor)
        cut = cut or some_cut or len(old) < joint.size
        values = np.column_stack([values[old], own[new]])
        weights = joint[old, new]
    return _sorted(values.astype(dtype), weights, cut=cut)


def _sorted(values: NDArray[Any], weights: NDArray[np.float64], *, cut: bool) -> Support:
    order = np.argsort(-weights, kind="stable")
    weights = weights[order]
    running = np.cumsum(weights)
    kept = float(running[-1]) if len(running) else 0.0
    lost = min(1.0, max(0.0, 1 - kept) + _SLACK) if cut else 0.0
    return Support(values[order], weights, running, lost)


def _too_many(count: int) -> ParameterError:
    return ParameterError(
        f"One call for noise has about {count:,} outcomes, more than {MAX_OUTCOMES:,} paths.",
        hint="Use fewer groups or units, larger rates, or a coarser tail.",
    )


def request_of(value: Any) -> Any:
    """An argument as part of a request: hashable, and equal for equal draws."""
    if isinstance(value, Fraction | int | str | float | Infinite):
        return value
    if isinstance(value, np.ndarray):
        return tuple(value.tolist()) if value.ndim else value.item()
    return tuple(value) if isinstance(value, Sequence) else value
