"""The monitor that people use: rules, a paid-up ledger, a stored state, and steps."""

from __future__ import annotations

import datetime as dt
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from onesided._english import many
from onesided._numbers import Number, positive, whole
from onesided.errors import (
    DataError,
    LedgerError,
    LedgerFormatError,
    PolicyMismatchError,
)
from onesided.ledger import Account, Ledger
from onesided.monitor._answer import MonitorRelease
from onesided.monitor._batch import Columns, frames_like, read_batch, stored_batch
from onesided.monitor._columns import OnUnknown
from onesided.monitor._guarantees import Guarantees
from onesided.monitor._journal import Header
from onesided.monitor._keys import new_key
from onesided.monitor._machine import Machine
from onesided.monitor._opening import open_ledger, open_state
from onesided.monitor._published import Chain, PublishedSteps
from onesided.monitor._recorder import Recorder
from onesided.monitor._rules import FORMAT, Rules, rules_for
from onesided.monitor._supply import Visits
from onesided.monitor._time import duration, length_text
from onesided.noise import Noise
from onesided.policy import Policy
from onesided.show import Card
from onesided.store import DatabaseUrl, address, canonical

Clock = Callable[[], object]


def _system_clock() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class Monitor:
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
    ) -> None:
        state, ledger = address(state), address(ledger)
        self._rules = rules_for(
            keys,
            place=place,
            at_most=at_most,
            window=window,
            epsilon=epsilon,
            policy=policy,
            charges=charges,
            max_answers=max_answers,
            read_as=read_as,
        )
        self._columns = Columns(person=person, place=place, time=time)
        self._on_unknown = on_unknown
        self._clock = _system_clock if clock is None and self._rules.scale.dated else clock
        self._ahead = _ahead(ahead, dated=self._rules.scale.dated)
        self._prepare()
        self._published = self._seen(published)
        self._journal = open_state(state)
        self._own_ledger = not isinstance(ledger, Ledger)
        try:
            self._ledger = open_ledger(ledger, state)
            header = self._header()
            if not header.paid:
                header = self._pay(header, budget)
            self._recorder = Recorder(
                self._rules,
                journal=self._journal,
                noise=noise,
                published=self._published,
                machine=self._machine,
                restored=self._restored,
                entry=self._paid(header, budget),
            )
            self._recorder.refuse_other_chain()
        except BaseException:
            self._journal.close()
            raise

    def __reduce__(self) -> NoReturn:
        raise LedgerError(
            "A monitor cannot be copied or pickled: both would answer, for one charge.",
            hint="Open it again from its state.",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        if self._clock is not None and self._recorder.accepted(read.id) is None:
            self._refuse_future(read.time)
        release = self._recorder.step(read)
        return replace(release, _make_frame=frames_like(batch))

    def guarantees(self) -> Guarantees:
        """Whose guarantee it is: per visit, per person and window, for ever."""
        return Guarantees(self._rules)

    @property
    def last(self) -> MonitorRelease | None:
        """The latest answer, as it was published; None before the first step."""
        return self._recorder.last()

    def history(self, *, after: int = 0) -> Iterator[MonitorRelease]:
        """Everything that was published after that step, again, in order."""
        return self._recorder.history(after=after)

    def accepted(self, id: str) -> str | None:  # noqa: A002
        """When the batch was accepted, by this machine's clock; None if it was not."""
        return self._recorder.accepted(id)

    @property
    def awaited(self) -> tuple[str, ...]:
        """The batches that were published and the state does not hold, in the order to send them.

        Empty unless the state was restored from an old copy.
        """
        if self._published is None:
            return ()
        last = self._recorder.last()
        return tuple(step.batch for step in self._published.after(last.number if last else 0))

    def check(self) -> int:
        """Recompute the chain of all steps, and prove the kept rows; returns how many steps.

        Errors: TamperedLedgerError; LedgerFormatError for rows that were changed or are missing.
        """
        return self._recorder.check()

    @property
    def rules(self) -> Rules:
        """The public rules."""
        return self._rules

    @property
    def ledger(self) -> Ledger:
        """Where the monitor's charge is on record."""
        return self._ledger

    def close(self) -> None:
        """Let go of the state and, if the monitor opened it, of the ledger."""
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

    def _machine(self, rules: Rules) -> Machine:
        return Machine(rules)

    def _restored(self, id: str, time: int, content: bytes) -> Visits:  # noqa: A002
        return stored_batch(id, time, content)

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
        _refuse_other_version(found, self._journal.name)
        _refuse_other_rules(json.loads(found.config), self._rules.config(), self._journal.name)
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
            unit=self._rules.unit(self._columns.person),
        )


def _ahead(ahead: object, *, dated: bool) -> int:
    if dated:
        return duration(ahead, name="ahead")
    return 0 if isinstance(ahead, str) else whole(ahead, name="ahead")


def _refuse_other_version(header: Header, name: str) -> None:
    if header.version != FORMAT:
        raise LedgerFormatError(
            f"{name} has version {header.version}; this library writes version {FORMAT}.",
            hint="Install the release of onesided that fits. Nothing was changed.",
            version=header.version,
            known=FORMAT,
        )


def _refuse_other_rules(held: Mapping[str, str], asked: Mapping[str, str], name: str) -> None:
    differing = [key for key in {**asked, **held} if held.get(key) != asked.get(key)]
    if differing:
        said = "; ".join(
            f"{key} {_shown(key, held)} (asked: {_shown(key, asked)})" for key in differing
        )
        raise PolicyMismatchError(
            f"{name} was made for {said}.",
            hint="A monitor's rules never change. Open it with the same ones, or start another "
            "state, which is charged anew.",
            differing=tuple(differing),
        )


def _shown(key: str, config: Mapping[str, str]) -> str | None:
    """A rule as people state it: the window of dated times as a length of time."""
    value = config.get(key)
    if value is None or key != "window" or config.get("times") != "dates" or value == "none":
        return value
    return length_text(int(value))
