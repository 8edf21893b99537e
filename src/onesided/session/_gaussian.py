"""Where counts may have discrete Gaussian noise: for what a pure law would take of an account."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, Literal

from onesided._numbers import Infinite
from onesided.errors import ParameterError
from onesided.fields import one_of
from onesided.ledger import PURE
from onesided.mechanism import Counts, CubeEstimates, GaussianCounts
from onesided.session._context import QueryContext
from onesided.session._groups import Groups
from onesided.session._plan import Plan

Law = Literal["pure", "gaussian", "best"]
LAWS: Final = ("pure", "gaussian", "best")
WHY: Final = (
    "no pure ε holds of it; an untouched account holds as many of these answers as of those with "
    'law="pure", with more noise'
)


def adds_orders(context: QueryContext) -> bool:
    """Whether the account takes charges that keep no pure ε: one that parts it by date does not."""
    return context.account.accounting != PURE and context.account.calendar is None


def gaussian_for(
    law: Law, pure: Counts | CubeEstimates, error: float, context: QueryContext, groups: Groups
) -> GaussianCounts | None:
    """Discrete Gaussian noise in place of ``pure``, whose error is told; None to keep that.

    Claim: an account that is untouched holds as many of these answers as of ``pure`` ones. By the
    filter a charge takes of an edge's budget the least part that some order's share, or ε, makes
    of it (:meth:`onesided.ledger.Account.parts`); this noise's part falls as 1 / σ², and σ² is the
    least at which no edge's part is above that of ``pure``. It goes by the budget, not by what is
    left, so that a question means the same whenever it is asked.
    "best" takes it where its error is less and no side would be certain. Errors: ParameterError
    for "gaussian" in an account that does not add divergences, or has no room at any order.
    """
    if one_of(law, name="law", words=LAWS) == "pure":
        return None
    sure = any(isinstance(one, Infinite) for one in (pure.upper_rate, pure.lower_rate))
    renyi = adds_orders(context)
    if law == "best" and (sure or not renyi):
        return None
    if not renyi:
        raise ParameterError(
            'law="gaussian" keeps no pure ε, and this account adds ε, or parts it by date.',
            hint='Open one with accounting="renyi" and a delta_budget, or ask with law="pure".',
            value=law,
        )
    alike = context.policy.view is None  # under a view several units may move in one count
    one = GaussianCounts(1, alike=alike, clip=pure.clip)
    own, may = (_parts(groups.plan(context, made)) for made in (one, pure))
    if any(isinstance(part, Infinite) for part in own.values()):
        if law == "best":
            return None
        raise ParameterError(
            'law="gaussian" needs room at some order on every edge, and an edge has none.',
            hint='Open an account with a larger budget or delta_budget, or ask with law="pure".',
            value=law,
        )
    pairs = ((part, may[edge]) for edge, part in own.items() if part)
    moved = [(a, b) for a, b in pairs if isinstance(a, Fraction) and isinstance(b, Fraction)]
    if not moved:
        return None
    made = one.widened(moved)
    better = math.sqrt(made.distribution.variance()) < error
    return made if better or law == "gaussian" else None


def _parts(plan: Plan) -> dict[str, Fraction | Infinite]:
    return plan.account.parts(plan.charge, delta=plan.delta, divergences=plan.divergences)
