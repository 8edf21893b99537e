"""One path of noise: how likely it is, kept while it is drawn, or given and followed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import INFINITE, Infinite, Loss, probability, rate, whole
from onesided.errors import ParameterError
from onesided.verify._requests import RequestedNoise
from onesided.verify._support import Request, rates_of, support

Draws = tuple[NDArray[Any], ...]


@dataclass(frozen=True, slots=True)
class LogChance:
    """The logarithm of a probability, ``exact + rest``.

    What depends on the outcome of geometric draws is exact; their norms, and all else, are in
    ``rest``, which is minus infinity for what cannot come out.
    """

    exact: Fraction = Fraction(0)
    rest: float = 0.0

    @property
    def possible(self) -> bool:
        return self.rest > -math.inf

    def times(self, other: LogChance) -> LogChance:
        """The chance of both."""
        return LogChance(self.exact + other.exact, self.rest + other.rest)


IMPOSSIBLE: Final = LogChance(rest=-math.inf)


def log_chance(request: Request, drawn: NDArray[Any]) -> LogChance:
    """How likely a call is to come out so. Errors: ParameterError for draws of a wrong shape.

    >>> log_chance(("geometric", 1, 2), np.array([3, 4])).exact
    Fraction(-7, 1)
    >>> log_chance(("geometric", 1, 1), np.array([-1])).possible
    False
    """
    kind, *arguments = request
    size = 1 if kind == "permute_and_flip" else whole(arguments[-1], name="size")
    flips = kind.startswith("bernoulli")
    if drawn.shape != (size,) or drawn.dtype.kind not in ("b" if flips else "iu"):
        what = "truth values" if flips else "whole numbers"
        raise ParameterError(
            f"A call for {kind} is answered with {size} {what}, not with {drawn.tolist()!r} "
            f"({drawn.dtype}, shape {drawn.shape}).",
            hint="Give for each call an array of the length and type that was drawn.",
        )
    if kind in {"geometric", "two_sided"}:
        uppers, lowers = (rates_of(argument, size) for argument in (*arguments[:-1], INFINITE)[:2])
        sides = zip(uppers, lowers, drawn.tolist(), strict=True)
        each = [_two_sided(upper, lower, value) for upper, lower, value in sides]
    elif flips:
        each = [_flip(kind, arguments[0], taken) for taken in drawn.tolist()]
    else:
        return _of_few(kind, request, drawn)
    found = LogChance()
    for one in each:
        found = found.times(one)
    return found


def _two_sided(upper: Loss, lower: Loss, value: int) -> LogChance:
    """``G_upper - G_lower`` at ``value``."""
    side = upper if value > 0 else lower
    if isinstance(side, Infinite):
        if value:
            return IMPOSSIBLE
        side = Fraction(0)
    up, down = (math.inf if isinstance(r, Infinite) else float(r) for r in (upper, lower))
    if math.isinf(up) and math.isinf(down):
        return LogChance()
    parts = (math.log(-math.expm1(-up)), math.log(-math.expm1(-down)))
    return LogChance(-side * abs(value), sum(parts) - math.log(-math.expm1(-up - down)))


def _flip(kind: str, argument: Any, taken: bool) -> LogChance:  # noqa: FBT001 - an outcome
    if kind == "bernoulli":
        share = probability(argument, name="probability")
        chance = share if taken else 1 - share
        return LogChance(rest=math.log(chance)) if chance else IMPOSSIBLE
    exact = rate(argument, name="rate")
    if taken:
        return IMPOSSIBLE if isinstance(exact, Infinite) else LogChance(-exact)
    missed = 1.0 if isinstance(exact, Infinite) else -math.expm1(-float(exact))
    return LogChance(rest=math.log(missed)) if missed else IMPOSSIBLE


def _of_few(kind: str, request: Request, drawn: NDArray[Any]) -> LogChance:
    """A call whose outcomes are level, or listed."""
    if kind == "uniform":
        below, size = request[1:]
        fits = bool(((drawn >= 0) & (drawn < below)).all())
        return LogChance(rest=-size * math.log(below)) if fits else IMPOSSIBLE
    if kind == "permutation":
        fits = sorted(drawn.tolist()) == list(range(drawn.size))
        return LogChance(rest=-math.lgamma(drawn.size + 1)) if fits else IMPOSSIBLE
    listed = support(request, 0.0)
    at = np.flatnonzero((listed.values == drawn).all(axis=1))
    chance = float(listed.weights[at[0]]) if at.size else 0.0
    return LogChance(rest=math.log(chance)) if chance > 0 else IMPOSSIBLE


class KeptNoise(RequestedNoise):
    """Hands calls on to another double, and keeps what came out and how likely it was."""

    def __init__(self, source: RequestedNoise) -> None:
        self._source = source
        self.draws: list[NDArray[Any]] = []
        self.chance = LogChance()

    def answer(self, request: Request) -> NDArray[Any]:
        drawn: NDArray[Any] = self._source.answer(request)
        self.draws.append(drawn.copy())
        self.chance = self.chance.times(log_chance(request, drawn))
        return drawn


class NotThatPathError(BaseException):
    """A given path is none of the program's. Not an Exception: no program may swallow it."""


class GivenNoise(RequestedNoise):
    """Answers the calls of a run with ``draws``, one array for each call, in their order.

    ``fault`` says why they are no path of the program; empty if they are.
    """

    def __init__(self, draws: Sequence[NDArray[Any]]) -> None:
        self._draws, self._place = tuple(draws), 0
        self.chance = LogChance()
        self.fault = ""

    def answer(self, request: Request) -> NDArray[Any]:
        if self.fault or self._place >= len(self._draws):
            self._end(f"the program asks for a call of {request[0]} more than the path has")
        drawn = self._draws[self._place]
        self._place += 1
        try:
            own = log_chance(request, drawn)
        except ParameterError as error:
            self._end(error.reason)
        if not own.possible:
            self._end(f"a call for {request[0]} never comes out as {drawn.tolist()}")
        self.chance = self.chance.times(own)
        return drawn.copy()

    def conclude(self) -> None:
        """Say so if the run did not take all of the path."""
        if not self.fault and self._place < len(self._draws):
            self.fault = (
                f"the program asks for {self._place} calls, and the path has {len(self._draws)}"
            )

    def _end(self, fault: str) -> None:
        self.fault = self.fault or fault
        raise NotThatPathError
