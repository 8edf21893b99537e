"""Draw once, store, then publish: one step as one transaction."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from onesided.errors import DataError, LedgerFormatError
from onesided.monitor._answer import MonitorRelease, decode
from onesided.monitor._batch import stored_batch
from onesided.monitor._journal import Journal, Kept, Step, Transaction, chained, check_chain
from onesided.monitor._keys import new_key, proof_of, proves, step_keys
from onesided.monitor._machine import Machine
from onesided.monitor._published import Chain, refuse_other
from onesided.monitor._rules import Rules
from onesided.monitor._supply import Visits
from onesided.noise import FreshNoise, KeyedNoise, Noise
from onesided.store import now


class Recorder:
    """Steps a machine whose every step is stored before anyone sees it.

    Promise: a batch id has one answer, for ever; it is returned only after it, and with it the
    marks, is stored. After a crash at any instant the state is that of the last stored step, and
    the same batch draws the same answer again. Safe for threads and, as far as its journal is,
    for processes.

    noise: for tests; None draws from the state's chain of keys. published: what the public has
    seen; no step may be stored that differs from it. machine, restored: of the engine that holds
    the rows. secret, clock: what proves kept rows, and when a batch was accepted; doubles for
    tests. entry: of the charge in the ledger.

    >>> from onesided import Monitor, policy
    >>> from onesided.monitor import Batch
    >>> from onesided.monitor._journal import MemoryJournal
    >>> given = {"at_most": 1, "window": 7, "epsilon": 99, "policy": policy.addition_only()}
    >>> recorder = Recorder(Monitor(["gym"], **given).rules, journal=MemoryJournal())
    >>> recorder.step(Batch("monday", 1)).told_again, recorder.step(Batch("monday", 1)).told_again
    (False, True)
    """

    def __init__(
        self,
        rules: Rules,
        *,
        journal: Journal,
        noise: Noise | None = None,
        published: Chain | None = None,
        machine: Callable[[Rules], Machine] = Machine,
        restored: Callable[[str, int, bytes], Visits] = stored_batch,
        secret: Callable[[], bytes] = new_key,
        clock: Callable[[], str] = now,
        entry: int | None = None,
    ) -> None:
        self._rules, self._journal, self._noise = rules, journal, noise
        self._published, self._kind, self._restored = published, machine, restored
        self._secret, self._clock, self._entry = secret, clock, entry
        self._lock = threading.Lock()
        self._machine: Machine | None = None

    def step(self, batch: Visits) -> MonitorRelease:
        """The answer for ``batch``: the stored one if there is one, else drawn now and stored.

        Errors: DataError for an id that was used with other content or time, for a batch that
        has expired, and for one in the place of a published one; LedgerUnavailableError if the
        store fails. Nothing is published then.
        """
        with self._lock:
            with self._journal.write() as transaction:
                done = transaction.find(batch.id)
                if done is not None:
                    _refuse_other_batch(done, batch, transaction)
                    return self._release(done, told_again=True)
                machine = self._machine_at(transaction)
                machine.refuse(batch)
                self._machine = None  # until it is certain that the step was stored
                step = self._draw(machine, batch, transaction)
            self._machine = machine
        return self._release(step)

    def history(self, *, after: int = 0) -> Iterator[MonitorRelease]:
        """Every published answer with a number above ``after``, in order, as it was published."""
        number = after
        while True:
            with self._journal.read() as transaction:
                page = _first(transaction.steps(after=number), 100)
            for step in page:
                yield self._release(step, told_again=True)
            if not page:
                return
            number = page[-1].number

    def last(self) -> MonitorRelease | None:
        """The latest published answer."""
        with self._journal.read() as transaction:
            step = transaction.last()
        return None if step is None else self._release(step, told_again=True)

    def accepted(self, batch: str) -> str | None:
        """When that batch was accepted (UTC, by this machine's clock); None if it was not."""
        with self._journal.read() as transaction:
            step = transaction.find(batch)
        return None if step is None else step.accepted

    def check(self) -> int:
        """Recompute the chain of all steps, and prove the kept rows; how many steps there are.

        Errors: TamperedLedgerError for a step or head that was changed; LedgerFormatError for
        rows that were changed or are missing.
        """
        previous, number = self._rules.genesis, 0
        with self._journal.read() as transaction:
            for step in transaction.steps():
                check_chain(step, previous=previous)
                previous, number = step.head, step.number
            last = transaction.last()
            if last is not None:
                for _ in _proven(transaction, self._rules.cutoff(last.clock), self._restored):
                    pass
        return number

    def refuse_other_chain(self) -> None:
        """Errors: LedgerFormatError if what was published is not this monitor's."""
        if self._published is None:
            return
        with self._journal.read() as transaction:
            last = transaction.last()
            seen = [one for one in self._published.after(0) if last and one.step <= last.number]
            # A head follows from all steps before it, so the latest of both tells of all.
            held = _first(transaction.steps(after=seen[-1].step - 1), 1) if seen else []
        if held and held[0].head != seen[-1].head:
            raise LedgerFormatError(
                f"The published step {seen[-1].step} is of another monitor, or of other answers "
                "than the state holds.",
                hint="Publish each monitor to a folder of its own, or restore the copy of the "
                "state that belongs to it.",
            )

    def _draw(self, machine: Machine, batch: Visits, transaction: Transaction) -> Step:
        last = transaction.last()
        keys = step_keys(transaction.key(), batch, rules=self._rules.genesis)
        noise = KeyedNoise(keys.noise) if self._noise is None else FreshNoise(self._noise)
        content = batch.content()  # before the window grows: the two take their most in turn
        answer = machine.step(batch, noise=noise)
        clock = batch.time if machine.clock is None else machine.clock
        step = Step(
            number=machine.steps,
            batch=batch.id,
            time=batch.time,
            clock=clock,
            accepted=self._clock(),
            answer=answer.encode(),
            head="",
        )
        step = chained(step, previous=last.head if last else self._rules.genesis)
        public = self._published.at(step.number) if self._published else None
        if public is not None:
            refuse_other(public, step)
        secret = self._secret()
        kept = Kept(
            number=step.number,
            batch=batch.id,
            time=batch.time,
            content=content,
            secret=secret,
            proof=proof_of(batch, secret=secret),
        )
        forget = self._rules.cutoff(clock)
        transaction.append(step, kept, key=keys.following, forget=forget)
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
        cutoff = self._rules.cutoff(last.clock)
        for batch in _proven(transaction, cutoff, self._restored):
            machine.resume(batch)
        # Marks are what the stored answers say: neither can be there without the other.
        for step in transaction.steps(clock_after=cutoff):
            machine.mark(decode(step.answer, size=self._rules.size), clock=step.clock)
        machine.set_clock(last.clock, steps=number)
        return machine

    def _release(self, step: Step, *, told_again: bool = False) -> MonitorRelease:
        return MonitorRelease(
            number=step.number,
            batch=step.batch,
            time=self._rules.scale.text(step.clock),
            rules=self._rules,
            answer=decode(step.answer, size=self._rules.size),
            head=step.head,
            asked=self._rules.statement,
            guarantee=self._rules.guarantee,
            entry=self._entry,
            drawn=step.accepted,
            told_again=told_again,
        )


def _first(steps: Iterator[Step], most: int) -> list[Step]:
    return [step for step, _ in zip(steps, range(most), strict=False)]


def _proven(
    transaction: Transaction,
    cutoff: int | None,
    restored: Callable[[str, int, bytes], Visits],
) -> Iterator[Visits]:
    """The kept batches, each as it was accepted, and none missing. Errors: LedgerFormatError."""
    numbers = []
    for kept in transaction.kept():
        try:
            batch = restored(kept.batch, kept.time, kept.content)
        except ValueError:
            batch = None
        if batch is None or not proves(kept.proof, batch, secret=kept.secret):
            raise _damaged(f"the rows of step {kept.number} are not those that were accepted")
        numbers.append(kept.number)
        yield batch
    if numbers != transaction.numbers(time_after=cutoff):
        raise _damaged("rows that are still in the window are missing")


def _damaged(problem: str) -> LedgerFormatError:
    return LedgerFormatError(
        f"The monitor's state is damaged: {problem}.",
        hint="Stop publishing from it. Restore a copy, and send what came after once more: the "
        "same batches get the same answers.",
    )


def _refuse_other_batch(done: Step, batch: Visits, transaction: Transaction) -> None:
    """A batch id is accepted once. Rows that have expired can no longer be compared."""
    held = next(iter(list(transaction.kept(batch.id))), None)
    same = held is None or proves(held.proof, batch, secret=held.secret)
    if done.time != batch.time or not same:
        raise DataError(
            f"Batch id {batch.id!r} was accepted before (step {done.number}) with other content "
            "or another time.",
            hint="Send corrections under a new id: what was published stays. "
            "Nothing was drawn or stored.",
            batch=batch.id,
            step=done.number,
        )
