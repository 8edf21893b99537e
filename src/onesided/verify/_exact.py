"""The exact check: run the shipped code on every noise path, for every move of the policy."""

from __future__ import annotations

import inspect
import math
import multiprocessing
import pickle
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from time import perf_counter
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Infinite, Loss, Number, round_up, whole
from onesided._numbers import exact as exact_number
from onesided.errors import MissingDependencyError, OnesidedError, ParameterError
from onesided.noise import Noise, PlainNoise
from onesided.policy import Edge, GroupCount, Policy
from onesided.verify._enumerate import MAX_PATHS, TAIL, PathNoise, Settings, Walk, unsteady
from onesided.verify._seal import PATIENCE, Form, form, shown, undrawn
from onesided.verify._universe import Data, Universe, World

# What an exact check found: a certain lower bound, and what is proven all the same.


# Sums and products of doubles along a path are right to far better than this.
ROUNDING: Final = 1e-9
_SLACK: Final = 1e-14


@dataclass(frozen=True, slots=True)
class Table:
    """The enumerated distribution of one data set; at most ``lost`` of it was not enumerated."""

    weights: dict[Form, float]
    lost: float


@dataclass(frozen=True, slots=True)
class Finding:
    """The worst that was found along one edge, from the real data to the other.

    ``loss`` is ``log Pr[M(real) in S] / Pr[M(other) in S]`` for the worst set S of outputs, and
    never above the truth: probability that was not enumerated is counted against it.
    ``output`` is the output that shows it best; ``impossible`` says that the other data was
    never seen to give it at all.

    >>> from onesided import INFINITE, verify
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import removal_only
    >>> edge, worst = verify.exact(Counts(1, INFINITE), removal_only()).worst
    >>> edge.name, worst.impossible
    ('absent -> record', True)
    """

    loss: float
    real: Data
    other: Data
    output: Any
    impossible: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """Two distributions joined by a move, output by output; ``lost``: of the first, not listed."""

    edge: Edge
    here: NDArray[np.float64]
    there: NDArray[np.float64]
    lost: float

    def delta(self, loss: Loss) -> float:
        """The least δ that the enumeration proves at this loss, rounding included."""
        if isinstance(loss, Infinite):
            return 0.0
        factor = math.exp(round_up(loss))
        excess = np.maximum(self.here - factor * self.there, 0.0)
        return min(1.0, float(excess.sum()) + self.lost + _SLACK * (1 + factor))


@dataclass(frozen=True, slots=True)
class ExactReport:
    """What the exact check found, edge by edge, each in its own direction.

    ``outside`` bounds the probability that any data set's enumeration left out; a larger loss
    could hide only there, and :meth:`delta` says what that can amount to. ``untested`` lists the
    edges of the policy that this universe does not exercise: of them nothing is known, so no
    claim is kept while there are any.

    >>> from onesided import INFINITE, verify
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import presence
    >>> report = verify.exact(Counts(1, INFINITE), presence(max_groups=1))
    >>> report.keeps(1), report.keeps("1/2"), report.untested
    (True, False, ())
    """

    findings: Mapping[Edge, Finding]
    outside: float
    data_sets: int
    noise_paths: int
    pairs: tuple[Pair, ...] = field(default=(), repr=False, compare=False)
    untested: tuple[Edge, ...] = ()

    def __repr__(self) -> str:
        untested = f", {len(self.untested)} edges untested" if self.untested else ""
        return (
            f"ExactReport(worst loss {self.loss:.4f} in {self.data_sets:,} data sets with "
            f"{self.noise_paths:,} noise paths{untested})"
        )

    @property
    def loss(self) -> float:
        """The worst directed loss per unit of edge weight; certain, but perhaps not the worst."""
        return max((f.loss / float(e.weight) for e, f in self.findings.items()), default=0.0)

    @property
    def worst(self) -> tuple[Edge, Finding] | None:
        """The edge and finding behind :attr:`loss`."""
        pairs = self.findings.items()
        return max(pairs, key=lambda pair: pair[1].loss / float(pair[0].weight), default=None)

    def keeps(self, epsilon: Number, *, unseen: float = 1e-3) -> bool:
        """Whether every edge was tested and none lost more than ``epsilon`` times its weight.

        False where more than ``unseen`` was left out: there any program may lose anything.
        """
        if not self.outside <= unseen:
            return False
        promised = exact_number(epsilon, name="epsilon")
        return self.keeps_losses({edge: promised * edge.weight for edge in self.findings})

    def keeps_losses(self, losses: Mapping[Edge, Loss]) -> bool:
        """Whether every edge was tested and none lost more than the loss claimed for it."""
        return not self.untested and all(
            finding.loss <= round_up(losses.get(edge, Fraction(0))) + ROUNDING
            for edge, finding in self.findings.items()
        )

    def delta(self, losses: Mapping[Edge, Loss] | Number) -> float:
        """A proven statement: along every edge, for every set S of outputs,

        ``Pr[M(X) in S] <= exp(losses[edge]) Pr[M(Y) in S] + delta``,

        cut tails and rounding included; 1, which says nothing, if an edge was not tested. A number
        is a loss per unit of edge weight. Errors: ParameterError after :meth:`light`.
        """  # noqa: D415 - the formula ends the sentence
        if not isinstance(losses, Mapping):
            promised = exact_number(losses, name="losses")
            losses = {edge: promised * edge.weight for edge in self.findings}
        if self.findings and not self.pairs:
            raise ParameterError(
                "This report no longer holds the distributions.",
                hint="Ask delta() before light(), or run the check again.",
            )
        if self.untested:
            return 1.0
        return max((p.delta(losses.get(p.edge, Fraction(0))) for p in self.pairs), default=0.0)

    def light(self) -> ExactReport:
        """Without the distributions, to send or keep; :meth:`delta` then refuses."""
        return replace(self, pairs=())


