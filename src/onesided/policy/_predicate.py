"""Conditions on rows, as SQL text or as a narwhals expression."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from onesided.errors import PolicyError

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on a row. Null counts as true: who cannot be placed is protected.

    Two predicates are equal when their ``text`` is; ``sql`` says whether the text is SQL that
    the table's own engine reads, or the printed form of ``expression``.

    >>> from onesided.policy import Predicate
    >>> Predicate.of("age < 18").negated().text
    'NOT (age < 18)'
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
            return cls(_printed(condition), sql=False, expression=condition)
        raise PolicyError(
            f"A predicate must be SQL text or a narwhals expression, got {condition!r}.",
            hint='Write SQL such as "age < 18", or narwhals.col("age") < 18.',
        )

    def negated(self) -> Predicate:
        """Where this is false; unknown stays unknown, so null counts as true here too."""
        if self.expression is not None:
            opposite = ~self.expression
            return Predicate(_printed(opposite), sql=False, expression=opposite)
        return Predicate(f"NOT ({self.text})", sql=self.sql)

    def __str__(self) -> str:
        return self.text


_PLAIN: Final = (str, int, float, bool, Decimal, dt.date, dt.time, dt.timedelta, type(None))


def _printed(expression: nw.Expr) -> str:
    """An expression as text that tells apart all expressions that differ.

    narwhals' own printing drops quotes and shortens long operands, so two policies could share
    one identity. Errors: PolicyError for operands that hold data, such as a series.
    """
    nodes = getattr(expression, "_nodes", None)
    if nodes is None:
        raise PolicyError(
            "This version of narwhals does not show what its expressions are made of.",
            hint="Install a newer narwhals, or write the condition as SQL text.",
        )
    return ".".join(
        f"{node.name}("
        + ", ".join(
            [*(_operand(e) for e in node.exprs)]
            + [f"{name}={_operand(value)}" for name, value in node.kwargs.items()]
        )
        + ")"
        for node in nodes
    )


def _operand(value: object) -> str:
    """One operand of an expression, exactly."""
    import narwhals as nw  # noqa: PLC0415 - only needed when an expression is given

    if isinstance(value, nw.Expr):
        return _printed(value)
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_operand(part) for part in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_operand(v)}" for k, v in value.items()) + "}"
    if isinstance(value, nw.dtypes.DType) or (
        isinstance(value, type) and issubclass(value, nw.dtypes.DType)
    ):
        return f"type {value!r}"
    raise PolicyError(
        f"A condition cannot hold a {type(value).__name__}: what it holds may be private, and "
        "would be compared row by row.",
        hint="Give a list of plain values, or write the condition as SQL text.",
    )


@dataclass(frozen=True, slots=True)
class Rule:
    """A unit is of ``kind`` if every condition is true or null for some row of its own.

    ``also``: further conditions, each of which some row must meet -- the same row or another.

    >>> from onesided import policy
    >>> policy.sensitive("minor").rules[0].kind
    'sensitive'
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
