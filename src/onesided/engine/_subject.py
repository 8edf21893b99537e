"""What a sample needs to know: the rows that it took, and which policy tells kinds apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from onesided.engine._protocol import Lazy
from onesided.policy import Policy, Predicate

if TYPE_CHECKING:
    from onesided.engine._snapshot import Snapshot


class Subject(Protocol):
    """A snapshot with a unit and a policy."""

    @property
    def table(self) -> Snapshot:
        """The rows. Secret."""

    @property
    def unit(self) -> str | None:
        """The column that says whose row it is, as it is called there; None if each row is one."""

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