def compare(edge: Edge, real: Data, other: Data, here: Table, there: Table) -> tuple[Finding, Pair]:
    """The set of outputs on which ``real`` is least able to pass as ``other``.

    For the bound ``Pr[real in S] / (Pr[other in S] + lost)`` the best S holds all outputs whose
    ratio is above some level, so trying every level finds it.
    """
    outputs = list(here.weights)
    own = np.fromiter(here.weights.values(), np.float64, len(outputs))
    seen = np.fromiter((there.weights.get(o, 0.0) for o in outputs), np.float64, len(outputs))
    pair = Pair(edge, own, seen, here.lost)
    if not outputs:
        return Finding(-math.inf, real, other, None, impossible=False), pair
    with np.errstate(divide="ignore"):
        order = np.argsort(-(own / seen), kind="stable")
        bounds = np.log(np.cumsum(own[order]) / (np.cumsum(seen[order]) + there.lost))
        singles = own / (seen + there.lost)
    best = int(np.argmax(bounds))
    best_shown = order[: best + 1][int(np.argmax(singles[order[: best + 1]]))]
    loss = float(bounds[best])
    output = shown(outputs[best_shown])
    return Finding(loss, real, other, output, impossible=bool(seen[best_shown] == 0)), pair


_TOO_COARSE: Final = 0.5
_RUNS_AT_LEAST: Final = 32
_REPEATS_AT_LEAST: Final = 4


def distribution(run: Callable[[PathNoise], Any], how: Settings) -> tuple[Table, int]:
    """The weight of each output, and how many paths there are.

    Everything is run twice, in the same order, and must come to the same: a program that keeps
    something from run to run, or has chance of its own, is refused. So that what changes every
    second time is seen, the second round runs its first paths more than once.
    Errors: ParameterError; any error of the program that is not ours comes as its cause.
    """
    try:
        return _twice(run, how)
    except OnesidedError:
        raise
    except Exception as error:
        raise ParameterError(
            f"The program failed with {type(error).__name__}: {error}",
            hint="It must give an output for every data set and every noise; who sees that it "
            "fails, and when, learns from it.",
        ) from error


def _twice(run: Callable[[PathNoise], Any], how: Settings) -> tuple[Table, int]:
    walk = Walk(run, how)
    weights: dict[Form, list[float]] = {}
    first = 0
    for output, weight in walk:
        key = form(output)
        weights.setdefault(key, []).append(weight)
        first = hash((first, key, weight))
    too_coarse(walk.lost, how.tail)
    again = Walk(run, how, repeats=max(_REPEATS_AT_LEAST, _RUNS_AT_LEAST - walk.count))
    second = 0
    for output, weight in again:
        second = hash((second, form(output), weight))
    if second != first:
        raise unsteady()
    return Table({key: math.fsum(many) for key, many in weights.items()}, walk.lost), walk.count


