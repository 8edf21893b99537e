"""Which ε, bounds and number of groups a question needs; by public facts, or a charged look."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, Final, Literal

import narwhals as nw
import numpy as np

from onesided._numbers import (
    INFINITE,
    Number,
    exact,
    positive,
    readable,
    rough,
    strict_share,
    text,
    whole,
)
from onesided.engine import PublicKeys, public_keys
from onesided.engine.kit import LENGTH, ORDER
from onesided.errors import ParameterError
from onesided.mechanism import NoisyMaxRank
from onesided.mechanism.kit import CONFIDENCE, Move, largest_rate
from onesided.noise import IntArray, Noise
from onesided.policy import Shift
from onesided.session._confidence import Confidence
from onesided.session._context import QueryContext, Taken
from onesided.session._groups import Groups, names_of
from onesided.session._plan import ABSURD, Plan, priced
from onesided.session._question import Answer, PreparedQuery, require_question
from onesided.session._release import Release, of_groups
from onesided.session._statement import Nouns
from onesided.session.values._moments import own_values
from onesided.session.values._shifts import values_move
from onesided.session.values._sum import Valued
from onesided.session.values._value import Value

Sized = Literal["sums", "means", "groups"]
PlanOf = Callable[..., Plan]
Ask = Callable[[Any], Any]
# Sizes up to 2^40 steps, two to each power of 2.
_SIZES: Final = 80
_LEAST: Final = Fraction(1, 10_000)
_MOST: Final = Fraction(ABSURD)
_STEPS: Final = 40
_FINE: Final = 1e-4
_FARTHEST: Final = 10**100
_SURE: Final = Fraction(19, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A question with the parameters that were looked for, and what its plan promises.

    question: ready to be asked. epsilon: the least that is enough, rounded up to three digits.
    error: predicted, root mean square; relative: to the guess, if there is one. certified: by true
    count, how often it is certified to be at most the threshold. compared: what was weighed.
    look: what was looked at, if that was asked for; it is charged, in a line of its own.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2]})
    >>> session = od.Session(people, unit="person", policy=od.policy.addition_only(), budget=9)
    >>> plan = session.plan(od.Count(epsilon=1))
    >>> Suggestion(question=od.Count(epsilon=1), epsilon=Fraction(1), plan=plan).error is None
    True
    """

    question: Any
    epsilon: Fraction
    plan: Plan
    error: float | None = None
    relative: float | None = None
    compared: Mapping[int, float] | None = None
    look: Release | None = None

    @property
    def certified(self) -> Mapping[int, float]:
        """By true count, the share that the plan certifies; empty where it certifies nothing."""
        return dict(self.plan.certifies)

    def __str__(self) -> str:
        lines = [f"ε = {readable(self.epsilon)}."]
        if self.look is not None:
            spent = readable(self.look.guarantee.headline)
            lines.insert(0, f"A look was charged: ε = {spent}, entry {self.look.entry}.")
        if self.error is not None:
            part = "" if self.relative is None else f", {self.relative:.1%} of the guess"
            lines.append(f"Predicted error (r.m.s.): {rough(self.error)}{part}.")
        for most, error in (self.compared or {}).items():
            chosen = " (chosen)" if most == self.question.max_groups else ""
            lines.append(f"max_groups={most}: predicted error {rough(error)}{chosen}")
        return "\n".join([*lines, str(self.plan)])


