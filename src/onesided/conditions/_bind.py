"""Types for a tree: wrong mixtures are refused by name, and both sides of it get one type.

Literals take the type of what they are compared with, exactly: ``age < 17.5`` becomes
``age <= 17``, and a value that the other side cannot have is never found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fractions import Fraction
from typing import Final, TypeAlias

from onesided._english import a
from onesided.conditions import _tree as syntax
from onesided.conditions._evaluate import Row, evaluate, may_be_unknown, passes_over
from onesided.conditions._parse import PARTS, Source, parse
from onesided.conditions._tree import (
    Arithmetic,
    Call,
    Compare,
    Convert,
    Known,
    Later,
    Literal,
    Node,
)
from onesided.errors import ConditionError, UnknownColumnError
from onesided.schema import BOOLEAN, DAY, LARGEST, NUMBER, TEXT, Type, bits, moment_type, whole

# What whole numbers can become by arithmetic, so that most of it needs no check as it runs.

Range: TypeAlias = tuple[int, int]


def exact_range(op: str, left: Type, right: Type) -> Range:
    """The least and the largest value of ``left op right``, whatever its size."""
    a, b = (left.low, left.high), (right.low, right.high)
    if op == "+":
        return a[0] + b[0], a[1] + b[1]
    if op == "-":
        return a[0] - b[1], a[1] - b[0]
    if op == "*":
        ends = [x * y for x in a for y in b]
        return min(ends), max(ends)
    return _quotients(a, b) if op == "/" else _remainders(a, b)


def _quotients(a: Range, b: Range) -> Range:
    """Of divisions that truncate; a divisor of 0 gives nothing."""
    divisors = [d for d in (b[0], b[1], -1, 1) if b[0] <= d <= b[1] and d != 0]
    ends = [_truncated(x, d) for x in (*a, 0) for d in divisors]
    return (min(ends), max(ends)) if ends else (0, 0)


def _truncated(x: int, d: int) -> int:
    size = abs(x) // abs(d)
    return size if (x < 0) == (d < 0) else -size


def _remainders(a: Range, b: Range) -> Range:
    """A remainder has the dividend's sign, and is smaller than the divisor."""
    most = max(abs(b[0]), abs(b[1]), 1) - 1
    return max(min(a[0], 0), -most), min(max(a[1], 0), most)


def absolute_range(kind: Type) -> Range:
    """Of the absolute value."""
    low = 0 if kind.low <= 0 <= kind.high else min(abs(kind.low), abs(kind.high))
    return low, max(abs(kind.low), abs(kind.high))


# Which types may meet, and what they become.

_MIRROR: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FINE: Final = 2**63 - 1  # nanoseconds that 64 bits hold
_RANGES: Final = {
    "YEAR": (1, 9999),
    "MONTH": (1, 12),
    "DAY": (1, 31),
    "HOUR": (0, 24),
    "MINUTE": (0, 59),
    "SECOND": (0, 59),
    "ISODOW": (1, 7),
}
_OF_DATES: Final = ("YEAR", "MONTH", "DAY", "ISODOW")
_OF_TIMES: Final = ("HOUR", "MINUTE", "SECOND")
_HINTS: Final = {
    "date": "Write DATE '2024-01-31'.",
    "datetime": "Write TIMESTAMP '2024-01-31 08:30:00'.",
    "datetime with zone": "Write TIMESTAMPTZ '2024-01-31 08:30:00+01:00'.",
    "time": "Write TIME '08:30:00'.",
    "duration": "Write INTERVAL '3' DAY.",
    "boolean": "Write x = TRUE, or x alone.",
    "text": "Text stands in 'single quotes'; a schema can say that a column is something else.",
    "integer": "Write numbers without quotes.",
    "number": "Write numbers without quotes.",
}
_MOVED: Final = "Moments move by intervals: write a > b + INTERVAL '3' DAY for a - b > 3."


# Makes the error about a node, of its reason and its hint.
Refuse: TypeAlias = Callable[[str, str], ConditionError]


def require(node: Node, *kinds: str, what: str, refuse: Refuse) -> None:
    """Refuse a part of another kind."""
    if node.type.kind not in kinds:
        wanted = " or ".join(kinds)
        raise refuse(f"{what} takes {wanted}, not {node.type}.", _HINTS[kinds[0]])


def compared(op: str, left: Node, right: Node, refuse: Refuse) -> Node:
    """``left op right`` with both sides of one type."""
    if isinstance(left, Literal) and not isinstance(right, Literal):
        return with_literal(_MIRROR[op], right, left, refuse)
    if isinstance(right, Literal):
        return with_literal(op, left, right, refuse)
    (first, second), _ = unified([left, right], op, refuse)
    return _plain(op, first, second, refuse)


def _plain(op: str, left: Node, right: Node, refuse: Refuse) -> Node:
    if left.type.kind == "boolean" and op not in ("=", "<>"):
        raise refuse(f"True and false have no order: {op} cannot compare them.", "Write = or <>.")
    return Compare(op=op, left=left, right=right, type=BOOLEAN, place=left.place)


