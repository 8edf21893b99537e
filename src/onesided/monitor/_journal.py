"""What a monitor keeps: a header, one row per step, and the secret rows still in the window.

The contract of a store, and one in memory. Whatever is written in one transaction is there as a
whole or not at all, and writers take turns.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from onesided.errors import LedgerError, TamperedLedgerError
from onesided.monitor._answer import plain_answer
from onesided.store import canonical


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


class Transaction(Protocol):
    """One view of the store; what is written becomes durable when the transaction ends well.

    >>> with MemoryJournal().read() as view:
    ...     seen: Transaction = view
    ...     seen.header() is None, seen.last() is None
    (True, True)
    """

    def header(self) -> Header | None:
        """What the state was made for; None for a new one."""
        ...

    def write_header(self, header: Header) -> None:
        """Set or replace the header."""
        ...

    def write_key(self, key: bytes) -> None:
        """Set the first key of a new state."""
        ...

    def last(self) -> Step | None:
        """The latest step."""
        ...

    def find(self, batch: str) -> Step | None:
        """The step of that batch."""
        ...

    def steps(self, *, after: int = 0, clock_after: int | None = None) -> Iterator[Step]:
        """Steps in order, those with a number above ``after`` and a clock above ``clock_after``."""
        ...

    def numbers(self, *, time_after: int | None) -> list[int]:
        """The numbers of the steps whose batch has a time above ``time_after``, in order."""
        ...

    def kept(self, batch: str | None = None) -> Iterator[Kept]:
        """The batches whose rows are still kept, in order; or that one alone."""
        ...

    def key(self) -> bytes:
        """The key that the next step's noise follows from."""
        ...

    def append(self, step: Step, kept: Kept, *, key: bytes, forget: int | None) -> None:
        """Add a step and its rows, replace the key, forget rows of batches not after ``forget``."""
        ...


class Journal(Protocol):
    """A place where a monitor's state lives."""

    name: str

    def write(self) -> AbstractContextManager[Transaction]:
        """A transaction that no other writer overlaps."""
        ...

    def read(self) -> AbstractContextManager[Transaction]:
        """A consistent view."""
        ...

    def close(self) -> None:
        """Let go of the store."""
        ...


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


class MemoryJournal:
    """A store that is gone with the process, and that no other process can go on with.

    >>> journal = MemoryJournal()
    >>> with journal.write() as transaction:
    ...     transaction.write_header(Header(version=2, config="{}", charge_id="one"))
    >>> with journal.read() as transaction:
    ...     transaction.header().charge_id
    'one'
    """

    name = "the monitor's state in memory"

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self._process = os.getpid()
        self._header: Header | None = None
        self._key = b""
        self._steps: list[Step] = []
        self._numbers: dict[str, int] = {}
        self._kept: list[Kept] = []

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Changes are staged, and taken over when the transaction ends well."""
        with self.read() as staged:
            yield staged
            self._commit(staged)  # type: ignore[arg-type] # made by read, below

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Reads see what was committed."""
        if self._process != os.getpid():
            raise LedgerError(
                "A monitor whose state is in memory cannot be used in a forked process: both "
                "would answer, for one charge.",
                hint="Give it state=, a file or a database, which several processes may step.",
            )
        with self._turn:
            yield _MemoryTransaction(self)

    def close(self) -> None:
        """Nothing to let go of."""

    def _commit(self, staged: _MemoryTransaction) -> None:
        self._header = staged.staged_header or self._header
        self._key = staged.staged_key or self._key
        for step, kept, forget in staged.staged:
            self._numbers[step.batch] = len(self._steps)
            self._steps.append(step)
            self._kept.append(kept)
            if forget is not None:
                self._kept = [one for one in self._kept if one.time > forget]


class _MemoryTransaction:
    """Reads go to the journal; writes wait for its commit."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal
        self.staged_header: Header | None = None
        self.staged_key = b""
        self.staged: list[tuple[Step, Kept, int | None]] = []

    def header(self) -> Header | None:
        return self._journal._header  # noqa: SLF001 - one thing in two classes

    def write_header(self, header: Header) -> None:
        self.staged_header = header

    def write_key(self, key: bytes) -> None:
        self.staged_key = key

    def key(self) -> bytes:
        return self._journal._key  # noqa: SLF001

    def last(self) -> Step | None:
        steps = self._journal._steps  # noqa: SLF001
        return steps[-1] if steps else None

    def find(self, batch: str) -> Step | None:
        number = self._journal._numbers.get(batch)  # noqa: SLF001
        return None if number is None else self._journal._steps[number]  # noqa: SLF001

    def steps(self, *, after: int = 0, clock_after: int | None = None) -> Iterator[Step]:
        for step in self._journal._steps[after:]:  # noqa: SLF001
            if clock_after is None or step.clock > clock_after:
                yield step

    def numbers(self, *, time_after: int | None) -> list[int]:
        steps = self._journal._steps  # noqa: SLF001
        return [one.number for one in steps if time_after is None or one.time > time_after]

    def kept(self, batch: str | None = None) -> Iterator[Kept]:
        held = list(self._journal._kept)  # noqa: SLF001
        return iter([one for one in held if batch is None or one.batch == batch])

    def append(self, step: Step, kept: Kept, *, key: bytes, forget: int | None) -> None:
        self.staged.append((step, kept, forget))
        self.staged_key = key
