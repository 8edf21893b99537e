"""What one step publishes, as arrays, as bytes in the store, and as words."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from onesided.errors import LedgerFormatError
from onesided.mechanism import Interval
from onesided.monitor._rules import Rules
from onesided.noise import BoolArray, IntArray
from onesided.session import Release

CERTIFIED: Final = "certified"
UNKNOWN: Final = "unknown"
RESTING: Final = "resting"
_HEAD: Final = struct.Struct("<QQ")


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """Which places are certified, which were answered with a value; the others rest.

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

    certified: certainly at most the threshold, at ``time``, counting different people in the
        window of all batches accepted so far. unknown: a noisy count above the threshold was
        drawn; ``values`` holds it, and the true count is certainly not above it. resting: nothing
        was asked, because records that an earlier answer used are still in the window.
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
    place  status     at_most
    gym    certified        1
    bar    unknown          2
    Under the policy 'addition_only' -- record -> absent: ε = 60 (pure, δ = 0). All that the
    monitor ever publishes together.
    """

    number: int
    batch: str
    time: str
    rules: Rules
    answer: StepAnswer
    head: str

    @property
    def summary(self) -> str:
        """Which step it is, and how many places are in which state."""
        certified, unknown = int(self.certified.sum()), self.answer.positions.size
        resting = self.rules.size - certified - unknown
        return (
            f"Step {self.number:,}, {self.batch}, {self.time}: {certified:,} certified, "
            f"{unknown:,} unknown, {resting:,} resting."
        )

    @property
    def places(self) -> tuple[object, ...]:
        """The public places, in their given order; every column below is as long."""
        return tuple(row[0] for row in self.rules.keys.rows)

    @property
    def certified(self) -> BoolArray:
        """Which places certainly have at most the threshold."""
        return self.answer.certified

    @property
    def unknown(self) -> BoolArray:
        """Which places were answered with a noisy count."""
        found = np.zeros(self.rules.size, dtype=np.bool_)
        found[self.answer.positions] = True
        return found

    @property
    def resting(self) -> BoolArray:
        """Which places were not asked about."""
        return ~(self.certified | self.unknown)

    @property
    def values(self) -> IntArray:
        """The noisy count where ``unknown``; 0 elsewhere."""
        found = np.zeros(self.rules.size, dtype=np.int64)
        found[self.answer.positions] = self.answer.values
        return found

    @property
    def status(self) -> list[str]:
        """The status of each place as a word."""
        words = np.full(self.rules.size, RESTING, dtype=object)
        words[self.certified] = CERTIFIED
        words[self.answer.positions] = UNKNOWN
        found: list[str] = words.tolist()
        return found

    def at_most(self, threshold: int | None = None) -> list[Any]:
        """The places certified to have at most ``threshold``; by default, each at most its own."""
        if threshold is None:
            return self.rules.keys.part(np.flatnonzero(self.certified)).labels()
        return Release.at_most(self, threshold)

    @property
    def interval(self) -> Interval:
        """Of the places that are not resting: the threshold where certified, else the value."""
        upper = np.where(self.certified, self.rules.thresholds, self.values)[~self.resting]
        return Interval(np.zeros_like(upper), upper, True, True)  # noqa: FBT003

    @property
    def labels(self) -> list[Any]:
        """The places that are not resting, which have bounds."""
        return self.rules.keys.part(np.flatnonzero(~self.resting)).labels()

    def columns(self) -> dict[str, list[Any]]:
        """A table with one row per place: place, status, at_most (None while resting)."""
        upper = np.full(self.rules.size, None, dtype=object)
        upper[self.certified] = self.rules.thresholds[self.certified]
        upper[self.answer.positions] = self.answer.values
        return {
            **self.rules.keys.columns(),
            "status": list(self.status),
            "at_most": upper.tolist(),
        }
