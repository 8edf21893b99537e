"""Conditions on rows, as SQL text or as a narwhals expression."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onesided.errors import PolicyError

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on a row. Null counts as true: who cannot be placed is protected.

    Two predicates are equal when their ``text`` is; ``sql`` says whether the text is SQL that
    the table's own engine reads, or the printed form of ``expression``.
    """

    text: str
    sql: bool
    expression: nw.Expr | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, condition: object) -> Predicate:
        """From SQL text, a narwhals expression, or a Predicate.

        Errors: PolicyError for empty text or any other type.
        """
        if isinstance(condition, Predicate):
            return condition
        if isinstance(condition, str):
            if condition.strip():
                return cls(condition.strip(), sql=True)
            raise PolicyError("A predicate is empty.", hint='Write SQL such as "age < 18".')
        import narwhals as nw  # noqa: PLC0415 - only needed when an expression is given

        if isinstance(condition, nw.Expr):
            return cls(repr(condition), sql=False, expression=condition)
        raise PolicyError(
            f"A predicate must be SQL text or a narwhals expression, got {condition!r}.",
            hint='Write SQL such as "age < 18", or narwhals.col("age") < 18.',
        )

    def negated(self) -> Predicate:
        """Where this is false; unknown stays unknown, so null counts as true here too."""
        if self.expression is not None:
            opposite = ~self.expression
            return Predicate(repr(opposite), sql=False, expression=opposite)
        return Predicate(f"NOT ({self.text})", sql=self.sql)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Rule:
    """A unit is of ``kind`` if every condition is true or null for some row of its own.

    ``also``: further conditions, each of which some row must meet -- the same row or another.
    """

    kind: str
    condition: Predicate
    also: tuple[Predicate, ...] = ()

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """All the conditions."""
        return (self.condition, *self.also)

    @property
    def predicate(self) -> Predicate:
        """The one condition.

        Errors: PolicyError if there are several: whoever reads one would protect too few.
        """
        if self.also:
            raise PolicyError(
                f"The kind {self.kind!r} needs {len(self.predicates)} conditions to hold.",
                hint="Count under one of the policies that were combined; or count all kinds.",
            )
        return self.condition
