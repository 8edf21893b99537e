"""Policies in words that a data-protection officer can use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from onesided._numbers import positive, round_up
from onesided.policy._shift import ABSENT

if TYPE_CHECKING:
    from onesided.policy._attributes import Attributes
    from onesided.policy._base import Policy
    from onesided.policy._graph import Graph, Local
    from onesided.policy._intersection import Intersection
    from onesided.policy._kinds import KindPolicy
    from onesided.policy._neighbourhood import Neighbourhood
    from onesided.policy._presence import Presence


def explain(policy: Policy, *, epsilon: object) -> str:
    """What an observer can learn for certain, what stays hidden, and the odds at ``epsilon``."""
    exact = positive(epsilon, name="epsilon")
    return "\n".join(policy.sentences(exact))


def odds(epsilon: float) -> str:
    """``e^epsilon`` in readable digits, rounded up; large values are named as what they are."""
    if epsilon > 20:
        return "more than 485 million"
    value = math.exp(epsilon)
    return f"{math.ceil(value * 100) / 100:,.2f}" if value < 1000 else f"{math.ceil(value):,}"


_COMMON = "This holds whatever else the observer knows about the other people in the data."


def kind_sentences(policy: KindPolicy, epsilon: Fraction) -> list[str]:
    """One sentence per edge and one per unprotected kind, then what the family invites."""
    lines = [
        f"Protected ({edge.name}): {_source(edge.source)} may pass as {_target(edge.target)}. "
        f"{_likely(epsilon * edge.weight)}"
        for edge in policy.edges
    ]
    protected = {edge.source for edge in policy.edges}
    lines += [
        f"Not protected: {_target(kind)}. An observer may learn for certain {_leak(kind)}."
        for kind in policy.kinds
        if kind not in protected
    ]
    lines += [
        f"Not protected: that a record is {source} and not {target}. An observer may learn this "
        "for certain."
        for source, target in _told_apart(policy)
    ]
    if ABSENT not in policy.kinds:
        lines.append(_PUBLIC_NUMBER)
    return [*lines, *_warnings(policy, protected), _COMMON]


def _told_apart(policy: KindPolicy) -> list[tuple[str, str]]:
    """Protected kinds that no chain of moves lets pass as some other kind that is there."""
    targets: dict[str, set[str]] = {}
    for edge in policy.edges:
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
            for kind in policy.kinds
            if source != ABSENT and kind not in (reached | {ABSENT})
        ]
    return apart


def _warnings(policy: KindPolicy, protected: set[str]) -> list[str]:
    """What the policy invites if it is used naively."""
    lines = []
    hidden = sorted(protected - {ABSENT})
    exposed = [kind for kind in policy.kinds if kind not in protected and kind != ABSENT]
    if hidden and exposed:
        lines.append(
            f"Warning: never publish all {' or '.join(exposed)} records. Whoever is missing from "
            f"them is then known to be {' or '.join(hidden)} (an exclusion attack). A sample, or "
            "counts with noise, avoids it."
        )
    if not hidden:
        lines.append(
            "Warning: this protects those who are NOT in the data. Publishing a share of the "
            "records in the clear would satisfy it. Use addition_only to protect people in it."
        )
    return lines


def presence_sentences(policy: Presence, epsilon: Fraction) -> list[str]:
    """Both directions of the presence policy, and what the bound means for busy people."""
    bound = policy.max_groups
    groups = "group" if bound == 1 else f"{bound} groups"
    each = "group by group" if bound == 1 else f"for any {bound} of them"
    return [
        f"Protected (present -> not present): that someone was in any given {groups} "
        "(for instance, visited those places). Whatever is published is at most "
        f"{odds(round_up(epsilon))} times as likely as if they had not been there.",
        f"Someone in more than {bound} is protected {each}; to hide m groups at once the odds "
        f"are raised to the power m/{bound}, rounded up.",
        "Not protected: that someone was NOT in a group. An observer may learn for certain that "
        "a group had at most so many people; that is what makes a published upper bound exact.",
        _COMMON,
    ]


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


def graph_sentences(policy: Graph, epsilon: Fraction) -> list[str]:
    """Neighbours, values further away, and values that nobody can pass as."""
    protected = {source for source, _, _ in policy.arrows.listed}
    open_values = [value for value in policy.arrows.values if value not in protected]
    lone = [str(value) for value in open_values if value != ABSENT]
    one_way = sum(pair[::-1] not in policy.arrows.weights for pair in policy.arrows.weights)
    lines = [
        f"Protected ({edge.name}): {_GRAPH_ENDS[edge.source]} may pass as "
        f"{_GRAPH_ENDS[edge.target.split()[0]]}. {_likely(epsilon * edge.weight)}"
        for edge in policy.edges
    ]
    lines.append(
        "Less protected: values further apart. Along a path the odds multiply, one factor per "
        "step; where no path leads, an observer may learn for certain that it is the one and not "
        "the other."
    )
    if one_way:
        lines.append(
            f"Not protected: the way back along {one_way} of the edges, which go one way only. An "
            "observer may learn for certain that someone is at the end and not at the start."
        )
    if lone:
        lines.append(
            f"Not protected: {_some(lone)}. An observer may learn for certain who is there. "
            "Warning: do not publish them in full; whoever is missing is then known to be "
            "elsewhere (an exclusion attack)."
        )
    if ABSENT in open_values:
        lines.append("Not protected: not being in the data. An observer may learn it for certain.")
    return [*lines, *([] if ABSENT in policy.kinds else [_PUBLIC_NUMBER]), _COMMON]


def local_sentences(policy: Local, epsilon: Fraction) -> list[str]:
    """Every pair of answers, and the answers that are not protected."""
    protected = {edge.source for edge in policy.edges}
    exposed = [kind for kind in policy.kinds if kind not in protected]
    lines = [
        f"Protected ({edge.name}): who would truly answer {edge.source!r} may pass as one who "
        f"would answer {edge.target!r}. {_likely(epsilon * edge.weight)}"
        for edge in policy.edges
    ]
    if exposed:
        lines.append(
            f"Not protected: {_some(exposed)}. An observer may learn for certain that this is the "
            "true answer. Warning: if everyone whose true answer this is says so, whoever does "
            "not is known to have another (an exclusion attack)."
        )
    return [*lines, "Each person's answer is hidden before it is sent; nobody need be trusted."]


def near_sentences(policy: Neighbourhood, epsilon: Fraction) -> list[str]:
    """Points nearby, points further away, and comings and goings."""
    distance = f"{policy.radius}{policy.space.unit}"
    lines = [
        f"Protected (point -> point nearby): where someone is may pass as any other point within "
        f"{distance}. {_likely(epsilon)}",
        "Less protected: points further away. For every further radius the odds are multiplied "
        "once more, so an observer may learn the wider area nearly for certain.",
    ]
    if not policy.sources:
        return [*lines, _PUBLIC_NUMBER, _COMMON]
    near = f"within {distance} of one of {len(policy.sources)} sources"
    return [
        *lines,
        f"Protected (point by a source -> absent): someone {near} may pass as not being there. "
        f"{_likely(epsilon)}",
        f"Protected (absent -> point by a source): not being there may pass as being {near}. "
        f"{_likely(epsilon)}",
        "Less protected: that someone far from every source is there at all.",
        _COMMON,
    ]


def attribute_sentences(policy: Attributes, epsilon: Fraction) -> list[str]:
    """Each attribute's sensitive values, and what stays open."""
    lines = [
        f"Protected (sensitive values -> any values): {name} "
        + ("with any value" if values == ("*",) else f"where it is {_some(values)}")
        + f" may pass as any other {name}. {_likely(epsilon)}"
        for name, values in policy.sensitive
        if values
    ]
    return [
        *lines,
        "All sensitive values of one person are hidden together, at these odds.",
        "Not protected: every other value. An observer may learn for certain that someone has it.",
        "Warning: leaving blanks only where a value is sensitive, and publishing the rest, tells "
        "that it is sensitive (an exclusion attack).",
        _PUBLIC_NUMBER,
        _COMMON,
    ]


