"""Sessions over tables made of theirs: public columns beside the rows, or one row for each unit."""

from __future__ import annotations

from copy import copy
from typing import Self

from onesided.engine import Table
from onesided.engine.kit import joined_with, units_of
from onesided.errors import ParameterError
from onesided.policy import Policy


class Joins:
    """What sessions are made of a session's table."""

    policy: Policy
    unit: str | None
    _table: Table

    def join_public(self, frame: object, *, on: str) -> Self:
        """A session over the same rows, each with the columns of one public row, or with nulls.

        frame: a public table, as for ``keys=``, with each value of the column ``on`` once. The
        others may be grouped by, and stand in conditions. Same account, same budget.
        Promise: moves are what they were. A row is joined with one public row at most, whatever the
        other rows are, so tables that differ by some rows of a unit differ by the images of these.
        Columns must be public facts: what is learnt from the rows themselves is none.
        Errors: KeysError for a value that stands there twice; DataError for columns that the table
        has already; ParameterError where the policy names values, which others would follow.

        >>> import polars as pl, onesided as od
        >>> visits = pl.DataFrame({"person": [1, 2, 3], "place": ["gym", "pool", "bar"]})
        >>> policy = od.policy.presence(max_groups=1)
        >>> session = od.Session(visits, unit="person", policy=policy, budget=100)
        >>> areas = {"place": ["gym", "pool"], "area": ["north", "north"]}
        >>> wider = session.join_public(areas, on="place")
        >>> wider.count(by="area", keys=["north", "south"], epsilon=90).estimate.tolist()
        [2, 0]
        """
        if self.policy.single_valued or self.policy.between_values:
            raise ParameterError(
                f"Nothing can be joined under the policy '{self.policy.name}', which names values: "
                "it does not say what follows from a value that must be indistinguishable from "
                "another.",
                hint="Ask about the column itself, or join before the session and name the joined "
                "values in the policy.",
            )
        if not isinstance(on, str):
            raise ParameterError(
                f"on= is the name of one column, got {on!r}.", hint='For example on="place".'
            )
        made = copy(self)
        made._table = joined_with(self._table, frame, on)  # noqa: SLF001 - its own copy
        return made

    def per_unit(self, **columns: object) -> Self:
        """A session over one row for each unit, made of its rows inside the engine.

        columns: by name, ``"count"`` of the unit's rows; ``("sum", column, (lowest, highest))`` of
            whole numbers, each row's clipped to these bounds; ``("max", column)`` and ``("min",
            column)`` of whole numbers or dates. Questions may group by them, count, add up and
            rank them, and use them in conditions. Same account, same budget.
        Promise: moves of whole units are what they were. A unit's row follows from its own rows
        alone, so tables that differ by one unit's rows differ by its one row.
        Errors: ParameterError without a unit, and for policies that do not replace whole records or
        read rows: dropping some of a unit's rows would move its row to other values, and rise
        there; DataError for columns of other types, or names that the table has.

        >>> import polars as pl, onesided as od
        >>> visits = pl.DataFrame({"person": [1, 1, 1, 2, 3], "hour": [9, 12, 7, 8, 23]})
        >>> policy = od.policy.addition_only()
        >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
        >>> people = session.per_unit(visits="count", latest=("max", "hour"))
        >>> people.count(where="visits >= 2", epsilon=90).estimate.tolist()
        [1]
        >>> late = people.histogram("latest", bins=[0, 12, 24], epsilon=100)
        >>> late.estimate.tolist()
        [1, 2]
        """
        if self.unit is None:
            raise ParameterError(
                "Each row is a unit of its own here, so there is nothing to add up.",
                hint='Name the column that says whose row it is: Session(..., unit="person").',
            )
        policy = self.policy
        whole = all(part.of_kinds for part in policy.parts)
        if not whole or policy.rules or policy.view is not None:
            why = (
                "a move may take some of a unit's rows, and its row here would change to others"
                if not whole
                else "its conditions are about rows, which are no longer there"
            )
            raise ParameterError(
                f"Units cannot become rows under the policy '{policy.name}': {why}.",
                hint="Ask sum(...), row_count(...) or mean(...), which add up a unit's rows at a "
                "price for this policy. Policies about whole records without conditions, such as "
                "addition_only() and bounded(), allow it.",
            )
        made = copy(self)
        made._table = units_of(self._table, self.unit, columns)  # noqa: SLF001 - its own copy
        return made
