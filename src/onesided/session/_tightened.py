"""What bounds on several numbers say of each other, where some are sums of the others.

Each step is an exact consequence: a sum's bound is the sum of its parts' bounds, and a part's the
sum's less those of the other parts, again and again until nothing moves. Where sums cross, as in a
table with both margins, more follows: for weights y ≥ 0 and the inequalities A x ≤ 0,
x_j ≤ x_j - y A x = r x, and r x is bounded by the bounds of each x_i. That holds for *any* y, so y
may come from a linear programme in floats: it is made a fraction, and the bound computed from it
is exact and rests on what it used alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from itertools import accumulate
from typing import Final

from onesided.session._interval import Interval

_ROUNDS: Final = 100
_SMALL: Final = 200  # numbers, for a programme for each side of each
_FINE: Final = 10**6
_ZERO: Final = Interval(Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True)
class Sum:
    """Parts, by their places, that add up to no more than the whole, or to no less.

    >>> Sum(whole=0, parts=(1, 2), least=True, most=False).parts
    (1, 2)
    """

    whole: int
    parts: tuple[int, ...]
    least: bool
    most: bool


def tightest(given: Sequence[Interval], sums: Sequence[Sum]) -> list[Interval]:
    """The bounds that follow.

    least, of a sum: its parts together are at most the whole. most: the whole is at most its parts
    together. Without SciPy, or with many numbers, a table's crossing sums may leave more to say.

    >>> five, two = (Interval(Fraction(n), Fraction(n)) for n in (5, 2))
    >>> given = [five, two, Interval(Fraction(0), None)]
    >>> tightest(given, [Sum(0, (1, 2), least=True, most=False)])[2].upper
    Fraction(3, 1)
    """
    held = list(given)
    for _ in range(_ROUNDS):
        before = list(held)
        for one in sums:
            _pass(held, one)
        if before == held:
            break
    if len(held) > _SMALL or find_spec("scipy") is None or not _cross(sums):
        return held
    # What the best weights of all inequalities say of each number.
    import numpy as np  # noqa: PLC0415 - as SciPy is
    from scipy.optimize import linprog  # noqa: PLC0415 - optional, and slow to load

    rows = []
    for one in sums:
        signs = ([1] if one.least else []) + ([-1] if one.most else [])
        for sign in signs:  # parts - whole ≤ 0, or whole - parts ≤ 0
            row = [0] * len(held)
            for at in one.parts:
                row[at] = sign
            row[one.whole] -= sign
            rows.append(row)
    limits = [tuple(None if e is None else float(e) for e in (x.lower, x.upper)) for x in held]
    found = list(held)
    for at in range(len(held)):
        for sign in (1, -1):  # from above, then from below
            aim = np.zeros(len(held))
            aim[at] = -sign
            told = linprog(aim, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), bounds=limits)
            if told.status != 0:
                continue
            weights = [
                max(Fraction(-float(y)).limit_denominator(_FINE), Fraction(0))
                for y in told.ineqlin.marginals
            ]
            total = _ZERO
            for place, x in enumerate(held):
                used = sum(
                    (y * row[place] for y, row in zip(weights, rows, strict=True)), Fraction()
                )
                left = Fraction(place == at) - sign * used
                total = total + x.times(left) if left else total
            _narrow(found, at, total, lower=sign < 0, upper=sign > 0)
    return found


def _pass(held: list[Interval], one: Sum) -> None:
    """From parts to their sum, and from the sum and the others to each part."""
    parts = [held[at] for at in one.parts]
    before = list(accumulate(parts, initial=_ZERO))
    after = list(accumulate(reversed(parts), initial=_ZERO))[::-1]
    _narrow(held, one.whole, before[-1], lower=one.least, upper=one.most)
    for place, at in enumerate(one.parts):
        rest = held[one.whole] + -(before[place] + after[place + 1])
        _narrow(held, at, rest, lower=one.most, upper=one.least)


def _narrow(held: list[Interval], at: int, found: Interval, *, lower: bool, upper: bool) -> None:
    """Take the sides of ``found`` that follow, where they say more."""
    told = Interval(found.lower if lower else None, found.upper if upper else None)
    held[at] = held[at].both(told)


def _cross(sums: Sequence[Sum]) -> bool:
    """Whether some number is a part of two sums of several."""
    parts = [at for one in sums if len(one.parts) > 1 for at in one.parts]
    return len(set(parts)) < len(parts)
