"""Where the rows of a dataset are; no request ever opens them before its charge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Looked:
    """What a check saw of rows.

    rows: a table of the declared columns. digest, mark: what tell these rows from others, for
    good and at once. types: DuckDB's name of each column's type, for a table without a row.
    """

    rows: Any
    digest: str
    mark: tuple[int, ...]
    types: Mapping[str, str]


class Source(Protocol):
    """Rows that stay as they were checked, or are refused.

    made: how many times they were read anew, so that whoever holds :meth:`rows` knows.
    """

    made: int = 0

    def look(self) -> Looked:
        """Read them anew and whole. Errors: DataError."""

    def require(self, digest: str, mark: tuple[int, ...]) -> None:
        """Errors: DataError unless these are the rows that were checked."""

    def rows(self) -> Any:
        """A table of the declared columns, once they are required. Errors: DataError."""

    def close(self) -> None:
        """Let the rows go; nothing is held where a source does not say otherwise."""
        return
