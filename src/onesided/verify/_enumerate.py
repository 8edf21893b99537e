"""A noise double that takes every path, each with its exact probability."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Generic, TypeVar

import numpy as np

from onesided._numbers import Loss, Number, whole
from onesided.errors import ParameterError
from onesided.noise import BoolArray, IntArray
from onesided.noise._protocol import Rates
from onesided.verify._support import Request, Support, request_of, support
from onesided.verify._watch import PATIENCE, Watch

Result = TypeVar("Result")
MAX_PATHS: Final = 20_000_000
MAX_DRAWS: Final = 10_000


class _PathTooUnlikely(BaseException):
    """This path is less likely than the floor. Not an Exception: no program may swallow it."""


@dataclass(slots=True)
class _Node:
    """One call for noise on the current path: what was asked, and which outcome is taken."""

    request: Request
    support: Support
    count: int
    before: float
    index: int = 0


class PathNoise:
    """Answers calls for noise along one path; :class:`Walk` takes it down all of them.

    For verification only. ``weight`` is the probability of the outcomes given so far; a path
    less likely than ``tail`` ends, and its probability is added to ``lost``.
    """

    def __init__(self, *, tail: float) -> None:
        self.weight = 1.0
        self.lost = 0.0
        self.branches = 1
        self._tail = tail
        self._nodes: list[_Node] = []
        self._place = 0

    def geometric(self, rate: Rates, size: int) -> IntArray:
        return self._ints(("geometric", request_of(rate), size))

    def two_sided(self, upper: Rates, lower: Rates, size: int) -> IntArray:
        return self._ints(("two_sided", request_of(upper), request_of(lower), size))

    def bernoulli(self, probability: Fraction | Number, size: int) -> BoolArray:
        return self._flips(("bernoulli", probability, size))

    def bernoulli_exp(self, rate: Loss | Number, size: int) -> BoolArray:
        return self._flips(("bernoulli_exp", rate, size))

    def uniform(self, below: int, size: int) -> IntArray:
        return self._ints(("uniform", below, size))

    def permutation(self, length: int) -> IntArray:
        return self._ints(("permutation", length))

    def restart(self) -> None:
        """Back to the beginning, to follow the same choices again."""
        self.weight, self._place = 1.0, 0

    def advance(self) -> bool:
        """Turn to the next path; False if there is none. Forgets calls that were not repeated."""
        del self._nodes[self._place :]
        while self._nodes:
            node = self._nodes[-1]
            node.index += 1
            if node.index < node.count:
                return True
            self._nodes.pop()
        return False

    def choose(self, pick: Callable[[int], int]) -> None:
        """From now on take the outcome ``pick(number of outcomes)`` of each new call."""
        self._nodes.clear()
        self._pick, self.branches = pick, 1

    _pick: Callable[[int], int] | None = None

    def _ints(self, request: Request) -> IntArray:
        drawn: IntArray = self._draw(request)
        return drawn

    def _flips(self, request: Request) -> BoolArray:
        drawn: BoolArray = self._draw(request)
        return drawn

    def _draw(self, request: Request) -> Any:
        place = self._place
        if place == len(self._nodes):
            self._nodes.append(self._new(request))
        node = self._nodes[place]
        if node.request != request:
            raise ParameterError(
                f"Run again with the same noise, the program asked for {request[0]} where it had "
                f"asked for {node.request[0]}, or with other arguments.",
                hint="The program must take all of its chance, and nothing else that changes, "
                "from the noise it is given.",
            )
        self._place = place + 1
        self.weight = node.before * float(node.support.weights[node.index])
        return node.support.values[node.index].copy()

    def _new(self, request: Request) -> _Node:
        if self._place >= MAX_DRAWS:
            raise ParameterError(
                f"One run made more than {MAX_DRAWS} draws, so it cannot be enumerated.",
                hint="Bound the number of draws: a program that may draw for ever, or as often as "
                "a secret says, cannot be checked and can be told by its running time.",
            )
        found = support(request, self._tail)
        count = found.above(self._tail / self.weight) if self.weight else 0
        self.lost += self.weight * found.lost_beyond(count)
        if count == 0:
            raise _PathTooUnlikely
        self.branches *= count
        index = self._pick(count) if self._pick else 0
        return _Node(request, found, count, self.weight, index)


class Walk(Generic[Result]):
    """Run ``program`` once for every sequence of outcomes; iterate to get ``(result, weight)``.

    After the walk, ``lost`` bounds the probability of all paths that were not taken: outcomes
    less likely than ``tail``, counted as they were cut. ``count`` is the number of runs.
    Errors: ParameterError after ``limit`` paths, for a run that does not end within ``patience``
    seconds (in the main thread), or that takes chance from elsewhere.
    """

    def __init__(
        self,
        program: Callable[[PathNoise], Result],
        *,
        tail: float,
        limit: int = MAX_PATHS,
        patience: float = PATIENCE,
    ) -> None:
        self._program, self._tail, self._limit = program, tail, limit
        self._patience = patience
        self.count, self.lost = 0, 0.0

    def __iter__(self) -> Generator[tuple[Result, float], None, None]:
        noise, program = PathNoise(tail=self._tail), self._program
        with Watch(lambda: self.count, patience=self._patience):
            while self.count < self._limit:
                self.count += 1
                noise.restart()
                try:
                    result = program(noise)
                except _PathTooUnlikely:
                    pass
                else:
                    yield result, noise.weight
                if not noise.advance():
                    self.lost = min(1.0, noise.lost)
                    return
        raise ParameterError(
            f"More than {self._limit:,} paths: the universe is too large to enumerate.",
            hint="Use fewer groups or units, larger rates, or a coarser tail.",
        )

    def probe(self, dives: int, seed: int) -> float:
        """An estimate of the number of paths from ``dives`` random ones (Knuth 1975)."""
        generator = np.random.default_rng(seed)
        noise, total = PathNoise(tail=self._tail), 0
        with Watch(lambda: self.count, patience=self._patience):
            for _ in range(dives):
                self.count += 1
                noise.choose(lambda count: int(generator.integers(count)))
                noise.restart()
                with suppress(_PathTooUnlikely):
                    self._program(noise)
                total += noise.branches
        return total / dives


def paths(
    program: Callable[[PathNoise], Result], *, tail: float, limit: int = MAX_PATHS
) -> Iterator[tuple[Result, float]]:
    """Each result of ``program`` with the probability of the noise that led to it."""
    return iter(Walk(program, tail=whole_tail(tail), limit=whole(limit, name="limit", least=1)))


def whole_tail(tail: float) -> float:
    """``tail`` if it can be a probability to cut at."""
    if not 0 < tail <= 0.5:
        raise ParameterError(f"tail must lie in (0, 1/2], got {tail!r}.", hint="Use 1e-12.")
    return float(tail)
