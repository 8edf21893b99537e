"""Text to tree: sqlglot reads it, and a closed table of its nodes decides.

Each handler takes the arguments that it names; a node of another class, or an argument that is not
named, is refused with its place. Nothing that sqlglot makes leaves this file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from onesided.conditions import _literals as literals
from onesided.conditions._source import DEEPEST, MOST_WORDS, PARTS, WORKS, Source
from onesided.conditions._tree import (
    Arithmetic,
    Between,
    Both,
    Call,
    Case,
    Coalesce,
    Column,
    Compare,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    OneOf,
)
from onesided.errors import ConditionError
from onesided.schema import BOOLEAN, TEXT, whole


def parse(text: str) -> Node:
    """The tree of a condition's text.

    Errors: ConditionError, showing the place, for anything that is not in the language.

    >>> str(parse("not(a=1 or b is null)"))
    'NOT ("a" = 1 OR "b" IS NULL)'
    """
    source = Source(text)
    source.check()
    reader = _Reader(source)
    try:
        tree = reader.read(reader.parsed(), 0)
        if _written_size(tree, {}) <= MOST_WORDS:
            return tree
        raise ConditionError(
            f"Written in full, the condition has more than {MOST_WORDS:,} words: CASE x WHEN y "
            "repeats x for each y.",
            hint="Compute a column first, and write the condition on that.",
        )
    except RecursionError:
        raise ConditionError(
            "The condition nests too deep to be read.",
            hint="Write it flatter, or compute a column first.",
        ) from None


_CONNECTIVES: Final = ("AND", "OR", "NOT")


def _written_size(node: Node, known: dict[int, int]) -> int:
    """How many nodes the canonical text has, in which shared parts are written each time."""
    if id(node) not in known:
        known[id(node)] = 1 + sum(_written_size(part, known) for part in node.parts)
    return known[id(node)]


class _Reader:
    """Turns sqlglot's nodes into ours."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def parsed(self) -> Any:
        """What sqlglot makes of the text. Errors: ConditionError where it cannot read it."""
        import sqlglot  # noqa: PLC0415 - 0.1 s, which only conditions need
        from sqlglot import exp  # noqa: PLC0415
        from sqlglot.errors import ParseError, SqlglotError  # noqa: PLC0415

        try:
            return sqlglot.parse_one(self._source.text, into=exp.Condition)
        except ParseError as error:
            raise self._unreadable(error) from None
        except (SqlglotError, ValueError, TypeError, AttributeError, LookupError):
            raise self._source.error("This is not a condition.", 0) from None

    def _unreadable(self, error: Any) -> ConditionError:
        first = (error.errors or [{}])[0]
        lines = self._source.text.split("\n")
        line = min(max(int(first.get("line") or 1), 1), len(lines))
        word = str(first.get("highlight") or "")
        # sqlglot counts columns to the end of the word.
        column = max(0, int(first.get("col") or 1) - max(len(word), 1))
        text = self._source.text
        place = min(sum(len(above) + 1 for above in lines[: line - 1]) + column, len(text))
        if word and not text[place + len(word) :].strip():
            reason = f"This cannot be read as a condition: it ends after {word!r}."
        else:
            reason = f"This cannot be read as a condition{f', at {word!r}' if word else ''}."
        name = self._reserved(place)
        hint = f'If {name} is a column, write it in double quotes: "{name}".' if name else WORKS
        return self._source.error(reason, place, hint)

    def _reserved(self, place: int) -> str:
        """The word at ``place`` or just before that SQL keeps for itself; "" where there is none.

        The parser stops at such a word, or at what it wanted to see after it.
        """
        import sqlglot  # noqa: PLC0415 - loaded already

        seen = [one for one in sqlglot.tokenize(self._source.text) if one.start <= place]
        for one in reversed(seen[-3:]):
            kept = one.token_type.name not in ("VAR", "IDENTIFIER", "STRING")
            if kept and one.text.isidentifier() and one.text.upper() not in _CONNECTIVES:
                return str(one.text)
        return ""

    def read(self, node: Any, depth: int) -> Node:
        """One node and all below it."""
        handler = _HANDLERS.get(type(node).__name__)
        if handler is None:
            raise self.refused(node, f"{_named(node)} is not in the language of conditions.")
        if depth > DEEPEST:
            raise self.refused(node, f"The condition nests deeper than {DEEPEST} levels.")
        return handler(self, node, depth + 1)

    def refused(self, node: Any, reason: str, hint: str = WORKS) -> ConditionError:
        """An error that shows where ``node`` stands."""
        return self._source.error(reason, self.place(node), hint)

    def place(self, node: Any) -> int:
        """The offset of a node: its own, or that of the first word below it."""
        starts = (part.meta.get("start") for part in node.walk())
        own = node.meta.get("start")
        return own if own is not None else min((s for s in starts if s is not None), default=0)

    def arguments(self, node: Any, *names: str) -> tuple[Any, ...]:
        """The node's arguments of these names. Errors: ConditionError if it has others."""
        for name, value in node.args.items():
            if name not in names and value not in (None, False, [], ""):
                shown = name.replace("_", " ").strip().upper()
                raise self.refused(node, f"{_named(node)} cannot have {shown} here.")
        return tuple(node.args.get(name) for name in names)

    def both(self, node: Any, depth: int) -> Node:
        """AND or OR, with all members of a chain at one level."""
        kind, members, waiting = type(node), [], [node]
        while waiting:
            part = waiting.pop()
            inner = part
            while type(inner).__name__ == "Paren" and type(inner.this).__name__ in (
                "Paren",
                kind.__name__,
            ):
                (inner,) = self.arguments(inner, "this")
            if type(inner) is kind:
                left, right = self.arguments(inner, "this", "expression")
                waiting += [right, left]
            else:
                members.append(self.read(part, depth))
        return Both(op=kind.__name__.upper(), members=tuple(members), place=self.place(node))

    def compare(self, node: Any, depth: int) -> Node:
        left, right = self.arguments(node, "this", "expression")
        op = _COMPARISONS[type(node).__name__]
        return Compare(
            op=op,
            left=self.read(left, depth),
            right=self.read(right, depth),
            place=self.place(node),
        )

    def arithmetic(self, node: Any, depth: int) -> Node:
        # safe and typed: what the dialect says about division; here it is the same for all.
        left, right, *_ = self.arguments(node, "this", "expression", "safe", "typed")
        op = _ARITHMETIC[type(node).__name__]
        return Arithmetic(
            op=op,
            left=self.read(left, depth),
            right=self.read(right, depth),
            place=self.place(node),
        )

    def paren(self, node: Any, depth: int) -> Node:
        (inner,) = self.arguments(node, "this")
        return self.read(inner, depth)

    def negation(self, node: Any, depth: int) -> Node:
        (inner,) = self.arguments(node, "this")
        return Not(part=self.read(inner, depth), place=self.place(node))

    def minus(self, node: Any, depth: int) -> Node:
        (inner,) = self.arguments(node, "this")
        part, place = self.read(inner, depth), self.place(node)
        if isinstance(part, Literal) and isinstance(part.value, int | Decimal):
            return literals.negated(part)
        zero = Literal(value=0, type=whole(0, 0), place=place)
        return Arithmetic(op="-", left=zero, right=part, place=place)

    def is_null(self, node: Any, depth: int) -> Node:
        left, right = self.arguments(node, "this", "expression")
        if type(right).__name__ != "Null":
            raise self.refused(
                node, "IS takes NULL alone.", "Write x IS NULL, x IS NOT NULL, or x = TRUE."
            )
        return IsNull(part=self.read(left, depth), place=self.place(node))

    def one_of(self, node: Any, depth: int) -> Node:
        left, values = self.arguments(node, "this", "expressions")
        if not values:
            raise self.refused(
                node, "IN needs a list of literals.", "Write x IN (1, 2), or x IN ('a', 'b')."
            )
        found = [self.read(value, depth) for value in values]
        literal = tuple(value for value in found if isinstance(value, Literal))
        for value in found:
            if not isinstance(value, Literal):
                raise self._source.error(
                    "IN takes literals alone.", value.place, "Write x = y OR x = z."
                )
        return OneOf(part=self.read(left, depth), values=literal, place=self.place(node))

    def between(self, node: Any, depth: int) -> Node:
        inner = (self.read(part, depth) for part in self.arguments(node, "this", "low", "high"))
        part, low, high = inner
        return Between(part=part, low=low, high=high, place=self.place(node))

    def like(self, node: Any, depth: int) -> Node:
        left, right, negate = self.arguments(node, "this", "expression", "negate")
        pattern = self.read(right, depth)
        if not (isinstance(pattern, Literal) and isinstance(pattern.value, str)):
            raise self.refused(node, "LIKE takes a text.", "Write x LIKE 'a%'.")
        place = self.place(node)
        found = Like(part=self.read(left, depth), pattern=pattern.value, place=place)
        return Not(part=found, place=place) if negate else found

    def case(self, node: Any, depth: int) -> Node:
        subject, ifs, default = self.arguments(node, "this", "ifs", "default")
        left = self.read(subject, depth) if subject is not None else None
        branches = []
        for branch in ifs:
            when, then = self.arguments(branch, "this", "true")
            test = self.read(when, depth)
            if left is not None:
                test = Compare(op="=", left=left, right=test, place=test.place)
            branches.append((test, self.read(then, depth)))
        nothing = default is None or type(default).__name__ == "Null"
        return Case(
            branches=tuple(branches),
            otherwise=None if nothing else self.read(default, depth),
            place=self.place(node),
        )

    def coalesce(self, node: Any, depth: int) -> Node:
        first, others = self.arguments(node, "this", "expressions")
        members = tuple(self.read(part, depth) for part in (first, *(others or ())))
        return Coalesce(members=members, place=self.place(node))

    def function(self, node: Any, depth: int) -> Node:
        (inner,) = self.arguments(node, "this")
        name = _FUNCTIONS[type(node).__name__]
        return Call(function=name, part=self.read(inner, depth), place=self.place(node))

    def extract(self, node: Any, depth: int) -> Node:
        unit, inner = self.arguments(node, "this", "expression")
        name = str(getattr(unit, "this", unit)).upper()
        if name not in PARTS or type(unit).__name__ != "Var":
            hint = f"The parts are {', '.join(PARTS)}; write EXTRACT(YEAR FROM x)."
            raise self.refused(node, f"EXTRACT does not know the part {name[:40]}.", hint)
        return Call(function=name, part=self.read(inner, depth), place=self.place(node))

    def substring(self, node: Any, depth: int) -> Node:
        inner, *numbers = self.arguments(node, "this", "start", "length")
        given = [self.read(number, depth) for number in numbers if number is not None]
        values = [v.value for v in given if isinstance(v, Literal) and type(v.value) is int]
        low = (1, 0)
        if (
            not values
            or len(values) != len(given)
            or numbers[0] is None
            or any(not low[at] <= v < 2**31 for at, v in enumerate(values))
        ):
            raise self.refused(
                node,
                "SUBSTRING takes whole numbers: a start from 1, and a length from 0.",
                "Write SUBSTRING(x, 1, 3).",
            )
        return Call(
            function="SUBSTRING",
            part=self.read(inner, depth),
            arguments=tuple(values),
            place=self.place(node),
        )

    def column(self, node: Any, _: int) -> Node:
        (identifier,) = self.arguments(node, "this")
        if type(identifier).__name__ != "Identifier":
            raise self.refused(node, f"{_named(identifier)} is not a column.")
        name, _quoted = self.arguments(identifier, "this", "quoted")
        return Column(name=str(name), place=self.place(node))

    def literal(self, node: Any, _: int) -> Node:
        text, is_text = self.arguments(node, "this", "is_string")
        place = self.place(node)
        if is_text:
            return Literal(value=str(text), type=TEXT, place=place)
        return literals.number(str(text), source=self._source, place=place)

    def boolean(self, node: Any, _: int) -> Node:
        (value,) = self.arguments(node, "this")
        return Literal(value=bool(value), type=BOOLEAN, place=self.place(node))

    def cast(self, node: Any, _: int) -> Node:
        text, to, *_rest = self.arguments(node, "this", "to", "safe")
        kind = str(getattr(to.this, "name", to.this)).upper()
        is_text = type(text).__name__ == "Literal" and text.args.get("is_string")
        if not is_text or kind not in literals.MOMENTS:
            raise self.refused(
                node, "A value cannot be cast.", "Declare the column's type in a schema."
            )
        self.arguments(to, "this", "nested")
        return literals.moment(str(text.this), kind, source=self._source, place=self.place(node))

    def interval(self, node: Any, _: int) -> Node:
        amount, unit = self.arguments(node, "this", "unit")
        text = str(amount.this) if type(amount).__name__ == "Literal" else ""
        name = str(getattr(unit, "this", "")).upper()
        return literals.interval(text, name, source=self._source, place=self.place(node))


