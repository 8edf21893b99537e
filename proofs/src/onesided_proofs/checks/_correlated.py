"""What correlated records tell, against every output that a promise allows, and shipped noise."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from importlib.util import find_spec
from itertools import product
from math import log
from typing import Final

from onesided import policy as policies
from onesided.bounds import Correlation, household
from onesided.mechanism import Counts
from onesided.numbers import INFINITE, Infinite, Loss
from onesided.policy import Record
from onesided.verify import Universe, risk
from onesided_proofs.checks._samplers import Sampled

_NAME: Final = "parts, by their definition"
_THERE: Final = Record("unit", frozenset({"a"}))
_AWAY: Final = Record("unit")
_CLOSE: Final = 1e-4


def correlation_checks() -> Iterator[Sampled]:
    """Households, held against one-sided noise; and two bounds that are too small."""
    if not find_spec("scipy"):
        return
    policy = policies.presence(max_groups=1)
    pairs = [
        household(_THERE, _AWAY, others=others, together=together, apart=apart)
        for others, (together, apart) in product((1, 2), (("1/2", "0"), ("3/4", "1/4")))
    ]
    limits = [known.freedom(policy, epsilon=1) for known in pairs]
    found = next(filter(None, map(_fault, pairs, limits)), "")
    yield Sampled(_NAME, "what a household tells", found)
    yield Sampled(_NAME, "a household at ε alone", _fault(pairs[0], Fraction(1)), sound=False)
    forgot = pairs[0].freedom(policy, epsilon=1)
    yield Sampled(_NAME, "a household, one member forgotten", _fault(pairs[2], forgot), sound=False)


def _fault(known: Correlation, limit: Loss) -> str:
    """Geometric noise loses no more than the limit, and reaches it: it is the worst there is."""
    size = max(map(len, known.law))
    seen = risk(
        Counts(1, INFINITE),
        policies.presence(max_groups=1),
        correlation=known,
        universe=Universe(groups=("a",), units=size),
    )
    if isinstance(limit, Infinite):
        return "the limit is infinite"
    if seen.loss > float(limit) + _CLOSE:
        return f"odds grow by e^{seen.loss:.4f}, said to be at most e^{float(limit):.4f}"
    near = seen.loss > float(limit) - 10 * _CLOSE
    return "" if near else f"only e^{log(seen.factor):.4f} of e^{float(limit):.4f} is reached"
