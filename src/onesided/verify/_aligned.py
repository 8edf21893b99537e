"""Randomness alignment: a map of noise that keeps the output, checked on every path of noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import INFINITE, Infinite, Loss, Number, positive, probability, rate, whole
from onesided.errors import OnesidedError, ParameterError
from onesided.noise.kit import variance_of
from onesided.policy import Edge, GroupCount, Policy
from onesided.verify._enumerate import (
    MAX_PATHS,
    TAIL,
    PathNoise,
    Request,
    RequestedNoise,
    Settings,
    Walk,
    log_total,
    rates_of,
    support,
)
from onesided.verify._exact import ROUNDING, Task, distinct_moves, too_coarse
from onesided.verify._seal import PATIENCE, Form, form
from onesided.verify._universe import Universe, World

# One path of noise: how likely it is, kept while it is drawn, or given and followed.

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
    elif kind == "gaussian":
        variance = variance_of(arguments[0], name="variance")
        rest = -log_total(variance)
        each = [LogChance(-x * x / (2 * variance), rest) for x in drawn.tolist()]
    elif flips:
        each = [_flip(kind, arguments[0], taken) for taken in drawn.tolist()]
    else:
        # A call whose outcomes are level, or listed.
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


_REPEATS: Final = 4


@dataclass(frozen=True, slots=True)
class NoisePath:
    """One path of noise on the real data, as an alignment sees it.

    draws: what came out of each call for noise, one array for each. output: what the program
    gave. real, other: the two data sets of the move, as the program sees them (counts, for a
    mechanism).

    >>> path = NoisePath((np.array([4]),), 9, np.array([5]), np.array([3]))
    >>> (path.draws[0] + path.real - path.other).tolist()
    [6]
    """

    draws: Draws
    output: Any
    real: Any
    other: Any


Alignment: TypeAlias = Callable[[NoisePath], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Misaligned:
    """Where an alignment fails: the move, the path, what it is mapped to, both outputs, the cost.

    fault: "output" (another one), "path" (the other data set has no such path of noise), "cost"
    (one path costs more than is allowed), "merged" (several paths are mapped to one, and together
    cost more). cost: ``log Pr[path on real] / Pr[mapped on other]``; of all paths merged so far.
    also: for "merged", another path that is mapped there.

    >>> from onesided.policy import presence
    >>> wrong = aligned(lambda data, noise: len(data[0].value), lambda path: [],
    ...                 presence(max_groups=1), Universe(units=1), epsilon=1).faults[0]
    >>> wrong.fault, wrong.output, wrong.other_output
    ('output', 1, 0)
    """

    fault: str
    reason: str
    edge: Edge
    real: Any
    other: Any
    draws: Draws
    mapped: Draws
    output: Any
    other_output: Any
    cost: float
    also: Draws = ()

    def __str__(self) -> str:
        return (
            f"{self.edge.name}, from {_told(self.real)} to {_told(self.other)}: noise "
            f"{_told(self.draws)}, mapped to {_told(self.mapped)}: {self.reason}"
        )


@dataclass(frozen=True, slots=True)
class AlignedReport:
    """What the check of an alignment found, each move in its own direction.

    faults: the first of each kind along each edge. cost: the most that any noise costs, per edge.
    outside: probability that was not enumerated, at most. paths: how many were followed.
    untested: edges of the policy of which nothing was seen.

    >>> AlignedReport((), {}, outside=0.0, paths=1, untested=()).holds
    True
    """

    faults: tuple[Misaligned, ...]
    cost: dict[Edge, float]
    outside: float
    paths: int
    untested: tuple[Edge, ...]

    @property
    def holds(self) -> bool:
        """Whether ``Pr[M(X) in S] <= e^ε Pr[M(Y) in S] + outside`` follows in this universe."""
        return not self.faults and not self.untested

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.faults:
            return f"no alignment: {self.faults[0]}"
        if self.untested:
            return f"not tested: {', '.join(edge.name for edge in self.untested)}"
        most = max(self.cost.values(), default=0.0)
        return f"aligned: {self.paths} paths, at a cost of at most {most:.4f}"


def aligned(
    program: object,
    alignment: Alignment,
    policy: Policy,
    universe: World | None = None,
    *,
    epsilon: Number,
    query: GroupCount | None = None,
    tail: float = TAIL,
    limit: int = MAX_PATHS,
    patience: float = PATIENCE,
    sealed: bool = True,
) -> AlignedReport:
    """Check a proof by alignment: every path of noise on X is mapped to one on Y, for every move.

    ``alignment`` takes a :class:`NoisePath` and gives the draws, one array for each call, with
    which the program must give the *same* output on the other data. Each path may cost at most ε
    times the weight of the edge, ``log Pr[path on X] / Pr[mapped on Y]``, and all paths that are
    mapped to one may cost no more together: so a map that costs ε must be injective, but random
    ranks that are not needed any more may be dropped. That is Theorem 7 of ADP-2021 (Theorem 2
    where moves go both ways) for whole-number noise; proof in docs/proofs/alignment.md.

    A move is checked from the real data to the other alone, never back. Unlike :func:`exact` it
    says *why* a mechanism is private, and which noise shows that it is not.
    program, universe, query, tail, limit, patience, sealed: as for :func:`exact`.
    Errors: ParameterError as for :func:`exact`; if the alignment fails or returns no arrays.

    >>> from onesided import INFINITE, verify
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import presence
    >>> def shift(path):  # the noise grows by what the count fell
    ...     return [path.draws[0] + path.real - path.other]
    >>> one_sided, policy = Counts(1, INFINITE), presence(max_groups=1)
    >>> print(verify.aligned(one_sided, shift, policy, epsilon=1, tail=1e-3))
    aligned: 252 paths, at a cost of at most 1.0000
    >>> verify.aligned(one_sided, shift, policy, epsilon="1/2", tail=1e-3).faults[0].fault
    'cost'
    """
    budget = positive(epsilon, name="epsilon")
    how = Settings(tail=tail, limit=limit, patience=patience, sealed=sealed)
    task = Task(program, universe or Universe(), query or GroupCount(), how)
    moves = distinct_moves(task, policy)
    found: dict[tuple[Edge, str], Misaligned] = {}
    cost: dict[Edge, float] = {}
    outside, paths = 0.0, 0
    for real, other, edge, _, _ in moves:
        checked = _Move(task, alignment, real, other, edge, budget * edge.weight)
        for fault in checked.run():
            found.setdefault((edge, fault.fault), fault)
        cost[edge] = max(cost.get(edge, -math.inf), checked.worst)
        outside, paths = max(outside, checked.lost), paths + checked.paths
    return AlignedReport(tuple(found.values()), cost, outside, paths, task.untested(policy, moves))


@dataclass(frozen=True, slots=True)
class _Followed:
    """What came of one path: the draws it was mapped to, both outputs, and both chances."""

    draws: Draws
    mapped: Draws
    output: Any
    other_output: Any
    here: LogChance
    there: LogChance
    fault: str
    reason: str


@dataclass(slots=True)
class _Move:
    """One move, path by path. ``worst``, ``lost`` and ``paths`` are known after a run."""

    task: Task
    alignment: Alignment
    real: Any
    other: Any
    edge: Edge
    allowed: Fraction
    worst: float = -math.inf
    lost: float = 0.0
    paths: int = 0
    _paid: dict[Form, tuple[float, Draws]] = field(default_factory=dict)

    def run(self) -> Iterator[Misaligned]:
        """Every fault."""
        walk = Walk(self._follow, self.task.how, repeats=_REPEATS)
        for followed, _ in walk:
            self.paths += 1
            fault, reason, cost, also = self._judge(followed)
            self.worst = max(self.worst, cost)
            if fault:
                yield Misaligned(
                    fault,
                    reason,
                    self.edge,
                    self.task.given(self.real),
                    self.task.given(self.other),
                    followed.draws,
                    followed.mapped,
                    followed.output,
                    followed.other_output,
                    cost,
                    also,
                )
        self.lost = walk.lost
        too_coarse(walk.lost, self.task.how.tail)

    def _follow(self, noise: PathNoise) -> _Followed:
        """One run on the real data, and one on the other with the noise that it is mapped to."""
        kept = KeptNoise(noise)
        output = self.task.bound(self.real)(kept)
        draws = tuple(kept.draws)
        real, other = self.task.given(self.real), self.task.given(self.other)
        copies = tuple(one.copy() for one in draws)  # it may change them without harm
        mapped = self._map(NoisePath(copies, output, real, other))
        given = GivenNoise(mapped)
        try:
            other_output = self.task.bound(self.other)(given)
            given.conclude()
        except NotThatPathError:
            other_output = None
        fault, reason = "path" if given.fault else "", given.fault
        if not fault and form(output) != form(other_output):
            fault, reason = "output", f"the output is {other_output}, not {output}"
        chances = kept.chance, given.chance
        return _Followed(draws, mapped, output, other_output, *chances, fault, reason)

    def _map(self, path: NoisePath) -> Draws:
        """Errors: ParameterError if the alignment fails or gives no arrays."""
        try:
            mapped = self.alignment(path)
            return tuple(_plain(one) for one in mapped)
        except OnesidedError:
            raise
        except Exception as error:
            raise ParameterError(
                f"The alignment failed with {type(error).__name__}: {error}",
                hint="It takes a NoisePath and returns a list of arrays, one for each call.",
            ) from error

    def _judge(self, followed: _Followed) -> tuple[str, str, float, Draws]:
        """The fault, why, the cost, and another path that is mapped to the same."""
        if followed.fault:
            return followed.fault, followed.reason, math.nan, ()
        exact = followed.here.exact - followed.there.exact
        rest = followed.here.rest - followed.there.rest
        cost = float(exact) + rest
        if exact > self.allowed if rest == 0 else cost > float(self.allowed) + ROUNDING:
            return "cost", f"it costs {cost:.6g}, more than {self.allowed}", cost, ()
        key = form(followed.mapped)
        paid, also = self._paid.get(key, (0.0, ()))
        together = paid + math.exp(cost)
        self._paid[key] = (together, followed.draws)
        if not paid:
            return "", "", cost, ()
        total = math.log(together)
        if total <= float(self.allowed) + ROUNDING:
            return "", "", total, ()
        return (
            "merged",
            f"noise {_told(also)} is mapped there, too, and together they cost {total:.6g}, more "
            f"than {self.allowed}",
            total,
            also,
        )


def _plain(drawn: Any) -> NDArray[Any]:
    """An array of its own, of one type for all whole numbers: equal paths must look equal."""
    own = np.array(drawn)
    return own.astype(np.int64) if own.dtype.kind in "iu" else own


def _told(part: Any) -> str:
    """Arrays as lists."""
    if isinstance(part, tuple) and any(isinstance(one, np.ndarray) for one in part):
        return ", ".join(str(one.tolist()) for one in part)
    return str(part.tolist()) if isinstance(part, np.ndarray) else str(part)
