"""The public clock: when an answer leaves depends on the question and public facts alone.

How large a question is, by what it and the schema say, decides how long it may take, and whether
it is answered at all: groups, bins, cells, and ranges of them.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from onesided.conditions import Condition
from onesided.engine.kit import key_file
from onesided.errors import ParameterError
from onesided.schema import Schema
from onesided_service._config import DatasetConfig

# How many ranges may be asked of each cell, on average; "all" of 1,024 bins are half of that.
_EACH: Final = 1024
_PAIR: Final = 2  # columns of a map
# So many may take as long as a question without them: measured, with room for slow machines.
_CELLS: Final = 128
_RANGES: Final = 2**18
_GROUPS: Final = 20_000
ALONE: Final = 300  # seconds that one request may take: half of what everybody's may
_CLASS: Final = 10  # a question of the slowest class takes fewer times as long as a plain count
KEEPING: Final = Fraction(1, 5)  # the least seconds for drawing and writing an answer down
_FEW: Final = 2_000  # numbers that take no longer: 2 to 7 microseconds each were measured
_WRITTEN: Final = 10_000  # of all others that have a second
# Groups of a whole request; each one of a histogram by groups counts with all of its cells.
MOST_GROUPS: Final = 2**20


def parts_of(question: Any) -> list[Any]:
    """The questions that are asked as one; itself alone for any other."""
    if not hasattr(question, "questions"):
        return [question]
    return [one for part in question.questions for one in parts_of(part)]


def cells_of(question: Any) -> int:
    """How many cells a single question has; 1 for those that have none.

    >>> import onesided as od
    >>> cells_of(od.session.RangeQuery(["x", "y"], "cells", bins=[16, 16], epsilon=1))
    256
    """
    if not hasattr(question, "bins"):
        return 1
    column, bins = question.column, question.bins
    if isinstance(column, Mapping):
        return math.prod(map(_bins, column.values()))
    if isinstance(column, str) or not isinstance(bins, Sequence):
        return _bins(bins) ** (1 if isinstance(column, str) else _PAIR)
    return math.prod(map(_bins, bins))


def asked_of(question: Any) -> int:
    """How many ranges a single question asks; 1 for other questions."""
    if not hasattr(question, "ranges"):
        return 1
    if isinstance(question.ranges, str):
        cells = cells_of(question)
        return cells * (cells + 1) // 2 if question.ranges == "all" else cells
    if isinstance(question.ranges, Sequence):
        return len(question.ranges)
    return int(getattr(question.ranges, "shape", (1,))[0])


def groups_of(question: Any, schema: Schema | None) -> int:
    """How many public groups a single question has: those it lists, or all that are declared.

    >>> import onesided as od
    >>> hours = od.column("integer", keys=range(24))
    >>> groups_of(od.Count(by=["x", "y"], epsilon=1), Schema(columns={"x": hours, "y": hours}))
    576
    """
    keys, by = getattr(question, "keys", ()), getattr(question, "by", ())
    if keys is not None or schema is None:
        return _listed(keys)
    names = (by,) if isinstance(by, str) else by if isinstance(by, list | tuple) else ()
    return math.prod(_declared(schema, name) for name in names if name in schema.columns)


def refuse_large(question: Any, schema: Schema | None, *, most: int) -> None:
    """Refuse more cells than the dataset answers about, or too many groups.

    The best way to answer a map of many cells is looked for among many, which takes a machine long
    before anything is charged. What several questions ask counts together. Errors: ParameterError.
    """
    parts = parts_of(question)
    for times in map(times_by_condition, parts):
        if times > LONGEST_CONDITION:
            raise ParameterError(
                f"This condition may take as long as {times:,} counts; it may as "
                f"{LONGEST_CONDITION}.",
                hint="Write a shorter condition, or have a column computed first.",
                times=times,
                most=LONGEST_CONDITION,
            )
    sizes = [(cells_of(one), asked_of(one)) for one in parts if hasattr(one, "bins")]
    cells, asked = sum(cells for cells, _ in sizes), sum(asked for _, asked in sizes)
    if cells > most:
        raise ParameterError(
            f"This asks about {cells:,} cells; this dataset answers about at most {most:,}.",
            hint="Take fewer bins.",
            cells=cells,
            most=most,
        )
    if sum(cells * asked for cells, asked in sizes) > _EACH * most:
        raise ParameterError(
            f"These {asked:,} ranges of {cells:,} cells are too many for this dataset.",
            hint=f"Ask for at most {_EACH * most // cells:,} at once.",
            ranges=asked,
            most=_EACH * most // cells,
        )
    groups = sum(groups_of(one, schema) * cells_of(one) for one in parts)
    if groups > MOST_GROUPS:
        raise ParameterError(
            f"This asks about {groups:,} groups; the service answers about at most "
            f"{MOST_GROUPS:,} at once.",
            hint="Group by fewer columns, or list fewer keys.",
            groups=groups,
            most=MOST_GROUPS,
        )


def refuse_slow(question: Any, schema: Schema | None, dataset: DatasetConfig) -> None:
    """Refuse a request for which everybody would wait too long. Errors: ParameterError.

    A question of any class is asked by itself, however long its declared rows make that.
    """
    plain = plain_seconds(dataset)
    takes = plain * cost_of(question, schema) + writing(question, schema)
    most = max(Fraction(ALONE), plain * _CLASS)
    if takes > most:
        raise ParameterError(
            f"This may take {math.ceil(takes):,} seconds; one request here may take "
            f"{math.floor(most):,}.",
            hint="Ask for less at once: fewer questions or groups, or a shorter condition.",
            seconds=takes,
            most=most,
        )


def _listed(keys: Any) -> int:
    """How many keys are listed: a table of several columns is its columns."""
    if isinstance(keys, Mapping):
        return max(map(_listed, keys.values()), default=1)
    return max(len(keys), 1) if isinstance(keys, Sequence) and not isinstance(keys, str) else 1


def _declared(schema: Schema, name: str) -> int:
    keys = schema.columns[name].keys
    return _in_file(schema, name) if isinstance(keys, str) else _listed(keys)


@lru_cache(maxsize=64)
def _in_file(schema: Schema, name: str) -> int:
    """How many keys a schema's file has, which is read once."""
    column = schema.columns[name]
    return len(key_file(str(column.keys), folder=schema.folder, name=name, kind=column.type))


