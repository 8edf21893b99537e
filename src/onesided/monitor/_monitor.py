"""The monitor that people use, and its recorder, which draws once, stores, then publishes."""

from __future__ import annotations

import datetime as dt
import json
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

from onesided._english import many
from onesided._numbers import Number, positive, whole
from onesided.errors import (
    DataError,
    LedgerError,
    LedgerFormatError,
    ParameterError,
    PolicyMismatchError,
)
from onesided.ledger import PURE, Account, Ledger
from onesided.monitor._batch import (
    Columns,
    OnUnknown,
    frames_like,
    read_batch,
    refuse_deciding,
    stored_batch,
)
from onesided.monitor._machine import (
    Header,
    Kept,
    Machine,
    MonitorRelease,
    Step,
    Visits,
    chained,
    check_chain,
    decode,
    new_key,
    proof_of,
    proves,
    step_keys,
)
from onesided.monitor._publish import Chain, PublishedSteps, refuse_other
from onesided.monitor._rules import FORMAT, Guarantees, Rules, duration, length_text, rules_for
from onesided.noise import FreshNoise, KeyedNoise, Noise
from onesided.policy import Policy
from onesided.show import Card
from onesided.store import DatabaseUrl, address, canonical, now

if TYPE_CHECKING:
    from onesided.monitor._sql import SqlJournal, Transaction


