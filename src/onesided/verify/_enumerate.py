"""Every path of noise: the values of each call, and a double that takes them all."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import INFINITE, Infinite, Loss, Number, probability, rate, whole
from onesided.errors import ParameterError
from onesided.noise import BoolArray, IntArray, Rates
from onesided.noise.kit import variance_of
from onesided.verify._seal import PATIENCE, Seal, Watch, form

# The values of one call for noise, each with its probability; what was cut off is counted.

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
    each = [tuple(arguments[:-1])] * size
    if kind in {"geometric", "two_sided"}:
        each = list(zip(*(rates_of(many, size) for many in arguments[:-1]), strict=True))
    singles = [_single(kind, one, floor) for one in each]
    # Independent draws together, without the outcomes below `floor`.
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
    return _sorted(
        values.astype(np.bool_ if kind.startswith("bernoulli") else np.int64), weights, cut=cut
    )


def _first_accepted(rate_: Any, deficits: tuple[int, ...], sizes: tuple[int, ...]) -> Support:
    """Each group's chance: ``n p`` times the mean of what its and the others' items leave alone.

    At an arrival u in [0, 1] that is the product of ``1 - p u`` over all other items.

    It is a polynomial in u, whose mean so many nodes of Gauss give exactly.
    """
    items = whole(sum(sizes), name="items", most=MOST_ITEMS)
    rate_of_one = float_of(rate(rate_, name="rate"))
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
    if kind == "gaussian":
        return _gaussian(variance_of(arguments[0], name="variance"), floor)
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
    up, down = float_of(upper), float_of(lower)
    peak = math.expm1(-up) * math.expm1(-down) / -math.expm1(-up - down)
    with np.errstate(invalid="ignore"):
        fall = np.where(values > 0, up * values, 0.0) + np.where(values < 0, -down * values, 0.0)
    weights = peak * np.exp(-np.nan_to_num(fall, nan=0.0))
    cut = not (isinstance(upper, Infinite) and isinstance(lower, Infinite))
    return values, weights, cut


def _gaussian(variance: Fraction, floor: float) -> _Single:
    """The discrete Gaussian where its probability is at least ``floor``."""
    reach = math.ceil(math.sqrt(-2 * float(variance) * math.log(floor)))
    if 2 * reach > MAX_OUTCOMES:
        raise _too_many(2 * reach)
    values = np.arange(-reach, reach + 1)
    heights = -(values.astype(np.float64) ** 2) / (2 * float(variance))
    return values, np.exp(heights - log_total(variance)), True


@lru_cache(maxsize=64)
def log_total(variance: Fraction) -> float:
    """``ln sum e^(-x² / (2 variance))`` over all whole x, as far as doubles tell."""
    far = np.arange(1.0, math.ceil(40 * math.sqrt(variance)) + 2)
    return math.log1p(2 * float(np.sum(np.exp(-(far**2) / (2 * float(variance))))))


def _reach(rate_: Loss, floor: float) -> int:
    """The farthest value whose probability may be ``floor``."""
    return 0 if isinstance(rate_, Infinite) else math.ceil(-math.log(floor) / float(rate_))


def float_of(rate_: Loss) -> float:
    """The rate, or ``inf``."""
    return math.inf if isinstance(rate_, Infinite) else float(rate_)


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


class RequestedNoise(ABC):
    """A noise double that turns each call into a request."""

    @abstractmethod
    def answer(self, request: Request) -> NDArray[Any]:
        """A new one-dimensional array: what comes out of the call."""

    def geometric(self, rate: Rates, size: int) -> IntArray:
        return self.answer(("geometric", request_of(rate), size))

    def two_sided(self, upper: Rates, lower: Rates, size: int) -> IntArray:
        return self.answer(("two_sided", request_of(upper), request_of(lower), size))

    def gaussian(self, variance: Number, size: int) -> IntArray:
        return self.answer(("gaussian", variance, size))

    def bernoulli(self, probability: Fraction | Number, size: int) -> BoolArray:
        return self.answer(("bernoulli", probability, size))

    def bernoulli_exp(self, rate: Loss | Number, size: int) -> BoolArray:
        return self.answer(("bernoulli_exp", rate, size))

    def uniform(self, below: int, size: int) -> IntArray:
        return self.answer(("uniform", below, size))

    def permutation(self, length: int) -> IntArray:
        return self.answer(("permutation", length))

    def permute_and_flip(self, rate: Loss | Number, deficits: IntArray, sizes: IntArray) -> int:
        groups = (tuple(np.asarray(part).tolist()) for part in (deficits, sizes))
        return int(self.answer(("permute_and_flip", rate, *groups))[0])


Result = TypeVar("Result")
MAX_PATHS: Final = 20_000_000
MAX_DRAWS: Final = 10_000
# Products and sums of doubles along all paths are right to far better than this.
_ROUNDING: Final = 1e-9
_WATCHED_PATHS: Final = 5


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


class PathNoise(RequestedNoise):
    """Answers calls for noise along one path; :class:`Walk` takes it down all of them.

    For verification only. ``weight`` is the probability of the outcomes given so far; a path
    less likely than ``tail`` ends, and its probability is added to ``lost``. ``open`` says
    whether a run is under way: nobody may draw before or after it.

    >>> def coin(noise):
    ...     return bool(noise.bernoulli("1/4", 1)[0])
    >>> sorted(paths(coin, tail=1e-9))
    [(False, 0.75), (True, 0.25)]
    """

    def __init__(self, *, tail: float) -> None:
        self.weight = 1.0
        self.lost = 0.0
        self.branches = 1
        self.open = True
        self._ended = False
        self._tail = tail
        self._nodes: list[_Node] = []
        self._place = 0
        self._turned = 0

    def restart(self) -> None:
        """Back to the beginning, to follow the same choices again."""
        self.weight, self._place, self._ended = 1.0, 0, False

    def check(self) -> None:
        """Errors: ParameterError if the run that ended did not ask for all noise that it had to.

        A program that keeps earlier draws, or goes on after its path was ended, comes to a total
        probability other than 1, and the losses that are found mean nothing.
        """
        if self._ended:
            raise ParameterError(
                "The program went on although its path had ended: it caught BaseException.",
                hint="Catch Exception or narrower, and let the end of a path through.",
            )
        if self._place < max(self._turned, len(self._nodes) if self.repeated else 0):
            raise ParameterError(
                f"Run again with the same noise, the program made {many(self._place, 'draw')} "
                f"where it had drawn {max(self._turned, len(self._nodes))} times.",
                hint="The program must not keep noise, or anything else, from one run to the next.",
            )

    @property
    def drawn(self) -> int:
        """How many draws lie on the path that is known so far."""
        return len(self._nodes)

    repeated = False
    """Whether this run follows a path that was run before, so that all of it must be taken."""

    def advance(self) -> bool:
        """Turn to the next path; False if there is none. Forgets calls that were not repeated."""
        del self._nodes[self._place :]
        while self._nodes:
            node = self._nodes[-1]
            node.index += 1
            if node.index < node.count:
                self._turned = len(self._nodes)
                return True
            self._nodes.pop()
        return False

    def choose(self, pick: Callable[[int], int]) -> None:
        """From now on take the outcome ``pick(number of outcomes)`` of each new call."""
        self._nodes.clear()
        self._pick, self.branches = pick, 1

    _pick: Callable[[int], int] | None = None

    def answer(self, request: Request) -> NDArray[Any]:
        """The outcome of this call on the path that is taken."""
        place = self._place
        if not self.open:
            raise ParameterError(
                "Noise was drawn outside the run that it was given to.",
                hint="Draw before the program returns, and keep no noise from one run to the next.",
            )
        if self._ended:
            raise _PathTooUnlikely
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
        return np.asarray(node.support.values[node.index].copy())

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
            self._ended = True
            raise _PathTooUnlikely
        self.branches *= count
        index = self._pick(count) if self._pick else 0
        return _Node(request, found, count, self.weight, index)


TAIL: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to enumerate.

    tail: paths less likely than this are left out. limit: the most paths for one input.
    patience: seconds that one run may take. sealed: refuse all chance but the noise.
    Errors: ParameterError.
    """

    tail: float = TAIL
    limit: int = MAX_PATHS
    patience: float = PATIENCE
    sealed: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.tail <= 0.5:
            raise ParameterError(
                f"tail must lie in (0, 1/2], got {self.tail!r}.", hint="Use 1e-12."
            )
        whole(self.limit, name="limit", least=1)


