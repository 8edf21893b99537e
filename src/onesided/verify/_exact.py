"""The exact check: run the shipped code on every noise path, for every move of the policy."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import Any, Final

from onesided.errors import ParameterError
from onesided.noise import Noise, PlainNoise
from onesided.policy import Edge, GroupCount, Policy
from onesided.verify._distribution import TAIL, Settings, distribution
from onesided.verify._enumerate import MAX_PATHS
from onesided.verify._form import form
from onesided.verify._generators import undrawn
from onesided.verify._households import Households
from onesided.verify._progress import Effort, Progress, progress_of
from onesided.verify._report import ExactReport, Finding, Pair, Table, compare
from onesided.verify._sum_universe import SumUniverse
from onesided.verify._table_moves import Tables
from onesided.verify._universe import Universe
from onesided.verify._watch import PATIENCE
from onesided.verify._workers import spread

_DIVES: Final = 40
_SETS_PROBED: Final = 8
_PACED: Final = 500

Program = Callable[[Any, Noise], Any]
World = Universe | SumUniverse | Households | Tables


def exact(
    program: object,
    policy: Policy,
    universe: World | None = None,
    *,
    query: GroupCount | None = None,
    tail: float = TAIL,
    limit: int = MAX_PATHS,
    patience: float = PATIENCE,
    sealed: bool = True,
    processes: int = 1,
    progress: Progress = False,
) -> ExactReport:
    """Run ``program`` on every noise path of every data set; report the worst directed loss.

    Each path is run twice and must come to the same. Outputs are told apart as an observer
    would: by type, order, dtype, bytes and every field.

    program: a mechanism (its ``release`` is run on the counts that ``query`` describes, or on the
        sums of a :class:`SumUniverse`), or any function ``(data, noise)`` where ``data`` is a tuple
        of records (of sums, there) and ``noise`` a Noise. It may ask for noise as often as it likes
        and let later calls depend on earlier ones.
    tail: paths less likely than this are left out; what that can hide is reported.
    limit: the most paths for one data set. patience: seconds that one run may take.
    processes: how many to use; above 1 the program must be picklable.
    progress: True for an estimate and a bar on stderr, or a function ``(done, total)``.
    Errors: ParameterError if there are too many paths or data sets, if a run does not end or
        draws without bound, if the program takes chance from elsewhere, or if so much was cut
        that nothing follows.

    >>> from onesided import INFINITE
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import presence, removal_only
    >>> one_sided = Counts(1, INFINITE)
    >>> exact(one_sided, presence(max_groups=1)).keeps(1)
    True
    >>> exact(one_sided, removal_only()).keeps(20)
    False
    """
    how = Settings(tail=tail, limit=limit, patience=patience, sealed=sealed)
    task = Task(program, universe or Universe(), query or GroupCount(), how)
    moves = distinct_moves(task, policy)
    sets = _data_sets(moves)
    report_progress = progress_of(
        progress, lambda: _estimate(task, list(sets.values())), total=len(sets)
    )
    made = spread(task.table, list(sets.values()), processes, report_progress)
    tables = dict(zip(sets, made, strict=True))
    found = [
        compare(edge, real, other, tables[here][0], tables[there][0])
        for real, other, edge, here, there in moves
    ]
    return ExactReport(
        _worst(found),
        max((table.lost for table, _ in tables.values()), default=0.0),
        len(sets),
        sum(count for _, count in tables.values()),
        tuple(pair for _, pair in found),
        task.untested(policy, moves),
    )


def estimate(
    program: object,
    policy: Policy,
    universe: World | None = None,
    *,
    query: GroupCount | None = None,
    tail: float = TAIL,
) -> Effort:
    """How many data sets and noise paths :func:`exact` would take, and how many seconds, roughly.

    Follows random paths on a few data sets (Knuth 1975): exact if every path is equally wide.

    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import presence
    >>> print(estimate(Counts(1, 1), presence(max_groups=1)).data_sets)
    9
    """
    task = Task(program, universe or Universe(), query or GroupCount(), Settings(tail=tail))
    return _estimate(task, list(_data_sets(distinct_moves(task, policy)).values()))


_Move = tuple[Any, Any, Edge, Hashable, Hashable]


@dataclass(frozen=True, slots=True)
class Task:
    """Everything that is needed to enumerate one data set."""

    program: Any
    world: World
    query: GroupCount
    how: Settings

    def __post_init__(self) -> None:
        if not (hasattr(self.program, "release") or callable(self.program)):
            raise ParameterError(
                f"Cannot verify {self.program!r}: it is neither a mechanism nor a function.",
                hint="Give a mechanism with release(), or a function of (data, noise).",
            )
        if not hasattr(self.program, "release"):
            _refuse_other_arguments(self.program)

    def seen(self, data: Hashable) -> Hashable:
        """What of the data the program can depend on; equal data sets share one enumeration."""
        if hasattr(self.program, "release"):
            return tuple(self.world.count(data, self.query).tolist())  # type: ignore[arg-type]
        return data

    def given(self, data: Any) -> Any:
        """The data as the program is given them."""
        if not hasattr(self.program, "release"):
            return data
        return self.world.count(data, self.query)

    def bound(self, data: Any) -> Callable[[Noise], Any]:
        """The program on this data, as a function of noise."""
        if not hasattr(self.program, "release"):
            return lambda noise: self.program(data, PlainNoise(noise))
        counts = self.world.count(data, self.query)
        release = self.program.release
        return lambda noise: release(counts.copy(), noise=PlainNoise(noise))

    def table(self, data: Any) -> tuple[Table, int]:
        """The distribution of the program's output on this data, and how many paths it took."""
        with undrawn(self.program):
            return distribution(self.bound(data), self.how)

    def untested(self, policy: Policy, moves: list[_Move]) -> tuple[Edge, ...]:
        """The edges of which nothing was seen.

        No pair of data sets is joined by them, or no pair differs in what the mechanism sees
        although the policy says that such a move shifts it.
        """
        joined = {edge for _, _, edge, _, _ in moves}
        told = {edge for _, _, edge, here, there in moves if here != there}
        blank = [edge for edge in policy.edges if edge in joined - told]
        if blank and hasattr(self.program, "release"):
            shifts = policy.shifts(self.query)
            blank = [e for e in blank if any(s.rise or s.fall for s in shifts[e])]
        return tuple(edge for edge in policy.edges if edge not in joined or edge in blank)


