"""Ratios of two totals that are charged as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from onesided._english import a
from onesided._numbers import MAX_COUNT, Number, exact
from onesided.conditions import Truth, truths
from onesided.engine.kit import MOST_ROWS
from onesided.errors import ParameterError, UnprotectableError
from onesided.fields import is_bool
from onesided.mechanism import Interval
from onesided.mechanism.kit import CONFIDENCE, shared
from onesided.session._confidence import Confidence
from onesided.session._context import QueryContext, Taken, condition
from onesided.session._count import Count
from onesided.session._fields import plain
from onesided.session._gaussian import BEST, adds_orders
from onesided.session._groups import Groups, names_of
from onesided.session._question import Answer, PreparedQuery, all_of
from onesided.session._release import Release, of_groups, sides
from onesided.session._statement import Statement, several
from onesided.session.several._several import Answers, Several, total_of
from onesided.session.values._mean import Mean
from onesided.session.values._moments import Moments
from onesided.session.values._sum import RowCount, Sum
from onesided.session.values._value import (
    Floats,
    Value,
    counted_rows,
    ends_of_rows,
    most_rows,
    ones,
)

_SAID: Final = "A group whose denominator is 0 has no ratio, and its bounds are about none."
_WHY: Final = "the numerator and what the denominator has beyond it, which a unit moves by one span"


@dataclass(frozen=True, slots=True)
class Ratio(Several):
    """One total by another, with bounds that hold as often as ``confidence`` says.

    questions: the numerator and the denominator: a Count, RowCount or Sum each, about the same
        groups; what is divided by is never negative, as its bounds say.
    joint: True measures the numerator and what the denominator has beyond it, which one unit moves
        by one span together: all of ε goes to both. So it is where each unit adds to the numerator
        at most a public multiple of what it adds to the denominator: a part by a whole (the same
        question, of rows among the other's), or a total by a count. Else, with False, and where the
        denominator is public, both are told alone, at the sum of their charges; bounds are those of
        both, divided, and ``release.answers`` has both.
    epsilon, weights, guesses: as in ``ask_all``; weights and guesses are those of two answers.
    confidence, simultaneous: as in :class:`onesided.session.Count`.
    Proof: docs/proofs/sums.md. Errors: ParameterError, before anything is charged.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2], "cost": [1, 2, 3]})
    >>> session = od.Session(visits, unit="person", policy=od.policy.unbounded(), budget=1)
    >>> cost = od.Sum("cost", of="units", total_bounds=(0, 9), epsilon="1/2")
    >>> each = od.Ratio([cost, od.Count(epsilon="1/2")])
    >>> both = od.Ratio(each.questions, joint=False)
    >>> [str(session.plan(one).guarantee.headline) for one in (each, both)]
    ['1', '1']
    >>> 0 <= session.ask(each).value <= 9
    True
    """

    disjoint: bool = field(default=False, init=False)
    joint: bool = field(default=True, kw_only=True)
    confidence: Number = field(default=CONFIDENCE, kw_only=True)
    simultaneous: bool = field(default=False, kw_only=True)

    @staticmethod
    def about(parts: Sequence[Statement]) -> Statement:
        """What is said of the ratio of two such answers."""
        titles = [one.whole() for one in parts]
        return Statement(measure=f"Ratio of ({titles[0]}) to ({titles[1]})", parts=tuple(parts))

    def prepare(self, context: QueryContext) -> PreparedQuery[Any, Any]:  # type: ignore[override]
        """Check and price the question. Looks at no row."""
        is_bool(self.joint, name="joint")
        sure = Confidence(self.confidence, self.simultaneous)
        asked = replace(self, questions=halves(self.questions, sure))
        alone = Several.prepare(asked, context)
        told = self._jointly(context, alone.parts[1].plan.charge)
        if told is not None:
            return told

        def result(answer: Answer, entry: int | None) -> Release:
            told = alone.result(answer, entry)
            told = replace(told, asked=several([part.asked for part in told.parts]))
            return ratio_of(told, self.questions[1], sure)

        return replace(alone, result=result)  # type: ignore[arg-type] # a release

    def _jointly(
        self, context: QueryContext, denominator: Any
    ) -> PreparedQuery[Moments, Release] | None:
        """Both from one span; None where they are to be told alone.

        Each unit adds x to the numerator and y to the denominator of a group, and 0 <= x <= k y.
        So x and k y - x are no less than 0 and add up to k y: what :class:`Mean` says of a weight
        y and a value x / y from 0 to k. Sums that could be cut at 2^62 are no such pair.
        """
        n, d = self.questions
        apart = (self.weights, self.guesses) != (None, None) or not any(denominator.values())
        if apart or not self.joint or context.account.calendar is not None:
            return None
        value, heavy, groups = _span(context, n, d) or (ones(1), 0, None)
        if groups is None or heavy * value.high * MOST_ROWS > MAX_COUNT:
            return None
        mean = Mean(
            "",
            law="pure",
            weight="",
            epsilon=total_of(self.questions, self.epsilon),
            confidence=self.confidence,
            simultaneous=self.simultaneous,
        )
        try:
            plan = mean.priced(context, groups, value, 1, ones(heavy))
        except (ParameterError, UnprotectableError):  # values move as no span does; out of range
            return None
        parts = [one.prepare(context) for one in (n, d)]

        def look(taken: Taken) -> Moments:
            some, all_of_it = (part.look(taken).astype(object) for part in parts)
            moved = some - plan.mechanism.centre * all_of_it
            return Moments(np.stack([all_of_it, moved, np.zeros_like(moved)], axis=1))

        steps = mean.steps(
            context,
            groups,
            value,
            replace(plan, why=_WHY),
            detail={"joint": True, "questions": [part.detail for part in parts]},
            columns=tuple(dict.fromkeys(name for part in parts for name in part.columns)),
            look=look,
            asserts=all_of(*(part.asserts for part in parts)),
        )

        def result(answer: Answer, entry: int | None) -> Release:
            release = steps.result(answer, entry)
            return replace(release, cut=f"{release.cut} {_SAID}".strip())

        return replace(steps, result=result)


def _span(context: QueryContext, n: Any, d: Any) -> tuple[Value, int, Groups] | None:
    """The range of x / y of a unit, the largest y, and whose groups; None where there is none."""
    (above, words_n), (below, words_d) = (_adds(context, one) for one in (n, d))
    if above is None or below is None:
        return None
    value, rows = above
    most, heavy = (max(1, one or 1) * size.high for size, one in (above, below))
    if above == below:
        value = ones(1)
    elif isinstance(d, Count):
        value = replace(value, low=0, high=most)
    elif isinstance(d, RowCount) and (isinstance(n, Count) or rows == below[1]):
        value = replace(value, low=0)
    else:
        return None
    groups = [q.groups(context).with_others(q.others, context.policy) for q in (n, d)]
    alike = [(one.excess, one.query.max_groups, one.query.counted) for one in groups]
    if alike[0] != alike[1] or groups[0].excess == "truncate" or not _among(n, d):
        return None
    one, other = (group.left_out for group in groups)
    left = replace(
        one, values=(*one.values, *other.values), thinned=one.thinned or other.thinned, rises=False
    )
    columns = [group.query.columns for group in groups]
    known = None if None in columns else frozenset().union(*columns)
    query = replace(groups[1].query, columns=known)
    said = " ".join(dict.fromkeys(filter(None, (words_n, words_d))))
    return value, heavy, replace(groups[1], query=query, left_out=left, words=said)


def _adds(context: QueryContext, asked: Any) -> tuple[tuple[Value, int | None] | None, str]:
    """What one row or unit adds, at least 0, and how many rows of a unit do; and which, in words.

    None where it is no such sum with noise of its own ε.
    """
    law, weight = getattr(asked, "law", "pure"), getattr(asked, "weight", None)
    if weight is not None or law == "gaussian" or (law == BEST and adds_orders(context)):
        return None, ""
    if isinstance(asked, Count):
        return (ones(1), None), ""
    if isinstance(asked, RowCount):
        rows, words = counted_rows(context, asked.max_rows)
        return (ones(1), rows.high), words
    value, most = asked.value(context), most_rows(context, asked)
    ends_of_rows(value, most)
    return (value, most) if value.low >= 0 else None, asked.words(context, value, most)


def _among(n: Any, d: Any) -> bool:
    """Whether each row that the numerator counts is one that the denominator counts."""
    part, whole = (condition(one.where) for one in (n, d))
    if whole is None:
        return True
    counts: list[frozenset[Truth]] = [
        frozenset((True, None) if one.unknown == "possible" else (True,)) for one in (n, d)
    ]
    known = [] if part is None else [(part.readable(), counts[0])]
    return truths(whole.readable(), known) <= counts[1]


def halves(questions: Any, sure: Confidence) -> list[Any]:
    """Both questions, with bounds that hold together as often as those of their ratio are to.

    Errors: ParameterError for what has no ratio with bounds.

    >>> sure = Confidence("9/10", simultaneous=False)
    >>> [str(half.confidence) for half in halves([Count(epsilon=1)] * 2, sure)]
    ['19/20', '19/20']
    """
    if not isinstance(questions, list | tuple) or len(questions) != 2:
        raise ParameterError(
            f"A ratio is of two questions, got {questions!r:.80}.",
            hint="Give the numerator and the denominator.",
        )
    for name, one in zip(("numerator", "denominator"), questions, strict=True):
        if type(one) not in (Count, RowCount, Sum):
            raise ParameterError(
                f"The {name} is {a(type(one).__name__)}, of which no ratio is told.",
                hint="Give a Count, a RowCount or a Sum; a mean is a question of its own.",
            )
    denominator = questions[1]
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
    groups, others = ((names_of(q.by, name="by"), plain(q.keys), q.others) for q in questions)
    if groups != others:
        raise ParameterError(
            "The numerator and the denominator are not about the same groups.",
            hint="Give both the same by=, keys= and others=.",
        )
    half = shared(sure.of_each(1), 2)
    return [replace(q, confidence=half, simultaneous=sure.simultaneous) for q in questions]


def ratio_of(answers: Answers, denominator: Any, sure: Confidence) -> Release:
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
    >>> ratio_of(session.ask_all(asked), asked[1], Confidence("9/10", simultaneous=False)).kind
    'Estimates'
    """
    above, below = answers.releases
    n, d = above.interval, below.interval
    counted = isinstance(denominator, Count | RowCount) and not getattr(denominator, "weight", "")
    estimate, bounds = quotients(
        above.estimate, n, below.estimate, d, least=1.0 if counted else 0.0
    )
    return Release(
        kind="Estimates",
        told=of_groups(above.keys, {"estimate": estimate, **sides(bounds)}),
        guarantee=answers.guarantee,
        entry=answers.entry,
        bound_words=sure.words,
        cut=f"{answers.cut} {_SAID}".strip(),
        own={"answers": answers, **sure.facts},
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
