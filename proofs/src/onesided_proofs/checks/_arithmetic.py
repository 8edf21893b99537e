"""Arithmetic with bounds, against every pair of numbers that fits them.

What is certain must hold of all numbers that fit what was certain of what went in; what is likely,
of all that fit what was likely.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, Final

from onesided.session.kit import Interval, Row, Sum, tightest
from onesided_proofs.checks._samplers import Sampled

_ENDS: Final = (None, -1, 0, 1, 2)
_TRUTHS: Final = tuple(map(Fraction, range(-2, 4)))
Rule = Callable[[Any, Any], Any]


def arithmetic_checks() -> Iterator[Sampled]:
    """Each operation on all pairs of small intervals, and what sums say of their parts."""
    name = "arithmetic of bounds"
    for what, rule, truth in (
        ("sum", operator.add, operator.add),
        ("difference", lambda x, y: x + -y, operator.sub),
        ("ratio", Interval.over, operator.truediv),
        ("two bounds of one number", Interval.both, None),
        ("turned around", lambda x, _: x.times(Fraction(-2)), lambda a, _: -2 * a),
    ):
        yield Sampled(name, what, _fault(partial(Row.of, rule), truth))
    for what, rule, truth in (
        ("a ratio of likely bounds called certain", _sure_ratio, operator.truediv),
        ("a likely bound in the place of a certain one", _one_for_both, None),
        ("a difference of lower bounds", partial(Row.of, _lower_less_lower), operator.sub),
    ):
        yield Sampled(name, what, _fault(rule, truth), sound=False)
    name, one = "bounds by margins", Sum(0, (1, 2), least=True, most=False)
    yield Sampled(name, "two cells apart", _summed(one, lambda all_, a, b: a + b <= all_))
    every = replace(one, least=False, most=True)
    yield Sampled(name, "two cells that hold all", _summed(every, lambda all_, a, b: all_ <= a + b))
    overlap = _summed(one, lambda all_, a, b: max(a, b) <= all_)
    yield Sampled(name, "one person in two cells", overlap, sound=False)
    listed = _summed(every, lambda all_, a, b: a + b <= all_)
    yield Sampled(name, "a margin of cells not all of which are listed", listed, sound=False)


def _rows() -> list[Row]:
    """Of all ends: what is certain, and what is likely, which is no wider."""
    ends = [None if end is None else Fraction(end) for end in _ENDS]
    every = [one for pair in product(ends, repeat=2) if not (one := Interval(*pair)).crossed]
    return [Row(one, two) for one, two in product(every, repeat=2) if one.both(two) == two]


def _fits(one: Interval, number: Fraction) -> bool:
    low = one.lower is None or one.lower <= number
    return low and (one.upper is None or number <= one.upper)


def _fault(rule: Rule, truth: Rule | None) -> str:
    """What fits and is left out. truth: None for two bounds of one number."""
    for x, y in product(_rows(), repeat=2):
        told = rule(x, y)
        for one, two, bounds in zip(x, y, told, strict=True):
            pairs = product(*([n for n in _TRUTHS if _fits(part, n)] for part in (one, two)))
            for a, b in pairs:
                if (truth is None and a != b) or (truth is operator.truediv and not b):
                    continue
                if not _fits(bounds, a if truth is None else truth(a, b)):
                    return f"{a} and {b} fit {_words(one)} and {_words(two)}, told {_words(bounds)}"
    return ""


def _summed(one: Sum, holds: Callable[[int, int, int], bool]) -> str:
    """Of all numbers, of which this ``holds``, and intervals around them."""
    for numbers in product(range(3), repeat=3):
        if not holds(*numbers):
            continue
        for below in product((0, 1), repeat=3):
            pairs = zip(numbers, below, strict=True)
            given = [Interval(Fraction(n - less), Fraction(n + 1 - less)) for n, less in pairs]
            told = tightest(given, [one])
            for n, bounds in zip(numbers, told, strict=True):
                if not _fits(bounds, Fraction(n)):
                    return f"{n} of {numbers} is not within {_words(bounds)}"
    return ""


def _words(one: Interval) -> str:
    return f"{one.lower} to {one.upper}"


def _sure_ratio(x: Row, y: Row) -> Row:
    """As if a ratio rested on its numerator alone."""
    return Row(x.sure.over(y.likely), x.likely.over(y.likely))


def _one_for_both(x: Row, y: Row) -> Row:
    """The narrower bound, called certain: what was certain is forgotten."""
    told = x.sure.both(y.likely)
    return Row(told, told)


def _lower_less_lower(x: Interval, y: Interval) -> Interval:
    """As if the least difference were that of the two least numbers."""
    return x + -Interval(y.upper, y.lower)
