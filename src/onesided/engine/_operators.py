"""What every engine whose expressions are Python objects writes alike: by Python's operators.

Spark is one of them: how it would read SQL text is a setting of the caller's session.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from onesided.conditions import Scalar, balanced
from onesided.schema import Type

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