def with_literal(op: str, node: Node, literal: Literal, refuse: Refuse) -> Node:
    """``node op literal``, the literal read as what the node is."""
    value, kind, given = literal.value, node.type, literal.type
    kinds = (kind.kind, given.kind)
    if kinds == ("number", "integer"):
        return _plain(op, node, replace(literal, value=_float(value), type=NUMBER), refuse)
    if kinds == ("date", "datetime") and not given.zoned:
        return _exactly(op, node, literal, Fraction(str(value)) / DAY, (-(2**62), 2**62))
    if value is None and (kinds[0] == kinds[1] or set(kinds) == {"integer", "number"}):
        return Literal(value=None, type=BOOLEAN, place=literal.place)
    if kinds in (("integer", "integer"), ("integer", "number")):
        exact = Fraction(str(value))
        if isinstance(node, Arithmetic):
            node, exact = _moved(node, exact)
        return _exactly(op, node, literal, exact, (node.type.low, node.type.high))
    if kinds == ("datetime", "date"):
        literal = replace(literal, value=None if value is None else int(str(value)) * DAY)
        given = moment_type(zoned=kind.zoned)
    if kind.kind == given.kind == "datetime" or kinds == ("datetime", "date"):
        return _moment(op, node, literal, given, refuse)
    if kinds == ("number", "number"):
        literal = replace(literal, value=_float(value))
    elif kinds[0] != kinds[1]:
        raise _mixture(op, kind, given, refuse)
    return _plain(op, node, literal, refuse)


def _float(value: object) -> float | None:
    return None if value is None else float(str(value))


def _moment(op: str, node: Node, literal: Literal, given: Type, refuse: Refuse) -> Node:
    if given.zoned and not node.type.zoned:
        raise _mixture(op, node.type, given, refuse)
    if literal.value is None:
        return Literal(value=None, type=BOOLEAN, place=literal.place)
    scale = 1000 if node.type.fine and not given.fine else 1
    value = int(str(literal.value)) * scale
    limits = (-_FINE, _FINE) if node.type.fine else (-(2**63), 2**63)
    return _exactly(op, node, replace(literal, type=node.type), Fraction(value), limits)


def _moved(node: Arithmetic, value: Fraction) -> tuple[Node, Fraction]:
    """``2 * x + 1 < 5`` is ``x < 2``: whole numbers are exact, and what is not done is free."""
    inner: Node = node
    # While no sum can be too large, and so unknown.
    while (
        isinstance(inner, Arithmetic)
        and whole(*exact_range(inner.op, inner.left.type, inner.right.type)).is_bounded
    ):
        left, right, op = inner.left, inner.right, inner.op
        if isinstance(left, Literal) and op in "+*":
            left, right = right, left
        if not (isinstance(right, Literal) and isinstance(right.value, int)):
            break
        if op in "+-":
            value += right.value if op == "-" else -right.value
        elif op == "*" and right.value > 0:
            value /= right.value
        else:
            break
        inner = left
    return inner, value


def _exactly(
    op: str, node: Node, literal: Literal, value: Fraction, limits: tuple[int, int]
) -> Node:
    """A comparison of whole numbers with any number."""
    low = value.numerator // value.denominator
    if value.denominator != 1:
        if op in ("=", "<>"):
            return Known(part=node, value=op == "<>", type=BOOLEAN, place=literal.place)
        op = "<=" if op in ("<", "<=") else ">"
    if not limits[0] <= low <= limits[1]:
        below = low < limits[0]
        true = op == "<>" or (op in (">", ">=") if below else op in ("<", "<="))
        return Known(part=node, value=true, type=BOOLEAN, place=literal.place)
    right = replace(literal, value=low, type=node.type)
    return Compare(op=op, left=node, right=right, type=BOOLEAN, place=literal.place)


def _mixture(what: str, left: Type, right: Type, refuse: Refuse) -> ConditionError:
    return refuse(f"{what} cannot take {left} and {right} together.", _HINTS[str(left)])


def unified(parts: Sequence[Node], what: str, refuse: Refuse) -> tuple[list[Node], Type]:
    """Parts that must have one type, and the type."""
    kind = parts[0].type
    for part in parts[1:]:
        kind = _common(kind, part.type, what, refuse)
    return [_as(part, kind) for part in parts], kind


def _common(left: Type, right: Type, what: str, refuse: Refuse) -> Type:
    kinds = {left.kind, right.kind}
    if kinds == {"integer"}:
        return whole(min(left.low, right.low), max(left.high, right.high))
    if kinds <= {"integer", "number"}:
        return NUMBER
    moments = [kind for kind in (left, right) if kind.kind == "datetime"]
    if kinds <= {"date", "datetime"} and len({kind.zoned for kind in moments}) == 1:
        fine = any(kind.fine for kind in moments)
        return moment_type(zoned=moments[0].zoned, fine=fine)
    if left.kind != right.kind or left.zoned != right.zoned:
        raise _mixture(what, left, right, refuse)
    return left


