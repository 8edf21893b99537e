"""Datasets: checked once, asked as they were then, and closed whenever anything is odd.

Requests are parsed, planned and charged on an empty table of the same columns. The rows are
opened by :meth:`Dataset.answer` alone, after the charge, and only as the snapshot that was checked.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, delete, func, insert, select, update

from onesided import policy as policies
from onesided.engine import Table
from onesided.errors import DataError
from onesided.ledger import Allowance, Standing
from onesided.noise import Noise
from onesided.numbers import many, rough
from onesided.policy import Policy
from onesided.schema import Schema
from onesided.session import Count, Session, question_from_json, release_to_json
from onesided.session.kit import read_ahead, rehearse
from onesided.store import DatabaseUrl, now, read_json
from onesided_service._clock import busy_until, size_of
from onesided_service._config import DatasetConfig, ServiceConfig
from onesided_service._errors import closed, unstarted
from onesided_service._rehearsal import rehearse_each
from onesided_service._rows import FileRows, PostgresRows, Source, SparkRows, empty_of
from onesided_service._store import State, datasets, logged, notes, overruns, put_if_absent, turns
from onesided_service._turns import Turns

if TYPE_CHECKING:
    from onesided_service._apart import Process

ROOM: Final = 3  # for a machine that is busy
OPEN: Final = "open"
CLOSED: Final = "closed"
MOST_NOTES: Final = 200
_AGAIN: Final = 10  # seconds between attempts to start what did not


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was checked. types: of the declared columns; the rest tells it from other files.

    seconds: what the check set, where the configuration says nothing.
    """

    digest: str
    mark: tuple[int, ...]
    schema: str
    types: Mapping[str, str]
    seconds: Fraction

    def written(self) -> str:
        """As text."""
        parts = {"digest": self.digest, "mark": list(self.mark), "schema": self.schema}
        # In the schema's order: the table has its columns so.
        more = {"types": list(self.types.items()), "seconds": str(self.seconds)}
        return json.dumps({**parts, **more})

    @classmethod
    def read(cls, text: str) -> Snapshot:
        """What was written."""
        found: Any = read_json(text)
        own = found["digest"], tuple(found["mark"]), found["schema"], dict(found["types"])
        return cls(*own, Fraction(found.get("seconds", "1")))


