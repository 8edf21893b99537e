"""Text to tree: sqlglot reads it, and a closed table of its nodes decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from onesided._english import a, pointed
from onesided.conditions import _tree as syntax
from onesided.conditions._tree import Node
from onesided.errors import ConditionError
from onesided.schema import (
    BOOLEAN,
    DATE,
    DAY,
    DURATION,
    LARGEST,
    NUMBER,
    TEXT,
    TIME,
    Type,
    moment_type,
    read,
    whole,
)

# A condition's text: its size, its words, and the place that an error is about.

LONGEST: Final = 100_000  # characters
MOST_WORDS: Final = 20_000
DEEPEST: Final = 64

FUNCTIONS: Final = frozenset(
    ["ABS", "COALESCE", "EXTRACT", "LENGTH", "LOWER", "MOD", "SUBSTR", "SUBSTRING", "TRIM", "UPPER"]
)
PARTS: Final = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "ISODOW")
# Words that may stand before a parenthesis without being a function.
_KEYWORDS: Final = frozenset(
    ["AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "CASE", "WHEN", "THEN", "ELSE", "FROM"]
)
_CLOSING: Final = frozenset(["END", "NULL", "TRUE", "FALSE"])
_LENGTHS: Final = frozenset(
    [*("DAY", "HOUR", "MINUTE", "SECOND"), *("DAYS", "HOURS", "MINUTES", "SECONDS")]
)
_LITERALS: Final = frozenset(["DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIME", "INTERVAL"])
_SIGNS: Final = ("(", ")", ",", "=", "<>", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_BEFORE_SIGN: Final = ("", "(", ",", "NOT", "-", "+", "~")
WORKS: Final = (
    "Conditions are made of columns, literals, = <> < <= > >=, AND OR NOT, IS NULL, IN, BETWEEN, "
    "LIKE, CASE, COALESCE, + - * / %, ABS LOWER UPPER LENGTH TRIM SUBSTRING EXTRACT, and literals "
    "such as 'text', 18, DATE '2024-01-31' and INTERVAL '3' DAY (docs/conditions.md)."
)


def _is_value(word: str) -> bool:
    """Whether a word is a name, a number or a quoted text."""
    if word[:1] in ("'", '"') or word[:1].isdecimal():
        return bool(word)
    kept = word in _KEYWORDS | _LITERALS | _CLOSING | {"IS", "FOR"}
    return _WORD.fullmatch(word) is not None and not kept


@dataclass(frozen=True, slots=True)
class Source:
    """The text, for errors that show a place in it."""

    text: str

    def error(self, reason: str, place: int, hint: str = WORKS) -> ConditionError:
        """An error about ``place``, an offset, with the line and a caret under it."""
        words, line, column = pointed(self.text, place)
        return ConditionError(
            f"{reason}\n{words}", hint=hint, place=place, line=line, column=column
        )

    def check(self) -> list[tuple[str, int]]:
        """The words; refuse what is too large, too deep, or a sign or function of no condition.

        Errors: ConditionError. A parser that is given hostile text can take for ever, or all the
        memory, so this is found before one sees it.
        """
        if len(self.text) > LONGEST:
            raise ConditionError(
                f"The condition has {len(self.text):,} characters; at most {LONGEST:,} are read.",
                hint="Compute a column first, and write the condition on that.",
            )
        if not self.text.strip():
            raise ConditionError("The condition is empty.", hint='Write one such as "age < 18".')
        for place, sign in enumerate(self.text):
            if sign == "\0" or "\ud800" <= sign <= "\udfff":
                raise self.error(f"The character {sign!a} is not text.", place, "Leave it out.")
        depth = _Depth(self)
        words = list(self._words())
        for number, (word, place) in enumerate(words):
            following = words[number + 1][0] if number + 1 < len(words) else ""
            first = word[0]
            if first in "'\"" or first.isdecimal() or (first == "." and word != "."):
                known = first != '"' or following != "("
            elif _WORD.fullmatch(word):
                known = following not in ("(", "'") or self._may_precede(word, following)
            else:
                known = word in _SIGNS
            if not known:
                what = f"{word}(...)" if following == "(" and word not in _SIGNS else word
                raise self.error(f"{what} is not in the language of conditions.", place)
            depth.add(word, place)
        return words

    def check_order(self, words: Sequence[tuple[str, int]]) -> None:
        """Refuse what a parser read over: brackets, commas, signs and words too many.

        Errors: ConditionError. No tree shows them, so it goes by words.
        """
        opened: list[int] = []
        before = ""
        for (word, place), (after, _) in pairwise([*words, ("", 0)]):
            if word == "(":
                opened.append(place)
            if word == ")" and not opened:
                raise self.error("This bracket closes none.", place, "Leave it out.")
            if word == ")":
                opened.pop()
            lacks = ("(", ",", "FROM", "") if word in (",", "FROM") else (",", "FROM")
            if word in (",", ")", "FROM") and before in lacks:
                raise self.error("Nothing stands before this.", place, "Leave out a word.")
            sign = word == "+" and not (_is_value(before) or before in (")", *_CLOSING))
            if sign and (after == "'" or not (_is_value(after) or after in ("(", "+", "-"))):
                raise self.error("A sign stands before a number.", place, "Leave it out.")
            length = before[:1].isdecimal() or before == "'"
            if _is_value(before) and _is_value(word) and not (length and word in _LENGTHS):
                raise self.error("Nothing joins these two.", place, "Write a sign, AND or OR.")
            before = word
        if opened:
            raise self.error("This bracket is never closed.", opened[-1], "Close it with ).")

    def _words(self) -> Iterator[tuple[str, int]]:
        """Words and signs with their offsets; quoted ones begin with their quote."""
        import sqlglot  # noqa: PLC0415 - 0.1 s, which only conditions need
        from sqlglot.errors import SqlglotError  # noqa: PLC0415

        try:
            tokens = sqlglot.tokenize(self.text)
        except SqlglotError:
            raise self.error(
                "A quote is opened and never closed, or a comment.",
                max(self.text.rfind(quote) for quote in ("'", '"', "/*", "`")) if self.text else 0,
                "Write 'it''s' for text with a quote in it.",
            ) from None
        if len(tokens) > MOST_WORDS:
            raise ConditionError(
                f"The condition has {len(tokens):,} words; at most {MOST_WORDS:,} are read.",
                hint="Compute a column first, and write the condition on that.",
            )
        for token in tokens:
            if token.comments:
                place = max(self.text.find("--"), self.text.find("/*"), 0)
                raise self.error("A condition has no comments.", place, "Leave them out.")
            first = self.text[token.start]
            yield (first if first in "'\"" else token.text.upper()), token.start

    @staticmethod
    def _may_precede(word: str, following: str) -> bool:
        """Whether a word may stand before a parenthesis, or before a text."""
        if following == "(":
            return word in FUNCTIONS | _KEYWORDS or word in PARTS
        return word in _KEYWORDS | _LITERALS


class _Depth:
    """How deep words nest, counted as a parser that descends would."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._levels = [0]  # signs and NOTs before the operand that comes next
        self._before = ""

    def add(self, word: str, place: int) -> None:
        if word in ("(", "CASE"):
            self._levels.append(0)
        elif word in (")", "END") and len(self._levels) > 1:
            self._levels.pop()
        elif word == "NOT" or (word in "+-" and self._before in _BEFORE_SIGN):
            self._levels[-1] += 1
        elif word in ("AND", "OR", ",", "WHEN", "THEN", "ELSE"):
            self._levels[-1] = 0
        self._before = word
        if len(self._levels) + sum(self._levels) > DEEPEST:
            raise self._source.error(
                f"The condition nests deeper than {DEEPEST} levels.",
                place,
                "Write it flatter, or compute a column first.",
            )