def suggested(
    plan_of: PlanOf,
    question: Any,
    *,
    error: Number | None = None,
    relative: Number | None = None,
    guess: Number | None = None,
    certified: Number | None = None,
    count: int = 0,
    groups_of_units: Mapping[int, int] | None = None,
    look: Number | None = None,
    like: object = None,
    ask: Ask | None = None,
) -> Suggestion:
    """The question with the least ε that is enough, or with the best bounds or ``max_groups``."""
    size = None if guess is None else _bearable(guess, name="guess")
    given = {"error": error, "relative": relative, "certified": certified}
    wanted = [name for name, one in given.items() if one is not None]
    others = [one for one in (groups_of_units, look, like) if one is not None]
    # Refuse an invalid question, before anything is looked at.
    require_question(question)
    if hasattr(question, "questions") or "epsilon" not in {one.name for one in fields(question)}:
        raise ParameterError(
            f"{type(question).__name__} has no ε of its own to look for.",
            hint="Ask about each of its questions.",
        )
    if len(wanted) > 1 or not (wanted or others):
        raise ParameterError(
            f"{len(wanted)} things are wanted of the answer: {', '.join(wanted) or 'none'}.",
            hint="Give one of error=, relative= (with guess=) or certified= (with count=), or "
            "groups_of_units=, like= or look=.",
        )
    if look is not None and (wanted or len(others) > 1):
        raise ParameterError(
            "A look takes its part of the question's ε, and goes with nothing else.",
            hint="Ask for ε first, without look=.",
        )
    enough = _enough(error, relative, size, certified, count) if wanted else None
    compared, looked = None, None
    if like is not None:  # with bounds or ``max_groups`` that err least on public rows
        ranked = plan_of(question, like=like).ranked
        same = (way.question for way in ranked if type(way.question) is type(question))
        question = next(same, question)
    if groups_of_units is not None:
        question, compared = _with_groups(plan_of, question, groups_of_units)
    if look is not None and ask is not None:
        question, looked = looked_at(plan_of, ask, question, look)
    if enough is not None:
        question = replace(question, epsilon=_least(plan_of, question, enough))
    plan = plan_of(question)
    found = plan.options[0].error
    return Suggestion(
        question=question,
        epsilon=exact(question.epsilon, name="epsilon"),
        plan=plan,
        error=found,
        relative=None if size is None or found is None else found / size,
        compared=compared,
        look=looked,
    )


def looked_at(plan_of: PlanOf, ask: Ask, question: Any, look: Number) -> tuple[Any, Release]:
    """The question with what a look at the data suggests, at what the look leaves of ε."""
    share, sized = look_share(look), getattr(question, "sized", None)
    epsilon = positive(question.epsilon, name="epsilon")
    part, rest = epsilon * share, epsilon * (1 - share)
    if sized is None:
        raise ParameterError(
            f"A look finds bounds of a Sum or Mean, or max_groups of a Count by groups, not what "
            f"{type(question).__name__} needs.",
            hint="Leave look= out.",
        )
    kept = question.shared(epsilon=part)
    by = names_of(question.by, name="by")
    groups = public_keys(question.keys, by).size if by else 1
    if sized == "groups":
        noise = math.sqrt(2) * groups / float(rest)
        above = rank_to_exceed(noise, 1.0, epsilon=part, number=min(groups, _SIZES))
        kept |= {"max_groups": groups, "on_excess": "truncate"}
        found = ask(SizeLook("", above=above, sized="groups", **kept))
        most = int(found.value)
        return replace(question, max_groups=most, on_excess="truncate", epsilon=rest), found
    plan_of(question)  # refuses what is wrong with it before anything is charged
    low, high = question.ends
    far, pairs = float(max(high, -low)), question.max_groups or 1
    noise = math.sqrt(2) * groups * pairs * far / float(rest)
    above = rank_to_exceed(noise, far, epsilon=part / pairs, number=_SIZES)
    asked = {name: getattr(question, name) for name in ("column", "step", "missing")}
    found = ask(SizeLook(bounds=(low, high), above=above, sized=sized, **asked, **kept))
    size = exact(found.value, name="size")
    bounds = (max(low, -size), min(high, size))
    bounds = bounds if bounds[0] < bounds[1] else (low, high)
    return replace(question.within(*bounds), epsilon=rest), found


def _enough(
    error: Number | None,
    relative: Number | None,
    guess: float | None,
    certified: Number | None,
    count: int,
) -> Callable[[Plan], bool]:
    """Whether a plan is good enough."""
    if certified is not None:
        share = strict_share(certified, name="certified", hint='Use for example "0.9".')
        true = whole(count, name="count", least=0)
        return lambda plan: _share_at(plan, true) >= share
    if relative is not None and guess is None:
        raise ParameterError(
            "The error relative to what?", hint="Pass guess=, a public guess of the answer's size."
        )
    given = error if relative is None else relative
    most = _bearable(given, name="error" if relative is None else "relative")
    most *= 1.0 if relative is None or guess is None else guess
    return lambda plan: _error_of(plan) <= most


def _bearable(given: object, *, name: str) -> float:
    """A positive number that floats hold with room for what is made of it."""
    found = positive(given, name=name)
    if not Fraction(1, _FARTHEST) <= found <= _FARTHEST:
        raise ParameterError(
            f"{name} is beyond all that is counted.", hint="Take one between 1e-100 and 1e100."
        )
    return float(found)


