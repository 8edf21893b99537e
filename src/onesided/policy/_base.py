"""What every policy can do, whatever its family."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from onesided._numbers import INFINITE, Loss

if TYPE_CHECKING:
    from onesided.policy._implications import Widened
    from onesided.policy._predicate import Rule
    from onesided.policy._shift import Edge, GroupCount, Record, Shift


class Policy(ABC):
    """A directed relation over records: who must be able to pass as whom, and how well.

    A mechanism M keeps (ε, P) if for data sets X, Y that differ in one record, x in X and y in
    Y, joined by an edge of weight w, and for all sets S of outputs,
    ``Pr[M(X) in S] <= exp(ε w) Pr[M(Y) in S]``. The reverse is not implied.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The family's name, as in ``onesided.policy``."""

    @property
    @abstractmethod
    def kinds(self) -> tuple[str, ...]:
        """The kinds of records, ``"absent"`` among them where records may come or go."""

    @property
    @abstractmethod
    def edges(self) -> tuple[Edge, ...]:
        """The classes of moves, each named, directed and weighted."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """How a table's units get their kinds: the first rule that holds for any row decides."""
        return ()

    @property
    def default_kind(self) -> str:
        """The kind of a unit for which no rule holds."""
        return self.kinds[0]

    @property
    def excess_modes(self) -> tuple[str, ...]:
        """What may be done with units in more groups than the noise covers; the default first.

        "truncate" cuts them down, "error" refuses, "keep" counts them whole.
        """
        return ("truncate", "error")

    @property
    def single_valued(self) -> bool:
        """Whether a record holds one value, so that a unit may be counted in one group only."""
        return False

    def ends(self, edge: Edge) -> tuple[str, str]:
        """The kinds of record that moves along ``edge`` start from and lead to."""
        return edge.source, edge.target

    @abstractmethod
    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """Per edge, the extreme shifts of a group-by count of units."""

    @abstractmethod
    def records(self, groups: Sequence[str], *, max_groups: int) -> tuple[Record, ...]:
        """Every record over a finite list of groups; for exact verification."""

    @abstractmethod
    def edge_between(self, real: Record, other: Record) -> Edge | None:
        """The edge along which ``real`` must be able to pass as ``other``; None if none does."""

    @abstractmethod
    def parameters(self) -> dict[str, object]:
        """What :func:`onesided.policy.from_toml` needs to rebuild this policy."""

    @abstractmethod
    def sentences(self, epsilon: Fraction) -> list[str]:
        """What leaks and what is protected at ``epsilon``, in plain words."""

    def distance(self, real: Record, other: Record) -> Loss:
        """How far ``real`` is from ``other`` in the policy's own direction; INFINITE if no edge."""
        if real == other:
            return Fraction(0)
        edge = self.edge_between(real, other)
        return INFINITE if edge is None else edge.weight

    def moves(self, records: Iterable[Record]) -> Iterator[tuple[Record, Record, Edge]]:
        """Every ``(real, other, edge)`` among the given records."""
        pool = tuple(records)
        for real in pool:
            for other in pool:
                edge = None if real == other else self.edge_between(real, other)
                if edge is not None:
                    yield real, other, edge

    def decides(self, other: Policy) -> bool | None:
        """Whether this relaxes ``other``, as far as the family itself can tell; None if not."""
        return True if self == other else None

    def relaxes(
        self, other: Policy, *, records: Iterable[tuple[Record, Record]] | None = None
    ) -> bool:
        """Whether every move of this policy is a move of ``other`` at no smaller distance.

        If so, whatever keeps (ε, other) keeps (ε, self). ``records`` decides it over a finite
        universe instead: pairs of how this policy and ``other`` see one and the same record
        (:func:`onesided.policy.joint_records` lists them).
        Errors: PolicyError if it depends on which records there are.
        """
        from onesided.policy._compare import relaxes  # noqa: PLC0415 - it knows all families

        return relaxes(self, other, records=records)

    def __and__(self, other: Policy) -> Policy:
        """What two releases, one under each policy, protect together."""
        from onesided.policy._intersection import intersect  # noqa: PLC0415 - it extends this

        return intersect(self, other)

    def closed_under(self, implications: Iterable[tuple[str, str]]) -> Widened:
        """Widen the policy until no open fact implies a protected one.

        ``implications``: pairs ``(fact, implied)``: wherever the first holds, so does the second.
        Errors: PolicyError for facts that the policy does not know.
        """
        from onesided.policy._implications import closed_under  # noqa: PLC0415 - it knows all families

        return closed_under(self, implications)

    def drawn(self) -> tuple[tuple[str, ...], tuple[Edge, ...]]:
        """The boxes and arrows of the policy's picture; ends of arrows need no box of their own."""
        return self.kinds, self.edges

    def to_svg(self) -> str:
        """A picture of the kinds and edges, as SVG text."""
        from onesided.policy._picture import draw  # noqa: PLC0415 - pictures come last

        return draw(self)

    def to_toml(self) -> str:
        """The policy as versioned text; ``onesided.policy.from_toml`` reads it back."""
        from onesided.policy._toml import encode  # noqa: PLC0415 - the encoder knows all families

        return encode(self)

    @property
    def identity(self) -> str:
        """SHA-256 of the TOML text: what a ledger knows this policy by."""
        return hashlib.sha256(self.to_toml().encode()).hexdigest()

    def explain(self, *, epsilon: object = 1) -> str:
        """Plain sentences: what an observer can learn for certain, what stays hidden, how well."""
        from onesided.policy._words import explain  # noqa: PLC0415 - words come last

        return explain(self, epsilon=epsilon)
