"""One ask: parse, plan, record, draw, keep, wait for the tick, tell. In this order, always.

The row of an ask is written before its charge, so that each charge has an asker who can read its
answer; the charge before rows are read, so that no charge depends on rows; the answer before it
is told, so that one charge has one answer, whatever stops in between.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from sqlalchemy import delete, select, update

from onesided.errors import BudgetExceededError, ReleaseExistsError
from onesided.ledger import PURE
from onesided.session import question_from_json
from onesided.session.kit import kept_pure, rehearse
from onesided.store import canonical, now
from onesided_service._border import asked_in, refuse_explain, tells_again, text_of
from onesided_service._clock import Clock, keeping, writing
from onesided_service._datasets import Dataset
from onesided_service._errors import ServiceError, lost, not_found
from onesided_service._people import CURATOR, People, Person
from onesided_service._store import State, asks, put_if_absent

MOST_SHOWN: Final = 200
_PATIENCE: Final = 3
# Whether an ask was charged. Of one that is unsure, the ledger knows.
_UNSURE, _CHARGED, _REFUSED, _LOST, _BEGUN = range(5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What somebody asked. due: on the public clock, in seconds since 1970. answer: JSON or "".

    lost: its answer was late, and will never be told. starts, through: when its turn to read
    comes and is over; what is left of its turn is for drawing and writing.
    """

    id: str
    person: str
    dataset: str
    question: str
    name: str
    asked: str
    due: Fraction
    charged: bool
    answer: str
    lost: bool = False
    starts: Fraction = Fraction(0)
    through: Fraction = Fraction(0)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Ask:
        """An ask that is on record."""
        charged = row["charged"] in (_CHARGED, _LOST, _BEGUN)
        own = {"due": Fraction(row["due"]), "charged": charged, "lost": row["charged"] == _LOST}
        return cls(**{**row, **own})

    def require_kept(self) -> None:
        """Errors: ServiceError 410 for one that was lost."""
        if self.lost:
            raise lost(self.id)