class Walk(Generic[Result]):
    """Run ``program`` once for every sequence of outcomes; iterate to get ``(result, weight)``.

    After the walk, ``lost`` bounds the probability of all paths that were not taken: outcomes
    less likely than the ``tail`` of ``how``, counted as they were cut. ``count`` is the number of
    paths. What was taken and what was lost must sum to 1, or the walk is refused.
    repeats: run the first path so many times more, and a few others once more, each call watched:
    the same noise must give the same result.
    Errors: ParameterError after ``limit`` paths, for a run that does not end within ``patience``
    seconds (in the main thread), or that takes chance from elsewhere.

    >>> coin = Walk(lambda noise: bool(noise.bernoulli(Fraction(1, 4), 1)[0]), Settings(tail=1e-9))
    >>> sorted((heads, float(weight)) for heads, weight in coin)
    [(False, 0.75), (True, 0.25)]
    """

    def __init__(
        self, program: Callable[[PathNoise], Result], how: Settings, *, repeats: int = 0
    ) -> None:
        self._program, self._how, self._repeats = program, how, repeats
        self._seal = Seal() if how.sealed else None
        self.count, self.lost = 0, 0.0

    def __iter__(self) -> Generator[tuple[Result, float], None, None]:
        noise, total = PathNoise(tail=self._how.tail), 0.0
        noise.open = False
        with ExitStack() as stack:
            stack.enter_context(Watch(lambda: self.count, patience=self._how.patience))
            if self._seal is not None:
                stack.enter_context(self._seal.installed())
            while self.count < self._how.limit:
                self.count += 1
                try:
                    result = self._run(noise)
                except _PathTooUnlikely:
                    pass
                else:
                    if self._repeats and self.count <= _WATCHED_PATHS:
                        self._repeat(noise, result)
                    total += noise.weight
                    yield result, noise.weight
                if not noise.advance():
                    # Errors: ParameterError unless all probability is accounted for.
                    self.lost = min(1.0, noise.lost)
                    if not abs(total + noise.lost - 1) <= _ROUNDING:
                        raise ParameterError(
                            f"The paths have a total probability of {total + noise.lost:.6g}, not "
                            "1.",
                            hint="The program must take all of its chance from the noise it is "
                            "given, and keep nothing from one run to the next.",
                        )
                    return
        raise ParameterError(
            f"More than {self._how.limit:,} paths: the universe is too large to enumerate.",
            hint="Use fewer groups or units, larger rates, or a coarser tail.",
        )

    def _run(self, noise: PathNoise) -> Result:
        """One run along the path that is due."""
        noise.restart()
        noise.open = True
        running: AbstractContextManager[object] = self._seal or nullcontext()
        try:
            with running:
                result = self._program(noise)
        finally:
            noise.open = False
        noise.check()
        return result

    def _repeat(self, noise: PathNoise, first: Result) -> None:
        """Follow the same path again; Errors: ParameterError if that comes to anything else."""
        noise.repeated = True
        with self._seal.watched() if self._seal else nullcontext():
            for _ in range(self._repeats if self.count == 1 else 1):
                drawn = noise.drawn
                try:
                    same = form(self._run(noise)) == form(first) and noise.drawn == drawn
                except _PathTooUnlikely:
                    same = False
                if not same:
                    raise unsteady()
        noise.repeated = False

    def probe(self, dives: int, seed: int) -> float:
        """An estimate of the number of paths from ``dives`` random ones (Knuth 1975)."""
        generator = np.random.default_rng(seed)
        noise, total = PathNoise(tail=self._how.tail), 0
        with Watch(lambda: self.count, patience=self._how.patience):
            for _ in range(dives):
                self.count += 1
                noise.choose(lambda count: int(generator.integers(count)))
                noise.restart()
                with suppress(_PathTooUnlikely):
                    self._program(noise)
                total += noise.branches
        return total / dives


def unsteady() -> ParameterError:
    """The refusal of a program that gives two outputs at the same data and noise."""
    return ParameterError(
        "Run again on the same data with the same noise, the program gave another output.",
        hint="The program must take all of its chance from the noise it is given, and keep "
        "nothing from one run to the next.",
    )


def paths(
    program: Callable[[PathNoise], Result], *, tail: float, limit: int = MAX_PATHS
) -> Iterator[tuple[Result, float]]:
    """Each result of ``program`` with the probability of the noise that led to it.

    >>> found = paths(lambda noise: int(noise.geometric(1, 1)[0]), tail=1e-3)
    >>> [(result, round(chance, 3)) for result, chance in found][:2]
    [(0, 0.632), (1, 0.233)]
    """
    return iter(Walk(program, Settings(tail=tail, limit=limit, sealed=False)))
