"""The file of public keys: its positions as numbers, whatever they are written as."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from onesided.engine.kit import position_columns, quoted
from onesided.errors import KeysError


def with_degrees(keys: duckdb.DuckDBPyRelation, by: Sequence[str]) -> duckdb.DuckDBPyRelation:
    """The keys with latitude and longitude as numbers, if there are both beside them.

    Errors: KeysError for a text that is no number.

    >>> table = duckdb.sql("SELECT 'gym' AS place, '52.5' AS lat, '13.4' AS lon")
    >>> with_degrees(table, ["place"]).fetchall()
    [('gym', 52.5, 13.4)]
    """
    sides = position_columns([name for name in keys.columns if name not in by])
    if sides is None:
        return keys
    for name in sides:
        odd = f"{quoted(name)} IS NOT NULL AND TRY_CAST({quoted(name)} AS DOUBLE) IS NULL"
        for (value,) in keys.filter(odd).project(quoted(name)).limit(1).fetchall():
            raise KeysError(
                f"The keys' column {name!r} has {value!r:.60}, which is no position.",
                hint="Give degrees as numbers, and nothing where a position is not known.",
                column=name,
            )
    degrees = ", ".join(f"TRY_CAST({quoted(name)} AS DOUBLE) AS {quoted(name)}" for name in sides)
    return keys.project(f"* REPLACE ({degrees})")
