"""What one worker holds: open stores, datasets, and the asks that it is about to tell."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from sqlalchemy import select

from onesided.errors import first_line
from onesided.noise import Noise
from onesided_service._apart import (
    FREE,
    FREE_SECONDS,
    EndedError,
    Process,
    UnstartedError,
    reader_of,
)
from onesided_service._asking import Ask, Asking
from onesided_service._clock import Clock
from onesided_service._config import ServiceConfig
from onesided_service._datasets import Dataset
from onesided_service._errors import ServiceError, closed, not_found, unstarted
from onesided_service._kept import Kept
from onesided_service._monitors import LiveMonitor
from onesided_service._oidc import Oidc
from onesided_service._people import People, Person
from onesided_service._published import Publishing
from onesided_service._store import State, datasets
from onesided_service._turns import AT_ONCE, EACH, PLANS, Limits, Places, Shares
from onesided_service._watched import LOG, Metrics, placed

T = TypeVar("T")
ABANDONED: Final = 5  # seconds after its tick; its worker has then stopped, or it is lost
_PAUSE: Final = 0.05  # seconds between attempts to stop reading
_WORKING: Final = 2  # plans at a time, and asks that are not charged yet


class Service:
    """Everything that the routes need. noise, clock: for tests.

    apart: whether rows are read, and what is free is worked out, in processes of their own.
    """

    def __init__(
        self,
        config: ServiceConfig,
        *,
        noise: Noise | None = None,
        clock: Clock | None = None,
        apart: bool = False,
    ) -> None:
        self.config = config
        self.clock = clock or Clock(config.tick)
        self.state = State.open(config.place(config.state))
        self.people = People(self.state)
        self.oidc = None if config.oidc is None else Oidc(config.oidc, config)
        self.limits = Limits(config.requests_per_minute, workers=config.workers)
        self.metrics = Metrics()
        self.asking = Asking(self.state, self.clock)
        self.datasets = {
            name: Dataset(one, config, self.state, noise) for name, one in config.datasets.items()
        }
        self.publishing, self.kept = Publishing(self.state), Kept(self.state)
        self.monitors = {name: LiveMonitor(one, config) for name, one in config.monitors.items()}
        # One each: rows of one dataset never make an answer about another one late.
        self._readers = {name: ThreadPoolExecutor(1, f"reader-{name}") for name in self.datasets}
        self._free = Process(config, FREE) if apart else None
        for place, found in enumerate(self.datasets.values() if apart else ()):
            found.elsewhere = reader_of(config, found, place)
        self._asks = Places(most=AT_ONCE, each=EACH)
        self._plans = Places(most=AT_ONCE, each=PLANS)
        # What may take long before a charge leaves threads to all that is short.
        self._beginning, self._planning = Shares(_WORKING), Shares(_WORKING)
        self._looked = -1.0
        self._tasks: set[asyncio.Task[Any]] = set()  # until their ticks

    def dataset(self, name: str, person: Person) -> Dataset:
        """A dataset that the person may see. Errors: ServiceError, the same for what is absent."""
        found = self.datasets.get(name)
        if found is None or not person.sees(name):
            raise not_found()
        return found

    async def ask(self, person: Person, dataset: Dataset, body: object) -> Ask:
        """Charge a question, and begin to answer it. Errors: ServiceError; OnesidedError."""
        self._asks.enter(person.name)
        leave = partial(self._asks.leave, person.name)
        try:
            async with self._beginning.held(person.name):
                ask, fresh = await self.run(self.asking.begin, person, dataset, body)
        except BaseException:
            leave()
            raise
        self.metrics.count("asks", dataset.name)
        if fresh:
            self._start(ask, dataset, leave)
        else:
            leave()
        return await self.resumed(ask, dataset)

    async def free(self, person: Person, function: Callable[..., T], *args: Any) -> T:
        """A blocking call that costs its asker nothing: few of each person, few at a time."""
        with self._plans.held(person.name):
            async with self._planning.held(person.name):
                if self._free is None:
                    return await self.run(function, *args)
                return await self.run(partial(self._freed, self._free, function, *args))

    @staticmethod
    def _freed(free: Process, function: Callable[..., T], *args: Any) -> T:
        """What is free, worked out elsewhere; once more where that process was ended by others."""
        for _ in range(2):
            try:
                return free.run(function, *args, seconds=FREE_SECONDS)
            except MemoryError:
                raise ServiceError(
                    422,
                    "ParameterError",
                    "This takes more memory than what is free may.",
                    hint="Ask for fewer cells, groups or questions at once.",
                ) from None
            except EndedError:
                pass
        raise unstarted("works out what is free")

    def person_of(self, token: str) -> Person | None:
        """The person of a token of ours, or of the organisation's; None for any other."""
        if token.count(".") == 2 and self.oidc is not None:
            name = self.oidc.person(token)
            return None if name is None else self.people.named(name)
        return self.people.of_token(token)

    async def own(self, person: Person, id: str) -> tuple[Ask, Dataset]:  # noqa: A002
        """A person's own ask as it stands now, and its dataset. Errors: ServiceError."""
        ask = await self.run(self.asking.found, id)
        dataset = self.dataset(ask.dataset, person)
        ask = await self.run(self.asking.of, person, ask, dataset)
        return await self.resumed(ask, dataset) if ask.charged else ask, dataset

    async def charged(self, person: Person, id: str) -> Ask:  # noqa: A002
        """A person's own ask, which was charged. Errors: ServiceError."""
        ask, _ = await self.own(person, id)
        if not ask.charged:
            message = "This question was not charged."
            raise ServiceError(409, "NotCharged", message, hint="Ask again.")
        return ask

    async def read(self, person: Person, id: str) -> Ask:  # noqa: A002
        """The same with its answer. Errors: ServiceError, also before its tick."""
        ask = await self.charged(person, id)
        if not self.ready(ask):
            hint = "Look again in a moment."
            raise ServiceError(409, "Due", "The answer is on its way.", hint=hint)
        return ask

    def ready(self, ask: Ask) -> bool:
        """Whether its answer may be told: it is there, and its tick has come."""
        return bool(ask.answer) and self.clock.now() >= ask.due

    async def resumed(self, ask: Ask, dataset: Dataset) -> Ask:
        """The ask; where its worker stopped before it was answered, another takes it up."""
        if self._settled(ask):
            return ask
        ask = await self.run(self.asking.found, ask.id)
        if self._settled(ask):
            return ask
        await self.run(dataset.require_open)
        later = await self.run(self.asking.postponed, ask, dataset)
        if later is None:
            return await self.run(self.asking.found, ask.id)
        self._start(later, dataset)
        return later

    def _settled(self, ask: Ask) -> bool:
        """Whether it has an answer, or a worker that may still give it one. Errors: its loss."""
        ask.require_kept()
        running = self._task(ask) is not None
        return bool(ask.answer) or running or self.clock.now() < ask.due + ABANDONED

    async def told(self, ask: Ask, dataset: Dataset) -> Ask:
        """The ask once its tick has come, with its answer. Errors: ServiceError if it is closed."""
        while True:
            if (found := self._task(ask)) is not None:
                ask = await asyncio.shield(found)
            else:  # another worker has it, or nobody
                await self.clock.until(ask.due, _done())
                ask = await self.run(self.asking.found, ask.id)
            ask.require_kept()
            if ask.answer:
                return ask
            await self.clock.until(ask.due + ABANDONED, _done())
            ask = await self.resumed(ask, dataset)

    def _task(self, ask: Ask) -> asyncio.Task[Any] | None:
        return next((task for task in self._tasks if task.get_name() == ask.id), None)

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """A blocking call of ours, beside the event loop."""
        return await asyncio.to_thread(function, *args)

    def _start(self, ask: Ask, dataset: Dataset, leave: Callable[[], None] | None = None) -> None:
        task = asyncio.create_task(self._carried(ask, dataset), name=ask.id)
        self._keep(task)
        if leave is not None:
            task.add_done_callback(lambda _: leave())

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # it was told to whoever waited, and to the log

    async def _carried(self, ask: Ask, dataset: Dataset) -> Ask:
        """Wait for its turn, draw, keep, wait for the tick: its answer leaves then, or never.

        What fails closes the dataset, at the tick as well.
        """
        await self.clock.until(ask.starts, _done())
        reader, facts = self._readers[dataset.name], {"dataset": dataset.name, "ask": ask.id}
        work = asyncio.get_running_loop().run_in_executor(
            reader, partial(self.asking.draw, ask, dataset)
        )
        in_time = await self.clock.until(ask.due, work)
        ended = in_time and isinstance(work.exception(), EndedError)
        if in_time and not ended and (error := work.exception()) is not None:
            # Its text may hold values of rows: the curator reads it, and no log.
            self.metrics.count("closed", dataset.name)
            LOG.error("closed", extra={**facts, **placed(error)})
            note = f"Ask {ask.id}: {type(error).__name__}: {first_line(error)}"
            await self.run(dataset.close, note)
            raise closed(dataset.name)
        if in_time and not ended and work.result().answer:
            return work.result()
        if not in_time or ended:
            self._keep(asyncio.create_task(self._stopped(work, ask, dataset)))
        kept = await self.run(self.asking.lose, ask, dataset)
        if kept.lost:
            LOG.error("lost", extra={**facts, "reason": "it was not answered in time"})
        return kept

    async def _stopped(self, work: asyncio.Future[Ask], ask: Ask, dataset: Dataset) -> None:
        """Stop reading for an ask that is late: those behind it have turns of their own."""
        while not work.done():
            if dataset.elsewhere is not None:
                dataset.elsewhere.kill(ask.id)
            await asyncio.wait({work}, timeout=_PAUSE)
        if dataset.elsewhere is not None:
            await self.run(dataset.elsewhere.ready)
        if not work.cancelled() and (error := work.exception()) is not None:
            LOG.error("stopped", extra={"dataset": dataset.name, "ask": ask.id, **placed(error)})
            await self._told_unstarted(error, dataset)

    async def _told_unstarted(self, error: BaseException, dataset: Dataset) -> None:
        """Let curators know that rows cannot be read, whatever they are."""
        if isinstance(error, UnstartedError):
            await self.run(dataset.note, first_line(error))

    def require_started(self) -> None:
        """Start what works out what is free. Errors: UnstartedError, which says why not."""
        if self._free is not None:
            self._free.run(bool)

    async def ready_to_answer(self) -> None:
        """Errors: LedgerError where the state cannot be read; ServiceError 503.

        The state is looked at once a second at most.
        """
        if any(one.elsewhere and one.elsewhere.unstarted for one in self.datasets.values()):
            raise unstarted()
        if self._free is not None and self._free.unstarted:
            raise unstarted("works out what is free")
        if (now := time.monotonic()) >= self._looked + 1:
            await self.run(self.state.one, select(datasets).limit(1))
            self._looked = now

    async def warm(self) -> None:
        """Open what is open, before anybody waits for it; what fails will fail when it is asked."""
        for dataset in self.datasets.values():
            try:
                await self.run(dataset.warm)
            except Exception as error:  # noqa: BLE001 - of rows: it is the same when they are asked
                await self._told_unstarted(error, dataset)
        with suppress(EndedError):  # another one is started by whoever needs it
            await self.run(self.require_started)

    def close(self) -> None:
        """Let go of all that a worker holds, where none runs."""
        if self._free is not None:
            self._free.stop()
        for reader in self._readers.values():
            reader.shutdown(wait=False)
        for monitor in self.monitors.values():
            monitor.close()
        for dataset in self.datasets.values():
            dataset.finish()
        self.state.close()

    async def finish(self) -> None:
        """Let what was charged be answered and kept, then let go of everything."""
        if self._tasks:
            await asyncio.wait(self._tasks)
        self.close()


def _done() -> asyncio.Future[None]:
    """Nothing to wait for but the clock."""
    made: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    made.set_result(None)
    return made
