"""Random mechanisms on two or three data sets, and their exact hockey-stick divergence."""

from fractions import Fraction

import pytest
from hypothesis import strategies as st

from onesided._numbers import Infinite
from onesided.bounds._cautious import exp_bounds


class Law:
    """Exact arithmetic on finite distributions, each a list of fractions over the same outputs."""

    losses = st.fractions(0, 3, max_denominator=20)
    shares = st.integers(0, 19).map(lambda k: Fraction(k, 20))

    @staticmethod
    def distributions(outputs=3, least=0):
        weights = st.lists(st.integers(least, 6), min_size=outputs, max_size=outputs).filter(any)
        return weights.map(lambda ws: [Fraction(w, sum(ws)) for w in ws])

    @staticmethod
    def least_delta(real, other, epsilon):
        """Not above the exact δ(ε) from ``real`` to ``other``, by a part in 2^90."""
        if isinstance(epsilon, Infinite):
            return Fraction(0)
        high = exp_bounds(epsilon)[1]
        return sum(max(Fraction(0), x - high * y) for x, y in zip(real, other, strict=True))

    @staticmethod
    def enough_delta(real, other, epsilon):
        """Not below the exact δ(ε)."""
        low = exp_bounds(epsilon)[0]
        return sum(max(Fraction(0), x - low * y) for x, y in zip(real, other, strict=True))

    @classmethod
    def keeps(cls, real, other, bound):
        """Whether ``bound`` holds from ``real`` to ``other``."""
        return cls.least_delta(real, other, bound.epsilon) <= bound.delta

    @staticmethod
    def mix(p, one, two):
        return [p * x + (1 - p) * y for x, y in zip(one, two, strict=True)]

    @staticmethod
    def both(one, two):
        return [x * y for x in one for y in two]


@pytest.fixture(scope="session")
def law():
    return Law