def _refuse_other_arguments(program: Callable[..., Any]) -> None:
    """Say so before anything is run, if ``program`` cannot be called with data and noise."""
    try:
        inspect.signature(program).bind((), None)
    except TypeError as error:
        raise ParameterError(
            f"{program!r} cannot be called with (data, noise): {error}.",
            hint="Write it as def program(data, noise): ..., where data is a tuple of records; "
            "what else it needs can be bound with functools.partial.",
        ) from error
    except ValueError:
        return  # built-in code that does not tell its arguments


def distinct_moves(task: Task, policy: Policy) -> list[_Move]:
    """The moves of the policy, without those that the program cannot tell from an earlier one."""
    known: dict[tuple[Hashable, ...], _Move] = {}
    for real, other, edge in task.world.moves(policy):
        here, there = task.seen(real), task.seen(other)
        known.setdefault((here, there, edge), (real, other, edge, here, there))
    if not known:
        raise ParameterError(
            f"The policy {policy.name!r} has no move in this universe, so anything would pass.",
            hint="Use more groups, or records of more kinds.",
        )
    return list(known.values())


def _data_sets(moves: list[_Move]) -> dict[Hashable, Any]:
    sets: dict[Hashable, Any] = {}
    for real, other, _, here, there in moves:
        sets.setdefault(here, real)
        sets.setdefault(there, other)
    return sets


def _estimate(task: Task, sets: list[Any]) -> Effort:
    """Random dives on evenly spaced data sets; the pace is that of the first one's first paths."""
    chosen = sets[:: max(1, len(sets) // _SETS_PROBED)][:_SETS_PROBED]
    walks = [task.how.walk(task.bound(data)) for data in chosen]
    sizes = [walk.probe(_DIVES, seed=0) for walk in walks]
    start, run = perf_counter(), 0
    with closing(iter(walks[0])) as found:
        for run, (output, _) in enumerate(islice(found, _PACED), start=1):  # noqa: B007 - counted
            form(output)
    per_path = 2 * (perf_counter() - start) / max(1, run)  # each path is run twice
    paths = round(sum(sizes) / len(sizes) * len(sets))
    return Effort(len(sets), paths, paths * per_path)


def _worst(found: list[tuple[Finding, Pair]]) -> dict[Edge, Finding]:
    worst: dict[Edge, Finding] = {}
    for finding, pair in found:
        if pair.edge not in worst or finding.loss > worst[pair.edge].loss:
            worst[pair.edge] = finding
    return worst
