"""Who waits, and how long: by what questions may take, never by what they took.

One asker can take neither all places nor all of the time of a dataset. What is counted here moves
with requests and the public clock alone, so that whoever is told "busy" learns nothing of rows.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from fractions import Fraction
from typing import Any, Final
from weakref import WeakValueDictionary

from sqlalchemy import Connection, delete, exists, insert, select

from onesided_service._errors import ServiceError
from onesided_service._store import State, asks
from onesided_service._store import turns as table

AT_ONCE: Final = 512  # asks that one worker has under way, until their ticks
EACH: Final = 128  # of these, how many may be one person's
PLANS: Final = 4  # plans and previews of one person that run or wait
LONGEST: Final = 60  # seconds that one person's asks of a dataset may take together
DEEPEST: Final = 600  # seconds that everybody's may, except for one that is alone


class Turns:
    """The turns of one dataset, in the service's state: one question reads at a time, anywhere.

    >>> state = State.open(None)
    >>> turns, now = Turns(state, "visits"), Fraction(100)
    >>> [turns.take(ask, "ann", Fraction(2), now=now) for ask in ("first", "second")]
    [Fraction(102, 1), Fraction(104, 1)]
    >>> turns.require("bob", Fraction(LONGEST), now=now)
    """

    def __init__(self, state: State, dataset: str) -> None:
        self._state, self._of_dataset = state, table.c.dataset == dataset
        self._dataset = dataset

    def require(self, who: str, takes: Fraction, *, now: Fraction) -> None:
        """Errors: ServiceError 429 where what waits fills what the asker, or all, may fill."""
        self._refuse_busy(self._state.all(select(table).where(self._of_dataset)), who, takes, now)

    def _refuse_busy(self, rows: Any, who: str, takes: Fraction, now: Fraction) -> None:
        waiting = [(row["person"], _instants(row)) for row in rows]
        ahead = [(person, one) for person, one in waiting if one[0] > now]
        own = [one for person, one in ahead if person == who]
        if own and sum(one for _, one in own) + takes > LONGEST:
            raise busy(
                f"Your questions under way already fill the {LONGEST} seconds that you may use.",
                min(own)[0] - now,
            )
        if ahead and sum(one for _, (_, one) in ahead) + takes > DEEPEST:
            raise busy(
                f"Questions under way already fill the {DEEPEST} seconds of this dataset.",
                min(end for _, (end, _) in ahead) - now,
            )

    def admit(
        self, connection: Connection, ask: str, who: str, takes: Fraction, *, now: Fraction
    ) -> None:
        """Take a turn in the transaction that records the ask. Errors: as :meth:`require`."""
        rows = self._rows(connection)
        self._refuse_busy(rows, who, takes, now)
        self._taken(connection, rows, ask, who, takes=takes, now=now)

    def take(self, ask: str, who: str, takes: Fraction, *, now: Fraction) -> Fraction:
        """When an ask that may take so long is through, behind those before it."""
        with self._state.write() as connection:
            return self._taken(connection, self._rows(connection), ask, who, takes=takes, now=now)

    def _rows(self, connection: Connection) -> Sequence[Mapping[Any, Any]]:
        return connection.execute(select(table).where(self._of_dataset)).mappings().all()

    def _taken(
        self,
        connection: Connection,
        rows: Any,
        ask: str,
        who: str,
        *,
        takes: Fraction,
        now: Fraction,
    ) -> Fraction:
        found = {row["ask"]: _instants(row) for row in rows}
        over = [one for one, (end, _) in found.items() if end <= now or one == ask]
        ahead = [one for name, one in found.items() if name not in over]
        # However a clock was set, no more is ahead than what the others may take together.
        last = min(max([now, *(end for end, _ in ahead)]), now + sum(own for _, own in ahead))
        through = last + takes
        connection.execute(delete(table).where(table.c.ask.in_(over)))
        own = {"takes": str(takes), "through": str(through)}
        connection.execute(insert(table).values(ask=ask, dataset=self._dataset, person=who, **own))
        return through

    def leave(self, ask: str) -> None:
        """Give a turn back: its ask was not charged."""
        self._state.run(delete(table).where(table.c.ask == ask))

    def free_from(self, now: Fraction) -> Fraction:
        """When all that took a turn are through."""
        rows = self._state.all(select(table).where(self._of_dataset))
        return max([now, *(_instants(row)[0] for row in rows)])

    @contextmanager
    def alone(self, *, now: Fraction) -> Iterator[bool]:
        """Whether nothing reads meanwhile: no ask whose answer is to come, and no other check.

        Whoever stops in the midst of it leaves it to others after as long as all may fill.
        """
        answered = exists().where(asks.c.id == table.c.ask, asks.c.answer != "")
        with self._state.write() as connection:
            others = select(table.c.through).where(self._of_dataset, ~answered)
            free = all(Fraction(one) <= now for one in connection.execute(others).scalars())
            if free:
                own = {"takes": "0", "through": str(now + DEEPEST), "person": ""}
                connection.execute(delete(table).where(table.c.ask == self._dataset))
                row = {"ask": self._dataset, "dataset": self._dataset, **own}
                connection.execute(insert(table).values(**row))
        try:
            yield free
        finally:
            if free:
                self.leave(self._dataset)


def _instants(row: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    """When a turn is through, and how long it may take."""
    return Fraction(row["through"]), Fraction(row["takes"])


class Places:
    """How many of something are under way, and whose. most: of all; each: of one person.

    >>> places = Places(most=9, each=1)
    >>> places.enter("ann")
    >>> places.leave("ann")
    """

    def __init__(self, *, most: int, each: int) -> None:
        self._most, self._each = most, each
        self._held: Counter[str] = Counter()
        self._mutex = threading.Lock()

    def enter(self, who: str) -> None:
        """Take a place. Errors: ServiceError 429."""
        with self._mutex:
            if self._held[who] >= self._each:
                raise busy(f"You have {self._each} requests of this kind under way.")
            if self._held.total() >= self._most:
                raise busy("Too many requests of this kind are under way.")
            self._held[who] += 1

    def leave(self, who: str) -> None:
        """Give it back."""
        with self._mutex:
            self._held[who] -= 1
            if not self._held[who]:
                del self._held[who]

    @contextmanager
    def held(self, who: str) -> Iterator[None]:
        """A place for as long as this lasts."""
        self.enter(who)
        try:
            yield
        finally:
            self.leave(who)


class Shares:
    """Who works out what was asked, before a charge: few at a time, and one of each person.

    So whoever asks much waits for their own requests, and keeps one thread from the others.

    >>> Shares(2).held("ann").__class__.__name__
    '_AsyncGeneratorContextManager'
    """

    def __init__(self, most: int) -> None:
        self._all = asyncio.Semaphore(most)
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def held(self, who: str) -> AsyncIterator[None]:
        """A thread's worth of work, once it is this person's turn."""
        own = self._own.setdefault(who, asyncio.Lock())
        async with own, self._all:
            yield


def busy(message: str, wait: Fraction = Fraction(1)) -> ServiceError:
    seconds = max(1, math.ceil(wait))
    hint = f"Ask again in {seconds} seconds." if seconds > 1 else "Ask again in a moment."
    return ServiceError(429, "Busy", message, hint=hint, seconds=seconds)


_MINUTE: Final = 60


class Limits:
    """At most so many requests of one person, or of one address without one, in a minute."""

    def __init__(self, most: int, *, workers: int) -> None:
        self._most = math.ceil(most / workers)
        self._minute, self._numbers = 0, Counter[str]()
        self._mutex = threading.Lock()

    def count(self, who: str, *, now: float) -> None:
        """Count a request. Errors: ServiceError 429, with the seconds to wait."""
        minute = int(now) // _MINUTE
        with self._mutex:
            if minute != self._minute:
                self._minute, self._numbers = minute, Counter()
            self._numbers[who] += 1
            number = self._numbers[who]
        if number > self._most:
            wait = _MINUTE - int(now) % _MINUTE
            raise ServiceError(
                429,
                "TooMany",
                "Too many requests in this minute.",
                hint=f"Wait {wait} seconds.",
                seconds=wait,
            )
