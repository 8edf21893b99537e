"""Variances of bounded values: means of squares less squares of means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import MAX_COUNT, round_down, round_up
from onesided.errors import ParameterError
from onesided.session._context import QueryContext
from onesided.session._question import FormLine, PreparedQuery
from onesided.session._release import Release
from onesided.session._statement import Nouns
from onesided.session._ways import Way
from onesided.session.values._mean import Bounds, Ends, Floating, Made, Mean, Parts, Triple, shares
from onesided.session.values._moments import Moments
from onesided.session.values._shifts import Form
from onesided.session.values._value import Value, roomy, share_of


@dataclass(frozen=True, slots=True)
class Variance(Mean):
    """What is the variance of the units' own means in a column, or of rows, per group?

    A unit's own mean is that of :class:`Mean`. The mean of their squares less the square of their
    mean, over all that are counted.
    divisor: "n", the number of those that are counted; or "n - 1", as SQL's VARIANCE and VAR_SAMP
        have it, of at least two.
    root: True takes the square root: the standard deviation, in the column's own unit.
    The other arguments are those of :class:`Mean`.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> session = od.Session(people, unit="person", policy=od.policy.addition_only(), budget=1000)
    >>> session.variance("age", bounds=(0, 100), epsilon=1).value >= 0
    True
    """

    divisor: Literal["n", "n - 1"] = field(default="n", kw_only=True)
    root: bool = field(default=False, kw_only=True)

    form: ClassVar = (FormLine("variance", "The variance of a column"),)
    squared: ClassVar[bool] = True
    later = (*Mean.later, "divisor", "root")
    sql: ClassVar[dict[str, dict[str, Any]]] = {
        f"{word}{per_unit}": {
            **({} if per_unit else {"of": "rows"}),
            **({} if word.endswith("_POP") else {"divisor": "n - 1"}),
            **({"root": True} if word.startswith("STDDEV") else {}),
        }
        for word in ("VARIANCE", "VAR_SAMP", "VAR_POP", "STDDEV", "STDDEV_SAMP", "STDDEV_POP")
        for per_unit in ("", "_PER_UNIT")
    }

    def ways(self, context: QueryContext) -> Iterator[Way]:
        """The variance, also with Gaussian noise; for plans."""
        yield from self._by_law(context, self.value(context))

    def truth(self, public: QueryContext) -> NDArray[Any]:
        """The numbers that are asked for, of a public table."""
        secret = self.prepare(public).read()
        many = np.maximum(secret.count, 1)
        found = secret.squares / many - (secret.total / many) ** 2
        step = float(self.value(public).step)
        found = found * step**2 * share_of(secret.count, least=self.divisor == "n - 1")
        return np.asarray(np.sqrt(np.maximum(found, 0)) if self.root else found)

    @property
    def statistic(self) -> str:
        """What it is called."""
        return "standard deviation" if self.root else "variance"

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are, and by what they are divided."""
        return f"{Mean.measure(self, nouns)} (divides by {self.divisor})"

    def scale(self, unit: str) -> str:
        """What the numbers are measured in, of a column in this unit."""
        return unit if self.root else f"{unit}²"

    def prepare(self, context: QueryContext) -> PreparedQuery[Moments, Release]:
        """Check and price the question. Looks at no row."""
        if self.divisor not in ("n", "n - 1") or not isinstance(self.root, bool):
            raise ParameterError(
                f"divisor={self.divisor!r}, root={self.root!r} is unknown.",
                hint='Use divisor="n" or "n - 1", and root=True for the standard deviation.',
            )
        return Mean.prepare(self, context)

    def _forms(self, value: Value, *, public: bool, heavy: int) -> Iterator[Form]:
        del heavy  # variances have no weights
        centre, both = (value.low + value.high) // 2, (value.low, value.high)
        far = value.high - centre
        square = roomy(far * far)
        if not public:
            yield Form(partial(Ends, centre, both), *shares((value.high - value.low) ** 2, 3))
        adds = [(1, one - centre, (one - centre) ** 2) for one in both]
        weights = (1 if public else square, far, 1)
        yield Form(partial(Parts, centre), adds, _squares_change(far), weights, fine=4)

    def _found(self, parts: Made, centred: Floating, bounds: Bounds, value: Value) -> Triple:
        square, least = float(value.step) ** 2, self.divisor == "n - 1"
        most = ((value.high - value.low) / 2) ** 2
        ends = (
            {name: getattr(one, end) for name, one in bounds.items()} for end in ("upper", "lower")
        )
        many = map(parts.counted, (centred, *ends))
        found = zip(parts.variance(centred, bounds, value), many, strict=True)
        told = [np.clip(part, 0, most) * square * share_of(n, least=least) for part, n in found]
        return tuple(map(np.sqrt, told) if self.root else told)

    def _exact(self, many: int, sums: list[int], centre: int, value: Value) -> tuple[float, float]:
        del centre  # a variance is the same about any
        sample = self.divisor == "n - 1"
        if max(map(abs, sums)) >= MAX_COUNT:  # it was cut
            most = ((value.high - value.low) * value.step) ** 2 / 4 * (2 if sample else 1)
            ends = Fraction(0), most
        else:
            mean, square = (Fraction(one, max(many, 1)) for one in sums)
            spread = (square - mean**2) * value.step**2
            ends = (spread * (Fraction(max(many, 2), max(many - 1, 1)) if sample else 1),) * 2
        low, high = round_down(ends[0]), round_up(ends[1])
        if not self.root:
            return low, high
        # A root is rounded to the nearest: one step further, it is on its own side.
        outer = np.nextafter(np.sqrt(high), np.inf) if high else 0.0
        return float(np.nextafter(np.sqrt(low), 0)), float(outer)


def _squares_change(far: int) -> list[tuple[Fraction | int, ...]]:
    """How far a value within ``far`` of 0 changes the number, the sum and that of the squares.

    From ``far * s`` to ``far * t``, with each weighted so that ``far`` and its square count as 1,
    one way ``(t - s)(1 + t + s)`` at most, which is 9/4. Where one rises and the other falls
    ``(r, f)`` lies below ``f = 1 - (r - 1)^2``, and so below its tangents where f is 1, where
    r is 3/2, and where r is 2: these are their corners.
    """
    quarters = ((6, 3), (5, -4), (7, -2), (8, 0))
    return [
        (0, Fraction(way * total * far, 4), Fraction(way * square * far * far, 4))
        for total, square in quarters
        for way in (1, -1)
    ]
