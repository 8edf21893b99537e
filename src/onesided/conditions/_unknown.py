"""Whether a condition may be unknown for some row, from public facts alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from onesided.conditions._tree import (
    Arithmetic,
    Between,
    Both,
    Call,
    Case,
    Coalesce,
    Column,
    Compare,
    IsNull,
    Literal,
    Node,
    Not,
    nodes,
)

Filled: TypeAlias = Mapping[str, str]
_SAFE: Final = ("LOWER", "UPPER", "LENGTH", "TRIM", "SUBSTRING")


def may_be_unknown(tree: Node, filled: Filled) -> bool:
    """Whether some row may leave a tree without types undecided; True where that is not proved.

    filled: columns that are never without a value, with what they hold; "" where that is not known.

    >>> from onesided.conditions import Condition
    >>> held = Condition.parse("age IS NOT NULL AND age < 18").tree
    >>> may_be_unknown(held, {}), may_be_unknown(held.members[1], {})
    (False, True)
    """
    found: bool = _RULES.get(type(tree), _any)(tree, filled)
    return found


def passes_over(tree: Node, filled: Filled) -> bool:
    """Whether a CASE may come to a later branch because an earlier condition is unknown.

    >>> from onesided.conditions import Condition
    >>> cases = Condition.parse("CASE WHEN age < 18 THEN TRUE ELSE FALSE END").tree
    >>> passes_over(cases, {}), passes_over(cases, {"age": "integer"})
    (True, False)
    """
    return any(
        may_be_unknown(when, filled)
        for node in nodes(tree)
        if isinstance(node, Case)
        for when, _ in node.branches
    )


def _any(tree: Node, filled: Filled) -> bool:
    return any(may_be_unknown(part, filled) for part in tree.parts)


def _both(tree: Both, filled: Filled) -> bool:
    """Without a value ``x IS NOT NULL AND ...`` is false, and ``x IS NULL OR ...`` is true."""
    return _any(tree, {**dict.fromkeys(_decided_by(tree), ""), **filled})


def _decided_by(tree: Both) -> list[str]:
    tests = [part.part for part in tree.members if isinstance(part, Not)]
    found = [
        one.part for one in (tests if tree.op == "AND" else tree.members) if isinstance(one, IsNull)
    ]
    return [part.name for part in found if isinstance(part, Column)]


def _case(tree: Case, filled: Filled) -> bool:
    """A condition that is unknown is passed over."""
    values = [then for _, then in tree.branches]
    end = tree.otherwise
    return end is None or any(may_be_unknown(part, filled) for part in (*values, end))


def _compared(tree: Compare | Between, filled: Filled) -> bool:
    """What is converted to be compared may have no value: not every day is a moment."""
    parts = [part for part in tree.parts if not isinstance(part, Literal)]
    kinds = {filled.get(part.name, "") if isinstance(part, Column) else "" for part in parts}
    alike = len(parts) < 2 or (len(kinds) == 1 and "" not in kinds)
    return not alike or _any(tree, filled)


_RULES: Final[Mapping[type[Node], Callable[[Any, Filled], bool]]] = {
    Column: lambda tree, filled: tree.name not in filled,
    IsNull: lambda *_: False,
    Both: _both,
    Case: _case,
    Coalesce: lambda tree, filled: all(may_be_unknown(part, filled) for part in tree.members),
    Compare: _compared,
    Between: _compared,
    Arithmetic: lambda *_: True,  # it may overflow
    Call: lambda tree, filled: tree.function not in _SAFE or _any(tree, filled),
}
