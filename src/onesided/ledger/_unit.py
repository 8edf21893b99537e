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
    "each row": it is still another unit than the row.

    >>> str(Unit("person")), str(Unit(None))
    ("each 'person'", 'each row')
    >>> Unit("each row") == Unit(None)
    False
    """

    column: str | None

    def __post_init__(self) -> None:
        if self.column is not None:
            plain_text(self.column, name="unit", empty=False)

    def __str__(self) -> str:
        return "each row" if self.column is None else f"each {self.column!r}"

    def written(self) -> dict[str, object]:
        """As the ledger keeps it."""
        return {"row": True} if self.column is None else {"column": self.column}

    @classmethod
    def read(cls, written: object) -> Self:
        """What :meth:`written` gave. Errors: ValueError for anything else."""
        if isinstance(written, Mapping) and len(written) == 1:
            if written.get("row") is True:
                return cls(None)
            column = written.get("column")
            if isinstance(column, str):
                return cls(column)
        raise ParameterError("a unit is a row or a column.", hint="Check the ledger.")


def unit_of_0_1_0(stated: object) -> Unit | None:
    """The unit that a charge of 0.1.0 stated in its detail; None if it stated none.

    A column of the name "each row" was written like the row; 0.1.0 did not tell them apart either.
    """
    if stated == _EACH_ROW:
        return Unit(None)
    return Unit(stated) if isinstance(stated, str) and stated else None