class Asking:
    """Asks of all datasets, in the service's state and the datasets' ledgers."""

    def __init__(self, state: State, clock: Clock) -> None:
        self._state, self.clock, self._people = state, clock, People(state)

    def begin(self, person: Person, dataset: Dataset, body: object) -> tuple[Ask, bool]:
        """Check, record and charge an ask; the same name and question again is the same ask.

        Returns it, and whether it is new. Looks at no row. Errors: ServiceError; OnesidedError,
        from the request and charges alone.
        """
        session, question, name = self._checked(person, dataset, body)
        now = Fraction(self.clock.now())
        ask, fresh = self._recorded(person, dataset, question, name)
        ask.require_kept()
        # Before its tick, that there is an answer would say when it was drawn.
        if ask.answer and now >= ask.due and not tells_again(body):
            raise _stored(ask)
        if not ask.charged:
            self._charge(ask, session, self.allowance(person, dataset), dataset)
        timed = self._in_turn(ask, dataset) if fresh else None
        if fresh and timed is None:  # another worker took it up meanwhile
            ask = self.found(ask.id)
        return replace(timed or ask, charged=True), timed is not None

    def require_askable(self, person: Person, dataset: Dataset, body: object) -> None:
        """Refuse now what :meth:`begin` would, but for what is left. Errors: as there."""
        _, question, name = self._checked(person, dataset, body)
        if name:
            with self._state.read() as connection:
                _refuse_other(connection, self._ask_of(person, dataset, question, name))

    def _checked(self, person: Person, dataset: Dataset, body: object) -> tuple[Any, Any, str]:
        """The session, the question and its name: whatever can be refused before its record."""
        session = dataset.opened()
        question, name = asked_in(body, session, dataset.config)
        question = self.allowed(person, dataset, question)
        refuse_explain(body)
        # No row is there: what fails here would fail on any rows, after the charge.
        rehearse(session, question)
        takes = self._takes(question, dataset)
        dataset.turns.require(person.name, takes, now=Fraction(self.clock.now()))
        return session, question, name

    def _charge(self, ask: Ask, session: Any, allowance: Any, dataset: Dataset) -> None:
        try:
            session.charge(self.question_of(ask), allowance=allowance, elsewhere=True)
        except ReleaseExistsError as error:
            if error.values.get("state") != "charged":
                raise
        except BudgetExceededError:
            self._refused(ask)
            dataset.turns.leave(ask.id)
            raise

    def _refused(self, ask: Ask) -> None:
        """Note that nothing was charged: the asker may give the name to another question."""
        if ask.name:
            unsure = asks.c.id == ask.id, asks.c.charged == _UNSURE
            self._state.run(update(asks).where(*unsure).values(charged=_REFUSED))
        else:  # nobody else knows of it
            self._state.run(delete(asks).where(asks.c.id == ask.id))

    def _in_turn(self, ask: Ask, dataset: Dataset) -> Ask | None:
        """The ask with its turn, taken once it is charged: a ledger's lock is no slow row.

        It is written down before rows are read: were it set right by the answer, whoever looks
        again and again would see when that was drawn. None where it is not as it was any more.
        """
        timed = self._timed(ask, dataset)
        row = self._waiting(ask, _UNSURE).values(due=str(timed.due), charged=_CHARGED)
        return timed if self._state.run(row) else None

    def draw(self, ask: Ask, dataset: Dataset) -> Ask:
        """Answer a charged ask, and keep the answer, by its tick. Errors: any; then it must close.

        Its answer is told at this one tick or never, so it is kept before the tick, under the
        lock of the state, or not at all; and rows are read for it only if that can still be.
        """
        if not (self.clock.before(ask.due) and self._state.run(self._begun(ask))):
            return self.found(ask.id)
        written = dataset.told(ask.id, ask.question, float(ask.through))
        with self._state.write() as connection:
            if self.clock.before(ask.due):
                kept = self._waiting(ask, _BEGUN).values(answer=written, charged=_CHARGED)
                connection.execute(kept)
        return self.found(ask.id)

    def lose(self, ask: Ask, dataset: Dataset) -> Ask:
        """The ask as it stands once its tick has passed: without an answer it is lost."""
        with self._state.write() as connection:
            lost = self._waiting(ask, _CHARGED, _BEGUN).values(charged=_LOST)
            if connection.execute(lost).rowcount:
                dataset.overran(connection, ask.id)
        return self.found(ask.id)

    @staticmethod
    def _begun(ask: Ask) -> Any:
        return Asking._waiting(ask, _CHARGED).values(charged=_BEGUN)

    @staticmethod
    def _waiting(ask: Ask, *charged: int) -> Any:
        """A change of the ask as long as it waits for this very tick, and stands so."""
        still = asks.c.due == str(ask.due), asks.c.answer == "", asks.c.charged.in_(charged)
        return update(asks).where(asks.c.id == ask.id, *still)

    def found(self, id: str) -> Ask:  # noqa: A002 - its public name
        """The ask on record. Errors: ServiceError."""
        row = self._state.one(select(asks).where(asks.c.id == id))
        if row is None:
            raise not_found()
        return Ask.of(row)

    def of(self, person: Person, ask: Ask, dataset: Dataset) -> Ask:
        """A person's own ask, as it stands. Errors: ServiceError for another's."""
        if ask.person != person.name:
            raise not_found()
        return self._as_charged(ask, dataset)

    def postponed(self, ask: Ask, dataset: Dataset) -> Ask | None:
        """The charged ask with a later tick, for the one caller who may draw it; None for others.

        Where its reading had begun, another tick tells a bit: it counts, and there is no third.
        """
        timed = self._timed(ask, dataset)
        with self._state.write() as connection:
            begun = connection.execute(self._waiting(ask, _BEGUN).values(charged=_BEGUN)).rowcount
            what = "gets another tick, since the worker that had begun it stopped"
            if begun and not dataset.overran(connection, ask.id, what):
                connection.execute(self._waiting(ask, _BEGUN).values(charged=_LOST))
                return None
            # Whoever was refused while another was charged for it noted so: the ledger knows.
            later = self._waiting(ask, _UNSURE, _REFUSED, _CHARGED, _BEGUN)
            changed = connection.execute(later.values(due=str(timed.due), charged=_CHARGED))
            return timed if changed.rowcount else None

    def history(self, person: Person, dataset: Dataset, *, everybody: bool) -> list[Ask]:
        """The latest asks: a person's own, or everybody's."""
        query = select(asks).where(asks.c.dataset == dataset.name)
        if not everybody:
            query = query.where(asks.c.person == person.name)
        rows = self._state.all(query.order_by(asks.c.asked.desc()).limit(MOST_SHOWN))
        return [self._as_charged(Ask.of(row), dataset) for row in rows]

    def _timed(self, ask: Ask, dataset: Dataset) -> Ask:
        """When it reads and is answered: by the question, those before it, and declared rows."""
        question = self.question_of(ask)
        takes, after = self._takes(question, dataset), writing(question, dataset.schema)
        ends = dataset.turns.take(ask.id, ask.person, takes, now=Fraction(self.clock.now()))
        due = self.clock.next_tick(ends + keeping(dataset.config))
        return replace(ask, due=due, starts=ends - takes, through=ends - after)

    def _takes(self, question: Any, dataset: Dataset) -> Fraction:
        return self.clock.takes(question, dataset.config, dataset.schema)

    def allowance(self, person: Person, dataset: Dataset) -> Any:
        """What the person may spend now; a curator as much as there is."""
        since = self.clock.refilled(dataset.config.refills)
        own = self._people.allowed(person.name, dataset.name)
        each = dataset.config.allowance if own is None else own
        unlimited = person.may(CURATOR, dataset.name)
        return dataset.allowance(person.name, since=since, each=None if unlimited else each)

    def allowed(self, person: Person, dataset: Dataset, question: Any) -> Any:
        """The question as the person asks it: an allowance counts ε, so a pure law is kept."""
        limited = self.allowance(person, dataset).epsilon is not None
        return kept_pure(question) if limited and dataset.config.accounting != PURE else question

    @staticmethod
    def question_of(ask: Ask) -> Any:
        """The question as it is charged: under the ask's own id."""
        return replace(question_from_json(ask.question), id=ask.id, again=True)

    def _recorded(
        self, person: Person, dataset: Dataset, question: Any, name: str
    ) -> tuple[Ask, bool]:
        ask = self._ask_of(person, dataset, question, name)
        with self._state.write() as connection:
            if name:
                _refuse_other(connection, ask)
            own = {"due": str(ask.due), "charged": _UNSURE}
            row = {**{key: getattr(ask, key) for key in _COLUMNS}, **own}
            refused = asks.c.id == ask.id, asks.c.charged == _REFUSED
            again = update(asks).where(*refused).values(**own)
            if put_if_absent(connection, asks, row) or connection.execute(again).rowcount:
                # In one step: of two at once, one alone takes the last turn.
                takes, now = self._takes(question, dataset), Fraction(self.clock.now())
                dataset.turns.admit(connection, ask.id, person.name, takes, now=now)
                return ask, True
        return self.found(ask.id), False

    def _ask_of(self, person: Person, dataset: Dataset, question: Any, name: str) -> Ask:
        """The ask as it would be recorded now."""
        written = text_of(question)
        takes = self._takes(question, dataset)
        free = dataset.turns.free_from(Fraction(self.clock.now()))
        due = self.clock.next_tick(free + _PATIENCE * takes + keeping(dataset.config))
        return Ask(
            id=_id_of(dataset, person, name, question) if name else secrets.token_hex(16),
            person=person.name,
            dataset=dataset.name,
            question=written,
            name=name,
            asked=now(),
            due=due,
            charged=False,
            answer="",
        )

    @staticmethod
    def _as_charged(ask: Ask, dataset: Dataset) -> Ask:
        """The ask with what the ledger says: here it is noted only once it is answered."""
        if ask.charged:
            return ask
        try:
            charged = dataset.session().account.recall(ask.id) is not None
        except ReleaseExistsError:
            charged = True
        return replace(ask, charged=charged)


