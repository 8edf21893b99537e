"""Arithmetic with published bounds: it costs nothing, and what is certain stays certain.

An answer's bounds are public, so what is computed from them loses nothing more, however often
(post-processing). Each number has two intervals: one computed from certain bounds alone, which is
*certain*, and by the same function one from the narrowest that are known, which is *likely*. A
likely bound may fail with a stated chance; such chances are joined by their sum over all that were
looked at, each counted once (Bonferroni), which holds whatever was chosen for what it said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from importlib.util import find_spec
from itertools import accumulate, chain, count, permutations, product
from operator import ge, gt, le, lt
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from onesided._numbers import Number, exact, readable, round_down, round_up
from onesided.errors import ConditionError, ParameterError
from onesided.fields import is_bool
from onesided.session._confidence import miss_of
from onesided.session._context import condition, respelled, sideless
from onesided.session._release import Release, frame_of
from onesided.session._statement import Statement
from onesided.show import SIDES, Card, RoleColumn, RoleTable

# Intervals that a number lies in, in fractions. Every operation keeps order: of narrower intervals
# it makes one that is no wider. So what is certain is computed from certain intervals alone, and
# what is likely from the narrowest, by one function.


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of a number, None where there is none.

    >>> one = Interval(Fraction(1), Fraction(2))
    >>> (one + -one).lower, one.over(one).upper
    (Fraction(-1, 1), Fraction(2, 1))
    """

    lower: Fraction | None
    upper: Fraction | None

    def __neg__(self) -> Interval:
        return self.times(Fraction(-1))

    def __add__(self, other: Interval) -> Interval:
        pairs = ((self.lower, other.lower), (self.upper, other.upper))
        return Interval(*(None if a is None or b is None else a + b for a, b in pairs))

    def times(self, factor: Fraction) -> Interval:
        """Each bound times a public number; a negative one turns the sides."""
        if not factor:
            return Interval(factor, factor)
        low, up = (None if end is None else end * factor for end in (self.lower, self.upper))
        return Interval(low, up) if factor > 0 else Interval(up, low)

    def over(self, other: Interval) -> Interval:
        """The ratio; without bounds where the denominator may be 0.

        Where 0 ≤ x and 0 < l ≤ y ≤ u, x / y lies in [lower / u, upper / l]; where x may be
        negative, on the corners.
        """
        if other.upper is not None and other.upper < 0 and not other.crossed:
            return (-self).over(-other)
        if other.lower is None or other.lower <= 0 or other.crossed:
            return Interval(None, None)
        return Interval(
            _end(self.lower, other.lower, other.upper, falls=True),
            _end(self.upper, other.lower, other.upper, falls=False),
        )

    def both(self, other: Interval) -> Interval:
        """What follows from two intervals about one number."""
        lower = [end for end in (self.lower, other.lower) if end is not None]
        upper = [end for end in (self.upper, other.upper) if end is not None]
        return Interval(max(lower, default=None), min(upper, default=None))

    def holds(self, sign: str, limit: Fraction) -> bool:
        """Whether it is certain of the number that it is <, <=, > or >= the limit."""
        end = self.upper if "<" in sign else self.lower
        return end is not None and _SIGNS[sign](end, limit)

    @property
    def crossed(self) -> bool:
        """Whether no number lies in it."""
        return self.lower is not None and self.upper is not None and self.lower > self.upper


def _end(
    bound: Fraction | None, least: Fraction, most: Fraction | None, *, falls: bool
) -> Fraction | None:
    """One side of a ratio to a denominator within least and most.

    A lower bound is least where a numerator of at least 0 is over the most, or a negative one over
    the least; an upper bound the other way round.
    """
    if bound is None:
        return None
    if (bound >= 0) != falls or not bound:
        return bound / least
    return Fraction(0) if most is None else bound / most


# What bounds on several numbers say of each other, where some are sums of the others.
#
# Each step is an exact consequence: a sum's bound is the sum of its parts' bounds, and a part's the
# sum's less those of the other parts, again and again until nothing moves. Where sums cross, as in
# a table with both margins, more follows: for weights y ≥ 0 and the inequalities A x ≤ 0,
# x_j ≤ x_j - y A x = r x, and r x is bounded by the bounds of each x_i. That holds for *any* y, so
# y may come from a linear programme in floats: it is made a fraction, and the bound computed from
# it is exact and rests on what it used alone.

