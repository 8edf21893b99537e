"""What engines write alike: with Python's operators, or as SQL."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from onesided.conditions import Scalar, balanced
from onesided.schema import TEXT, Type, clock_text, date_text, moment_text

# What every engine whose expressions are Python objects writes alike: by Python's operators.
#
# Spark is one of them: how it would read SQL text is a setting of the caller's session.

OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


class Operators(ABC):
    """Words for expressions with operators; a part is written twice in ``between``.

    long_type, wide_type, float_type: the engine's own for whole numbers and numbers.
    """

    long_type: ClassVar[Any]
    wide_type: ClassVar[Any]
    float_type: ClassVar[Any]

    def long(self, part: Any) -> Any:
        return part.cast(self.long_type)

    def wide(self, part: Any) -> Any:
        return part.cast(self.wide_type)

    def number(self, part: Any, *, wide: bool) -> Any:  # noqa: ARG002 - most round once
        return part.cast(self.float_type)

    def compare(self, op: str, left: Any, right: Any) -> Any:
        return OPERATORS[op](left, right)

    def between(self, part: Any, low: Any, high: Any, closed: str) -> Any:
        first = part >= low if closed in ("both", "left") else part > low
        last = part <= high if closed in ("both", "right") else part < high
        return first & last

    def both(self, op: str, parts: Sequence[Any]) -> Any:
        return balanced(parts, operator.and_ if op == "AND" else operator.or_)

    def negate(self, part: Any) -> Any:
        return ~part

    def equals_one(self, part: Any, values: Sequence[Scalar], kind: Type) -> Any:
        """A set of floats tells 0.0 from -0.0; a comparison does not."""
        return self.both("OR", [part == self.literal(value, kind) for value in values])

    @abstractmethod
    def literal(self, value: Scalar, kind: Type) -> Any:
        """A value of the text, of this type."""


# Conditions as SQL text of our own: quoted names and literals, and no word of a user's text.
#
# Texts are quoted, and all else is a number. What is here is DuckDB's SQL; what another engine
# writes otherwise stands in a class of its own.

CAPITALS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NAMED: Final = "onesided_named"


def literal(text: str) -> str:
    """A text as SQL text takes it."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A column's name as SQL text takes it.

    >>> print(quoted('the "best" column'))
    "the ""best"" column"
    """
    return '"' + name.replace('"', '""') + '"'


class SqlTerms:
    """How SQL writes each operation. natives: the engine's own names of types."""

    natives: ClassVar[Mapping[str, str]]

    def literal(self, value: Scalar, kind: Type) -> str:
        if value is None:
            return f"CAST(NULL AS {self.native(kind)})"
        if kind.kind == "text":
            return literal(str(value))
        if kind.kind == "boolean":
            return "TRUE" if value else "FALSE"
        return f"CAST('{_digits(value, kind)}' AS {self.native(kind)})"

    def native(self, kind: Type) -> str:
        """The engine's type for literals."""
        if kind.kind == "integer":
            return "BIGINT" if kind.is_long else self.natives["wide"]
        if kind.fine or kind.kind == "duration":
            return "BIGINT"
        if kind.kind == "datetime":
            return "TIMESTAMPTZ" if kind.zoned else "TIMESTAMP"
        return self.natives.get(kind.kind, kind.kind.upper())

    def compare(self, op: str, left: str, right: str) -> str:
        return f"({left} {op} {right})"

    def between(self, part: str, low: str, high: str, closed: str) -> str:
        first = ">=" if closed in ("both", "left") else ">"
        last = "<=" if closed in ("both", "right") else "<"
        return f"({part} {first} {low} AND {part} {last} {high})"

    def both(self, op: str, parts: Sequence[str]) -> str:
        return parts[0] if len(parts) == 1 else f"({f' {op} '.join(parts)})"

    def negate(self, part: str) -> str:
        return f"(NOT {part})"

    def is_null(self, part: str) -> str:
        return f"({part} IS NULL)"

    def one_of(self, part: str, values: Sequence[Scalar], kind: Type) -> str:
        return f"({part} IN ({', '.join(self.literal(value, kind) for value in values)}))"

    def like(self, part: str, pattern: str) -> str:
        return f"({part} LIKE {self.literal(pattern, TEXT)})"

    def case(self, branches: Sequence[tuple[str, str]], otherwise: str | None, kind: Type) -> str:
        cases = " ".join(f"WHEN {when} THEN {then}" for when, then in branches)
        return f"(CASE {cases} ELSE {otherwise or self.literal(None, kind)} END)"

    def coalesce(self, parts: Sequence[str]) -> str:
        return f"COALESCE({', '.join(parts)})"

    def long(self, part: str) -> str:
        return f"CAST({part} AS BIGINT)"

    def wide(self, part: str) -> str:
        return f"CAST({part} AS {self.natives['wide']})"

    def number(self, part: str, *, wide: bool) -> str:  # noqa: ARG002 - most round once
        return f"CAST({part} AS {self.natives['number']})"

    def non_zero(self, part: str, *, wide: bool) -> str:  # noqa: ARG002
        return f"NULLIF({part}, 0)"

    def absolute(self, part: str) -> str:
        return f"abs({part})"

    def together(self, parts: Sequence[str], use: Callable[..., str]) -> tuple[Sequence[str], str]:
        """The names that parts get, and what is made of them."""
        names = [f"v{at}" for at in range(len(parts))]
        return names, use(*(f"{NAMED}.{name}" for name in names))


def _digits(value: Scalar, kind: Type) -> str:
    """A number or a moment as text that is read exactly."""
    if kind.kind == "number":
        return repr(float(value or 0))
    number = int(value or 0)
    if kind.kind == "date":
        return date_text(number)
    if kind.kind == "time":
        return clock_text(number)
    if kind.kind == "datetime" and not kind.fine:
        return moment_text(number) + ("+00" if kind.zoned else "")
    return str(number)
