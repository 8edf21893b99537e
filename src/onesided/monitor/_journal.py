"""What a monitor keeps: a header, one row per step, and the secret rows still in the window.

The contract of a store, and one in memory. Whatever is written in one transaction is there as a
whole or not at all, and writers take turns.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from onesided.errors import TamperedLedgerError
from onesided.store import canonical

GENESIS: Final = "0" * 64


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
    digest: str
    accepted: str
    answer: bytes
    head: str


class Transaction(Protocol):
    """One view of the store; what is written becomes durable when the transaction ends well."""

    def header(self) -> Header | None:
        """What the state was made for; None for a new one."""
        ...

    def write_header(self, header: Header) -> None:
        """Set or replace the header."""
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

    def contents(self) -> Iterator[tuple[str, int, bytes]]:
        """Id, time and rows of the batches that are still kept, in order."""
        ...

    def append(self, step: Step, content: bytes, *, forget: int | None) -> None:
        """Add a step and its rows, and forget the rows of batches not after ``forget``."""
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
    facts = [step.number, step.batch, step.time, step.clock, step.digest]
    body = f"{previous}\n{canonical(facts)}\n".encode()
    return hashlib.sha256(body + hashlib.sha256(step.answer).digest()).hexdigest()


class MemoryJournal:
    """A store that is gone with the process."""

    name = "the monitor's state in memory"

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self._header: Header | None = None
        self._steps: list[Step] = []
        self._numbers: dict[str, int] = {}
        self._contents: list[tuple[str, int, bytes]] = []

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Changes are staged, and taken over when the transaction ends well."""
        with self._turn:
            staged = _MemoryTransaction(self)
            yield staged
            self._commit(staged)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Reads see what was committed."""
        with self._turn:
            yield _MemoryTransaction(self)

    def close(self) -> None:
        """Nothing to let go of."""

    def _commit(self, staged: _MemoryTransaction) -> None:
        self._header = staged.staged_header or self._header
        for step, content, forget in staged.staged:
            self._numbers[step.batch] = len(self._steps)
            self._steps.append(step)
            self._contents.append((step.batch, step.time, content))
            if forget is not None:
                self._contents = [kept for kept in self._contents if kept[1] > forget]


class _MemoryTransaction:
    """Reads go to the journal; writes wait for its commit."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal
        self.staged_header: Header | None = None
        self.staged: list[tuple[Step, bytes, int | None]] = []

    def header(self) -> Header | None:
        return self._journal._header  # noqa: SLF001 - one thing in two classes

    def write_header(self, header: Header) -> None:
        self.staged_header = header

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

    def contents(self) -> Iterator[tuple[str, int, bytes]]:
        return iter(list(self._journal._contents))  # noqa: SLF001

    def append(self, step: Step, content: bytes, *, forget: int | None) -> None:
        self.staged.append((step, content, forget))