_SIGNS: Final = {"<": lt, "<=": le, ">": gt, ">=": ge}
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
    parts = [at for one in sums if len(one.parts) > 1 for at in one.parts]
    crossing = len(set(parts)) < len(parts)  # some number is a part of two sums of several
    if len(held) > _SMALL or find_spec("scipy") is None or not crossing:
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


_Side: TypeAlias = Literal["lower", "upper"]
_ROWS: Final = 20
# Whose numbers are at least 0, whatever their bounds say.
_COUNTS: Final = frozenset({"CountRelease", "HistogramRelease", "AboveRelease", "TopKRelease"})
# Of which all that tells two answers apart stands in the statement, the cuts and the keys.
_SAME: Final = frozenset({"CountRelease", "HistogramRelease"})
# Which have a row for each key that was asked about.
_WHOLE: Final = _SAME | {"Estimates", "LinearRelease"}


class Row(NamedTuple):
    """A number: what is certain of it, and what holds unless a likely bound does not.

    >>> sure = Interval(Fraction(0), None)
    >>> one = Row(sure, Interval(Fraction(0), Fraction(3)))
    >>> two = Row.of(Interval.__add__, one, one)
    >>> two.sure == sure, two.likely.upper
    (True, Fraction(6, 1))
    """

    sure: Interval
    likely: Interval

    @classmethod
    def of(cls, made: Callable[..., Interval], *rows: Row) -> Row:
        """What an operation makes of each."""
        sure = made(*(one.sure for one in rows))
        if all(one.likely is one.sure for one in rows):
            return cls(sure, sure)
        return cls.known(sure, made(*(one.likely for one in rows)))

    @classmethod
    def known(cls, sure: Interval, likely: Interval) -> Row:
        """Of two intervals; what is certain is likely as well."""
        both = sure.both(likely)
        return cls(sure, sure if both == sure else both)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bounds:
    """Bounds computed from published ones, a row for each key; :func:`certain` makes them.

    They are added, subtracted, multiplied by public numbers, divided, summed and compared, and cost
    nothing. Rows of two are matched by their keys; one without keys goes with every row.

    about: what the numbers are. by: the columns of keys. sources: the answers they come from, whose
    promises they share. whole: whether there is a row for each key that was asked about, so that
    rows can be summed. asked: the question they answer, as long as nothing was computed.
    doubts: for each likely bound that was looked at, the chance that it does not hold. turned:
    whether an upper bound may rest on a lower one of an answer, as of what is taken away.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": range(6), "place": ["gym"] * 4 + ["bar"] * 2})
    >>> policy = od.policy.presence(max_groups=1)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=100)
    >>> counts = od.certain(session.count(by="place", keys=["gym", "bar"], epsilon=60))
    >>> counts.sum().about, counts.sum().at_most(6), (counts / 6).at_most("2/3")
    ('sum over place of: number of units (person) by place', [()], ['gym', 'bar'])
    """

    about: str
    by: tuple[str, ...]
    rows: Mapping[tuple[Any, ...], Row]
    sources: tuple[Release, ...]
    whole: bool = True
    asked: tuple[Any, ...] | None = None
    doubts: Mapping[Any, Fraction] = field(default_factory=dict)
    turned: bool = False

    @classmethod
    def of(cls, number: Any) -> Bounds:
        """A public number as bounds of itself. Errors: ParameterError."""
        value = exact(number, name="number")
        one = Interval(value, value)
        return cls(about=readable(value), by=(), rows={(): Row(one, one)}, sources=())

    @property
    def number(self) -> Fraction | None:
        """The public number that it is, if it rests on no answer."""
        return None if self.sources else self.rows[()].sure.lower

    def __len__(self) -> int:
        return len(self.rows)

    def __add__(self, other: Bounds | Number) -> Bounds:
        return self._with(other, "+", Interval.__add__)

    __radd__ = __add__

    def __neg__(self) -> Bounds:
        return self._each(f"-({self.about})", Interval.__neg__, turned=True)

    def __sub__(self, other: Bounds | Number) -> Bounds:
        return self._with(other, "-", lambda one, two: one + -two)

    def __rsub__(self, other: Number) -> Bounds:
        return Bounds.of(other) - self

    def __mul__(self, factor: Number) -> Bounds:
        given: object = factor
        if isinstance(given, Bounds):
            raise ParameterError(
                "Bounds are multiplied by public numbers alone.",
                hint="Divide, add or compare two of them; no statistic is a product of counts.",
            )
        times = exact(factor, name="factor")
        about = f"{readable(times)} x ({self.about})"
        return self._each(about, lambda one: one.times(times), turned=times < 0)

    __rmul__ = __mul__

    def __truediv__(self, other: Bounds | Number) -> Bounds:
        """The ratio of two, or the share of a public number; no bound where it may be over 0."""
        return self._with(other, "/", Interval.over)

    def __rtruediv__(self, other: Number) -> Bounds:
        return Bounds.of(other) / self

    def sum(self, by: str | Sequence[str] = ()) -> Bounds:
        """The sum over all keys but those of ``by``.

        It bounds the sum of the rows' numbers: of people who are in two groups, each counts twice.
        Errors: ParameterError for columns that are no keys.
        """
        kept = (by,) if isinstance(by, str) else tuple(by)
        if unknown := [name for name in kept if name not in self.by]:
            raise ParameterError(
                f"by: no key of this answer is called {unknown[0]!r}.",
                hint=f"Its keys are {', '.join(self.by) or 'none: it is one row'}.",
                value=unknown[0],
            )
        if not self.whole or not self.rows:
            raise ParameterError(
                f"{self.about}: the rows of this answer are not all the keys that were asked "
                "about, so their sum is of no set that was named.",
                hint="Ask a count or a sum by the same keys; its bounds can be summed.",
            )
        places = [self.by.index(name) for name in kept]
        parts: dict[tuple[Any, ...], list[Row]] = {}
        for label, one in self.rows.items():
            parts.setdefault(tuple(label[place] for place in places), []).append(one)
        found = {label: Row.of(_total, *rows) for label, rows in parts.items()}
        gone = ", ".join(name for name in self.by if name not in kept)
        about = f"sum over {gone} of: {self.about}" if gone else self.about
        return replace(self, about=about, by=kept, rows=found, asked=None)

    def tightened(self, *others: Bounds, apart: bool = False) -> Bounds:
        """The tightest bounds that follow from more answers about the same rows.

        Of counts and histograms as they were published, before anything is computed from them: to
        the same question, or counts by more columns or by fewer, of which each is at most its
        margin. Of answers that say that units were cut, nothing follows for their parts, nor for
        those of another session: which groups of a unit count depends on the engine. That the rows
        did not change between them is yours to know: another day's count is another number.

        apart: that no unit is in two of their groups is yours to know as well, as where each row
        counts alone; groups then add up to at most their margin. Where others=True counted all
        that is not listed, and nothing is missing, the whole is at most their sum, in any case.

        Errors: ParameterError for answers that differ in question, bins, condition, in what was
        cut or is missing, or whose certain bounds contradict each other.
        """
        is_bool(apart, name="apart")
        merged = {self.asked: self}
        for other in others:
            if not all(_one_population(*two) for two in product(self.sources, other.sources)):
                raise ParameterError(
                    f"{self.about}, and {other.about}: the policies of these answers differ, and "
                    "with them who is of which kind.",
                    hint="Tighten answers under one policy.",
                )
            mine = merged.get(other.asked)
            if other.asked is None or (
                mine is None
                and not any(_finer(other, one) or _finer(one, other) for one in merged.values())
            ):
                raise ParameterError(
                    f"Nothing says that these are the same numbers: {self.about}, and "
                    f"{other.about}.{_differs(self, other)}",
                    hint="Tighten counts or histograms of one question, with the same keys and "
                    "cuts, or counts by more or fewer columns, before you compute with them.",
                )
            both = other
            if mine is not None:
                both = mine._with(other.ordered(mine.by), "and", Interval.both)  # noqa: SLF001
            merged[other.asked] = replace(both, asked=other.asked)
        found = list(merged.values())
        starts = accumulate((len(one.rows) for one in found), initial=0)
        places = [
            dict(zip(one.rows, count(at), strict=False))
            for one, at in zip(found, starts, strict=False)
        ]
        sums = [
            one
            for (whole, at), (part, beside) in permutations(zip(found, places, strict=True), 2)
            for one in _sums(whole, at, part, beside, apart=apart)
        ]
        given = [one for each in found for one in each.rows.values()]
        sure = tightest([one.sure for one in given], sums)
        doubts = {key: miss for each in found for key, miss in each.doubts.items()}
        likely = tightest([one.likely for one in given], sums) if doubts else sure
        for label, one in zip(chain(*(each.rows for each in found)), sure, strict=True):
            if one.crossed:
                raise ParameterError(
                    f"{_named(label)}: two bounds that are certain contradict each other.",
                    hint="The rows changed between these answers, or groups are not apart.",
                )
        rows = dict(zip(self.rows, map(Row.known, sure, likely), strict=False))
        sources = {id(one): one for each in found for one in each.sources}
        return replace(self, rows=rows, sources=tuple(sources.values()), doubts=doubts)

    def at_most(self, threshold: Number) -> list[Any]:
        """The keys whose number is certainly at most ``threshold``; the others are unknown."""
        return self._where("<=", exact(threshold, name="threshold"))

    def at_least(self, threshold: Number) -> list[Any]:
        """The keys whose number is certainly at least ``threshold``; the others are unknown."""
        return self._where(">=", exact(threshold, name="threshold"))

    def repeated(self, other: Bounds) -> Bounds:
        """One number, standing in each row of another one's keys."""
        if self.by or not other.by:
            return self
        rows = {label: one for label in other.rows for one in self.rows.values()}
        return replace(self, by=other.by, rows=rows, whole=other.whole)

    def ordered(self, by: tuple[str, ...]) -> Bounds:
        """The same with its columns of keys in another order."""
        places = [self.by.index(name) for name in by]
        rows = {tuple(label[at] for at in places): one for label, one in self.rows.items()}
        return replace(self, by=by, rows=rows)

    def where(self, other: Bounds, sign: str) -> Bounds:
        """The rows of which ``other``, by the same keys or none, is certainly <, <=, > or >= 0.

        Which rows are left rests on answers: they are no set whose sum is asked for.
        Errors: ParameterError for other keys.
        """
        if other.by not in (self.by, ()):
            raise ParameterError(
                f"These rows have the keys {', '.join(self.by) or 'none'}, and what chooses among "
                f"them has {', '.join(other.by)}.",
                hint="Compare numbers by the same keys.",
            )
        rows = {
            label: one
            for label, one in self.rows.items()
            if (chosen := other.rows.get(label if other.by else ())) is not None
            and chosen.sure.holds(sign, Fraction(0))
        }
        about = f"{self.about}, where certainly {_part(other)} {sign} 0"
        rests = self._joined(other)
        return replace(self, about=about, rows=rows, whole=False, asked=None, **rests)

    def _joined(self, other: Bounds) -> dict[str, Any]:
        """What both rest on; doubts are told apart by sources, so nothing may let go of one."""
        more = (one for one in other.sources if all(one is not mine for mine in self.sources))
        return {
            "sources": (*self.sources, *more),
            "doubts": {**self.doubts, **other.doubts},
            "turned": self.turned or other.turned,
        }

    def certainly_less(self, other: Bounds | Number) -> list[Any]:
        """The keys whose number is certainly less than the other's; the others are unknown."""
        return (self - other)._where("<", Fraction(0))  # noqa: SLF001 - one of these

    @property
    def miss(self) -> Fraction:
        """The chance that some bound of these rows does not hold is at most this; 0 if certain.

        All rows together, and all likely bounds that were looked at: the narrowest may be chosen.
        """
        told = any(one.likely is not one.sure for one in self.rows.values())
        return min(Fraction(1), sum(self.doubts.values(), Fraction(0))) if told else Fraction(0)

    @property
    def confidence(self) -> str:
        """How sure the bounds are that are not certain, in words; "" where all are."""
        if not self.miss:
            return ""
        held = int((1 - self.miss) * 10_000)
        return f"{held / 100:g} %, all at once"

    @property
    def table(self) -> RoleTable:
        """Keys and bounds as columns with roles.

        lower and upper are certain. likely_lower and likely_upper stand beside them where likely
        bounds were looked at, and have a number only where they say more.
        """
        rows = self.rows.values()
        labels = list(self.rows)
        keys = {name: [label[place] for label in labels] for place, name in enumerate(self.by)}
        sure = {side: [getattr(one.sure, side) for one in rows] for side in SIDES}
        table = RoleTable.of(
            {
                **keys,
                **{side: _outward(ends, side) for side, ends in sure.items()},
                **{f"{side}_certain": [e is not None for e in ends] for side, ends in sure.items()},
            },
            roles=dict.fromkeys(keys, "key"),
        )
        for side in SIDES if self.doubts else ():
            likely = (getattr(one.likely, side) for one in rows)
            more = [e if e != end else None for e, end in zip(likely, sure[side], strict=True)]
            told = RoleColumn(f"likely_{side}", side, _outward(more, side), unit=self.confidence)
            table = RoleTable((*table.parts, told))
        return table

    @property
    def frame(self) -> Any:
        """The table as one of the first library that is installed of Polars, pandas, PyArrow."""
        return frame_of(self.table.columns())

    @property
    def first(self) -> tuple[str, ...]:
        """What must be known before any number, such as what was cut or is missing."""
        crossed = [_named(label) for label, one in self.rows.items() if one.likely.crossed]
        wrong = f"Likely bounds cross, so one of them is wrong: {', '.join(crossed)}."
        said = [
            sideless(words) if self.turned else words
            for one in self.sources
            for words in one.warnings
        ]
        return tuple(dict.fromkeys((*([wrong] if crossed else []), *said)))

    def sentences(self) -> tuple[str, ...]:
        """Short prose: what must be known first, what the numbers are, and where they come from."""
        told = (replace(one.statement, first=()) for one in self.sources)
        return (
            *self.first,
            f"{self.about[:1].upper()}{self.about[1:]}.",
            "Computed from published bounds at no further cost.",
            *(f"From: {' '.join(one.sentences())}" for one in told),
        )

    def __str__(self) -> str:
        lines = self.table.lines(rows=_ROWS)
        return "\n".join([*self.first, f"{self.about[:1].upper()}{self.about[1:]}.", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        about, *rest = self.sentences()[len(self.first) :]
        return Card(title=about, first=self.first, table=self.table, lines=tuple(rest)).html()

    def _each(self, about: str, made: Callable[[Interval], Interval], *, turned: bool) -> Bounds:
        rows = {label: Row.of(made, one) for label, one in self.rows.items()}
        return replace(self, about=about, rows=rows, asked=None, turned=turned or self.turned)

    def _where(self, sign: str, limit: Fraction) -> list[Any]:
        found = [label for label, one in self.rows.items() if one.sure.holds(sign, limit)]
        return [label[0] if len(label) == 1 else label for label in found]

    def _with(
        self, other: Bounds | Number, sign: str, made: Callable[[Interval, Interval], Interval]
    ) -> Bounds:
        """Row by row with another, matched by keys."""
        two = other if isinstance(other, Bounds) else Bounds.of(other)
        about, rests = f"{_part(self)} {sign} {_part(two)}", self._joined(two)
        rests["turned"] |= sign == "-" and two.number is None
        rests["turned"] |= sign == "/" and (two.number is None or two.number < 0)
        keyed = [one for one in (self, two) if one.by] or [two]
        if len(keyed) > 1 and (self.by != two.by or self.rows.keys() != two.rows.keys()):
            raise ParameterError(
                f"The rows do not match: keys {', '.join(self.by)} ({len(self.rows)} rows) and "
                f"{', '.join(two.by)} ({len(two.rows)} rows).",
                hint="Ask both by the same keys, or sum one down to them: .sum(by=...).",
            )
        mine, its = (one.repeated(keyed[0]).rows for one in (self, two))
        rows = {at: Row.of(made, one, its[at]) for at, one in mine.items() if at in its}
        whole = bool(rows) and all(one.whole for one in keyed)
        return Bounds(about=about, by=keyed[0].by, rows=rows, whole=whole, **rests)


_CUT: Final = "may have been cut"


def _finer(whole: Bounds, part: Bounds) -> bool:
    """Whether ``part`` asks the same by more columns, so that each group is in one of ``whole``."""
    if whole.asked is None or part.asked is None or not set(whole.by) < set(part.by):
        return False
    (one, cut), other = whole.asked[:2], part.asked[0]
    same = replace(one, by=(), others=False) == replace(other, by=(), others=False)
    return same and _CUT not in cut


def _one_population(one: Release, other: Release) -> bool:
    """Whether two answers count the same units: one policy, or two that tell no kinds apart."""
    mine, theirs = one.guarantee, other.guarantee
    made = (mine.made_for, theirs.made_for)
    plain = (one is not None and not one.rules and one.view is None for one in made)
    return mine.same_policy(theirs) or (all(plain) and mine.unit == theirs.unit)


def _differs(one: Bounds, other: Bounds) -> str:
    """What tells two questions apart whose titles may be alike."""
    if one.asked is None or other.asked is None:
        return " Only counts and histograms as published are compared."
    (mine, cut, by, keys, which), (its, also, of, others, opened) = one.asked, other.asked
    if replace(mine, reading=its.reading) == its != mine:
        return " Text was read otherwise, or other rows of units counted."
    if (mine, cut, by, keys) == (its, also, of, others) and which != opened:
        return " Units were cut, and another session may have cut other groups of theirs."
    if by == of and mine == its:
        return " Their keys differ." if keys != others else f" One says {cut!r}, one {also!r}."
    return ""


def _sums(
    whole: Bounds,
    at: Mapping[tuple[Any, ...], int],
    part: Bounds,
    beside: Mapping[tuple[Any, ...], int],
    *,
    apart: bool,
) -> Iterator[Sum]:
    """What each group of ``whole`` is to those of ``part`` that lie in it; nothing unless finer.

    The group of all keys that are not listed has no key, and lies in the whole alone.
    """
    if part.asked is None or not _finer(whole, part):
        return
    columns = [part.by.index(name) for name in whole.by]
    inner: dict[tuple[Any, ...], list[int]] = {}
    for label, place in beside.items():
        inner.setdefault(tuple(label[one] for one in columns), []).append(place)
    asked, cut = part.asked[:2]
    every = asked.others and not whole.by and not cut
    for label, place in at.items():
        if label and None in label:
            continue
        parts = tuple(inner.get(label, ()))
        # One by one as well: that needs no bounds of the other parts.
        yield from (Sum(place, (one,), least=True, most=False) for one in parts)
        if apart or every:
            yield Sum(place, parts, least=apart, most=every)


def certain(release: Release, *, likely: bool = False) -> Bounds:
    """The bounds of a published answer, to compute with for ever at no cost.

    Takes every answer that has bounds, from a session, a file, the ledger or a server. Only the
    sides that are certain are kept; a side that is not has no bound. ``likely=True`` keeps those as
    well, apart from what is certain, with the chance that any that was looked at is wrong, summed.

    Errors: ParameterError where the answer has no bounds, or does not say how sure they are.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": range(6)})
    >>> session = od.Session(visits, unit="person", policy=od.policy.addition_only(), budget=100)
    >>> (1 - od.certain(session.count(epsilon=60)) / 10).at_least("2/5")
    [()]
    """
    if not isinstance(release, Release):
        raise ParameterError(
            f"certain takes a published answer, got {release!r:.80}.",
            hint="Give what session.ask returned, or a release read from a file or a server.",
        )
    table = release.table
    if table.column("lower") is None and table.column("upper") is None:
        parts = "one of its releases" if len(release.releases) > 1 else "an answer with bounds"
        raise ParameterError(
            f"{release.title}: this answer has no bounds.", hint=f"Take {parts}, or see its frame."
        )
    if likely and len(release.releases) > 1:
        raise ParameterError(
            f"{release.title}: each of these answers has chances of its own.",
            hint="Take each by itself, likely=True, and join what they give.",
        )
    miss, together = miss_of(release.bound_words) if likely else (Fraction(1), False)
    least = table.column("lower") is None or release.kind in _COUNTS or release.asked.from_zero
    floor = Interval(Fraction(0) if least else None, None)
    keys = [one.plain() for one in table.parts if one.role == "key"]
    labels = list(zip(*keys, strict=True)) if keys else [()] * len(table)
    rows: dict[tuple[Any, ...], Row] = {}
    doubts: dict[Any, Fraction] = {}
    sides = zip(*(_ends(table, side) for side in SIDES), strict=True)
    for row, (label, told) in enumerate(zip(labels, sides, strict=True)):
        sure, known = (floor.both(Interval(*ends)) for ends in zip(*told, strict=True))
        rows[label] = Row.known(sure, known if likely else sure)
        if likely and any(end != one for end, one in told):
            doubts[id(release), None if together else row] = miss
    if len(rows) < len(labels):
        raise ParameterError(
            f"{release.title}: two rows have one key.",
            hint="Take an answer with a row for each key.",
        )
    by, asked = tuple(table.names("key")), release.asked
    # Which groups of a unit are cut depends on the engine, its version and the types of columns.
    opened = id(release) if release.told_again else release.own.get("_opened", id(release))
    which = opened if _CUT in release.cut else None
    same = _same(asked, release.cut, by, rows, which)
    if release.kind == "AboveRelease" and by == asked.by:  # its title asks; its bounds are of this
        asked = replace(asked, heading="", measure=release.counted)
    title = asked.whole()
    return Bounds(
        about=f"{title[:1].lower()}{title[1:]}",
        by=by,
        rows=rows,
        sources=(release,),
        whole=all(one.kind in _WHOLE for one in release.releases),
        asked=same if release.kind in _SAME else None,
        doubts=doubts,
    )


def _same(
    asked: Statement, cut: str, by: tuple[str, ...], rows: Iterable[tuple[Any, ...]], which: object
) -> tuple[Any, ...]:
    """What is the same of two answers to one question, in whatever order and words it was asked.

    Of units that were cut the order counts: they are in the first of the groups.
    """
    order = sorted(range(len(by)), key=by.__getitem__)
    where, keys = asked.where, frozenset(tuple(label[at] for at in order) for label in rows)
    which = which if which is None else (which, by, tuple(rows))
    with suppress(ConditionError):
        chosen = condition(where or None)
        where = "" if chosen is None else str(chosen.readable())
    units = tuple(sorted(one for one in asked.measured if one[0] not in asked.by))
    told = replace(asked, heading="", by=tuple(sorted(asked.by)), where=where, measured=units)
    return told, respelled(cut, asked.where, where), tuple(sorted(by)), keys, which


def _ends(table: RoleTable, side: _Side) -> list[tuple[Fraction | None, Fraction | None]]:
    """Of each row the bound on one side if it is certain, and in any case; None without one."""
    held = table.column(side)
    told = [None] * len(table) if held is None else held.plain()
    ends = [None if one is None or not math.isfinite(one) else Fraction(one) for one in told]
    sure = table.certain(side).tolist()
    return [(end if is_sure else None, end) for end, is_sure in zip(ends, sure, strict=True)]


def _total(*parts: Interval) -> Interval:
    return reduce(Interval.__add__, parts)


def _part(one: Bounds) -> str:
    """What it is, as a part of more; a number stands alone."""
    return f"({one.about})" if one.sources else one.about


def _outward(values: Sequence[Fraction | None], side: _Side) -> list[int | float | None]:
    """Numbers as people's programs have them: whole, or floats, the next one outward if need be."""
    if all(one is None or one.denominator == 1 for one in values):
        return [None if one is None else int(one) for one in values]
    rounded = round_down if side == "lower" else round_up
    return [None if one is None else rounded(one) for one in values]


def _named(label: tuple[Any, ...]) -> str:
    return ", ".join(map(str, label)) or "all"
