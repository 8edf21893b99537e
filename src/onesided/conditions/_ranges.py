"""What whole numbers can become by arithmetic, so that most of it needs no check as it runs."""

from __future__ import annotations

from typing import TypeAlias

from onesided.schema import Type

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
