"""Where noise for all counts may be drawn at once, and what is said of it."""

from __future__ import annotations

from onesided._english import many
from onesided._numbers import Number
from onesided.mechanism import Compounds
from onesided.mechanism.kit import Move, count_moves
from onesided.session._context import QueryContext
from onesided.session._groups import Groups


def why_at_once(*, below: bool = False) -> str:
    """Why noise is drawn for all counts at once. below: whether it is below them."""
    moves, side = ("rise", "below") if below else ("fall", "above")
    return (
        f"the policy only lets answers {moves}, and a unit may be in most of the groups, so noise "
        f"{side} is drawn for all of them at once: less than for each on its own"
    )


def moves_of(
    groups: Groups, context: QueryContext, epsilon: Number, *, compounds: Compounds | None = None
) -> list[Move]:
    """What each edge may do to these counts, each of which moves by at most 1.

    None are told where several units may move in one count, as under a view.
    """
    if context.policy.view is not None:
        return []
    return count_moves(context.policy, epsilon=epsilon, query=groups.query, compounds=compounds)


def drawn_at_once(answers: int, side: str = "upper") -> str:
    """What a release says of its certificates where one draw of noise serves all its answers."""
    return (
        f"The noise of its {many(answers, 'answer')} was drawn at once, from one random level: "
        f"each {side} bound is certain all the same."
    )
