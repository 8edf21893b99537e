"""What a sample needs to know of a session: whose table it is, and which policy tells kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from onesided.engine._protocol import Lazy
from onesided.policy import Policy, Predicate

if TYPE_CHECKING:
    from onesided.engine._table import Table


class Subject(Protocol):
    """A table with a unit and a policy."""

    @property
    def table(self) -> Table:
        """The table. Secret."""

    @property
    def unit(self) -> str | None:
        """The column that says whose row it is; None if each row is a unit."""

    @property
    def policy(self) -> Policy:
        """What tells kinds of units apart."""

    def rows(
        self,
        columns: Sequence[str],
        *,
        where: Predicate | None,
        counted: frozenset[str] | None,
    ) -> Lazy:
        """The rows to look at, reduced to the unit and ``columns``. Secret."""

    def refuse_null_units(self) -> None:
        """Refuse rows of nobody. Errors: DataError."""
