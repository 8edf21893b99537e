"""The monitor, run over whole streams: several steps, expiry, marks, a crash in between.

A unit's groups are its visits, written "place@time": a policy that may drop k groups hides any k
visits of one person. Batches come at public times; what they hold is the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from onesided import policy as policies
from onesided.monitor import Batch, Machine, rules_for
from onesided.monitor.kit import Recorder, Rules, StepAnswer
from onesided.noise import BoolArray, FreshNoise, Noise
from onesided.policy import Policy
from onesided.verify import Data, Line, Universe

_TAIL = 1e-11
_VISITS = policies.sensitive_presence("NOT agreed", max_groups=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A program ``(data, noise)``: feed the visits to a monitor batch by batch; list what is seen.

    times: of the batches, in order of arrival; late ones are smaller than one before. others: the
    visits of people who do not move. crash: the place in ``times`` at which the process dies, once
    before and once after the commit; then the steps go through a journal, otherwise they do not.
    """

    rules: Rules
    times: tuple[int, ...]
    others: tuple[str, ...] = ()
    machine: type[Machine] = Machine
    recorder: type[Recorder] = Recorder
    crash: int | None = None

    def __call__(self, data: Data, noise: Noise) -> Any:
        """What is seen of each step."""
        visits = [_visits(record.value) for record in data] + [[_visit(v)] for v in self.others]
        opened = {i for i, one in enumerate(data) if one.kind == "open"} | {*range(len(data), 99)}
        batches = [self._batch(number, visits, opened) for number in range(len(self.times))]
        if self.crash is None:
            machine = self.machine(self.rules)
            return tuple(_seen(machine.step(batch, noise=FreshNoise(noise))) for batch in batches)
        # Die before the commit and try again; die after it and try again; then go on.
        journal = _FailingJournal()
        seen: list[Any] = []
        recorder = self._recorder(journal, noise)
        for number, batch in enumerate(batches):
            if number == self.crash:
                for when in ("before", "after"):
                    journal.fail = when
                    try:
                        recorder.take(batch)
                    except _Died:
                        seen.extend(getattr(recorder, "leaked", ()))
                    recorder = self._recorder(journal, noise)
            seen.append(_seen(recorder.take(batch).answer))
        return tuple(seen)

    def _batch(self, number: int, visits: list[list[tuple[str, int]]], opened: set[int]) -> Batch:
        """Every visit comes with the first batch of its own time; an open one in both cells."""
        time = self.times[number]
        fresh = time not in self.times[:number]
        cells = range(0, self.rules.cells, self.rules.size)
        rows = [
            (cell + self.rules.positions[place], person, time)
            for person, own in enumerate(visits)
            for place, when in own
            for cell in (cells if person in opened else cells[:1])
            if when == time and fresh
        ]
        return _batch(number, time, tuple(sorted(rows)))

    def _recorder(self, journal: Any, noise: Noise) -> Recorder:
        return self.recorder(
            self.rules,
            journal=journal,
            noise=noise,
            machine=self.machine,
            secret=lambda: b"",
            moment=lambda: "",
        )


@lru_cache(maxsize=256)
def _batch(number: int, time: int, rows: tuple[tuple[int, int, int], ...]) -> Batch:
    """One batch for all the paths that take it in; nothing changes it."""
    return Batch(str(number), time, rows)


class _Died(Exception):  # noqa: N818 - the end of a process, not an error
    """The process was killed here."""


@dataclass(slots=True)
class _Kept:
    """What a state holds, as a recorder reads and writes it."""

    past: list[Any] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    secret: bytes = b""

    def last(self) -> Any:
        return self.past[-1] if self.past else None

    def find(self, batch: str) -> Any:
        return next((step for step in self.past if step.batch == batch), None)

    def steps(self, *, clock_after: int | None = None) -> list[Any]:
        return [one for one in self.past if clock_after is None or one.clock > clock_after]

    def numbers(self, *, time_after: int | None) -> list[int]:
        return [one.number for one in self.past if time_after is None or one.time > time_after]

    def kept(self, batch: str | None = None) -> list[Any]:
        return [one for one in self.rows if batch is None or one.batch == batch]

    def key(self) -> bytes:
        return self.secret

    def append(self, step: Any, kept: Any, *, key: bytes, forget: int | None) -> None:
        held = [one for one in (*self.rows, kept) if forget is None or one.time > forget]
        self.past, self.rows, self.secret = [*self.past, step], held, key


class _FailingJournal:
    """A state in memory; dies just before or just after a commit, when told to."""

    fail = ""

    def __init__(self) -> None:
        self._kept = _Kept()

    @contextmanager
    def write(self) -> Iterator[_Kept]:
        when, self.fail = self.fail, ""
        staged = replace(self._kept)
        yield staged
        if when == "before":
            raise _Died
        self._kept = staged
        if when == "after":
            raise _Died


