"""Types for a tree: wrong mixtures are refused by name, and both sides of it get one type.

Literals take the type of what they are compared with, exactly: ``age < 17.5`` becomes
``age <= 17``, and a value that the other side cannot have is never found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Final

from onesided._english import a
from onesided.conditions import _mixing as mixing
from onesided.conditions import _tree as syntax
from onesided.conditions._evaluate import Row, evaluate, may_be_unknown, passes_over
from onesided.conditions._mixing import Refuse
from onesided.conditions._parse import Source, parse
from onesided.errors import ConditionError, UnknownColumnError
from onesided.schema import BOOLEAN, LARGEST, Type, whole

_MOST_WORK: Final = 20_000  # operations and literals, per row
# What takes longer than a comparison: over texts of a hundred letters, and with what guards sums.
_STEPS: Final[Mapping[type[syntax.Node], int]] = {
    syntax.Call: 128,
    syntax.Like: 128,
    syntax.Arithmetic: 64,
    syntax.Convert: 64,
}


def bind(tree: syntax.Node, types: Mapping[str, Type], *, text: str) -> syntax.Node:
    """The typed tree of a condition on columns of these types.

    Errors: UnknownColumnError; ConditionError, showing the place in ``text``, for mixtures of types
    that mean nothing, and where the result is not true or false.

    >>> from onesided.conditions import parse
    >>> from onesided.schema import bits
    >>> tree = bind(parse("age < 18"), {"age": bits(8)}, text="age < 18")
    >>> str(tree), tree.type.kind
    ('"age" < 18', 'boolean')
    """
    binder = _Binder(types, Source(text))
    bound = binder.boolean(tree)
    if work(bound) > _MOST_WORK:
        raise ConditionError(
            "The condition takes too many operations per row.",
            hint="Compute a column first, and write the condition on that.",
        )
    return bound


def work(tree: syntax.Node) -> int:
    """How many operations and literals an engine is handed: it writes each node of a tree once.

    >>> from onesided.conditions import Condition
    >>> from onesided.schema import TEXT
    >>> [work(Condition.parse(t).bind({"s": TEXT}).tree) for t in ("s = 'a'", "s IN ('a', 'b')")]
    [3, 4]
    """
    lists = (len(node.values) for node in syntax.nodes(tree) if isinstance(node, syntax.OneOf))
    return sum(lists) + sum(1 for _ in syntax.nodes(tree))


class _Binder:
    """Types one tree."""

    def __init__(self, types: Mapping[str, Type], source: Source) -> None:
        self._types, self._source = types, source

    def boolean(self, node: syntax.Node) -> syntax.Node:
        """A part that must be true or false."""
        bound = self.bind(node)
        if bound.type.kind != "boolean":
            names = [part.name for part in syntax.nodes(node) if isinstance(part, syntax.Column)]
            raise self.refuse(
                node,
                f"This is {_a(bound.type)}, not true or false.",
                f"Write a comparison, such as {names[0] if names else 'age'} = 1.",
            )
        return bound

    def bind(self, node: syntax.Node) -> syntax.Node:
        """One node with its type; what does not depend on the row becomes a literal."""
        return _folded(_BINDERS[type(node)](self, node))

    def refuse(self, node: syntax.Node, reason: str, hint: str) -> ConditionError:
        return self._source.error(reason, node.place, hint)

    def _refuser(self, node: syntax.Node) -> Refuse:
        return lambda reason, hint: self.refuse(node, reason, hint)

    def literal(self, node: syntax.Literal) -> syntax.Node:
        return node

    def column(self, node: syntax.Column) -> syntax.Node:
        kind = self._types.get(node.name)
        if kind is None:
            near = get_close_matches(node.name, self._types, n=1, cutoff=0.6) or [
                name for name in self._types if name.lower() == node.name.lower()
            ]
            known = f"Did you mean {near[0]!r}? " if near else ""
            if self._source.text[node.place : node.place + 1] == '"':
                known += f"Text stands in 'single quotes': {syntax.quoted_text(node.name)}. "
            raise UnknownColumnError(
                f"The table has no column {node.name!r}.",
                hint=f"{known}Its columns are {', '.join(list(self._types)[:20])}.",
                column=node.name,
            )
        found = replace(node, type=kind)
        if kind.kind == "integer" and not kind.is_bounded:
            return syntax.Convert(part=found, type=whole(-LARGEST, LARGEST), place=node.place)
        return found

    def compare(self, node: syntax.Compare) -> syntax.Node:
        left, right = self.bind(node.left), self.bind(node.right)
        return mixing.compared(node.op, left, right, self._refuser(node))

    def both(self, node: syntax.Both) -> syntax.Node:
        members = tuple(self.boolean(part) for part in node.members)
        return replace(node, members=members, type=BOOLEAN)

    def negation(self, node: syntax.Not) -> syntax.Node:
        return replace(node, part=self.boolean(node.part), type=BOOLEAN)

    def is_null(self, node: syntax.IsNull) -> syntax.Node:
        return replace(node, part=self.bind(node.part), type=BOOLEAN)

    def one_of(self, node: syntax.OneOf) -> syntax.Node:
        part, refuse = self.bind(node.part), self._refuser(node)
        found: dict[object, syntax.Literal] = {}
        for value in node.values:
            test = mixing.with_literal("=", part, value, refuse)
            if isinstance(test, syntax.Compare) and isinstance(test.right, syntax.Literal):
                found[test.right.value] = test.right
                part = test.left
        if not found:
            return syntax.Known(part=part, value=False, type=BOOLEAN, place=node.place)
        return replace(node, part=part, values=tuple(found.values()), type=BOOLEAN)

    def between(self, node: syntax.Between) -> syntax.Node:
        part, low, high = parts = [self.bind(inner) for inner in node.parts]
        values: list[syntax.Node] = []
        if not syntax.is_small(part):
            part, low, high = (_given(one, values) for one in parts)
        refuse = self._refuser(node)
        ends = (mixing.compared(">=", part, low, refuse), mixing.compared("<=", part, high, refuse))
        return _let(values, syntax.Both(op="AND", members=ends, type=BOOLEAN, place=node.place))

    def like(self, node: syntax.Like) -> syntax.Node:
        part = self.bind(node.part)
        mixing.require(part, "text", what="LIKE", refuse=self._refuser(node))
        return replace(node, part=part, type=BOOLEAN)

    def case(self, node: syntax.Case) -> syntax.Node:
        thens = [then for _, then in node.branches]
        thens += [] if node.otherwise is None else [node.otherwise]
        values: list[syntax.Node] = []
        tests = self._shared_tests(node, values) or [
            self.boolean(when) for when, _ in node.branches
        ]
        found = [self.bind(then) for then in thens]
        if values:
            found = [_given(one, values) for one in found]
        same, kind = mixing.unified(found, "CASE", self._refuser(node))
        branches = tuple(zip(tests, same, strict=False))
        otherwise = None if node.otherwise is None else same[-1]
        made = replace(node, branches=branches, otherwise=otherwise, type=kind)
        return _let(values, made)

    def _shared_tests(self, node: syntax.Case, values: list[syntax.Node]) -> list[syntax.Node]:
        """The tests of ``CASE x WHEN ...``; an x that is worth a name goes into ``values``."""
        tests = [
            when for when, _ in node.branches if isinstance(when, syntax.Compare) and when.op == "="
        ]
        if len(tests) < len(node.branches) or any(test.left != tests[0].left for test in tests):
            return []
        sides = [self.bind(tests[0].left), *(self.bind(test.right) for test in tests)]
        if not syntax.is_small(sides[0]) and len(tests) > 1:
            sides = [_given(one, values) for one in sides]
        return [
            _folded(mixing.compared("=", sides[0], side, self._refuser(test)))
            for side, test in zip(sides[1:], tests, strict=True)
        ]

    def coalesce(self, node: syntax.Coalesce) -> syntax.Node:
        truth = any(isinstance(p, syntax.Literal) and p.type == BOOLEAN for p in node.members)
        values = [(self.boolean if truth else self.bind)(part) for part in node.members]
        same, kind = mixing.unified(values, "COALESCE", self._refuser(node))
        return replace(node, members=tuple(same), type=kind)

    def arithmetic(self, node: syntax.Arithmetic) -> syntax.Node:
        left, right = self.bind(node.left), self.bind(node.right)
        return mixing.arithmetic(node, left, right, self._refuser(node))

    def call(self, node: syntax.Call) -> syntax.Node:
        return mixing.called(node, self.bind(node.part), self._refuser(node))


def _folded(bound: syntax.Node) -> syntax.Node:
    """What does not depend on the row, as a literal."""
    if bound.parts and all(isinstance(part, syntax.Literal) for part in bound.parts):
        return syntax.Literal(value=evaluate(bound, {}), type=bound.type, place=bound.place)
    return bound


def _given(node: syntax.Node, values: list[syntax.Node]) -> syntax.Node:
    """A value of a Let around, to which it is added; literals stay what they are."""
    if isinstance(node, syntax.Literal):
        return node
    values.append(node)
    return syntax.Given(place_of=len(values) - 1, type=node.type, place=node.place)


def _let(values: Sequence[syntax.Node], body: syntax.Node) -> syntax.Node:
    if not values:
        return body
    return syntax.Let(values=tuple(values), body=body, type=body.type, place=body.place)


def _a(kind: Type) -> str:
    return "text" if kind.kind == "text" else a(str(kind))


_BINDERS: Final[Mapping[type[syntax.Node], Callable[..., syntax.Node]]] = {
    syntax.Literal: _Binder.literal,
    syntax.Column: _Binder.column,
    syntax.Compare: _Binder.compare,
    syntax.Both: _Binder.both,
    syntax.Not: _Binder.negation,
    syntax.IsNull: _Binder.is_null,
    syntax.OneOf: _Binder.one_of,
    syntax.Between: _Binder.between,
    syntax.Like: _Binder.like,
    syntax.Case: _Binder.case,
    syntax.Coalesce: _Binder.coalesce,
    syntax.Arithmetic: _Binder.arithmetic,
    syntax.Call: _Binder.call,
}


# A condition: a text, the tree that it means, and what it looks at.


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one row, which is true, false or unknown for it, and never an error.

    text: as it was written; ``str`` gives the canonical text, which is the same for all
    texts that are read alike, and two conditions are equal when it is.

    >>> str(Condition.parse("age<18 or not (opt_in)"))
    '"age" < 18 OR NOT "opt_in"'
    """

    tree: syntax.Node
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
        return syntax.columns(self.tree)

    def or_unknown(self) -> Condition:
        """True where this is true or unknown, and never unknown itself.

        ``text`` stays as it was written, so that errors show their place in it.

        >>> str(Condition.parse("age < 18").or_unknown())
        'COALESCE("age" < 18, TRUE)'
        """
        certain = syntax.Literal(value=True, type=BOOLEAN)
        return Condition(syntax.Coalesce(members=(self.tree, certain)), self.text)

    def may_be_unknown(self, filled: Mapping[str, str]) -> bool:
        """Whether some row may leave it undecided.

        filled: columns that are never without a value, with what they hold.

        >>> adult = Condition.parse("age >= 18")
        >>> adult.may_be_unknown({}), adult.may_be_unknown({"age": "integer"})
        (True, False)
        """
        return may_be_unknown(self.tree, filled)

    @property
    def steps(self) -> int:
        """How much an engine has to do for a row: in comparisons of short columns, as measured.

        >>> Condition.parse("a = 1").steps, Condition.parse("LOWER(a) = 'a'").steps
        (3, 131)
        """
        lists = sum(
            len(node.values) for node in syntax.nodes(self.tree) if isinstance(node, syntax.OneOf)
        )
        return lists // 16 + sum(_STEPS.get(type(node), 1) for node in syntax.nodes(self.tree))

    @property
    def settled(self) -> tuple[str, ...]:
        """Columns of which it says itself what a missing value means, in CASE, COALESCE or IS NULL.

        >>> Condition.parse("v < 5 AND COALESCE(age < 18, FALSE)").settled
        ('age',)
        """
        found = [
            one
            for one in syntax.nodes(self.tree)
            if isinstance(one, syntax.Case | syntax.Coalesce | syntax.IsNull)
        ]
        return tuple(dict.fromkeys(name for one in found for name in syntax.columns(one)))

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

    tree: syntax.Node
    condition: Condition

    def of(self, row: Row) -> bool | None:
        """Whether it holds for a row of plain values (as ``schema`` describes); None is unknown."""
        value = evaluate(self.tree, row)
        return None if value is None else bool(value)
