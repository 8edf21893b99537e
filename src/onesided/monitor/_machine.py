"""The state machine: window, marks, one step and what it answers. No storage here."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import struct
import zlib
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import numpy as np

from onesided.errors import DataError, LedgerFormatError, TamperedLedgerError
from onesided.monitor._batch import Batch
from onesided.monitor._rows import NUMBERS, numbering, whole_person
from onesided.monitor._rules import NEVER, Rules
from onesided.noise import KEY_BYTES, BoolArray, IntArray, PlaceNoise
from onesided.session import Release
from onesided.show import RoleTable
from onesided.store import canonical

# What one step publishes, as arrays, as bytes in the store, and as words.

CERTIFIED: Final = "certified"
SAFE: Final = "safe"  # certified, beside alarms
ALARM: Final = "alarm"
UNKNOWN: Final = "unknown"
RESTING: Final = "resting"
_HEAD: Final = struct.Struct("<QQ")


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """Which cells are certified, which were answered with a value; the others rest.

    >>> import numpy as np
    >>> answer = StepAnswer(np.array([True, False]), np.array([1]), np.array([7]))
    >>> decode(answer.encode(), size=2).values.tolist()
    [7]
    """

    certified: BoolArray
    positions: IntArray
    values: IntArray

    def encode(self) -> bytes:
        """The same bytes for the same answer."""
        parts = (
            _HEAD.pack(self.certified.size, self.positions.size),
            np.packbits(self.certified).tobytes(),
            self.positions.astype("<i8").tobytes(),
            self.values.astype("<i8").tobytes(),
        )
        return zlib.compress(b"".join(parts), 1)


def plain_answer(payload: bytes) -> bytes:
    """What a stored answer says, however it was compressed. Errors: LedgerFormatError."""
    try:
        return zlib.decompress(payload)
    except (zlib.error, TypeError) as error:
        raise _unreadable() from error


def decode(payload: bytes, *, size: int) -> StepAnswer:
    """The answer that was stored.

    Errors: LedgerFormatError if it is not one for ``size`` places.
    """
    raw = plain_answer(payload)
    try:
        places, answered = _HEAD.unpack_from(raw)
    except struct.error as error:
        raise _unreadable() from error
    bits = (size + 7) // 8
    if places != size or len(raw) != _HEAD.size + bits + 16 * answered:
        raise _unreadable()
    packed = np.frombuffer(raw, np.uint8, bits, _HEAD.size)
    numbers = np.frombuffer(raw, "<i8", 2 * answered, _HEAD.size + bits).astype(np.int64)
    if answered and not 0 <= numbers[:answered].min() <= numbers[:answered].max() < size:
        raise _unreadable()
    certified = np.unpackbits(packed, count=size).astype(np.bool_)
    return StepAnswer(certified, numbers[:answered], numbers[answered:])


def _unreadable() -> LedgerFormatError:
    return LedgerFormatError(
        "a stored answer of the monitor cannot be read.",
        hint="The state is damaged. Restore a copy, or start a new monitor.",
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MonitorRelease(Release):
    """What one step published: for each place "certified", "unknown" or "resting".

    With alarms: "safe" (which is certified), "alarm", "unknown" or "resting".

    certified: certainly at most the threshold, at ``time``, counting different people in the
        window of all batches accepted so far. unknown: a noisy count above the threshold was
        drawn; ``values`` holds it, and the true count is certainly not above it. resting: nothing
        was asked, because records that an earlier answer used are still in the window.
    alarm: of a monitor that tells alarms, certainly at least so many different people whose visit
        is open. Such a place is unknown where a decision was asked and none certified, and rests
        where none was asked; ``table`` has what is certain of it on both sides.
    number: of the step, from 1. batch: the id of the batch that led to it. time: the clock, the
        latest time of any batch so far. head: the hash that this step adds to the chain of what
        was published. told_again: it was stored before; nothing was drawn for it now. entry: of
        the monitor's one charge, which its guarantee tells; it covers all steps.

    >>> from onesided import Monitor, policy
    >>> rules = {"at_most": 1, "window": 7, "epsilon": 60, "policy": policy.addition_only()}
    >>> monitor = Monitor(["gym", "bar"], **rules)
    >>> visits = {"person": [1, 2, 3], "place": ["gym", "bar", "bar"]}
    >>> release = monitor.step(visits, id="a", time=1)
    >>> print(release)
    ε = 60 on record -> absent is large: an answer may change the odds that somebody holds about one
    person by a factor of e^60.
    At most 1 unit within 7 by place.
    Step 1, a, 1: 1 certified, 1 unknown, 0 resting.
    place  status     at_most (certain)
    gym    certified                  1
    bar    unknown                    2
    Under the policy 'addition_only' -- record -> absent: ε = 60 (pure, δ = 0). All that the
    monitor ever publishes together.
    """

    number: int
    batch: str
    time: str
    rules: Rules
    answer: StepAnswer
    head: str
    kind: str = "MonitorRelease"

    def __post_init__(self) -> None:
        """Say which step it is, and how many places are in which state."""
        counts = ", ".join(f"{many:,} {status}" for status, many in self.counts.items())
        said = f"Step {self.number:,}, {self.batch}, {self.time}: {counts}."
        object.__setattr__(self, "summary", said)

    @property
    def counts(self) -> dict[str, int]:
        """How many places have each status."""
        alarms = {} if self.rules.alarms is None else {ALARM: int(self.alarm.sum())}
        return {
            self.sure: int(self.certified.sum()),
            **alarms,
            UNKNOWN: int(self.unknown.sum()),
            RESTING: int(self.resting.sum()),
        }

    @property
    def places(self) -> tuple[object, ...]:
        """The public places, in their given order; every column below is as long."""
        return tuple(row[0] for row in self.rules.keys.rows)

    @property
    def certified(self) -> BoolArray:
        """Which places certainly have at most the threshold."""
        return self.answer.certified[: self.rules.size]

    @property
    def sure(self) -> str:
        """What a place that is ``certified`` is called: "safe" where alarms are told as well."""
        return CERTIFIED if self.rules.alarms is None else SAFE

    @property
    def alarm(self) -> BoolArray:
        """Which places certainly have at least their number of open visitors."""
        found = np.zeros(self.rules.size, dtype=np.bool_)
        told = self.answer.certified[self.rules.size :]
        found[: told.size] = told
        return found

    @property
    def unknown(self) -> BoolArray:
        """Which places were answered, and nothing certified."""
        found = np.zeros(self.rules.size, dtype=np.bool_)
        found[self.answer.positions % max(self.rules.size, 1)] = True
        return found & ~(self.certified | self.alarm)

    @property
    def resting(self) -> BoolArray:
        """Which places were not asked about."""
        return ~(self.certified | self.alarm | self.unknown)

    @property
    def values(self) -> IntArray:
        """The noisy count of everybody where it was drawn and not certified; 0 elsewhere."""
        return self._values[: self.rules.size]

    @property
    def _values(self) -> IntArray:
        found = np.zeros(self.rules.cells, dtype=np.int64)
        found[self.answer.positions] = self.answer.values
        return found

    @property
    def upper_bounds(self) -> list[int | None]:
        """What the number of people at each place certainly does not exceed; None if not told."""
        found: list[int | None] = self._bounds(0, self.rules.thresholds).tolist()
        return found

    @property
    def lower_bounds(self) -> list[int | None]:
        """How many open visitors each place has at least, certainly; None where it is not told."""
        if self.rules.alarms is None:
            return [None] * self.rules.size
        found = self._bounds(self.rules.size, self.rules.alarms).tolist()
        return [None if one is None else max(one, 0) for one in found]

    def _bounds(self, start: int, levels: IntArray) -> Any:
        """Of the cells from ``start`` on: the level where certified, else what was drawn."""
        size = self.rules.size
        found = np.full(self.rules.cells, None, dtype=object)
        found[self.answer.positions] = self.answer.values
        found, sure = found[start : start + size], self.answer.certified[start : start + size]
        found[sure] = levels[sure]
        return found

    @property
    def status(self) -> list[str]:
        """The status of each place as a word."""
        words = np.full(self.rules.size, RESTING, dtype=object)
        words[self.certified] = self.sure
        words[self.alarm] = ALARM
        words[self.unknown] = UNKNOWN
        found: list[str] = words.tolist()
        return found

    def at_most(self, threshold: int | None = None) -> list[Any]:
        """The places certified to have at most ``threshold``; by default, each at most its own."""
        if threshold is None:
            return self.rules.keys.part(np.flatnonzero(self.certified)).labels()
        return Release.at_most(self, threshold)

    @property
    def table(self) -> RoleTable:
        """A row per place: place, status, at_most, which is certain (None while resting)."""
        keys, came = self.rules.keys.by_name(), self.rules.keys.beside.columns
        roles: dict[str, Any] = {**dict.fromkeys(keys, "key"), "status": "fact", "at_most": "upper"}
        told: dict[str, Any] = {**keys, **came, "status": self.status, "at_most": self.upper_bounds}
        if self.rules.alarms is not None:
            told["open_at_least"], roles["open_at_least"] = self.lower_bounds, "lower"
        for name, levels in (("own_most", self.rules.thresholds), ("own_least", self.rules.alarms)):
            if levels is not None and np.unique(levels).size > 1:
                told[name], roles[name] = levels, "fact"
        sure = tuple(name for name, role in roles.items() if role in ("upper", "lower"))
        return RoleTable.of(told, beside=tuple(came), roles=roles, sure=sure)


# The wall between an engine, which counts, and the machine, which answers.
#
# An engine hands over batches, and a window that counts them. Of rows it tells the machine only how
# many different people are at each place, as an array by the place's position among the keys, and a
# digest of 32 bytes; so rows may stay wherever the engine has them.


class Visits(Protocol):
    """A batch as far as the machine and its store look.

    >>> from onesided.monitor import Batch
    >>> visits: Visits = Batch("monday", 1, ((0, "Ann", 1),))
    >>> visits.person_type, len(visits.digest())
    ('str', 32)
    """

    @property
    def id(self) -> str:
        """Public, accepted once."""

    @property
    def time(self) -> int:
        """Public; no row is later."""

    @property
    def person_type(self) -> str:
        """The persons' type, "int" or "str"; "" for a batch without rows."""

    def digest(self) -> bytes:
        """What :func:`onesided.monitor._rows.ordered_digest` makes of the rows, on any engine."""

    def content(self) -> bytes:
        """What the store keeps while the batch is in the window: the rows, or where they are."""


