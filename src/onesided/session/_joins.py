"""Sessions over a table beside which public columns stand."""

from __future__ import annotations

from copy import copy
from typing import Self

from onesided.engine import Table
from onesided.engine.kit import joined_with
from onesided.errors import ParameterError
from onesided.policy import Policy


class Joins:
    """What a session can do with public tables."""

    policy: Policy
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
                "it does not say what follows from a value that may pass as another.",
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