def _as(part: Node, kind: Type) -> Node:
    """The part in a type that holds all its values."""
    if part.type == kind or part.type.kind == kind.kind == "integer":
        return part
    if isinstance(part, Literal):
        return replace(part, value=_literal_as(part, kind), type=kind)
    if part.type.kind == kind.kind == "number":
        return part
    return Convert(part=part, type=kind, place=part.place)


def _literal_as(literal: Literal, kind: Type) -> int | float | None:
    if literal.value is None:
        return None
    if kind.kind == "number":
        return float(str(literal.value))
    value = int(str(literal.value)) * (DAY if literal.type.kind == "date" else 1)
    scaled = value * 1000 if kind.fine and not literal.type.fine else value
    return scaled if not kind.fine or abs(scaled) <= _FINE else None


def arithmetic(node: Arithmetic, left: Node, right: Node, refuse: Refuse) -> Node:
    """Numbers with numbers, and moments with intervals."""
    kinds = (left.type.kind, right.type.kind)
    if "duration" in kinds and kinds[0] != kinds[1]:
        return _later(node, left, right, refuse)
    if not set(kinds) <= {"integer", "number"}:
        hint = _MOVED if {"date", "datetime"}.intersection(kinds) else _HINTS["text"]
        raise refuse(f"{node.op} cannot take {left.type} and {right.type} together.", hint)
    if "number" in kinds:
        if node.op in "/%":
            raise refuse(
                f"{node.op} takes whole numbers alone.", "Multiply: write a > 2 * b for a / b > 2."
            )
        return replace(node, left=_as(left, NUMBER), right=_as(right, NUMBER), type=NUMBER)
    low, high = exact_range(node.op, left.type, right.type)
    kind = whole(max(low, -LARGEST), min(high, LARGEST))
    if kind.low > kind.high:
        return Literal(value=None, type=whole(0, 0), place=node.place)
    return replace(node, left=left, right=right, type=kind)


def _later(node: Arithmetic, left: Node, right: Node, refuse: Refuse) -> Node:
    if right.type.kind != "duration" and node.op == "+":
        left, right = right, left
    if (
        left.type.kind not in ("date", "datetime")
        or node.op not in "+-"
        or not (isinstance(right, Literal) and isinstance(right.value, int))
    ):
        raise _mixture(node.op, left.type, right.type, refuse)
    amount = right.value if node.op == "+" else -right.value
    if left.type.kind == "date":
        if amount % DAY:
            raise refuse("A date can be moved by whole days alone.", "Write INTERVAL '3' DAY.")
        amount //= DAY
    elif left.type.fine:
        amount *= 1000
    return Later(part=left, amount=amount, type=left.type, place=node.place)


def called(node: Call, part: Node, refuse: Refuse) -> Node:
    """A function with the types that it takes and gives."""
    name = node.function
    if name in PARTS:
        fits = {"date": _OF_DATES, "time": _OF_TIMES, "datetime": PARTS}.get(part.type.kind, ())
        if name not in fits:
            raise refuse(
                f"{name} is no part of {part.type}.", "Parts are those of dates, moments or times."
            )
        return replace(node, part=part, type=whole(*_RANGES[name]))
    if name == "ABS":
        require(part, "integer", "number", what=name, refuse=refuse)
        kind = NUMBER if part.type.kind == "number" else whole(*absolute_range(part.type))
        return replace(node, part=part, type=kind)
    require(part, "text", what=name, refuse=refuse)
    return replace(node, part=part, type=bits(32, signed=False) if name == "LENGTH" else TEXT)


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
                f"This is {'text' if bound.type.kind == 'text' else a(str(bound.type))}, not true "
                "or false.",
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
        return compared(node.op, left, right, self._refuser(node))

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
            test = with_literal("=", part, value, refuse)
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
        ends = (compared(">=", part, low, refuse), compared("<=", part, high, refuse))
        return _let(values, syntax.Both(op="AND", members=ends, type=BOOLEAN, place=node.place))

    def like(self, node: syntax.Like) -> syntax.Node:
        part = self.bind(node.part)
        require(part, "text", what="LIKE", refuse=self._refuser(node))
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
        same, kind = unified(found, "CASE", self._refuser(node))
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
            _folded(compared("=", sides[0], side, self._refuser(test)))
            for side, test in zip(sides[1:], tests, strict=True)
        ]

    def coalesce(self, node: syntax.Coalesce) -> syntax.Node:
        truth = any(isinstance(p, syntax.Literal) and p.type == BOOLEAN for p in node.members)
        values = [(self.boolean if truth else self.bind)(part) for part in node.members]
        same, kind = unified(values, "COALESCE", self._refuser(node))
        return replace(node, members=tuple(same), type=kind)

    def arithmetic(self, node: syntax.Arithmetic) -> syntax.Node:
        left, right = self.bind(node.left), self.bind(node.right)
        return arithmetic(node, left, right, self._refuser(node))

    def call(self, node: syntax.Call) -> syntax.Node:
        return called(node, self.bind(node.part), self._refuser(node))


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