class Counter(Protocol):
    """How many different people were at each place within the window.

    >>> from onesided.monitor._machine import Window
    >>> window: Counter = Window(2)
    >>> window.counts.tolist()
    [0, 0]
    """

    @property
    def counts(self) -> IntArray:
        """One number for each place, 64 bits, in the order of the keys."""

    def refuse_other_type(self, batch: Any) -> None:
        """Errors: DataError for persons of another type than those in the window."""

    def add(self, batch: Any) -> None:
        """Take in a batch."""

    def expire(self, cutoff: int | None) -> None:
        """Let go of every visit that is not after ``cutoff``; None lets go of none."""


_SLACK: Final = 64
_LEAST: Final = 64
_PART: Final = 1 << 17  # pairs that are looked for at a time
_FREE: Final = -1
# One for each process: nobody can choose pairs that all look for the same slot.
_KEY: Final = tuple(np.uint64(secrets.randbits(64) | 1) for _ in range(3))
_NONE: Final = np.zeros(0, dtype=np.int64)


class Window:
    """Counts different people per place, in columns.

    A person counts at a place while the latest of their visits there is in the window: each pair
    of place and person has the time of that visit, or NEVER when it has expired.

    >>> window = Window(2)
    >>> window.add(Batch("monday", 1, ((0, "Ann", 0), (0, "Ann", 1), (1, "Bob", 0))))
    >>> window.expire(0)
    >>> window.counts.tolist()
    [1, 0]
    """

    def __init__(self, size: int) -> None:
        self.counts: IntArray = np.zeros(size, dtype=np.int64)
        self._size, self._inside, self._type = size, 0, ""
        self._pairs = Pairs()
        # Persons that are no number of 64 bits have one here; their places are told apart by size.
        self._codes = numbering()

    def refuse_other_type(self, batch: Batch) -> None:
        """Refuse persons as text beside persons as numbers: nobody could tell who is who."""
        if self._inside and batch.person_type not in ("", self._type):
            raise DataError(
                f"Batch {batch.id!r} names persons by {batch.person_type}, the batches before it "
                f"by {self._type}.",
                hint="Cast the column to one type in every batch. Nothing was drawn or stored.",
            )

    def add(self, batch: Batch) -> None:
        """Take in the rows of a batch."""
        if not len(batch.rows):
            return
        self._type = batch.person_type
        place, person, time = batch.rows.place, batch.rows.person, batch.rows.time
        if batch.rows.names is None:
            numbers = self._pairs.find(place, person)
        else:
            codes, named = self._coded(batch.rows.names, text=batch.rows.text)
            numbers = self._pairs.find(place + self._size * named[person], codes[person])
        last = self._pairs.value[numbers]
        new = place[last == NEVER]
        np.add.at(self.counts, new, 1)
        self._inside += new.size
        self._pairs.value[numbers] = np.maximum(last, time)

    def expire(self, cutoff: int | None) -> None:
        """Let go of every visit that is not after ``cutoff``."""
        if cutoff is None or not self._inside:
            return
        latest = self._pairs.value[: self._pairs.size]
        gone = np.flatnonzero((latest <= cutoff) & (latest != NEVER))
        if not gone.size:
            return
        np.subtract.at(self.counts, self._pairs.left[gone] % self._size, 1)
        latest[gone] = NEVER
        self._inside -= gone.size
        if self._pairs.size > 2 * self._inside + _SLACK:
            self._keep(np.flatnonzero(latest != NEVER))

    def _coded(self, names: tuple[bytes, ...], *, text: bool) -> tuple[IntArray, IntArray]:
        """A number for each name, and 1 where it is a number given here.

        A whole number of 64 bits is its own number, whatever else is in its batch: a person has
        one number in all batches.
        """
        number = self._codes.__getitem__
        if text:
            codes = np.fromiter(map(number, names), np.int64, len(names))
            return codes, np.ones(len(names), dtype=np.int64)
        whole = [whole_person(name) for name in names]
        own = [one in NUMBERS for one in whole]
        told = zip(names, whole, own, strict=True)
        numbers = [one if keeps else number(name) for name, one, keeps in told]
        return np.array(numbers, dtype=np.int64), 1 - np.array(own, dtype=np.int64)

    def _keep(self, numbers: IntArray) -> None:
        """Forget all other pairs, and the names that no pair has any longer."""
        if self._codes:
            named = numbers[self._pairs.left[numbers] >= self._size]
            held, self._pairs.right[named] = np.unique(
                self._pairs.right[named], return_inverse=True
            )
            names = list(self._codes)
            self._codes = numbering([names[code] for code in held.tolist()])
        self._pairs.keep(numbers)


