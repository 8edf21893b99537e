"""Counts and decisions on every policy that they support."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from onesided import policy as policies
from onesided.mechanism import AtMost, Counts
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE
from onesided.policy import GroupCount, Policy
from onesided.verify import Data, Line, Universe, shipped

ONE_GROUP = GroupCount(max_groups=1)
_OPEN = GroupCount(max_groups=1, counted=frozenset({"open"}))
_SENSITIVE = GroupCount(max_groups=1, counted=frozenset({"sensitive"}))
SINGLE = Universe(max_groups=1)
_THREE = Universe(groups=("a", "b", "c"), units=1)
_CUT = "Counts (units cut down)"


def supported() -> Iterator[tuple[Policy, GroupCount, Universe]]:
    """Every policy, each with the counts it is checked on."""
    yield policies.bounded(), ONE_GROUP, SINGLE
    yield policies.unbounded(), ONE_GROUP, SINGLE
    yield policies.addition_only(), GroupCount(max_groups=2), Universe()
    yield policies.removal_only(), GroupCount(max_groups=2), Universe()
    yield policies.sensitive("private"), ONE_GROUP, SINGLE
    yield policies.sensitive("private"), _OPEN, SINGLE
    yield policies.sensitive("private"), _SENSITIVE, SINGLE
    yield policies.presence(max_groups=1), GroupCount(), Universe()
    yield policies.presence(max_groups=2), GroupCount(), _THREE
    yield weighted(), ONE_GROUP, SINGLE
    yield from _families()


def _families() -> Iterator[tuple[Policy, GroupCount, Universe]]:
    """The other families, each with the counts it is checked on."""
    line = Universe(units=1, max_groups=1)
    tiered = {"minor": (1, "minor"), "ill": (2, "ill"), "rest": INFINITE}
    places = {"a": (0,), "b": (1,)}
    yield policies.extended_sensitive("private"), ONE_GROUP, SINGLE
    yield policies.extended_sensitive("private"), _OPEN, SINGLE
    yield policies.proposition("p"), ONE_GROUP, SINGLE
    yield policies.proposition("p"), _OPEN, SINGLE
    yield policies.tiers(tiered), ONE_GROUP, SINGLE
    yield policies.attributes({"ill": ["a"]}), ONE_GROUP, line
    yield policies.graph([("a", "b")]), ONE_GROUP, line
    yield policies.graph([("a", "b", "1/2")], directed=True), ONE_GROUP, line
    yield policies.neighbourhood(radius=1, places=places), ONE_GROUP, line
    yield policies.neighbourhood(radius=1, sources=[(2,)], places=places), ONE_GROUP, line
    yield policies.local(["a", "b"], sensitive=["a"]), ONE_GROUP, line
    yield policies.addition_only() & policies.unbounded(), ONE_GROUP, SINGLE


def weighted() -> Policy:
    """Three kinds with weights of their own: a directed policy that no family names."""
    return policies.custom(
        kinds=("patient", "staff", "guest"),
        edges=[("patient", "guest", "1/2"), ("patient", "staff", 1), ("staff", "guest", 2)],
        default="guest",
    )


def cases() -> Iterator[Line]:
    """Counts and AtMost on every policy, corrections and cut-down units included."""
    for policy, query, universe in supported():
        mechanism = counts(policy, query)
        yield shipped(mechanism, policy, query, universe=universe, epsilon=1)
        if mechanism.lower_rate == INFINITE:
            decision = AtMost(1, upper_rate=mechanism.upper_rate)
            yield shipped(decision, policy, query, universe=universe, epsilon=1)
    presence = policies.presence(max_groups=1)
    for correction in ("mean", "median"):
        corrected = Counts(1, INFINITE, correction=correction, clip=True)
        yield shipped(corrected, presence, name=f"Counts ({correction} removed, clipped)")
    asymmetric = Counts("3/4", "1/4")
    yield shipped(asymmetric, policies.bounded(), ONE_GROUP, universe=SINGLE, name="Counts (3:1)")
    cut = GroupCount(max_groups=1, truncated=True)
    yield shipped(counts(presence, cut), presence, cut, name=_CUT, epsilon=1)
    yield from _cut_wrongly()


def _cut_wrongly() -> Iterator[Line]:
    """Cutting units down to their first groups lets groups in, and is nothing if it is not done."""
    cut, seen = GroupCount(max_groups=1, truncated=True), "in truncation per unit"
    added, dropped = policies.addition_only(), policies.presence(max_groups=1)
    for policy, query, run, flaw in (
        (added, cut, _Uncut(Counts(4, INFINITE)), "priced as cut down, and counted in full"),
        (dropped, cut, Counts(4, INFINITE), "the group that comes in for another is forgotten"),
        (
            dropped,
            GroupCount(max_groups=2, truncated=True),
            _TiesLast(Counts(1, 3)),
            "groups of equal rank count as last, so three of them keep none",
        ),
    ):
        claims = {edge: 4 * edge.weight for edge in policy.edges}
        yield Line(
            _CUT, policy, run, claims, query=query, universe=_THREE, flaw=flaw, seen=seen, tail=1e-7
        )


@dataclass(frozen=True, slots=True)
class _Uncut:
    """Wrong: nobody is cut down."""

    mechanism: Counts

    def __call__(self, data: Data, noise: Noise) -> tuple[int, ...]:
        return tuple(self.mechanism.noisy(self._counted(data), noise=noise).tolist())

    def _counted(self, data: Data) -> IntArray:
        held = [self._kept(record.value) for record in data]
        return np.array([sum(group in own for own in held) for group in "abc"], dtype=np.int64)

    def _kept(self, value: Any) -> Any:
        return value or ()


class _TiesLast(_Uncut):
    """Wrong: all groups have the same rank, and each comes after those that tie with it."""

    def _kept(self, value: Any) -> Any:
        return value if value and len(value) <= 2 else ()


def counts(policy: Policy, query: GroupCount) -> Counts:
    """The least noise for ``query`` at ε = 1."""
    return Counts.for_policy(policy, epsilon=1, query=query)