# Text to tree: sqlglot reads it, and a closed table of its nodes decides.
#
# Each handler takes the arguments that it names; a node of another class, or an argument that is
# not named, is refused with its place. Nothing that sqlglot makes leaves this file.


@lru_cache(maxsize=256, typed=True)
def parse(text: str) -> syntax.Node:
    """The tree of a condition's text.

    Errors: ConditionError, showing the place, for anything that is not in the language.

    >>> str(parse("not(a=1 or b is null)"))
    'NOT ("a" = 1 OR "b" IS NULL)'
    """
    source = Source(text)
    words = source.check()
    reader = _Reader(source)
    try:
        tree = reader.read(reader.parsed(), 0)
        source.check_order(words)
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
        return syntax.Both(op=kind.__name__.upper(), members=tuple(members), place=self.place(node))

    def compare(self, node: Any, depth: int) -> Node:
        left, right = self.arguments(node, "this", "expression")
        op = _COMPARISONS[type(node).__name__]
        if {type(left).__name__, type(right).__name__} & _COMPARISONS.keys():
            raise self.refused(
                node,
                f"Two comparisons in a row: the second {op} would compare true or false.",
                "Write AND between them, such as a < b AND b < c, or put one in brackets.",
            )
        return syntax.Compare(
            op=op,
            left=self.read(left, depth),
            right=self.read(right, depth),
            place=self.place(node),
        )

    def arithmetic(self, node: Any, depth: int) -> Node:
        # safe and typed: what the dialect says about division; here it is the same for all.
        left, right, *_ = self.arguments(node, "this", "expression", "safe", "typed")
        op = _ARITHMETIC[type(node).__name__]
        return syntax.Arithmetic(
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
        return syntax.Not(part=self.read(inner, depth), place=self.place(node))

    def minus(self, node: Any, depth: int) -> Node:
        (inner,) = self.arguments(node, "this")
        part, place = self.read(inner, depth), self.place(node)
        if isinstance(part, syntax.Literal) and isinstance(part.value, int | Decimal):
            return negated(part)
        zero = syntax.Literal(value=0, type=whole(0, 0), place=place)
        return syntax.Arithmetic(op="-", left=zero, right=part, place=place)

    def is_null(self, node: Any, depth: int) -> Node:
        left, right = self.arguments(node, "this", "expression")
        if type(right).__name__ != "Null":
            raise self.refused(
                node, "IS takes NULL alone.", "Write x IS NULL, x IS NOT NULL, or x = TRUE."
            )
        return syntax.IsNull(part=self.read(left, depth), place=self.place(node))

    def one_of(self, node: Any, depth: int) -> Node:
        left, values = self.arguments(node, "this", "expressions")
        if not values:
            raise self.refused(
                node, "IN needs a list of literals.", "Write x IN (1, 2), or x IN ('a', 'b')."
            )
        found = [self.read(value, depth) for value in values]
        literal = tuple(value for value in found if isinstance(value, syntax.Literal))
        for value in found:
            if not isinstance(value, syntax.Literal):
                raise self._source.error(
                    "IN takes literals alone.", value.place, "Write x = y OR x = z."
                )
        return syntax.OneOf(part=self.read(left, depth), values=literal, place=self.place(node))

    def between(self, node: Any, depth: int) -> Node:
        inner = (self.read(part, depth) for part in self.arguments(node, "this", "low", "high"))
        part, low, high = inner
        return syntax.Between(part=part, low=low, high=high, place=self.place(node))

    def like(self, node: Any, depth: int) -> Node:
        left, right, negate = self.arguments(node, "this", "expression", "negate")
        pattern = self.read(right, depth)
        if not (isinstance(pattern, syntax.Literal) and isinstance(pattern.value, str)):
            raise self.refused(node, "LIKE takes a text.", "Write x LIKE 'a%'.")
        place = self.place(node)
        found = syntax.Like(part=self.read(left, depth), pattern=pattern.value, place=place)
        return syntax.Not(part=found, place=place) if negate else found

    def case(self, node: Any, depth: int) -> Node:
        subject, ifs, default = self.arguments(node, "this", "ifs", "default")
        left = self.read(subject, depth) if subject is not None else None
        branches = []
        for branch in ifs:
            when, then = self.arguments(branch, "this", "true")
            test = self.read(when, depth)
            if left is not None:
                test = syntax.Compare(op="=", left=left, right=test, place=test.place)
            branches.append((test, self.read(then, depth)))
        nothing = default is None or type(default).__name__ == "Null"
        return syntax.Case(
            branches=tuple(branches),
            otherwise=None if nothing else self.read(default, depth),
            place=self.place(node),
        )

    def coalesce(self, node: Any, depth: int) -> Node:
        first, others = self.arguments(node, "this", "expressions")
        members = tuple(self.read(part, depth) for part in (first, *(others or ())))
        return syntax.Coalesce(members=members, place=self.place(node))

    def function(self, node: Any, depth: int) -> Node:
        (inner,) = self.arguments(node, "this")
        name = _FUNCTIONS[type(node).__name__]
        return syntax.Call(function=name, part=self.read(inner, depth), place=self.place(node))

    def extract(self, node: Any, depth: int) -> Node:
        unit, inner = self.arguments(node, "this", "expression")
        name = str(getattr(unit, "this", unit)).upper()
        if name not in PARTS or type(unit).__name__ != "Var":
            hint = f"The parts are {', '.join(PARTS)}; write EXTRACT(YEAR FROM x)."
            raise self.refused(node, f"EXTRACT does not know the part {name[:40]}.", hint)
        return syntax.Call(function=name, part=self.read(inner, depth), place=self.place(node))

    def substring(self, node: Any, depth: int) -> Node:
        inner, *numbers = self.arguments(node, "this", "start", "length")
        given = [self.read(number, depth) for number in numbers if number is not None]
        values = [v.value for v in given if isinstance(v, syntax.Literal) and type(v.value) is int]
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
        return syntax.Call(
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
        return syntax.Column(name=str(name), place=self.place(node))

    def literal(self, node: Any, _: int) -> Node:
        text, is_text = self.arguments(node, "this", "is_string")
        place = self.place(node)
        if is_text:
            return syntax.Literal(value=str(text), type=TEXT, place=place)
        return number(str(text), source=self._source, place=place)

    def boolean(self, node: Any, _: int) -> Node:
        (value,) = self.arguments(node, "this")
        return syntax.Literal(value=bool(value), type=BOOLEAN, place=self.place(node))

    def cast(self, node: Any, _: int) -> Node:
        text, to, *_rest = self.arguments(node, "this", "to", "safe")
        kind = str(getattr(to.this, "name", to.this)).upper()
        is_text = type(text).__name__ == "Literal" and text.args.get("is_string")
        if not is_text or kind not in MOMENTS:
            raise self.refused(
                node, "A value cannot be cast.", "Declare the column's type in a schema."
            )
        self.arguments(to, "this", "nested")
        return moment(str(text.this), kind, source=self._source, place=self.place(node))

    def interval(self, node: Any, _: int) -> Node:
        amount, unit = self.arguments(node, "this", "unit")
        text = str(amount.this) if type(amount).__name__ == "Literal" else ""
        name = str(getattr(unit, "this", "")).upper()
        return interval(text, name, source=self._source, place=self.place(node))


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


# Literals of a condition's text: numbers, dates and moments, lengths of time.

_NUMBER: Final = re.compile(r"[0-9]{1,400}(\.[0-9]{0,400})?([eE][+-]?[0-9]{1,3})?")
_UNITS: Final = {"DAY": DAY, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_AMOUNT: Final = re.compile(r"([+-]?)([0-9]{1,12})(?:\.([0-9]{1,6}))?")
_LONGEST: Final = 4_000_000 * DAY  # more than lies between the years 1 and 9999
MOMENTS: Final[dict[str, tuple[Type, ...]]] = {
    "DATE": (DATE,),
    "TIMESTAMP": (moment_type(), moment_type(zoned=True), DATE),
    "TIMESTAMPTZ": (moment_type(zoned=True),),
    "TIME": (TIME,),
}
_WRITTEN: Final = {
    "DATE": "DATE '2024-01-31'",
    "TIMESTAMP": "TIMESTAMP '2024-01-31 08:30:00'",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2024-01-31 08:30:00+01:00'",
    "TIME": "TIME '08:30:00'",
}


def number(text: str, *, source: Source, place: int) -> syntax.Literal:
    """A whole number, exactly, or one with a point or an exponent."""
    if not _NUMBER.fullmatch(text):
        raise source.error(f"{text[:40]} is not a number.", place, "Write 18, 1.5 or 2e6.")
    if text.isdecimal():
        value = int(text)
        if value > LARGEST:
            raise source.error("This number has more than 38 digits.", place, "Write it as 1e40.")
        return syntax.Literal(value=value, type=whole(value, value), place=place)
    exact = Decimal(text)
    if float(exact) in (float("inf"), float("-inf")):
        raise source.error(
            "This number is larger than 64-bit numbers go.", place, "They go up to 1.8e308."
        )
    return syntax.Literal(value=exact, type=NUMBER, place=place)


def negated(literal: syntax.Literal) -> syntax.Literal:
    """The literal with the other sign."""
    if isinstance(literal.value, int):
        return replace(literal, value=-literal.value, type=whole(-literal.value, -literal.value))
    return replace(literal, value=-Decimal(str(literal.value)))


def moment(text: str, kind: str, *, source: Source, place: int) -> syntax.Literal:
    """DATE, TIMESTAMP, TIMESTAMPTZ or TIME and a text in ISO 8601."""
    for made in MOMENTS[kind]:
        value = read(str(made), text)
        if value is None:
            continue
        if kind == "TIMESTAMP" and made is DATE:
            return syntax.Literal(value=int(value) * DAY, type=moment_type(), place=place)
        return syntax.Literal(value=value, type=made, place=place)
    raise source.error(
        f"{text[:40]!a} is not {a(kind.lower())} in ISO 8601.", place, f"Write {_WRITTEN[kind]}."
    )


def interval(text: str, unit: str, *, source: Source, place: int) -> syntax.Literal:
    """INTERVAL, an amount and a unit from days to seconds."""
    singular = unit.removesuffix("S")
    amount = _AMOUNT.fullmatch(text)
    if amount is None or singular not in _UNITS or (amount[3] and singular != "SECOND"):
        raise source.error(
            "An interval is an amount of days, hours, minutes or seconds.",
            place,
            "Write INTERVAL '3' DAY; months and years have no one length.",
        )
    value = int(amount[2]) * _UNITS[singular] + int((amount[3] or "").ljust(6, "0"))
    if value > _LONGEST:
        raise source.error(
            "This interval is longer than ten thousand years.", place, "Write a shorter one."
        )
    return syntax.Literal(value=-value if amount[1] == "-" else value, type=DURATION, place=place)
