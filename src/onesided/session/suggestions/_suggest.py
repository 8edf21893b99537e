"""Which ε, bounds and number of groups a question needs; by public facts, or a charged look."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Final

from onesided._numbers import Number, exact, positive, readable, strict_share, whole
from onesided.engine import public_keys
from onesided.errors import ParameterError
from onesided.session._count import Count
from onesided.session._groups import Grouped, names_of
from onesided.session._plan import ABSURD, Plan
from onesided.session._question import require_question
from onesided.session._release import Release
from onesided.session.histograms._histogram import Histogram
from onesided.session.several._several import Several
from onesided.session.suggestions._look import SizeLook, look_share, rank_to_exceed
from onesided.session.values._mean import Mean
from onesided.session.values._sum import Sum

PlanOf = Callable[..., Plan]
Ask = Callable[[Any], Any]
# Sizes up to 2^40 steps, two to each power of 2.
_SIZES: Final = 80
_LEAST: Final = Fraction(1, 10_000)
_MOST: Final = Fraction(ABSURD)
_STEPS: Final = 40


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
            lines.append(f"Predicted error (r.m.s.): {self.error:.3g}{part}.")
        for most, error in (self.compared or {}).items():
            chosen = " (chosen)" if most == self.question.max_groups else ""
            lines.append(f"max_groups={most}: predicted error {error:.3g}{chosen}")
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
    """The question with the least ε that is enough, or with the best bounds or ``max_groups``.

    Errors: ParameterError unless one thing is wanted, and where no ε up to 100 is enough.
    """
    size = None if guess is None else float(positive(guess, name="guess"))
    wanted = [name for name, one in _named(error, relative, certified) if one is not None]
    others = [one for one in (groups_of_units, look, like) if one is not None]
    _refuse_unclear(question, wanted, others=len(others), looks=look is not None)
    enough = _enough(error, relative, size, certified, count) if wanted else None
    compared, looked = None, None
    if like is not None:
        question = _by_example(plan_of, question, like)
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


def _refuse_unclear(question: Any, wanted: list[str], *, others: int, looks: bool) -> None:
    """Refuse an invalid question, before anything is looked at. Errors: ParameterError."""
    require_question(question)
    if isinstance(question, Several) or "epsilon" not in {one.name for one in fields(question)}:
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
    if looks and (wanted or others > 1):
        raise ParameterError(
            "A look takes its part of the question's ε, and goes with nothing else.",
            hint="Ask for ε first, without look=.",
        )


def _by_example(plan_of: PlanOf, question: Any, like: object) -> Any:
    """The same kind of question, with bounds or ``max_groups`` that err least on public rows."""
    ranked = plan_of(question, like=like).ranked
    same = (way.question for way in ranked if type(way.question) is type(question))
    return next(same, question)


def looked_at(plan_of: PlanOf, ask: Ask, question: Any, look: Number) -> tuple[Any, Release]:
    """The question with what a look at the data suggests, at what the look leaves of ε."""
    share = look_share(look)
    epsilon = positive(question.epsilon, name="epsilon")
    part, rest = epsilon * share, epsilon * (1 - share)
    kept = {one.name: getattr(question, one.name) for one in fields(Grouped)}
    kept |= {"epsilon": part, "id": None, "again": False}
    if isinstance(question, Sum | Mean):
        return _bounds_by_look(plan_of, ask, question, kept, rest)
    if isinstance(question, Count) and not isinstance(question, Histogram) and question.by:
        return _groups_by_look(ask, question, kept, rest)
    raise ParameterError(
        f"A look finds bounds of a Sum or Mean, or max_groups of a Count by groups, not what "
        f"{type(question).__name__} needs.",
        hint="Leave look= out.",
    )


def _bounds_by_look(
    plan_of: PlanOf, ask: Ask, question: Any, kept: Mapping[str, Any], rest: Fraction
) -> tuple[Any, Release]:
    plan_of(question)  # refuses what is wrong with it before anything is charged
    totals = isinstance(question, Sum) and question.of != "rows"
    ends = question.total_bounds if totals and question.total_bounds else question.bounds
    low, high = (exact(end, name="bounds") for end in ends)
    far, pairs = float(max(high, -low)), question.max_groups or 1
    groups = public_keys(question.keys, names_of(question.by, name="by")).size if question.by else 1
    noise = math.sqrt(2) * groups * pairs * far / float(rest)
    above = rank_to_exceed(noise, far, epsilon=kept["epsilon"] / pairs, number=_SIZES)
    sized = SizeLook(
        question.column,
        bounds=(low, high),
        step=question.step,
        missing=question.missing,
        above=above,
        sized="sums" if totals else "means",
        **kept,
    )
    found = ask(sized)
    size = exact(found.value, name="size")
    bounds = (max(low, -size), min(high, size))
    bounds = bounds if bounds[0] < bounds[1] else (low, high)
    return replace(question.within(*bounds), epsilon=rest), found


def _groups_by_look(
    ask: Ask, question: Any, kept: Mapping[str, Any], rest: Fraction
) -> tuple[Any, Release]:
    number = public_keys(question.keys, names_of(question.by, name="by")).size
    noise = math.sqrt(2) * number / float(rest)
    above = rank_to_exceed(noise, 1.0, epsilon=kept["epsilon"], number=min(number, _SIZES))
    every = {**kept, "max_groups": number, "on_excess": "truncate"}
    found = ask(SizeLook("", above=above, sized="groups", **every))
    return replace(question, max_groups=int(found.value), on_excess="truncate", epsilon=rest), found


def _named(*given: Number | None) -> list[tuple[str, Number | None]]:
    return list(zip(("error", "relative", "certified"), given, strict=True))


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
    most = float(positive(given, name="error" if relative is None else "relative"))
    most *= 1.0 if relative is None or guess is None else guess
    return lambda plan: _error_of(plan) <= most


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
    if count not in table:
        raise ParameterError(
            f"No count of {count} is certified by this question.",
            hint="Ask at_most(threshold, ...), with count= at most the threshold.",
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
    found = _rounded_up(math.exp(high))
    return min(found, _MOST)


_FINE: Final = 1e-4


def _rounded_up(number: float) -> Fraction:
    """Three digits, never below."""
    grain = Fraction(10) ** (math.floor(math.log10(number)) - 2)
    return math.ceil(Fraction(number) / grain) * grain


def _with_groups(
    plan_of: PlanOf, question: Any, groups_of_units: Mapping[int, int]
) -> tuple[Any, dict[int, float]]:
    """The ``max_groups`` of least predicted error: what is cut off, and the noise for the rest.

    groups_of_units: public; of how many units one thinks that they are in so many groups. Cutting
    takes the same part of every group, as each unit's own order of groups makes it.
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