class Recorder:
    """Steps a machine whose every step is stored before anyone sees it.

    Promise: a batch id has one answer, for ever; it is returned only after it, and with it the
    marks, is stored. After a crash at any instant the state is that of the last stored step, and
    the same batch draws the same answer again. Safe for threads and, as far as its journal is,
    for processes.

    noise: for tests; None draws from the state's chain of keys. published: what the public has
    seen; no step may be stored that differs from it. machine: of the engine that holds the rows.
    secret, moment: what proves kept rows, and when a batch was accepted; doubles for tests. entry:
    of the charge in the ledger.

    >>> from onesided import Monitor, policy
    >>> from onesided.monitor import Batch
    >>> from onesided.monitor._monitor import open_state
    >>> given = {"at_most": 1, "window": 7, "epsilon": 99, "policy": policy.addition_only()}
    >>> journal = open_state(None)
    >>> with journal.write() as state:
    ...     state.write_key(bytes(32))
    >>> recorder = Recorder(Monitor(["gym"], **given).rules, journal=journal)
    >>> recorder.take(Batch("monday", 1)).told_again, recorder.take(Batch("monday", 1)).told_again
    (False, True)
    """

    def __init__(
        self,
        rules: Rules,
        *,
        journal: SqlJournal,
        noise: Noise | None = None,
        published: Chain | None = None,
        machine: Callable[[Rules], Machine] = Machine,
        secret: Callable[[], bytes] = new_key,
        moment: Callable[[], str] = now,
        entry: int | None = None,
    ) -> None:
        self._rules, self._journal, self._noise = rules, journal, noise
        self._published, self._kind = published, machine
        self._secret, self._moment, self._entry = secret, moment, entry
        self._lock = threading.Lock()
        self._machine: Machine | None = None

    def take(self, batch: Visits) -> MonitorRelease:
        """The answer for ``batch``: the stored one if there is one, else drawn now and stored.

        Errors: DataError for an id that was used with other content or time, for a batch that
        has expired, and for one in the place of a published one; LedgerUnavailableError if the
        store fails. Nothing is published then.
        """
        with self._lock:
            with self._journal.write() as transaction:
                done = transaction.find(batch.id)
                if done is not None:
                    # A batch id is accepted once. Rows that have expired can no longer be
                    # compared.
                    held = next(iter(list(transaction.kept(batch.id))), None)
                    same = held is None or proves(held.proof, batch, secret=held.secret)
                    if done.time != batch.time or not same:
                        raise DataError(
                            f"Batch id {batch.id!r} was accepted before (step {done.number}) with "
                            "other content or another time.",
                            hint="Send corrections under a new id: what was published stays. "
                            "Nothing was drawn or stored.",
                            batch=batch.id,
                            step=done.number,
                        )
                    return self._release(done, told_again=True)
                machine = self._machine_at(transaction)
                machine.refuse(batch)
                self._machine = None  # until it is certain that the step was stored
                step = self._draw(machine, batch, transaction)
            self._machine = machine
        return self._release(step)

    def history(self, *, after: int = 0) -> Iterator[MonitorRelease]:
        """Everything that was published after that step, again, in order."""
        number = after
        while True:
            with self._journal.read() as transaction:
                page = list(islice(transaction.steps(after=number), 100))
            for step in page:
                yield self._release(step, told_again=True)
            if not page:
                return
            number = page[-1].number

    @property
    def last(self) -> MonitorRelease | None:
        """The latest answer, as it was published; None before the first step."""
        with self._journal.read() as transaction:
            step = transaction.last()
        return None if step is None else self._release(step, told_again=True)

    def accepted(self, id: str) -> str | None:  # noqa: A002 - the batch's public name
        """When the batch was accepted (UTC, by this machine's clock); None if it was not."""
        with self._journal.read() as transaction:
            step = transaction.find(id)
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
                for _ in self._proven(transaction, self._rules.cutoff(last.clock)):
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
            held = next(transaction.steps(after=seen[-1].step - 1), None) if seen else None
        if held is not None and held.head != seen[-1].head:
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
            accepted=self._moment(),
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
        for batch in self._proven(transaction, cutoff):
            machine.resume(batch)
        # Marks are what the stored answers say: neither can be there without the other.
        for step in transaction.steps(clock_after=cutoff):
            machine.mark(decode(step.answer, size=self._rules.cells), clock=step.clock)
        machine.set_clock(last.clock, steps=number)
        return machine

    def _release(self, step: Step, *, told_again: bool = False) -> MonitorRelease:
        return MonitorRelease(
            number=step.number,
            batch=step.batch,
            time=self._rules.scale.text(step.clock),
            rules=self._rules,
            answer=decode(step.answer, size=self._rules.cells),
            head=step.head,
            asked=self._rules.statement,
            guarantee=self._rules.guarantee,
            entry=self._entry,
            drawn=step.accepted,
            told_again=told_again,
        )

    def _proven(self, transaction: Transaction, cutoff: int | None) -> Iterator[Visits]:
        """The kept batches, each as it was accepted, none missing. Errors: LedgerFormatError."""
        numbers = []
        for kept in transaction.kept():
            try:
                batch = self._restored(kept.batch, kept.time, kept.content)
            except ValueError:
                batch = None
            if batch is None or not proves(kept.proof, batch, secret=kept.secret):
                raise _damaged(f"the rows of step {kept.number} are not those that were accepted")
            numbers.append(kept.number)
            yield batch
        if numbers != transaction.numbers(time_after=cutoff):
            raise _damaged("rows that are still in the window are missing")

    def _restored(self, id: str, time: int, content: bytes) -> Visits:  # noqa: A002
        return stored_batch(id, time, content)


def _damaged(problem: str) -> LedgerFormatError:
    return LedgerFormatError(
        f"The monitor's state is damaged: {problem}.",
        hint="Stop publishing from it. Restore a copy, and send what came after once more: the "
        "same batches get the same answers.",
    )


Clock = Callable[[], object]


