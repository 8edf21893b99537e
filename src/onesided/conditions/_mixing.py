"""What whole numbers can become by arithmetic, so that most of it needs no check as it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final, Protocol, TypeAlias

from onesided.conditions._parse import PARTS
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
from onesided.errors import ConditionError
from onesided.schema import BOOLEAN, DAY, LARGEST, NUMBER, TEXT, Type, bits, moment_type, whole

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


class Refuse(Protocol):
    """Makes the error about a node."""

    def __call__(self, reason: str, hint: str) -> ConditionError: ...


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