class Dataset:
    """One dataset of one worker. turns: who waits for it.

    noise: for tests; production draws from the operating system.

    >>> import polars as pl, onesided as od
    >>> pl.DataFrame({"place": ["gym", "bar"]}).write_parquet("v.parquet")
    >>> written = Path("v.toml").write_text("columns = {place = {type = 'text'}}")
    >>> written = Path("p.toml").write_text(od.policy.addition_only().to_toml())
    >>> files = {"data": "v.parquet", "schema": "v.toml", "policy": "p.toml"}
    >>> config, state = DatasetConfig(name="v", budget=1, **files), State.open("service.db")
    >>> visits = Dataset(config, ServiceConfig(), state, None)
    >>> visits.check()["rows"], visits.open
    (2, True)
    >>> state.close()
    """

    def __init__(
        self, config: DatasetConfig, service: ServiceConfig, state: State, noise: Noise | None
    ) -> None:
        # As configured, but for the seconds that the last check set.
        self.config, self.name, self._seconds = config, config.name, config.seconds
        self.title = config.title or config.name
        self._service, self._state, self._noise = service, state, noise
        self.schema = Schema.read(service.place(config.schema))
        self.policy = read_policy(service.place(config.policy))
        self._source = source_of(config, service.place(config.data), self.schema)
        self._fronts = threading.local()  # a connection answers one thread at a time
        self._back: tuple[tuple[Snapshot, int], Session] | None = None
        self.turns, self._reading = Turns(state, self.name), threading.Lock()
        # Where its rows are read, if not here; and whether to seem to read for the whole turn.
        self.elsewhere: Process | None = None
        self.pads, self._tried = False, -math.inf

    @property
    def open(self) -> bool:
        """Whether it answers; as public as its name."""
        row = self._row()
        return row is not None and row["state"] == OPEN

    def require_open(self) -> Snapshot:
        """What was checked. Errors: ServiceError."""
        row = self._row()
        if row is None or row["state"] != OPEN:
            raise closed(self.name)
        return self._read(row)

    def opened(self) -> Session:
        """Its :meth:`session` if it is open. Errors: ServiceError."""
        snapshot = self.require_open()
        self.require_started()
        return self._front(snapshot)

    def require_started(self) -> None:
        """Refuse, before any charge, what no process would read rows for.

        It is started once more, a few times a minute at most. Errors: ServiceError.
        """
        if self.elsewhere is None or not self.elsewhere.unstarted:
            return
        if (moment := time.monotonic()) >= self._tried + _AGAIN:
            self._tried = moment
            with suppress(DataError):
                self.elsewhere.run(bool)
        if self.elsewhere.unstarted:
            raise unstarted()

    def session(self) -> Session:
        """A session over no rows, for parsing, planning and charging. Errors: ServiceError."""
        return self._front(self._snapshot())

    def _front(self, snapshot: Snapshot) -> Session:
        held: tuple[Snapshot, Session] | None = getattr(self._fronts, "held", None)
        if held is None or held[0] != snapshot:
            _, table = empty_of(snapshot.types)
            held = self._fronts.held = snapshot, self._session(table, None)
        return held[1]

    def told(self, ask: str, question: str, until: float) -> str:
        """The one answer of a charged question, as JSON. Errors: any; then it must close.

        until: when its turn ends. What reads in a process of its own seems to read until then, and
        neither draws nor writes anything down before.
        """
        if self.elsewhere is not None:
            return self.elsewhere.run(Dataset.told, self, ask, question, until, called=ask)
        asked = replace(question_from_json(question), id=ask, again=True)
        return release_to_json(_as_told(self._padded(asked, until)))

    def _padded(self, question: Any, until: float) -> Any:
        if not self.pads:
            return self.answer(question)
        with self._reading:
            read_ahead(self._opened(self._snapshot()), question)
            busy_until(until)
        return self.answer(question)

    def answer(self, question: Any) -> Any:
        """The one answer of a charged question. Errors: any, and then the dataset must close."""
        snapshot = self._snapshot()
        with self._reading:
            release = self._opened(snapshot).answer(question)
            self._require_same(snapshot)
            return release

    def warm(self) -> None:
        """Read the snapshot once, so that the first question does not wait for it. Errors: any.

        What is read is about nobody's question, and is forgotten.
        """
        if self.elsewhere is not None:
            self.elsewhere.run(bool)  # it reads once before it does anything
            self.elsewhere.stand_by()
            return
        if not self.open:
            return
        self._read_once(self._snapshot())

    def _read_once(self, snapshot: Snapshot) -> None:
        plain = Count(epsilon=1)
        rehearse(self._front(snapshot), plain)
        with self._reading:
            rehearse(self._opened(snapshot), plain)

    def _opened(self, snapshot: Snapshot) -> Session:
        self._require_same(snapshot)
        which = snapshot, self._source.made
        if self._back is None or self._back[0] != which:
            self._back = which, self._session(self._source.rows(), self._noise)
        return self._back[1]

    def allowance(self, who: str, *, since: str, each: Fraction | None) -> Allowance:
        """What a person may spend, per unit of edge weight; None for as much as there is."""
        delta = self.config.delta_allowance
        if each is None:
            return Allowance(who=who, since=since)
        weights = {edge.name: edge.weight for edge in self.policy.edges}
        return Allowance(
            who=who,
            epsilon={edge: each * weight for edge, weight in weights.items()},
            delta=dict.fromkeys(weights, delta),
            since=since,
        )

    def standing(self) -> Standing:
        """What all spent together, and what is left."""
        return self.session().account.standing()

    def close(self, reason: str, *, by: str | None = None) -> None:
        """Close it for everybody; the reason is the curator's to read.

        by: who closes it, for the audit log; None where it closes itself.
        """
        with self._state.write() as connection:
            self._close(connection, reason)
            if by is not None:
                logged(connection, "close", by=by, dataset=self.name, text=reason)

    def _close(self, connection: Connection, reason: str) -> None:
        row = update(datasets).where(datasets.c.dataset == self.name)
        connection.execute(row.values(state=CLOSED, changed=now()))
        self._note(connection, reason)

    def note(self, text: str) -> None:
        """Let its curators know, unless that is what they were told last."""
        last = select(notes.c.text).where(notes.c.dataset == self.name)
        with self._state.write() as connection:
            found = connection.execute(last.order_by(notes.c.number.desc()).limit(1)).scalar()
            if found != text:
                self._note(connection, text)

    def _note(self, connection: Connection, text: str) -> None:
        row = {"dataset": self.name, "time": now(), "text": text}
        connection.execute(insert(notes).values(**row))

    def overran(self, connection: Connection, ask: str, what: str = "was late") -> bool:
        """Note a question that missed its tick; the last allowed since the opening closes it.

        Each tells a bit, to whoever asked; so all who ask share their number. Whether this one was
        not noted before.
        """
        row = {"ask": ask, "dataset": self.name, "time": now()}
        if not put_if_absent(connection, overruns, row):
            return False
        own = select(func.count()).where(overruns.c.dataset == self.name)
        number, most = connection.execute(own).scalar_one(), self.config.overruns
        self._note(connection, f"Ask {ask} {what}: {number} of {most}.")
        if number >= most:
            self._close(connection, f"{many(number, 'question')} missed their ticks.")
        return True

    def finish(self) -> None:
        """Let go of the rows; the dataset stays as it is."""
        if self.elsewhere is not None:
            self.elsewhere.stop()
        with self._reading:
            self._back = None
            self._source.close()

    def notes(self) -> list[dict[str, Any]]:
        """Why it was closed, the latest first. For the curator."""
        query = select(notes).where(notes.c.dataset == self.name)
        rows = self._state.all(query.order_by(notes.c.number.desc()).limit(MOST_NOTES))
        return [{"time": row["time"], "note": row["text"]} for row in rows]

    def reopen(self, *, by: str = "") -> None:
        """Open it again, if the file is still the one that was checked. Errors: OnesidedError."""
        if self.elsewhere is not None:
            self.elsewhere.run(partial(Dataset.reopen, by=by), self)
            return
        snapshot = self._snapshot()
        with self._reading:
            found = self._source.look()
        if found.digest != snapshot.digest:
            raise DataError(
                f"The rows of {self.name!r} have changed since they were checked.",
                hint="Put them back, or check them again: onesided datasets check.",
            )
        self._record(replace(snapshot, mark=found.mark), by=by, action="reopen")

    def check(self, *, by: str = "") -> dict[str, Any]:
        """Validate the file against the schema, set its seconds, and open it. For the curator.

        Where none are configured they are 1, or such a power of 2 as gives the slowest question its
        time, if it is checked by the process that reads.
        Errors: DataError or SchemaError; the dataset then stays as it was.
        """
        if self.elsewhere is not None:
            return self.elsewhere.run(_checked, self, by)
        with self._reading:
            found = self._source.look()
            session = self._session(found.rows, None)  # which refuses rows not as declared
            table = Table(found.rows, declared=self.schema)
            with table.texts(list(self.schema.columns)) as held:
                facts = {"rows": held.height(), "unreadable": held.unreadable()}
            took = rehearse_each(session, self.schema)  # a question of each class
            self._source.require(found.digest, found.mark)
        needed, seconds = took / size_of(self.config), self._seconds or Fraction(1)
        while self.pads and self._seconds is None and seconds < ROOM * needed:
            seconds *= 2
        checked = Snapshot(found.digest, found.mark, self.schema.identity, found.types, seconds)
        told = {**facts, "seconds_needed": float(needed), "seconds": float(seconds)}
        self._record(checked, by=by, action="check", text=self.words_of(told))
        return told

    def words_of(self, checked: Mapping[str, Any]) -> str:
        """What a check found, for the curator."""
        unread = sum(checked["unreadable"].values())
        words = many(unread, "value", one="is", more="are")
        told = f"{many(checked['rows'], 'row', one='was', more='were')} checked against the schema."
        if unread:
            told += f" {words} not of the declared type, and will be unknown."
        needed, given = checked["seconds_needed"], checked["seconds"]
        more = self._seconds is None and given > 1
        if more or ROOM * needed > given:
            told += (
                f" Its slowest question needs seconds = {rough(needed)} on this machine, and more "
                f"while that is busy; it has seconds = {rough(given)}"
            )
            told += (
                ", set by this check."
                if more
                else f". Set seconds = {rough(ROOM * needed)} or more: late answers are lost."
            )
        return told

    def _record(self, snapshot: Snapshot, *, by: str, action: str, text: str = "") -> None:
        if self.pads:  # where it is asked: before it opens, so that no question waits for it
            self._read_once(snapshot)
        row = {"dataset": self.name, "state": OPEN, "snapshot": snapshot.written()}
        with self._state.write() as connection:
            logged(connection, action, by=by, dataset=self.name, text=text)
            connection.execute(delete(overruns).where(overruns.c.dataset == self.name))
            connection.execute(delete(turns).where(turns.c.ask == self.name))
            if not put_if_absent(connection, datasets, {**row, "changed": now()}):
                statement = update(datasets).where(datasets.c.dataset == self.name)
                connection.execute(statement.values(**row, changed=now()))

    def _row(self) -> Mapping[str, Any] | None:
        return self._state.one(select(datasets).where(datasets.c.dataset == self.name))

    def _snapshot(self) -> Snapshot:
        row = self._row()
        if row is None:
            raise closed(self.name)
        return self._read(row)

    def _read(self, row: Mapping[str, Any]) -> Snapshot:
        snapshot = Snapshot.read(row["snapshot"])
        if snapshot.schema != self.schema.identity:
            raise closed(self.name)
        if self.config.seconds != (seconds := self._seconds or snapshot.seconds):
            self.config = replace(self.config, seconds=seconds)
        return snapshot

    def _require_same(self, snapshot: Snapshot) -> None:
        self._source.require(snapshot.digest, snapshot.mark)

    def _session(self, table: Any, noise: Noise | None) -> Session:
        return Session(
            table,
            schema=self.schema,
            policy=self.policy,
            budget=self.config.budget,
            delta_budget=self.config.delta_budget,
            accounting=self.config.accounting,
            ledger=self._service.ledger_of(self.config),
            noise=noise,
        )


