"""Where answers may have discrete Gaussian noise: for what a pure law would take of an account."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, Literal, TypeVar

from onesided._numbers import Infinite
from onesided.errors import ParameterError
from onesided.fields import one_of
from onesided.ledger import PURE
from onesided.mechanism import GaussianSums
from onesided.mechanism.kit import Gaussian
from onesided.policy import Edge
from onesided.session._context import QueryContext
from onesided.session._plan import Plan
from onesided.session._ways import Way

Law = Literal["pure", "gaussian", "best"]
LAWS: Final = ("pure", "gaussian", "best")
WHY: Final = (
    "no pure ε holds of it; an untouched account holds as many of these answers as of those with "
    'law="pure"'
)
Made = TypeVar("Made", bound=GaussianSums)


def adds_orders(context: QueryContext) -> bool:
    """Whether the account takes charges that keep no pure ε: one that parts it by date does not."""
    return context.account.accounting != PURE and context.account.calendar is None


def by_law(
    name: str, question: Any, context: QueryContext, note: str = "", *, closed: bool = True
) -> Iterator[Way]:
    """The same question with this noise, where that may be asked for; for plans."""
    if question.law == "pure" and adds_orders(context):
        yield Way(name, replace(question, law="gaussian"), f"{note}{WHY}", closed=closed)


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
    "best" takes it where its error is less and no side would be certain. Errors: ParameterError
    for "gaussian" in an account that does not add divergences, or has no room at any order.
    """
    if one_of(law, name="law", words=LAWS) == "pure":
        return pure
    renyi = adds_orders(context)
    if law == "best" and (pure.certain or not renyi):
        return pure
    if not renyi:
        raise ParameterError(
            'law="gaussian" keeps no pure ε, and this account adds ε, or parts it by date.',
            hint='Open one with accounting="renyi" and a delta_budget, or ask with law="pure".',
            value=law,
        )
    own, may = (_parts(some) for some in (plan(one), pure))
    if any(isinstance(part, Infinite) for part in own.values()):
        if law == "best":
            return pure
        raise ParameterError(
            'law="gaussian" needs room at some order on every edge, and an edge has none.',
            hint='Open an account with a larger budget or delta_budget, or ask with law="pure".',
            value=law,
        )
    pairs = ((part, may[edge]) for edge, part in own.items() if part)
    moved = [(a, b) for a, b in pairs if isinstance(a, Fraction) and isinstance(b, Fraction)]
    if not moved:
        return pure
    try:
        made = plan(one.widened(moved))
    except ParameterError:  # wider than any noise that is drawn
        if law == "best":
            return pure
        raise
    return made if law == "gaussian" or error(made) < error(pure) else pure


def _parts(plan: Plan) -> dict[str, Fraction | Infinite]:
    return plan.account.parts(plan.charge, delta=plan.delta, divergences=plan.divergences)
