"""Whom an account protects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from onesided.errors import ParameterError
from onesided.store import plain_text

_EACH_ROW: Final = "each row"


@dataclass(frozen=True, slots=True)
class Unit:
    """Whom an account's charges protect: everybody named in a column, or each row on its own.

    column: the column that says whose row it is; None for each row. A column may be called
    "each row": it is still another unit than the row. read_as: the type that a schema had the
    column's text read as; as numbers 7 and 07 are one unit, as text they are two.

    >>> str(Unit("person")), str(Unit(None))
    ("each 'person'", 'each row')
    >>> Unit("each row") == Unit(None)
    False
    """

    column: str | None
    read_as: str | None = None

    def __post_init__(self) -> None:
        if self.column is not None:
            plain_text(self.column, name="unit", empty=False)
        if self.read_as is not None:
            plain_text(self.read_as, name="the type of a unit", empty=False)

    def __str__(self) -> str:
        read = "" if self.read_as is None else f" read as {self.read_as}"
        return "each row" if self.column is None else f"each {self.column!r}{read}"

    def written(self) -> dict[str, object]:
        """As the ledger keeps it."""
        if self.column is None:
            return {"row": True}
        read = {} if self.read_as is None else {"read_as": self.read_as}
        return {"column": self.column, **read}

    @classmethod
    def read(cls, written: object) -> Self:
        """What :meth:`written` gave. Errors: ValueError for anything else."""
        if isinstance(written, Mapping):
            if written == {"row": True}:
                return cls(None)
            column, read = written.get("column"), written.get("read_as")
            known = {"column"} if read is None else {"column", "read_as"}
            if set(written) == known and isinstance(column, str) and isinstance(read, str | None):
                return cls(column, read)
        raise ParameterError("a unit is a row or a column.", hint="Check the ledger.")


def unit_of_0_1_0(stated: object) -> Unit | None:
    """The unit that a charge of 0.1.0 stated in its detail; None if it stated none.

    A column of the name "each row" was written like the row; 0.1.0 did not tell them apart either.
    """
    if stated == _EACH_ROW:
        return Unit(None)
    return Unit(stated) if isinstance(stated, str) and stated else None