class Monitor(Recorder):
    """A stream of batches to certified statuses; never says "at most t" wrongly.

    keys: the public places. at_most: the threshold, one or one per place.
    window: how long a visit counts ("14d", a timedelta, or a whole number for times that are
        whole numbers); None keeps everything, for one designated time.
    epsilon: hides any ``policy.max_groups`` visits of a person, over the whole life of the
        monitor; :meth:`guarantees` says what follows for a person.
    charges: m, how many answers above the threshold may use a record before its place rests.
    max_answers: c, for a designated time only: the most such answers in all.
    state: a path, an SQLAlchemy URL of PostgreSQL, or None for memory. published: the public
        folder, if there is one: what was published there is never published otherwise, also by
        a state that was restored from an old copy. ledger: a ledger or where
        it is; by default ``<state>.ledger.db`` beside the state. The whole of ``epsilon`` is
        charged there once, before the first draw.
    read_as: the declared types by which text of the batches was read, by column: a rule as well.
    clock, ahead: a batch later than the clock's now plus ``ahead`` is refused; the system's clock
        by default, for windows in units of time. Nothing else depends on it.

    Promise: as :meth:`guarantees`. An answer is drawn once, stored, then returned; after a crash
    it is returned again. The noise follows from a secret key, the batch and all batches before
    it: the same batches in the same order give the same answers. Errors: those of bad input,
    before anything is drawn or charged; PolicyMismatchError for a state or ledger made for
    something else; BudgetExceededError.

    >>> from onesided.policy import presence
    >>> rules = {"at_most": 5, "window": "14d", "epsilon": 90, "policy": presence(max_groups=1)}
    >>> monitor = Monitor(["gym", "bar"], **rules)
    >>> visits = {"person": [1, 2], "place": ["gym", "gym"]}
    >>> monitor.step(visits, id="monday", time="2026-01-05").at_most()
    ['gym', 'bar']
    >>> monitor.step(visits, id="monday", time="2026-01-05").told_again
    True
    """

    def __init__(
        self,
        keys: object,
        *,
        at_most: int | Sequence[int],
        window: object,
        epsilon: Number,
        policy: Policy,
        charges: int = 1,
        max_answers: int | None = None,
        state: str | Path | DatabaseUrl | None = None,
        published: str | Path | None = None,
        ledger: Ledger | str | Path | DatabaseUrl | None = None,
        budget: Number | None = None,
        person: str = "person",
        place: str = "place",
        time: str = "time",
        on_unknown: OnUnknown = "error",
        read_as: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        ahead: object = "5m",
        noise: Noise | None = None,
        at_least: int | Sequence[int] | None = None,
    ) -> None:
        state, ledger = address(state), address(ledger)
        self._rules = rules_for(  # before the state, which is opened under them
            keys,
            place=place,
            at_most=at_most,
            window=window,
            epsilon=epsilon,
            policy=policy,
            charges=charges,
            max_answers=max_answers,
            read_as=read_as,
            at_least=at_least,
        )
        self._columns = Columns(person=person, place=place, time=time)
        refuse_deciding(self._rules.deciding, self._columns)
        self._on_unknown = on_unknown
        system = partial(dt.datetime.now, dt.UTC)
        self._clock = system if clock is None and self._rules.scale.dated else clock
        if self._rules.scale.dated:
            self._ahead = duration(ahead, name="ahead")
        else:
            self._ahead = 0 if isinstance(ahead, str) else whole(ahead, name="ahead")
        self._prepare()
        seen = self._seen(published)
        self._journal = open_state(state)
        self._own_state = state is None or isinstance(state, str | Path | DatabaseUrl)
        self._own_ledger = not isinstance(ledger, Ledger)
        try:
            self._ledger = open_ledger(ledger, state)
            header = self._header()
            if not header.paid:
                header = self._pay(header, budget)
            super().__init__(
                self._rules,
                journal=self._journal,
                noise=noise,
                published=seen,
                machine=self._window,
                entry=self._paid(header, budget),
            )
            self.refuse_other_chain()
        except BaseException:
            if self._own_state:
                self._journal.close()
            raise

    def __reduce__(self) -> NoReturn:
        raise LedgerError(
            "A monitor cannot be copied or pickled: both would answer, for one charge.",
            hint="Open it again from its state.",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        rules = self._rules
        places = len(rules.keys.rows)
        return (
            f"Monitor({many(places, 'place')}, policy {rules.policy.name!r}, ε = {rules.epsilon})"
        )

    def _repr_html_(self) -> str:
        """The rules, and what they promise."""
        return Card(title=repr(self), lines=str(self.guarantees()).splitlines()).html()

    def step(
        self,
        batch: object = None,
        *,
        id: str,  # noqa: A002 - the batch's public name
        time: object = None,
    ) -> MonitorRelease:
        """Take in a batch and publish a status for every place.

        batch: a frame or a mapping of columns (person, place and, if rows have times of their
            own, time); None if there was nobody. id: public, accepted once; the same batch again
            gives the same answer again. time: public, the end of the period that it covers.
        Late batches count as long as they are in the window, in any order; they do not move the
        clock. Errors, which change nothing: DataError for a batch that has expired, is ahead of
        the clock, or has an id that was used otherwise, and for rows that cannot be read.
        """
        at = time
        if at is None and self._rules.window is None:
            at = 0
        read = self._read(batch, id=id, time=at)
        if self._clock is not None and self.accepted(read.id) is None:
            self._refuse_future(read.time)
        return replace(self.take(read), _make_frame=frames_like(batch))

    def guarantees(self) -> Guarantees:
        """Whose guarantee it is: per visit, per person and window, for ever."""
        return Guarantees(self._rules)

    @property
    def awaited(self) -> tuple[str, ...]:
        """The batches that were published and the state does not hold, in the order to send them.

        Empty unless the state was restored from an old copy.
        """
        if self._published is None:
            return ()
        last = self.last
        return tuple(step.batch for step in self._published.after(last.number if last else 0))

    @property
    def rules(self) -> Rules:
        """The public rules."""
        return self._rules

    @property
    def ledger(self) -> Ledger:
        """Where the monitor's charge is on record."""
        return self._ledger

    def close(self) -> None:
        """Let go of the state and of the ledger, as far as the monitor opened them."""
        if self._own_state:
            self._journal.close()
        if self._own_ledger:
            self._ledger.close()

    # What an engine that counts elsewhere does otherwise: reading, counting, bringing back.

    def _prepare(self) -> None:
        """Whatever can be refused of the rules, before the state is opened and paid for."""

    def _read(self, batch: object, *, id: str, time: object) -> Visits:  # noqa: A002
        return read_batch(
            batch,
            rules=self._rules,
            columns=self._columns,
            id=id,
            time=time,
            on_unknown=self._on_unknown,
        )

    def _window(self, rules: Rules) -> Machine:
        return Machine(rules)

    def _seen(self, published: str | Path | None) -> Chain | None:
        return None if published is None else PublishedSteps(Path(published))

    def _refuse_future(self, time: int) -> None:
        if self._clock is None or self._rules.window is None:
            return
        scale = self._rules.scale
        now = scale.ticks(self._clock(), name="the clock's now")
        if time > now + self._ahead:
            raise DataError(
                f"The batch is of {scale.text(time)}, but the clock says {scale.text(now)}.",
                hint="A batch from the future would end the current window before its time. If "
                "the clock is wrong, set it right and send the batch again. "
                "Nothing was drawn or stored.",
                time=scale.text(time),
                now=scale.text(now),
            )

    def _header(self) -> Header:
        """The stored header, or a new unpaid one. Errors: another policy, another version."""
        config = canonical(dict(self._rules.config()))
        with self._journal.write() as transaction:
            found = transaction.header()
            if found is None:
                found = Header(
                    version=FORMAT, config=config, charge_id=f"monitor {secrets.token_hex(8)}"
                )
                transaction.write_header(found)
                transaction.write_key(new_key())
        if found.version != FORMAT:
            raise LedgerFormatError(
                f"{self._journal.name} has version {found.version}; this library writes version "
                f"{FORMAT}.",
                hint="Install the release of onesided that fits. Nothing was changed.",
                version=found.version,
                known=FORMAT,
            )
        held = json.loads(found.config)
        asked = self._rules.config()
        differing = [key for key in {**asked, **held} if held.get(key) != asked.get(key)]
        if differing:
            said = "; ".join(
                f"{key} {_shown(key, held)} (asked: {_shown(key, asked)})" for key in differing
            )
            raise PolicyMismatchError(
                f"{self._journal.name} was made for {said}.",
                hint="A monitor's rules never change. Open it with the same ones, or start another "
                "state, which is charged anew.",
                differing=tuple(differing),
            )
        return found

    def _pay(self, header: Header, budget: Number | None) -> Header:
        """Charge the whole life of the monitor, before anything is drawn."""
        account = self._account(budget)
        detail = dict(self._rules.config())
        try:
            receipt = account.spend(
                self._rules.charge,
                label=f"monitor of {self._rules.size:,} places",
                detail=detail,
                release_id=header.charge_id,
            )
            account.store(receipt, header.config.encode(), "application/json")
        except LedgerError as error:
            # A crash came after the charge, or another process opens the same state just now.
            if error.values.get("state") not in ("charged", "stored"):
                raise
        paid = replace(header, paid=True)
        with self._journal.write() as transaction:
            transaction.write_header(paid)
        return paid

    def _paid(self, header: Header, budget: Number | None) -> int:
        """The charge's number. Errors: PolicyMismatchError if the ledger never charged this."""
        try:
            charged = self._account(budget).recall(header.charge_id)
        except LedgerError as error:
            if error.values.get("state") != "lost":
                raise
            return int(str(error.values["number"]))
        if charged is None:
            raise PolicyMismatchError(
                f"{self._journal.name} was charged in another ledger than the one given.",
                hint="Give the ledger that it was started with.",
                charge_id=header.charge_id,
            )
        return charged.number

    def _account(self, budget: Number | None) -> Account:
        policy, charge = self._rules.policy, self._rules.charge
        held = next(
            (one for one in self._ledger.accounts() if one.policy_id == policy.identity), None
        )
        granted: Mapping[str, Fraction | Number]
        if budget is None:
            granted = held.budget if held else charge
        else:
            weights = {edge.name: edge.weight for edge in policy.edges}
            total = positive(budget, name="budget")
            granted = {edge: total * weight for edge, weight in weights.items()}
        return self._ledger.account(
            policy_id=policy.identity,
            policy_toml=policy.to_toml(),
            policy_name=policy.name,
            budget=granted,
            delta_budget=held.delta_budget if held else None,
            accounting=held.accounting if held else PURE,
            unit=self._rules.unit(self._columns.person),
        )


def _shown(key: str, config: Mapping[str, str]) -> str | None:
    """A rule as people state it: the window of dated times as a length of time."""
    value = config.get(key)
    if value is None or key != "window" or config.get("times") != "dates" or value == "none":
        return value
    return length_text(int(value))


def open_state(state: object) -> SqlJournal:
    """The store of that name; None is one in memory. Errors: those of opening it."""
    from onesided.monitor._sql import SqlJournal  # noqa: PLC0415 - SQLAlchemy loads on use

    if isinstance(state, SqlJournal):
        return state
    if state is not None and not isinstance(state, str | Path | DatabaseUrl):
        raise ParameterError(
            f"state must be a path, a URL or None, got {state!r}.",
            hint='Give a path such as "state.db".',
            value=state,
        )
    return SqlJournal.open(state)


def open_ledger(ledger: Ledger | str | Path | DatabaseUrl | None, state: object) -> Ledger:
    """The ledger that is named; by default one beside the state, or in its database."""
    if isinstance(ledger, Ledger):
        return ledger
    if ledger is not None:
        return Ledger.open(ledger)
    if isinstance(state, DatabaseUrl) or (isinstance(state, str) and "://" in state):
        return Ledger.open(state)
    if isinstance(state, str | Path):
        path = Path(state)
        return Ledger.open(path.with_name(f"{path.stem}.ledger.db"))
    return Ledger.open(None)