def _error_of(plan: Plan) -> float:
    found = plan.options[0].error
    if found is None:
        raise ParameterError(
            "The error of this answer depends on the data.",
            hint="Ask for certified=, or choose ε by hand.",
        )
    return found


def _share_at(plan: Plan, count: int) -> float:
    table = dict(plan.certifies)
    if plan.certain == ("lower",):  # beyond the counts told, one is certified no less often
        count = min(count, max(table, default=count))
    if count not in table:
        raise ParameterError(
            f"No count of {count} is certified by this question.",
            hint="Ask at_most(threshold, ...), with count= at most the threshold, or at_least with "
            "one of at least.",
            count=count,
        )
    return table[count]


def _least(plan_of: PlanOf, question: Any, enough: Callable[[Plan], bool]) -> Fraction:
    """The least ε that is enough, of three digits: more ε never makes an answer worse."""

    def good(epsilon: Fraction) -> bool:
        return enough(plan_of(replace(question, epsilon=epsilon)))

    if not good(_MOST):
        raise ParameterError(
            f"No ε up to {_MOST} is enough for this.", hint="Want less, or ask a coarser question."
        )
    low, high = math.log(_LEAST), math.log(_MOST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if good(Fraction(math.exp(middle))) else (middle, high)
        if high - low < _FINE:
            break
    found = math.exp(high)
    grain = Fraction(10) ** (math.floor(math.log10(found)) - 2)
    return min(math.ceil(Fraction(found) / grain) * grain, _MOST)


def _with_groups(
    plan_of: PlanOf, question: Any, groups_of_units: Mapping[int, int]
) -> tuple[Any, dict[int, float]]:
    """The ``max_groups`` of least predicted error: what is cut off, and the noise for the rest.

    Cutting takes the same part of every group, as each unit's own order of groups makes it.
    """
    if "max_groups" not in {one.name for one in fields(question)} or not groups_of_units:
        raise ParameterError(
            f"{type(question).__name__} has no max_groups to look for.",
            hint="Leave groups_of_units= out.",
        )
    sizes = {
        whole(most, name="groups", least=1): whole(units, name="units", least=0)
        for most, units in groups_of_units.items()
    }
    by = names_of(question.by, name="by")
    groups = public_keys(question.keys, by).size if by else 1
    found = {}
    for most in sorted(sizes):
        asked = replace(question, max_groups=most, on_excess="truncate")
        plan = plan_of(asked)
        cut = sum(max(0, size - most) * units for size, units in sizes.items()) / groups
        found[most] = math.hypot(_error_of(plan), cut)
    best = min(found, key=lambda most: (found[most], most))
    return replace(question, max_groups=best, on_excess="truncate"), found


@dataclass(frozen=True, slots=True)
class SizeLook(Valued):
    """Which public size do about so many units exceed? For :meth:`onesided.Session.suggest`.

    sized: a unit's sum or own mean in a group, or ("groups") in how many of the keys it is.
    column: the numbers; of "groups" the unit itself. above: how many are to exceed the size.
    The sizes are 1, 2, 3, 4, 6, 8, 12, ... steps up to the farther bound, or the number of keys.
    """

    above: int = field(default=0, kw_only=True)
    sized: Sized = field(default="sums", kw_only=True)

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        what = "in how many groups a unit is" if self.sized == "groups" else None
        return f"Look at {what or f'how large {nouns.column(self.column)} is'}"

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
        """Check and price the look. Looks at no row."""
        groups = self.groups(context)
        value = None if self.sized == "groups" else self.value(context)
        most = groups.keys.size if value is None else max(value.high, -value.low)
        if most < 1:
            raise ParameterError(
                "There is no size above 0 to look for.",
                hint="Give wider bounds, or leave look= out.",
            )
        found, power = {most}, 1
        while power < most:
            found |= {power, min(power + power // 2, most)}
            power *= 2
        sizes, step = sorted(found), Fraction(1) if value is None else value.step
        plan = self._priced(context, groups, len(sizes))
        mechanism = plan.mechanism

        def result(answer: Answer, entry: int | None) -> Release:
            place = int(np.asarray(answer["place"]).reshape(-1)[0])
            ends = [float(one * step) for one in (sizes[place], 0, sizes[-1])]
            columns = zip(("estimate", "lower", "upper"), map(np.atleast_1d, ends), strict=True)
            nobody = PublicKeys.of((), ((),))
            told = {**groups.published(context, plan, entry), "cut": ""}
            told["_make_frame"] = lambda columns: context.table.result(columns, like=())
            sure = {"lower_certain": False, "upper_certain": False}
            return Release(
                kind="Estimates",
                told=of_groups(nobody, {**dict(columns), **sure}),
                bound_words=Confidence(CONFIDENCE, simultaneous=False).words,
                **told,
            )

        def draw(counts: IntArray, noise: Noise | None) -> Answer:
            return {"place": np.array([mechanism.release(counts, noise=noise)])}

        return PreparedQuery(
            detail={**groups.detail, "sizes": len(sizes), "above": self.above, "look": self.sized},
            plan=plan,
            context=context,
            columns=groups.columns(context, *(() if value is None else value.columns)),
            look=lambda taken: self._read(taken, groups, value, np.array(sizes)),
            draw=draw,
            result=result,
        )

    def _priced(self, context: QueryContext, groups: Groups, candidates: int) -> Plan:
        """What the look costs on each edge."""
        pairs = groups.by and self.sized != "groups"
        dropped = context.unit is not None and values_move(context.policy) == "dropped"
        shifts = context.policy.shifts(groups.query)
        epsilon = positive(self.epsilon, name="epsilon")
        bare = NoisyMaxRank(INFINITE, above=self.above, candidates=candidates)

        def span(shift: Shift) -> int:
            """Of one value per unit, or per unit and group; one that is dropped may change."""
            if pairs:
                # Without rows that are dropped, what goes and what comes pair up as changes.
                both = shift.rise + shift.fall if dropped else max(shift.rise, shift.fall)
                return bare.span(Shift(rise=both, fall=0))
            moved = 1 if shift.rise or shift.fall else 0
            return bare.span(Shift(rise=moved, fall=moved if dropped else 0))

        moves = [
            Move(edge, one, epsilon * edge.weight) for edge, some in shifts.items() for one in some
        ]
        rate = largest_rate(moves, span)
        mechanism = NoisyMaxRank(rate, above=self.above, candidates=candidates)
        return priced(
            context,
            mechanism,
            shifts,
            loss=lambda shift: mechanism.noise_rate * span(shift) if span(shift) else Fraction(0),
            about=groups.sentence,
            why=f"noisy maximum over {candidates} sizes",
        )

    def _read(self, taken: Taken, groups: Groups, value: Value | None, sizes: IntArray) -> IntArray:
        """How many values count as each size: the next one from them upwards. Secret."""
        found = np.zeros(sizes.size, dtype=np.int64)
        if value is not None:
            far, counts, _ = own_values(taken, groups, value, own_mean=self.sized == "means")
        else:  # in how many of the keys units are, and how many units are in so many
            taken, groups = groups.inside(taken)
            if taken.unit is None:
                raise ParameterError("Each row is a unit, in one group.", hint="Leave look= out.")
            pairs = taken.table.join_keys(groups.rows(taken), groups.keys)
            each = pairs.select(taken.unit, ORDER).unique().group_by(taken.unit)
            units = each.agg(nw.len().alias(LENGTH)).with_columns(nw.lit(1).alias(ORDER))
            told = units.group_by(LENGTH).agg(nw.col(ORDER).sum()).select(LENGTH, ORDER)
            held = taken.table.arrays(told)
            far, counts = (np.asarray(held[name], dtype=np.int64) for name in (LENGTH, ORDER))
        places = np.minimum(np.searchsorted(sizes, np.abs(far)), sizes.size - 1)
        np.add.at(found, places, counts)
        return found


def rank_to_exceed(noise: float, size: float, *, epsilon: Fraction, number: int) -> int:
    """How many units may exceed a bound so that cutting and noise grow alike, and it is found.

    Noise of ``noise`` at a bound of ``size`` grows by ``noise / size`` with each unit of the bound,
    what is cut off falls by the number of units beyond: they are equal at that number. The look
    itself misses by so many ranks; below that, it could not tell any bound from the outermost.
    """
    rate = float(epsilon) / 2
    missed = (math.log(max(number, 2)) - math.log(1 - float(_SURE))) / rate
    return math.ceil(noise / size + missed)


def look_share(given: Any) -> Fraction:
    """The part of ε that a look may take. Errors: ParameterError."""
    share = exact(given, name="look")
    if not 0 < share < 1:
        raise ParameterError(
            f"look={text(share)} must lie between 0 and 1.",
            hint='Such as look="1/20", a twentieth of ε.',
            value=given,
        )
    return share
