"""Bounds that sessions tell of values: on every path of the noise, how often one misses the truth.

The truth is worked out from the rows themselves, in fractions. What follows from bounds is gone
through for all small ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import ceil, floor, inf
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided import session as questions
from onesided.engine import PublicKeys
from onesided.errors import ParameterError
from onesided.mechanism import Interval
from onesided.noise import IntArray, Noise
from onesided.policy import Policy
from onesided.session.kit import Cumulated, Shares, prepared, quotients
from onesided_proofs._worlds import table_of
from onesided_proofs.checks._certificates import Certificate, Said

_HALF: Final = Fraction(1, 2)
_QUARTERS: Final = tuple(Fraction(n, 4) for n in range(5))
_TABLES: Final = ((0, 1, 3, 4), (2, 2, 0))
_CLOSE: Final = 1e-12
# Lower and upper bound, the truth, and whether each side is certain.
_Bounds = tuple[Any, Any, Fraction, bool, bool]
_Read = Callable[[Any, list[int]], Iterator[_Bounds]]


def enclosed() -> Iterator[Certificate]:
    """Sums, means, variances, ratios and quantiles of rows; and controls."""
    both, one = policies.bounded(), policies.unbounded()
    left, came = policies.removal_only(), policies.addition_only()
    asked: dict[str, Any] = {"bounds": (0, 4), "confidence": _HALF}
    wide = {**asked, "bounds": (-3, 5), "step": _HALF}
    for policy, epsilon in ((both, _HALF), (both, 6), (one, 9), (left, 3)):
        yield _of(policy, questions.Mean("v", epsilon=epsilon, **asked), _mean)
    yield _of(both, questions.Mean("v", epsilon=2, **wide), _mean)
    for policy, epsilon in ((both, 16), (left, 60), (one, 60)):
        for divisor, root in (("n", False), ("n - 1", False), ("n", True)):
            more: dict[str, Any] = {"divisor": divisor, "root": root, "epsilon": epsilon}
            yield _of(policy, questions.Variance("v", **more, **asked), _spread)
    for policy in (both, one, left, came):
        yield _of(policy, questions.Sum("v", epsilon=3, **wide), _sum)
        yield _ratio(policy, questions.Sum("v", epsilon=16, **wide), questions.Count(epsilon=3))
    yield _ratio(left, questions.Count(epsilon=2), questions.Sum("v", epsilon=6, **asked))
    for policy in (one, left):
        total = questions.Sum("v", epsilon=5, **asked)
        yield _ratio(policy, total, questions.Count(epsilon=4), " together")
    for policy, q in product((both, one), ("1/4", "3/4")):
        near: dict[str, Any] = {"epsilon": 9, "interval": True, "confidence": _HALF}
        for found in ({"bounds": (0, 4)}, {"candidates": (1, 2, 4)}):
            yield _of(policy, questions.Quantile("v", q, **near, **found), _nearest)
    for policy in (both, left, came):
        runs = questions.Quantile("v", 0, candidates=(0, 2, 4), epsilon=12, confidence=_HALF)
        yield _of(policy, runs, _cumulated)
    cut: dict[str, Any] = {"bins": (0, 2, 5), "confidence": _HALF, "simultaneous": True}
    for (policy, epsilon), ranges in product(((both, 4), (one, 6), (left, 3)), ("cells", "all")):
        yield _of(policy, questions.RangeQuery("v", ranges, epsilon=epsilon, **cut), _ranges)
    mean = questions.Mean("v", epsilon=_HALF, **asked)
    yield _of(both, mean, lambda told, rows: _mean(told, [*rows, 4, 4]), "of other rows")
    spread = questions.Variance("v", epsilon=16, **asked)
    other = replace(spread, divisor="n - 1")
    yield _of(both, other, lambda told, rows: _spread(told, rows, as_=spread), "by n")


def _of(policy: Policy, question: Any, read: _Read, wrong: str = "") -> Certificate:
    steps = {}
    for rows in _TABLES:
        session = questions.Session(
            table_of(((row,) for row in rows), v="BIGINT"), policy=policy, budget=10**6
        )
        own = prepared(session, question)
        steps[rows] = own, own.read()

    def run(rows: IntArray, noise: Noise) -> Any:
        own, secret = steps[tuple(rows.tolist())]
        return own, own.draw(secret, noise)

    name = f"session: {type(question).__name__} under {policy.name}{wrong and ', '}{wrong}"
    return Certificate(
        name=name,
        run=run,
        read=lambda told, rows: _said(
            read((question, told[0].result(told[1], None)), rows.tolist())
        ),
        truths=_TABLES,
        confidence=_HALF,
        least=False,
        sound=not wrong,
    )


def _said(found: Iterator[_Bounds]) -> Said:
    """All at once hold as often as is said; a certain side always does, and is met."""
    certain, met, likely = list[bool](), list[bool](), list[bool]()
    for lower, upper, truth, *sure in found:
        sides = (
            (lower <= truth, abs(lower - truth) < _CLOSE),
            (truth <= upper, abs(upper - truth) < _CLOSE),
        )
        for (holds, close), always in zip(sides, sure, strict=True):
            (certain if always else likely).append(bool(holds))
            met += [bool(close)] * always
    sure_of = np.array(certain, dtype=np.bool_)
    held = np.array([all(likely)] if likely else [], dtype=np.bool_)
    nothing = np.zeros(0, dtype=np.bool_)
    return Said(sure_of, np.array(met, dtype=np.bool_), held, held, nothing)


def _told(release: Any, truth: Fraction) -> Iterator[_Bounds]:
    bounds = release.interval
    sides = bounds.lower_certain, bounds.upper_certain
    yield release.lower[0], release.upper[0], truth, *sides


def _mean(told: Any, rows: list[int]) -> Iterator[_Bounds]:
    yield from _told(told[1], Fraction(sum(rows), len(rows)))


def _sum(told: Any, rows: list[int]) -> Iterator[_Bounds]:
    yield from _told(told[1], Fraction(sum(rows)))


def _spread(told: Any, rows: list[int], *, as_: Any = None) -> Iterator[_Bounds]:
    """Of a root the squares are compared."""
    question, release = as_ or told[0], told[1]
    number, middle = len(rows), Fraction(sum(rows), len(rows))
    truth = sum((row - middle) ** 2 for row in rows) / (number - (question.divisor == "n - 1"))
    for lower, upper, _, *sides in _told(release, truth):
        power = 2 if question.root else 1
        yield Fraction(lower) ** power, Fraction(upper) ** power, truth, *sides


def _ranges(told: Any, rows: list[int]) -> Iterator[_Bounds]:
    question, release = told
    few = sum(row < question.bins[1] for row in rows)
    due = [few, len(rows) - few, len(rows)] if question.ranges == "all" else [few, len(rows) - few]
    sides = release.interval.lower_certain, release.interval.upper_certain
    for lower, upper, truth in zip(release.lower, release.upper, due, strict=True):
        yield lower, upper, Fraction(truth), *sides


def _nearest(told: Any, rows: list[int]) -> Iterator[_Bounds]:
    """The values on both sides of the quantile, taken up to a candidate where these are listed."""
    question, release = told
    rank = Fraction(question.q) * (len(rows) - 1)
    first, *_, last = question.candidates or question.bounds
    held = sorted(min(max(row, first), last) for row in rows)
    below, above = (held[end(rank)] for end in (floor, ceil))
    yield release.lower[0], inf, Fraction(below), False, False
    yield -inf, release.upper[0], Fraction(above), False, False


def _cumulated(told: Any, rows: list[int]) -> Iterator[_Bounds]:
    """At once: who is at or below each candidate, and every quantile that follows."""
    question, release = told
    upto = [sum(row <= at for row in rows) for at in question.candidates]
    for bounds, due in (
        (release.below, [*upto, len(rows)]),
        (release.above, [*(len(rows) - one for one in upto), 0]),
    ):
        for lower, upper, one in zip(bounds.lower[0], bounds.upper[0], due, strict=True):
            yield lower, upper, Fraction(one), bounds.lower_certain, bounds.upper_certain
    for q in _QUARTERS:
        at = release.at(q)
        yield at["lower"][0], at["upper"][0], Fraction(_quantile(rows, q)), False, False
    if release.above.upper_certain or release.below.lower_certain:
        for place, one in zip(question.candidates, upto, strict=True):
            share = float(release.certified_share(place, of=len(rows))[0])
            yield share, inf, Fraction(one, len(rows)), True, False


def _quantile(rows: list[int], q: Fraction) -> int:
    """The smallest value with so large a share at or below it."""
    return next(v for v in sorted(rows) if sum(row <= v for row in rows) >= q * len(rows))


def _ratio(policy: Policy, above: Any, below: Any, words: str = "") -> Certificate:
    """One total by another: of both answers, or from one span."""

    def read(told: Any, rows: list[int]) -> Iterator[_Bounds]:
        over, under = (
            sum(rows) if isinstance(one, questions.Sum) else len(rows) for one in (above, below)
        )
        yield from _told(told[1], Fraction(over, under))

    asked = questions.Ratio([above, below], confidence=_HALF)
    name = f"session: {type(above).__name__} by {type(below).__name__}{words} under {policy.name}"
    return replace(_of(policy, asked, read), name=name)


def quotients_fault() -> str:
    """Of all small bounds of both: the least and the largest quotient, and which are certain."""
    sides = tuple(product((False, True), repeat=2))
    for (a, b), (c, d), n_sure, d_sure, least in product(
        combinations_with_replacement(range(-2, 3), 2),
        combinations_with_replacement((0, 1, 3, 7), 2),
        sides,
        sides,
        (0, 1),
    ):
        under = max(c, least), max(d, least)
        if not under[1]:
            continue
        found, bounds = quotients(
            np.array([b]),
            Interval(np.array([a]), np.array([b]), *n_sure),
            np.array([d]),
            Interval(np.array([c]), np.array([d]), *d_sure),
            least=least,
        )
        low, high = (_end(one, under, way) for one, way in ((a, -1), (b, 1)))
        off = (bounds.lower[0], low, -1), (bounds.upper[0], high, 1)
        # An end is the quotient by the larger denominator, or by the smaller one.
        free = d_sure[0] or c <= least
        sure = (
            n_sure[0] and (d_sure[1] if a >= 0 else free),
            n_sure[1] and (free if b >= 0 else d_sure[1]),
        )
        if any(not _outer(*one) for one in off) or sure != (
            bounds.lower_certain,
            bounds.upper_certain,
        ):
            return f"[{a}, {b}] by [{c}, {d}] is {bounds}, due {low} .. {high}, certain: {sure}"
        if not bounds.lower[0] <= found[0] <= bounds.upper[0]:
            return f"[{a}, {b}] by [{c}, {d}] is estimated at {found}"
    # A float may stand for what lies beside it: all from 2^53 on, and quotients of fractions.
    for top, divisor, exact in (
        *((2.0**53, 1, False), (-(2.0**53), 1, False), (0.3, 0.3, False)),
        *((0, 0.5, True), (6, 3, True)),
    ):
        ends = [np.array([one]) for one in (top, divisor)]
        over, by = (Interval(end, end, *sides[-1]) for end in ends)
        _, bounds = quotients(ends[0], over, ends[1], by, least=0)
        low, high = bounds.lower[0], bounds.upper[0]
        if exact != (low == top / divisor == high) or not (exact or low < top / divisor < high):
            return f"{top} by {divisor} is {bounds}"
    return ""


def _end(one: int, under: tuple[int, int], way: int) -> Fraction | float:
    """The quotient that is furthest that way; infinite where nothing is divided by."""
    by = under[0] if one * way > 0 else under[1]
    return Fraction(one, by) if by else way * inf


def _outer(told: float, due: Fraction | float, way: int) -> bool:
    """Whether it is no nearer than due, and hardly further; just that where a float can be."""
    exact = isinstance(due, float) or due.denominator == 1
    close = abs(float(told) - float(due)) < _CLOSE if not isinstance(due, float) else told == due
    return bool(told == due if exact else (told - due) * way >= 0 and close)


def enclosing_fault(beyond: int = 0) -> str:
    """Of all tables of four values and all answers within a rank: every other quantile is inside.

    And on some it is at the bound, so that it could not be closer.
    """
    keys, met = PublicKeys.of(("place",), [("p",)]), set()
    pair, each = PublicKeys.of(("place",), [("p",), ("q",)]), np.array([[1.0, 2.0], [3.0, 4.0]])
    ends = {"lower": each - 1, "upper": each + 1}
    given: dict[str, Any] = {"estimates": each, "rank_error": (1.0, 1.0), "confidence": _HALF}
    made = Shares(keys=pair, q=(_HALF / 2, _HALF), bounds=(each - 1, each + 1), **given)
    both = made.told["told"].held()
    for name, due_of in {"estimate": each, **ends}.items():
        if both[name].tolist() != due_of.ravel().tolist():
            return f"{name} of two places is told as {both[name]}"
    for rows, place in product(combinations_with_replacement(range(4), 4), range(4)):
        below, upto = sum(row < place for row in rows), sum(row <= place for row in rows)
        if max(below - 2, 2 - upto) > 1 + beyond:
            continue
        told = Shares(
            keys=keys,
            q=(_HALF,),
            estimates=np.array([[float(place)]]),
            rank_error=(1.0,),
            confidence=_HALF,
        )
        for q in _QUARTERS[1:]:
            (low,), (high,) = told.enclosing(q, of=4)
            truth = _quantile([*rows], q)
            if not low <= truth <= high:
                return f"{q} of {rows} is {truth}, not in {low} .. {high}"
            met |= {(q, side) for side, end in enumerate((low, high)) if end == truth}
    # A rank off, a share a quarter away bounds from above, and one further from below, too.
    due = {(Fraction(1, 4), 1), (Fraction(1), 0)}
    return "" if met == due else f"bounds are met at {met}, due {due}"


def certified_fault(more: int = 0) -> str:
    """Shares that nobody in it passes, of all bounds on four: as large as they say, and no larger.

    Where units may have several values, or were cut, only who may be above says so.
    """
    none = np.zeros((1, 2))
    sides = product((True, False), repeat=3)
    for most, (above, one_each, cut) in product(range(-1, 6), sides):
        place = np.array([[4 - most]])
        told = Cumulated(
            candidates=(Fraction(7),),
            q=_HALF,
            estimates=none,
            unbiased=none,
            below=Interval(place, place + 9, not above, upper_certain=False),
            above=Interval(place - 9, 4 - place, lower_certain=False, upper_certain=above),
            confidence=_HALF,
            one_each=one_each,
            truncated=cut,
        )
        share = due = None
        with suppress(ParameterError):
            share = Fraction(told.certified_share(7, of=4)[0])
        if not cut and (above or one_each):
            due = Fraction(min(max(4 - most + more, 0), 4), 4)
        if share != due and (share is None or due is None or not 0 < due - share < _CLOSE):
            return f"{4 - most} are told to be below: a share of {share}, due {due}"
    return ""


def beside_fault(more: int = 0) -> str:
    """How many values bounds of quantiles take beside: the least that the claim needs."""
    shares, table = ("1/4", "1/2", "3/5"), table_of(((1,), (2,)), v="BIGINT")
    session = questions.Session(table, policy=policies.bounded(), budget=10**6)
    for epsilon, confidence in product((3, 6, 20), (_HALF, Fraction(9, 10))):
        asked = questions.Quantile(
            "v", shares, epsilon=epsilon, bounds=(0, 9), interval=True, confidence=confidence
        )
        made = prepared(session, asked).plan.mechanism
        number = len(shares)
        own, below, above = (made.beside[at : at + number] for at in (0, number, 2 * number))
        if own != ((0, 0),) * number:
            return f"{own} are beside the quantiles themselves"
        for q, part, (k, none), (no, m) in zip(shares, made.all.parts, below, above, strict=False):
            share = Fraction(q)
            # Both sides miss at most as often as one of them may.
            ranks = Fraction(part.rank_error(confidence=1 - (1 - confidence) / 2)) + 1 + more
            due = ceil(ranks / (1 - share)), 0, 0, ceil(ranks / share)
            if (k, none, no, m) != due:
                return f"{k, none, no, m} beside {q}, due {due}"
    return ""


def whole_fault(*, dropped: bool = False) -> str:
    """Units become rows where a move replaces all of a unit: not where it drops or reads some."""
    table = table_of(((1, 2), (2, 3)), person="BIGINT", v="BIGINT")
    for policy, due in (
        (policies.bounded(), True),
        (policies.addition_only(), True),
        (policies.presence(max_groups=2), dropped),
        (policies.sensitive("v > 2"), False),
        (policies.view("v > 2", over="v", members=2), False),
    ):
        session, made = questions.Session(table, unit="person", policy=policy, budget=9), None
        with suppress(ParameterError):
            made = session.per_unit(rows="count")
        if (made is not None) is not due:
            return f"{policy.name}: units {'became' if made else 'cannot become'} rows"
    return ""


def ranked_fault(cut: int = 6) -> str:
    """What a quantile reads of each place: how many values each candidate stands for."""
    held = {"a": (5, 6, 6), "b": (5, 7), "c": (8, 1), "d": (8,), "e": ()}
    table = table_of(
        ((place, value) for place, rows in held.items() for value in rows),
        place="VARCHAR",
        v="BIGINT",
    )
    session = questions.Session(table, policy=policies.bounded(), budget=10**6)
    asked = questions.Quantile(
        "v", candidates=[4, cut, 8], by="place", keys=[*held], method="noisy_max", epsilon=9
    )
    for rows, read in zip(held.values(), prepared(session, asked).read(), strict=True):
        told = dict(zip(*(part.tolist() for part in read), strict=True))
        due = [sum(low < value <= high for value in rows) for low, high in ((0, 4), (4, 6), (6, 8))]
        if told != {place: n for place, n in enumerate(due) if n} or read[0].size != len(told):
            return f"of {rows} {told} is read, due {due}"
    return ""


def moments_fault(moved: int = 0) -> str:
    """What is read of values whose sums are beyond 2^62: exactly what the rows add up to."""
    far = 2**38
    held = {1: (far - 3, 7 - far, far), 2: (far, far - 1), 3: (-5, -far), 4: (-far, 2)}
    table = table_of(
        ((unit, value) for unit, rows in held.items() for value in rows),
        person="BIGINT",
        v="BIGINT",
    )
    given: dict[str, Any] = {"unit": "person", "policy": policies.bounded(), "budget": 10**6}
    session, ends = questions.Session(table, **given), (-far, far)
    totals = questions.Sum("v", of="units", total_bounds=ends, epsilon=64)
    found = [prepared(session, totals).read().tolist()]
    due = [[sum(min(max(sum(rows), -far), far) for rows in held.values())]]
    each = questions.Sum("v", of="rows", max_rows=4, epsilon=64, bounds=ends)
    found.append(prepared(session, each).read().tolist())
    due.append([sum(map(sum, held.values()))])
    powers = prepared(session, questions.Mean("v", epsilon=64, bounds=ends)).read()
    means = [floor(Fraction(sum(rows), len(rows))) for rows in held.values()]
    found.append([*powers.exact[0]])
    due.append([len(held), sum(means), 0])
    near = 2**16
    asked = questions.Variance("v", bounds=(-near, near), epsilon=64)
    powers = prepared(session, asked).read()
    cut = [[min(max(value, -near), near) for value in rows] for rows in held.values()]
    means = [floor(Fraction(sum(rows), len(rows))) for rows in cut]
    found.append([*powers.exact[0]])
    due.append([len(held), sum(means), sum(one**2 for one in means) + moved])
    return "" if found == due else f"{found} is read, due {due}"
