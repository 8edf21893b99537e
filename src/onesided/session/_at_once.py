"""Where noise for all counts may be drawn at once, and what is said of it."""

from __future__ import annotations

from typing import Final

from onesided._english import many
from onesided._numbers import Number
from onesided.mechanism import Compounds
from onesided.mechanism.kit import Move, count_moves
from onesided.session._context import QueryContext
from onesided.session._groups import Groups

TOGETHER: Final = (
    "the policy only lets answers fall, and a unit may be in most of the groups, so noise above is "
    "drawn for all of them at once: less than for each on its own"
)


def moves_of(
    groups: Groups, context: QueryContext, epsilon: Number, *, compounds: Compounds | None = None
) -> list[Move]:
    """What each edge may do to these counts, each of which moves by at most 1.

    None are told where several units may move in one count, as under a view.
    """
    if context.policy.view is not None:
        return []
    return count_moves(
        context.policy,
        epsilon=epsilon,
        max_groups=groups.query.max_groups,
        counted=groups.query.counted,
        truncated=groups.query.truncated,
        compounds=compounds,
    )


def drawn_at_once(answers: int) -> str:
    """What a release says of its certificates where one draw of noise serves all its answers."""
    return (
        f"The noise of its {many(answers, 'answer')} was drawn at once, from one random level: "
        "each upper bound is certain all the same."
    )
