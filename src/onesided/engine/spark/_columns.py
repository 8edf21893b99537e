"""Which tables of Spark can be read."""

from __future__ import annotations

from typing import Any, Final

from onesided.errors import DataError

# How Spark prints the type of text that is not compared byte by byte.
_COLLATED: Final = " collate "


def refuse_unreadable(native: Any) -> None:
    """Refuse tables without an end, and text that is not compared byte by byte.

    Errors: DataError with the reason.
    """
    if native.isStreaming:
        raise DataError(
            "This table is a stream: it has no end, so nothing can be counted in it.",
            hint="Read a finished part of it with spark.read, or use onesided.Monitor for batches.",
        )
    for column in native.schema:
        kind = column.dataType.simpleString()
        if _COLLATED in kind:
            raise DataError(
                f"The column {column.name!r} holds {kind}, in which texts that differ count as "
                "equal.",
                hint="Keys are told apart byte by byte: use collate(column, 'UTF8_BINARY').",
                column=column.name,
            )
