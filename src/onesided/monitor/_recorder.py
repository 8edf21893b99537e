"""Draw once, store, then publish: one step as one transaction."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from onesided.errors import DataError
from onesided.monitor._answer import MonitorRelease, decode
from onesided.monitor._batch import Batch, stored_batch
from onesided.monitor._journal import GENESIS, Journal, Step, Transaction, chained, check_chain
from onesided.monitor._machine import Machine
from onesided.monitor._rules import Rules
from onesided.noise import Noise
from onesided.store import now


class Recorder:
    """Steps a machine whose every step is stored before anyone sees it.

    Promise: a batch id has one answer, for ever; it is returned only after it, and with it the
    marks, is stored. After a crash at any instant the state is that of the last stored step; an
    answer that was drawn but not stored was never seen. Safe for threads and, as far as its
    journal is, for processes.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        journal: Journal,
        noise: Noise,
        salt: str = "",
        machine: type[Machine] = Machine,
    ) -> None:
        self._rules, self._journal, self._noise = rules, journal, noise
        self._salt, self._kind = salt, machine
        self._lock = threading.Lock()
        self._machine: Machine | None = None

    def step(self, batch: Batch) -> MonitorRelease:
        """The answer for ``batch``: the stored one if there is one, else drawn now and stored.

        Errors: DataError for an id that was used with other content or time, and for a batch that
        has expired; LedgerUnavailableError if the store fails. Nothing is published then.
        """
        digest = batch.digest(salt=self._salt)
        with self._lock:
            with self._journal.write() as transaction:
                done = transaction.find(batch.id)
                if done is not None:
                    _refuse_other(done, batch, digest)
                    return self._release(done)
                machine = self._machine_at(transaction)
                machine.refuse(batch)
                self._machine = None  # until it is certain that the step was stored
                step = self._draw(machine, batch, digest, transaction)
            self._machine = machine
        return self._release(step)

    def history(self, *, after: int = 0) -> Iterator[MonitorRelease]:
        """Every published answer with a number above ``after``, in order, as it was published."""
        number = after
        while True:
            with self._journal.read() as transaction:
                page = _first(transaction.steps(after=number), 100)
            for step in page:
                yield self._release(step)
            if not page:
                return
            number = page[-1].number

    def last(self) -> MonitorRelease | None:
        """The latest published answer."""
        with self._journal.read() as transaction:
            step = transaction.last()
        return None if step is None else self._release(step)

    def accepted(self, batch: str) -> str | None:
        """When that batch was accepted (UTC, by this machine's clock); None if it was not."""
        with self._journal.read() as transaction:
            step = transaction.find(batch)
        return None if step is None else step.accepted

    def check(self) -> int:
        """Recompute the chain of all steps; how many there are. Errors: TamperedLedgerError."""
        previous, number = GENESIS, 0
        with self._journal.read() as transaction:
            for step in transaction.steps():
                check_chain(step, previous=previous)
                previous, number = step.head, step.number
        return number

    def _draw(self, machine: Machine, batch: Batch, digest: str, transaction: Transaction) -> Step:
        last = transaction.last()
        answer = machine.step(batch, noise=self._noise)
        clock = batch.time if machine.clock is None else machine.clock
        step = Step(
            number=machine.steps,
            batch=batch.id,
            time=batch.time,
            clock=clock,
            digest=digest,
            accepted=now(),
            answer=answer.encode(),
            head="",
        )
        step = chained(step, previous=last.head if last else GENESIS)
        transaction.append(step, batch.content(), forget=self._rules.cutoff(clock))
        return step

    def _machine_at(self, transaction: Transaction) -> Machine:
        """The machine as the store says it is; another process may have stepped meanwhile."""
        last = transaction.last()
        number = last.number if last else 0
        if self._machine is not None and self._machine.steps == number:
            return self._machine
        machine = self._kind(self._rules)
        if last is None:
            return machine
        for batch, time, content in transaction.contents():
            machine.resume(stored_batch(batch, time, content))
        # Marks are what the stored answers say: neither can be there without the other.
        for step in transaction.steps(clock_after=self._rules.cutoff(last.clock)):
            machine.mark(decode(step.answer, size=self._rules.size), clock=step.clock)
        machine.set_clock(last.clock, steps=number)
        return machine

    def _release(self, step: Step) -> MonitorRelease:
        return MonitorRelease(
            number=step.number,
            batch=step.batch,
            time=self._rules.scale.text(step.clock),
            rules=self._rules,
            answer=decode(step.answer, size=self._rules.size),
            head=step.head,
        )


def _first(steps: Iterator[Step], most: int) -> list[Step]:
    return [step for step, _ in zip(steps, range(most), strict=False)]


def _refuse_other(done: Step, batch: Batch, digest: str) -> None:
    """A batch id is accepted once."""
    if done.digest != digest:
        raise DataError(
            f"Batch id {batch.id!r} was accepted before (step {done.number}) with other content "
            "or another time.",
            hint="Send corrections under a new id: what was published stays. "
            "Nothing was drawn or stored.",
            batch=batch.id,
            step=done.number,
        )
