"""Policies in words that a data-protection officer can use."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onesided._numbers import positive, round_up
from onesided.policy._shift import ABSENT

if TYPE_CHECKING:
    from onesided.policy._base import Policy
    from onesided.policy._kinds import KindPolicy
    from onesided.policy._presence import Presence


def explain(policy: Policy, *, epsilon: object) -> str:
    """What an observer can learn for certain, what stays hidden, and the odds at ``epsilon``."""
    exact = positive(epsilon, name="epsilon")
    return "\n".join(policy.sentences(odds(round_up(exact))))


def odds(epsilon: float) -> str:
    """``e^epsilon`` in readable digits, rounded up; large values are named as what they are."""
    if epsilon > 20:
        return "more than 485 million"
    value = math.exp(epsilon)
    return f"{math.ceil(value * 100) / 100:,.2f}" if value < 1000 else f"{math.ceil(value):,}"


_COMMON = "This holds whatever else the observer knows about the other people in the data."


def kind_sentences(policy: KindPolicy, odds_text: str) -> list[str]:
    """One sentence per edge and one per unprotected kind, then the family's own warning."""
    lines = [
        f"Protected ({edge.name}): {_source(edge.source)} may pass as {_target(edge.target)}. "
        f"Whatever is published is at most {_power(odds_text, str(edge.weight))} times as likely "
        "as it would then have been."
        for edge in policy.edges
    ]
    protected = {edge.source for edge in policy.edges}
    lines += [
        f"Not protected: {_target(kind)}. An observer may learn for certain {_leak(kind)}."
        for kind in policy.kinds
        if kind not in protected
    ]
    if ABSENT not in policy.kinds:
        lines.append("How many records there are in total is treated as public.")
    return [*lines, *_WARNINGS.get(policy.name, ()), _COMMON]


def presence_sentences(policy: Presence, odds_text: str) -> list[str]:
    """Both directions of the presence policy, and what the bound means for busy people."""
    bound = policy.max_groups
    groups = "group" if bound == 1 else f"{bound} groups"
    each = "group by group" if bound == 1 else f"for any {bound} of them"
    return [
        f"Protected (present -> not present): that someone was in any given {groups} "
        "(for instance, visited those places). Whatever is published is at most "
        f"{odds_text} times as likely as if they had not been there.",
        f"Someone in more than {bound} is protected {each}; to hide m groups at once the odds "
        f"are raised to the power m/{bound}, rounded up.",
        "Not protected: that someone was NOT in a group. An observer may learn for certain that "
        "a group had at most so many people; that is what makes a published upper bound exact.",
        _COMMON,
    ]


def _power(odds_text: str, weight: str) -> str:
    return odds_text if weight == "1" else f"{odds_text} to the power {weight}"


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


_WARNINGS: dict[str, tuple[str, ...]] = {
    "removal_only": (
        "Warning: this protects those who are NOT in the data. Publishing a share of the records "
        "in the clear would satisfy it. Use addition_only to protect people who are in it.",
    ),
    "sensitive": (
        "Warning: never publish all open records. Whoever is missing from them is then known to "
        "be sensitive (an exclusion attack). A sample, or counts with noise, avoids it.",
    ),
}