class _MarksOfTheOldest(Machine):
    """Broken: as soon as any batch expires, the marks are forgotten."""

    @property
    def resting(self) -> BoolArray:
        cutoff = (self.clock or 0) - (self.rules.window or 0)
        return np.asarray(self._marks[0] - (self.rules.window or 0) + 1 > cutoff)


class _NeverResting(Machine):
    """Broken: goes on publishing while marked records are in the window."""

    @property
    def resting(self) -> BoolArray:
        return np.zeros(self.rules.size, dtype=np.bool_)


class _RestingByRecords(Machine):
    """A rest ends with the last marked *record*, as ADP-2021 Algorithm 3 has it.

    Broken where visits may vanish, as here. Under the paper's own neighbours a record stays, and
    it is sound: see cases/adp_2021.py.
    """

    def advance(self, batch: Any) -> None:
        super().advance(batch)
        self._held = {**getattr(self, "_held", {}), batch.time: len(batch.rows) > 0}

    @property
    def resting(self) -> BoolArray:
        cutoff = (self.clock or 0) - (self.rules.window or 0)
        held = [time for time, rows in self._held.items() if rows and time > cutoff]
        return np.array([any(time <= mark for time in held) for mark in self._marks[0]])


class _LimitPerWindow(Machine):
    """Broken: one answer per window, and so charged as one answer in all (min(c, ℓ0) with c = 1).

    Visits to two places in different windows are each in an answer.
    """

    @property
    def _left(self) -> int | None:
        return 1 - int(self.resting.sum())


class _AlarmsOfEverybody(Machine):
    """Broken: an alarm counts all visits, and noise below them does not hide one that goes."""

    def advance(self, batch: Any) -> None:
        super().advance(batch)
        size = self.rules.size
        self._window.counts[size:] = self._window.counts[:size]


class _RedNeverRests(Machine):
    """Broken: an answer without alarm is taken to cost nothing."""

    @property
    def resting(self) -> BoolArray:
        resting = super().resting
        resting[self.rules.size :] = False
        return resting


class _MarksLost(Machine):
    """Broken: the marks are not part of what is stored."""

    def mark(self, answer: StepAnswer, *, clock: int) -> None:
        if self.steps:  # while a stored state is read, no step has been counted yet
            super().mark(answer, clock=clock)


class _DrawnAgain(Recorder):
    """Broken: publishes before it stores, so that a crash shows two draws of one answer."""

    def _draw(self, machine: Machine, batch: Any, transaction: Any) -> Any:
        step = super()._draw(machine, batch, transaction)
        self.leaked = (_seen(self._release(step).answer),)
        return step


def cases() -> Iterator[Line]:
    """Sound streams; broken ones are our own monitor with one line changed, or say more."""
    place = Stream(rules=_rules("a", window=2), times=(1, 2, 3, 4), others=("a@2",))
    cells = _cells("a", 1, 2, 3)
    yield _case("Monitor, one place", place, cells)
    late = replace(place, times=(1, 3, 2, 4))
    yield _case("Monitor, a late batch", late, cells)
    twice = replace(place, rules=_rules("a", window=3, charges=2), times=(1, 2, 3))
    yield _case("Monitor, two charges per record", twice, _cells("a", 1, 2))
    two = Stream(rules=_rules("ab", window=2, covered=2, epsilon=4), times=(1, 2, 3))
    yield _case("Monitor, two places per person", two, ("a@1", "b@1", "a@2"), covered=2, epsilon=4)
    ended = Stream(rules=_rules("ab", window=None, covered=2, max_answers=1), times=(0, 1))
    yield _case("Monitor, a designated time, one answer", ended, ("a@0", "b@0"), covered=2)
    for at in (1, 2):
        crashed = replace(place, crash=at, times=(1, 2, 3))
        yield _case(f"Monitor, a crash in step {at + 1}", crashed, _cells("a", 1, 2))
    person = Stream(rules=_rules("a", window=2), times=(2, 3, 4, 5))
    yield _case("Monitor, a person over one window", person, _cells("a", 2, 3), covered=2, claim=4)
    # Two batches at one time: two answers each at 2 and at 4, and never more than 2 m in all.
    many = Stream(rules=_rules("a", window=2, charges=2, epsilon=4), times=(2, 2, 3, 4, 4))
    name, more = "Monitor, a person over one window, two charges", _cells("a", 2, 3)
    yield _case(name, many, more, covered=2, claim=8, tail=1e-13)
    map_ = Stream(rules=_map("a"), times=(1, 2, 3), others=("a@2",))
    yield _of_visits("Monitor, safe places and alarms", map_, cells)
    late = replace(map_, times=(1, 3, 2))
    yield _of_visits("Monitor, safe places and alarms, a late batch", late, cells)
    both = Stream(rules=_map("ab"), times=(1, 2))
    yield _of_visits("Monitor, safe places and alarms, two places", both, ("a@1", "b@1", "a@2"))
    again = replace(map_, rules=_map("a", charges=2), times=(1, 2), others=())
    yield _of_visits("Monitor, safe places and alarms, two charges", again, _cells("a", 1, 2))
    crashed = replace(map_, crash=1, times=(1, 2), others=())
    yield _of_visits("Monitor, safe places and alarms, a crash", crashed, _cells("a", 1, 2))
    for case in _broken():
        yield case if case.seen else replace(case, seen="our monitor, one line changed")