class Pairs:
    """An index in columns: each pair has a number from 0, and a value that starts at NEVER.

    Open addressing with linear probing, at most half full, many pairs at a time. What decides is
    equality of both numbers; the hash, whose key nobody knows, only says where to look first.

    >>> pairs = Pairs()
    >>> pairs.find(np.array([1, 1]), np.array([7, 8])).tolist()
    [0, 1]
    >>> pairs.find(np.array([1, 2]), np.array([8, 8])).tolist(), pairs.size
    ([1, 2], 3)
    """

    def __init__(self) -> None:
        self.size = 0
        self.left, self.right = np.empty((2, _LEAST), dtype=np.int64)
        self.value: IntArray = np.full(_LEAST, NEVER, dtype=np.int64)
        self._slots: IntArray = np.full(2 * _LEAST, _FREE, dtype=np.int64)

    def find(self, left: IntArray, right: IntArray) -> IntArray:
        """The number of each pair, new ones in their order. No pair may be given twice."""
        self._reserve(self.size + left.size)
        parts = [slice(start, start + _PART) for start in range(0, left.size, _PART)]
        return np.concatenate([_NONE, *(self._find(left[part], right[part]) for part in parts)])

    def keep(self, numbers: IntArray) -> None:
        """Forget all pairs but these, which are numbered anew in the order given."""
        left, right, value = (one[numbers] for one in (self.left, self.right, self.value))
        self.size = 0
        self._resize(left.size)
        self.left[: left.size], self.right[: left.size] = left, right
        self.value[: left.size] = value
        self._settle(left.size)

    def _find(self, left: IntArray, right: IntArray) -> IntArray:
        given = np.arange(self.size, self.size + left.size)
        self.left[given], self.right[given] = left, right
        found, slots = self._claim(given)
        new = np.flatnonzero(found == given)
        numbers = given[: new.size]
        found[new] = self._slots[slots[new]] = numbers
        self.left[numbers], self.right[numbers] = left[new], right[new]
        self.size += new.size
        return found

    def _claim(self, numbers: IntArray) -> tuple[IntArray, IntArray]:
        """For each pair that stands at one of ``numbers``: who holds its slot now, and the slot.

        It takes the first slot that is free, or that an equal pair holds.
        """
        slots = self._hash(self.left[numbers], self.right[numbers])
        found = numbers.copy()
        open_ = np.arange(numbers.size)
        while open_.size:
            at, own = slots[open_], numbers[open_]
            held = self._slots[at]
            free = np.flatnonzero(held == _FREE)
            self._slots[at[free]] = own[free]
            held[free] = self._slots[at[free]]  # of several that wanted it, one has it
            same = (self.left[held] == self.left[own]) & (self.right[held] == self.right[own])
            found[open_[same]] = held[same]
            open_ = open_[~same]
            slots[open_] = (slots[open_] + 1) & (self._slots.size - 1)
        return found, slots

    def _hash(self, left: IntArray, right: IntArray) -> IntArray:
        one, two, three = _KEY
        mixed = left.view(np.uint64) * one + right.view(np.uint64)
        mixed ^= mixed >> np.uint64(32)
        mixed *= two
        mixed ^= mixed >> np.uint64(29)
        mixed *= three
        mixed >>= np.uint64(65 - self._slots.size.bit_length())
        return mixed.view(np.int64)

    def _reserve(self, size: int) -> None:
        """Room for so many pairs."""
        if size <= self.value.size:
            return
        held, count = (self.left, self.right, self.value), self.size
        self._resize(size + count // 2)
        self.left[:count], self.right[:count], self.value[:count] = (one[:count] for one in held)
        self._settle(count)

    def _resize(self, size: int) -> None:
        """New empty columns of at least that size, and slots of at least twice as many."""
        size = max(size, _LEAST)
        self.left, self.right = np.empty((2, size), dtype=np.int64)
        self.value = np.full(size, NEVER, dtype=np.int64)
        self._slots = np.full(1 << (2 * size - 1).bit_length(), _FREE, dtype=np.int64)

    def _settle(self, count: int) -> None:
        """Give a slot to each of the first ``count`` pairs."""
        for start in range(0, count, _PART):
            self._claim(np.arange(start, min(start + _PART, count)))
        self.size = count


# Why a step costs so little, and why a rest ends when it does: docs/proofs/monitor.md.


class Machine:
    """Everything between two steps: the clock, the window and the marks.

    The clock is the latest time of any batch so far. An answer above the threshold marks all
    batches in the window, the newest of which bears the clock's own time; so a mark is the clock
    at the answer, and it is gone when a batch of that time has expired. That is public: which
    records a batch holds, or whether any, changes no mark. window: of an engine that counts
    elsewhere.

    >>> from onesided import INFINITE, Monitor, policy
    >>> from onesided.monitor import Batch
    >>> from onesided.noise import FreshNoise, SecureNoise
    >>> given = {"at_most": 1, "window": 7, "epsilon": 99, "policy": policy.addition_only()}
    >>> machine = Machine(Monitor(["gym", "bar"], **given).rules)
    >>> visits = Batch("monday", 1, ((0, 7, 1), (0, 8, 1)))
    >>> machine.step(visits, noise=FreshNoise(SecureNoise())).certified.tolist()
    [False, True]
    """

    def __init__(self, rules: Rules, window: Counter | None = None) -> None:
        self.rules = rules
        self.clock: int | None = None
        self.steps = 0
        self._window: Counter = Window(rules.cells) if window is None else window
        # The clock at each place's last m answers, oldest first.
        self._marks: IntArray = np.full((rules.charges, rules.cells), NEVER, dtype=np.int64)
        self._answered = 0

    def refuse(self, batch: Visits) -> None:
        """Errors: DataError for a batch that has expired already. Changes nothing."""
        self._window.refuse_other_type(batch)
        if self.clock is None or self.rules.window is None:
            return
        cutoff = self.clock - self.rules.window
        if batch.time <= cutoff:
            said = self.rules.scale.text
            raise DataError(
                f"Batch {batch.id!r} of {said(batch.time)} comes too late: the clock stands at "
                f"{said(self.clock)}, and what is not after {said(cutoff)} has expired.",
                hint="It can no longer change an answer. Check the clocks if it should be current. "
                "Nothing was drawn or stored.",
                time=said(batch.time),
                clock=said(self.clock),
            )

    def step(self, batch: Visits, *, noise: PlaceNoise) -> StepAnswer:
        """Take in a batch, let go of what has expired, and answer for every place."""
        self.refuse(batch)
        self.advance(batch)
        asked = ~self.resting
        left = self._left
        if left == 0:
            asked[:] = False
        positions = np.flatnonzero(asked)
        # What rises along moves falls with its sign turned: one rule for both.
        signs = self.rules.signs[positions]
        noisy = signs * self._window.counts[positions]
        noisy += noise.geometric(self.rules.rate, positions)
        above = noisy > self.rules.levels[positions]
        reached: BoolArray = np.ones(positions.size, dtype=np.bool_)
        if left is not None:
            reached &= np.cumsum(above) - above < left
        certified = np.zeros(self.rules.cells, dtype=np.bool_)
        certified[positions[~above & reached]] = True
        picked = above & reached
        answer = StepAnswer(certified, positions[picked], (signs * noisy)[picked])
        self.mark(answer, clock=self.clock or 0)
        return answer

    @property
    def resting(self) -> BoolArray:
        """The places, or cells, that have used up a batch which is still in the window."""
        cutoff = self.rules.cutoff(self.clock or 0)
        still: BoolArray = self._marks[0] > (NEVER if cutoff is None else cutoff)
        return still

    def advance(self, batch: Visits) -> None:
        """Move the clock and the window."""
        self.clock = batch.time if self.clock is None else max(self.clock, batch.time)
        self.steps += 1
        self._window.add(batch)
        self._window.expire(self.rules.cutoff(self.clock))

    def mark(self, answer: StepAnswer, *, clock: int) -> None:
        """Charge what an answer used."""
        used = answer.positions
        self._marks[:-1, used] = self._marks[1:, used]
        self._marks[-1, used] = clock
        self._answered += used.size

    def resume(self, batch: Visits) -> None:
        """Take in a stored batch that is still in the window; see :meth:`set_clock`."""
        self._window.add(batch)

    def set_clock(self, clock: int, *, steps: int) -> None:
        """Stand where the stored steps ended."""
        self.clock, self.steps = clock, steps
        self._window.expire(self.rules.cutoff(clock))

    @property
    def _left(self) -> int | None:
        limit = self.rules.max_answers
        return None if limit is None else limit - self._answered


# What a monitor keeps, and the keys that its noise follows from.


# The chain of secret keys that a monitor's noise follows from, and what proves kept rows.
#
# ``k(s) = KDF(k(s-1), the rules, the batch's id, time and rows)``. Step s draws under a key made of
# k(s), and another one, from which nobody can go back, is kept for the next step. So the noise of a
# step depends on everything that its answer depends on: the same batches in the same order give the
# same answers after any crash or restored copy, and another batch, or another past, gives
# independent noise. One noise on two counts would tell their difference.

_ROWS: Final = b"onesided monitor rows, version 2"
_STEP: Final = b"onesided monitor step, version 2"
_NOISE: Final = b"onesided monitor noise, version 2"
_NEXT: Final = b"onesided monitor next key, version 2"


@dataclass(frozen=True, slots=True)
class StepKeys:
    """What step s draws under, and what is kept for the step after it."""

    noise: bytes = field(repr=False)
    following: bytes = field(repr=False)


def new_key() -> bytes:
    """A key that nobody can guess: k(0) of a monitor, or the secret that proves a batch's rows."""
    return secrets.token_bytes(KEY_BYTES)


def step_keys(key: bytes, batch: Visits, *, rules: str) -> StepKeys:
    """The keys of the step that takes in ``batch``, where ``key`` was kept by the step before."""
    rows = _mac(_mac(key, _ROWS), batch.digest())
    facts = canonical([rules, batch.id, batch.time]).encode()
    step = _mac(key, _STEP + rows + facts)
    return StepKeys(noise=_mac(step, _NOISE), following=_mac(step, _NEXT))


def proof_of(batch: Visits, *, secret: bytes) -> bytes:
    """What shows, to whoever has the secret, that these are the rows that were accepted."""
    return _mac(secret, canonical([batch.id, batch.time]).encode() + b"\n" + batch.digest())


def proves(proof: bytes, batch: Visits, *, secret: bytes) -> bool:
    """Whether ``proof`` is of this very batch."""
    return hmac.compare_digest(proof, proof_of(batch, secret=secret))


def _mac(key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, hashlib.sha256).digest()


# What a monitor keeps: a header, one row per step, and the secret rows still in the window.
#
# Whatever is written in one transaction is there as a whole or not at all, and writers take turns.


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What the state was made for. ``charge_id`` names its one charge in the ledger."""

    version: int
    config: str
    charge_id: str
    paid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One accepted batch and the answer that was published for it. Never changed."""

    number: int
    batch: str
    time: int
    clock: int
    accepted: str
    answer: bytes
    head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The secret half of a step: a batch's rows, with what proves them. Deleted when they expire.

    proof: of the rows, under a secret of this batch alone. Once the secret is gone with the rows,
    the proof of a guess at them cannot be computed.
    """

    number: int
    batch: str
    time: int
    content: bytes = field(repr=False)
    secret: bytes = field(repr=False)
    proof: bytes = field(repr=False)


def chained(step: Step, *, previous: str) -> Step:
    """``step`` with the head that follows from ``previous`` and everything published in it."""
    return replace(step, head=_head(step, previous))


def check_chain(step: Step, *, previous: str) -> None:
    """Errors: TamperedLedgerError if ``step`` does not follow ``previous``."""
    if step.head != _head(step, previous):
        raise TamperedLedgerError(
            f"step {step.number} of the monitor is not the one that was recorded.",
            hint="Stop publishing from this state. Restore a copy.",
            number=step.number,
        )


def _head(step: Step, previous: str) -> str:
    """A hash of public facts alone: whoever knows what was published can compute it."""
    facts = [step.number, step.batch, step.time, step.clock]
    body = f"{previous}\n{canonical(facts)}\n".encode()
    return hashlib.sha256(body + hashlib.sha256(plain_answer(step.answer)).digest()).hexdigest()
