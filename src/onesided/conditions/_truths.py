"""What a condition can be for a row of which other conditions are known, whatever the row holds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import Any, Final, TypeAlias

import numpy as np

from onesided.conditions._bind import Condition, bind
from onesided.conditions._evaluate import evaluate
from onesided.conditions._tree import (
    Both,
    Coalesce,
    Column,
    Compare,
    IsNull,
    Literal,
    Node,
    Not,
    OneOf,
    columns,
)
from onesided.errors import ConditionError
from onesided.schema import BOOLEAN, INTEGER, TEXT, Type

Truth: TypeAlias = bool | None
ANY: Final[frozenset[Truth]] = frozenset({True, False, None})
_MOST_PARTS: Final = 7
_OPPOSITE: Final = {"<>": "=", ">=": "<", ">": "<="}


def truths(
    asked: Condition, known: Sequence[tuple[Condition, frozenset[Truth]]] = ()
) -> frozenset[Truth]:
    """All that ``asked`` can be for a row for which each known condition is one of what is said.

    True, False and None, which is unknown. Never too few: conditions are read down to what is no
    AND, OR, NOT or COALESCE of conditions, and each such part may be anything, whatever the others
    are, unless it is written like one of them.

    >>> adult, minor = Condition.parse("age >= 18"), Condition.parse("age < 18")
    >>> truths(adult, [(minor, frozenset({False}))])
    frozenset({True})
    >>> holds = frozenset({True, None})
    >>> True in truths(adult, [(minor, holds)])
    False
    >>> True in truths(Condition.parse("COALESCE(age, 99) >= 18"), [(minor, holds)])
    True
    """
    wanted, *trees = (_outline(one.tree) for one in (asked, *(one for one, _ in known)))
    parts = sorted({name for tree in (wanted, *trees) for name in columns(tree)})
    if len(parts) > _MOST_PARTS:
        return ANY
    rows = (dict(zip(parts, row, strict=True)) for row in product(ANY, repeat=len(parts)))
    told = list(zip(trees, (may for _, may in known), strict=True))
    fitting = (row for row in rows if all(evaluate(tree, row) in may for tree, may in told))
    return frozenset(evaluate(wanted, row) for row in fitting)  # type: ignore[misc] # of conditions


def _outline(node: Node) -> Node:
    """The condition with each part as a column of its own, called what the part is."""
    if isinstance(node, Both | Coalesce):
        return replace(node, members=tuple(map(_outline, node.members)))
    if isinstance(node, Not):
        return replace(node, part=_outline(node.part))
    if isinstance(node, Literal) and (node.value is None or isinstance(node.value, bool)):
        return node
    if isinstance(node, Compare) and node.op in _OPPOSITE:
        return Not(part=_outline(replace(node, op=_OPPOSITE[node.op])))
    return Column(name=str(node))


# Whether no row meets two of several conditions, shown by the values of one column.


@dataclass(frozen=True, slots=True)
class Span:
    """Values between two ends, None where there is none; open: without the end itself."""

    low: Any = None
    high: Any = None
    low_open: bool = False
    high_open: bool = False

    @property
    def order(self) -> tuple[bool, Any, bool]:
        """Those that begin first come first."""
        return self.low is not None, 0 if self.low is None else self.low, self.low_open

    def below(self, other: Span) -> bool:
        """Whether every value here is less than every one there, also where an engine rounds.

        Engines may hold a number as a float of 32 bits, and round what it is compared with. That
        keeps the order and may make two numbers one: one end must be open, or they stay apart.
        """
        if self.high is None or other.low is None or other.low < self.high:
            return False
        if self.high_open or other.low_open:
            return True
        if not isinstance(self.high, float):
            return bool(self.high < other.low)
        with np.errstate(over="ignore"):
            return bool(np.float32(self.high) < np.float32(other.low))


@dataclass(frozen=True, slots=True)
class Held:
    """The values that a column may have in rows for which a condition is true. null: or none."""

    spans: tuple[Span, ...] = ()
    null: bool = False


Values: TypeAlias = Mapping[str, Held]
_ENDS: Final[Mapping[str, tuple[str, ...]]] = {
    "<": ("high",), "<=": ("high",), ">": ("low",), ">=": ("low",), "=": ("low", "high"),
}  # fmt: skip


def apart(
    conditions: Sequence[Condition],
    types: Mapping[str, Type],
    *,
    known: Collection[str] | None = None,
) -> str | None:
    """A column by whose values no row meets two of the conditions; None if none shows it.

    Shown by equality with distinct values, or by intervals that do not meet, of one column for all
    the conditions; what else they say may be anything. None does not mean that rows do.
    types: of the columns. known: None where a row meets a condition that is true; else the columns
    that have a value in each row, of which one must show that no two are true *or unknown*.

    >>> from onesided.schema import bits
    >>> types = {"hour": bits(8), "late": bits(8)}
    >>> parts = [Condition.parse(text) for text in ("hour < 12 AND late = 1", "hour >= 12")]
    >>> apart(parts, types)
    'hour'
    >>> apart([*parts, Condition.parse("hour = 24")], types) is None
    True
    """
    found = [_values(one.tree, types, one.text) for one in conditions]
    named = [name for name in (found[0] if found else ()) if known is None or name in known]
    for name in named:
        if all(name in one for one in found) and _disjoint([one[name] for one in found]):
            return name
    return None


def values_in(condition: Condition, column: str, types: Mapping[str, Type]) -> Held | None:
    """What a column may hold in rows for which the condition is true; None where it says nothing.

    Ends are as conditions compare them: of dates, days since 1970. types: of the columns.

    >>> from onesided.schema import bits
    >>> asked = Condition.parse("late = 1 AND hour IN (3, 5)")
    >>> found = values_in(asked, "hour", {"hour": bits(8), "late": bits(8)})
    >>> [(span.low, span.high) for span in found.spans], found.null
    ([(3, 3), (5, 5)], False)
    """
    return _values(condition.tree, types, condition.text).get(column)


def equals(column: str, value: object) -> str:
    r"""The text of a condition: the column holds that text, whole number, date, true or false.

    Errors: ConditionError for values of other types.

    >>> equals("place", "Bob's"), equals("late", True)
    ('"place" = \'Bob\'\'s\'', '"late" = TRUE')
    """
    if isinstance(value, str | bool | int):
        kind = TEXT if isinstance(value, str) else BOOLEAN if isinstance(value, bool) else INTEGER
        told = str(Literal(value=value, type=kind))
    elif isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        told = f"DATE '{value.isoformat()}'"
    else:
        raise ConditionError(
            f"{value!r} is no value to make a part of.",
            hint="Give texts, whole numbers, dates, True or False; or a condition for each part.",
        )
    return f"{Column(name=column)} = {told}"


def _disjoint(held: Sequence[Held]) -> bool:
    """Whether no value is in two of them."""
    if sum(one.null for one in held) > 1:
        return False
    spans = [(span, place) for place, one in enumerate(held) for span in one.spans]
    last: tuple[Span, int] | None = None
    for span, place in sorted(spans, key=lambda one: one[0].order):
        # The one before reaches furthest of all: what does not meet it meets none.
        if last is not None and not last[0].below(span):
            if last[1] != place:
                return False
            span = _further(last[0], span)  # noqa: PLW2901 - the two as one
        last = span, place
    return True


def _further(one: Span, two: Span) -> Span:
    """From the start of the first to the end of what reaches further."""
    if one.high is None or (two.high is not None and two.high < one.high):
        return one
    both = two.high == one.high and one.high_open and two.high_open
    open_ = both if two.high == one.high else two.high_open
    return Span(one.low, two.high, one.low_open, open_)


def _values(node: Node, types: Mapping[str, Type], text: str) -> Values:
    """The columns of which it is known what values they have where the node is true."""
    if isinstance(node, Both):
        return _joined(node.op, [_values(part, types, text) for part in node.members])
    named = columns(node)
    if len(named) != 1 or not types.keys() >= set(named):
        return {}
    try:
        return _of_part(bind(node, types, text=text))
    except ConditionError:  # what has no type here says nothing
        return {}


def _joined(op: str, parts: Sequence[Values]) -> Values:
    if op == "AND":
        named = dict.fromkeys(name for part in parts for name in part)
        return {n: reduce(_common, [part[n] for part in parts if n in part]) for n in named}
    shared = [name for name in parts[0] if all(name in part for part in parts)]
    return {
        name: Held(
            tuple(span for part in parts for span in part[name].spans),
            any(part[name].null for part in parts),
        )
        for name in shared
    }


def _common(one: Held, two: Held) -> Held:
    """What is in both: of two spans the later start and the earlier end."""
    met = (_between(a, b) for a in one.spans for b in two.spans)
    return Held(tuple(span for span in met if span is not None), one.null and two.null)


def _between(one: Span, two: Span) -> Span | None:
    if one.below(two) or two.below(one):
        return None
    start = max((one, two), key=lambda span: span.order)
    ended = [span for span in (one, two) if span.high is not None]
    end = min(ended, key=lambda span: (span.high, not span.high_open), default=one)
    return Span(start.low, end.high, start.low_open, end.high_open)


def _of_part(node: Node) -> Values:
    """A comparison of one column with literals; nothing for what is none."""
    if isinstance(node, Both):  # BETWEEN
        return _joined(node.op, [_of_part(part) for part in node.members])
    if isinstance(node, IsNull) and isinstance(node.part, Column):
        return {node.part.name: Held(null=True)}
    named, spans = node, [Span(low=True, high=True)]
    if isinstance(node, Not):
        named, spans = node.part, [Span(low=False, high=False)]
    elif isinstance(node, OneOf):
        named, spans = node.part, [Span(one.value, one.value) for one in node.values]
    elif isinstance(node, Compare) and isinstance(node.right, Literal) and node.op in _ENDS:
        value, open_ = node.right.value, node.op in "<>"
        low, high = (value if end in _ENDS[node.op] else None for end in ("low", "high"))
        named, spans = node.left, [Span(low, high, open_, open_)]
    return {named.name: Held(tuple(spans))} if isinstance(named, Column) else {}