def _named(node: Any) -> str:
    """What a person would call a node of sqlglot's."""
    kind = type(node).__name__
    if kind == "Anonymous":
        return f"{str(node.this)[:60]}(...)"
    return _WORDS.get(kind, kind.upper())


_WORDS: Final[Mapping[str, str]] = {
    "Null": "NULL, except after IS and ELSE,",
    "Tuple": "A list",
    "Escape": "ESCAPE",
    "Concat": "Text after text",
    "Star": "*",
    "EQ": "=",
    "In": "IN",
    "Cast": "A literal",
}
_COMPARISONS: Final = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_ARITHMETIC: Final = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%"}
_FUNCTIONS: Final = {
    "Abs": "ABS",
    "Lower": "LOWER",
    "Upper": "UPPER",
    "Length": "LENGTH",
    "Trim": "TRIM",
    "Year": "YEAR",
    "Month": "MONTH",
    "Day": "DAY",
    "Hour": "HOUR",
    "Minute": "MINUTE",
    "Second": "SECOND",
    "DayOfWeekIso": "ISODOW",
}
_HANDLERS: Final[Mapping[str, Callable[[_Reader, Any, int], Node]]] = {
    **dict.fromkeys(_COMPARISONS, _Reader.compare),
    **dict.fromkeys(_ARITHMETIC, _Reader.arithmetic),
    **dict.fromkeys(_FUNCTIONS, _Reader.function),
    "And": _Reader.both,
    "Or": _Reader.both,
    "Not": _Reader.negation,
    "Paren": _Reader.paren,
    "Neg": _Reader.minus,
    "Is": _Reader.is_null,
    "In": _Reader.one_of,
    "Between": _Reader.between,
    "Like": _Reader.like,
    "Case": _Reader.case,
    "Coalesce": _Reader.coalesce,
    "Extract": _Reader.extract,
    "Substring": _Reader.substring,
    "Column": _Reader.column,
    "Literal": _Reader.literal,
    "Boolean": _Reader.boolean,
    "Cast": _Reader.cast,
    "Interval": _Reader.interval,
}
