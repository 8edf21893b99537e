"""Typed trees to an engine's own expressions: one walk for all engines, words from each.

An engine says how it writes each operation (:class:`Terms`); which operations, in which order, and
what is checked as it runs is decided here, once. Where types prove that nothing can overflow,
nothing is checked, and a plain comparison stays one. What an operation uses more than once gets a
name, so that an engine is handed no more than a few words for each node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from onesided.conditions import _tree as syntax
from onesided.conditions._bind import absolute_range, exact_range
from onesided.schema import DAY, FIRST_DAY, INTEGER, LARGEST, LAST_DAY, NUMBER, Type, whole

E = TypeVar("E")
WIDE: Final = whole(-LARGEST, LARGEST)
_OPPOSITE: Final = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_NO: Final = Type("boolean")
_LARGEST_NUMBER: Final = 1.7976931348623157e308


class Translator(Generic[E]):
    """Walks a typed tree with one engine's words.

    >>> import polars as pl
    >>> from onesided.conditions import Condition
    >>> from onesided.engine.polars._condition import PolarsTerms
    >>> from onesided.schema import bits
    >>> tree = Condition.parse("age < 18").bind({"age": bits(64)}).tree
    >>> words = Translator(PolarsTerms({"age": pl.Int64}))
    >>> ages = pl.DataFrame({"age": [7, 40, None]})
    >>> ages.select(a=words.picked(tree), b=words.not_false(tree)).rows()
    [(True, True), (False, False), (False, True)]
    """

    def __init__(self, terms: syntax.Terms[E], given: Sequence[E] = ()) -> None:
        self._terms, self._given = terms, given

    def three_valued(self, tree: syntax.Node) -> E:
        """True, false or null."""
        return self._value(tree)

    def where(self, tree: syntax.Node) -> E:
        """For a filter that keeps rows where it is true, and drops those where it is null."""
        return self._true(tree)

    def picked(self, tree: syntax.Node) -> E:
        """True where the condition is true, else false: never null."""
        return self._decided(self._true(tree))

    def not_false(self, tree: syntax.Node) -> E:
        """True where the condition is true or unknown, else false: never null."""
        return self._terms.negate(self._decided(self._false(tree)))

    def kept(self, rules: Sequence[tuple[syntax.Node, bool]], *, default: bool) -> E:
        """For a filter that keeps rows of some kinds, and drops those where it is null.

        rules: in order, the condition of a kind, which unknown meets, and whether it is kept.
        default: whether rows are kept that meet none. A plain comparison stays one where the rows
        are wanted of which it is false.
        """
        made: E | bool = default
        for tree, wanted in reversed(rules):
            if made is wanted:
                continue
            test = self.not_false(tree) if wanted else self._false(tree)
            if isinstance(made, bool):
                made = test
            else:
                made = self._terms.both("OR" if wanted else "AND", [test, made])
        return self._terms.literal(made, _NO) if isinstance(made, bool) else made

    def _decided(self, test: E) -> E:
        no = self._terms.literal(False, _NO)  # noqa: FBT003 - it is the value
        return self._terms.coalesce([test, no])

    def _true(self, node: syntax.Node) -> E:
        """True where the node is true, else false or null."""
        if isinstance(node, syntax.Both):
            return self._terms.both(node.op, [self._true(part) for part in node.members])
        if isinstance(node, syntax.Not):
            return self._false(node.part)
        if isinstance(node, syntax.Compare):
            return self._compared(node, node.op)
        if isinstance(node, syntax.OneOf):
            return self._among(node, self._value(node.part))
        if isinstance(node, syntax.Known):
            return self._known_as(node, wanted=True)
        return self._value(node)

    def _false(self, node: syntax.Node) -> E:
        """True where the node is false, else false or null."""
        if isinstance(node, syntax.Both):
            op = "OR" if node.op == "AND" else "AND"
            return self._terms.both(op, [self._false(part) for part in node.members])
        if isinstance(node, syntax.Not):
            return self._true(node.part)
        if isinstance(node, syntax.Compare):
            return self._compared(node, _OPPOSITE[node.op])
        if isinstance(node, syntax.Known):
            return self._known_as(node, wanted=False)
        return self._terms.negate(self._value(node))

    def _known_as(self, node: syntax.Known, *, wanted: bool) -> E:
        if node.value is not wanted:
            return self._terms.literal(False, node.type)  # noqa: FBT003 - it is the value
        return self._terms.negate(self._terms.is_null(self._clean(node.part)))

    def _compared(self, node: syntax.Compare, op: str) -> E:
        if isinstance(node.right, syntax.Literal) and not _is_clean(node.left) and op != "<>":
            return self._near(op, node.left, self._value(node.right))
        return self._terms.compare(op, *self._sides(node))

    def _near(self, op: str, node: syntax.Node, literal: E) -> E:
        """A comparison with a number, which neither NaN nor an infinity passes.

        NaN is above every number in all engines, and is bounded away with the infinities.
        """
        part = self._value(node)
        if op == "=":
            return self._terms.compare(op, part, literal)
        above = op in (">", ">=")
        end = self._terms.literal(_LARGEST_NUMBER if above else -_LARGEST_NUMBER, NUMBER)
        low, high = (literal, end) if above else (end, literal)
        closed = "both" if op in (">=", "<=") else "right" if above else "left"
        return self._once(
            "between", [node], [part], lambda x: self._terms.between(x, low, high, closed)
        )

    def _once(
        self, word: str, nodes: Sequence[syntax.Node], parts: Sequence[E], use: Callable[..., E]
    ) -> E:
        """``use`` of the values of nodes, which it may write more than once if the word does."""
        if word not in self._terms.repeats or all(map(syntax.is_small, nodes)):
            return use(*parts)
        return self._terms.named(parts, use)

    def _within(self, node: syntax.Node, part: E, kind: Type, low: float, high: float) -> E:
        """A value of such a node, and null where it is not between these ends."""
        if low > high:
            return self._terms.literal(None, kind)
        first, last = (self._terms.literal(end, kind) for end in (low, high))

        def cut(x: E) -> E:
            return self._terms.case([(self._terms.between(x, first, last, "both"), x)], None, kind)

        return cut(part) if syntax.is_small(node) else self._terms.named([part], cut)

    def _value(self, node: syntax.Node) -> E:
        made: E = _VALUES[type(node)](self, node)
        return made

    def _clean(self, node: syntax.Node) -> E:
        """The value, and null instead of NaN and infinities."""
        value = self._value(node)
        if _is_clean(node):
            return value
        return self._within(node, value, NUMBER, -_LARGEST_NUMBER, _LARGEST_NUMBER)

    def _sides(self, node: syntax.Compare) -> tuple[E, E]:
        """Both sides in one width, and null instead of NaN and infinities."""
        left, right = node.left, node.right
        if left.type.kind != "integer":
            return self._clean(left), self._clean(right)
        if isinstance(right, syntax.Literal):
            kind = left.type if _is_narrow(left) else WIDE if _is_wide(left) else INTEGER
            return self._value(left), self._terms.literal(right.value, kind)
        wide = _is_wide(left) or _is_wide(right)
        return self._width(left, wide=wide), self._width(right, wide=wide)

    def _width(self, node: syntax.Node, *, wide: bool) -> E:
        """A whole number in 64 bits, or wide."""
        if isinstance(node, syntax.Literal):
            return self._terms.literal(node.value, WIDE if wide else INTEGER)
        value = self._value(node)
        if wide:
            return self._terms.wide(value)
        return self._terms.long(value) if _is_narrow(node) else value

    def column(self, node: syntax.Column) -> E:
        return self._terms.column(node.name, node.type)

    def literal(self, node: syntax.Literal) -> E:
        return self._terms.literal(node.value, node.type)

    def compare(self, node: syntax.Compare) -> E:
        return self._terms.compare(node.op, *self._sides(node))

    def both(self, node: syntax.Both) -> E:
        return self._terms.both(node.op, [self._value(part) for part in node.members])

    def negation(self, node: syntax.Not) -> E:
        return self._terms.negate(self._value(node.part))

    def is_null(self, node: syntax.IsNull) -> E:
        return self._terms.is_null(self._clean(node.part))

    def one_of(self, node: syntax.OneOf) -> E:
        return self._among(node, self._clean(node.part))

    def _among(self, node: syntax.OneOf, part: E) -> E:
        kind, values = node.part.type, [value.value for value in node.values]
        if kind.kind == "integer" and not _is_narrow(node.part):
            kind = WIDE if _is_wide(node.part) else INTEGER
        return self._once(
            f"one_of {kind.kind}",
            [node.part],
            [part],
            lambda x: self._terms.one_of(x, values, kind),
        )

    def like(self, node: syntax.Like) -> E:
        return self._terms.like(self._value(node.part), node.pattern)

    def case(self, node: syntax.Case) -> E:
        kind, last = _width_of(node), node.otherwise
        branches = [(self.picked(when), self._member(then, kind)) for when, then in node.branches]
        otherwise = None if last is None else self._member(last, kind)
        return self._terms.case(branches, otherwise, kind)

    def coalesce(self, node: syntax.Coalesce) -> E:
        kind = _width_of(node)
        return self._terms.coalesce([self._member(part, kind) for part in node.members])

    def _member(self, part: syntax.Node, kind: Type) -> E:
        """One of several values that have one type and one width."""
        if kind.kind == "integer":
            return self._width(part, wide=not kind.is_long)
        return self._clean(part)

    def arithmetic(self, node: syntax.Arithmetic) -> E:
        if node.type.kind == "number":
            return self._terms.numbers(node.op, self._value(node.left), self._value(node.right))
        wide, sides = _is_wide(node), [node.left, node.right]
        left, right = (self._width(side, wide=wide) for side in sides)
        if node.op in "/%":
            positive = node.left.type.low >= 0 and node.right.type.low >= 0
            if node.right.type.low <= 0 <= node.right.type.high:
                right = self._once(
                    "non_zero", sides[1:], [right], lambda x: self._terms.non_zero(x, wide=wide)
                )
            return self._once(
                "divided",
                sides,
                [left, right],
                lambda x, y: self._terms.divided(node.op, x, y, wide=wide, positive=positive),
            )
        low, high = exact_range(node.op, node.left.type, node.right.type)
        checked = not whole(low, high).is_bounded
        return self._once(
            "whole",
            sides,
            [left, right],
            lambda x, y: self._terms.whole(node.op, x, y, wide=wide, checked=checked),
        )

    def call(self, node: syntax.Call) -> E:
        if node.function == "ABS":
            if node.type.kind == "number":
                return self._once(
                    "absolute", [node.part], [self._value(node.part)], self._terms.absolute
                )
            part = self._width(node.part, wide=_is_wide(node))
            return self._once("absolute", [node.part], [part], self._terms.absolute)
        kind = node.part.type
        if kind.kind == "text":
            return self._once(
                node.function,
                [node.part],
                [self._value(node.part)],
                lambda x: self._terms.text(node.function, x, node.arguments),
            )
        return self._once(
            "extract",
            [node.part],
            [self._calendar(node.part)],
            lambda x: self._terms.extract(node.function, x, kind),
        )

    def _calendar(self, node: syntax.Node, amount: int = 0) -> E:
        """A moment, and null if it, or it some time later, is of no year from 1 to 9999."""
        kind = node.type
        if kind.kind == "time" or kind.fine:
            return self._value(node)
        unit = 1 if kind.kind == "date" else DAY
        low = max(FIRST_DAY * unit, FIRST_DAY * unit - amount)
        high = min((LAST_DAY + 1) * unit - 1, (LAST_DAY + 1) * unit - 1 - amount)
        return self._within(node, self._value(node), kind, low, high)

    def known(self, node: syntax.Known) -> E:
        known = self._terms.negate(self._terms.is_null(self._clean(node.part)))
        value = self._terms.literal(node.value, node.type)
        return self._terms.case([(known, value)], None, node.type)

    def convert(self, node: syntax.Convert) -> E:
        kind = node.part.type
        if node.type.kind == "number":
            return self._terms.number(self._value(node.part), wide=_is_wide(node.part))
        if node.type.kind == "integer":
            part = self._value(node.part)
            return self._terms.wide(self._within(node.part, part, kind, -LARGEST, LARGEST))
        day = self._calendar(node.part)
        moment = Type("datetime", zoned=node.type.zoned)
        made = self._terms.midnight(day, moment) if kind.kind == "date" else day
        if not node.type.fine:
            return made
        return self._once("finer", [node.part], [made], lambda x: self._terms.finer(x, moment))

    def later(self, node: syntax.Later) -> E:
        return self._terms.later(self._calendar(node.part, node.amount), node.amount, node.type)

    def let(self, node: syntax.Let) -> E:
        return self._terms.named(
            [self._given_as(value) for value in node.values],
            lambda *given: Translator(self._terms, given).three_valued(node.body),
        )

    def _given_as(self, node: syntax.Node) -> E:
        """A value that is to have a name, in the width of its type."""
        if node.type.kind != "integer":
            return self._clean(node)
        value = self._width(node, wide=not node.type.is_long)
        return self._terms.long(value) if node.type.is_long and _is_wide(node) else value

    def given(self, node: syntax.Given) -> E:
        return self._given[node.place_of]


def _is_clean(node: syntax.Node) -> bool:
    """Whether a node is null where it is no number: neither NaN nor infinite."""
    if node.type.kind != "number":
        return True
    return isinstance(
        node, syntax.Literal | syntax.Convert | syntax.Case | syntax.Coalesce | syntax.Given
    )


def _is_wide(node: syntax.Node) -> bool:
    """Whether a whole number is computed, or kept, in more than 64 bits."""
    if isinstance(node, syntax.Arithmetic):
        op = "/" if node.op == "%" else node.op
        low, high = exact_range(op, node.left.type, node.right.type)
        return _is_wide(node.left) or _is_wide(node.right) or not whole(low, high).is_long
    if isinstance(node, syntax.Call) and node.function == "ABS":
        return _is_wide(node.part) or not whole(*absolute_range(node.part.type)).is_long
    if isinstance(node, syntax.Case):
        values = [then for _, then in node.branches]
        values += [] if node.otherwise is None else [node.otherwise]
        return any(_is_wide(part) for part in values)
    if isinstance(node, syntax.Coalesce):
        return any(_is_wide(part) for part in node.members)
    return isinstance(node, syntax.Convert) or not node.type.is_long


def _is_narrow(node: syntax.Node) -> bool:
    """Whether a whole number has a width of its own, and not one of 64 bits or more."""
    return isinstance(node, syntax.Column) or (
        isinstance(node, syntax.Call) and node.function == "LENGTH"
    )


def _width_of(node: syntax.Node) -> Type:
    if node.type.kind != "integer":
        return node.type
    return WIDE if _is_wide(node) else INTEGER


_VALUES: Final[Mapping[type[syntax.Node], Callable[..., Any]]] = {
    syntax.Column: Translator.column,
    syntax.Literal: Translator.literal,
    syntax.Compare: Translator.compare,
    syntax.Both: Translator.both,
    syntax.Not: Translator.negation,
    syntax.IsNull: Translator.is_null,
    syntax.OneOf: Translator.one_of,
    syntax.Like: Translator.like,
    syntax.Case: Translator.case,
    syntax.Coalesce: Translator.coalesce,
    syntax.Arithmetic: Translator.arithmetic,
    syntax.Call: Translator.call,
    syntax.Known: Translator.known,
    syntax.Convert: Translator.convert,
    syntax.Later: Translator.later,
    syntax.Let: Translator.let,
    syntax.Given: Translator.given,
}
