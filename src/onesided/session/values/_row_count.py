"""How many rows are there, per group, each unit with so many at most?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import ClassVar, Final

import narwhals as nw
import numpy as np

from onesided._numbers import Number
from onesided.engine.kit import Lazy
from onesided.errors import ParameterError
from onesided.mechanism.kit import CONFIDENCE
from onesided.noise import IntArray
from onesided.session._context import QueryContext
from onesided.session._gaussian import BEST, Law, by_law
from onesided.session._groups import Grouped
from onesided.session._question import PreparedQuery
from onesided.session._release import Release
from onesided.session._statement import Nouns
from onesided.session._ways import Floats, Way
from onesided.session.values._sum import Sum
from onesided.session.values._value import VALUE, Value, rows_of_unit, words_of_rows

_ROWS: Final = "onesided_rows"


@dataclass(frozen=True, slots=True)
class RowCount(Grouped):
    """How many rows are there, per group? Each unit adds its rows there, ``max_rows`` at most.

    It is the sum of ones: a move that takes a unit out of a group lowers it by ``max_rows`` at
    most, and dropping some of a unit's rows never raises it. Certain bounds are about the rows as
    cut. Where each row is a unit of its own, ask :class:`onesided.session.Count`.
    max_rows: the most rows of one unit that count in a group, public; any further ones are left
        out. None: that of the session's schema.
    confidence, simultaneous, law: as in :class:`onesided.session.Sum`. others: True adds one group
    for all keys that are not listed. The other arguments are those of
    :class:`onesided.session.Grouped`. Errors: ParameterError.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 1, 2], "place": ["a", "a", "a", "a"]})
    >>> policy = od.policy.presence(max_groups=1)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> session.row_count(by="place", keys=["a"], max_rows=2, epsilon=90).estimate.tolist()
    [3.0]
    """

    max_rows: int | None = field(default=None, kw_only=True)
    confidence: Number = field(default=CONFIDENCE, kw_only=True)
    simultaneous: bool = field(default=False, kw_only=True)
    others: bool = field(default=False, kw_only=True)
    law: Law = field(default=BEST, kw_only=True)

    work: ClassVar = 2  # as many counts may take
    later: ClassVar = ("law",)

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        return f"Number of rows of {nouns.units}"

    def ways(self, context: QueryContext) -> Iterator[Way]:
        """The rows, and the same with other noise; for plans."""
        yield from by_law(Way("Sums", self, closed=True, certain=True), "GaussianSums", context)

    def truth(self, public: QueryContext) -> Floats:
        """The numbers that are asked for, of a public table."""
        return np.asarray(self.prepare(public).read(), dtype=np.float64)

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
        """Check and price the question. Looks at no row."""
        if context.unit is None:
            raise ParameterError(
                "Each row is a unit of its own here, so it counts once.",
                hint="Ask count(...), without max_rows.",
            )
        most = rows_of_unit(context, self.max_rows)
        given = {n.name: getattr(self, n.name) for n in fields(self) if n.name != "max_rows"}
        asked, value = Sum(_ROWS, bounds=(0, most), **given), ones(most)
        detail = {"max_rows": str(most)}
        words = words_of_rows(context, most)
        return asked.prepared(context, value, detail=detail, words=words)


class _Ones(Value):
    """Ones, added up to a bound."""

    __slots__ = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """None: a row counts whatever it holds."""
        return ()

    def in_steps(self, rows: Lazy, column: str, dtype: nw.dtypes.DType) -> Lazy:
        """The rows with a column of ones. Secret."""
        del column, dtype
        return rows.with_columns(nw.lit(1).cast(nw.Int64()).alias(VALUE))


def ones(most: int) -> Value:
    """A column of ones, of which a unit adds up to ``most`` in a group."""
    return _Ones(column=_ROWS, step=Fraction(1), low=0, high=most, missing="drop")
