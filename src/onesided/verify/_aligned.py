"""Randomness alignment: a map of noise that keeps the output, checked on every path of noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Number, positive
from onesided.errors import OnesidedError, ParameterError
from onesided.policy import Edge, GroupCount, Policy
from onesided.verify._distribution import TAIL, Settings, too_coarse
from onesided.verify._enumerate import MAX_PATHS, PathNoise
from onesided.verify._exact import Task, World, distinct_moves
from onesided.verify._form import Form, form
from onesided.verify._given import Draws, GivenNoise, KeptNoise, LogChance, NotThatPathError
from onesided.verify._report import ROUNDING
from onesided.verify._universe import Universe
from onesided.verify._watch import PATIENCE

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
        walk = self.task.how.walk(self._follow, repeats=_REPEATS)
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
        mapped = self._map(NoisePath(*_copies(draws, output, self.task, self.real, self.other)))
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


def _copies(draws: Draws, output: Any, task: Task, real: Any, other: Any) -> tuple[Any, ...]:
    """What an alignment is given: it may change its arrays without harm."""
    return tuple(one.copy() for one in draws), output, task.given(real), task.given(other)


def _plain(drawn: Any) -> NDArray[Any]:
    """An array of its own, of one type for all whole numbers: equal paths must look equal."""
    own = np.array(drawn)
    return own.astype(np.int64) if own.dtype.kind in "iu" else own


def _told(part: Any) -> str:
    """Arrays as lists."""
    if isinstance(part, tuple) and any(isinstance(one, np.ndarray) for one in part):
        return ", ".join(str(one.tolist()) for one in part)
    return str(part.tolist()) if isinstance(part, np.ndarray) else str(part)
