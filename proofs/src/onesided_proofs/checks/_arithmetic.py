"""Arithmetic with bounds, against every pair of numbers that fits them.

A side that is marked certain must hold of all numbers that fit the certain sides of what went in; a
side that is not, of all that fit every side.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any, Final

from onesided.session.kit import Interval, Sum, tightest
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
    ):
        yield Sampled(name, what, _fault(rule, truth))
    yield Sampled(name, "turned around", _fault(lambda x, _: x.times(Fraction(-2)), _twice))
    for what, rule, truth in (
        ("a ratio of likely bounds called certain", _sure_ratio, operator.truediv),
        ("a difference of lower bounds", _lower_less_lower, operator.sub),
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


def _intervals() -> list[Interval]:
    """Of all ends and marks. What is likely has a chance to fail."""
    found = []
    for low, up in product(_ENDS, repeat=2):
        if low is not None and up is not None and low > up:
            continue
        lower, upper = (None if end is None else Fraction(end) for end in (low, up))
        marks = [(True,) if end is None else (True, False) for end in (low, up)]
        doubts = {"x": Fraction(1, 20)}
        found += [Interval(lower, upper, one, two, doubts) for one, two in product(*marks)]
    return found


def _fits(one: Interval, number: Fraction, *, sure: bool) -> bool:
    """Whether a number is within the sides; only the certain ones where ``sure``."""
    low = one.lower is None or (sure and not one.lower_sure) or one.lower <= number
    return low and (one.upper is None or (sure and not one.upper_sure) or number <= one.upper)


def _fault(rule: Rule, truth: Rule | None) -> str:
    """What fits and is left out. truth: None for two bounds of one number."""
    for x, y in product(_intervals(), repeat=2):
        told = rule(x, y)
        for a, b in product(_TRUTHS, repeat=2):
            if (truth is None and a != b) or (truth is operator.truediv and not b):
                continue
            number = a if truth is None else truth(a, b)
            for sure in (True, False):
                fit = _fits(x, a, sure=sure) and _fits(y, b, sure=sure)
                if fit and not _fits(told, number, sure=sure):
                    return f"{a} and {b} fit {_words(x)} and {_words(y)}, told {_words(told)}"
    return ""


def _summed(one: Sum, holds: Callable[[int, int, int], bool]) -> str:
    """Of all numbers, of which this ``holds``, and intervals around them."""
    for numbers in product(range(3), repeat=3):
        if not holds(*numbers):
            continue
        for below in product((0, 1), repeat=3):
            pairs = zip(numbers, below, strict=True)
            given = [Interval(Fraction(n - less), Fraction(n + 1 - less)) for n, less in pairs]
            told = tightest(given, [one], nothing=Interval(Fraction(0), Fraction(0)))
            for n, bounds in zip(numbers, told, strict=True):
                if not _fits(bounds, Fraction(n), sure=True):
                    return f"{n} of {numbers} is not within {_words(bounds)}"
    return ""


def _twice(a: Fraction, _: Fraction) -> Fraction:
    return -2 * a


def _words(one: Interval) -> str:
    marks = zip((one.lower, one.upper), (one.lower_sure, one.upper_sure), strict=True)
    return " to ".join(f"{end}{'' if sure else ' (likely)'}" for end, sure in marks)


def _sure_ratio(x: Interval, y: Interval) -> Interval:
    """Marks as of the numerator alone."""
    return replace(x.over(y), lower_sure=x.lower_sure, upper_sure=x.upper_sure)


def _lower_less_lower(x: Interval, y: Interval) -> Interval:
    """As if the least difference were that of the two least numbers."""
    wrong = replace(
        y, lower=y.upper, upper=y.lower, lower_sure=y.upper_sure, upper_sure=y.lower_sure
    )
    return x + -wrong
