"""Where answers may have discrete Gaussian noise: for what a pure law would take of an account."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, Literal, TypeVar

from onesided._numbers import INFINITE, Infinite, Number
from onesided.accounting import NOTE, charge_divergences
from onesided.errors import ParameterError
from onesided.fields import one_of
from onesided.ledger import PURE
from onesided.mechanism import GaussianSums
from onesided.mechanism.kit import Gaussian
from onesided.policy import Edge
from onesided.session._context import QueryContext
from onesided.session._plan import ABSURD, Plan, PlanOption
from onesided.session._ways import Way

Law = Literal["pure", "gaussian", "best"]
LAWS: Final = ("pure", "gaussian", "best")
BEST: Final = "best"
WHY: Final = (
    "no pure ε holds of it; an untouched account holds as many of these answers as of those with "
    'law="pure"'
)
# At which δ what this account does not add is shown beside what it does.
_USUAL: Final = Fraction(1, 10**6)
_ADDS: Final = (
    'law="pure" is taken, as this account adds ε: opened with accounting="renyi" and a '
    "delta_budget of 1/1000000, it would hold as many of these, of which no pure ε holds"
)
Made = TypeVar("Made", bound=GaussianSums)
Asked = TypeVar("Asked")


def adds_orders(context: QueryContext) -> bool:
    """Whether the account takes charges that keep no pure ε."""
    return context.account.accounting != PURE


def kept_pure(question: Asked) -> Asked:
    """The question, or several, with noise that keeps a pure ε wherever the planner may choose.

    >>> import onesided as od
    >>> kept_pure(od.Count(epsilon=1)).law, kept_pure(od.Count(epsilon=1, law="gaussian")).law
    ('pure', 'gaussian')
    """
    own: Any = question
    if parts := getattr(own, "questions", ()):
        own = replace(own, questions=[kept_pure(one) for one in parts])
    elif getattr(own, "law", "") == BEST:
        own = replace(own, law="pure")
    return own  # type: ignore[no-any-return] # of its class


def laws_of(question: Asked) -> tuple[Asked, ...]:
    """The question, and as it is charged where ε alone counts, if that may be another one."""
    pure = kept_pure(question)
    return (question,) if pure == question else (question, pure)


def by_law(way: Way, gaussian: str, context: QueryContext, note: str = "") -> Iterator[Way]:
    """This way to ask, by the noise that it has, and the same with the other noise; for plans."""
    question = way.question
    if question.law == "gaussian" or not adds_orders(context):
        yield way
    elif question.law == BEST and INFINITE in question.prepare(context).plan.charge.values():
        yield replace(way, name=gaussian)
        pure = replace(question, law="pure")
        yield replace(way, name=f'{way.name}, law="pure"', question=pure, note="a pure ε holds")
    else:
        yield way
        other = replace(question, law="gaussian")
        yield Way(gaussian, other, f"{note}{WHY}", closed=way.closed)


def told_squares(made: GaussianSums, squares: Mapping[Edge, int]) -> dict[str, Gaussian]:
    """What numbers that each have this noise lose, of how far a move takes them: squared, in L2."""
    return {edge.name: Gaussian(made.variance, one) for edge, one in squares.items()}


def predicted(plan: Plan) -> float:
    """The root mean square error of a plan that tells one."""
    return math.hypot(plan.standard_deviation or 0.0, plan.bias)


def with_law(
    law: Law,
    pure: Plan,
    one: Made,
    plan: Callable[[Made], Plan],
    context: QueryContext,
    *,
    error: Callable[[Plan], float] = predicted,
) -> Plan:
    """The plan with discrete Gaussian noise in place of ``pure``, or that plan itself.

    one: that noise, of any size; plan: the plan with such noise.
    Claim: an account that is untouched holds as many of these answers as of ``pure`` ones. By the
    filter a charge takes of an edge's budget the least part that some order's share, or ε, makes
    of it (:meth:`onesided.ledger.Account.parts`); this noise's part falls as 1 / σ², and σ² is the
    least at which no edge's part is above that of ``pure``. It goes by the budget, not by what is
    left, so that a question means the same whenever it is asked.
    "best" takes it where its error is less and no side would be certain. Nothing here depends on
    answers, nor on what was spent. Errors: ParameterError for "gaussian" in an account that does
    not add divergences, or has no room at any order.
    """
    if one_of(law, name="law", words=LAWS) == "pure":
        return pure
    renyi = adds_orders(context)
    if law == BEST and pure.certain:
        return pure
    if law == BEST and not renyi:
        told, own = pure.alternatives, _elsewhere(pure, one, plan, error)
        return replace(pure, alternatives=lambda: (*told(), *own()))
    if not renyi:
        raise ParameterError(
            'law="gaussian" keeps no pure ε, and this account adds ε.',
            hint='Open one with accounting="renyi" and a delta_budget, or ask with law="pure".',
            value=law,
        )
    try:
        made = _widened(pure, one, plan)
    except ParameterError:
        if law == BEST:
            return pure
        raise
    if made is None or (law == BEST and not error(made) < error(pure)):
        return pure
    return made


def _elsewhere(
    pure: Plan, one: Made, plan: Callable[[Made], Plan], error: Callable[[Plan], float]
) -> Callable[[], Iterable[PlanOption]]:
    """In a pure account, what would err less in one that adds divergences; nothing if none.

    Nothing either of a budget so large that it is no promise to anybody.
    """

    def options() -> Iterable[PlanOption]:
        if max(pure.account.budget.values()) > ABSURD:
            return
        try:
            made = _widened(pure, one, plan, at=_USUAL)
        except ParameterError:
            return
        if made is None or pure.standard_deviation is None:
            return
        if (less := error(made)) < error(pure):
            name = f'{type(made.mechanism).__name__}, law="gaussian"'
            yield PlanOption(name=name, error=less, note=_ADDS, elsewhere=True)

    return options


def _widened(
    pure: Plan, one: Made, plan: Callable[[Made], Plan], *, at: Number | None = None
) -> Plan | None:
    """The plan with noise of which as many answers fit; None where no move is seen.

    Errors: ParameterError for an edge without room, or noise wider than any that is drawn.
    """
    own, may = (_parts(some, at) for some in (plan(one), pure))
    if any(isinstance(part, Infinite) for part in own.values()):
        raise ParameterError(
            'law="gaussian" needs room at some order on every edge, and an edge has none.',
            hint='Open an account with a larger budget or delta_budget, or ask with law="pure".',
            value="gaussian",
        )
    pairs = ((part, may[edge]) for edge, part in own.items() if part)
    moved = [(a, b) for a, b in pairs if isinstance(a, Fraction) and isinstance(b, Fraction)]
    return plan(one.widened(moved)) if moved else None


def _parts(plan: Plan, at: Number | None) -> dict[tuple[str, Fraction], Fraction | Infinite]:
    """By edge, and in an account by cohort by what dates have of its budget."""
    account, charge, delta = plan.account, plan.charge, plan.delta
    laws = charge_divergences({NOTE: plan.noise}, epsilon=charge, delta=delta)
    shares = [Fraction(1)] if account.calendar is None else account.calendar.shares
    return {
        (edge, share): part
        for share in shares
        for edge, part in account.parts(
            charge, delta=delta, divergences=laws, share=share, at=at
        ).items()
    }
