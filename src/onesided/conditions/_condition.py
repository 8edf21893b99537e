"""A condition: a text, the tree that it means, and what it looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from onesided.conditions._bind import bind
from onesided.conditions._evaluate import Row, evaluate, may_be_unknown, passes_over
from onesided.conditions._parse import parse
from onesided.conditions._tree import Case, Coalesce, IsNull, Literal, Node, columns, nodes
from onesided.errors import ConditionError
from onesided.schema import BOOLEAN, Type


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one row, which is true, false or unknown for it, and never an error.

    text: as it was written; ``str`` gives the canonical text, which is the same for all
    texts that are read alike, and two conditions are equal when it is.

    >>> str(Condition.parse("age<18 or not (opt_in)"))
    '"age" < 18 OR NOT "opt_in"'
    """

    tree: Node
    text: str = field(compare=False)

    @classmethod
    def parse(cls, text: object) -> Condition:
        """Read a condition's text.

        Errors: ConditionError, showing the place, for anything that is not in the language.
        """
        if isinstance(text, Condition):
            return text
        if not isinstance(text, str):
            raise ConditionError(
                f"A condition is a text, got {type(text).__name__}.",
                hint='Write it as text, such as "age < 18"; what the language does not have '
                "can be computed as a column first.",
            )
        return cls(parse(text), text.strip())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""
        return columns(self.tree)

    def or_unknown(self) -> Condition:
        """True where this is true or unknown, and never unknown itself.

        ``text`` stays as it was written, so that errors show their place in it.

        >>> str(Condition.parse("age < 18").or_unknown())
        'COALESCE("age" < 18, TRUE)'
        """
        certain = Literal(value=True, type=BOOLEAN)
        return Condition(Coalesce(members=(self.tree, certain)), self.text)

    def may_be_unknown(self, filled: Mapping[str, str]) -> bool:
        """Whether some row may leave it undecided.

        filled: columns that are never without a value, with what they hold.

        >>> adult = Condition.parse("age >= 18")
        >>> adult.may_be_unknown({}), adult.may_be_unknown({"age": "integer"})
        (True, False)
        """
        return may_be_unknown(self.tree, filled)

    @property
    def settled(self) -> tuple[str, ...]:
        """Columns of which it says itself what a missing value means, in CASE, COALESCE or IS NULL.

        >>> Condition.parse("v < 5 AND COALESCE(age < 18, FALSE)").settled
        ('age',)
        """
        found = [one for one in nodes(self.tree) if isinstance(one, Case | Coalesce | IsNull)]
        return tuple(dict.fromkeys(name for one in found for name in columns(one)))

    def passes_over(self, filled: Mapping[str, str]) -> bool:
        """Whether a CASE in it may pass over a condition that is unknown, as if it were false."""
        return passes_over(self.tree, filled)

    def bind(self, types: Mapping[str, Type]) -> BoundCondition:
        """The condition on columns of these types.

        Errors: UnknownColumnError; ConditionError for mixtures of types that mean nothing.
        """
        return BoundCondition(bind(self.tree, types, text=self.text), self)

    def __str__(self) -> str:
        return str(self.tree)


@dataclass(frozen=True, slots=True)
class BoundCondition:
    """A condition whose columns have types. tree: for a Translator.

    >>> from onesided.schema import bits
    >>> adult = Condition.parse("age >= 18").bind({"age": bits(8)})
    >>> [adult.of({"age": age}) for age in (40, 7, None)]
    [True, False, None]
    """

    tree: Node
    condition: Condition

    def of(self, row: Row) -> bool | None:
        """Whether it holds for a row of plain values (as ``schema`` describes); None is unknown."""
        value = evaluate(self.tree, row)
        return None if value is None else bool(value)
