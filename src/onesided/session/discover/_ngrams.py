"""Which sequences of n values are common among the trajectories of open units?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import narwhals as nw

from onesided._numbers import Number, whole
from onesided.engine.kit import Lazy
from onesided.errors import ParameterError
from onesided.session._context import QueryContext, Taken
from onesided.session._groups import names_of, refuse_clashes
from onesided.session._missing import Unknown, counted_where, left_out
from onesided.session._question import PreparedQuery
from onesided.session._statement import joined
from onesided.session.discover._unknown import (
    KeysRelease,
    Secret,
    counted_query,
    key_types,
    mechanism_for,
    search,
)

# A window of more rows is no longer a key that two people share.
MOST: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Ngrams:
    """How many open units have each n-gram in their trajectory, and which n-grams are there?

    A trajectory is the rows of one unit in ``order``; rows of equal order follow each other by the
    value of ``by``, so that it does not matter how the table is sorted. Every row is a step, rows
    that are repeated too; rows without an order are left out. An n-gram is ``n`` consecutive steps;
    one with a null in it is left out.
    A unit is counted once in each n-gram that it has, in at most ``max_groups`` of them.
    by: the column of steps, such as places. order: column or columns of time.
    n: how many steps. The answer has the key columns ``{by}_1`` to ``{by}_{n}``.
    The other arguments, the promise and the noise are those of :class:`Discover`.

    >>> import polars as pl, onesided as od
    >>> trips = pl.DataFrame(
    ...     {"person": [1, 1, 2, 2], "place": ["a", "b", "a", "b"], "hour": [8, 9, 8, 9],
    ...      "minor": [False, False, False, False]})
    >>> policy = od.policy.sensitive("minor")
    >>> session = od.Session(trips, unit="person", policy=policy, budget=1000)
    >>> session.ngrams(by="place", order="hour", n=2, epsilon=90, max_groups=2).labels
    [('a', 'b')]
    """

    epsilon: Number
    by: str
    order: str | Sequence[str]
    n: int
    max_groups: int | None = None
    counted: str | Sequence[str] | None = None
    where: object = None
    unknown: Unknown = "recorded"
    threshold: int = 0
    id: str | None = None
    again: bool = False

    def measure(self, units: str) -> str:
        """What the numbers are."""
        return f"Number of {units} with a run of {self.n} in the order of {joined(self.order)}"

    def prepare(self, context: QueryContext) -> PreparedQuery[Secret, KeysRelease]:
        """Check and price the question. Looks at no row."""
        unit = context.unit
        if unit is None:
            raise ParameterError(
                "n-grams are of the rows of one unit, and this session's unit is the row.",
                hint="Give the session unit=, the column that says whose row it is.",
            )
        order = names_of(self.order, name="order")
        context.table.require(self.by, *order)
        steps = whole(self.n, name="n", least=1, most=MOST)
        names = tuple(f"{self.by}_{place}" for place in range(1, steps + 1))
        refuse_clashes((self.by, *order), unit)
        refuse_clashes(names, unit)
        chosen = counted_where(self.where, self.unknown)
        query = counted_query(context, self.counted, self.max_groups)
        kind = key_types(context, [self.by])[self.by]

        def rows(taken: Taken) -> tuple[Lazy, tuple[str, ...]]:
            by, *sequence = taken.at((self.by, *order))
            steps = taken.rows((by, *sequence), where=chosen, counted=query.counted)
            steps = steps.filter(*(~nw.col(place).is_null() for place in sequence))
            places = tuple(f"onesided_step_{place}" for place in range(len(names)))
            own = str(taken.unit)
            return windows(_typed(steps, by, kind), own, by, sequence, places), places

        return search(
            context,
            query,
            mechanism_for(context, query, self.epsilon, self.threshold),
            types=dict.fromkeys(names, kind),
            columns=context.using(self.by, *order, where=chosen, counted=query.counted),
            rows=rows,
            what={
                "by": self.by,
                "order": list(order),
                "n": steps,
                "where": chosen.text if chosen else "",
            },
            # A step that is left out, or stands elsewhere, makes neighbours of others.
            missing=replace(
                left_out(context, (self.by, *order), self.where, self.unknown), rises=False
            ),
            said=f" Rows without a value in {', '.join(order)} are no step.",
        )


def windows(rows: Lazy, unit: str, by: str, order: Sequence[str], names: Sequence[str]) -> Lazy:
    """The n-grams of each unit, one row each, in key columns ``names``."""
    sequence = list(dict.fromkeys((*order, by)))
    later = (
        nw.col(by).shift(-place).over(unit, order_by=sequence).alias(name)
        for place, name in enumerate(names[1:], start=1)
    )
    made = rows.select(unit, nw.col(by).alias(names[0]), *later)
    return made.filter(*(~nw.col(name).is_null() for name in names))


def _typed(rows: Lazy, by: str, kind: nw.dtypes.DType) -> Lazy:
    return rows if rows.collect_schema()[by] == kind else rows.with_columns(nw.col(by).cast(kind))
