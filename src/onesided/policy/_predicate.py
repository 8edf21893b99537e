"""Conditions on rows, in the language of :mod:`onesided.conditions`."""

from __future__ import annotations

from dataclasses import dataclass, field

from onesided.conditions import Condition
from onesided.errors import ConditionError, PolicyError


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on a row. Unknown counts as true: who cannot be placed is protected.

    text: as it was written, which identifies it in stored policies. condition: what it means;
    None for one that is on record and not in the language, which counts in totals and decides no
    row. sql: whether it was text, and not an expression, as some of 0.1.0 were.

    >>> from onesided.policy import Predicate
    >>> Predicate.of("age < 18").negated().text
    'NOT (age < 18)'
    """

    text: str
    condition: Condition | None = field(compare=False, repr=False)
    sql: bool = field(default=True, repr=False)

    @classmethod
    def of(cls, condition: object) -> Predicate:
        """From a condition's text, or a Predicate.

        Errors: ConditionError, showing the place, for what is not in the language.
        """
        if isinstance(condition, Predicate):
            return condition
        parsed = Condition.parse(condition)
        return cls(parsed.text, parsed)

    @classmethod
    def on_record(cls, text: str, *, sql: bool = True) -> Predicate:
        """As it was stored, whether or not the language has it."""
        try:
            return cls(text, Condition.parse(text) if sql else None, sql)
        except ConditionError:
            return cls(text, None, sql)

    def readable(self) -> Condition:
        """What it means. Errors: ConditionError if it is on record alone."""
        if self.condition is None:
            raise ConditionError(
                f"The condition {self.text!r} was written for an earlier version, and is not in "
                "the language of conditions.",
                hint="What was charged for it counts in totals. For new answers write the "
                "condition anew (docs/conditions.md), as a policy of its own.",
            )
        return self.condition

    def negated(self) -> Predicate:
        """Where this is false; unknown stays unknown, so it counts as true here too."""
        return Predicate.on_record(f"NOT ({self.text})", sql=self.sql)

    @property
    def about_missing(self) -> str:
        """What is said where the condition itself may take what is missing for no; "" elsewhere.

        >>> print(Predicate.of("COALESCE(age < 18, FALSE)").about_missing)
        A row without a value of 'age' may count as open: COALESCE(age < 18, FALSE) says so.
        """
        named = () if self.condition is None else self.condition.settled
        either = " or ".join(map(repr, named))
        return (
            f"A row without a value of {either} may count as open: {self} says so." if named else ""
        )

    def or_unknown(self) -> Predicate:
        """Where this is true or unknown.

        >>> Predicate.of("age < 18").or_unknown().text
        'COALESCE(age < 18, TRUE)'
        """
        return Predicate(f"COALESCE({self.text}, TRUE)", self.readable().or_unknown(), self.sql)

    def __str__(self) -> str:
        return self.text


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


@dataclass(frozen=True, slots=True)
class GroupRule:
    """A unit is sensitive if its group is marked; docs/views.md.

    condition: marks the group of each row for which it is true or unknown. over: the column that
    groups units. members: larger groups are marked as they are. table: whose rows mark groups; None
    for the data's own.

    >>> from onesided import policy
    >>> policy.view("age < 18", over="household", members=6).view.over
    'household'
    """

    condition: Predicate
    over: str
    members: int
    table: str | None = None
