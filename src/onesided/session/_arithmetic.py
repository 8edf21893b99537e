"""Arithmetic with published bounds: it costs nothing, and what is certain stays certain.

An answer's bounds are public, so what is computed from them loses nothing more, however often
(post-processing). Each result is again an interval for each row, by interval arithmetic in exact
fractions, and each side remembers what it rests on: it is *certain* only if every bound that it was
computed from is, those included that only decide which formula holds (a ratio rests on the sign of
its denominator). A bound that is not certain may fail with a stated chance; such chances are joined
by their sum over all intervals that a result used, each counted once (Bonferroni), which holds
whatever was looked at and chosen first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate, chain, count, permutations, product
from typing import Any, Final, Literal

from onesided._numbers import Number, exact, readable
from onesided.errors import ParameterError
from onesided.session._confidence import miss_of
from onesided.session._release import Release, frame_of
from onesided.session._tightened import Sum, tightest
from onesided.show import Card, RoleTable

_ROWS: Final = 20
# Whose numbers are at least 0, whatever their bounds say.
_COUNTS: Final = frozenset({"CountRelease", "AboveRelease", "TopKRelease"})
# Of which all that tells two answers apart stands in the statement, the cuts and the keys.
_SAME: Final = frozenset({"CountRelease", "HistogramRelease"})
# Which have a row for each key that was asked about.
_WHOLE: Final = _SAME | {"Estimates", "LinearRelease"}


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """One row: bounds, None where there is none, and whether each is certain.

    doubts: by interval that a likely side rests on, the chance that it does not hold.

    >>> one = Interval(Fraction(1), Fraction(2), upper_sure=False)
    >>> (one + -one).lower, (one + -one).lower_sure
    (Fraction(-1, 1), False)
    """

    lower: Fraction | None
    upper: Fraction | None
    lower_sure: bool = True
    upper_sure: bool = True
    doubts: Mapping[Any, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        likely = (self.lower is not None and not self.lower_sure) or (
            self.upper is not None and not self.upper_sure
        )
        object.__setattr__(self, "doubts", self.doubts if likely else {})
        object.__setattr__(self, "lower_sure", self.lower is None or self.lower_sure)
        object.__setattr__(self, "upper_sure", self.upper is None or self.upper_sure)

    def with_doubts(self, other: Interval) -> dict[Any, Fraction]:
        """What both rest on."""
        return {**self.doubts, **other.doubts}

    def __neg__(self) -> Interval:
        up, low = self.upper, self.lower
        return Interval(
            None if up is None else -up,
            None if low is None else -low,
            self.upper_sure,
            self.lower_sure,
            self.doubts,
        )

    def __add__(self, other: Interval) -> Interval:
        return Interval(
            None if self.lower is None or other.lower is None else self.lower + other.lower,
            None if self.upper is None or other.upper is None else self.upper + other.upper,
            self.lower_sure and other.lower_sure,
            self.upper_sure and other.upper_sure,
            self.with_doubts(other),
        )

    def times(self, factor: Fraction) -> Interval:
        """Each bound times a public number; a negative one turns the sides."""
        if factor < 0:
            return (-self).times(-factor)
        if not factor:
            return Interval(factor, factor)
        low, up = self.lower, self.upper
        return replace(
            self,
            lower=None if low is None else low * factor,
            upper=None if up is None else up * factor,
        )

    def over(self, other: Interval) -> Interval:
        """The ratio; without bounds where the denominator may be 0.

        Where 0 ≤ x and 0 < l ≤ y ≤ u, x / y lies in [lower / u, upper / l]. Both sides rest on l,
        without which the ratio may have another sign, and where x may be negative on the corners.
        """
        if other.upper is not None and other.upper < 0 and not other.crossed:
            return (-self).over(-other)
        if other.lower is None or other.lower <= 0 or other.crossed:
            return Interval(None, None)
        least, most = other.lower, other.upper
        low, low_sure = self._end(self.lower, least, most, falls=True)
        up, up_sure = self._end(self.upper, least, most, falls=False)
        return Interval(
            low,
            up,
            self.lower_sure and other.lower_sure and (other.upper_sure or low_sure),
            self.upper_sure and other.lower_sure and (other.upper_sure or up_sure),
            self.with_doubts(other),
        )

    @staticmethod
    def _end(
        bound: Fraction | None, least: Fraction, most: Fraction | None, *, falls: bool
    ) -> tuple[Fraction | None, bool]:
        """One side of a ratio, and whether the denominator's upper bound is not in it.

        A lower bound is least where a numerator of at least 0 is over the most, or a negative one
        over the least; an upper bound the other way round.
        """
        if bound is None:
            return None, True
        if (bound >= 0) != falls or not bound:
            return bound / least, True
        return (bound / most, False) if most is not None else (Fraction(0), True)

    def both(self, other: Interval) -> Interval:
        """What follows from two intervals about one number; certain where two are alike."""
        low, low_sure = _tighter(
            (self.lower, self.lower_sure), (other.lower, other.lower_sure), sign=1
        )
        up, up_sure = _tighter(
            (self.upper, self.upper_sure), (other.upper, other.upper_sure), sign=-1
        )
        return Interval(low, up, low_sure, up_sure, self.with_doubts(other))

    @property
    def crossed(self) -> bool:
        """Whether no number lies in it."""
        return self.lower is not None and self.upper is not None and self.lower > self.upper


def _tighter(
    one: tuple[Fraction | None, bool], other: tuple[Fraction | None, bool], *, sign: int
) -> tuple[Fraction | None, bool]:
    """The greater of two lower bounds (sign 1), or the less of two upper ones (-1)."""
    told = [(sign * value, sure) for value, sure in (one, other) if value is not None]
    if not told:
        return None, True
    value, sure = max(told)
    return sign * value, sure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bounds:
    """Bounds computed from published ones, a row for each key; :func:`certain` makes them.

    They are added, subtracted, multiplied by public numbers, divided, summed and compared, and cost
    nothing. Rows of two are matched by their keys; one without keys goes with every row.

    about: what the numbers are. by: the columns of keys. sources: the answers they come from, whose
    promises they share. whole: whether there is a row for each key that was asked about, so that
    rows can be summed. asked: the question they answer, as long as nothing was computed.

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
    rows: Mapping[tuple[Any, ...], Interval]
    sources: tuple[Release, ...]
    whole: bool = True
    asked: tuple[Any, ...] | None = None

    @classmethod
    def of(cls, number: Any) -> Bounds:
        """A public number as bounds of itself. Errors: ParameterError."""
        value = exact(number, name="number")
        return cls(about=readable(value), by=(), rows={(): Interval(value, value)}, sources=())

    @property
    def number(self) -> Fraction | None:
        """The public number that it is, if it rests on no answer."""
        return None if self.sources else self.rows[()].lower

    def __len__(self) -> int:
        return len(self.rows)

    def __add__(self, other: Bounds | Number) -> Bounds:
        return self._with(other, "+", lambda one, two: one + two)

    __radd__ = __add__

    def __neg__(self) -> Bounds:
        return self._each(f"-({self.about})", lambda one: -one)

    def __sub__(self, other: Bounds | Number) -> Bounds:
        return self._with(other, "-", lambda one, two: one + -two)

    def __rsub__(self, other: Number) -> Bounds:
        return Bounds.of(other)._with(self, "-", lambda one, two: one + -two)

    def __mul__(self, factor: Number) -> Bounds:
        given: object = factor
        if isinstance(given, Bounds):
            raise ParameterError(
                "Bounds are multiplied by public numbers alone.",
                hint="Divide, add or compare two of them; no statistic is a product of counts.",
            )
        times = exact(factor, name="factor")
        return self._each(f"{readable(times)} x ({self.about})", lambda one: one.times(times))

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
        found: dict[tuple[Any, ...], Interval] = {}
        for label, one in self.rows.items():
            part = tuple(label[place] for place in places)
            found[part] = found[part] + one if part in found else one
        gone = ", ".join(name for name in self.by if name not in kept)
        about = f"sum over {gone} of: {self.about}" if gone else self.about
        return replace(self, about=about, by=kept, rows=found, asked=None)

    def tightened(self, *others: Bounds, apart: bool = False) -> Bounds:
        """The tightest bounds that follow from more answers about the same rows.

        Of counts and histograms as they were published, before anything is computed from them: to
        the same question, or counts by more columns or by fewer, of which each is at most its
        margin. Of answers that say that units were cut, nothing follows for their parts. That the
        rows did not change between them is yours to know: another day's count is another number.

        apart: that no unit is in two of their groups is yours to know as well, as where each row
        counts alone; groups then add up to at most their margin. Where others=True counted all
        that is not listed, and nothing is missing, the whole is at most their sum, in any case.

        Errors: ParameterError for answers that differ in question, bins, condition, in what was
        cut or is missing, or whose certain bounds contradict each other.
        """
        if not isinstance(apart, bool):
            raise ParameterError(f"apart={apart!r} must be True or False.", value=apart)
        merged = {self.asked: self}
        for other in others:
            mine = merged.get(other.asked)
            if other.asked is None or (mine is None and not _related(other, merged.values())):
                raise ParameterError(
                    f"Nothing says that these are the same numbers: {self.about}, and "
                    f"{other.about}.{_differs(self, other)}",
                    hint="Tighten counts or histograms of one question, with the same keys and "
                    "cuts, or counts by more or fewer columns, before you compute with them.",
                )
            if not all(_one_population(*two) for two in product(self.sources, other.sources)):
                raise ParameterError(
                    f"{self.about}, and {other.about}: the policies of these answers differ, and "
                    "with them who is of which kind.",
                    hint="Tighten answers under one policy.",
                )
            both = other if mine is None else other._with(mine, "and", Interval.both)  # noqa: SLF001
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
        told = tightest(given, sums, nothing=_ZERO)
        for label, one in zip(chain(*(each.rows for each in found)), told, strict=True):
            if one.crossed and one.lower_sure and one.upper_sure:
                raise ParameterError(
                    f"{_named(label)}: two bounds that are certain contradict each other.",
                    hint="The rows changed between these answers, or groups are not apart.",
                )
        rows = dict(zip(self.rows, told, strict=False))
        sources = {id(one): one for each in found for one in each.sources}
        return replace(self, rows=rows, sources=tuple(sources.values()))

    def at_most(self, threshold: Number) -> list[Any]:
        """The keys whose number is certainly at most ``threshold``; the others are unknown."""
        most = exact(threshold, name="threshold")
        return self._where(lambda one: one.upper_sure and _told(one.upper, lambda x: x <= most))

    def at_least(self, threshold: Number) -> list[Any]:
        """The keys whose number is certainly at least ``threshold``; the others are unknown."""
        least = exact(threshold, name="threshold")
        return self._where(lambda one: one.lower_sure and _told(one.lower, lambda x: x >= least))

    def repeated(self, other: Bounds) -> Bounds:
        """One number, standing in each row of another one's keys."""
        if self.by or not other.by:
            return self
        (one,) = self.rows.values()
        return replace(self, by=other.by, rows=dict.fromkeys(other.rows, one), whole=other.whole)

    def where(self, other: Bounds, sign: str) -> Bounds:
        """The rows of which ``other``, by the same keys or none, is certainly <, <=, > or >= 0.

        Which rows are left rests on answers: they are no set whose sum is asked for, and each
        likely bound that is left keeps the chances of all.
        Errors: ParameterError for other keys.
        """
        if other.by not in (self.by, ()):
            raise ParameterError(
                f"These rows have the keys {', '.join(self.by) or 'none'}, and what chooses among "
                f"them has {', '.join(other.by)}.",
                hint="Compare numbers by the same keys.",
            )
        turned = other if "<" in sign else -other
        reached = (lambda x: x <= 0) if "=" in sign else (lambda x: x < 0)
        doubts: dict[Any, Fraction] = {}
        for one in (*self.rows.values(), *other.rows.values()):
            doubts.update(one.doubts)
        rows = {}
        for label, one in self.rows.items():
            chosen = turned.rows.get(label if other.by else ())
            if chosen is not None and chosen.upper_sure and _told(chosen.upper, reached):
                rows[label] = replace(one, doubts=doubts)
        about = f"{self.about}, where certainly {_part(other)} {sign} 0"
        sources = self._joined(other)
        return replace(self, about=about, rows=rows, sources=sources, whole=False, asked=None)

    def _joined(self, other: Bounds) -> tuple[Release, ...]:
        """What both rest on; doubts are told apart by them, so nothing may let go of one."""
        more = (one for one in other.sources if all(one is not mine for mine in self.sources))
        return *self.sources, *more

    def certainly_less(self, other: Bounds | Number) -> list[Any]:
        """The keys whose number is certainly less than the other's; the others are unknown."""
        less = self - other
        return less._where(  # noqa: SLF001 - one of these
            lambda one: one.upper_sure and _told(one.upper, lambda x: x < 0)
        )

    @property
    def miss(self) -> Fraction:
        """The chance that some bound of these rows does not hold is at most this; 0 if certain.

        All rows together: whichever was looked at first, it still holds.
        """
        doubts: dict[Any, Fraction] = {}
        for one in self.rows.values():
            doubts.update(one.doubts)
        return min(Fraction(1), sum(doubts.values(), Fraction(0)))

    @property
    def confidence(self) -> str:
        """How sure the bounds are that are not certain, in words; "" where all are."""
        if not self.miss:
            return ""
        held = int((1 - self.miss) * 10_000)
        return f"{held / 100:g} %, all at once"

    @property
    def table(self) -> RoleTable:
        """Keys and bounds as columns with roles."""
        rows = self.rows.values()
        labels = list(self.rows)
        keys = {name: [label[place] for label in labels] for place, name in enumerate(self.by)}
        told = {
            "lower": _outward([one.lower for one in rows], -1),
            "upper": _outward([one.upper for one in rows], 1),
            "lower_certain": [one.lower is not None and one.lower_sure for one in rows],
            "upper_certain": [one.upper is not None and one.upper_sure for one in rows],
        }
        return RoleTable.of({**keys, **told}, roles=dict.fromkeys(keys, "key"))

    @property
    def frame(self) -> Any:
        """The table as one of the first library that is installed of Polars, pandas, PyArrow."""
        return frame_of(self.table.columns())

    @property
    def first(self) -> tuple[str, ...]:
        """What must be known before any number, such as what was cut or is missing."""
        crossed = [_named(label) for label, one in self.rows.items() if one.crossed]
        wrong = f"Likely bounds cross, so one of them is wrong: {', '.join(crossed)}."
        said = [words for one in self.sources for words in one.warnings]
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
        lines = self.table.lines(rows=_ROWS, share=self.confidence)
        return "\n".join([*self.first, f"{self.about[:1].upper()}{self.about[1:]}.", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        about, *rest = self.sentences()[len(self.first) :]
        return Card(
            title=about,
            first=self.first,
            table=self.table,
            confidence=self.confidence,
            lines=tuple(rest),
        ).html()

    def _each(self, about: str, made: Callable[[Interval], Interval]) -> Bounds:
        rows = {label: made(one) for label, one in self.rows.items()}
        return replace(self, about=about, rows=rows, asked=None)

    def _where(self, holds: Callable[[Interval], bool]) -> list[Any]:
        found = [label for label, one in self.rows.items() if holds(one)]
        return [label[0] if len(label) == 1 else label for label in found]

    def _with(
        self, other: Bounds | Number, sign: str, made: Callable[[Interval, Interval], Interval]
    ) -> Bounds:
        """Row by row with another, matched by keys."""
        two = other if isinstance(other, Bounds) else Bounds.of(other)
        sources = self._joined(two)
        about = f"{_part(self)} {sign} {_part(two)}"
        if not two.by or not self.by:
            keyed = self if self.by else two
            mine, its = (next(iter(one.rows.values()), None) for one in (self, two))
            if mine is None or its is None:  # of no row, nothing follows
                return Bounds(about=about, by=keyed.by, rows={}, sources=sources, whole=False)
            rows = {
                label: made(one if self.by else mine, its if self.by else one)
                for label, one in keyed.rows.items()
            }
            return Bounds(about=about, by=keyed.by, rows=rows, sources=sources, whole=keyed.whole)
        if self.by != two.by or self.rows.keys() != two.rows.keys():
            raise ParameterError(
                f"The rows do not match: keys {', '.join(self.by)} ({len(self.rows)} rows) and "
                f"{', '.join(two.by)} ({len(two.rows)} rows).",
                hint="Ask both by the same keys, or sum one down to them: .sum(by=...).",
            )
        rows = {label: made(one, two.rows[label]) for label, one in self.rows.items()}
        whole = self.whole and two.whole
        return Bounds(about=about, by=self.by, rows=rows, sources=sources, whole=whole)


_ZERO: Final = Interval(Fraction(0), Fraction(0))
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
    plain = (told.made_for is not None and not told.made_for.rules for told in (mine, theirs))
    return mine.same_policy(theirs) or (all(plain) and mine.unit == theirs.unit)


def _differs(one: Bounds, other: Bounds) -> str:
    """What tells two questions apart whose titles may be alike."""
    if one.asked is None or other.asked is None:
        return " Only counts and histograms as published are compared."
    (mine, cut, by, keys), (its, also, of, others) = one.asked, other.asked
    if by == of and mine == its:
        return " Their keys differ." if keys != others else f" One says {cut!r}, one {also!r}."
    return ""


def _related(one: Bounds, others: Iterable[Bounds]) -> bool:
    return any(_finer(one, other) or _finer(other, one) for other in others)


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
        # One by one first: that rests on no other part's bounds, which may be likely.
        yield from (Sum(place, (one,), least=True, most=False) for one in parts)
        if apart or every:
            yield Sum(place, parts, least=apart, most=every)


def certain(release: Release, *, likely: bool = False) -> Bounds:
    """The bounds of a published answer, to compute with for ever at no cost.

    Takes every answer that has bounds, from a session, a file, the ledger or a server. Only the
    sides that are certain are kept; a side that is not has no bound. ``likely=True`` keeps those as
    well, marked, with the chance that any that was used is wrong, summed.

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
    lower = _ends(table, "lower", likely=likely)
    upper = _ends(table, "upper", likely=likely)
    if table.column("lower") is None or release.kind in _COUNTS:
        lower = [(Fraction(0), True) if value is None else (value, sure) for value, sure in lower]
    keys = [one.plain() for one in table.parts if one.role == "key"]
    labels = list(zip(*keys, strict=True)) if keys else [()] * len(table)
    rows = {
        label: Interval(
            low, up, low_sure, up_sure, {(id(release), None if together else row): miss}
        )
        for row, (label, (low, low_sure), (up, up_sure)) in enumerate(
            zip(labels, lower, upper, strict=True)
        )
    }
    if len(rows) < len(labels):
        raise ParameterError(
            f"{release.title}: two rows have one key.",
            hint="Take an answer with a row for each key.",
        )
    by, asked = tuple(table.names("key")), release.asked
    same = (replace(asked, heading=""), release.cut, by, tuple(rows))
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
    )


def _ends(
    table: RoleTable, side: Literal["lower", "upper"], *, likely: bool
) -> list[tuple[Fraction | None, bool]]:
    """The bounds of one side and whether each is certain; None where there is none."""
    held = table.column(side)
    sure = table.certain(side).tolist()
    if held is None:
        return [(None, True)] * len(sure)
    return [
        (Fraction(value), certain)
        if (value is not None and math.isfinite(value)) and (certain or likely)
        else (None, True)
        for value, certain in zip(held.plain(), sure, strict=True)
    ]


def _part(one: Bounds) -> str:
    """What it is, as a part of more; a number stands alone."""
    return f"({one.about})" if one.sources else one.about


def _told(value: Fraction | None, holds: Callable[[Fraction], bool]) -> bool:
    return value is not None and holds(value)


def _outward(values: Sequence[Fraction | None], sign: int) -> list[int | float | None]:
    """Numbers as people's programs have them: whole, or floats, the next one outward if need be."""
    if all(one is None or one.denominator == 1 for one in values):
        return [None if one is None else int(one) for one in values]
    return [None if one is None else _float(one, sign) for one in values]


def _float(value: Fraction, sign: int) -> float:
    near = float(value)
    wrong = Fraction(near) > value if sign < 0 else Fraction(near) < value
    return math.nextafter(near, sign * math.inf) if wrong else near


def _named(label: tuple[Any, ...]) -> str:
    return ", ".join(map(str, label)) or "all"
