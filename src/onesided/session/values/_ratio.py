"""Ratios of two answers that were charged as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from onesided._english import a
from onesided._numbers import Number, exact
from onesided.errors import ParameterError
from onesided.mechanism import Interval
from onesided.mechanism.kit import shared
from onesided.session._confidence import Confidence
from onesided.session._count import Count
from onesided.session._fields import plain
from onesided.session._groups import names_of
from onesided.session._release import Release, of_groups, sides
from onesided.session._statement import Statement
from onesided.session.several._several import Answers
from onesided.session.values._row_count import RowCount
from onesided.session.values._sum import Sum
from onesided.session.values._value import Floats

_SAID: Final = "A group whose denominator is 0 has no ratio, and its bounds are about none."


def halves(
    numerator: Any, denominator: Any, *, confidence: Number, simultaneous: bool
) -> list[Any]:
    """Both questions, with bounds that hold together as often as those of their ratio are to.

    Errors: ParameterError for what has no ratio with bounds.

    >>> one = Count(epsilon=1)
    >>> [str(half.confidence) for half in halves(one, one, confidence="9/10", simultaneous=False)]
    ['19/20', '19/20']
    """
    for name, one in {"numerator": numerator, "denominator": denominator}.items():
        if type(one) not in (Count, RowCount, Sum):
            raise ParameterError(
                f"The {name} is {a(type(one).__name__)}, of which no ratio is told.",
                hint="Give a Count, a RowCount or a Sum; a mean is a question of its own.",
            )
    ends: Any = (0, 0)  # of counts; of a sum what it says, if it does
    if isinstance(denominator, Sum):
        totals = denominator.total_bounds
        ends = denominator.bounds if totals is None else totals
    known = isinstance(ends, tuple | list) and len(ends) == 2
    if not known or exact(ends[0], name="bounds") < 0:
        raise ParameterError(
            "Nothing says that the denominator is never negative, and a ratio has no bounds where "
            "it may be.",
            hint="Divide by a count, or by a Sum with bounds=(0, highest) or total_bounds= of its "
            "own.",
        )
    asked = (numerator, denominator)
    groups, others = ((names_of(q.by, name="by"), plain(q.keys), q.others) for q in asked)
    if groups != others:
        raise ParameterError(
            "The numerator and the denominator are not about the same groups.",
            hint="Give both the same by=, keys= and others=.",
        )
    sure = shared(Confidence(confidence, simultaneous).of_each(1), 2)
    return [replace(one, confidence=sure, simultaneous=simultaneous) for one in asked]


def ratio_of(
    answers: Answers, denominator: Any, *, confidence: Number, simultaneous: bool
) -> Release:
    """The ratio of two answers, and bounds that hold where those of both do.

    Promise: what is made of published answers costs nothing. If the numerator lies in ``[a, b]``
    and the denominator, which is above 0, in ``[c, d]``, their ratio lies between the least and the
    largest of a/c, a/d, b/c and b/d. Both hold with 1 - (1 - confidence)/2, so together with
    ``confidence``, however their errors depend on each other (Bonferroni). A denominator that may
    be 0 as far as its bounds say leaves one side open. Certain bounds give certain ones.

    >>> import onesided as od, polars as pl
    >>> rows, policy = pl.DataFrame({"person": [1, 2]}), od.policy.addition_only()
    >>> session = od.Session(rows, unit="person", policy=policy, budget=99)
    >>> asked = [od.Count(epsilon=20), od.Count(epsilon=20)]
    >>> told = ratio_of(session.ask_all(asked), asked[1], confidence="9/10", simultaneous=False)
    >>> told.kind
    'Estimates'
    """
    above, below = answers.releases
    n, d = above.interval, below.interval
    counted = isinstance(denominator, Count | RowCount) and not getattr(denominator, "weight", "")
    estimate, bounds = quotients(
        above.estimate, n, below.estimate, d, least=1.0 if counted else 0.0
    )
    sure = Confidence(confidence, simultaneous)
    titles = [one.asked.whole() for one in (above, below)]
    keys = above.keys
    return Release(
        kind="Estimates",
        told=of_groups(keys, {"estimate": estimate, **sides(bounds)}),
        guarantee=replace(answers.guarantee, asked=f"Ratio of {titles[0]} to {titles[1]}"),
        entry=answers.entry,
        asked=Statement(
            measure=f"Ratio of ({titles[0]}) to ({titles[1]})",
            heading=answers.asked.heading,
            data=answers.asked.data,
            by=(),
            parts=answers.asked.parts,
        ),
        bound_words=sure.words,
        told_again=answers.told_again,
        drawn=answers.drawn,
        cut=f"{answers.cut} {_SAID}".strip(),
        own={"answers": answers, **sure.facts},
        left=answers.left,
    )


def quotients(
    above: Any, n: Interval, below: Any, d: Interval, *, least: float
) -> tuple[Floats, Interval]:
    """Estimates and bounds of a quotient whose denominator is above 0, and at least ``least``.

    Bounds are rounded outwards.

    >>> four, two = (Interval(np.array([n]), np.array([n]), True, True) for n in (4, 2))
    >>> quotients([4], four, [2], two, least=1.0)[0].tolist()
    [2.0]
    """
    a, b, c, e = (np.asarray(one, dtype=np.float64) for one in (n.lower, n.upper, d.lower, d.upper))
    sure = d.lower_certain or bool((c <= least).all())  # below which no denominator is
    c, e = np.maximum(c, least), np.maximum(e, least)
    top, under = (np.asarray(one, dtype=np.float64) for one in (above, below))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = top / np.where(under > 0, under, e)
    pairs = [(x, y) for x in (a, b) for y in (c, e)]
    low, high = (end([_quotient(x, y, way) for x, y in pairs], axis=0) for end, way in _ENDS)
    falls = np.where(a >= 0, d.upper_certain, sure).all() and n.lower_certain
    rises = np.where(b >= 0, sure, d.upper_certain).all() and n.upper_certain
    estimate = np.clip(np.where(np.isfinite(found), found, 0), low, high)
    return estimate, Interval(low, high, bool(falls), bool(rises))


_ENDS: Final = ((np.min, -np.inf), (np.max, np.inf))
_WHOLE: Final = 2.0**53


def _quotient(top: Floats, under: Floats, way: float) -> Floats:
    """A quotient, or a float further where it is none: both may have been rounded to floats.

    0 of what may be 0, and infinity of infinity, say nothing that other corners do not.
    """
    with np.errstate(all="ignore"):
        found = top / under
        whole = (np.rint(found) == found) & (np.rint(under) == under) & (found * under == top)
        whole &= (top > -_WHOLE) & (top < _WHOLE)
    further = np.nextafter(np.nextafter(found, way), way)
    return np.where(np.isnan(found), 0, np.where(whole | (found == 0), found, further))