def _bins(given: Any) -> int:
    """How many bins a number of them, their edges, or a pair of these with bounds, stand for."""
    if isinstance(given, bool) or given is None:
        return 1
    if isinstance(given, int):
        return max(given, 1)
    if isinstance(given, Mapping):
        return _bins(given.get("bins"))
    return (
        max(len(given) - 1, 1) if isinstance(given, Sequence) and not isinstance(given, str) else 1
    )


_MILLION: Final = 10**6
LONGEST_CONDITION: Final = 60  # as many counts as it may take as long as
STEPS: Final = 256  # operations of a condition that may take as long as a count
_VALUES: Final = 20_000
_SPIN: Final = 1000


@dataclass(frozen=True, slots=True)
class Clock:
    """Ticks at which answers leave. now: the seconds since 1970; tests give their own."""

    tick: Fraction
    now: Callable[[], float] = time.time

    def takes(
        self, question: Any, dataset: DatasetConfig, schema: Schema | None = None
    ) -> Fraction:
        """Seconds that the question may take, by its class, its groups and the declared rows.

        They end with the time for what its answer holds (:func:`writing`), when rows are read.
        """
        read = plain_seconds(dataset) * cost_of(question, schema)
        return read + writing(question, schema)

    def next_tick(self, after: Fraction) -> Fraction:
        """The first tick that is not before ``after``."""
        return math.ceil(after / self.tick) * self.tick

    def before(self, due: Fraction) -> bool:
        """Whether the tick is still to come."""
        return self.now() < due

    async def until(self, due: Fraction, work: asyncio.Future[Any]) -> bool:
        """Wait for the tick, whenever ``work`` is done; whether it was done in time.

        Tests have clocks of their own, which wait for the work and then turn to the tick.
        """
        while (left := float(due) - self.now()) > 0:  # noqa: ASYNC110 - the wall clock may be set
            await asyncio.sleep(left)
        return work.done()

    def refilled(self, refills: str) -> str:
        """The instant since which charges count against an allowance; "" for all of them."""
        if refills == "never":
            return ""
        today = dt.datetime.fromtimestamp(self.now(), dt.UTC)
        day = today.replace(hour=0, minute=0, second=0, microsecond=0)
        first = day if refills == "daily" else day.replace(day=1)
        return first.isoformat(timespec="microseconds")


def busy_until(instant: float) -> None:
    """Take the machine, as reading does, until an instant: so that nobody feels when that ended."""
    while time.time() < instant:
        sum(range(_SPIN))


def writing(question: Any, schema: Schema | None) -> Fraction:
    """Seconds for drawing and writing down an answer of many numbers, once rows are read.

    >>> import onesided as od
    >>> writing(od.Count(by="x", keys=range(20_000), epsilon=1), None)
    Fraction(2, 1)
    """
    # How many numbers there are, of each kind: by groups, cells and ranges.
    numbers = sum(
        max(groups_of(one, schema) * cells_of(one), asked_of(one)) for one in parts_of(question)
    )
    return Fraction(max(-(-(numbers - _FEW) // _WRITTEN), 0))


def size_of(dataset: DatasetConfig) -> Fraction:
    """How many times as long its declared rows make a question take."""
    return max(Fraction(1), Fraction(dataset.declared_rows, _MILLION))


def plain_seconds(dataset: DatasetConfig) -> Fraction:
    """Seconds that a plain question may take."""
    return (dataset.seconds or 1) * size_of(dataset)


def keeping(dataset: DatasetConfig) -> Fraction:
    """Seconds after a turn for drawing its answer and writing it down, however busy it is."""
    return max(dataset.grace, KEEPING)


def cost_of(question: Any, schema: Schema | None) -> int:
    """How many times as long as a plain count it may take, by what it and the schema say."""
    return sum(int(getattr(one, "work", 1)) * _times(one, schema) for one in parts_of(question))


def _times(question: Any, schema: Schema | None) -> int:
    """How much longer it takes for groups and cells, and for a long condition, keys or workload."""
    cells = cells_of(question)
    values = sum(_many(getattr(question, one.name)) for one in fields(question) if one.init)
    by_groups = groups_of(question, schema) * cells // getattr(question, "groups_at_once", _GROUPS)
    times = 1 + times_by_condition(question) + max(values // _VALUES, by_groups)
    if hasattr(question, "bins"):
        times += cells // _CELLS + cells * asked_of(question) // _RANGES
    return times


def times_by_condition(question: Any) -> int:
    """How many times longer its condition makes it take: by what an engine is handed.

    >>> import onesided as od
    >>> times_by_condition(od.Count(where="UPPER(" * 9 + "note" + ")" * 9 + " = 'A'", epsilon=1))
    4
    """
    where = getattr(question, "where", None)
    return 0 if where is None else Condition.parse(where).steps // STEPS


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