def joint_sentences(policy: Intersection, epsilon: Fraction) -> list[str]:
    """What several policies protect together, and that each alone protects more."""
    names = ", ".join(f"'{part.name}'" for part in policy.parts)
    lines = [
        f"Part {place}: '{part.name}'"
        + "".join(f"; {rule.kind} where {rule.condition}" for rule in part.rules)
        + "."
        for place, part in enumerate(policy.parts, start=1)
    ]
    lines += [
        f"Protected ({edge.name}): under each of {names}, {edge.source} may pass as {edge.target}. "
        f"{_likely(epsilon * edge.weight)}"
        for edge in policy.edges
    ]
    return [
        *lines,
        "This is what releases under these policies protect together; their losses add up. Each "
        "release on its own protects more, but what only one of the policies protects can be "
        "told by a release under another: an observer may learn it for certain.",
        _COMMON,
    ]


_PUBLIC_NUMBER = "How many records there are in total is treated as public."
_GRAPH_ENDS = {
    "value": "a value",
    "neighbour": "each of its neighbours on the graph",
    ABSENT: "not being in the data",
}


def _likely(epsilon: Fraction) -> str:
    times = odds(round_up(epsilon))
    return f"Whatever is published is at most {times} times as likely as it would then have been."


def _some(values: Sequence[str]) -> str:
    """A list that stays short."""
    shown = ", ".join(repr(value) for value in values[:6])
    return shown if len(values) <= 6 else f"{shown} and {len(values) - 6} more"