_COLUMNS: Final = tuple(column.name for column in asks.columns)


def _id_of(dataset: Dataset, person: Person, name: str, question: Any) -> str:
    """The same for the same name and question, whatever people call that."""
    parts = [replace(one, title="") for one in getattr(question, "questions", ())]
    bare = replace(question, title="", **({"questions": parts} if parts else {}))
    told = canonical([dataset.name, person.name, name, text_of(bare)])
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def _refuse_other(connection: Any, ask: Ask) -> None:
    """Refuse a name that the asker gave to another question, unless that one was refused."""
    query = select(asks.c.id).where(
        asks.c.dataset == ask.dataset,
        asks.c.person == ask.person,
        asks.c.name == ask.name,
        asks.c.id != ask.id,
        asks.c.charged != _REFUSED,
    )
    if connection.execute(query).first() is not None:
        raise ServiceError(
            409,
            "ReleaseExistsError",
            f"You asked another question under the id {ask.name!r}.",
            hint="Ask under a new id.",
            id=ask.name,
            state="other",
        )


def _stored(ask: Ask) -> ServiceError:
    return ServiceError(
        409,
        "ReleaseExistsError",
        f"Your id {ask.name!r} has an answer already.",
        hint=f"Read it: GET /api/v1/asks/{ask.id}; or send again=true; a new id asks anew.",
        id=ask.name,
        ask=ask.id,
        state="stored",
    )