def too_coarse(lost: float, tail: float) -> None:
    """Errors: ParameterError if so much was cut that nothing follows."""
    if lost > _TOO_COARSE:
        raise ParameterError(
            f"Paths of probability below {tail:g} hold up to {lost:.3g} of all "
            "probability, so nothing would follow from the others.",
            hint="Use a smaller tail, fewer draws, or larger rates. A program whose draws "
            "never come to an end is cut the same way.",
            lost=lost,
        )


Report: TypeAlias = Callable[[int, int], None]
Progress: TypeAlias = bool | Report


@dataclass(frozen=True, slots=True)
class Effort:
    """What an exact check would take on one core, roughly.

    >>> print(Effort(data_sets=6, noise_paths=1200, seconds=0.5))
    6 data sets, about 1,200 noise paths, about 1 s on one core
    """

    data_sets: int
    noise_paths: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.data_sets:,} data sets, about {self.noise_paths:,} noise paths, "
            f"about {max(1, round(self.seconds)):,} s on one core"
        )


def progress_of(progress: Progress, estimate: Callable[[], Effort], *, total: int) -> Report:
    """The function to call after each data set.

    Errors: MissingDependencyError if a bar is asked for and rich is not installed.
    """
    if progress is False:
        return lambda _done, _total: None
    if progress is not True:
        return progress
    try:
        from rich.console import Console  # noqa: PLC0415 - only when a bar is asked for
        from rich.progress import Progress as Bar  # noqa: PLC0415
    except ImportError:
        raise MissingDependencyError(
            "A progress bar needs the package rich.",
            hint="pip install 'onesided[cli]', or pass progress=a function (done, total).",
        ) from None
    console = Console(stderr=True)
    console.print(f"Exact check: {estimate()}.", highlight=False)
    bar = Bar(console=console, transient=True)
    task = bar.add_task("Data sets", total=total)
    bar.start()

    def show(done: int, _total: int) -> None:
        bar.update(task, completed=done)
        if done == total:
            bar.stop()

    return show


# Spread tasks over processes. Each starts afresh: nothing is inherited but the task.

Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(
    task: Callable[[Item], Result], items: Sequence[Item], processes: int, progress: Report
) -> list[Result]:
    """``[task(item) for item in items]``, in that order, on several processes.

    Errors: ParameterError if more than one process is asked for and the task cannot be sent.
    """
    count = min(whole(processes, name="processes", least=1, most=1024), len(items))
    results: list[Result] = []
    if count <= 1:
        for item in items:
            results.append(task(item))
            progress(len(results), len(items))
        return results
    # Say so before any process is started.
    try:
        pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ParameterError(
            f"The program cannot be sent to another process: {error}.",
            hint="Use processes=1, or define the program at the top of an importable module.",
        ) from error
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(count, mp_context=context) as pool:
            for result in pool.map(task, items):
                results.append(result)
                progress(len(results), len(items))
    except BrokenProcessPool as error:
        # Each process starts by importing the main script, which must not start processes then.
        raise ParameterError(
            "The other processes could not start, or were ended.",
            hint='In a script, put what it does below if __name__ == "__main__":, or use '
            "processes=1.",
        ) from error
    return results


_DIVES: Final = 40
_SETS_PROBED: Final = 8
_PACED: Final = 500


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
        refuse_no_program(self.program)
        if not hasattr(self.program, "release"):
            _refuse_other_arguments(self.program)

    def seen(self, data: Hashable) -> Hashable:
        """What of the data the program can depend on; equal data sets share one enumeration."""
        if hasattr(self.program, "release"):
            return tuple(self.world.count(data, self.query).tolist())
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


def refuse_no_program(program: object) -> None:
    """Errors: ParameterError."""
    if not (hasattr(program, "release") or callable(program)):
        raise ParameterError(
            f"Cannot verify {program!r}: it is neither a mechanism nor a function.",
            hint="Give an object with release(counts, noise=...), or a function (data, noise).",
        )


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
    walks = [Walk(task.bound(data), task.how) for data in chosen]
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
