"""Who waits, and how long: by what questions may take, never by what they took.

One asker can take neither all places nor all of the time of a dataset. What is counted here moves
with requests and the public clock alone, so that whoever is told "busy" learns nothing of rows.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from fractions import Fraction
from typing import Final
from weakref import WeakValueDictionary

from onesided_service._errors import ServiceError

AT_ONCE: Final = 512  # asks that one worker has under way, until their ticks
EACH: Final = 128  # of these, how many may be one person's
PLANS: Final = 4  # plans and previews of one person that run or wait
LONGEST: Final = 60  # seconds that one person's asks of a dataset may take together


class Turns:
    """The turns of one dataset in one worker, which reads for one question after the other.

    >>> turns = Turns()
    >>> [turns.take("ann", Fraction(2), now=Fraction(100)) for _ in range(2)]
    [Fraction(102, 1), Fraction(104, 1)]
    >>> turns.require("bob", Fraction(LONGEST), now=Fraction(100))
    """

    def __init__(self) -> None:
        self._taken = Fraction(0)
        self._waiting: deque[tuple[Fraction, str, Fraction]] = deque()
        self._mutex = threading.Lock()

    def require(self, who: str, takes: Fraction, *, now: Fraction) -> None:
        """Errors: ServiceError 429 where the asker's own questions fill what one may fill."""
        with self._mutex:
            self._pass(now)
            own = [(through, one) for through, name, one in self._waiting if name == who]
        if own and sum(one for _, one in own) + takes > LONGEST:
            raise _busy(
                f"Your questions under way already fill the {LONGEST} seconds that you may use.",
                own[0][0] - now,
            )

    def take(self, who: str, takes: Fraction, *, now: Fraction) -> Fraction:
        """When a question that may take so long is through, behind those before it."""
        with self._mutex:
            self._pass(now)
            self._taken = max(self._taken, now) + takes
            self._waiting.append((self._taken, who, takes))
            return self._taken

    def free_from(self, now: Fraction) -> Fraction:
        """When all that took a turn are through."""
        with self._mutex:
            return max(self._taken, now)

    def _pass(self, now: Fraction) -> None:
        while self._waiting and self._waiting[0][0] <= now:
            self._waiting.popleft()


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
                raise _busy(f"You have {self._each} requests of this kind under way.")
            if self._held.total() >= self._most:
                raise _busy("Too many requests of this kind are under way.")
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


def _busy(message: str, wait: Fraction = Fraction(1)) -> ServiceError:
    seconds = max(1, math.ceil(wait))
    hint = f"Ask again in {seconds} seconds." if seconds > 1 else "Ask again in a moment."
    return ServiceError(429, "Busy", message, hint=hint, seconds=seconds)
