"""The public clock: when an answer leaves depends on the question and public facts alone."""

from __future__ import annotations

import asyncio
import datetime as dt
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Final

from onesided.schema import Schema
from onesided.session import Several
from onesided_service._config import DatasetConfig
from onesided_service._size import times_by_groups, times_of

# How much longer than a count a question may take; what is not named counts once.
_COSTS: Final = {
    "Ngrams": 6,
    "LinearQuery": 6,
    "RangeQuery": 4,
    "Histogram": 3,
    "Quantile": 3,
    "Variance": 3,
    "Mean": 3,
    "Sum": 2,
    "RowCount": 2,
    "Discover": 3,
}
_MILLION: Final = 10**6
_WORDS: Final = 2_000  # letters of a condition that may take as long as a count
_VALUES: Final = 20_000


@dataclass(frozen=True, slots=True)
class Clock:
    """Ticks at which answers leave. now: the seconds since 1970; tests give their own."""

    tick: Fraction
    now: Callable[[], float] = time.time

    def takes(
        self, question: Any, dataset: DatasetConfig, schema: Schema | None = None
    ) -> Fraction:
        """Seconds that the question may take, by its class, its groups and the declared rows."""
        size = max(Fraction(1), Fraction(dataset.declared_rows, _MILLION))
        return dataset.seconds * _cost(question, schema) * size

    def next_tick(self, after: Fraction) -> Fraction:
        """The first tick that is not before ``after``."""
        return math.ceil(after / self.tick) * self.tick

    async def until(self, due: Fraction, work: asyncio.Future[Any]) -> bool:
        """Wait for the tick, whenever ``work`` is done; whether it was done in time.

        Tests have clocks of their own, which wait for the work and then turn to the tick.
        """
        while (left := float(due) - self.now()) > 0:  # noqa: ASYNC110 - the wall clock may be set
            await asyncio.sleep(left)
        return work.done()

    def today(self) -> dt.datetime:
        """The day and time in UTC."""
        return dt.datetime.fromtimestamp(self.now(), dt.UTC)

    def refilled(self, refills: str) -> str:
        """The instant since which charges count against an allowance; "" for all of them."""
        if refills == "never":
            return ""
        day = self.today().replace(hour=0, minute=0, second=0, microsecond=0)
        first = day if refills == "daily" else day.replace(day=1)
        return first.isoformat(timespec="microseconds")


def _cost(question: Any, schema: Schema | None) -> int:
    if isinstance(question, Several):
        return sum(_cost(one, schema) for one in question.questions)
    return _COSTS.get(type(question).__name__, 1) * _times(question, schema)


def _times(question: Any, schema: Schema | None) -> int:
    """How much longer it takes for its groups, and for a long condition, keys or workload."""
    where = getattr(question, "where", None)
    words = len(str(getattr(where, "text", where) or ""))
    values = sum(_many(getattr(question, one.name)) for one in fields(question) if one.init)
    listed = max(values // _VALUES, times_by_groups(question, schema))
    return 1 + words // _WORDS + listed + times_of(question)


def _many(value: Any) -> int:
    """How many values stand in lists."""
    if isinstance(value, range):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_many, value.values()))
    return sum(map(_many, value)) if isinstance(value, list | tuple) else 1


def text_of(instant: Fraction) -> str:
    """An instant in UTC, to the millisecond."""
    return dt.datetime.fromtimestamp(float(instant), dt.UTC).isoformat(timespec="milliseconds")