def _checked(dataset: Dataset, by: str) -> dict[str, Any]:
    try:
        return dataset.check(by=by)
    except MemoryError:
        raise DataError(
            f"Reading {dataset.name!r} takes more than memory = {dataset.config.memory} GiB.",
            hint="Give it more memory.",
        ) from None


def _as_told(release: Any) -> Any:
    """A release without what tells when it or another was drawn: it is known by its ask alone.

    Answers take numbers in the ledger once they are drawn, between those of the charges.
    """
    parts = getattr(release, "parts", None)
    if parts is not None:
        release = replace(release, parts=tuple(map(_as_told, parts)))
    return replace(release, entry=None, told_again=False, drawn="")


def source_of(config: DatasetConfig, place: str, schema: Schema) -> Source:
    """Where the rows of a dataset are. Errors: ParameterError."""
    if DatabaseUrl.is_for(config.data):
        return PostgresRows(config.data, table=config.table, schema=schema)
    if config.engine == "spark":
        return SparkRows(place, schema=schema)
    return FileRows(place, table=config.table, schema=schema, threads=config.threads)


def read_policy(path: str) -> Policy:
    """The policy in a TOML file. Errors: PolicyError; DataError."""
    try:
        return policies.from_toml(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"Cannot read the policy {path!r}: {error}.") from error