def _broken() -> Iterator[Line]:
    place = Stream(rules=_rules("a", window=2), times=(1, 2, 3), others=("a@2",))
    cells = _cells("a", 1, 2)
    two = Stream(rules=_rules("ab", window=2, covered=1), times=(1,))
    flaw = "ε not divided by the places per person"
    yield _case("Monitor", two, ("a@1", "b@1"), covered=2, flaw=flaw)
    read = "ADP-2021, Algorithm 3, where visits may vanish"
    for kind, flaw, seen in (
        (_MarksOfTheOldest, "marks dropped when the first batch expires", ""),
        (_NeverResting, "publishes while marked records remain", ""),
        (_RestingByRecords, "a rest ends with the last marked record", read),
    ):
        yield _case("Monitor", replace(place, machine=kind), cells, flaw=flaw, seen=seen)
    map_ = Stream(rules=_map("a"), times=(1, 2), others=())
    for wrong, flaw in (
        (_AlarmsOfEverybody, "an alarm from everybody's visits"),
        (_RedNeverRests, "a place without alarm never rests"),
    ):
        name = "Monitor, safe places and alarms"
        yield _of_visits(name, replace(map_, machine=wrong), _cells("a", 1, 2), flaw=flaw)
    capped = Stream(rules=_rules("ab", window=1), times=(1, 2), machine=_LimitPerWindow)
    name, flaw = "Monitor, at most one answer per window", "ε min(c, ℓ0) with c counted per window"
    seen = "a reading of ADP-2021, Algorithm 2 for streams"
    yield _case(name, capped, ("a@1", "b@2"), covered=2, flaw=flaw, seen=seen)
    lost = replace(place, machine=_MarksLost, crash=1)
    yield _case("Monitor", lost, cells, flaw="marks lost in a crash")
    again = replace(place, recorder=_DrawnAgain, crash=0, times=(1,), others=())
    yield _case("Monitor", again, ("a@1",), flaw="drawn again after a crash")
    person = Stream(rules=_rules("a", window=2), times=(2, 3, 4))
    flaw, seen = "two charges at a place counted as one", "ADP-2021, Theorem 14 read for persons"
    name, more = "Monitor, a person over one window", _cells("a", 2, 3)
    yield _case(name, person, more, covered=2, flaw=flaw, seen=seen)


def _rules(
    places: str,
    *,
    window: int | None,
    covered: int = 1,
    charges: int = 1,
    epsilon: int = 2,
    policy: Policy | None = None,
    **more: int | None,
) -> Rules:
    given: dict[str, Any] = {"at_most": 0, "max_answers": None, **more}
    kept = policy or policies.presence(max_groups=covered)
    asked: dict[str, Any] = {"window": window, "epsilon": epsilon, "charges": charges}
    return rules_for(list(places), place="place", policy=kept, **asked, **given)


def _map(places: str, *, charges: int = 1) -> Rules:
    return _rules(places, window=2, charges=charges, policy=_VISITS, at_least=1)


def _of_visits(name: str, stream: Stream, cells: tuple[str, ...], *, flaw: str = "") -> Line:
    """A unit is one visit: sensitive or open, and where it is."""
    return Line(
        name,
        _VISITS,
        stream,
        {edge: Fraction(2) for edge in _VISITS.edges},
        universe=Universe(groups=cells, units=1, max_groups=1),
        flaw=flaw,
        tail=_TAIL,
        sealed=stream.crash is None,
    )


def _case(
    name: str,
    stream: Stream,
    cells: tuple[str, ...],
    *,
    covered: int = 1,
    epsilon: int = 2,
    claim: int | None = None,
    flaw: str = "",
    seen: str = "",
    tail: float = _TAIL,
) -> Line:
    policy = policies.presence(max_groups=covered)
    claims = {edge: Fraction(claim or epsilon) for edge in policy.edges}
    return Line(
        name,
        policy,
        stream,
        claims,
        universe=Universe(groups=cells, units=1),
        flaw=flaw,
        seen=seen,
        tail=tail,
        sealed=stream.crash is None,  # a journal writes down when each step was made
    )


def _cells(place: str, *times: int) -> tuple[str, ...]:
    return tuple(f"{place}@{time}" for time in times)


def _visit(cell: str) -> tuple[str, int]:
    place, _, time = cell.partition("@")
    return place, int(time)


def _visits(cells: object) -> list[tuple[str, int]]:
    return [_visit(cell) for cell in sorted(cells)] if isinstance(cells, frozenset) else []


def _seen(answer: StepAnswer) -> tuple[Any, ...]:
    """What is published, in a form that can be compared."""
    return (
        tuple(answer.certified.tolist()),
        tuple(answer.positions.tolist()),
        tuple(answer.values.tolist()),
    )
