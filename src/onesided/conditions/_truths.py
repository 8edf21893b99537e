"""What a condition can be for a row of which other conditions are known, whatever the row holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Final, TypeAlias

from onesided.conditions._bind import Condition
from onesided.conditions._evaluate import evaluate
from onesided.conditions._tree import Both, Coalesce, Column, Compare, Literal, Node, Not, columns

Truth: TypeAlias = bool | None
ANY: Final[frozenset[Truth]] = frozenset({True, False, None})
_MOST_PARTS: Final = 7
_OPPOSITE: Final = {"<>": "=", ">=": "<", ">": "<="}


def truths(
    asked: Condition, known: Sequence[tuple[Condition, frozenset[Truth]]] = ()
) -> frozenset[Truth]:
    """All that ``asked`` can be for a row for which each known condition is one of what is said.

    True, False and None, which is unknown. Never too few: conditions are read down to what is no
    AND, OR, NOT or COALESCE of conditions, and each such part may be anything, whatever the others
    are, unless it is written like one of them.

    >>> adult, minor = Condition.parse("age >= 18"), Condition.parse("age < 18")
    >>> truths(adult, [(minor, frozenset({False}))])
    frozenset({True})
    >>> holds = frozenset({True, None})
    >>> True in truths(adult, [(minor, holds)])
    False
    >>> True in truths(Condition.parse("COALESCE(age, 99) >= 18"), [(minor, holds)])
    True
    """
    wanted, *trees = (_outline(one.tree) for one in (asked, *(one for one, _ in known)))
    parts = sorted({name for tree in (wanted, *trees) for name in columns(tree)})
    if len(parts) > _MOST_PARTS:
        return ANY
    rows = (dict(zip(parts, row, strict=True)) for row in product(ANY, repeat=len(parts)))
    told = list(zip(trees, (may for _, may in known), strict=True))
    fitting = (row for row in rows if all(evaluate(tree, row) in may for tree, may in told))
    return frozenset(evaluate(wanted, row) for row in fitting)  # type: ignore[misc] # of conditions


def _outline(node: Node) -> Node:
    """The condition with each part as a column of its own, called what the part is."""
    if isinstance(node, Both | Coalesce):
        return replace(node, members=tuple(map(_outline, node.members)))
    if isinstance(node, Not):
        return replace(node, part=_outline(node.part))
    if isinstance(node, Literal) and (node.value is None or isinstance(node.value, bool)):
        return node
    if isinstance(node, Compare) and node.op in _OPPOSITE:
        return Not(part=_outline(replace(node, op=_OPPOSITE[node.op])))
    return Column(name=str(node))
