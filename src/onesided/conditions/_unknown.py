"""Whether a condition may be unknown for some row, from public facts alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    Like,
    Literal,
    Node,
    Not,
    OneOf,
    nodes,
)

Filled: TypeAlias = Mapping[str, str]
_SAFE: Final = ("LOWER", "UPPER", "LENGTH", "TRIM", "SUBSTRING")
_MOMENTS: Final = ("date", "datetime", "datetime with zone")


def may_be_unknown(tree: Node, filled: Filled) -> bool:
    """Whether some row may leave a tree without types undecided; True where that is not proved.

    filled: columns of which conditions see a value in every row, with what they hold: what is
    alike is compared as it is. "" where that is not known.

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
    if tree.otherwise is None:
        return True
    values = [*(then for _, then in tree.branches), tree.otherwise]
    return not _alike(values, filled) or any(may_be_unknown(part, filled) for part in values)


def _coalesced(tree: Coalesce, filled: Filled) -> bool:
    """A part that is known ends it, unless it is lost where it is converted to meet another."""
    alike = _alike(tree.members, filled)
    known = [part for part in tree.members if not may_be_unknown(part, filled)]
    return not any(alike or _plain(part) for part in known)


def _compared(tree: Compare | Between, filled: Filled) -> bool:
    """A literal is read as what it is compared with; two columns must be alike."""
    parts = [part for part in tree.parts if not isinstance(part, Literal)]
    return not _alike(parts, filled) or _any(tree, filled)


def _alike(parts: Iterable[Node], filled: Filled) -> bool:
    """Whether nothing is converted that may be lost: not every day is a moment."""
    kinds = [_kind(part, filled) for part in parts if not _plain(part)]
    return len(kinds) < 2 or (len(set(kinds)) == 1 and "" not in kinds)


def _plain(part: Node) -> bool:
    """Whether it is a literal that is itself in every type that takes it."""
    return isinstance(part, Literal) and part.type.kind not in _MOMENTS


def _kind(part: Node, filled: Filled) -> str:
    """What a part holds; "" where that is not known."""
    if isinstance(part, Column):
        return filled.get(part.name, "")
    if isinstance(part, Literal):
        return str(part.type)
    return "boolean" if isinstance(part, _CONDITIONS) else ""


_CONDITIONS: Final = (Compare, Between, Both, Not, IsNull, Like, OneOf)
_RULES: Final[Mapping[type[Node], Callable[[Any, Filled], bool]]] = {
    Column: lambda tree, filled: tree.name not in filled,
    Literal: lambda tree, _: tree.value is None,
    IsNull: lambda *_: False,
    Both: _both,
    Case: _case,
    Coalesce: _coalesced,
    Compare: _compared,
    Between: _compared,
    Arithmetic: lambda *_: True,  # it may overflow
    Call: lambda tree, filled: tree.function not in _SAFE or _any(tree, filled),
}
