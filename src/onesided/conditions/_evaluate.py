"""What conditions mean in plain Python, and what becomes of values that nobody knows."""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

from onesided.conditions import _tree as syntax
from onesided.schema import DAY, FIRST_DAY, LARGEST, LAST_DAY, Type

# What a typed condition means, row by row, in plain Python: the reference for every engine.
#
# Values are as :mod:`onesided.schema` describes them; ``None`` is unknown. Every operation gives a
# value for every row: where an engine might stop with an error, the value is unknown.

Row: TypeAlias = Mapping[str, object]
_LOWER: Final = {ord(c): ord(c) + 32 for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_UPPER: Final = {small: large for large, small in _LOWER.items()}
_COMPARE: Final[Mapping[str, Callable[..., bool]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(tree: syntax.Node, row: Row) -> bool | int | float | str | None:
    """The value of a typed tree for one row; None is unknown.

    >>> from onesided.conditions import Condition
    >>> from onesided.schema import bits
    >>> tree = Condition.parse("age + 1 < 18").bind({"age": bits(8)}).tree
    >>> evaluate(tree, {"age": 16}), evaluate(tree, {"age": None})
    (True, None)
    """
    value: Any = _EVALUATORS[type(tree)](tree, row)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value  # type: ignore[no-any-return] # a value of the row, or made of such


def _compare(node: syntax.Compare, row: Row) -> bool | None:
    left, right = evaluate(node.left, row), evaluate(node.right, row)
    if left is None or right is None:
        return None
    return _COMPARE[node.op](left, right)


def _both(node: syntax.Both, row: Row) -> bool | None:
    values = [evaluate(part, row) for part in node.members]
    deciding = node.op == "OR"
    if any(value is deciding for value in values):
        return deciding
    return None if None in values else not deciding


def _not(node: syntax.Not, row: Row) -> bool | None:
    value = evaluate(node.part, row)
    return None if value is None else not value


def _one_of(node: syntax.OneOf, row: Row) -> bool | None:
    value = evaluate(node.part, row)
    return None if value is None else any(value == one.value for one in node.values)


def _like(node: syntax.Like, row: Row) -> bool | None:
    text = evaluate(node.part, row)
    if text is None:
        return None
    pattern = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in node.pattern)
    return re.fullmatch(pattern, str(text), re.DOTALL) is not None


def _case(node: syntax.Case, row: Row) -> object:
    for when, then in node.branches:
        if evaluate(when, row) is True:
            return evaluate(then, row)
    return None if node.otherwise is None else evaluate(node.otherwise, row)


def _coalesce(node: syntax.Coalesce, row: Row) -> object:
    values = (evaluate(part, row) for part in node.members)
    return next((value for value in values if value is not None), None)


def _arithmetic(node: syntax.Arithmetic, row: Row) -> int | float | None:
    left, right = evaluate(node.left, row), evaluate(node.right, row)
    if left is None or right is None or isinstance(left, str) or isinstance(right, str):
        return None
    if node.op in "/%":
        if right == 0:
            return None
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return _bounded(quotient if node.op == "/" else left - quotient * right)
    operation: Callable[..., int | float] = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
    }[node.op]
    return _bounded(operation(left, right))


def _bounded(value: float) -> int | float | None:
    return None if isinstance(value, int) and abs(value) > LARGEST else value


def _call(node: syntax.Call, row: Row) -> int | float | str | None:
    value = evaluate(node.part, row)
    if value is None:
        return None
    if isinstance(value, str):
        start, *length = node.arguments or (1,)
        end = start - 1 + length[0] if length else None
        texts: Mapping[str, str | int] = {
            "LOWER": value.translate(_LOWER),
            "UPPER": value.translate(_UPPER),
            "LENGTH": len(value),
            "TRIM": value.strip(" "),
            "SUBSTRING": value[start - 1 : end],
        }
        return texts[node.function]
    return abs(value) if node.function == "ABS" else _part(node, int(value))


def _part(node: syntax.Call, value: int) -> int | None:
    """A part of a date, a moment or a time of day."""
    kind = node.part.type
    micros = value // 1000 if kind.fine else value
    days, clock = (value, 0) if kind.kind == "date" else divmod(micros, DAY)
    if kind.kind == "time":
        days, clock = 0, value
    if not FIRST_DAY <= days <= LAST_DAY:
        return None
    date = dt.date.fromordinal(days + dt.date(1970, 1, 1).toordinal())
    seconds = clock // 1_000_000
    return {
        "YEAR": date.year,
        "MONTH": date.month,
        "DAY": date.day,
        "ISODOW": date.isoweekday(),
        "HOUR": seconds // 3600,
        "MINUTE": seconds // 60 % 60,
        "SECOND": seconds % 60,
    }[node.function]


def _convert(node: syntax.Convert, row: Row) -> int | float | None:
    value = evaluate(node.part, row)
    if not isinstance(value, int):
        return None
    if node.type.kind == "number":
        return float(value)
    if node.type.kind == "integer":
        return _bounded(value)
    micros = value * DAY if node.part.type.kind == "date" else value
    if not _in_calendar(micros, Type("datetime")):
        return None
    fine = micros * 1000 if node.type.fine else micros
    return fine if -(2**63) <= fine < 2**63 else None


def _later(node: syntax.Later, row: Row) -> int | None:
    value = evaluate(node.part, row)
    if not isinstance(value, int) or not _in_calendar(value, node.type):
        return None
    moved = value + node.amount
    return moved if _in_calendar(moved, node.type) else None


def _in_calendar(value: int, kind: Type) -> bool:
    """Whether a date or a moment is of a year from 1 to 9999, and within 64 bits."""
    day = 1 if kind.kind == "date" else DAY * 1000 if kind.fine else DAY
    return FIRST_DAY * day <= value < (LAST_DAY + 1) * day and -(2**63) <= value < 2**63


_EVALUATORS: Final[Mapping[type[syntax.Node], Callable[..., object]]] = {
    syntax.Column: lambda node, row: row[node.name],
    syntax.Literal: lambda node, _: (
        float(node.value) if isinstance(node.value, Decimal) else node.value
    ),
    syntax.Compare: _compare,
    syntax.Both: _both,
    syntax.Not: _not,
    syntax.IsNull: lambda node, row: evaluate(node.part, row) is None,
    syntax.OneOf: _one_of,
    syntax.Like: _like,
    syntax.Case: _case,
    syntax.Coalesce: _coalesce,
    syntax.Arithmetic: _arithmetic,
    syntax.Call: _call,
    syntax.Known: lambda node, row: None if evaluate(node.part, row) is None else node.value,
    syntax.Convert: _convert,
    syntax.Later: _later,
    syntax.Let: lambda node, row: evaluate(
        node.body, {str(at): evaluate(one, row) for at, one in enumerate(node.values)}
    ),
    syntax.Given: lambda node, row: row[str(node.place_of)],
}


# Whether a condition may be unknown for some row, from public facts alone.

Filled: TypeAlias = Mapping[str, str]
_SAFE: Final = ("LOWER", "UPPER", "LENGTH", "TRIM", "SUBSTRING")
_MOMENTS: Final = ("date", "datetime", "datetime with zone")


def may_be_unknown(tree: syntax.Node, filled: Filled) -> bool:
    """Whether some row may leave a tree without types undecided; True where that is not proved.

    filled: columns of which conditions see a value in every row, with what they hold: what is
    alike is compared as it is. "" where that is not known.

    >>> from onesided.conditions import Condition
    >>> held = Condition.parse("age IS NOT NULL AND age < 18").tree
    >>> may_be_unknown(held, {}), may_be_unknown(held.members[1], {})
    (False, True)
    """
    return _RULES.get(type(tree), _any)(tree, filled)


def passes_over(tree: syntax.Node, filled: Filled) -> bool:
    """Whether a CASE may come to a later branch because an earlier condition is unknown.

    >>> from onesided.conditions import Condition
    >>> cases = Condition.parse("CASE WHEN age < 18 THEN TRUE ELSE FALSE END").tree
    >>> passes_over(cases, {}), passes_over(cases, {"age": "integer"})
    (True, False)
    """
    return any(
        may_be_unknown(when, filled)
        for node in syntax.nodes(tree)
        if isinstance(node, syntax.Case)
        for when, _ in node.branches
    )


def _any(tree: syntax.Node, filled: Filled) -> bool:
    return any(may_be_unknown(part, filled) for part in tree.parts)


def _unknown_both(tree: syntax.Both, filled: Filled) -> bool:
    """Without a value ``x IS NOT NULL AND ...`` is false, and ``x IS NULL OR ...`` is true."""
    tests = [part.part for part in tree.members if isinstance(part, syntax.Not)]
    found = [
        one.part
        for one in (tests if tree.op == "AND" else tree.members)
        if isinstance(one, syntax.IsNull)
    ]
    return _any(
        tree,
        {
            **dict.fromkeys([part.name for part in found if isinstance(part, syntax.Column)], ""),
            **filled,
        },
    )


def _unknown_case(tree: syntax.Case, filled: Filled) -> bool:
    """A condition that is unknown is passed over."""
    if tree.otherwise is None:
        return True
    values = [*(then for _, then in tree.branches), tree.otherwise]
    return not _alike(values, filled) or any(may_be_unknown(part, filled) for part in values)


def _coalesced(tree: syntax.Coalesce, filled: Filled) -> bool:
    """A part that is known ends it, unless it is lost where it is converted to meet another."""
    alike = _alike(tree.members, filled)
    known = [part for part in tree.members if not may_be_unknown(part, filled)]
    return not any(alike or _plain(part) for part in known)


def _compared(tree: syntax.Compare | syntax.Between, filled: Filled) -> bool:
    """A literal is read as what it is compared with; two columns must be alike."""
    parts = [part for part in tree.parts if not isinstance(part, syntax.Literal)]
    return not _alike(parts, filled) or _any(tree, filled)


def _alike(parts: Iterable[syntax.Node], filled: Filled) -> bool:
    """Whether nothing is converted that may be lost: not every day is a moment."""
    kinds = [_kind(part, filled) for part in parts if not _plain(part)]
    return len(kinds) < 2 or (len(set(kinds)) == 1 and "" not in kinds)


def _plain(part: syntax.Node) -> bool:
    """Whether it is a literal that is itself in every type that takes it."""
    return isinstance(part, syntax.Literal) and part.type.kind not in _MOMENTS


def _kind(part: syntax.Node, filled: Filled) -> str:
    """What a part holds; "" where that is not known."""
    if isinstance(part, syntax.Column):
        return filled.get(part.name, "")
    if isinstance(part, syntax.Literal):
        return str(part.type)
    return "boolean" if isinstance(part, _CONDITIONS) else ""


_CONDITIONS: Final = (
    syntax.Compare,
    syntax.Between,
    syntax.Both,
    syntax.Not,
    syntax.IsNull,
    syntax.Like,
    syntax.OneOf,
)
_RULES: Final[Mapping[type[syntax.Node], Callable[[Any, Filled], bool]]] = {
    syntax.Column: lambda tree, filled: tree.name not in filled,
    syntax.Literal: lambda tree, _: tree.value is None,
    syntax.IsNull: lambda *_: False,
    syntax.Both: _unknown_both,
    syntax.Case: _unknown_case,
    syntax.Coalesce: _coalesced,
    syntax.Compare: _compared,
    syntax.Between: _compared,
    syntax.Arithmetic: lambda *_: True,  # it may overflow
    syntax.Call: lambda tree, filled: tree.function not in _SAFE or _any(tree, filled),
}
