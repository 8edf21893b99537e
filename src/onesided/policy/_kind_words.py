"""Kinds and their edges in words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from onesided.policy._shift import ABSENT, Edge
from onesided.policy._words import COMMON, PUBLIC_NUMBER, likely


def kind_sentences(kinds: Sequence[str], edges: Sequence[Edge], epsilon: Fraction) -> list[str]:
    """One sentence per edge and one per unprotected kind, then what the family invites."""
    lines = [
        f"Protected ({edge.name}): {_source(edge.source)} may pass as {_target(edge.target)}. "
        f"{likely(epsilon * edge.weight)}"
        for edge in edges
    ]
    protected = {edge.source for edge in edges}
    lines += [
        f"Not protected: {_target(kind)}. An observer may learn for certain {_leak(kind)}."
        for kind in kinds
        if kind not in protected
    ]
    lines += [
        f"Not protected: that a record is {source} and not {target}. An observer may learn this "
        "for certain."
        for source, target in _told_apart(kinds, edges)
    ]
    if ABSENT not in kinds:
        lines.append(PUBLIC_NUMBER)
    return [*lines, *_warnings(kinds, protected), COMMON]


def _told_apart(kinds: Sequence[str], edges: Sequence[Edge]) -> list[tuple[str, str]]:
    """Protected kinds that no chain of moves lets pass as some other kind that is there."""
    targets: dict[str, set[str]] = {}
    for edge in edges:
        targets.setdefault(edge.source, set()).add(edge.target)
    apart = []
    for source in targets:
        reached, todo = {source}, [source]
        while todo:
            new = targets.get(todo.pop(), set()) - reached
            reached |= new
            todo += new
        apart += [
            (source, kind)
            for kind in kinds
            if source != ABSENT and kind not in (reached | {ABSENT})
        ]
    return apart


def _warnings(kinds: Sequence[str], protected: set[str]) -> list[str]:
    """What the policy invites if it is used naively."""
    lines = []
    hidden = sorted(protected - {ABSENT})
    exposed = [kind for kind in kinds if kind not in protected and kind != ABSENT]
    if hidden and exposed:
        lines.append(
            f"Warning: never publish all {' or '.join(exposed)} records. Anyone missing from "
            f"them is then known to be {' or '.join(hidden)} (an exclusion attack). A sample, or "
            "counts with noise, avoids it."
        )
    if not hidden:
        lines.append(
            "Warning: this protects those who are NOT in the data. Publishing a share of the "
            "records in the clear would satisfy it. Use addition_only to protect people in it."
        )
    return lines


def _source(kind: str) -> str:
    return "someone who is not in the data" if kind == ABSENT else f"each {_noun(kind)}"


def _target(kind: str) -> str:
    return "not being in the data" if kind == ABSENT else f"any {_noun(kind)}"


def _noun(kind: str) -> str:
    return kind if kind == "record" else f"{kind} record"


def _leak(kind: str) -> str:
    if kind == ABSENT:
        return "that someone is not in the data"
    if kind == "record":
        return "that a record is there, and what it holds"
    return f"that a record is {kind}, and what it holds"
