"""The exact law of an answer on a small table, for tests of what is told about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import narwhals as nw

from onesided.policy import Policy
from onesided.session import Answers, SampleRelease, Session
from onesided.session.kit import prepared
from onesided.verify._enumerate import Settings, Walk
from onesided.verify._exact import ROUNDING
from onesided.verify._seal import Form, form

_PLENTY: Final = 10**6  # the budget of a session that charges nothing


@dataclass(frozen=True, slots=True)
class Law:
    """Each answer that may be told, likeliest first, with its probability; see :func:`law`.

    lost: a bound on the probability of all answers that are not listed.

    >>> import polars as pl, onesided as od
    >>> rows, policy = pl.DataFrame({"open": [True, True]}), od.policy.sensitive("NOT open")
    >>> found = law(od.Sample(epsilon=1), rows, policy)
    >>> {len(told.frame): round(chance, 2) for told, chance in found}
    {1: 0.47, 2: 0.4, 0: 0.14}
    """

    chances: dict[Form, tuple[Any, float]]
    lost: float

    def __iter__(self) -> Iterator[tuple[Any, float]]:
        """``(release, probability)`` of each."""
        return iter(self.chances.values())

    def chance(self, event: Callable[[Any], object]) -> tuple[float, float]:
        """Between what two numbers the probability lies that ``event(release)`` is true."""
        found = math.fsum(chance for told, chance in self if event(told))
        return max(0.0, found - ROUNDING), min(1.0, found + self.lost + ROUNDING)

    def loss(self, other: Law) -> float:
        """What some answer loses from here to the other law for certain: ln p(here) / p(there).

        Infinite where an answer is listed here and there cannot be given at all.
        """
        ratios = [math.inf if not there else math.log(here / there) for here, there in (
            (chance, other.chances.get(key, (None, 0.0))[1] + other.lost)
            for key, (_, chance) in self.chances.items()
        )]  # fmt: skip
        return max(ratios, default=0.0)


def law(question: Any, table: Any, policy: Policy, *, tail: float = 1e-9, **options: Any) -> Law:
    """Every answer that a session over ``table`` may give to ``question``, and how likely it is.

    The shipped code is run on every path of noise; nothing is charged or recorded. For made-up
    tables of few units and groups: the result is as secret as the table.

    table, options: as of :class:`onesided.Session`, such as ``unit`` and ``schema``.
    tail: paths less likely than this are cut off, and counted in ``lost``.
    Errors: those of the session and of the question; ParameterError for too many paths.

    >>> import polars as pl, onesided as od
    >>> rows, policy = pl.DataFrame({"person": [1, 2]}), od.policy.addition_only()
    >>> found = law(od.Count(epsilon=1), rows, policy, unit="person")
    >>> [round(edge, 3) for edge in found.chance(lambda release: release.noisy[0] == 2)]
    [0.632, 0.632]
    >>> found.chance(lambda release: release.upper[0] >= 2)[0] > 0.99  # certain
    True
    """
    session = Session(table, policy=policy, **{"budget": _PLENTY, **options})
    steps = prepared(session, question)
    secret = steps.read()
    how = Settings(tail=tail, sealed=False)
    walk = Walk(lambda noise: steps.draw(secret, noise), how)
    found: dict[Form, tuple[Any, float]] = {}
    for answer, weight in walk:
        told = steps.result(answer, None)
        key = form((steps.pack(answer), _rows(told)))
        found[key] = told, found.get(key, (None, 0.0))[1] + weight
    likeliest = sorted(found.items(), key=lambda one: -one[1][1])
    return Law(dict(likeliest), walk.lost)


def _rows(told: Any) -> tuple[Any, ...]:
    """The rows that an answer tells, which the ledger does not keep."""
    if isinstance(told, Answers):
        return tuple(map(_rows, told))
    return tuple(nw.from_native(told.frame).rows()) if isinstance(told, SampleRelease) else ()
