"""The exact check: run the shipped code on every noise path, for every move of the policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Any, Final

import numpy as np

from onesided.errors import ParameterError
from onesided.noise import Noise
from onesided.policy import Edge, GroupCount, Policy
from onesided.verify._enumerate import MAX_PATHS, Walk, whole_tail
from onesided.verify._progress import Effort, Progress, progress_of
from onesided.verify._report import ExactReport, Finding, Pair, Table, compare
from onesided.verify._universe import Data, Universe
from onesided.verify._watch import PATIENCE
from onesided.verify._workers import spread

TAIL: Final = 1e-12
_DIVES: Final = 40
_SETS_PROBED: Final = 8
_PACED: Final = 500
_TOO_COARSE: Final = 0.5

Program = Callable[[Data, Noise], Any]


def exact(
    program: object,
    policy: Policy,
    universe: Universe | None = None,
    *,
    query: GroupCount | None = None,
    tail: float = TAIL,
    limit: int = MAX_PATHS,
    patience: float = PATIENCE,
    processes: int = 1,
    progress: Progress = False,
) -> ExactReport:
    """Run ``program`` on every noise path of every data set; report the worst directed loss.

    program: a mechanism (its ``release`` is run on the counts that ``query`` describes), or any
        function ``(data, noise)`` where ``data`` is a tuple of records and ``noise`` a Noise. It
        may ask for noise as often as it likes and let later calls depend on earlier ones.
    tail: paths less likely than this are left out; what that can hide is reported.
    limit: the most paths for one data set. patience: seconds that one run may take.
    processes: how many to use; above 1 the program must be picklable.
    progress: True for an estimate and a bar on stderr, or a function ``(done, total)``.
    Errors: ParameterError if there are too many paths or data sets, if a run does not end or
        draws without bound, if the program takes chance from elsewhere, or if so much was cut
        that nothing follows.
    """
    task = _Task(program, universe or Universe(), query or GroupCount(), tail, limit, patience)
    moves = _distinct_moves(task, policy)
    sets = _data_sets(moves)
    report_progress = progress_of(
        progress, lambda: _estimate(task, list(sets.values())), total=len(sets)
    )
    tables = dict(
        zip(sets, spread(task.table, list(sets.values()), processes, report_progress), strict=True)
    )
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
    )


def estimate(
    program: object,
    policy: Policy,
    universe: Universe | None = None,
    *,
    query: GroupCount | None = None,
    tail: float = TAIL,
) -> Effort:
    """How many data sets and noise paths :func:`exact` would take, and how many seconds, roughly.

    Follows random paths on a few data sets (Knuth 1975): exact if every path is equally wide.
    """
    task = _Task(program, universe or Universe(), query or GroupCount(), tail, MAX_PATHS, PATIENCE)
    return _estimate(task, list(_data_sets(_distinct_moves(task, policy)).values()))


@dataclass(frozen=True, slots=True)
class _Task:
    """Everything that is needed to enumerate one data set."""

    program: Any
    world: Universe
    query: GroupCount
    tail: float
    limit: int
    patience: float

    def __post_init__(self) -> None:
        whole_tail(self.tail)
        if not (hasattr(self.program, "release") or callable(self.program)):
            raise ParameterError(
                f"Cannot verify {self.program!r}: it is neither a mechanism nor a function.",
                hint="Give a mechanism with release(), or a function of (data, noise).",
            )

    def seen(self, data: Data) -> Hashable:
        """What of the data the program can depend on; equal data sets share one enumeration."""
        if hasattr(self.program, "release"):
            return tuple(self.world.count(data, self.query).tolist())
        return data

    def bound(self, data: Data) -> Callable[[Noise], Any]:
        """The program on this data, as a function of noise."""
        if not hasattr(self.program, "release"):
            return partial(self.program, data)
        counts = self.world.count(data, self.query)
        release = self.program.release
        return lambda noise: release(counts.copy(), noise=noise)

    def walk(self, data: Data) -> Walk[Any]:
        run = self.bound(data)
        return Walk(run, tail=self.tail, limit=self.limit, patience=self.patience)

    def table(self, data: Data) -> tuple[Table, int]:
        """The distribution of the program's output on this data, and how many paths it took."""
        walk = self.walk(data)
        weights: dict[Hashable, list[float]] = {}
        for output, weight in walk:
            weights.setdefault(freeze(output), []).append(weight)
        if walk.lost > _TOO_COARSE:
            raise ParameterError(
                f"Paths of probability below {self.tail:g} hold up to {walk.lost:.3g} of all "
                "probability, so nothing would follow from the others.",
                hint="Use a smaller tail, fewer draws, or larger rates. A program whose draws "
                "never come to an end is cut the same way.",
                lost=walk.lost,
            )
        return Table({o: math.fsum(many) for o, many in weights.items()}, walk.lost), walk.count


_Move = tuple[Data, Data, Edge, Hashable, Hashable]


def _distinct_moves(task: _Task, policy: Policy) -> list[_Move]:
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


def _data_sets(moves: list[_Move]) -> dict[Hashable, Data]:
    sets: dict[Hashable, Data] = {}
    for real, other, _, here, there in moves:
        sets.setdefault(here, real)
        sets.setdefault(there, other)
    return sets


def _estimate(task: _Task, sets: list[Data]) -> Effort:
    """Random dives on evenly spaced data sets; the pace is that of the first one's first paths."""
    chosen = sets[:: max(1, len(sets) // _SETS_PROBED)][:_SETS_PROBED]
    sizes = [task.walk(data).probe(_DIVES, seed=0) for data in chosen]
    start, run = perf_counter(), 0
    with closing(iter(task.walk(chosen[0]))) as found:
        for run, (output, _) in enumerate(islice(found, _PACED), start=1):  # noqa: B007 - counted
            freeze(output)
    per_path = (perf_counter() - start) / max(1, run)
    paths = round(sum(sizes) / len(sizes) * len(sets))
    return Effort(len(sets), paths, paths * per_path)


def _worst(found: list[tuple[Finding, Pair]]) -> dict[Edge, Finding]:
    worst: dict[Edge, Finding] = {}
    for finding, pair in found:
        if pair.edge not in worst or finding.loss > worst[pair.edge].loss:
            worst[pair.edge] = finding
    return worst


def freeze(output: object) -> Hashable:
    """An output as something that can be a dictionary key; arrays by their values."""
    if isinstance(output, np.ndarray):
        if output.ndim == 1:
            return (output.dtype.kind, tuple(output.tolist()))
        return (output.dtype.kind, output.shape, tuple(output.ravel().tolist()))
    if isinstance(output, np.generic):
        return freeze(output.item())
    if isinstance(output, list | tuple):
        return tuple(freeze(part) for part in output)
    if isinstance(output, dict):
        return tuple(sorted(((freeze(k), freeze(v)) for k, v in output.items()), key=repr))
    if isinstance(output, Iterator) or not isinstance(output, Hashable):
        raise ParameterError(
            f"The program returned a {type(output).__name__}, which cannot be compared.",
            hint="Return numbers, text, arrays, tuples, lists or dictionaries of them.",
        )
    return output
